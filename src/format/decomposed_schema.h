// How the header of a file with decomposed variables looks to readers that know nothing of maps
// (layout decomposed): a valid classic header in which each of them is an anchor.
//
// An anchor is a scalar variable with the name, type and attributes of the decomposed one, and
//     __decom_dims   int[ndims]  the dimensions that the variable really has
//     __filters      text        what parts of its slabs go through, where they are encoded, as in
//                                chunked variables (codec/pipeline.h)
//     __decom_map    int[3]      where it was defined by a decomposition map (D6 §6.4.1.2): the
//                                map's number, how many dimensions it has, the variable's last
//                                ones, and how many ranks
// The file has the attribute
//     __decom        text        which data files beside it hold the values (format/decomposed.h)
// Other variables stay what they are, records included. The full grammar is in docs/formats.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "array/schema.h"

namespace forebay::decomposed {

/// True for the attribute names that anchors use; nobody else may.
bool is_reserved_attribute(std::string_view name);

/// Whether slabs of a decomposed variable are encoded.
bool is_encoded(const Variable& var);

/// The header to write for `schema`, of which some variable is decomposed. Begins of variables are
/// taken over. Its size does not depend on `id`.
Schema to_stored(const Schema& schema, std::uint64_t id);
/// Of a schema that to_stored() made.
void set_id(Schema& stored, std::uint64_t id);

/// Whether a header that was read has anchors.
bool has_anchors(const Schema& stored);

/// That of its data files, if it can be read.
std::optional<std::uint64_t> id_of(const Schema& stored) noexcept;

/// The schema that users see, from a header with anchors; `id` receives that of the data files.
/// Errc::enotnc when an anchor's attributes are damaged or contradict each other.
Schema from_stored(const Schema& stored, std::uint64_t& id);

}  // namespace forebay::decomposed
