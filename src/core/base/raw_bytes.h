// A byte vector that is not cleared when it grows, because all its bytes will be written.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace forebay {

template <typename T>
struct RawAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = RawAllocator<U>;
  };
  RawAllocator() = default;
  template <typename U>
  RawAllocator(const RawAllocator<U>&) noexcept {}  // NOLINT(google-explicit-constructor)
  void construct(T*) noexcept {}
  template <typename Value>
  void construct(T* at, Value&& value) {
    std::construct_at(at, std::forward<Value>(value));
  }
};

using RawBytes = std::vector<std::byte, RawAllocator<std::byte>>;

}  // namespace forebay
