// How a file system cuts a file: what belongs to one server, and what one of its locks covers.
// Windows of collective writes are no smaller, so that nodes do not take them from each other.
#pragma once

#include <cstddef>
#include <span>

#include "base/types.h"

namespace forebay {

struct Stripes {
  Count unit = 0;  ///< bytes; 0: unknown, or it does not matter
  int count = 0;   ///< servers that they are dealt to; 0: unknown
};

/// Local. Three system calls at most. Lustre tells a file's layout by an extended attribute; GPFS's
/// and BeeGFS's blocks, and what NFS and SMB send at a time, are what they say is best for I/O. On
/// other file systems, disks among them, nothing is known.
Stripes stripes_of(int fd, const char* attribute = "lustre.lov");

/// The layout that Lustre tells (lov_user_md of its user interface: versions 1 and 3). Nothing
/// where it is neither of these: a file whose parts have layouts of their own is none, for one.
Stripes lustre_stripes(std::span<const std::byte> attribute);

/// By the kind of file system (f_type of statfs) and the size that it says is best (st_blksize).
Stripes stripes_of_kind(long kind, Count best);

}  // namespace forebay
