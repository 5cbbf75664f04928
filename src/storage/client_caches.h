// What clients of a file system keep of a file, and how a rank gets past that.
//
// Where all nodes see each other's writes at once (a disk, Lustre, GPFS), there is nothing to do.
// Elsewhere a node may keep what it wrote until fsync or close, and what it read until it opens the
// file again, or for a while. There ranks go to the server where they meet (storage/file.h):
//
//   who has written, before it meets the others:  fsync
//   who reads, behind a meeting, once:            go_to_server
//
// docs/filesystems.md tells what was tried.
#pragma once

#include <string>

namespace forebay {

enum class ClientCaches {
  coherent,
  weak,
  fuse,  ///< weak, and in a program of the file system's own, which may keep more than the kernel
};

/// Local. One system call. Of the folder that a file is in, by the kind of file system; one that
/// nobody knows is coherent, as disks are. Who only reads the file changes nothing, and so has no
/// way to make such a program forget it: for them `fuse` is `weak`.
ClientCaches client_caches_of(const std::string& path, bool writable);
ClientCaches client_caches_of_kind(long kind, bool writable);  ///< f_type of statfs

/// Local. What is read by `fd` from now on is not older than this call, the file's size neither.
/// Nothing is left to be written back: fsync comes before it.
void go_to_server(int fd, ClientCaches caches);

}  // namespace forebay
