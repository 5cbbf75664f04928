// Reads and writes at logical positions of a log, whose bytes ranks of a node may share in blocks
// (format/staging_record.h, Share).
#pragma once

#include <sys/uio.h>

#include <span>
#include <vector>

#include "base/byte_file.h"
#include "format/staging_record.h"

namespace forebay::staging {

/// Reads up to `into.size()` bytes; returns fewer only at the end of the file.
std::size_t read_log(ByteFile& file, Offset position, std::span<std::byte> into, const Share& share,
                     Count block);

/// Writes pieces of memory that follow each other in the log: one call, or one a block where ranks
/// share the file. `pieces` is used up, `scratch` is memory used from call to call.
void write_log(ByteFile& file, Offset position, std::span<iovec> pieces, const Share& share,
               Count block, std::vector<iovec>& scratch);

/// Gives the whole pages of the range [begin, end) back to the file system. False where it cannot.
bool release_log(ByteFile& file, Offset begin, Offset end, const Share& share, Count block);

/// The data of a write, verified. `into` has write.bytes. Errc::ebadlog if they are not what was
/// written.
void read_data(ByteFile& data, const WriteFacts& write, std::span<std::byte> into,
               const Share& share);

}  // namespace forebay::staging
