// Memory that is written to once: page by page its faults would take longer than the copying.
// Blocks are used again, and huge pages take long where the system has given its memory back.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

#include "base/types.h"

namespace forebay {

inline constexpr std::size_t huge_page = 2 << 20;

struct FreeLargeBlock {
  void operator()(std::byte* memory) const {
    ::operator delete (memory, std::align_val_t{huge_page});
  }
};
using LargeBlock = std::unique_ptr<std::byte, FreeLargeBlock>;

inline LargeBlock make_large_block(Count size) {
  const auto bytes = static_cast<std::size_t>(size);
  auto* const memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{huge_page}));
  if (bytes >= 2 * huge_page) ::madvise(memory, bytes, MADV_HUGEPAGE);
  return LargeBlock(memory);
}

}  // namespace forebay
