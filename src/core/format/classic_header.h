// The header of netCDF classic files (CDF-1, CDF-2, CDF-5): parse and print. The grammar is in
// docs/formats.md.
//
// Input may be hostile: every count, length and offset is checked against the bytes that exist, and
// against overflow, before anything is allocated for it. Time and memory of parsing are a small
// multiple of the header's size.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/byte_file.h"
#include "base/types.h"

namespace forebay::classic {

/// Bytes that a first read should fetch. Most headers fit.
constexpr Offset first_read_bytes = 256 * 1024;

/// Parses a header from the first bytes of a file of `file_size` bytes. Returns nothing when
/// `bytes` ends inside the header but the file goes on. The caller then passes at least twice as
/// many bytes, so that the total work stays linear, or the whole file. Fills header_size,
/// header_extent, begin_rec, recsize and every variable's begin. numrecs comes from the file's size
/// when the header leaves it open (streaming).
///
/// Padding that is not zero, stored vsizes that are wrong and data missing at the end of the file
/// are accepted, as other readers accept them.
///
/// Throws, with the byte position and the reason:
///   Errc::enotnc      not this format, ends inside the header, a wrong tag, a count or offset that
///                     cannot be, variables that overlap or are out of order (adopt_placement),
///                     a name used twice, a header of more than 2 GiB
///   Errc::enotbuilt   a netCDF-4 (HDF5) file
///   Errc::emaxname    a name of more than 256 bytes;  Errc::ebadname: an empty one or one with NUL
///   Errc::ebadtype    a type that the version does not have
///   Errc::ebaddim     a dimension that does not exist
///   Errc::eunlimit    two record dimensions;  Errc::eunlimpos: one that is not a variable's first
///   Errc::emaxdims, emaxatts, emaxvars   more than 2^31-1 of them
///   Errc::evarsize    a variable larger than the version allows
std::optional<Schema> parse(std::span<const std::byte> bytes, Offset file_size);

/// Extends `bytes`, the first bytes of a file, to `wanted` bytes or to the whole file. Returns the
/// file's size.
using ReadUpTo = std::function<Offset(std::vector<std::byte>& bytes, Offset wanted)>;

/// Local. A ReadUpTo for `file`. Throws what reading the file throws.
Offset read_beginning(ByteFile& file, std::vector<std::byte>& bytes, Offset wanted);

/// Reads and parses a header of any length. Reads `first` bytes, then twice as many each time.
/// Throws what `read` throws, and what parse() throws, with `path` before its message. A file that
/// ends inside its header is Errc::enotnc too.
Schema read_header(const std::string& path, const ReadUpTo& read, Offset first = first_read_bytes);

/// Returns the size of the printed header without printing it.
Offset header_size(const Schema& schema);

/// Returns the header's bytes. The schema must be valid and placed. schema.numrecs is written as it
/// is. A vsize that does not fit in CDF-1 and CDF-2 is written as 2^32-1. Errors where a number
/// does not fit its field: Errc::eintoverflow for numrecs or a count, Errc::edimsize for a
/// dimension's length, Errc::evarsize for a begin.
std::vector<std::byte> print(const Schema& schema);

/// Returns the numrecs field alone, 4 or 8 bytes, for writing at numrecs_offset. Errc::eintoverflow
/// when numrecs does not fit.
std::vector<std::byte> print_numrecs(const Schema& schema);
constexpr Offset numrecs_offset = 4;

/// Returns 1, 2 or 5 for classic files, and 3 for netCDF-4 (HDF5 signature, all 8 bytes). Returns
/// nothing for anything else, or when the bytes are too few to tell.
std::optional<int> detect(std::span<const std::byte> first_bytes);

}  // namespace forebay::classic
