// The header of a file with chunked variables (Hou 2023, §5.2.1). Readers that know nothing of
// chunks see a valid classic header in which each chunked variable is an anchor.
//
// An anchor is a scalar variable with the name, type and attributes of the chunked one, and
//     __chunk_dims   int[ndims]  the dimensions that the variable really has
//     __chunk_shape  int[ndims]  elements of a chunk; zeros until the first flush has chosen
//     __filters      text        the codec pipeline
// Anchors have no record dimension. If chunks lie in the same file, the file has no record section,
// and chunks may fill its end without anything ever being moved. If they lie in files beside it,
// other variables may have records. The file has the attribute
//     __chunk_root   text        where the root slots are (format/chunk_index.h), or the id at the
//                                beginning of the files beside it
// docs/formats.md has the full grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "array/schema.h"
#include "base/types.h"

namespace forebay::chunked {

/// True for the attribute names that are reserved for anchors.
bool is_reserved_attribute(std::string_view name);

/// Returns the header to write for `schema`, which has at least one chunked variable. Begins of
/// variables are copied; place the result with place_variables or place_behind. `files` is the id
/// of the files beside this one; with it `root` is not stored. The header's size does not depend on
/// `root`, `files` or chosen shapes.
Schema to_stored(const Schema& schema, Offset root,
                 std::optional<std::uint64_t> files = std::nullopt);

/// Returns whether a header that was read has anchors.
bool has_anchors(const Schema& stored);

/// Returns the schema that users see, from a header with anchors. `root` receives the byte of the
/// root slots. Errc::enotnc if an anchor's attributes are damaged or contradict each other. The
/// codec's text is not checked: a codec that this build lacks affects its own variable only.
Schema from_stored(const Schema& stored, Offset& root);

/// Returns the byte that __chunk_root names; nothing if the attribute is missing or damaged.
std::optional<Offset> root_of(const Schema& stored);

/// Returns the id of the files beside this one that hold its chunks; nothing if there are none.
std::optional<std::uint64_t> files_of(const Schema& stored);
/// Where the root slots lie in a file beside this one: behind its front.
constexpr Offset root_beside = 512;

}  // namespace forebay::chunked
