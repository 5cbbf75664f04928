// The tails of the ranks' logs: what each has written since the last flush, for the others to find.
//
// Nobody is asked: a rank shows each write when it is complete, and who reads looks. A tail stays
// in its rank's memory, which the others read (process_vm_readv); a slot in memory that the node
// shares says where it is. Data that went to a temporary file is read through /proc.
//
// A slot counts for the flush after which it was shown, its generation: what an earlier one showed
// is in the file, where everybody who took part in the flush finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "comm/comm.h"
#include "comm/node_memory.h"

namespace forebay::logged {

struct TailSlot;

class Tails {
 public:
  /// A file to read.
  using OpenFile = std::function<std::shared_ptr<ByteFile>(const std::string& path)>;

  /// Collective over `comm`; the same answer on all. Null where the ranks are on several nodes, or
  /// may not read each other's memory. `ranks_per_node` as Comm::split_node has it.
  static std::unique_ptr<Tails> make(const Comm& comm, int ranks_per_node, OpenFile open);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(data_.size()); }

  // -- this rank's tail; all local

  /// A number above those of all writes that were complete before.
  std::uint32_t next_turn();
  void append(std::uint32_t kind, std::span<const std::byte> payload);
  /// What was appended is there, and the first `saved` bytes of data are in this rank's file.
  void show(std::uint32_t turn, Count saved);
  /// The same for data alone, whose memory may be used for something else after this.
  void saved(Count saved);
  /// The temporary file that has the data. Before saved().
  void set_descriptor(int descriptor);
  /// A flush is over: nothing is pending, on no rank.
  void restart();

  // -- those of others; all local. Errc::eread where one is gone.

  std::uint64_t generation() const { return generation_; }
  /// How long the stream of a rank is; 0 for none.
  Count bytes(int rank) const;
  void read_stream(int rank, Offset position, std::span<std::byte> into) const;
  /// `address`: of `position` in the rank's memory, while it is there.
  void read_data(int rank, Offset position, std::uint64_t address, std::span<std::byte> into);

 private:
  Tails(NodeMemory slots, const Comm& comm, OpenFile open);
  bool can_read_neighbour(const Comm& comm);
  TailSlot& slot(int rank) const;
  ByteFile& data_file(int rank);
  void reserve(std::size_t bytes);

  NodeMemory slots_;
  int rank_;
  OpenFile open_;
  std::uint64_t generation_ = 1;
  std::unique_ptr<std::byte[]> stream_;
  std::size_t size_ = 0, room_ = 0;  // of the stream
  std::uint32_t turn_ = 0;
  std::vector<std::shared_ptr<ByteFile>> data_;  // of all ranks, opened when needed
};

}  // namespace forebay::logged
