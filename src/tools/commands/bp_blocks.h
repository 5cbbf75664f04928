// Blocks of BP files, as commands print them.
#pragma once

#include <string>

#include "files/bp_source.h"
#include "tools/json.h"

namespace forebay::tools {

/// "step 3, T[0:64, 32:64]", or of what is no global array "step 3, T, block 2 of 5 x 7".
std::string place_of(const std::string& variable, const FoundBlock& block);
/// "287.5 to 301.2", in doubles, which are what people and JSON have.
std::string range_of(const FoundBlock& block);
Json block_json(const FoundBlock& block);

/// By the index alone: a line for each variable, how many steps and blocks it has, and its least
/// and greatest value; with `all` one for each block, too.
std::string blocks_text(const std::string& path, bool all);
/// The same for each variable, by its name there.
Json blocks_json(const std::string& path, bool all);

}  // namespace forebay::tools
