#include "transport/direct_io.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "transport/extent_reader.h"

namespace forebay {

namespace {

// Large enough to make a system call cheap, small enough to stay in the second-level cache between
// the swap and the kernel's copy.
constexpr Count buffer_size = 1 << 20;
constexpr Count large_piece = 128 << 10;

/// Collects adjacent pieces and writes them together.
class RunWriter {
 public:
  RunWriter(File& file, Report& report) : file_(file), report_(report) {}

  void add(const Extent& e) {
    if (e.swap == 1 && e.length >= large_piece) {
      flush();
      write(e.offset, {e.memory + e.skip, static_cast<std::size_t>(e.length)});
      return;
    }
    Extent part = e;
    for (Count left = e.length; left > 0;) {
      if (used_ == buffer_size || part.offset != start_ + used_) flush();
      if (used_ == 0) start_ = part.offset;
      part.length = std::min(left, buffer_size - used_);
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
    StepTimer timer(report_, Step::write);
    file_.write_at(offset, bytes);
  }

  File& file_;
  Report& report_;
  // Not filled with zeros: most transfers use a small part of it.
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_size);
  Offset start_ = 0;
  Count used_ = 0;
};

/// Collects pieces that one read can serve.
class RunReader {
 public:
  RunReader(File& file, Count hole_threshold, Report& report)
      : file_(file), hole_threshold_(hole_threshold), report_(report) {}

  void add(const Extent& e) {
    if (e.swap == 1 && e.length >= large_piece) {
      flush();
      read(e.offset, {e.memory + e.skip, static_cast<std::size_t>(e.length)});
      return;
    }
    Extent part = e;
    for (Count left = e.length; left > 0;) {
      const bool fits = !pending_.empty() && part.offset - end_ <= hole_threshold_ &&
                        part.offset - start_ < buffer_size;
      if (!fits) flush();
      if (pending_.empty()) start_ = end_ = part.offset;
      part.length = std::min(left, buffer_size - (part.offset - start_));
      pending_.push_back(part);
      end_ = std::max(end_, part.end());
      part.offset += part.length;
      part.skip += part.length;
      left -= part.length;
      if (pending_.size() == most_pending) flush();
    }
  }

  void flush() {
    if (pending_.empty()) return;
    read(start_, {buffer_.get(), static_cast<std::size_t>(end_ - start_)});
    for (const Extent& e : pending_) copy_in(e, buffer_.get() + (e.offset - start_));
    pending_.clear();
  }

 private:
  static constexpr std::size_t most_pending = 1 << 15;

  void read(Offset offset, std::span<std::byte> into) {
    StepTimer timer(report_, Step::read);
    const std::size_t got = file_.read_at(offset, into);
    std::memset(into.data() + got, 0, into.size() - got);
  }

  File& file_;
  Count hole_threshold_;
  Report& report_;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_size);
  std::vector<Extent> pending_;
  Offset start_ = 0, end_ = 0;
};

template <typename Run>
void feed(ExtentStream& extents, Run& run) {
  std::vector<Extent> batch(256);
  while (const std::size_t n = extents.next(batch)) {
    for (std::size_t i = 0; i < n; ++i) run.add(batch[i]);
  }
  run.flush();
}

}  // namespace

void write_directly(File& file, ExtentStream& extents, Report& report) {
  RunWriter run(file, report);
  feed(extents, run);
}

void read_directly(File& file, ExtentStream& extents, Count hole_threshold, Report& report) {
  RunReader run(file, hole_threshold, report);
  feed(extents, run);
}

}  // namespace forebay
