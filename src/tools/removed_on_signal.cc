#include "tools/removed_on_signal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace forebay::tools {
namespace {

constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP};

// Nobody changes it while a signal may come.
std::vector<std::string> doomed;

// A signal handler may only make system calls: readdir() takes memory.
// Returns whether it removed anything.
bool remove_tree(int parent, const char* path) {
  if (::unlinkat(parent, path, 0) == 0) return true;
  if (errno == ENOENT) return false;
  const int folder = ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return false;
  alignas(dirent64) std::array<char, 4096> entries;
  // A file system may skip entries after others were removed, so the folder is read again.
  for (bool removed = false;;) {
    const auto bytes = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
    if (bytes <= 0) {
      if (!std::exchange(removed, false) || ::lseek(folder, 0, SEEK_SET) != 0) break;
      continue;
    }
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
        removed |= remove_tree(folder, entry->d_name);
      at += entry->d_reclen;
    }
  }
  ::close(folder);
  return ::unlinkat(parent, path, AT_REMOVEDIR) == 0;
}

void on_signal(int signal) {
  for (const std::string& path : doomed) remove_tree(AT_FDCWD, path.c_str());
  ::_exit(128 + signal);
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(std::vector<std::string> paths) {
  doomed = std::move(paths);
  for (const int signal : ending_signals) std::signal(signal, on_signal);
}

RemovedOnSignal::~RemovedOnSignal() {
  for (const int signal : ending_signals) std::signal(signal, SIG_DFL);
  doomed.clear();
}

}  // namespace forebay::tools
