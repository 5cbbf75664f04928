// A contiguous list of requests, as stages and layouts take them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "array/request.h"

namespace forebay {

// Moving a request must not fail, and the C library's memory must be aligned for it. If you add a
// member, make sure that it does not point to itself, as short strings and functions do.
static_assert(std::is_nothrow_move_constructible_v<Request> &&
              std::is_nothrow_move_assignable_v<Request> &&
              alignof(Request) <= alignof(std::max_align_t) && sizeof(Request) == 216);

/// Grows by realloc: a long list's pages are moved, not its requests. Copying a million requests to
/// fresh memory takes longer than posting them.
class RequestList {
 public:
  RequestList() = default;
  RequestList(RequestList&& other) noexcept { swap(other); }
  RequestList& operator=(RequestList&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RequestList() {
    std::destroy_n(data_, size_);
    std::free(static_cast<void*>(data_));
  }
  void swap(RequestList& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t room() const { return room_; }  ///< there is memory for so many
  Request* data() { return data_; }
  const Request* data() const { return data_; }
  Request* begin() { return data_; }
  Request* end() { return data_ + size_; }
  const Request* begin() const { return data_; }
  const Request* end() const { return data_ + size_; }
  Request& operator[](std::size_t i) { return data_[i]; }
  const Request& operator[](std::size_t i) const { return data_[i]; }

  /// If it throws std::bad_alloc, the list is unchanged.
  void reserve(std::size_t n) {
    if (n > room_ && !resize(n)) throw std::bad_alloc();
  }
  void make_room() {
    if (size_ == room_) reserve(2 * size_ + 8);
  }
  /// There must be room.
  Request& add(Request&& request) noexcept {
    return *::new (static_cast<void*>(data_ + size_++)) Request(std::move(request));
  }
  /// Drops the requests for which is_over() is true.
  template <typename F>
  void remove_if(F&& is_over) noexcept {
    Request* const last = std::remove_if(begin(), end(), is_over);
    std::destroy(last, end());
    size_ = static_cast<std::size_t>(last - data_);
  }
  /// Frees memory if there is more than twice as much as needed.
  void trim() noexcept {
    if (room_ > 2 * size_ + 64) resize(2 * size_ + 8);
  }

 private:
  // No request points to a part of itself, so realloc may move it.
  bool resize(std::size_t n) noexcept {
    void* const moved = std::realloc(static_cast<void*>(data_), n * sizeof(Request));
    if (!moved) return false;
    data_ = static_cast<Request*>(moved);
    room_ = n;
    return true;
  }

  Request* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace forebay
