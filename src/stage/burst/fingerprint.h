// Says whether a log was written for the definitions that a file has.
#pragma once

#include <cstdint>

#include "array/schema.h"

namespace forebay {

/// A hash of what the writes of a log depend on: the format's version, the lengths of dimensions,
/// the type and the dimensions of each variable. Names, attributes, the number of records, and how
/// variables are stored do not count. Equal for the writer's schema and for that of the file which
/// it wrote. Linear in the number of definitions.
std::uint64_t schema_fingerprint(const Schema& schema);

}  // namespace forebay
