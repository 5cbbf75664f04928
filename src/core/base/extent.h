// Extents are what a layout passes to a transport. They know nothing about variables.
//
// An extent is a contiguous range of bytes in one file, with the memory that holds or will receive
// them. A stream yields the extents of one operation lazily, in non-decreasing file order. Millions
// of extents never exist at once, only a batch of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/types.h"

namespace forebay {

struct Extent {
  Offset offset;      ///< first byte in the file
  Count length;       ///< bytes
  std::byte* memory;  ///< first byte of the first element; never written to by a write
  std::int64_t skip;  ///< external bytes of `memory` before `offset` (a cut may fall inside an
                      ///< element)
  std::int32_t swap;  ///< element width whose bytes are swapped between memory and file; 1: none
  std::int32_t reserved = 0;

  Offset end() const { return offset + length; }
};

/// A row of extents of equal length. Each begins `stride` bytes behind the one before it in the
/// file, and `apart` bytes behind it in memory.
struct ExtentRow {
  Extent first;
  Count count = 1;
  Count stride = 0;
  Count apart = 0;

  Offset end() const { return first.end() + (count - 1) * stride; }
  /// Removes the first n extents.
  void leave_out(Count n) {
    first.offset += n * stride;
    first.skip += n * first.length;
    first.memory += n * apart;
    count -= n;
  }
  /// Calls f(offset, bytes) for each range that the extents cover, across holes of up to `bridge`
  /// bytes.
  template <typename F>
  void each_run(Count bridge, F&& f) const {
    if (stride - first.length <= bridge) return f(first.offset, end() - first.offset);
    for (Count n = 0; n < count; ++n) f(first.offset + n * stride, first.length);
  }
};

/// A function that fills `into` from the given byte of the file on, or throws.
using ReadInto = std::function<void(Offset, std::span<std::byte> into)>;

/// What is known of a stream before it is walked. Bounds are exact; `pieces` is an upper estimate.
struct StreamSummary {
  Offset first = 0;  ///< first byte touched; first == last when the stream is empty
  Offset last = 0;   ///< one past the last byte touched
  Count bytes = 0;
  Count pieces = 0;

  bool empty() const { return bytes == 0; }
  void add(const StreamSummary& other) {
    if (other.empty()) return;
    first = empty() ? other.first : std::min(first, other.first);
    last = empty() ? other.last : std::max(last, other.last);
    bytes += other.bytes;
    pieces += other.pieces;
  }
};

struct Report;

/// A stream of extents in file order. For writing, they do not overlap: later requests have already
/// won. For reading, they may overlap.
class ExtentStream {
 public:
  virtual ~ExtentStream() = default;
  virtual StreamSummary summary() const = 0;
  /// Fills `out` with the next extents and returns how many; 0 at the end. Reads no file and moves
  /// no data.
  virtual std::size_t next(std::span<Extent> out) = 0;
  /// Returns whether the stream can yield rows of several extents.
  virtual bool has_rows() const { return false; }
  /// Yields the same extents in rows, if has_rows(). No other extent begins within a row.
  virtual std::size_t next_rows(std::span<ExtentRow> out) {
    std::array<Extent, 64> some;
    const std::size_t n = next(std::span(some).first(std::min(out.size(), some.size())));
    for (std::size_t i = 0; i < n; ++i) out[i] = {some[i]};
    return n;
  }
  /// Goes back to the first extent.
  virtual void rewind() = 0;
  /// Returns a second stream over the same extents, from the first.
  virtual std::unique_ptr<ExtentStream> clone() const = 0;
};

/// States whether ranks that read together ask for the same bytes, or for bytes between those of
/// others
/// (`alike`: read once for all), or for other bytes (`apart`: each reads for itself).
enum class Sharing : std::uint8_t { unknown, alike, apart };

/// Values that ranks reduce before they carry out extents together; only a transport reads them.
struct Foreseen {
  static constexpr std::size_t maxima = 6;  ///< reduced by max; the others by sum
  std::array<std::int64_t, 8> values{};
};

/// Carries extents to and from a file. It is all that a layout knows of a transport.
class ExtentIo {
 public:
  virtual ~ExtentIo() = default;
  /// Collective. A rank with nothing to do passes an empty stream. An I/O error on one rank is
  /// thrown on all ranks.
  virtual void write_all(ExtentStream& extents) = 0;
  virtual void read_all(ExtentStream& extents) = 0;
  /// Local. Returns the values that write_all() or read_all() of such extents would reduce first,
  /// so that a reduction that happens anyway can carry them. Returns nothing, on all ranks alike,
  /// if no reduction is needed.
  virtual std::optional<Foreseen> foresee(const StreamSummary& /*mine*/) const {
    return std::nullopt;
  }
  /// Collective. Does write_all() or read_all() after foresee()'s values were reduced. Since that
  /// reduction, ranks have done nothing else. `failed` says why this rank passes an empty stream
  /// instead of the foreseen one. All ranks throw it; if all have what they read, only this rank
  /// does.
  virtual void carry_out_foreseen(ExtentStream& extents, bool writing, const Foreseen& /*agreed*/,
                                  std::optional<Error> failed) {
    if (failed) throw Error(*failed);
    writing ? write_all(extents) : read_all(extents);
  }
  /// Local.
  virtual void write(ExtentStream& extents) = 0;
  virtual void read(ExtentStream& extents) = 0;
  /// Collective. Between expect_more(true) and expect_more(false), write_all() may return before
  /// the bytes are in the file, and nothing is read. They are in the file when the call with false
  /// returns. After a call with true, answers_slowly() covers what any rank has seen by then.
  virtual void expect_more(bool /*more*/) {}
  /// Local; the same on all ranks. Sets what the caller knows of the next read_all() calls. It
  /// holds until the next call of this function.
  virtual void expect_sharing(Sharing /*sharing*/) {}
  /// Local; the same on all ranks. Returns whether system calls take so long that waiting for a few
  /// large ones pays. It may change with each collective call.
  virtual bool answers_slowly() const { return false; }
  /// Local; the same on all ranks. Returns whether several ranks wrote the same bytes in the last
  /// write_all(). The answer counts only if sees_overlaps().
  virtual bool overlapped() const { return false; }
  virtual bool sees_overlaps() const { return false; }
  /// Collective. Frees what needs all ranks to be freed.
  virtual void close() {}
  /// Local. Returns whether one thread may call write_beside() while another thread of the rank
  /// communicates or reads locally. Sets up now what both would set up on first use.
  virtual bool ready_beside_mpi() { return false; }
  /// Local; only if ready_beside_mpi(). Times go to `report`, which belongs to the calling thread.
  virtual void write_beside(ExtentStream& extents, Report& /*report*/) { write(extents); }
};

}  // namespace forebay
