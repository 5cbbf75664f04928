// The front of a subfile of the log layout. It says which master file the subfile belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::logged {

constexpr Count subfile_front_bytes = 4096;  ///< data begins there

struct SubfileFront {
  std::uint64_t session = 0;  ///< random; the same as in the master file
  std::uint32_t number = 0;   ///< from 0

  bool operator==(const SubfileFront&) const = default;
};

std::vector<std::byte> print_subfile_front(const SubfileFront& front);
/// Errc::ebadlog for anything else, or a newer version.
SubfileFront parse_subfile_front(std::span<const std::byte> bytes);

}  // namespace forebay::logged
