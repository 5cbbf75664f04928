// The buffer that a program attaches for buffered writes (bput). It only counts: posted writes have
// memory of their own.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/types.h"

namespace forebay {

/// All functions are local.
class AttachedBuffer {
 public:
  /// Errc::enullbuf, eprevattachbuf.
  void attach(Count bytes) {
    if (bytes <= 0) throw Error(Errc::enullbuf, "a buffer of no bytes cannot be attached");
    if (size_) throw Error(Errc::eprevattachbuf, "a buffer is attached already", "detach it first");
    size_ = bytes;
    used_ = 0;
  }
  /// Errc::enullabuf, ependingbput.
  void detach() {
    static_cast<void>(size());
    if (used_ > 0)
      throw Error(Errc::ependingbput, "buffered writes are pending", "call wait first");
    size_.reset();
  }
  Count size() const {  ///< Errc::enullabuf when none is attached
    if (!size_) throw Error(Errc::enullabuf, "no buffer is attached");
    return *size_;
  }
  Count used() const {  ///< Errc::enullabuf
    static_cast<void>(size());
    return used_;
  }
  /// Errc::enullabuf, einsuffbuf: there is no room for a write.
  void check_room(Count bytes) const {
    if (!size_)
      throw Error(Errc::enullabuf, "no buffer is attached", "call ncmpi_buffer_attach first");
    if (bytes > *size_ - used_) {
      throw Error(Errc::einsuffbuf, "the attached buffer is too small for this request",
                  "attach a larger one, or wait for earlier requests first");
    }
  }
  void take(Count bytes) { used_ += bytes; }
  void give_back(Count bytes) { used_ -= bytes; }

 private:
  std::optional<Count> size_;
  Count used_ = 0;
};

}  // namespace forebay
