// How ranks are divided among files that are written together (B, §III and §IV).
//
// The problem: a step of a weather model is several files of very different sizes. Written one
// after another, each has its own agreements and exchange, and all ranks wait through the smallest.
// So ranks are divided: each file has a group of ranks, which receive what is the file's from all
// ranks, and write it while other groups write theirs.
//
// A file is cut into *units* (a window, a chunk, a plane). Of n ranks, p a node, B files, file i
// with S_i bytes has A_i ranks:
//
//     bps       ⌊(n − B) S_i / ΣS⌋ + 1 (eq. 3); ranks left over go to the largest file, which B
//     does
//               not say, but only so its fig. 6, fig. 7 and table I come out
//     lps       (n − B p) S_i / ΣS + p (eq. 4), at the nearest multiple of p; then nodes are taken
//               or given one by one where that hurts least or helps most, until they add up
//     ips       groups of bps. A unit is received by all of its file's group: member k hears from
//               those ranks j outside the group with j mod A = k, and one member puts the parts
//               together (§IV.C)
//     balanced  the next rank goes to the file with most bytes a rank: the least possible max S/A
//     joint     all ranks are every file's group: no division, but one operation
//     off       the same, one file after another
//
// In all but ips a unit has one owner, and owners are as even as can be. Groups are ranges of ranks
// in the order of the files. Where there are more files than ranks (lps: nodes), the two with the
// least bytes count as one until there are not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace forebay {

enum class BundleScheme : std::uint8_t { off, joint, bps, lps, ips, balanced };

/// All of them, and their names.
inline constexpr BundleScheme bundle_schemes[] = {BundleScheme::off, BundleScheme::joint,
                                                  BundleScheme::bps, BundleScheme::lps,
                                                  BundleScheme::ips, BundleScheme::balanced};
std::string_view name_of(BundleScheme scheme);
std::optional<BundleScheme> bundle_scheme(std::string_view name);

/// Ranks first, first + 1, …
struct BundleGroup {
  Rank first = 0;
  int ranks = 0;
  std::int64_t bytes = 0;  ///< of all its files
};

/// A value, of O(files + groups) memory.
struct BundlePlan {
  BundleScheme scheme = BundleScheme::off;
  int ranks = 0, ranks_per_node = 0;
  std::vector<std::int64_t> bytes;  ///< of each file
  std::vector<BundleGroup> groups;  ///< by their first rank; joint and off: one
  std::vector<int> group_of;        ///< of each file

  const BundleGroup& group(std::size_t file) const {
    return groups[static_cast<std::size_t>(group_of[file])];
  }
  /// Who writes what one rank does alone: header, number of records, close.
  Rank root(std::size_t file) const { return group(file).first; }
  /// Who has unit `unit` of `units`, in whole; of ips: who puts it together. 0 <= unit < units.
  Rank owner(std::size_t file, Count unit, Count units) const;
  /// One line a file.
  std::string text() const;

  bool operator==(const BundlePlan& other) const;
};

/// Pure; O(B log B), whatever the number of ranks. Errc::einval: no ranks, ranks of a node below 1,
/// a size below 0, sizes that add up to more than 2^63 − 1.
BundlePlan plan_bundle(std::span<const std::int64_t> bytes, int ranks, int ranks_per_node,
                       BundleScheme scheme);

/// What a machine does. Stated by whoever asks; none is B's, which gives no times.
struct BundleRates {
  double message = 2e-6;    ///< seconds for a message, at its receiver
  double node_bytes = 3e9;  ///< bytes a second into a node
  /// Pairs of sender and receiver at a time that delay nobody; twice as many double messages' time.
  double pairs = 2000;
  double writer_bytes = 1e9;       ///< bytes a second that one rank writes
  double file_system_bytes = 4e9;  ///< and all together
  double call = 5e-5;              ///< seconds for a call of the file system
  double hand_over = 1e-3;         ///< seconds for a stripe that another rank wrote before
  double meeting = 1e-4;           ///< seconds for what all ranks agree on, once an operation
  std::int64_t unit_bytes = 1 << 20;
};

/// Seconds, of one file (eq. 1); and how they come about.
struct BundleCost {
  double shuffle = 0, aggregation = 0, write = 0;
  std::int64_t messages = 0, bytes_in = 0;  ///< of the rank that receives most of the shuffle
  double seconds() const { return shuffle + aggregation + write; }
  double collective_write() const { return aggregation + write; }  ///< B §V.B.2
};

struct BundlePrediction {
  std::vector<BundleCost> files;
  double seconds = 0;  ///< of all (eq. 2): the largest; of off: the sum
};

/// Every rank is taken to have as much of every unit. Pure; O(B).
BundlePrediction predict(const BundlePlan& plan, const BundleRates& rates);

}  // namespace forebay
