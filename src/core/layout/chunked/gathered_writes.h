// Sends encoded chunks to the ranks that write their data files (Fan et al. 2021, §IV-C.3). A
// writer finds the places in its file, and receives the data in windows of a bounded size, in the
// order of the file, so that it writes long runs.
//
// No rank learns of all parts: owners tell a writer the sizes of what it is to get, and it answers
// with places and windows. A rank's memory and work are those of its own parts and of those in the
// file that it writes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/types.h"
#include "comm/comm.h"

namespace forebay::chunked {

/// A part of a chunk of this rank.
struct OwnPart {
  /// Parts get their places in this order. No two parts have the same.
  struct Order {
    std::uint32_t major = 0, minor = 0;
    bool operator<(const Order& other) const {
      return major != other.major ? major < other.major : minor < other.minor;
    }
  };
  std::uint32_t file = 0;  ///< from 0
  Order order;
  Count bytes = 0;  ///< more than 0
  const std::byte* memory = nullptr;
};

class GatheredWrites {
 public:
  /// Finds the place of so many bytes in this rank's file: a multiple of FileSpace::unit.
  using FindPlace = std::function<Offset(Count bytes)>;

  /// Collective. `writers` has the rank of each file, without duplicates, equal on all ranks. A
  /// writer calls find_place() for all parts of its file, in their order. A window has at most
  /// `most_bytes` bytes, or one part. An error of a rank is thrown there, and reported to the
  /// others in the next reduction. Memory: two windows of this rank's file, and as much as the
  /// parts of this rank and of its file take.
  GatheredWrites(const Comm& comm, std::span<const Rank> writers, std::span<const OwnPart> parts,
                 const FindPlace& find_place, Count most_bytes);

  /// The number of windows of the largest file; equal on all ranks.
  std::uint32_t windows() const { return windows_; }
  /// Collective. Sends the parts of each file's window `number` to its writer. An error of a rank
  /// is thrown only there, after the exchange. If a rank lacks memory to send its parts, the writer
  /// gets an error, too. The data of the previous window stays valid.
  void gather(std::uint32_t number);
  /// Local, after gather(). The runs of the window in this rank's file; valid until the next window
  /// but one.
  std::vector<Extent> runs(std::uint32_t number);
  /// Returns the place of each of this rank's parts, in the order of the constructor's.
  std::span<const Offset> places() const { return places_; }

 private:
  struct Sent : OwnPart {
    std::size_t index = 0;  // in the constructor's list
    std::uint32_t window = 0;
    Offset offset = 0;
  };
  struct Received {
    OwnPart::Order order;
    Rank owner = 0;
    Count bytes = 0;
    Offset offset = 0;
    std::uint32_t window = 0;
    Count at = 0;                       // in the window's buffer
    const std::byte* memory = nullptr;  // set if this rank owns it
  };
  void tell_writers(std::span<const OwnPart> parts);
  std::vector<Sent>::iterator first_for(Rank writer);
  void lay_out(const FindPlace& find_place, Count most_bytes);
  void answer_owners();
  std::span<const Received> received_in(std::uint32_t window) const;

  const Comm& comm_;
  std::span<const Rank> writers_;
  std::map<Rank, std::size_t> first_of_;  // of sent_, for each writer
  std::vector<Sent> sent_;          // by file and order; once places are known, by window and file
  std::vector<Received> received_;  // parts of the file that this rank writes, by offset
  std::vector<Offset> places_;
  std::array<std::vector<std::byte>, 2> buffers_;
  std::uint32_t windows_ = 0;
};

}  // namespace forebay::chunked
