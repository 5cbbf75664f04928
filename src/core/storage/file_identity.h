// Identifies the file that a rank has open by numbers that it broadcasts. Other ranks open it by
// its path, which may lead elsewhere by then: the file was renamed, or another node has another
// file system there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace forebay {

/// Zeros mean that nothing is known. Then every file matches.
struct FileIdentity {
  std::int64_t device = 0, inode = 0;
  std::int64_t system = 0;  ///< of the kernel, by a number that it has since it was started
  std::int64_t process = 0, descriptor = 0;  ///< who has it open, and its descriptor

  static constexpr std::size_t count = 5;
  bool is_known() const { return inode != 0; }
  void put(std::span<std::int64_t> numbers) const;
  static FileIdentity from(std::span<const std::int64_t> numbers);
};

/// Local. Returns zeros if that is unknown, or for anything but a regular file.
FileIdentity identity_of(int descriptor);

/// Local. Returns whether it may be that file. Nodes number the files of disks in their own ways,
/// so there another node has another file. Network file systems have the same inode everywhere. If
/// each mount makes up its numbers (FUSE, SMB, 9P), another node cannot tell.
bool may_be(int descriptor, const FileIdentity& file);

/// Local. Does the same for a file at a path, without opening it. False if nothing is known.
bool shows(const std::string& path, const FileIdentity& file);

/// Local. Returns whether the file lies where each node has its own files.
bool is_of_one_node(int descriptor);

/// Returns the number of this node's kernel; 0 if it is not known.
std::int64_t this_system();

/// Local. Returns a number made of bytes from all over a file. Copies have the same number, and
/// most likely no other file of that size has it.
std::int64_t sample_of(int descriptor);

/// Local. Opens a file that is not at `path` any more, by the descriptor of a process on the same
/// node that has it open, or by another name in the same folder. Returns -1 if it is not found.
int open_elsewhere(const std::string& path, const FileIdentity& file, int flags);

/// Local. Returns the path of a descriptor's file: `path`, if it is still there, or what it has
/// been renamed to; `path` if that cannot be found out.
std::string place_of(int descriptor, const std::string& path);

}  // namespace forebay
