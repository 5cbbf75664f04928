// Tells whether a log was written for the definitions of a file.
#pragma once

#include <cstdint>

#include "array/schema.h"

namespace forebay {

/// A hash of the definitions that the writes of a log depend on: the format's version, the lengths
/// of dimensions, the type and the dimensions of each variable. Names, attributes, the number of
/// records and the storage of variables do not count. The writer's schema and that of its file give
/// equal hashes. Linear in the number of definitions.
std::uint64_t schema_fingerprint(const Schema& schema);

}  // namespace forebay
