// Reads a BP4 directory or a BP3 file, whoever wrote it (A §III.D): which variables there are,
// where their blocks lie, and values out of them.
//
// What a rank holds of the index is where the blocks of each variable are told in each step,
// however many there are: 40 bytes for all steps that are alike. Blocks are read when they are
// asked for; those of one variable and step are kept where they are few enough, else they are gone
// through anew by each read.
//
// A file of which steps are still being written may be read: those that md.idx told of when it was
// opened are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array/selection.h"
#include "base/raw_bytes.h"
#include "base/report.h"
#include "comm/comm.h"
#include "format/bp.h"
#include "layout/process_group/block_places.h"
#include "layout/process_group/catalogue.h"
#include "layout/process_group/name_places.h"
#include "layout/process_group/overlap.h"
#include "layout/process_group/step_places.h"
#include "layout/process_group/told_index.h"
#include "storage/file.h"

namespace forebay::process_group {

/// A variable as a file has it. Shapes are in C's order, the last dimension varying fastest, also
/// where the program that wrote has the other one.
struct StoredVariable {
  bp::Variable variable;
  Kind kind = Kind::scalar;
  std::size_t dimensions = 0;
  /// An operator of ADIOS that the first block of a step lies behind; empty: none.
  std::string operation;
  std::string fault;             ///< why none of it can be read; empty: it can
  std::size_t longest_text = 0;  ///< of a string, over all steps
  StepPlaces steps;              ///< that have it, from 0
  std::vector<Count> shape;      ///< of a global array, in the first of them that says one
  bool without_extents = false;  ///< all of these are 0 in all steps: it may be a global array, too
  bool varies = false;           ///< it has another one in a later step
};

/// A variable in one step.
struct StoredArray {
  std::vector<Count> shape;       ///< of all blocks together; empty: one value
  std::vector<bp::Block> blocks;  ///< each with the `start` that it has in the array
  bool has_all = true;            ///< else `blocks` has the first one alone: there are too many
};

class BpReader {
 public:
  /// Collective, with equal arguments: rank 0 looks through the index, and tells the others.
  /// `report` outlives the reader. `index_memory`: bytes for blocks (log_memory). Errors:
  /// Errc::enoent; Errc::enotsupport for BP5, or another version; Errc::ebad_file for what is
  /// damaged.
  BpReader(const Comm& comm, const std::string& path, Report& report,
           Count index_memory = 64 << 20);

  const std::string& path() const { return path_; }
  /// "BP4", "BP3".
  const char* format() const { return container_ == Container::directory ? "BP4" : "BP3"; }
  bool swapped() const { return swapped_; }  ///< it has the other byte order
  std::size_t steps() const { return column_major_.size(); }
  bool column_major(std::size_t step) const { return column_major_[step]; }  ///< as it was written
  std::uint32_t time(std::size_t step) const { return times_[step]; }        ///< its number there
  const std::vector<StoredVariable>& variables() const { return variables_; }
  const std::vector<bp::Attribute>& attributes() const { return attributes_; }

  /// With "/" before the name or without. Errc::enotvar, with the name that was meant.
  std::size_t find(std::string_view name) const;
  /// One of the files that have values.
  std::string data_path(std::uint32_t number) const;

  // Local, from here on; `step` is one of the file's, from 0, that has the variable, else
  // Errc::einvalcoords. What is wrong with the file throws Errc::ebad_file.

  /// Joined arrays have their blocks one behind the other, in the order of ranks, as have local
  /// arrays where their further dimensions agree (else Errc::enotsupport), but for blocks without
  /// elements; of local values there are as many as blocks. Stays until the next call.
  const StoredArray& array(std::size_t variable, std::size_t step) const;
  /// Blocks that are held at a time, of an array, of those that a box has something of, and by who
  /// asks for single blocks.
  std::size_t most_blocks() const { return most_blocks_; }
  /// The same without a place for all: blocks as they were written, however many there are.
  std::vector<bp::Block> blocks(std::size_t variable, std::size_t step) const;
  /// Steps that md.idx of a BP4 directory tells of behind steps(): md.0 lacks their index, or the
  /// index of one before them.
  std::uint64_t unread_steps() const;
  /// One of these after the other, without memory for all.
  void each_block(std::size_t variable, std::size_t step,
                  const std::function<void(bp::Block& block)>& f) const;

  /// The selected elements, row by row, in this machine's byte order; of numbers, complex numbers
  /// and characters. Errc::eedge, einvalcoords: outside; enotsupport: behind an operator;
  /// Errc::enodata: elements that nobody wrote; with an element of `fill` they become that. Reads
  /// no more than the rows that are needed, and what lies between them where that is quicker.
  void read(std::size_t variable, std::size_t step, const Subarray& selection, std::byte* out,
            std::span<const std::byte> fill = {}) const;

