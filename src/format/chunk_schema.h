// How the header of a file with chunked variables looks to readers that know nothing of chunks
// (D5 §5.2.1): a valid classic header in which each chunked variable is an anchor.
//
// An anchor is a scalar variable with the name, type and attributes of the chunked one, and
//     __chunk_dims   int[ndims]  the dimensions that the variable really has
//     __chunk_shape  int[ndims]  elements of a chunk; zeros while the first flush has not chosen
//     __filters      text        the codec pipeline
// Anchors have no record dimension. Where chunks lie in the same file it has no record section, and
// chunks may fill its end without anything ever being moved; where they lie in files beside it
// other variables may have records. The file has the attribute
//     __chunk_root   text        where the root slots are (format/chunk_index.h), or the id that
//                                the files beside it begin with
// The full grammar is in docs/formats.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "array/schema.h"
#include "base/types.h"

namespace forebay::chunked {

/// True for the attribute names that anchors use; nobody else may.
bool is_reserved_attribute(std::string_view name);

/// The header to write for `schema`, of which some variable is chunked. Begins of variables are
/// taken over; place the result with place_variables or place_behind. Its size does not depend on
/// `root`, on the id `files` of files beside it (where it has them `root` is not told), or on
/// chosen shapes.
Schema to_stored(const Schema& schema, Offset root,
                 std::optional<std::uint64_t> files = std::nullopt);

/// Whether a header that was read has anchors.
bool has_anchors(const Schema& stored);

/// The schema that users see, from a header with anchors. `root` receives the byte of the root
/// slots. Errc::enotnc when an anchor's attributes are damaged or contradict each other; the
/// codec's text is not looked at (a codec that this build lacks harms its own variable only).
Schema from_stored(const Schema& stored, Offset& root);

/// The byte that __chunk_root names; nothing when the attribute is missing or damaged.
std::optional<Offset> root_of(const Schema& stored);

/// The id that files with chunks beside this one have; nothing where chunks lie in this file.
std::optional<std::uint64_t> files_of(const Schema& stored);
/// Where root slots lie then, in a file of their own, behind its front.
constexpr Offset root_beside = 512;

}  // namespace forebay::chunked
