// How a file system cuts a file: what belongs to one server, and what one of its locks covers.
// Windows of collective writes are no smaller, so that nodes do not take locks from each other.
#pragma once

#include <cstddef>
#include <span>

#include "base/types.h"

namespace forebay {

struct Stripes {
  Count unit = 0;  ///< bytes; 0: unknown, or it does not matter
  int count = 0;   ///< servers that they are distributed to; 0: unknown
};

/// Local. Three system calls at most. Lustre has a file's layout in an extended attribute. GPFS and
/// BeeGFS report their block, NFS and SMB their transfer size, as the best size for I/O. On other
/// file systems, disks among them, nothing is known.
Stripes stripes_of(int fd, const char* attribute = "lustre.lov");

/// Decodes a Lustre layout (lov_user_md of its user interface: versions 1 and 3). Returns nothing
/// for another one, such as that of a file whose parts have layouts of their own.
Stripes lustre_stripes(std::span<const std::byte> attribute);

/// Returns stripes by the kind of file system (f_type of statfs) and its best size (st_blksize).
Stripes stripes_of_kind(long kind, Count best);

}  // namespace forebay