  // What a read does before it reads, for who reads for several ranks (pending_reads.h).

  /// Checks a selection of numbers as read() does, and gives the variable in this step, as array().
  const StoredArray& checked(std::size_t variable, std::size_t step,
                             const Subarray& selection) const;
  /// What a box has of each block that has some of it, in the order of blocks; but of none before
  /// one that has all of it.
  struct BoxParts {
    std::vector<Overlap> overlaps;
    std::vector<const bp::Block*> blocks;  ///< of the array, or these:
    std::deque<bp::Block> own;
    Count sum = 0;          ///< elements of all of them; the largest number: or more
    bool too_many = false;  ///< more than most_blocks() of an array that is not held: none is here
  };
  /// `array`: what array() or checked() returned last.
  BoxParts parts_of(const StoredArray& array, const std::vector<Count>& start,
                    const std::vector<Count>& count) const;
  /// Throws Errc::enotsupport, ebad_file where a block cannot be read.
  void check_plain(const StoredVariable& variable, const bp::Block& block) const;
  /// Throws Errc::enodata.
  [[noreturn]] void nobody_wrote(const StoredVariable& variable) const;
  /// One of the data files; stays until the next call. Few are open at a time.
  File& data(std::uint32_t number) const;
  /// Throws Errc::etrunc where one ends before byte `end`.
  void check_end(std::uint32_t number, Offset end) const;

  /// All of one block, as it was written.
  void read_block(std::size_t variable, const bp::Block& block, std::byte* out) const;
  /// The same in parts of whole elements, a few MiB at most.
  void each_part(std::size_t variable, const bp::Block& block,
                 const std::function<void(std::span<const std::byte> part)>& f) const;
  /// A string.
  std::string text(std::size_t variable, std::size_t step) const;

 private:
  class Taker;
  /// Blocks of an entry that follow one another, and what they lie within.
  struct Stretch {
    EntryPlace place{};
    Count placed = 0;  ///< of those before (BlockPlaces)
    bp::Shape within;  ///< `count` is empty where they have no elements
  };
  using OnBlock = std::function<void(bp::Block& block)>;
  using OnWindow = std::function<void(const EntryPlace& place)>;
  void walk(const EntryPlace& at, bool has_head, const bp::Variable& variable, bp::Origin origin,
            const OnBlock& f, const OnWindow& behind) const;
  void each_of(std::size_t variable, std::size_t step, const EntryPlace* part, const OnBlock& f,
               const OnWindow& behind) const;
  void learn(const bp::Variable& said, const bp::Block& block);
  EntryPlace entry_of(const StoredVariable& variable, std::size_t step) const;
  [[noreturn]] void fail(Errc code, const std::string& about, const std::string& why,
                         const std::string& advice) const;
  void check_numbers(const StoredVariable& variable) const;
  void read_part(std::size_t variable, const bp::Block& block, Offset from,
                 std::span<std::byte> out) const;
  void read_box(const StoredVariable& variable, const StoredArray& array,
                const std::vector<Count>& start, const std::vector<Count>& count, std::byte* out,
                std::span<const std::byte> fill) const;
  void copy_from(const bp::Block& block, const bp::Type type, const std::vector<Count>& start,
                 const std::vector<Count>& count, std::byte* out, Marks* read) const;

  std::string path_;
  Rank rank_;
  Report& report_;
  std::size_t most_blocks_;
  Container container_ = Container::directory;
  bp::Form form_ = bp::Form::bp4;
  bool swapped_ = false;
  std::vector<bool> column_major_;    // of each step
  std::vector<std::uint32_t> times_;  // what blocks say of each step
  std::vector<StoredVariable> variables_;
  NamePlaces places_;
  std::vector<bp::Attribute> attributes_;
  std::unique_ptr<File> metadata_;
  // Of data files that are open, the one used last first.
  mutable std::list<std::pair<std::uint32_t, std::unique_ptr<File>>> open_;
  mutable RawBytes gathered_;      // runs that were read with what is between them
  mutable StoredArray array_;      // of the variable and step asked for last
  mutable BlockPlaces places_in_;  // of its blocks, and all of them where it does not hold them
  mutable std::vector<Stretch> stretches_;
  mutable std::pair<std::size_t, std::size_t> array_of_{-1, -1};
};

/// Of a path as users may write it, with "ufs:" before it, say, or "/" behind.
std::string plain_path(const std::string& path);
/// Local. Whether `path` is a folder as BP4 and BP5 make them, whatever is left of one, or a file
/// as BP3 has them.
bool is_bp(const std::string& path);

}  // namespace forebay::process_group
