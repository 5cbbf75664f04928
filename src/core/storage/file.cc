#include "storage/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <span>
#include <thread>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/host_name.h"
#include "comm/agree.h"
#include "storage/directory.h"
#include "storage/fault.h"

namespace forebay {

namespace {

// The counter depends on the last part of a path only, and names with the same hash share it.
std::atomic<std::int64_t>& changes_of(const std::string& path) {
  constinit static std::array<std::atomic<std::int64_t>, 256> all{};
  const auto name = std::span(path).subspan(path.rfind('/') + 1);
  return all[hash_of(std::as_bytes(name)) % all.size()];
}

}  // namespace

File::File(const std::string& path, bool writable, Rank rank, Report& report)
    : path_(absolute_path(path)),
      writable_(writable),
      rank_(rank),
      report_(report),
      times_(StoreTimes::of(path_)),
      changes_(&changes_of(path_)) {}

void File::moved(std::string path) {
  path_ = std::move(path);
  changes_ = &changes_of(path_);
}

File::~File() {
  if (queue_) queue_->drop(*this);
  attempt_to([&] { wait_until_made(); });
  if (fd_ >= 0) ::close(fd_);
}

bool File::fault(const char* call) {
  const int errnum = injected_fault(call, rank_);
  if (errnum == 0) return false;
  errno = errnum;
  return true;
}

void File::tally(Counter counter, std::int64_t n) {
  std::atomic_ref(report_[counter]).fetch_add(n, std::memory_order_relaxed);
}

namespace {

// With weak caches, a node may keep a name for about a second after another node removed the file.
// A call that goes to the server by that name tells, and makes the node forget it. `failed` gets
// the error of fsync, which the system does not tell again.
bool is_removed(int fd, int& failed) {
  struct statx status {};
  failed = ::fsync(fd) == 0 ? 0 : errno;
  if (failed == 0 &&
      ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status) == 0)
    return false;
  return errno == ENOENT || errno == ESTALE;
}

bool is_removed(const std::string& path) {
  const Descriptor there(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  int failed = 0;
  return there.get() >= 0 ? is_removed(there.get(), failed) : errno == ENOENT || errno == ESTALE;
}

constexpr int most_tries = 100;
constexpr std::chrono::milliseconds between_tries(20);

}  // namespace

// Returns the descriptor, or -errno.
int File::make(const std::string& path, bool exclusive) {
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (exclusive ? O_EXCL : O_TRUNC);
  for (int tried = 0;; ++tried) {
    const int fd = fault("open") ? -1 : beyond_standard(::open(path.c_str(), flags, 0666));
    ++*changes_;
    if (fd >= 0) return fd;
    const int error = errno;
    if (error != EEXIST || tried == most_tries || !has_weak_caches() || !is_removed(path))
      return -error;
    std::this_thread::sleep_for(between_tries);
  }
}

void File::take_made(int made) {
  if (made < 0) throw system_error(-made, Errc::eofile, "creating", path_);
  if (const auto wrong = attempt_to([&] { check_kind(made); })) {
    ::close(made);
    throw *wrong;
  }
  fd_ = made;
  was_open_ = true;
  lost_ = 0;  // the file is empty
}

void File::create(bool exclusive) {
  if (drops_) return;
  take_made(make(exclusive ? directory::to_make(path_) : path_, exclusive));
  not_made_ = 0;
}

void File::create_later() {
  if (drops_) return;
  constexpr int most = 16;
  static std::atomic<int> busy = 0;
  const auto begin = [&] {
    const auto by_thread = [this] {
      const int made = make(path_, false);
      --busy;
      return made;
    };
    making_ = std::async(std::launch::async, by_thread);
  };
  const bool few = ++busy <= most;
  if (few && !attempt_to(begin)) return;
  --busy;
  create(false);
}

void File::wait_until_made() {
  // If that failed, nothing else is tried: all that follows fails in the same way.
  if (making_.valid()) {
    const int made = making_.get();
    if (made >= 0) return take_made(made);
    not_made_ = -made;
  }
  if (not_made_ != 0) take_made(-not_made_);
}

void agree_on_file(const Comm& comm, File& file, const std::optional<Error>& mine) {
  std::array<std::int64_t, FileIdentity::count> told;
  told.fill(std::numeric_limits<std::int64_t>::min());
  const auto failed = attempt_to([&] {
    if (mine) throw *mine;
    if (comm.is_root()) file.identity().put(told);
  });
  agree_on_error(comm, failed, told, Reduce::max);
  file.expect(FileIdentity::from(told));
}

std::unique_ptr<File> make_nameless_file(const std::string& path, Rank rank, Report& report) {
  const std::string name =
      path + ".pending." + std::to_string(rank) + "." + std::to_string(::getpid());
  auto file = std::make_unique<File>(name, true, rank, report);
  file->create(true);
  ::unlink(name.c_str());
  return file;
}

// O_NONBLOCK: do not wait for the writer of a pipe.
int File::flags() const { return (writable_ ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK; }

int File::open_at(const std::string& path) {
  int fd = ::open(path.c_str(), flags());
  struct stat st {};
  // A file server may have leased the file to somebody, who returns it in a moment.
  if (fd < 0 && errno == EWOULDBLOCK && ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode))
    fd = ::open(path.c_str(), flags() & ~O_NONBLOCK);
  int failed = 0;
  for (int tried = 0; has_weak_caches() && fd >= 0 && tried < most_tries && is_removed(fd, failed);
       ++tried) {
    ::close(fd);
    if (tried > 0) std::this_thread::sleep_for(between_tries);
    struct statx status {};
    ::statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status);
    fd = ::open(path.c_str(), flags());
    failed = 0;
  }
  note_loss(failed);
  return beyond_standard(fd);
}

