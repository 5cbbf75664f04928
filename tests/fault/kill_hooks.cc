#include "fault/kill_hooks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace kill_test {

namespace {

enum class When { before, half, after };

std::atomic<long> calls{0};
std::atomic<long> kill_at{0};  // 0: never
When when = When::before;
std::string only;  // calls of this name; empty: all
bool with_renames = false;
std::string durable;  // copies of this file are kept; empty: of none

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// Surrounds a system call. `half()` may do part of it.
template <typename Call, typename Half>
auto watched(const char* name, Call&& call, Half&& half) {
  const bool counts = kill_at > 0 && (only.empty() || only == name);
  const bool mine = counts && ++calls == kill_at;
  if (mine && when == When::before) die();
  if (mine && when == When::half) {
    half();
    die();
  }
  const auto result = call();
  if (mine) die();
  return result;
}

/// The file's path, if copies of it are kept; else nothing.
std::string durable_path(int fd) {
  char name[PATH_MAX] = "", kept[PATH_MAX] = "";
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name - 1) <= 0 ||
      !::realpath(durable.c_str(), kept))
    return {};
  const std::string path = name, file = kept;
  const bool is_kept =
      path == file || path.starts_with(file + ".subfiles/") || path.starts_with(file + "/");
  return is_kept ? path : std::string();
}

// One process at a time, so that a copy never has less than the one before.
void copy_durable(int fd) {
  const std::string from = durable_path(fd);
  if (from.empty()) return;
  const std::string to = from + ".durable", unfinished = to + ".new";
  const int lock = ::open((durable + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ::flock(lock, LOCK_EX);
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  std::vector<char> block(1 << 20);
  bool whole = lock >= 0 && in >= 0 && out >= 0;
  while (whole) {
    const ssize_t n = ::read(in, block.data(), block.size());
    if (n <= 0) {
      whole = n == 0;
      break;
    }
    whole = ::write(out, block.data(), static_cast<size_t>(n)) == n;
  }
  if (in >= 0) ::close(in);
  if (out >= 0) ::close(out);
  whole = whole && std::rename(unfinished.c_str(), to.c_str()) == 0;
  ::close(lock);
  if (whole) return;
  std::fprintf(stderr, "no durable copy of %s could be made\n", from.c_str());
  std::abort();
}

}  // namespace

void arm(int rank, bool renames) {
  const char* text = std::getenv("FOREBAY_TEST_KILL");
  int whom = -1;
  long call = 0;
  char word[8] = "";
  char name[16] = "";
  if (!text || std::sscanf(text, "%d:%ld:%7[a-z]:%15s", &whom, &call, word, name) < 3) return;
  if (whom != rank) return;
  only = name;
  when = std::strcmp(word, "half") == 0    ? When::half
         : std::strcmp(word, "after") == 0 ? When::after
                                           : When::before;
  with_renames = renames;
  calls = 0;
  kill_at = call;
}

void keep_durable_copies(const std::string& path) { durable = path; }

}  // namespace kill_test

extern "C" {

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* bytes, size_t count,
                                                      off_t offset) {
  const auto some = [&](size_t n) { return ::syscall(SYS_pwrite64, fd, bytes, n, offset); };
  // A write that ends early ends between sectors; one within a sector happens or does not.
  const off_t middle = (offset + static_cast<off_t>(count / 2)) / 512 * 512;
  return kill_test::watched(
      "pwrite", [&] { return some(count); },
      [&] {
        if (middle > offset) some(static_cast<size_t>(middle - offset));
      });
}

__attribute__((visibility("default"))) ssize_t pwritev(int fd, const iovec* pieces, int count,
                                                       off_t offset) {
  const auto some = [&](int n) {
    return ::syscall(SYS_pwritev, fd, pieces, n, static_cast<long>(offset), 0L);
  };
  return kill_test::watched(
      "pwritev", [&] { return some(count); }, [&] { some(std::max(1, count / 2)); });
}

__attribute__((visibility("default"))) int fsync(int fd) {
  const auto result = static_cast<int>(kill_test::watched(
      "fsync", [&] { return ::syscall(SYS_fsync, fd); }, [] {}));
  if (result == 0 && !kill_test::durable.empty()) kill_test::copy_durable(fd);
  return result;
}

__attribute__((visibility("default"))) int ftruncate(int fd, off_t size) {
  return static_cast<int>(kill_test::watched(
      "ftruncate", [&] { return ::syscall(SYS_ftruncate, fd, size); }, [] {}));
}

__attribute__((visibility("default"))) int fallocate(int fd, int mode, off_t offset, off_t size) {
  return static_cast<int>(kill_test::watched(
      "fallocate", [&] { return ::syscall(SYS_fallocate, fd, mode, offset, size); }, [] {}));
}

__attribute__((visibility("default"))) int unlink(const char* path) noexcept {
  return static_cast<int>(kill_test::watched(
      "unlink", [&] { return ::syscall(SYS_unlink, path); }, [] {}));
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  const auto moves = [&] { return ::syscall(SYS_rename, from, to); };
  if (!kill_test::with_renames) return static_cast<int>(moves());
  return static_cast<int>(kill_test::watched("rename", moves, [] {}));
}

// std::filesystem::remove calls it.
__attribute__((visibility("default"))) int remove(const char* path) noexcept {
  const int result = unlink(path);
  return result != 0 && errno == EISDIR ? ::rmdir(path) : result;
}

}  // extern "C"
