// The netCDF classic file header (CDF-1, CDF-2, CDF-5): parse and print. The grammar is in
// docs/formats.md.
//
// Input is hostile until proven otherwise: every count, length and offset is checked against what
// is there, and against overflow, before anything is allocated for it. Memory while parsing is a
// small multiple of the header's size, and so is time.
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

/// Bytes that a first read should fetch; most headers fit.
constexpr Offset first_read_bytes = 256 * 1024;

/// Parses a header from the first bytes of a file of `file_size` bytes. Returns nothing when
/// `bytes` ends before the header does although the file goes on: call again with at least twice
/// as many (so that the total work stays linear) or the whole file. Fills header_size,
/// header_extent, begin_rec, recsize and every variable's begin; numrecs comes from the file's
/// size when the header leaves it open (streaming).
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

/// Makes `bytes`, the first bytes of a file, `wanted` long, or as long as the file, of which it
/// returns the size.
using ReadUpTo = std::function<Offset(std::vector<std::byte>& bytes, Offset wanted)>;

/// Local. What a ReadUpTo does, of this file. Errc as of its reading.
Offset read_beginning(ByteFile& file, std::vector<std::byte>& bytes, Offset wanted);

/// Reads and parses a header, however long it is: first by as many bytes as `first`, then by twice
/// as many each time. Throws what `read` throws, and what parse does with `path` before it; a file
/// that ends in its header is Errc::enotnc too.
Schema read_header(const std::string& path, const ReadUpTo& read, Offset first = first_read_bytes);

/// Bytes of the printed header, without printing it.
Offset header_size(const Schema& schema);

/// The header's bytes; schema.numrecs goes in as it is, and the vsizes that do not fit in CDF-1
/// and CDF-2 as 2^32-1. The schema is valid and placed. Where a number does not fit its field:
/// Errc::eintoverflow for numrecs or a count, Errc::edimsize for a dimension's length,
/// Errc::evarsize for a begin.
std::vector<std::byte> print(const Schema& schema);

/// The numrecs field alone, 4 or 8 bytes, for writing at numrecs_offset. Errc::eintoverflow when
/// numrecs does not fit.
std::vector<std::byte> print_numrecs(const Schema& schema);
constexpr Offset numrecs_offset = 4;

/// 1, 2, 5 for classic files; 3 for netCDF-4 (HDF5 signature, all 8 bytes); nothing for anything
/// else, or when the bytes are too few to tell.
std::optional<int> detect(std::span<const std::byte> first_bytes);

}  // namespace forebay::classic