void File::check_kind(int fd) const {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !(S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode))) return;
  throw Error(Errc::efile, path_ + (S_ISDIR(st.st_mode) ? " is a directory" : " is a pipe"),
              "give the path of a file");
}

void File::ensure_open() {
  wait_until_made();
  if (fd_ >= 0 || drops_) return;
  if (fault("open")) throw system_error(errno, Errc::eofile, "opening", path_);
  const auto failed = attempt_to([&] { open_by(path_); });
  if (failed && !open_renamed()) throw *failed;
  was_open_ = true;
}

// With weak caches, a path may show what it led to before.
void File::ensure_there() {
  if (fd_ >= 0 || drops_ || has_weak_caches() || !shows(path_, expected_)) ensure_open();
}

// Opens what is at `path`, if it is the expected file.
void File::open_by(const std::string& path) {
  fd_ = open_at(path);
  if (fd_ < 0) throw system_error(errno, Errc::eofile, "opening", path);
  const auto wrong = attempt_to([&] {
    check_kind(fd_);
    if (!may_be(fd_, expected_) && (!sample_ || sample_of(fd_) != *sample_))
      throw Error(Errc::efile,
                  path + " on " + host_name() + " is another file than the one that was opened",
                  "give a path that all nodes find the same file by, and let it keep its folder "
                  "while it is open");
    if (check_) naming(path, [&] { check_(*this); });
  });
  if (!wrong) return;
  ::close(std::exchange(fd_, -1));
  throw *wrong;
}

bool File::open_renamed() {
  if (main_) {
    attempt_to([&] {
      main_->ensure_open();
      const std::string place = place_(main_->place_now());
      if (place != path_) open_by(place);
    });
  } else {
    fd_ = open_elsewhere(path_, expected_, flags());
  }
  return fd_ >= 0;
}

void File::expect_beside(File& main, Place place, Check check) {
  main_ = &main;
  place_ = std::move(place);
  check_ = std::move(check);
}

std::string File::place_now() {
  attempt_to([&] { wait_until_made(); });
  return fd_ < 0 ? path_ : place_of(fd_, path_);
}

int File::descriptor() {
  ensure_open();
  return fd_;
}

void File::close() {
  if (queue_) queue_->drop(*this);
  attempt_to([&] { wait_until_made(); });
  if (fd_ < 0) return;
  const int fd = fd_;
  fd_ = -1;
  const bool failed = ::close(fd) != 0 && errno != EINTR;
  if (!fault("close") && !failed) return;
  note_loss(errno);
  throw system_error(errno, Errc::ewrite, "closing", path_);
}

Offset File::size() {
  if (drops_) return 0;
  const int fd = descriptor();
  refresh();
  struct stat st {};
  if (::fstat(fd, &st) != 0) throw system_error(errno, Errc::efile, "asking the size of", path_);
  return st.st_size;
}

bool File::is_regular() {
  struct stat st {};
  return ::fstat(descriptor(), &st) == 0 && S_ISREG(st.st_mode);
}

void File::truncate(Offset size) {
  ++*changes_;
  if (drops_) return;
  if (fault("truncate") || ::ftruncate(descriptor(), size) != 0 || fault("truncated"))
    throw system_error(errno, Errc::ewrite, "setting the size of", path_);
}

