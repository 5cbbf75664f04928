// Names of files that hold one step of a group each: NAME.nc stands for NAME.000000.nc and so on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forebay {

std::string file_of_step(const std::string& path, std::uint64_t step);
/// Local. Returns the numbers of the existing files, in order.
std::vector<std::uint64_t> files_of_steps(const std::string& path);

}  // namespace forebay
