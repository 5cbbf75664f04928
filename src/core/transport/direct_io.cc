#include "transport/direct_io.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "transport/extent_reader.h"

namespace forebay {

namespace {

constexpr Count large_piece = 128 << 10;
constexpr std::size_t most_pending = 1 << 15;  // of a read: rows that one call serves

/// Collects adjacent pieces and writes them together. Calls end at multiples of their size, as
/// stripes do.
class RunWriter {
 public:
  RunWriter(ByteFile& file, Report& report, Count size)
      : file_(file), report_(report), size_(size) {}

  void add(const Extent& e) {
    if (e.swap == 1 && e.length >= large_piece) {
      flush();
      write(e.offset, {e.memory + e.skip, static_cast<std::size_t>(e.length)});
      return;
    }
    Extent part = e;
    for (Count left = e.length; left > 0;) {
      if (part.offset % size_ == 0 || part.offset != start_ + used_) flush();
      if (used_ == 0) start_ = part.offset;
      part.length = std::min(left, size_ - part.offset % size_);
      copy_out(buffer_.get() + used_, part);
      used_ += part.length;
      part.offset += part.length;
      part.skip += part.length;
      left -= part.length;
    }
  }

  void flush() {
    if (used_ > 0) write(start_, {buffer_.get(), static_cast<std::size_t>(used_)});
    used_ = 0;
  }

 private:
  void write(Offset offset, std::span<const std::byte> bytes) {
    StepTimer timer(report_, file_.writes_later() ? Step::stage : Step::write);
    file_.write_data_at(offset, bytes);
    timer.moved(std::ssize(bytes));  // a thread's report lacks the file's counters
  }

  ByteFile& file_;
  Report& report_;
  Count size_;
  // The buffer is not filled with zeros: most transfers use a small part of it.
  std::unique_ptr<std::byte[]> buffer_ =
      std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size_));
  Offset start_ = 0;
  Count used_ = 0;
};

/// Collects pieces that one read can serve.
class RunReader {
 public:
  /// `tries`: finds out whether holes are worth reading if they are most of a call. `step`: bytes
  /// of a call that needs no buffer.
  RunReader(const ReadInto& read, Count hole_threshold, const StreamSummary& summary, bool tries,
            Count step = direct_buffer)
      : read_(read),
        step_(step),
        hole_threshold_(hole_threshold),
        holes_(tries ? Holes::read : Holes::known),
        buffer_size_(std::clamp<Count>(summary.last - summary.first, 1, direct_buffer)),
        alone_(summary.pieces == 1) {}

  void add(const Extent& e) {
    if ((alone_ || e.length >= large_piece) && is_whole(e)) {
      flush();
      return read_in_place(e);
    }
    Extent part = e;
    for (Count left = e.length; left > 0;) {
      part.length = std::min(left, reach(part.offset));
      keep({part}, part.end());
      part.offset += part.length;
      part.skip += part.length;
      left -= part.length;
    }
  }

  void add(ExtentRow row) {
    Extent& e = row.first;
    if (row.count == 1) return add(e);
    const bool whole = is_whole(e);
    const bool apart = row.stride - e.length > hole_threshold_ || 2 * row.stride > direct_buffer ||
                       (whole && e.length >= large_piece);
    if (apart) flush();
    for (Count n = 1; row.count > 0; n = 1) {
      if (apart) {
        whole ? read_in_place(e) : add(e);
      } else {
        if (reach(e.offset) < e.length) flush();
        n = std::min(row.count, (reach(e.offset) - e.length) / row.stride + 1);
        const ExtentRow near{e, n, row.stride, row.apart};
        keep(near, near.end());
      }
      row.leave_out(n);
    }
  }

