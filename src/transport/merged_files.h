// Several files as one, window by window in the sequence of plan/bundle_windows.h: what carries the
// extents of one file carries those of all of them, in one operation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/error.h"
#include "base/extent.h"
#include "plan/bundle_windows.h"
#include "storage/store_times.h"
#include "storage/write_queue.h"

namespace forebay {

/// One rank's extents in all files. `windows` outlives it.
class MergedStream : public ExtentStream {
 public:
  /// Null: nothing in that file.
  MergedStream(std::vector<std::unique_ptr<ExtentStream>> files, const BundleWindows& windows);

  StreamSummary summary() const override { return summary_; }
  std::size_t next(std::span<Extent> out) override;
  void rewind() override;
  std::unique_ptr<ExtentStream> clone() const override;

 private:
  struct Source {
    std::unique_ptr<ExtentStream> stream;
    std::array<Extent, 64> batch{};
    std::size_t at = 0, filled = 0;
    Count window = 0;    // of the next extent, in its file
    Count position = 0;  // of that window

    bool fill();
  };

  void start();
  bool settle(std::size_t file);  // false: it is at its end

  const BundleWindows& windows_;
  std::vector<Source> files_;
  std::vector<std::size_t> order_;  // a heap of those that are not at their ends
  StreamSummary summary_;
};

/// The files. What goes wrong with one is kept, and nothing more is written to that one: the others
/// are completed. Threads may write at a time.
class MergedFile : public ByteFile {
 public:
  /// All outlive it. `queue`: that what is written goes to while that is open; may be null.
  MergedFile(std::string path, std::vector<ByteFile*> files, const BundleWindows& windows,
             WriteQueue* queue = nullptr);
  ~MergedFile() override;
  MergedFile(const MergedFile&) = delete;
  MergedFile& operator=(const MergedFile&) = delete;

  const std::string& path() const override { return path_; }
  std::size_t read_at(Offset offset, std::span<std::byte> into) override;
  using ByteFile::write_at;
  void write_at(Offset offset, std::span<iovec> pieces) override;
  void write_data_at(Offset offset, std::span<const std::byte> from) override;
  bool writes_later() const override { return queue_ && queue_->is_open(); }
  Offset size() override { return windows_.count() * windows_.size(); }
  void truncate(Offset) override {}
  void sync() override {}
  bool release(Offset, Count) override { return false; }
  bool is_linked() override { return true; }
  /// Of what was written here, to any of the files: each alone has too few writes to tell.
  std::int64_t least_latency(bool) const override { return times_.least_of_any(); }

  /// Local. What is in the queue gets to its file, or is a failure of that. A file that a thread
  /// did not find stays in the queue until here: it may have been renamed.
  void finish_later();
  /// Of one file, on this rank. Nobody writes meanwhile.
  const std::optional<Error>& failure(std::size_t file) const { return states_[file]->failure; }
  /// Nanoseconds since this was made; of a file that was not written to here, the largest number
  /// and 0.
  struct Span {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  };
  Span span(std::size_t file) const { return states_[file]->span; }
  /// This rank wrote of the window in which the file begins, and holds that stripe, if anybody
  /// does.
  bool wrote_begin(std::size_t file) const { return states_[file]->wrote_begin; }

 private:
  struct State {
    std::mutex mutex;
    std::optional<Error> failure;
    bool is_open = false, wrote_begin = false;
    Span span;
  };
  struct Place {
    std::size_t file;
    Offset offset;
  };
  Place place(Offset offset) const;
  bool ready(std::size_t file);
  template <typename F>
  void attempt(std::size_t file, F&& f);

  std::string path_;
  std::vector<ByteFile*> files_;
  const BundleWindows& windows_;
  WriteQueue* queue_;
  std::atomic<bool> seeks_;  // where a file was not found
  std::vector<std::unique_ptr<State>> states_;
  CallTimes times_;
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
};

}  // namespace forebay
