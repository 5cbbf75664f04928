// Walks an ExtentStream piece by piece, or row by row, and cuts pieces at given file offsets.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/byteorder.h"
#include "base/extent.h"

namespace forebay {

inline Offset offset_of(const Extent& e) { return e.offset; }
inline Offset offset_of(const ExtentRow& row) { return row.first.offset; }

template <bool in_rows>
class PieceReader {
 public:
  explicit PieceReader(ExtentStream& stream)
      : stream_(stream), by_row_(in_rows && stream.has_rows()) {}

  /// Calls f(piece) for every piece, or part of one, before `limit`. A piece is an Extent, or an
  /// ExtentRow if the stream has rows. Limits increase from call to call.
  template <typename F>
  void for_each_before(Offset limit, F&& f) {
    take_tails(limit, f);
    if constexpr (in_rows)
      if (by_row_) return walk(rows_, limit, f);
    walk(batch_, limit, f);
  }

  /// Returns where the next piece begins; nothing after the last one.
  std::optional<Offset> next() {
    Offset next = std::numeric_limits<Offset>::max();
    for (const Extent& e : tails_) next = std::min(next, e.offset);
    if constexpr (in_rows)
      if (by_row_ && fill(rows_)) next = std::min(next, rows_[at_].first.offset);
    if (!by_row_ && fill(batch_)) next = std::min(next, batch_[at_].offset);
    if (next == std::numeric_limits<Offset>::max()) return std::nullopt;
    return next;
  }

 private:
  using Extents = std::array<Extent, 256>;
  using Rows = std::array<ExtentRow, in_rows ? 64 : 1>;

  bool fill(Extents& batch) {
    if (at_ < filled_) return true;
    filled_ = stream_.next(batch);
    at_ = 0;
    return filled_ > 0;
  }
  bool fill(Rows& batch) {
    if (at_ < filled_) return true;
    filled_ = stream_.next_rows(batch);
    at_ = 0;
    return filled_ > 0;
  }

  template <typename Batch, typename F>
  void walk(Batch& batch, Offset limit, F&& f) {
    while (fill(batch)) {
      for (; at_ < filled_; ++at_) {
        auto& piece = batch[at_];
        if (offset_of(piece) >= limit) return;
        if (piece.end() <= limit) {
          f(std::as_const(piece));
        } else if (!cut(piece, limit, f)) {
          return;
        }
      }
    }
  }

  // Pieces of a read may overlap, so others that begin before `limit` can follow one that ends
  // behind it.
  template <typename F>
  bool cut(const Extent& e, Offset limit, F&& f) {
    Extent part = e;
    part.length = limit - e.offset;
    f(std::as_const(part));
    part = e;
    part.skip += limit - e.offset;
    part.length = e.end() - limit;
    part.offset = limit;
    tails_.push_back(part);
    return true;
  }

  // Calls f for what lies before `limit`. Returns whether only the tail of the row's last is left.
  template <typename F>
  bool cut(ExtentRow& row, Offset limit, F&& f) {
    if (row.first.end() <= limit) {
      ExtentRow whole = row;
      whole.count = (limit - row.first.end()) / row.stride + 1;
      f(std::as_const(whole));
      row.leave_out(whole.count);
    }
    if (row.first.offset >= limit) return false;
    cut(row.first, limit, f);
    row.leave_out(1);
    return row.count == 0;
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
  bool by_row_;
  Extents batch_;
  Rows rows_;
  std::size_t at_ = 0, filled_ = 0;
  std::vector<Extent> tails_;
};

using ExtentReader = PieceReader<false>;
using RowReader = PieceReader<true>;

/// Does what ExtentRow::each_run() does.
template <typename F>
void each_run(const Extent& e, Count, F&& f) {
  f(e.offset, e.length);
}
template <typename F>
void each_run(const ExtentRow& row, Count bridge, F&& f) {
  row.each_run(bridge, f);
}

inline void copy_out(std::byte* to, const Extent& e) {
  copy_swapped_range(to, e.memory, e.skip, e.length, e.swap);
}
inline void copy_in(const Extent& e, const std::byte* from) {
  store_swapped_range(e.memory, e.skip, from, e.length, e.swap);
}

template <typename Word>
void gather(const ExtentRow& row, const std::byte* from) {
  std::byte* to = row.first.memory + row.first.skip;
  const bool reverse = row.first.swap > 1 && !native_is_big_endian;
  const Count step = static_cast<Count>(sizeof(Word)) + row.apart;
  for (Count i = 0; i < row.count; ++i, from += row.stride, to += step) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    if (reverse) word = byte_swapped(word);
    std::memcpy(to, &word, sizeof word);
  }
}

/// `from` has the first extent's bytes; those of the others, and what lies between, follow.
inline void copy_in(const ExtentRow& row, const std::byte* from) {
  Extent e = row.first;
  if (row.count > 1 && (e.swap == 1 || (e.swap == e.length && e.skip % e.swap == 0))) {
    if (e.length == 2) return gather<std::uint16_t>(row, from);
    if (e.length == 4) return gather<std::uint32_t>(row, from);
    if (e.length == 8) return gather<std::uint64_t>(row, from);
  }
  for (Count i = 0; i < row.count; ++i, from += row.stride) {
    copy_in(e, from);
    e.skip += e.length;
    e.memory += row.apart;
  }
}

}  // namespace forebay
