// File: a POSIX descriptor with whole-or-error reads and writes, opened when first used.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "base/byte_file.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "storage/client_caches.h"
#include "storage/store_times.h"
#include "storage/write_queue.h"

namespace forebay {

class File : public ByteFile {
 public:
  /// Local. Nothing is opened yet; most ranks of a large job never touch the file.
  File(std::string path, bool writable, Rank rank, Report& report);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const override { return path_; }
  bool writable() const { return writable_; }

  /// Local. Creates the file, or truncates an existing one to nothing; `exclusive`: Errc::eexist
  /// instead.
  void create(bool exclusive);
  /// Local. The same by a thread, as long as there are few at a time: a store may take long for it.
  /// Whatever needs the descriptor waits for that, and fails as it did.
  void create_later();
  void wait_until_made();
  void ensure_open() override;
  void close();  ///< reports errors that the system kept until now

  Offset size() override;
  bool is_regular();  ///< false for pipes and devices, whose size means nothing
  void truncate(Offset size) override;
  /// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
  std::size_t read_at(Offset offset, std::span<std::byte> into) override;
  /// Writes all or throws (Errc::eno_space, equota, ewrite).
  using ByteFile::write_at;
  /// The same for several pieces of memory that follow each other in the file; `pieces` is used up.
  void write_at(Offset offset, std::span<iovec> pieces) override;
  /// Local. The same for values, which nothing in the file refers to yet: while the queue that the
  /// file was given is open (storage/write_queue.h) they are copied, and written later.
  void write_data_at(Offset offset, std::span<const std::byte> from) override;
  /// Local. `queue` outlives the file; null: none.
  void use_queue(WriteQueue* queue) { queue_ = queue; }
  bool writes_later() const override { return queue_ && queue_->is_open(); }
  void sync() override;
  /// Local. Of calls to all files of this folder: the least of those seen, less a nanosecond a
  /// byte. The largest number until there were a few.
  std::int64_t least_latency(bool writing) const override;
  void learn_latency(bool writing, std::int64_t ns) override;
  /// Local. Where the first call took long it is made again, with a few of its bytes, until it is
  /// known whether that is the store's doing: of that first operations depend. `same`: what the
  /// file has at `offset`, which was just written there; `size` bytes there were just read.
  void settle_latency(Offset offset, std::span<const std::byte> same);
  void settle_latency(Offset offset, Count size);

  /// Local, before all else. From here on nothing is opened: what is written is counted and
  /// dropped, and there is nothing to read.
  void drop_all() { drops_ = true; }

  // Where caches are weak (storage/client_caches.h) what ranks write is seen by others behind their
  // next meeting, as elsewhere, if both sides go to the server for it. Where they are coherent, as
  // they are unless share() tells otherwise, none of this makes a system call.

  /// Local. From here on meet() is called before ranks meet (Comm::before_meetings).
  void share(ClientCaches caches);
  bool has_weak_caches() const override { return caches_ != ClientCaches::coherent; }
  ClientCaches caches() const { return caches_; }
  /// Local. What was written is brought to the server, and what is read next comes from there.
  void meet();
  /// Local. The latter alone; others may have written anywhere.
  void look_again();
  /// Local. Bytes were written other than by this object; others are about to be read so.
  void note_written();
  void refresh();
  /// Local, behind the last meeting. Where caches are weak: what this node has kept of a file that
  /// was opened to write goes, since whoever opens it next here, if only to read, could not make it
  /// go. It may be closed before; what fails was told by that and by meet().
  void leave() noexcept;
  /// Local. What this object writes counts as written by `other`, which outlives it.
  void write_for(File& other) { other_ = &other; }

  /// Local. Where the file is that this object has open: path(), or what it has been renamed to;
  /// path() where that is not to be found out.
  std::string place_now();
  /// Local. It is opened by that path from here on.
  void moved(std::string path);
  /// Local. Errc::efile where another file is found by the path; 0: whatever is.
  void expect(std::uint64_t inode) { inode_ = inode; }

  std::int64_t changes() const override { return changes_->load(std::memory_order_relaxed); }
  bool only_reads() const override { return !writable_; }

  bool release(Offset offset, Count bytes) override;
  bool is_linked() override;
  int descriptor();  ///< opens now
  StoreTimes& folder() { return *times_; }

 private:
  bool fault(const char* call);
  int make(const std::string& path, bool exclusive);
  void take_made(int made);
  /// Threads may write different parts of the file at a time.
  void tally(Counter counter, std::int64_t n);
  using Clock = std::chrono::steady_clock;
  static void note_time(CallTimes& times, Clock::time_point begin, std::int64_t bytes);

  std::string path_;
  bool writable_;
  Rank rank_;
  Report& report_;
  int fd_ = -1;
  std::future<int> making_;  // its descriptor, or -errno
  int not_made_ = 0;         // errno
  bool was_open_ = false, drops_ = false;
  std::uint64_t inode_ = 0;  // expected
  ClientCaches caches_ = ClientCaches::coherent;
  std::atomic<bool> dirty_ = false;  // written to since the last meeting; on any thread
  std::atomic<bool> stale_ = false;  // not read from since
  File* other_ = nullptr;
  WriteQueue* queue_ = nullptr;
  std::shared_ptr<StoreTimes> times_;
  std::atomic<std::int64_t>* changes_;  // of all files of this name
  std::mutex refreshing_;
};

/// Local. An empty file beside `path`, without a name: it goes with the process, however that ends.
std::unique_ptr<File> make_nameless_file(const std::string& path, Rank rank, Report& report);

/// The path without a ROMIO file system prefix ("ufs:", "lustre:", …).
std::string strip_prefix(const std::string& path);

/// Local. A file that others have open, or a folder's names, reach the device.
void sync_path(const std::string& path);

}  // namespace forebay
