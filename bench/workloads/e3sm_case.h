#pragma once

// The inputs of the E3SM workload: a file header, and this rank's part of each decomposition map.
// They come from a directory with recorded maps and CDL headers, or are generated (F only).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workloads/cdl.h"
#include "workloads/decomposition.h"

namespace forebay::bench {

struct Team;

/// What the values of mapped variables are.
enum class E3smField {
  Noise,   ///< a pattern without meaning, cheap to make and check; codecs gain little on it
  Sphere,  ///< F: coordinates and a field to be looked at
  Smooth   ///< waves along both fastest dimensions, for codecs
};

struct E3smOptions {
  char which = 'F';            ///< F atmosphere, G ocean, I land
  std::string history = "h0";  ///< h0 or h1; G has one file
  std::string data_dir;        ///< empty: generate
  int tiles = 1;               ///< how many times the horizontal dimensions are repeated
  int records = 0;             ///< 0: the case's usual number
  /// wait_all after each record, or once at the end; unset: the case's usual way, which is the one
  /// that the peer is faster with (record for I, end for F and G).
  std::optional<bool> wait_each_record;
  double compute = 0;          ///< seconds that a rank keeps a core busy after each wait of a write
  bool merge_pieces = true;    ///< as the E3SM-IO benchmark; false: one piece a recorded piece
  bool double_memory = false;  ///< hold float variables as double in memory
  E3smField field = E3smField::Noise;
  int ne = 4;  ///< generated F: elements along an edge of the cube
  int generated_map_ranks = 16;
};

/// Records that are written, and whether each has a wait_all of its own.
int records_of(const E3smOptions& options);
bool waits_each_record(const E3smOptions& options);

/// Where a case comes from: the same for all ranks.
struct E3smSource {
  cdl::Header header;  ///< not tiled
  int map_ranks = 0;
  /// The part that map ranks of a share have of a map, from 0 (D1).
  std::function<Decomposition(int map, MapShare share)> map;
};
/// Throws std::runtime_error for other cases than F.
E3smSource generated_e3sm(const E3smOptions& options);
/// Of all maps together, not tiled.
std::int64_t elements_of_maps(const E3smOptions& options, const E3smSource& source);
/// The names of the files in `data_dir`.
std::string header_file_of(const E3smOptions& options);
std::string map_file_of(const E3smOptions& options);

struct E3smCase {
  cdl::Header header;               ///< dimensions already tiled
  std::vector<Decomposition> maps;  ///< this rank's parts, D1 first; tiled, sorted, cut
  std::vector<int> map_of_var;      ///< index into maps, or -1: written by rank 0 alone
  int map_ranks = 0;
};
/// A rank's parts of all maps: tiled, sorted, cut.
std::vector<Decomposition> e3sm_maps(const E3smOptions& options, const E3smSource& source, int rank,
                                     int ranks);
/// What a rank has of it. Throws std::runtime_error (inconsistent dimensions).
E3smCase e3sm_case(const E3smOptions& options, const E3smSource& source, int rank, int ranks);

/// One request of a rank: a variable in one record, in the order in which they are posted: fixed
/// variables and record 0, record 1, ...
struct E3smPost {
  int var = 0;
  int record = 0;
};
std::vector<E3smPost> e3sm_posts(const cdl::Header& header, int records);

/// Loads or generates the case. Throws std::runtime_error (missing files, inconsistent dimensions).
E3smCase load_e3sm_case(const E3smOptions& options, const Team& team);

}  // namespace forebay::bench
