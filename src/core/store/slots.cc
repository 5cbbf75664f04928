#include "store/slots.h"

#include <xxhash.h>

#include <algorithm>
#include <string>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay::store {

namespace {

/// Calls f(where a copy begins) for each copy of a slot.
template <typename F>
void each_copy(const SlotForm& form, F&& f) {
  for (int copy = 0; copy < form.copies; ++copy)
    f(static_cast<std::size_t>(copy * (slot_bytes / form.copies)));
}

std::size_t hashed_bytes(const SlotForm& form) {
  return static_cast<std::size_t>(form.copy_bytes) - sizeof(std::uint64_t);
}

}  // namespace

std::vector<std::byte> print_slot(std::span<const std::byte> contents, const SlotForm& form) {
  if (contents.size() > hashed_bytes(form))
    throw Error(Errc::einternal, "a record of a slot has " + std::to_string(contents.size()) +
                                     " bytes, more than a copy holds");
  std::vector<std::byte> slot(static_cast<std::size_t>(slot_bytes));
  each_copy(form, [&](std::size_t at) {
    std::byte* const copy = slot.data() + at;
    std::copy(contents.begin(), contents.end(), copy);
    const std::size_t hashed = hashed_bytes(form);
    store_be(copy + hashed, XXH3_64bits_withSeed(copy, hashed, form.seed));
  });
  return slot;
}

std::optional<std::span<const std::byte>> parse_slot(std::span<const std::byte> slot,
                                                     const SlotForm& form) {
  std::optional<std::span<const std::byte>> found;
  if (std::ssize(slot) != slot_bytes) return found;
  each_copy(form, [&](std::size_t at) {
    const auto copy = slot.subspan(at, hashed_bytes(form));
    const auto hash = load_be<std::uint64_t>(copy.data() + copy.size());
    if (!found && hash == XXH3_64bits_withSeed(copy.data(), copy.size(), form.seed)) found = copy;
  });
  return found;
}

}  // namespace forebay::store
