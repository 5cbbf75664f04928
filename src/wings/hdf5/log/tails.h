// The tail of a rank's log: what it has written since the last flush. Other ranks can read it.
//
// No messages are needed: a rank shows each write when it is complete, and a reader looks. A tail
// is a stream of records (hdf5/log/tail_reader.h) and the data that they name. It is kept in
// two ways:
//
//   memory_tails.h   in its rank's memory, which the others read: on one node, where the system
//                    allows it
//   file_tails.h     in files beside the log file: anywhere else
//
// Each flush begins a new generation, and what a rank shows has the number of its generation. A
// write that was shown in an earlier generation is in the file, for every rank that took part in
// the flush.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "comm/topology.h"
#include "layout/pending_data.h"

namespace forebay::logged {

class Tails {
 public:
  enum class Open { read, write, create };
  /// Opens a tail's file. An existing file is opened only when it is first used.
  using OpenFile = std::function<std::shared_ptr<ByteFile>(const std::string& path, Open how)>;

  /// Collective over `comm`, which has more than one rank and this topology. `folder` is for files;
  /// it is made if they are needed, and removed at the end. Errors are the system's, on all ranks.
  static std::unique_ptr<Tails> make(const Comm& comm, const Topology& topology,
                                     const std::string& folder, OpenFile open);
  virtual ~Tails() = default;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(shown_.size()); }
  std::uint64_t generation() const { return generation_; }
  /// Returns whether showing data copies it, which writing it to its place would avoid.
  virtual bool copies() const = 0;

  // -- this rank's tail; all functions are local

  /// Returns a number above those of all writes that were complete before.
  std::uint32_t next_turn();
  /// Adds a record to the stream.
  virtual void append(std::uint32_t kind, std::span<const std::byte> payload) = 0;
  /// Returns the address by which others read these bytes, which `data` has at `position`.
  virtual std::uint64_t address_of(const PendingData& data, Offset position, Count bytes) = 0;
  /// Shows all that was appended. The first `saved` bytes of data are in this rank's temporary
  /// file.
  void show(std::uint32_t turn, Count saved);
  /// Shows that the first bytes of data are in the temporary file. Then their memory may be reused.
  virtual void saved(Count) {}
  /// Sets the temporary file that has the data. Call before saved().
  virtual void set_descriptor(int) {}
  /// Begins a generation after a flush: no rank has anything pending.
  void restart();

  // -- the other ranks' tails; all functions are local. Errc::eread if one is gone.

  /// Reads what all ranks have shown by now.
  void look() { look(shown_); }
  /// Returns the length of a rank's stream at the last look; 0 if there is none.
  Count bytes(int rank) const;
  virtual void read_stream(int rank, Offset position, std::span<std::byte> into) = 0;
  /// `position` is in the rank's data. `address` is what address_of() returned for these bytes.
  virtual void read_data(int rank, Offset position, std::uint64_t address,
                         std::span<std::byte> into) = 0;

 protected:
  struct Shown {
    std::uint64_t generation = 0, bytes = 0, turn = 0;
  };

  explicit Tails(const Comm& comm)
      : rank_(comm.rank()), shown_(static_cast<std::size_t>(comm.size())) {}
  virtual Count stream_bytes() const = 0;
  virtual void show(const Shown& mine, Count saved) = 0;
  virtual void look(std::span<Shown> shown) = 0;
  virtual void clear() = 0;
  [[noreturn]] static void gone(int rank);

 private:
  int rank_;
  std::uint64_t generation_ = 1;
  std::uint32_t turn_ = 0;
  std::vector<Shown> shown_;
};

}  // namespace forebay::logged
