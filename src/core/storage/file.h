// File is a POSIX descriptor, opened on first use, with whole-or-error reads and writes.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/byte_file.h"
#include "base/error.h"
#include "base/path.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "storage/client_caches.h"
#include "storage/file_identity.h"
#include "storage/store_times.h"
#include "storage/write_queue.h"

namespace forebay {

class File : public ByteFile {
 public:
  /// Local. Opens nothing yet: most ranks of a large job never touch the file.
  File(const std::string& path, bool writable, Rank rank, Report& report);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const override { return path_; }
  bool writable() const { return writable_; }

  /// Local. Creates the file, or truncates an existing one to nothing; if `exclusive`, throws
  /// Errc::eexist instead.
  void create(bool exclusive);
  /// Local. Does the same in a thread, if there are few such threads: a store may take long for it.
  /// Functions that need the descriptor wait for the thread, and fail as it did.
  void create_later();
  void wait_until_made();
  void ensure_open() override;
  /// Local. Throws as ensure_open(), but need not open the file if the path shows the expected
  /// file.
  void ensure_there();
  void close();  ///< reports errors that the system kept until now

  Offset size() override;
  bool is_regular();  ///< false for pipes and devices, whose size means nothing
  void truncate(Offset size) override;
  /// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
  std::size_t read_at(Offset offset, std::span<std::byte> into) override;
  /// Writes all or throws (Errc::eno_space, equota, ewrite).
  using ByteFile::write_at;
  /// Writes several pieces of memory one after another to the file; `pieces` is used up.
  void write_at(Offset offset, std::span<iovec> pieces) override;
  /// Local. Writes values that nothing in the file refers to yet. While the file's queue is open
  /// (storage/write_queue.h), they are copied and written later.
  void write_data_at(Offset offset, std::span<const std::byte> from) override;
  /// Local. `queue` must outlive the file; null means none.
  void use_queue(WriteQueue* queue) { queue_ = queue; }
  bool writes_later() const override { return queue_ && queue_->is_open(); }
  /// Local. Waits until what was written is on the device. Once the system has lost written bytes,
  /// each later call throws the same error, until create() or another object opens the file: the
  /// system tells of the loss once, and forgets what it could not store. Threads may call it at a
  /// time.
  void sync() override;
  /// Local. Returns the least time of a call to files of this folder, less a nanosecond a byte. It
  /// is the largest number until there were a few calls.
  std::int64_t least_latency(bool writing) const override;
  void learn_latency(bool writing, std::int64_t ns) override;
  /// Local. If the first call was slow, repeats it with a few of its bytes, until it is known
  /// whether the store is slow: the first operations depend on that. `same` is what was just
  /// written at `offset`; `size` bytes were just read there.
  void settle_latency(Offset offset, std::span<const std::byte> same);
  void settle_latency(Offset offset, Count size);

  /// Local, before all else. From here on nothing is opened. Written bytes are counted and dropped,
  /// and there is nothing to read.
  void drop_all() { drops_ = true; }

  // With weak caches (storage/client_caches.h), others see what ranks write after their next
  // reduction, as elsewhere, if both sides go to the server for it. With coherent caches, the
  // default until share(), none of this makes a system call.

  /// Local. From here on meet() is called before each reduction (Comm::before_meetings).
  void share(ClientCaches caches);
  bool has_weak_caches() const override { return caches_ != ClientCaches::coherent; }
  ClientCaches caches() const { return caches_; }
  /// Local. Brings written bytes to the server. The next read goes to the server, too. A loss of
  /// bytes is told once here, and by each later sync().
  void meet();
  /// Local. Only the next read goes to the server; others may have written anywhere.
  void look_again();
  /// Local. Call these after writing, or before reading, other than by this object.
  void note_written();
  void refresh();
  /// Local, after the last reduction. With weak caches, drops what this node has cached of a file
  /// that was opened to write: a later reader on this node could not drop it. The file may be
  /// closed before. close() and meet() report errors.
  void leave() noexcept;
  /// Local. What this object writes counts as written by `other`, which outlives this object.
  void write_for(File& other) { other_ = &other; }

  // A program may rename a file that it has open, and nodes may have different files of one name. A
  // path stands for the file that was opened first, wherever that is by now.

