#include "storage/client_caches.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include "storage/file_system.h"

namespace forebay {

namespace {

// BeeGFS has buffers that go to the server when full.
constexpr std::array weak_kinds{
    file_system::nfs, file_system::smb,        file_system::smb2,   file_system::plan9,
    file_system::afs, file_system::kernel_afs, file_system::beegfs, file_system::orangefs,
};

}  // namespace

ClientCaches client_caches_of_kind(long kind, bool writable) {
  const auto bits = static_cast<std::uint32_t>(kind);
  if (bits == file_system::fuse) return writable ? ClientCaches::fuse : ClientCaches::weak;
  const bool weak = std::find(weak_kinds.begin(), weak_kinds.end(), bits) != weak_kinds.end();
  return weak ? ClientCaches::weak : ClientCaches::coherent;
}

ClientCaches client_caches_of(const std::string& path, bool writable) {
  const std::string folder = std::filesystem::path(path).parent_path();
  struct statfs status {};
  if (::statfs(folder.empty() ? "." : folder.c_str(), &status) != 0) return ClientCaches::coherent;
  return client_caches_of_kind(static_cast<long>(status.f_type), writable);
}

// None of these may fail a read. A file system that does not know one of them has no such cache, or
// none that can be bypassed.
void go_to_server(int fd, ClientCaches caches) {
  if (caches == ClientCaches::coherent) return;
  // GlusterFS keeps small files whole for a second from the look-up of their names, and serves
  // reads from that. A change by this node makes it forget them. This call counts as one but
  // changes nothing: the first byte of a file that has one exists.
  if (caches == ClientCaches::fuse) ::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1);
  // The answer has the file's size. Otherwise the kernel may believe an old size for a second, and
  // end a read there. NFS drops what is older than the answer.
  struct statx status {};
  ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status);
  // The kernel must not read ahead while ranks reduce: bytes under way are not dropped.
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace forebay
