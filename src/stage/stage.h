// A stage decides when queued requests are laid out in the file. `direct` hands them over at once.
#pragma once

#include <memory>
#include <vector>

#include "data/request.h"

namespace forebay {

class Layout;

class Stage {
 public:
  virtual ~Stage() = default;
  /// Takes all requests of one operation and direction. If `collective`, every rank calls, with an
  /// empty list if need be.
  virtual void submit(std::vector<Request>& requests, bool write, bool collective) = 0;
  /// Everything staged reaches the layout. Collective if `collective`.
  virtual void flush(bool collective) = 0;
};

std::unique_ptr<Stage> make_direct_stage(Layout& layout);

}  // namespace forebay
