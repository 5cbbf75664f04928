// What a rank holds of the current step. No MPI, no I/O.
//
//     OwnNames         the variables that it has written so far, and their places in the catalogue
//     StepBlocks       blocks that are in no file yet: copied when they were added, or lent, or
//                      written from the caller's memory if there is no memory for a copy
//     StepAttributes   attributes that are to be written
//     GroupDraft       some or all of these in a process group that is being built
//     WrittenGroups    places of groups that are in files, and the index's entries of their blocks
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/copy_room.h"
#include "base/types.h"
#include "groups/format/bp_write.h"
#include "groups/operators/encoder.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/range.h"
#include "groups/process_group/step_index.h"

namespace forebay::process_group {

class OwnNames {
 public:
  /// Returns the number of a name. Programs write the same names in the same order in each step, so
  /// the search starts behind the last name. Errc::emultidefine_var_type: this rank or the
  /// catalogue knows the name with another type or kind.
  std::size_t number_of(const Name& name, const Catalogue& known);
  std::size_t size() const { return names_.size(); }
  const bp::Variable& variable(std::size_t n) const { return names_[n].name.variable; }
  Kind kind(std::size_t n) const { return names_[n].name.kind; }
  /// Its place in the catalogue; none while it is new.
  std::optional<std::size_t> place(std::size_t n) const { return names_[n].place; }

  std::vector<Name> new_ones() const;
  /// Looks up new names in the catalogue, which has all of them by now.
  void find_places(const Catalogue& known);
  void start_step() { next_ = 0; }
  void clear();

 private:
  struct OwnName {
    Name name;
    std::optional<std::size_t> place;
  };
  std::vector<OwnName> names_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::size_t next_ = 0;  // the number after the last one found
};

/// Index entries of blocks, without gaps.
struct BlockEntries {
  struct Entry {
    std::size_t name = 0;  // of OwnNames
    Count number = 0;      // counts the rank's blocks in the step, as they were added
    std::size_t from = 0, bytes = 0;
  };
  std::vector<Entry> entries;
  bp::Bytes bytes;

  void add(std::size_t name, Count number, const bp::Variable& variable, const bp::Block& block,
           bp::Form form) {
    const std::size_t from = bytes.size();
    bp::append_block(bytes, variable, block, form);
    entries.push_back({name, number, from, bytes.size() - from});
  }
  /// Adds these to this rank's sums for the index. `places` is what take_names() returned.
  void add_to(RankSums& sums, const OwnNames& names, std::span<const std::size_t> places) const {
    for (const Entry& entry : entries)
      sums.add_entry(places[*names.place(entry.name)], entry.bytes);
  }
};

/// A process group that is being built. Places in its entries are counted from its beginning.
struct GroupDraft {
  bp::GroupImage image;
  std::uint32_t step, file;  ///< numbers
  BlockEntries blocks;
};

class WrittenGroups {
 public:
  /// Reserves the memory for keep(), so that keep() does not throw.
  void make_room(const GroupDraft& group, bool early);
  /// Notes that a group is at `at` in its file: this rank's data.K, or, if it is `early`, the
  /// node's.
  void keep(GroupDraft&& group, Offset at, bool early);

  std::size_t size() const { return groups_.size() + early_groups_.size(); }
  const BlockEntries& blocks() const { return blocks_; }
  /// Returns the entries of groups in the index: those in data.K, then early ones.
  bp::Bytes group_entries(bp::Group group) const;
  /// Returns the entries of all blocks: variables in the order of the catalogue, and blocks of each
  /// variable in the order of the add() calls, wherever they lie in files. That order decides which
  /// of two overlapping blocks is valid, and where blocks of joined arrays lie. The bytes stay
  /// valid until another function is called.
  std::span<const std::byte> in_order(const OwnNames& names);
  void clear();

  Offset end = 0;         ///< of data.K, over the ranks that share it; 0: no groups
  Count early_bytes = 0;  ///< of blocks that were written before the step ended

