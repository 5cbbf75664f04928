// Extents: what a layout hands to a transport, and nothing about variables.
//
// An extent is a contiguous range of bytes in one file together with the memory that holds (or will
// receive) them. A stream yields the extents of one operation in non-decreasing file order, lazily:
// millions of pieces never exist at once, only a batch of them.
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
  std::int64_t skip;  ///< external bytes of `memory` that lie before `offset` (a cut may fall
                      ///< inside an element)
  std::int32_t swap;  ///< element width whose bytes are reversed between memory and file; 1: none
  std::int32_t reserved = 0;

  Offset end() const { return offset + length; }
};

/// Equally long extents, each `stride` bytes of the file behind the one before it. In memory they
/// follow each other, with `apart` bytes between them.
struct ExtentRow {
  Extent first;
  Count count = 1;
  Count stride = 0;
  Count apart = 0;

  Offset end() const { return first.end() + (count - 1) * stride; }
  /// Without the first so many.
  void leave_out(Count n) {
    first.offset += n * stride;
    first.skip += n * first.length;
    first.memory += n * apart;
    count -= n;
  }
  /// f(offset, bytes) for what extents cover with holes of up to `bridge` bytes between them.
  template <typename F>
  void each_run(Count bridge, F&& f) const {
    if (stride - first.length <= bridge) return f(first.offset, end() - first.offset);
    for (Count n = 0; n < count; ++n) f(first.offset + n * stride, first.length);
  }
};

/// Fills `into` from a byte of the file on, or throws.
using ReadInto = std::function<void(Offset, std::span<std::byte> into)>;

/// What is known of a stream without walking it. Bounds are exact; pieces is an upper estimate.
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

/// Extents in file order. For writing they do not overlap (later requests have won already); for
/// reading they may.
class ExtentStream {
 public:
  virtual ~ExtentStream() = default;
  virtual StreamSummary summary() const = 0;
  /// Fills `out` from the front and returns how many; 0 at the end. Reads no file and moves no
  /// data.
  virtual std::size_t next(std::span<Extent> out) = 0;
  /// Whether the stream knows of rows.
  virtual bool has_rows() const { return false; }
  /// The same in rows, where it does: no other extent begins within one.
  virtual std::size_t next_rows(std::span<ExtentRow> out) {
    std::array<Extent, 64> some;
    const std::size_t n = next(std::span(some).first(std::min(out.size(), some.size())));
    for (std::size_t i = 0; i < n; ++i) out[i] = {some[i]};
    return n;
  }
  /// Back to the first extent.
  virtual void rewind() = 0;
  /// A second walk over the same extents, from the first.
  virtual std::unique_ptr<ExtentStream> clone() const = 0;
};

/// Of what ranks read together: whether they ask for the same bytes, or for others between them, so
/// that it is better to read these once, for all; or each rank can as well read for itself.
enum class Sharing : std::uint8_t { unknown, alike, apart };

/// What all ranks agree on before they carry extents out together; a transport's to make sense of.
struct Foreseen {
  static constexpr std::size_t maxima = 6;  ///< are reduced by max, those behind them by sum
  std::array<std::int64_t, 8> values{};
};

/// Carries extents to and from a file: what a layout knows of a transport.
class ExtentIo {
 public:
  virtual ~ExtentIo() = default;
  /// Collective; a rank with nothing passes an empty stream. An I/O error on one rank is thrown on
  /// all.
  virtual void write_all(ExtentStream& extents) = 0;
  virtual void read_all(ExtentStream& extents) = 0;
  /// Local. What write_all() and read_all() of extents with this summary would have ranks agree on
  /// first, so that it may travel with what they tell each other in any case. Nothing, on all ranks
  /// alike, where they need not.
  virtual std::optional<Foreseen> foresee(const StreamSummary& /*mine*/) const {
    return std::nullopt;
  }
  /// Collective. write_all(), or read_all(), where ranks have agreed on what foresee() said, in a
  /// meeting behind which nothing has happened on any rank but what belongs to this. `failed`: why
  /// this rank passes an empty stream in place of the one it foresaw, which all throw; where all
  /// ranks have what they read it is this one's own matter.
  virtual void carry_out_foreseen(ExtentStream& extents, bool writing, const Foreseen& /*agreed*/,
                                  std::optional<Error> failed) {
    if (failed) throw Error(*failed);
    writing ? write_all(extents) : read_all(extents);
  }
  /// Local.
  virtual void write(ExtentStream& extents) = 0;
  virtual void read(ExtentStream& extents) = 0;
  /// Collective. Between true and false, write_all() may return before the bytes are in the file;
  /// they are when the call with false returns. Nothing is read meanwhile. After true
  /// answers_slowly() says what any rank has seen by then.
  virtual void expect_more(bool /*more*/) {}
  /// Local; the same on all ranks. What is known from elsewhere of what read_all() is called for
  /// next, until this is called again.
  virtual void expect_sharing(Sharing /*sharing*/) {}
  /// Local; the same on all ranks. Whether system calls have been found to take so long that few
  /// large ones are worth waiting for. It may change with each collective call.
  virtual bool answers_slowly() const { return false; }
  /// Local; the same on all ranks. Whether several of them wrote the same bytes in the last
  /// write_all(), as far as that can be told: where sees_overlaps().
  virtual bool overlapped() const { return false; }
  virtual bool sees_overlaps() const { return false; }
  /// Collective. Frees what needs all ranks for it.
  virtual void close() {}
  /// Local. Whether one thread may write by write_beside() while another one of the rank
  /// communicates or reads locally; what they would both set up on first use is set up now.
  virtual bool ready_beside_mpi() { return false; }
  /// Local; where ready_beside_mpi(). Times go to `report`, which is the calling thread's alone.
  virtual void write_beside(ExtentStream& extents, Report& /*report*/) { write(extents); }
};

}  // namespace forebay
