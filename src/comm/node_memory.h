// Memory that the ranks of one node share. Plain heap memory when the communicator has one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/comm.h"

namespace forebay {

class NodeMemory {
 public:
  /// Collective over `node`. Zero-filled and really there, so that a lack of memory is found here
  /// and not by a signal later. It has no name, needs no /dev/shm, and is at most half of what
  /// memory_at_hand() tells. Where it cannot be had (too little memory, a system that refuses,
  /// ranks that cannot open each other's descriptors since they run in containers of their own)
  /// every rank gets an object that is false; the caller falls back to messages.
  static NodeMemory create(const Comm& node, std::size_t bytes);

  /// No memory. Letting go of some is local: it goes with its last user.
  NodeMemory() = default;

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

  std::int64_t number = 0;  ///< for whoever tells memories apart

 private:
  explicit NodeMemory(std::shared_ptr<std::byte> data, std::size_t bytes)
      : data_(std::move(data)), bytes_(data_ ? bytes : 0) {}

  std::shared_ptr<std::byte> data_;
  std::size_t bytes_ = 0;
};

/// Of this process, zeros, aligned to a cache line; null where there is none.
std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes);

/// For reports: what follows where it could not be had.
constexpr const char* without_node_memory =
    "the ranks of a node could not share memory, so that all went by messages";

}  // namespace forebay
