// Independent reading and writing of a sorted stream: neighbouring pieces share a system call,
// large ones need no copy. The inner part of the posix transport, and what other transports use
// where ranks do not interleave.
#pragma once

#include <functional>
#include <optional>

#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"

namespace forebay {

/// Bytes of the buffer through which a rank's own pieces go: large enough to make a system call
/// cheap, small enough to stay in the second-level cache between the swap and the kernel's copy.
constexpr Count direct_buffer = 1 << 20;

/// Where calls take long, and a store has several servers, a call should have stripes of all.
constexpr Count slow_call = 8 << 20;

/// Bytes of a call, which ends at multiples of them: a power of two. `buffer_limit`: what a rank
/// may hold.
Count direct_call(bool slow, Count buffer_limit);

/// Bytes that a rank holds at most while it writes, in such calls, or reads, for itself.
Count direct_memory(bool write, Count call = direct_buffer);

/// Writes the extents, adjacent ones together. Never writes a byte that no extent names.
void write_directly(ByteFile& file, ExtentStream& extents, Report& report,
                    Count buffer_limit = slow_call);

/// Reads the extents; holes of up to `hole_threshold` bytes between them are read too rather than
/// skipped by another system call, unless a few calls without them were found to be quicker. Bytes
/// beyond the end of the file are zero.
void read_directly(ByteFile& file, ExtentStream& extents, Count hole_threshold, Report& report);

/// The same of rows, by any way to read: `next` gives row after row, in file order. Several threads
/// may call, for different memory.
void read_rows(const ReadInto& read, const StreamSummary& summary,
               const std::function<std::optional<ExtentRow>()>& next, Count hole_threshold);

}  // namespace forebay
