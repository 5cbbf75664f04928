// The header of a file with decomposed variables (layout decomposed). Readers that know nothing of
// maps see a valid classic header in which each decomposed variable is an anchor.
//
// An anchor is a scalar variable with the name, type and attributes of the decomposed one, and
//     __decom_dims   int[ndims]  the dimensions that the variable really has
//     __filters      text        if its slabs are encoded: the pipeline of their parts, as in
//                                chunked variables (codec/pipeline.h)
//     __decom_map    int[3]      if a decomposition map defined it (Hou 2023, §6.4.1.2): the map's
//                                number, its number of dimensions (the variable's last ones), and
//                                the number of ranks
// The file has the attribute
//     __decom        text        which data files beside it hold the values
//     (decomposed/format/decomposed_files.h)
// Other variables are unchanged, record variables included. docs/formats.md has the full grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "array/schema.h"

namespace forebay {

extern const LayoutEntry decomposed_layout;  // definitions.cc

}  // namespace forebay

namespace forebay::decomposed {

bool is_decomposed(const Variable& var);
bool any_decomposed(const Schema& schema);

/// True for the attribute names that are reserved for anchors.
bool is_reserved_attribute(std::string_view name);

/// Whether slabs of a decomposed variable are encoded.
bool is_encoded(const Variable& var);

/// Returns the header to write for `schema`, which has at least one decomposed variable. Begins of
/// variables are copied. The header's size does not depend on `id`.
Schema to_stored(const Schema& schema, std::uint64_t id);
/// `stored` is a schema that to_stored() made.
void set_id(Schema& stored, std::uint64_t id);

/// Returns whether a header that was read has anchors.
bool has_anchors(const Schema& stored);

/// Returns the id of the data files of a stored schema, if it can be read.
std::optional<std::uint64_t> id_of(const Schema& stored) noexcept;

/// Returns the schema that users see, from a header with anchors. `id` receives the id of the data
/// files. Errc::enotnc if an anchor's attributes are damaged or contradict each other.
Schema from_stored(const Schema& stored, std::uint64_t& id);

}  // namespace forebay::decomposed
