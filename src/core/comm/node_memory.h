// Memory that the ranks of one node share, or heap memory if the communicator has one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "comm/comm.h"

namespace forebay {

class NodeMemory {
 public:
  /// Collective over `node`. The memory is zero-filled and its pages exist, so that a lack of
  /// memory is found here and not by a later signal. It has no name, needs no /dev/shm, and takes
  /// at most half of memory_at_hand(). Every rank gets an object that is false, and falls back to
  /// messages, if there is too little memory, if the system refuses, or if ranks in containers of
  /// their own cannot open each other's descriptors.
  static NodeMemory create(const Comm& node, std::size_t bytes);

  /// Has no memory. Releasing memory is local: its last user frees it.
  NodeMemory() = default;

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }

  std::int64_t number = 0;  ///< identifies one of several memories

 private:
  explicit NodeMemory(std::shared_ptr<std::byte> data, std::size_t bytes)
      : data_(std::move(data)), bytes_(data_ ? bytes : 0) {}

  std::shared_ptr<std::byte> data_;
  std::size_t bytes_ = 0;
};

/// Returns zeroed memory of this process, aligned to a cache line; null if there is too little.
std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes);

/// A text for reports: what follows if memory could not be shared.
constexpr const char* without_node_memory =
    "the ranks of a node could not share memory, so that all went by messages";

}  // namespace forebay