 private:
  std::vector<Offset> groups_, early_groups_;
  BlockEntries blocks_;
};

class StepBlocks {
 public:
  struct Block {
    std::size_t name = 0;  ///< of names()
    Count number = 0;      ///< counts the step's blocks, as they were added
    bp::Block block;
    std::span<const std::byte> data;
    bool lent = false;
    Measure measure = Measure::bounds;
    std::optional<std::size_t> joined;  ///< the dimension, in BP3, which has no joined arrays
    bool was_put = false;               ///< by the last put_copies()
  };

  explicit StepBlocks(bp::Form form) : form_(form) {}
  OwnNames& names() { return names_; }

  /// Returns a block without adding it. Returns nothing if the block has no entry in the file.
  /// Errors are those of StepWriter::add().
  std::optional<Block> made_of(const bp::Variable& variable, bp::Shape&& shape,
                               std::span<const std::byte> data, const Catalogue& known);
  /// Copies the bytes of a block, and finds their range.
  void copy(Block& block);
  /// Puts bytes that an encoder made in place of a block's values. The range is that of the values
  /// that they decode to.
  void code(Block& block, const operators::CodedBlock& coded) const;
  /// Finds the range alone.
  void take_range(Block& block) const;
  void add(Block&& block);
  Block& last() { return blocks_.back(); }
  void take_back();  ///< the last one

  CopyRoom& copies() { return copies_; }
  const CopyRoom& copies() const { return copies_; }
  bool is_beyond(Count room, std::size_t bytes) const;  ///< copies and `bytes` more exceed `room`
  bool has_copies() const;
  bool empty() const { return blocks_.empty(); }
  Count bytes() const;

  /// Finds the ranges and texts of lent blocks, which the program may have changed until now.
  void measure_lent();
  /// Puts all blocks into the group, in the order of the catalogue. Blocks of one variable stay in
  /// the order of the add() calls.
  void put_all(GroupDraft& group);
  /// Puts copied blocks into the group, and returns their bytes. Lent blocks take no memory and
  /// wait, unless a copy of the same variable would come before them: groups give the order of
  /// blocks only by their places.
  Count put_copies(GroupDraft& group);
  void forget_copies();  ///< drops what put_copies() has put
  void forget();         ///< drops all blocks; the step continues
  void start_step();     ///< drops all blocks; another step begins

  // BP3 has no joined arrays. They become global ones, whose blocks follow one another.

  bool has_joined() const;
  /// Adds extents along the joined dimensions to those of variables, by place in the catalogue.
  void add_joined(std::span<std::int64_t> extents) const;
  /// Places these blocks behind those of lower ranks, whose extents are `before`. Overwrites
  /// `before`. `total` has the extents of all ranks.
  void place_joined(std::span<std::int64_t> before, std::span<const std::int64_t> total);

 private:
  void take_value(Block& block) const;
  void measure(Block& block) const;
  void put(Block& block, GroupDraft& group) const;

  bp::Form form_;
  OwnNames names_;
  std::vector<Block> blocks_;
  Count count_ = 0;  // number of the step's blocks so far
  CopyRoom copies_;
};

class StepAttributes {
 public:
  /// Adds an attribute, unless one of its name is known already.
  void add(const bp::Attribute& attribute, const Catalogue& known);
  void add_new_names(const Catalogue& known, std::vector<Name>& names) const;

  /// Drops attributes that another rank writes, or that are in the file. All names are in the
  /// catalogue.
  void keep_own(const Catalogue& known, Rank rank);
  bool empty() const { return waiting_.empty(); }
  /// Puts all attributes into a group of data.`file`, behind its blocks. Returns their index
  /// entries.
  bp::Bytes put(bp::GroupImage& group, std::uint32_t step, std::uint32_t file,
                const Catalogue& known, RankSums& sums, std::span<const std::size_t> places);

  /// Notes that the attributes that `known` has are in the file.
  void start(const Catalogue& known);
  bool is_written(std::size_t place) const { return written_[place]; }
  /// Notes that those among `names`, which are places in the catalogue, are in the file.
  void note_written(const Catalogue& known, std::span<const std::size_t> names);

 private:
  std::vector<bp::Attribute> waiting_;
  std::vector<bool> written_;  // by place in the catalogue
};

}  // namespace forebay::process_group
