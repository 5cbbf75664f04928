// Memory that the ranks of one node share. Plain heap memory when the communicator has one rank.
#pragma once

#include <cstddef>

#include "comm/comm.h"

namespace forebay {

class NodeMemory {
 public:
  /// Collective over `node`. Zero-filled and really there (a full /dev/shm is found here, not by a
  /// signal later). On failure every rank gets an object that is false; the caller falls back to
  /// messages.
  static NodeMemory create(const Comm& node, std::size_t bytes);

  NodeMemory() = default;
  NodeMemory(NodeMemory&& other) noexcept;
  NodeMemory& operator=(NodeMemory&& other) noexcept;
  ~NodeMemory();  ///< local: the name is gone since creation, the memory goes with its last user

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  NodeMemory(std::byte* data, std::size_t bytes, bool mapped)
      : data_(data), bytes_(bytes), mapped_(mapped) {}
  void release();

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool mapped_ = false;
};

}  // namespace forebay