  void flush() {
    if (pending_.empty()) return;
    if (!buffer_)
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_size_));
    const auto begin = Clock::now();
    read_(start_, {buffer_.get(), static_cast<std::size_t>(end_ - start_)});
    if (holes_ != Holes::known) judge(Clock::now() - begin);
    for (const ExtentRow& row : pending_) copy_in(row, buffer_.get() + (row.first.offset - start_));
    pending_.clear();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  enum class Holes { read, left_out, known };

  // If a cache answers, copying holes is wasted time; if a server answers, each further call takes
  // longer. So after a call that was mostly holes, a few pieces are read without them, and the
  // quicker way stays.
  void judge(Clock::duration took) {
    constexpr Count few = 8;
    Count pieces = 0, bytes = 0;
    for (const ExtentRow& row : pending_)
      pieces += row.count, bytes += row.count * row.first.length;
    if (holes_ == Holes::read) {
      if (end_ - start_ < 4 * bytes) return;
      holes_ = Holes::left_out;
      of_a_piece_ = Seconds(took) / static_cast<double>(pieces);
      bridged_ = std::exchange(hole_threshold_, 0);
      return;
    }
    tried_ += pieces;
    trial_ += took;
    if (tried_ < few) return;
    holes_ = Holes::known;
    if (trial_ > of_a_piece_ * static_cast<double>(tried_)) hole_threshold_ = bridged_;
  }

  // Returns whether no element is cut, so that the extent needs no buffer.
  static bool is_whole(const Extent& e) { return ((e.skip | e.length) & (e.swap - 1)) == 0; }

  // Returns how many bytes from `offset` on the buffer has room for. Empties it first if need be.
  Count reach(Offset offset) {
    const bool fits = !pending_.empty() && offset >= start_ && offset - end_ <= hole_threshold_ &&
                      offset - start_ < buffer_size_;
    if (!fits) flush();
    if (pending_.empty()) start_ = end_ = offset;
    return buffer_size_ - (offset - start_);
  }

  void keep(const ExtentRow& row, Offset end) {
    pending_.push_back(row);
    end_ = std::max(end_, end);
    if (pending_.size() == most_pending) flush();
  }

  void read_in_place(const Extent& e) {
    for (Count done = 0, n = e.length; done < e.length; done += n) {
      // The call ends at a multiple of the step and cuts no element.
      if (e.swap > 1) n = (step_ - (e.offset + done) % step_) & -Count{e.swap};
      n = std::min(n > 0 ? n : step_, e.length - done);
      std::byte* const to = e.memory + e.skip + done;
      read_(e.offset + done, {to, static_cast<std::size_t>(n)});
      if (e.swap > 1) copy_swapped(to, to, static_cast<std::size_t>(n), e.swap);
    }
  }

  const ReadInto& read_;
  Count step_, hole_threshold_;
  Holes holes_;
  Count buffer_size_, bridged_ = 0, tried_ = 0;
  Seconds of_a_piece_{}, trial_{};
  bool alone_;  // there is one piece only
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<ExtentRow> pending_;
  Offset start_ = 0, end_ = 0;
};

}  // namespace

Count direct_call(bool slow, Count buffer_limit) {
  if (!slow) return direct_buffer;
  const auto room = static_cast<std::uint64_t>(std::max(buffer_limit, direct_buffer));
  return std::min(static_cast<Count>(std::bit_floor(room)), slow_call);
}

Count direct_memory(bool write, Count call) {
  return write ? call : direct_buffer + static_cast<Count>(most_pending * sizeof(ExtentRow));
}

void write_directly(ByteFile& file, ExtentStream& extents, Report& report, Count buffer_limit) {
  const bool slow = is_slow(file.least_latency(true)) && !file.writes_later();
  const StreamSummary summary = extents.summary();
  const Count most = direct_call(slow, buffer_limit);
  RunWriter run(file, report, summary.last - summary.first < direct_buffer ? direct_buffer : most);
  std::array<Extent, 256> batch;
  while (const std::size_t n = extents.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) run.add(batch[i]);
  }
  run.flush();
}

void read_rows(const ReadInto& read, const StreamSummary& summary,
               const std::function<std::optional<ExtentRow>()>& next, Count hole_threshold) {
  RunReader run(read, hole_threshold, summary, false);
  while (const auto row = next()) run.add(*row);
  run.flush();
}

void read_directly(ByteFile& file, ExtentStream& extents, Count hole_threshold, Report& report) {
  const ReadInto read = [&](Offset offset, std::span<std::byte> into) {
    StepTimer timer(report, Step::read);
    const std::size_t got = file.read_at(offset, into);
    std::memset(into.data() + got, 0, into.size() - got);
    timer.moved(static_cast<Count>(got));
  };
  const bool slow = is_slow(file.least_latency(false));
  RunReader run(read, hole_threshold, extents.summary(), true, direct_call(slow, slow_call));
  RowReader(extents).for_each_before(std::numeric_limits<Offset>::max(),
                                     [&](const auto& piece) { run.add(piece); });
  run.flush();
}

}  // namespace forebay
