// The slow store of benchmarks: a library for LD_PRELOAD that makes system calls on the files below
// one directory as slow as slow_store_model.h says, whatever library makes them. Calls still do
// what they do; what is missing to the time they should take is slept.
//
//     FOREBAY_SLOW_STORE_DIR         the directory; without it nothing is slowed
//     FOREBAY_SLOW_STORE_STATE       a zero-filled file of at least sizeof(SlowStoreState), usually
//                                    in /dev/shm, the same for all processes
//     FOREBAY_SLOW_STORE_LATENCY_US, _BYTES_PER_SECOND, _STRIPE, _SWITCH_US, _SERVERS,
//     _OPEN_US, _ONE_SERVER_FILES
//
// Slowed are opening, where _OPEN_US says so (each call waits so long, several at a time), read,
// pread, readv, preadv, write, pwrite, writev, pwritev and their variants. Not slowed: truncating,
// fsync, mmap, copies within the kernel, aio_* (which Open MPI's ompio uses for non-blocking calls
// only).

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "slow_store/slow_store_model.h"

namespace {

using forebay::bench::SlowStoreCall;
using forebay::bench::SlowStoreParameters;
using forebay::bench::SlowStoreState;

constexpr int kKnownDescriptors = 65536;
constexpr std::int64_t kPerSecond = 1'000'000'000;

enum Verdict : char { unknown, slow, other };
std::atomic<Verdict> verdicts[kKnownDescriptors];  // by descriptor

[[noreturn]] void give_up(const char* what) {
  // Figures of a store that is not slow would be worse than none.
  std::fprintf(stderr, "slow store: %s: %s\n", what, std::strerror(errno));
  std::abort();
}

double number(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtod(text, nullptr) : otherwise;
}

class Store {
 public:
  Store() {
    const char* given = std::getenv("FOREBAY_SLOW_STORE_DIR");
    if (!given) return;
    if (!::realpath(given, directory_)) give_up(given);
    parameters_.latency_ns =
        static_cast<std::int64_t>(number("FOREBAY_SLOW_STORE_LATENCY_US", 0) * 1e3);
    parameters_.switch_ns =
        static_cast<std::int64_t>(number("FOREBAY_SLOW_STORE_SWITCH_US", 0) * 1e3);
    parameters_.bytes_per_second = number("FOREBAY_SLOW_STORE_BYTES_PER_SECOND", 0);
    parameters_.stripe_bytes =
        static_cast<std::int64_t>(number("FOREBAY_SLOW_STORE_STRIPE", 1 << 20));
    parameters_.servers = static_cast<int>(number("FOREBAY_SLOW_STORE_SERVERS", 1));
    open_ns_ = static_cast<std::int64_t>(number("FOREBAY_SLOW_STORE_OPEN_US", 0) * 1e3);
    parameters_.one_server_files = number("FOREBAY_SLOW_STORE_ONE_SERVER_FILES", 0) != 0;
    errno = EINVAL;
    if (parameters_.stripe_bytes < 1) give_up("FOREBAY_SLOW_STORE_STRIPE");
    if (parameters_.servers < 1 || parameters_.servers > forebay::bench::kMostServers) {
      give_up("FOREBAY_SLOW_STORE_SERVERS");
    }
    attach();
  }