std::size_t File::read_at(Offset offset, std::span<std::byte> into) {
  if (drops_) return 0;
  const int fd = descriptor();
  refresh();
  const std::size_t read = transfer(Transfer::read, into.size(), path_, [&](std::size_t done) {
    if (fault("pread")) return ssize_t{-1};
    const auto begin = Clock::now();
    const ssize_t n =
        ::pread(fd, into.data() + done, into.size() - done, offset + static_cast<Offset>(done));
    if (n < 0) return n;
    note_time(times_->reads, begin, n);
    tally(Counter::read_calls, 1);
    return n;
  });
  tally(Counter::bytes_read, static_cast<std::int64_t>(read));
  return read;
}

void File::write_at(Offset offset, std::span<iovec> pieces) {
  constexpr std::size_t most = 1024;  // IOV_MAX
  const int fd = descriptor();
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  if (drops_) return tally(Counter::bytes_written, static_cast<std::int64_t>(bytes));
  const auto skip = [&](std::size_t moved) {
    for (; !pieces.empty() && moved >= pieces.front().iov_len; pieces = pieces.subspan(1))
      moved -= pieces.front().iov_len;
    if (pieces.empty()) return;
    pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + moved;
    pieces.front().iov_len -= moved;
  };
  transfer(Transfer::write, bytes, path_, [&](std::size_t done) -> ssize_t {
    skip(0);
    if (fault("pwrite")) return -1;
    const auto at = offset + static_cast<Offset>(done);
    const int count = static_cast<int>(std::min(pieces.size(), most));
    const auto begin = Clock::now();
    const ssize_t n = count == 1 ? ::pwrite(fd, pieces[0].iov_base, pieces[0].iov_len, at)
                                 : ::pwritev(fd, pieces.data(), count, at);
    if (n < 0 || fault("pwritten")) return -1;
    note_time(times_->writes, begin, n);
    note_written();
    tally(Counter::write_calls, 1);
    tally(Counter::bytes_written, n);
    skip(static_cast<std::size_t>(n));
    return n;
  });
}

void File::write_data_at(Offset offset, std::span<const std::byte> from) {
  if (!writes_later()) return write_at(offset, from);
  ++*changes_;
  ensure_open();  // the thread needs it
  queue_->add(*this, offset, from);
}

void File::note_time(CallTimes& times, Clock::time_point begin, std::int64_t bytes) {
  if (bytes > largest_timed) return;
  const std::chrono::nanoseconds took = Clock::now() - begin;
  times.note(took.count() - bytes);
}

std::int64_t File::least_latency(bool writing) const {
  return (writing ? times_->writes : times_->reads).least();
}

void File::learn_latency(bool writing, std::int64_t ns) {
  if (ns != CallTimes::unknown) (writing ? times_->writes : times_->reads).note(ns, few_timed);
}

// The results of these calls do not matter: they transfer nothing new.
void File::settle_latency(Offset offset, std::span<const std::byte> same) {
  if (drops_ || same.empty()) return;
  while (times_->writes.is_suspect()) {
    const auto begin = Clock::now();
    if (::pwrite(descriptor(), same.data(), same.size(), offset) < 0) return;
    note_time(times_->writes, begin, 0);
  }
}

void File::settle_latency(Offset offset, Count size) {
  std::array<std::byte, 8> into;
  if (drops_ || size < std::ssize(into)) return;
  while (times_->reads.is_suspect()) {
    const auto begin = Clock::now();
    if (::pread(descriptor(), into.data(), into.size(), offset) < 0) return;
    note_time(times_->reads, begin, 0);
  }
}

void File::share(ClientCaches caches) {
  caches_ = caches;
  stale_ = has_weak_caches();
}

void File::look_again() {
  ++*changes_;
  stale_ = has_weak_caches();
}

void File::note_written() {
  ++*changes_;
  // MPI-IO writes for ranks that have not opened the file; sync() must open it.
  if (has_weak_caches() || (fd_ < 0 && !drops_)) dirty_ = true;
  if (!other_) return;
  other_->note_written();
  other_->dirty_ = true;  // sync() must open it
}

// If it fails, the written bytes still have to go to the server.
void File::meet() {
  if (!has_weak_caches()) return;
  stale_ = true;
  if (!dirty_.exchange(false)) return;
  const int lost_before = lost_;
  const auto failed = attempt_to([&] {
    ensure_open();
    bring_to_device();
    // Opening it may have got the one error that tells of a loss.
    if (lost_ != lost_before) throw error_of_lost_bytes(lost_, path_);
  });
  if (!failed) return;
  dirty_ = true;
  throw *failed;
}

