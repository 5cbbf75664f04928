// A list that stores its first few elements in itself.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace forebay {

/// T is trivial. Elements are contiguous and are never removed.
template <typename T, std::size_t N>
class SmallList {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* begin() { return size_ <= N ? few_.data() : many_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return begin() + size_; }
  const T* data() const { return size_ <= N ? few_.data() : many_.data(); }
  T& operator[](std::size_t i) { return begin()[i]; }
  T& back() { return begin()[size_ - 1]; }
  void push_back(const T& value) {
    if (size_ == N) many_.assign(few_.begin(), few_.end());
    if (size_ >= N) {
      many_.push_back(value);
    } else {
      few_[size_] = value;
    }
    ++size_;
  }

 private:
  std::array<T, N> few_;
  std::vector<T> many_;
  std::size_t size_ = 0;
};

}  // namespace forebay
