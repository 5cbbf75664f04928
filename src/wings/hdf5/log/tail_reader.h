// Finds entries in the tails of other ranks' logs (hdf5/log/tails.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "array/pattern.h"
#include "hdf5/format/log_section.h"
#include "hdf5/log/tails.h"
#include "layout/packed_pattern.h"

namespace forebay::logged {

/// The kinds of records in a tail's stream. Numbers are native: only ranks of one job read it.
enum class TailRecord : std::uint32_t {
  entry,      ///< TailEntry
  pattern,    ///< packed; patterns count from 0 in the order of their records
  reference,  ///< PatternRef of a pattern in the file
  placed,     ///< TailPlaced
  handed,     ///< a number: so many entries, from the first, are not in the temporary file
};
/// The address of data that a thread is writing, and that nobody else can read before.
inline constexpr std::uint64_t on_its_way = UINT64_MAX;
struct TailEntry {
  Entry entry;  ///< `data`: position in the rank's data
  /// From Tails::address_of(), or on_its_way; 0: in the temporary file, or placed.
  std::uint64_t address = 0;
};
/// The data of the entries [first, last), counted from 0, is in the file (or a subfile) now.
struct TailPlaced {
  std::uint64_t first = 0, last = 0;
  std::uint32_t file = 0;
  Offset begin = 0;
};

class TailReader {
 public:
  using GetPattern = std::function<std::shared_ptr<const Pattern>(const PatternRef&)>;
  /// `tails` must outlive the reader. Above `memory_limit` bytes, only the current dataset's
  /// entries stay.
  TailReader(Tails& tails, GetPattern from_file, Count memory_limit)
      : tails_(tails),
        from_file_(std::move(from_file)),
        memory_limit_(memory_limit),
        known_(static_cast<std::size_t>(tails.ranks())) {}

  struct Found {
    Entry entry;  ///< `data`: position in the file if placed, else in the rank's data
    std::shared_ptr<const Pattern> pattern;
    std::uint64_t address = 0;
    bool placed = false, handed = false;
  };
  /// Local. Returns other ranks' writes that were complete before and may meet `wanted`, and all
  /// cuts. The entries of each rank are in its order.
  std::vector<Found> find(std::uint64_t dataset, const Bounds& wanted);
  /// Reads data of an entry that was found and is not placed.
  /// Errc::eperm: a thread is writing it.
  void read(const Found& found, Offset skip, std::span<std::byte> into);
  /// Returns the bytes of data in other ranks' pending writes to a dataset.
  Count stored_bytes(std::uint64_t dataset);

 private:
  struct KnownPattern {
    Offset place = 0;  // in the stream
    std::size_t bytes = 0;
    PatternRef ref;  // where it is in the file
    std::shared_ptr<const Pattern> pattern;
    Bounds bounds;  // at base 0
  };
  struct KnownEntry {
    TailEntry what;
    std::uint64_t number = 0;
  };
  struct Known {
    Count read = 0;  // bytes of the stream
    std::uint64_t entries = 0, handed = 0;
    std::vector<KnownPattern> patterns;
    std::unordered_map<std::uint64_t, std::vector<KnownEntry>> datasets;
    std::vector<TailPlaced> placed;  // ordered by `first`
  };

  void update(std::uint64_t dataset);
  void extend(int rank, Count end);
  void take(int rank, TailRecord kind, Offset place, std::span<const std::byte> payload);
  const KnownPattern& pattern(int rank, std::uint32_t number);
  void forget();

  Tails& tails_;
  GetPattern from_file_;
  Count memory_limit_, memory_ = 0;
  std::uint64_t generation_ = 0;
  std::optional<std::uint64_t> only_;  // if set, only this dataset's entries are kept
  std::vector<Known> known_;
  PatternPacker packer_;
  std::vector<std::byte> buffer_;
};

}  // namespace forebay::logged
