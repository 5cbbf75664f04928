// Replay: copies decomposed variables slab by slab (Hou 2023, §6.4.2). A slab is read in file
// order, and written by the runs of its map. Nothing is looked up for an element or a box.
//
//     stretch   neighbouring elements of a map's slabs, and where each run of them goes in a
//               record; or elements of a record that no slab has. It is made once, for all
//               variables and records.
//     part      a stretch of one variable and record
//
// Replay works only if the slabs of every record of a variable are disjoint. Otherwise the latest
// write counts for each element, and Reader must find it.
//
// Memory: about `most_bytes`, and what the reader holds. Parts are for one process, which need not
// read them all. Equal files give equal parts everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"
#include "decomposed/decomposed_reader.h"
#include "layout/variable_reader.h"

namespace forebay::decomposed {

class Replay {
 public:
  /// All references must outlive it.
  Replay(Reader& reader, const Schema& schema, Count most_bytes)
      : reader_(reader), schema_(schema), most_bytes_(most_bytes) {}

  /// Local. Returns all elements of a decomposed variable, by record; nothing if slabs overlap, or
  /// if there is no memory to check that.
  std::optional<std::vector<SlabPart>> parts_of(VarId var);

  /// Local. Returns how many elements a map's slabs have, and the place of each in a record.
  Count elements_of(const SlabPart& part) { return reader_.index(part.file).elements(part.map); }
  std::vector<Count> places_of(const SlabPart& part);

  /// Local. Returns where the values of a part's slab lie contiguously and unencoded; nothing if
  /// they do not. Errors are those of read().
  std::optional<Offset> plain_place(const SlabPart& part);
  /// Local. Returns those values, in the order and byte order of the file.
  std::vector<std::byte> slab_bytes(const SlabPart& part);

  /// Local. Reads a part's values into `out`, native and in the order of the array. Returns which
  /// elements they are. `out` must have room for all. Errc::enotnc with the variable's name if it
  /// was written again since parts_of(), so that the slab is gone.
  Runs read(const SlabPart& part, std::byte* out);

 private:
  using MapNumber = std::pair<std::uint32_t, std::uint32_t>;  // data file, map
  struct Stretch {
    MapNumber map{SlabPart::no_file, 0};
    Count begin = 0, elements = 0;                      // in the slab
    std::shared_ptr<const std::vector<Run>> unwritten;  // in a record, if there is no map
  };
  struct Cover {  // what the slabs of some maps have of a record
    bool apart = false;
    std::vector<std::uint32_t> unwritten;  // stretches
  };
  /// Elements [from, from + count) of the stretch come next in the record.
  struct Move {
    Count from, count;
  };
  struct Way {  // how to copy a stretch
    std::uint32_t stretch;
    std::vector<Move> moves;
    std::vector<Run> runs;  // the elements of the record, in the order of moves
    std::map<Count, std::shared_ptr<const RunList>> lists;  // by the width of elements
    Count bytes() const;
  };

  const Cover& cover_of(const std::vector<MapNumber>& maps, const std::vector<Count>& inner);
  Cover find_cover(const std::vector<MapNumber>& maps, const std::vector<Count>& inner);
  const std::vector<std::uint32_t>& stretches_of(MapNumber map);
  std::uint32_t add_stretch(Stretch stretch);
  void add_unwritten(Cover& cover, std::span<const Run> runs);
  Count most_elements() const { return std::max<Count>(most_bytes_ / 4 / 8, 1); }
  template <typename F>
  void each_pattern(MapNumber map, Count from, Count to, F&& f);
  Way& way_of(std::uint32_t stretch);
  Way find_way(std::uint32_t stretch);
  Slab slab_of(const SlabPart& part);
  void read_slab(const SlabPart& part, const Way& way, const Variable& var, std::byte* out);

  Reader& reader_;
  const Schema& schema_;
  Count most_bytes_;
  std::vector<Stretch> stretches_;
  std::uint64_t epoch_ = 0;  // of what follows: an overruling commit may reuse numbers
  std::map<MapNumber, std::vector<std::uint32_t>> by_map_;
  std::map<std::pair<std::vector<MapNumber>, std::vector<Count>>, Cover> covers_;
  std::list<Way> ways_;          // the last used first
  std::vector<std::byte> slab_;  // in file order
};

}  // namespace forebay::decomposed
