// Reads and writes at logical positions of a journal. Ranks of a node may share its files in blocks
// (store/journal.h, Share).
#pragma once

#include <sys/uio.h>

#include <span>
#include <vector>

#include "base/byte_file.h"
#include "store/journal.h"

namespace forebay::journal {

/// The unit in which a file system allocates or frees space of a file.
inline constexpr Offset page_bytes = 4096;

/// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
std::size_t read_log(ByteFile& file, Offset position, std::span<std::byte> into, const Share& share,
                     Count block);

/// Writes pieces of memory that follow each other in the log. It makes one call, or one per block
/// if ranks share the file. It uses up `pieces`; `scratch` is memory kept between calls.
void write_log(ByteFile& file, Offset position, std::span<iovec> pieces, const Share& share,
               Count block, std::vector<iovec>& scratch);

/// Gives the whole pages of [begin, end) back to the file system. Returns false if it cannot.
bool release_log(ByteFile& file, Offset begin, Offset end, const Share& share, Count block);

/// Reads and verifies the data of an entry. `into` has what.bytes. Errc::ebadlog if they are not
/// what was written.
void read_data(ByteFile& data, const Data& what, std::span<std::byte> into, const Share& share);

}  // namespace forebay::journal
