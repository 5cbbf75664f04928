// The bytes at the beginning of HDF5's superblock.
#pragma once

#include <string_view>

namespace forebay {

inline constexpr std::string_view hdf5_signature{"\x89HDF\r\n\x1a\n", 8};
}  // namespace forebay
