// Tails in the memory of their ranks. Other ranks read them with process_vm_readv. A slot in the
// node's shared memory says where a tail is. Data in a temporary file is read through /proc.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/node_memory.h"
#include "hdf5/log/tails.h"

namespace forebay::logged {

struct TailSlot;

class MemoryTails : public Tails {
 public:
  /// Collective over `comm`, whose ranks are on one node. Returns null, on all ranks, if they may
  /// not read each other's memory.
  static std::unique_ptr<Tails> make(const Comm& comm, OpenFile open);

  bool copies() const override { return false; }
  void append(std::uint32_t kind, std::span<const std::byte> payload) override;
  /// Returns 0 if the bytes are in the temporary file.
  std::uint64_t address_of(const PendingData& data, Offset position, Count bytes) override;
  void saved(Count saved) override;
  void set_descriptor(int descriptor) override;
  void read_stream(int rank, Offset position, std::span<std::byte> into) override;
  void read_data(int rank, Offset position, std::uint64_t address,
                 std::span<std::byte> into) override;

 private:
  MemoryTails(NodeMemory slots, const Comm& comm, OpenFile open);
  Count stream_bytes() const override { return static_cast<Count>(size_); }
  void show(const Shown& mine, Count saved) override;
  void look(std::span<Shown> shown) override;
  void clear() override;
  bool can_read_neighbour(const Comm& comm);
  TailSlot& slot(int rank) const;
  ByteFile& data_file(int rank);
  void reserve(std::size_t bytes);

  NodeMemory slots_;
  OpenFile open_;
  std::unique_ptr<std::byte[]> stream_;
  std::size_t size_ = 0, room_ = 0;              // of the stream
  std::vector<std::shared_ptr<ByteFile>> data_;  // of all ranks, opened on use
};

}  // namespace forebay::logged
