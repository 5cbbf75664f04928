// Parity of checkpoints: what a set of ranks on different nodes keeps, so that the states of any
// one of them can be made again from those of the others.
//
// A set has n ranks. Of each state, a rank's *blob* is what its files have of it: the journal's
// entry, then the stored bytes of all parts. A blob is cut into n - 1 chunks of one size, the last
// ones filled up with zeros. Rank j of the set keeps a *segment*: the XOR of one chunk of each
// other rank. So it takes 1 / (n - 1) of a state's bytes, and chunk k of rank i goes to another
// rank for each k:
//
//     n = 4       segment 0    segment 1    segment 2    segment 3
//     rank 0      -            chunk 0      chunk 1      chunk 2
//     rank 1      chunk 2      -            chunk 0      chunk 1
//     rank 2      chunk 1      chunk 2      -            chunk 0
//     rank 3      chunk 0      chunk 1      chunk 2      -
//
// A lost rank's chunk is the XOR of a segment and of the chunks of the other ranks in it.
//
// Segments that belong together have a *group*, a random number. A segment lists the serial number
// of each rank's state. It is of use only while all ranks that are left have a segment of the same
// group and their state under that serial number. The entry in a blob has its checksum with the
// group, and lists the checksums of all bytes. So a segment that is older than a state never makes
// something that is taken for a state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoints/format/checkpoint.h"

namespace forebay::checkpoint {

/// The largest number of ranks in a set.
constexpr int most_in_set = 16;

/// Which chunk of rank i is in the segment of rank j, for i and j below n and different.
constexpr std::size_t chunk_in_segment(std::size_t i, std::size_t j, std::size_t n) {
  return (j + n - i - 1) % n;
}
/// Returns the bytes of a chunk of blobs of at most `bytes` in a set of n ranks.
constexpr Count chunk_bytes(Count bytes, std::size_t n) {
  const auto chunks = static_cast<Count>(n) - 1;
  return (bytes + chunks - 1) / chunks;
}
/// Adds bytes by XOR. `from` has at most as many as `to`.
void add_xor(std::span<std::byte> to, std::span<const std::byte> from);

/// A rank of a set, and its state.
struct Member {
  Rank rank = 0;
  std::uint64_t serial = 0;  ///< of its state; 0: it has none
  Count bytes = 0;           ///< of its blob
  std::uint64_t sessions[2] =
      {};  ///< of its journals, in the fast directory and the other; 0: none
};
/// What a segment's states are.
struct ParityTable {
  std::uint64_t group = 0;
  std::vector<Member> members;  ///< by rank

  const Member* find(Rank rank) const;
  std::size_t place_of(Rank rank) const;  ///< `rank` is one of the members
  Count chunk() const;                    ///< bytes of a chunk
};
std::vector<std::byte> print_table(const ParityTable& table);
/// Errc::ebadlog for bytes that are no table.
ParityTable parse_table(std::span<const std::byte> bytes);

/// Returns what precedes the stored bytes in a blob: the entry and its length.
std::vector<std::byte> front_of_blob(const Record& record, std::uint64_t group);
/// Returns the state of a blob, and sets `front` to the bytes before its stored bytes. Checks all
/// of it with the checksums. Errc::ebadlog if it is not a whole blob of that group, state and
/// serial number.
Record parse_blob(std::span<const std::byte> blob, std::uint64_t group, StateId id,
                  std::uint64_t serial, std::size_t& front);

}  // namespace forebay::checkpoint