  bool contains(int fd) const {
    if (!state_) return false;
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    char path[PATH_MAX];
    const ssize_t n = ::readlink(link, path, sizeof path);
    const std::string_view whole(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    const std::string_view above(directory_);
    return whole.size() > above.size() && whole.starts_with(above) && whole[above.size()] == '/';
  }

  std::int64_t open_ns() const { return open_ns_; }

  std::int64_t book(int fd, std::int64_t now, std::int64_t offset, std::int64_t bytes,
                    bool write) const {
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return now;
    return forebay::bench::book_call(
        *state_, parameters_,
        {now, static_cast<std::int64_t>(::getpid()), info.st_ino, offset, bytes, write});
  }

 private:
  void attach() {
    const char* path = std::getenv("FOREBAY_SLOW_STORE_STATE");
    errno = EINVAL;
    if (!path) give_up("FOREBAY_SLOW_STORE_STATE");
    const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
    struct stat info {};
    if (fd < 0 || ::fstat(fd, &info) != 0) give_up(path);
    errno = EINVAL;
    if (info.st_size < static_cast<off_t>(sizeof(SlowStoreState))) give_up(path);
    void* at = ::mmap(nullptr, sizeof(SlowStoreState), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) give_up(path);
    ::syscall(SYS_close, fd);
    state_ = static_cast<SlowStoreState*>(at);
    attach_state(*state_);
  }

  char directory_[PATH_MAX] = "";
  SlowStoreParameters parameters_;
  std::int64_t open_ns_ = 0;
  SlowStoreState* state_ = nullptr;
};

const Store& store() {
  static const Store only;
  return only;
}

bool is_slow(int fd) {
  if (fd < 0) return false;
  if (fd >= kKnownDescriptors) return store().contains(fd);
  const Verdict known = verdicts[fd].load(std::memory_order_relaxed);
  if (known != unknown) return known == slow;
  const int saved = errno;
  const bool below = store().contains(fd);
  errno = saved;
  verdicts[fd].store(below ? slow : other, std::memory_order_relaxed);
  return below;
}

// What a descriptor names has changed.
int forget(long fd) {
  if (fd >= 0 && fd < kKnownDescriptors) verdicts[fd].store(unknown, std::memory_order_relaxed);
  return static_cast<int>(fd);
}

std::int64_t clock_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * kPerSecond + t.tv_nsec;
}

void sleep_until(std::int64_t when) {
  const timespec t{when / kPerSecond, when % kPerSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

constexpr off_t kPosition = -1;  // of a call without an offset: where the descriptor stands

std::int64_t place_of(int fd, off_t offset, bool write) {
  if (offset != kPosition) return offset;
  if (write && (::fcntl(fd, F_GETFL) & O_APPEND)) return ::lseek(fd, 0, SEEK_END);
  return ::lseek(fd, 0, SEEK_CUR);
}

template <typename Call>
ssize_t slowed(int fd, off_t offset, std::size_t bytes, bool write, Call call) {
  if (!is_slow(fd)) return static_cast<ssize_t>(call());
  const std::int64_t end = store().book(fd, clock_now(), place_of(fd, offset, write),
                                        static_cast<std::int64_t>(bytes), write);
  const auto result = static_cast<ssize_t>(call());
  const int saved = errno;
  sleep_until(end);
  errno = saved;
  return result;
}

std::size_t sum_of(const iovec* pieces, int count) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return bytes;
}

ssize_t slow_read(int fd, void* to, std::size_t n) {
  return slowed(fd, kPosition, n, false, [&] { return ::syscall(SYS_read, fd, to, n); });
}
ssize_t slow_pread(int fd, void* to, std::size_t n, off_t at) {
  return slowed(fd, at, n, false, [&] { return ::syscall(SYS_pread64, fd, to, n, at); });
}
ssize_t slow_write(int fd, const void* from, std::size_t n) {
  return slowed(fd, kPosition, n, true, [&] { return ::syscall(SYS_write, fd, from, n); });
}
ssize_t slow_pwrite(int fd, const void* from, std::size_t n, off_t at) {
  return slowed(fd, at, n, true, [&] { return ::syscall(SYS_pwrite64, fd, from, n, at); });
}
ssize_t slow_preadv(int fd, const iovec* pieces, int n, off_t at, int flags) {
  return slowed(fd, at, sum_of(pieces, n), false,
                [&] { return ::syscall(SYS_preadv2, fd, pieces, n, at, 0L, flags); });
}
ssize_t slow_pwritev(int fd, const iovec* pieces, int n, off_t at, int flags) {
  return slowed(fd, at, sum_of(pieces, n), true,
                [&] { return ::syscall(SYS_pwritev2, fd, pieces, n, at, 0L, flags); });
}

int plain_open(int folder, const char* path, int flags, mode_t mode) {
  const int fd = forget(::syscall(SYS_openat, folder, path, flags, mode));
  // The library itself opens files while the store is being set up.
  static thread_local bool inside = false;
  if (fd < 0 || inside) return fd;
  inside = true;
  const int saved = errno;
  const std::int64_t price = store().open_ns();
  if (price > 0 && is_slow(fd)) sleep_until(clock_now() + price);
  errno = saved;
  inside = false;
  return fd;
}

bool has_mode(int flags) { return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

#define SLOW_STORE_EXPORT __attribute__((visibility("default")))
#define SLOW_STORE_MODE(flags)   \
  mode_t mode = 0;               \
  if (has_mode(flags)) {         \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }

extern "C" {

SLOW_STORE_EXPORT ssize_t read(int fd, void* to, size_t n) { return slow_read(fd, to, n); }
SLOW_STORE_EXPORT ssize_t __read_chk(int fd, void* to, size_t n, size_t) {
  return slow_read(fd, to, n);
}
SLOW_STORE_EXPORT ssize_t pread(int fd, void* to, size_t n, off_t at) {
  return slow_pread(fd, to, n, at);
}
SLOW_STORE_EXPORT ssize_t pread64(int fd, void* to, size_t n, off64_t at) {
  return slow_pread(fd, to, n, at);
}
SLOW_STORE_EXPORT ssize_t __pread_chk(int fd, void* to, size_t n, off_t at, size_t) {
  return slow_pread(fd, to, n, at);
}
SLOW_STORE_EXPORT ssize_t __pread64_chk(int fd, void* to, size_t n, off64_t at, size_t) {
  return slow_pread(fd, to, n, at);
}
SLOW_STORE_EXPORT ssize_t readv(int fd, const iovec* pieces, int n) {
  return slow_preadv(fd, pieces, n, kPosition, 0);
}
SLOW_STORE_EXPORT ssize_t preadv(int fd, const iovec* pieces, int n, off_t at) {
  return slow_preadv(fd, pieces, n, at, 0);
}
SLOW_STORE_EXPORT ssize_t preadv64(int fd, const iovec* pieces, int n, off64_t at) {
  return slow_preadv(fd, pieces, n, at, 0);
}
SLOW_STORE_EXPORT ssize_t preadv2(int fd, const iovec* pieces, int n, off_t at, int flags) {
  return slow_preadv(fd, pieces, n, at, flags);
}
SLOW_STORE_EXPORT ssize_t write(int fd, const void* from, size_t n) {
  return slow_write(fd, from, n);
}
SLOW_STORE_EXPORT ssize_t pwrite(int fd, const void* from, size_t n, off_t at) {
  return slow_pwrite(fd, from, n, at);
}
SLOW_STORE_EXPORT ssize_t pwrite64(int fd, const void* from, size_t n, off64_t at) {
  return slow_pwrite(fd, from, n, at);
}
SLOW_STORE_EXPORT ssize_t writev(int fd, const iovec* pieces, int n) {
  return slow_pwritev(fd, pieces, n, kPosition, 0);
}
SLOW_STORE_EXPORT ssize_t pwritev(int fd, const iovec* pieces, int n, off_t at) {
  return slow_pwritev(fd, pieces, n, at, 0);
}
SLOW_STORE_EXPORT ssize_t pwritev64(int fd, const iovec* pieces, int n, off64_t at) {
  return slow_pwritev(fd, pieces, n, at, 0);
}
SLOW_STORE_EXPORT ssize_t pwritev2(int fd, const iovec* pieces, int n, off_t at, int flags) {
  return slow_pwritev(fd, pieces, n, at, flags);
}

// What follows keeps the verdicts true.
SLOW_STORE_EXPORT int open(const char* path, int flags, ...) {
  SLOW_STORE_MODE(flags)
  return plain_open(AT_FDCWD, path, flags, mode);
}
SLOW_STORE_EXPORT int open64(const char* path, int flags, ...) {
  SLOW_STORE_MODE(flags)
  return plain_open(AT_FDCWD, path, flags, mode);
}
SLOW_STORE_EXPORT int openat(int folder, const char* path, int flags, ...) {
  SLOW_STORE_MODE(flags)
  return plain_open(folder, path, flags, mode);
}
SLOW_STORE_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  SLOW_STORE_MODE(flags)
  return plain_open(folder, path, flags, mode);
}
SLOW_STORE_EXPORT int __open_2(const char* path, int flags) {
  return plain_open(AT_FDCWD, path, flags, 0);
}
SLOW_STORE_EXPORT int __open64_2(const char* path, int flags) {
  return plain_open(AT_FDCWD, path, flags, 0);
}
SLOW_STORE_EXPORT int creat(const char* path, mode_t mode) {
  return plain_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
SLOW_STORE_EXPORT int creat64(const char* path, mode_t mode) {
  return plain_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
SLOW_STORE_EXPORT int close(int fd) {
  forget(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}
SLOW_STORE_EXPORT int dup2(int from, int to) noexcept {
  forget(to);
  if (from == to) return ::fcntl(from, F_GETFD) < 0 ? -1 : to;
  return static_cast<int>(::syscall(SYS_dup3, from, to, 0));
}
SLOW_STORE_EXPORT int dup3(int from, int to, int flags) noexcept {
  forget(to);
  return static_cast<int>(::syscall(SYS_dup3, from, to, flags));
}

}  // extern "C"
