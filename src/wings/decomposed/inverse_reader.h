// Reads inverse maps (decomposed/format/inverse_map.h). Finds where the elements of a selection lie
// in the slabs of a map, from the pages that cover them.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "base/types.h"
#include "decomposed/file_index.h"
#include "decomposed/format/inverse_map.h"
#include "decomposed/pieces.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {

/// `count` elements of a slab from `place` on, which belong to `member` of the map, are those of
/// the selection from `target` on.
struct Found {
  Count place, target, count;
  std::uint32_t member;
};

/// The directory of a map's inverse, with data of the map.
struct InverseMap {
  InverseDirectory directory;
  std::vector<Count> begins;     ///< of each member's elements in a slab; a last one for the end
  std::vector<Count> per_index;  ///< by factor: how many indices it has
  std::uint64_t hash = 0;
  std::uint64_t number = 0;  ///< counts the maps that were made, to tell cached pages apart
};

/// The first index of a selection in its only dimension of several indices, if what it shares with
/// the map is the same for each of them.
struct OneLevel {
  Pattern selection;
  Levels levels;
  Count below = 1;  ///< indices of the map's factor below one index of that dimension

  /// Returns the distance between two levels of a member, in elements of the slab.
  Count step(const InverseMap& map, std::uint32_t member) const {
    return (map.begins[member + 1] - map.begins[member]) / map.per_index[0] * below;
  }
};
/// Local. Returns nothing if that is not so, or if there is only one index.
std::optional<OneLevel> one_level_of(const InverseMap& map, Pattern selection);

/// Not thread-safe.
class InverseReader {
 public:
  /// Cached directories and pages take at most `most_bytes` together, or the last one alone is
  /// cached.
  explicit InverseReader(Count most_bytes) : most_bytes_(most_bytes) {}

  /// Local. Errc::enotnc for damage. Sizes are checked before memory is allocated.
  std::shared_ptr<const InverseMap> map(ByteFile& file, const FileIndex& index, std::uint32_t map);
  /// Local. Calls f(found) for the elements that the map and the selection share, in no order,
  /// until f returns false. Returns what f returned last. Errc::enotnc for damage, and for a
  /// selection of an array of another shape.
  bool find(ByteFile& file, const InverseMap& map, const Pattern& selection,
            const std::function<bool(const Found&)>& f);
  /// Local. Reads all pages. Errc::enotnc for damage.
  void check(ByteFile& file, const InverseMap& map);
  void forget();

  std::int64_t pages_read() const { return pages_read_; }

 private:
  using Runs = std::vector<InverseRun>;
  struct KeptMap {
    std::string path;
    Offset offset;
    Key identity;
    std::shared_ptr<const InverseMap> map;
    Count bytes;
  };
  struct KeptPage {
    std::uint64_t map;
    Offset offset;
    std::shared_ptr<const Runs> runs;
    Count bytes;
  };

  std::shared_ptr<const Runs> kept(const InverseMap& map, const InversePage& page);
  void each_page(ByteFile& file, const InverseMap& map,
                 const std::vector<const InversePage*>& pages,
                 const std::function<bool(const Runs&)>& f);
  void make_room();

  Count most_bytes_, bytes_ = 0;
  std::uint64_t maps_made_ = 0;
  std::list<KeptMap> maps_;    // the last used first
  std::list<KeptPage> pages_;  // the same
  logged::BytePacker packer_;
  std::int64_t pages_read_ = 0;
};

}  // namespace forebay::decomposed
