// Partitions ranks over files that are written together (Wang et al. 2014, §III and §IV).
//
// The problem: a step of a weather model is several files of very different sizes. If they are
// written one after another, each file has its own collective steps and exchange, and all ranks
// wait even for the smallest one. So ranks are partitioned: each file has a group of ranks. The
// group receives the file's data from all ranks, and writes it while other groups write theirs.
//
// A file is cut into *units* (a window, a chunk, a plane). With n ranks, p of them on a node, and B
// files, file i of S_i bytes has A_i ranks:
//
//     bps       ⌊(n − B) S_i / ΣS⌋ + 1 (eq. 3). Ranks left over go to the largest file; the paper
//               does not say so, but its fig. 6, fig. 7 and table I require it
//     lps       (n − B p) S_i / ΣS + p (eq. 4), at the nearest multiple of p. Then nodes are taken
//               away or added one by one, where it hurts least or helps most, until all are used
//     ips       groups of bps. All members of a file's group receive a part of each unit: member k
//               receives from the ranks j outside the group with j mod A = k. The first member
//               joins the parts and writes the unit (§IV.C)
//     balanced  each next rank goes to the file with most bytes per rank: the least max S/A
//     joint     all ranks are every file's group: no partition, but one operation
//     off       the same, one file after another
//
// In all schemes but ips a unit has one owner, and units are spread evenly over owners. Groups are
// ranges of ranks in the order of the files. If there are more files than ranks (lps: nodes), the
// two with the least bytes count as one, repeatedly, until there are enough ranks (nodes).
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

/// All schemes, and their names.
inline constexpr BundleScheme bundle_schemes[] = {BundleScheme::off, BundleScheme::joint,
                                                  BundleScheme::bps, BundleScheme::lps,
                                                  BundleScheme::ips, BundleScheme::balanced};
std::string_view name_of(BundleScheme scheme);
std::optional<BundleScheme> bundle_scheme(std::string_view name);

/// The ranks first, first + 1, …
struct BundleGroup {
  Rank first = 0;
  int ranks = 0;
  std::int64_t bytes = 0;  ///< of all its files
};

/// A value; O(files + groups) memory.
struct BundlePlan {
  BundleScheme scheme = BundleScheme::off;
  int ranks = 0, ranks_per_node = 0;
  std::vector<std::int64_t> bytes;  ///< of each file
  std::vector<BundleGroup> groups;  ///< by their first rank; only one for joint and off
  std::vector<int> group_of;        ///< of each file

  const BundleGroup& group(std::size_t file) const {
    return groups[static_cast<std::size_t>(group_of[file])];
  }
  /// The rank that does what a single rank does: header, number of records, close.
  Rank root(std::size_t file) const { return group(file).first; }
  /// The rank that owns unit `unit` of `units`. 0 <= unit < units. Not for ips, where the root
  /// writes all units.
  Rank owner(std::size_t file, Count unit, Count units) const;
  /// One line a file.
  std::string text() const;

  bool operator==(const BundlePlan& other) const;
};

/// Pure; O(B log B), for any number of ranks. Errc::einval if there are no ranks, a node has less
/// than one rank, a size is negative, or the sizes add up to more than 2^63 − 1.
BundlePlan plan_bundle(std::span<const std::int64_t> bytes, int ranks, int ranks_per_node,
                       BundleScheme scheme);

/// The rates of a machine. The caller states them; the paper gives no times.
struct BundleRates {
  double message = 2e-6;    ///< seconds for a message, at its receiver
  double node_bytes = 3e9;  ///< bytes a second into a node
  /// Pairs of sender and receiver that can be active without delay; twice as many double the time
  /// of messages.
  double pairs = 2000;
  double writer_bytes = 1e9;       ///< bytes a second that one rank writes
  double file_system_bytes = 4e9;  ///< bytes a second that all ranks write together
  double call = 5e-5;              ///< seconds for a call of the file system
  double hand_over = 1e-3;         ///< seconds for a stripe that another rank wrote before
  double meeting = 1e-4;           ///< seconds for the collective steps of an operation
  std::int64_t unit_bytes = 1 << 20;
};

/// Seconds for one file (eq. 1), by their causes.
struct BundleCost {
  double shuffle = 0, aggregation = 0, write = 0;
  std::int64_t messages = 0, bytes_in = 0;  ///< of the rank that receives most in the shuffle
  std::int64_t aggregation_messages = 0, aggregation_bytes = 0;  ///< of the group's root
  double seconds() const { return shuffle + aggregation + write; }
  double collective_write() const { return aggregation + write; }  ///< Wang et al. 2014, §V.B.2
};

struct BundlePrediction {
  std::vector<BundleCost> files;
  double seconds = 0;  ///< for all files (eq. 2): the maximum; for off: the sum
};

/// Assumes that every rank has an equal part of every unit. Pure; O(B).
BundlePrediction predict(const BundlePlan& plan, const BundleRates& rates);

}  // namespace forebay
