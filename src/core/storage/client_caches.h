// The caches that clients of a file system have of a file, and how a rank gets past them.
//
// If all nodes see each other's writes at once (a disk, Lustre, GPFS), there is nothing to do.
// Elsewhere a node may keep what it wrote until fsync or close, and what it read until it opens the
// file again, or for a while. There ranks go to the server around a reduction (storage/file.h):
//
//   a rank that has written, before the reduction:  fsync
//   a rank that reads, once after the reduction:    go_to_server
//
// docs/filesystems.md says what was tried.
#pragma once

#include <string>

namespace forebay {

enum class ClientCaches {
  coherent,
  weak,
  fuse,  ///< weak, and in a program of the file system, which may keep more than the kernel
};

/// Local. One system call. Returns the caches for a file, by the kind of file system of its folder.
/// An unknown kind is coherent, as disks are. A rank that only reads changes nothing, and so cannot
/// make a FUSE program forget its cache. For such ranks `fuse` is `weak`.
ClientCaches client_caches_of(const std::string& path, bool writable);
ClientCaches client_caches_of_kind(long kind, bool writable);  ///< f_type of statfs

/// Local. Reads by `fd` after this call, and the file's size, are not older than this call.
/// Nothing may wait to be written back: fsync comes before it.
void go_to_server(int fd, ClientCaches caches);

}  // namespace forebay
