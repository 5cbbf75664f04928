// The layout `patches` (H §III, IV): chunks that are cubes, each a hierarchy of levels in parts of
// their own, so that a file is read at any resolution, for that many bytes. What makes, stores and
// finds them is what does so for any chunks; this says which variables are cut so, and how.
#pragma once

#include <optional>
#include <string>

#include "array/schema.h"
#include "method/method.h"

namespace forebay::chunked {

/// Local, the same on all ranks. Whether the method's rules want a variable in patches.
bool wants_patches(const Method& method, const Variable& var);

/// Local, the same on all ranks. Whether the method has several files in place of one for patches,
/// and whether a patch goes to one by its size; of a schema whose variables are cut.
bool wants_files_of_patches(const Method& method);
bool balances_files(const Method& method, const Schema& schema);
/// Whether any variable has been cut into patches.
bool has_patches(const Schema& schema);

/// Local, the same on all ranks. How a variable is cut into patches whose details go through
/// `codec`, a pipeline's text; nothing where it cannot be: it has no floating-point values, or
/// fewer than two dimensions beside records, or its axes are too short to be halved. Errc::einval
/// for a codec that hierarchies cannot go through.
std::optional<Chunking> patches_of(const Method& method, const Variable& var,
                                   const std::string& codec);

/// The codec of what stands beside patches, without loss: what the method names, but for its lossy
/// stages.
std::string codec_beside_patches(const std::string& codec, Type type);

}  // namespace forebay::chunked
