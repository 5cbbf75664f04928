// Independent reads and writes of a sorted stream. Neighbouring pieces share a system call, and
// large ones need no copy. This is the inner part of the posix transport. Other transports use it
// if ranks do not interleave.
#pragma once

#include <functional>
#include <optional>

#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"

namespace forebay {

/// Bytes of the buffer for a rank's own pieces: large enough to make a system call cheap, small
/// enough to stay in the second-level cache between the swap and the kernel's copy.
constexpr Count direct_buffer = 1 << 20;

/// If calls take long and a store has several servers, a call should cover stripes of all.
constexpr Count slow_call = 8 << 20;

/// Returns the bytes of a call, a power of two; calls end at multiples of it. `buffer_limit` is
/// what a rank may hold.
Count direct_call(bool slow, Count buffer_limit);

/// Returns the most bytes that a rank holds while it writes in such calls, or reads, for itself.
Count direct_memory(bool write, Count call = direct_buffer);

/// Writes the extents, adjacent ones together. Never writes a byte that no extent names.
void write_directly(ByteFile& file, ExtentStream& extents, Report& report,
                    Count buffer_limit = slow_call);

/// Reads the extents. Holes of up to `hole_threshold` bytes between them are read, too, to save a
/// system call, unless a few calls without them turn out to be quicker. Bytes beyond the end of the
/// file are zero.
void read_directly(ByteFile& file, ExtentStream& extents, Count hole_threshold, Report& report);

/// Reads rows by any function. `next` gives row after row, in file order. Several threads may call
/// this, for different memory.
void read_rows(const ReadInto& read, const StreamSummary& summary,
               const std::function<std::optional<ExtentRow>()>& next, Count hole_threshold);

}  // namespace forebay
