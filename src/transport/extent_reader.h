// Walks an ExtentStream piece by piece, cutting pieces at given file offsets.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "base/byteorder.h"
#include "base/extent.h"

namespace forebay {

class ExtentReader {
 public:
  explicit ExtentReader(ExtentStream& stream) : stream_(stream) {}

  /// Calls f(extent) for every piece, or part of one, that lies before `limit`. Limits increase
  /// from call to call.
  template <typename F>
  void for_each_before(Offset limit, F&& f) {
    take_tails(limit, f);
    while (fill()) {
      for (; at_ < filled_; ++at_) {
        const Extent& e = batch_[at_];
        if (e.offset >= limit) return;
        if (e.end() <= limit) {
          f(e);
        } else {
          cut(e, limit, f);
        }
      }
    }
  }

  /// Where the next piece begins; nothing behind the last one.
  std::optional<Offset> next() {
    Offset next = std::numeric_limits<Offset>::max();
    for (const Extent& e : tails_) next = std::min(next, e.offset);
    if (fill()) next = std::min(next, batch_[at_].offset);
    if (next == std::numeric_limits<Offset>::max()) return std::nullopt;
    return next;
  }

 private:
  bool fill() {
    if (at_ < filled_) return true;
    filled_ = stream_.next(batch_);
    at_ = 0;
    return filled_ > 0;
  }

  // Pieces of a read may overlap, so others that begin before `limit` can follow one that reaches
  // beyond it.
  template <typename F>
  void cut(const Extent& e, Offset limit, F&& f) {
    Extent part = e;
    part.length = limit - e.offset;
    f(static_cast<const Extent&>(part));
    part = e;
    part.skip += limit - e.offset;
    part.length = e.end() - limit;
    part.offset = limit;
    tails_.push_back(part);
  }

  template <typename F>
  void take_tails(Offset limit, F&& f) {
    if (tails_.empty()) return;
    std::vector<Extent> tails;
    tails.swap(tails_);
    for (const Extent& e : tails) {
      if (e.end() <= limit) {
        f(e);
      } else {
        cut(e, limit, f);
      }
    }
  }

  ExtentStream& stream_;
  std::array<Extent, 256> batch_;
  std::size_t at_ = 0, filled_ = 0;
  std::vector<Extent> tails_;
};

inline void copy_out(std::byte* to, const Extent& e) {
  copy_swapped_range(to, e.memory, e.skip, e.length, e.swap);
}
inline void copy_in(const Extent& e, const std::byte* from) {
  store_swapped_range(e.memory, e.skip, from, e.length, e.swap);
}

}  // namespace forebay
