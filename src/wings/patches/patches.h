// The layout `patches` (Fan et al. 2021, §III, §IV): chunks that are cubes. Each is a hierarchy of
// levels in separate parts, so that a file can be read at any resolution with as many bytes as that
// needs. Patches are encoded, stored and found like other chunks. This file decides which variables
// are cut into patches, and how.
#pragma once

#include <optional>
#include <string>

#include "array/schema.h"
#include "method/method.h"

namespace forebay::chunked {

/// Local, equal on all ranks. Returns whether the method's rules ask for patches for a variable.
bool wants_patches(const Method& method, const Variable& var);

/// Local, equal on all ranks. Returns whether the method uses several files for patches, and
/// whether sizes determine the file of a patch. The variables of `schema` have their shapes.
bool wants_files_of_patches(const Method& method);
bool balances_files(const Method& method, const Schema& schema);
/// Returns whether any variable has been cut into patches.
bool has_patches(const Schema& schema);

/// Local, equal on all ranks. How a variable is cut into patches whose details are encoded by the
/// pipeline `codec`. Nothing if it cannot be cut: it has no floating-point values, fewer than two
/// dimensions besides records, or axes too short to be halved. Errc::einval if hierarchies cannot
/// use the codec.
std::optional<Chunking> patches_of(const Method& method, const Variable& var,
                                   const std::string& codec);

/// The lossless codec for data beside patches: the method's codec without its lossy stages.
std::string codec_beside_patches(const std::string& codec, Type type);

}  // namespace forebay::chunked
