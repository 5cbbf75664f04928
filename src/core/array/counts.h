// The numbers of a selection: one for each dimension.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/types.h"

namespace forebay {

/// A list of numbers that needs no memory of its own for up to `few` of them, because programs post
/// millions of requests. It is used as a std::vector<Count> is, and converts from and to it.
class Counts {
 public:
  using value_type = Count;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = Count&;
  using const_reference = const Count&;
  using iterator = Count*;
  using const_iterator = const Count*;

  static constexpr std::size_t few = 4;

  Counts() noexcept {}
  explicit Counts(std::size_t n, Count value = 0) { assign(n, value); }
  Counts(std::initializer_list<Count> list) { append(list.begin(), list.size()); }
  // This is implicit because either stands for the other.
  Counts(const std::vector<Count>& list) {  // NOLINT(google-explicit-constructor)
    append(list.data(), list.size());
  }
  template <std::forward_iterator I>
  Counts(I first, I last) {
    assign(first, last);
  }
  Counts(const Counts& other) { append(other.data(), other.size()); }
  Counts(Counts&& other) noexcept { take(other); }
  Counts& operator=(const Counts& other) {
    if (this != &other) clear(), append(other.data(), other.size());
    return *this;
  }
  Counts& operator=(Counts&& other) noexcept {
    if (this != &other) free_many(), take(other);
    return *this;
  }
  ~Counts() { free_many(); }
  operator std::vector<Count>() const {  // NOLINT(google-explicit-constructor)
    return {begin(), end()};
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Count* data() { return room_ == few ? few_ : many_; }
  const Count* data() const { return room_ == few ? few_ : many_; }
  Count* begin() { return data(); }
  Count* end() { return data() + size_; }
  const Count* begin() const { return data(); }
  const Count* end() const { return data() + size_; }
  Count& operator[](std::size_t i) { return data()[i]; }
  Count operator[](std::size_t i) const { return data()[i]; }
  Count& front() { return *data(); }
  Count front() const { return *data(); }
  Count& back() { return data()[size_ - 1]; }
  Count back() const { return data()[size_ - 1]; }

  /// Returns the bytes of its own memory; 0 for few numbers.
  std::size_t memory_bytes() const { return room_ == few ? 0 : room_ * sizeof(Count); }

  void clear() { size_ = 0; }
  void reserve(std::size_t n) {
    if (n > room_) grow(n);
  }
  void push_back(Count value) {
    if (size_ == room_) grow(std::size_t{2} * size_);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  void resize(std::size_t n, Count value = 0) {
    reserve(n);
    if (n > size_) std::fill(end(), data() + n, value);
    size_ = static_cast<std::uint32_t>(n);
  }
  void assign(std::size_t n, Count value) {
    clear();
    resize(n, value);
  }
  template <std::forward_iterator I>
  void assign(I first, I last) {
    const auto n = static_cast<std::size_t>(std::distance(first, last));
    reserve(n);
    std::copy(first, last, data());
    size_ = static_cast<std::uint32_t>(n);
  }
  void insert(const Count* at, Count value) {
    const auto place = at - data();
    push_back(value);
    std::rotate(begin() + place, end() - 1, end());
  }
  void erase(const Count* at) {
    std::copy(at + 1, std::as_const(*this).end(), begin() + (at - data()));
    pop_back();
  }

  friend bool operator==(const Counts& a, const Counts& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void append(const Count* from, std::size_t n) {
    reserve(size_ + n);
    if (n > 0) std::memcpy(end(), from, n * sizeof(Count));
    size_ += static_cast<std::uint32_t>(n);
  }
  void grow(std::size_t n) {
    auto* const more = std::allocator<Count>().allocate(n);
    std::copy(begin(), end(), more);
    free_many();
    many_ = more;
    room_ = static_cast<std::uint32_t>(n);
  }
  void free_many() {
    if (room_ != few) std::allocator<Count>().deallocate(many_, room_);
    room_ = few;
  }
  // Moves `other` here. This list must have no memory of its own.
  void take(Counts& other) noexcept {
    if (other.room_ == few)
      std::memcpy(few_, other.few_, sizeof few_);
    else
      many_ = other.many_;
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, std::uint32_t{few});
  }

  union {
    Count few_[few] = {};
    Count* many_;
  };
  std::uint32_t size_ = 0, room_ = few;
};

}  // namespace forebay
