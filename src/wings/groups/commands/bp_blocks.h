// Prints blocks of BP files, for several commands.
#pragma once

#include <string>

#include "groups/files/bp_source.h"
#include "tools/json.h"

namespace forebay::tools {

/// Returns "step 3, T[0:64, 32:64]" or, if it is not a global array, "step 3, T, block 2 of 5 x 7".
std::string place_of(const std::string& variable, const FoundBlock& block);
/// Returns "287.5 to 301.2", in doubles, which people and JSON use.
std::string range_of(const FoundBlock& block);
Json block_json(const FoundBlock& block);

/// Returns a line for each variable, from the index alone: its steps and blocks, its minimum and
/// maximum. With `all`, also a line for each block.
std::string blocks_text(const std::string& path, bool all);
/// Returns the same as JSON, by the variables' names in the file.
Json blocks_json(const std::string& path, bool all);

}  // namespace forebay::tools
