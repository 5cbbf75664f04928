// The tails of the ranks' logs: what each has written since the last flush, for the others to find.
//
// Nobody is asked: a rank shows each write when it is complete, and who reads looks. A tail is a
// stream of records (tail_reader.h) and the data that they name. Where it is kept, there are two
// ways for:
//
//   memory_tails.h   in its rank's memory, which the others read: on one node, where the system
//                    allows it
//   file_tails.h     in files beside the log file: anywhere else
//
// What a rank shows counts for the flush after which it was shown, its generation: what an earlier
// one showed is in the file, where everybody who took part in the flush finds it.
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
  /// Files; those that are there already are opened when first used.
  using OpenFile = std::function<std::shared_ptr<ByteFile>(const std::string& path, Open how)>;

  /// Collective over `comm`, of more than one rank, with this topology. `folder`: for files, made
  /// where they are needed and removed in the end. Errc as the system's, on all ranks.
  static std::unique_ptr<Tails> make(const Comm& comm, const Topology& topology,
                                     const std::string& folder, OpenFile open);
  virtual ~Tails() = default;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(shown_.size()); }
  std::uint64_t generation() const { return generation_; }
  /// Whether data is copied to be shown, which a write to its place would spare.
  virtual bool copies() const = 0;

  // -- this rank's tail; all local

  /// A number above those of all writes that were complete before.
  std::uint32_t next_turn();
  /// Adds a record to the stream.
  virtual void append(std::uint32_t kind, std::span<const std::byte> payload) = 0;
  /// What others ask for to read these bytes: `data` has them at `position`.
  virtual std::uint64_t address_of(const PendingData& data, Offset position, Count bytes) = 0;
  /// What was appended is there, and the first `saved` bytes of data are in this rank's temporary
  /// file.
  void show(std::uint32_t turn, Count saved);
  /// The same for data alone, whose memory may be used for something else after this.
  virtual void saved(Count) {}
  /// The temporary file that has the data. Before saved().
  virtual void set_descriptor(int) {}
  /// A flush is over: nothing is pending, on no rank.
  void restart();

  // -- those of others; all local. Errc::eread where one is gone.

  /// Looks what all have shown by now.
  void look() { look(shown_); }
  /// How long the stream of a rank was at the last look; 0 for none.
  Count bytes(int rank) const;
  virtual void read_stream(int rank, Offset position, std::span<std::byte> into) = 0;
  /// `position`: of the rank's data; `address`: where address_of() said that these bytes are.
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
