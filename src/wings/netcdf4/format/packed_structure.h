// Definitions and places of chunks as bytes: what rank 0 tells the others, and what ranks compare.
// These bytes never reach a file.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "array/schema.h"
#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

/// Local. Returns dimensions, variables with their chunks, codecs and fill modes, and attributes.
std::vector<std::byte> print_schema(const Schema& schema);
Schema parse_schema(std::span<const std::byte> bytes);

std::vector<std::byte> print_structure(const ReadStructure& structure);
ReadStructure parse_structure(std::span<const std::byte> bytes);

}  // namespace forebay::netcdf4