void File::refresh() {
  if (!stale_) return;
  if (fd_ < 0) {
    ensure_open();  // before the lock: the check of the file may read it,
    stale_ = true;  // and what it read is to be dropped, too
  }
  const std::lock_guard lock(refreshing_);
  if (!stale_) return;
  bring_to_device();  // if bytes were lost before, what is left can be read
  // A FUSE file system forgets nothing by a descriptor that only reads.
  if (caches_ == ClientCaches::fuse && !writable_) {
    const std::string self = "/proc/self/fd/" + std::to_string(fd_);
    const int fd = ::open(self.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    go_to_server(fd, caches_);
    if (fd >= 0) ::close(fd);
  }
  go_to_server(fd_, caches_);
  stale_ = false;
}

void File::leave() noexcept {
  if (!has_weak_caches()) return;
  attempt_to([&] {
    if (!writable_ || !was_open_) return;
    stale_ = true;  // bytes that were only read are cached, too
    refresh();
  });
  attempt_to([&] { close(); });
}

bool File::release(Offset offset, Count bytes) {
  ++*changes_;
  return ::fallocate(descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}

bool File::is_linked() {
  struct stat st {};
  return ::fstat(descriptor(), &st) == 0 && st.st_nlink > 0;
}

namespace {

Error error_of_sync(int errnum, const std::string& path) {
  return means_lost_bytes(errnum) ? error_of_lost_bytes(errnum, path)
                                  : system_error(errnum, Errc::ewrite, "synchronising", path);
}

}  // namespace

void File::sync() {
  if (making_.valid()) wait_until_made();
  if (fd_ < 0 && !dirty_ && lost_ == 0) return;  // never written through this rank
  if (const int errnum = lost_) throw error_of_lost_bytes(errnum, path_);
  ensure_open();
  bring_to_device();
  // Another thread may have got the one error that tells of the loss.
  if (const int errnum = lost_) throw error_of_lost_bytes(errnum, path_);
}

void File::bring_to_device() {
  if (!fault("fsync") && ::fsync(fd_) == 0) return;
  const int errnum = errno;
  note_loss(errnum);
  throw error_of_sync(errnum, path_);
}

// The first loss stays the one that is told.
void File::note_loss(int errnum) {
  if (errnum == 0 || !means_lost_bytes(errnum)) return;
  int none = 0;
  lost_.compare_exchange_strong(none, errnum);
  if (other_) other_->note_loss(errnum);  // its sync promises the bytes that this object wrote
}

bool means_lost_bytes(int errnum) {
  switch (errnum) {
    case EINTR:
    case EINVAL:  // a device or a pipe, which cannot be synced
    case EBADF:
    case ENOSYS:
      return false;
    default:
      return true;
  }
}

Error error_of_lost_bytes(int errnum, const std::string& path) {
  const Error failed = system_error(errnum, Errc::ewrite, "synchronising", path);
  return failed.reworded(
      failed.message() + "; the system may have lost what was written since the last sync",
      "what was synced before is intact; write the rest again, to a new file, or to this one after "
      "closing and opening it");
}

void PathSync::file(const std::string& path) {
  check(path);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw system_error(errno, Errc::ewrite, "synchronising", path);
  if (::fsync(file.get()) != 0) note(errno, path);
}

void PathSync::folder_of(const std::string& path) {
  const auto above = std::filesystem::path(directory::end_of_links(path)).parent_path();
  const std::string name = above.empty() ? "." : above.string();
  check(name);
  const Descriptor folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0) {
    if (::fsync(folder.get()) == 0) return;
    if (means_lost_bytes(errno) && errno != EOPNOTSUPP) note(errno, name);
  } else if (errno != EACCES) {
    throw system_error(errno, Errc::ewrite, "synchronising", name);
  }
  const Descriptor inside(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (inside.get() < 0)
    throw system_error(errno, Errc::ewrite, "synchronising the file system of", path);
  if (::syncfs(inside.get()) != 0) note(errno, name);
}

void PathSync::check(const std::string& path) const {
  if (const auto lost = lost_.find(path); lost != lost_.end()) throw Error(lost->second);
}

// Throws, now and at each later check() if bytes were lost.
void PathSync::note(int errnum, const std::string& path) {
  Error error = error_of_sync(errnum, path);
  if (means_lost_bytes(errnum)) lost_.emplace(path, error);
  throw error;
}

}  // namespace forebay
