// Memory in huge pages. When memory is written once, page faults of small pages would take longer
// than the copying. Reuse blocks: huge pages take long to get after memory went back to the system.
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
