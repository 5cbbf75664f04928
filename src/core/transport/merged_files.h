// Shows several files as one, window by window in the sequence of plan/bundle_windows.h. A
// transport for one file then carries the extents of all of them in one operation.
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

/// One rank's extents in all files. `windows` must outlive it.
class MergedStream : public ExtentStream {
 public:
  /// A null stream has nothing in that file.
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
  std::vector<std::size_t> order_;  // a heap of files that are not at their ends
  StreamSummary summary_;
};

/// The files as one. If one fails, its error is kept and nothing more is written to it; the others
/// are completed. Several threads may write at a time.
class MergedFile : public ByteFile {
 public:
  /// All arguments must outlive it. Writes go to `queue` while that is open. `queue` may be null.
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
  /// Covers writes to any of the files: each file alone has too few of them.
  std::int64_t least_latency(bool) const override { return times_.least_of_any(); }

  /// Local. Each waiting write reaches its file or becomes a failure of it. Writes to a file that a
  /// thread did not find wait until this call: the file may have been renamed.
  void finish_later();
  /// Returns the error of one file on this rank. Nobody may write meanwhile.
  const std::optional<Error>& failure(std::size_t file) const { return states_[file]->failure; }
  /// Nanoseconds since this object was made. If a file was not written to here: the largest number
  /// and 0.
  struct Span {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  };
  Span span(std::size_t file) const { return states_[file]->span; }
  /// Returns whether this rank wrote in the window where the file begins. It holds that stripe
  /// then, if any rank does.
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
  std::atomic<bool> seeks_;  // a file that is not found may be found later
  std::vector<std::unique_ptr<State>> states_;
  CallTimes times_;
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
};

}  // namespace forebay
