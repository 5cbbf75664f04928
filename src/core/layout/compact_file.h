// Carries out the plans of plan/compaction.h. Bytes are copied to their new places. Once published
// metadata refers to these, the file is truncated after the last byte in use. If the process is
// killed in between, the bytes are still at their old places as well. All functions are local.
#pragma once

#include <cstdint>
#include <optional>

#include "base/byte_file.h"
#include "base/types.h"

namespace forebay {

/// Bytes of a file that move to a free place in it.
struct BytesToMove {
  Offset from = 0, to = 0;
  Count bytes = 0;
  std::optional<std::uint64_t> hash;  ///< of the bytes, if known
};

/// Holds all of the bytes in memory. Errc::enotnc if some are missing or differ from what was
/// written.
void copy_bytes(ByteFile& file, const BytesToMove& move);

/// Truncates the file to `end` bytes if it is longer. A failure is no error: the file just stays
/// longer.
void cut_behind(ByteFile& file, Offset end) noexcept;

}  // namespace forebay