  /// Local. Sets the identity() of the file on the rank that opened it first. Opening another file
  /// throws Errc::efile.
  void expect(const FileIdentity& file) { expected_ = file; }
  /// Local. Does the same for a file whose contents say what it belongs to; `check` throws if it is
  /// another one. The file lies beside `main`, which outlives this object. `place` returns its path
  /// for a path of `main`.
  using Check = std::function<void(File& opened)>;
  using Place = std::function<std::string(const std::string& main)>;
  void expect_beside(File& main, Place place, Check check);
  /// Local. A file that is only read may be a copy with this sample_of().
  void accept_copies(std::int64_t sample) { sample_ = sample; }
  FileIdentity expected() const { return expected_; }
  FileIdentity identity() { return drops_ ? FileIdentity() : identity_of(descriptor()); }
  /// Local. Returns the path of the open file: path(), or what it has been renamed to; path() if
  /// that cannot be found out.
  std::string place_now();
  /// Local. From here on, the file is opened by this path.
  void moved(std::string path);

  std::int64_t changes() const override { return changes_->load(std::memory_order_relaxed); }
  bool only_reads() const override { return !writable_; }

  bool release(Offset offset, Count bytes) override;
  bool is_linked() override;
  int descriptor();  ///< opens the file now
  StoreTimes& folder() { return *times_; }

 private:
  bool fault(const char* call);
  int flags() const;
  int open_at(const std::string& path);
  void bring_to_device();
  void note_loss(int errnum);
  void open_by(const std::string& path);
  bool open_renamed();
  void check_kind(int fd) const;
  int make(const std::string& path, bool exclusive);
  void take_made(int made);
  /// Counts atomically, because threads may write different parts of the file at a time.
  void tally(Counter counter, std::int64_t n);
  using Clock = std::chrono::steady_clock;
  static void note_time(CallTimes& times, Clock::time_point begin, std::int64_t bytes);

  std::string path_;
  bool writable_;
  Rank rank_;
  Report& report_;
  int fd_ = -1;
  std::future<int> making_;    // the descriptor, or -errno
  int not_made_ = 0;           // errno
  std::atomic<int> lost_ = 0;  // errno of the first call that told of lost bytes
  bool was_open_ = false, drops_ = false;
  FileIdentity expected_;
  std::optional<std::int64_t> sample_;  // of its copies
  File* main_ = nullptr;                // this file lies beside it
  Place place_;
  Check check_;
  ClientCaches caches_ = ClientCaches::coherent;
  std::atomic<bool> dirty_ = false;  // written since the last reduction, by any thread
  std::atomic<bool> stale_ = false;  // the next read goes to the server
  File* other_ = nullptr;
  WriteQueue* queue_ = nullptr;
  std::shared_ptr<StoreTimes> times_;
  std::atomic<std::int64_t>* changes_;  // shared by all files of this name
  std::mutex refreshing_;
};

/// Collective, as agree_on_error(). All ranks expect the file that rank 0 has. `mine` is an error
/// from before that.
void agree_on_file(const Comm& comm, File& file, const std::optional<Error>& mine);

/// Local. Makes an empty file beside `path` without a name. It vanishes when the process ends.
std::unique_ptr<File> make_nameless_file(const std::string& path, Rank rank, Report& report);

/// Returns whether an fsync or close that failed with `errnum` may have lost written bytes. Other
/// errors tell that nothing was tried.
bool means_lost_bytes(int errnum);

/// Returns the error of a sync of `path` after the system has lost bytes of it.
Error error_of_lost_bytes(int errnum, const std::string& path);

/// Brings to the device what is known by its name only. Once the system has lost bytes of a path,
/// each later call for it throws the same error, as File::sync does. All functions are local.
class PathSync {
 public:
  void file(const std::string& path);  ///< that others have open
  /// Brings the name of a file or folder: syncs the folder that holds it, where its links end. A
  /// folder that may be searched and written, but not read, has no descriptor to sync, and some
  /// file systems sync no folders. Then the whole file system is synced, by what is at
  /// `path`, which may take long.
  void folder_of(const std::string& path);

 private:
  void check(const std::string& path) const;
  void note(int errnum, const std::string& path);

  std::map<std::string, Error> lost_;
};

}  // namespace forebay
