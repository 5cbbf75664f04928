// Reads a file's index from its beginning to its end, a window at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/error.h"
#include "base/raw_bytes.h"
#include "base/types.h"
#include "groups/format/bp_read.h"
#include "storage/file.h"

namespace forebay::process_group {

class IndexWindow {
 public:
  /// `file` must outlive this object.
  explicit IndexWindow(File& file) : file_(file), file_bytes_(file.size()) {}

  Count file_bytes() const { return file_bytes_; }

  /// Returns `n` bytes from `at` on, in a part of the index that ends at `end`, within the file.
  /// Valid until the next call. Errc::ebad_file: the part is shorter.
  std::span<const std::byte> bytes(Offset at, Count n, Offset end) {
    if (n > end - at)
      throw Error(Errc::ebad_file, "damaged: a part of its index ends too early", "");
    if (at < at_ || at + n > at_ + static_cast<Count>(bytes_.size())) {
      bytes_.resize(static_cast<std::size_t>(std::min(std::max(n, some_bytes), file_bytes_ - at)));
      at_ = at;
      const std::size_t got = file_.read_at(at, bytes_);
      if (static_cast<Count>(got) < n) throw Error(Errc::ebad_file, "it has become shorter", "");
      bytes_.resize(got);
    }
    return std::span<const std::byte>(bytes_)
        .subspan(static_cast<std::size_t>(at - at_))
        .first(static_cast<std::size_t>(n));
  }

 private:
  static constexpr Count some_bytes = 1 << 20;

  File& file_;
  Count file_bytes_;
  Offset at_ = 0;
  RawBytes bytes_;
};

/// Calls f(place, bytes) for each entry of a list of variables or attributes that begins at `at`.
/// The list's head has the number of entries. Returns the end of the last one. Errc::ebad_file: it
/// is beyond `end`.
template <typename F>
Offset each_element(IndexWindow& window, Offset at, Offset end, bool swapped, F&& f) {
  std::uint32_t elements =
      bp::parse_elements(window.bytes(at, bp::elements_head_bytes, end), swapped);
  for (at += bp::elements_head_bytes; elements > 0; --elements) {
    const Count n = bp::parse_entry_bytes(window.bytes(at, 4, end), swapped);
    if (n > end - at)
      throw Error(Errc::ebad_file, "damaged: an entry is longer than its index", "");
    f(at, n);
    at += n;
  }
  return at;
}

}  // namespace forebay::process_group
