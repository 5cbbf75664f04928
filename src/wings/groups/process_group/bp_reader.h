// Reads a BP4 directory or a BP3 file of any program (Lofstead et al. 2009, §III.D): its variables,
// the places of their blocks, and their values.
//
// A rank holds the place of each variable's index entry in each step, but not the blocks: 40 bytes
// for all steps with equal contents. Blocks are read on request. Those of one variable and step are
// kept if they are few enough; otherwise each read goes through them again.
//
// A file may be read while steps are still being written: it has the steps that md.idx named at the
// opening, and those that find_steps() has found since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array/selection.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "base/report.h"
#include "codec/pipeline.h"
#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/process_group/block_places.h"
#include "groups/process_group/decoded_blocks.h"
#include "groups/process_group/index_broadcast.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/overlap.h"
#include "groups/process_group/step_status.h"
#include "storage/file.h"
#include "storage/open_files.h"

namespace forebay::process_group {

class DirectoryScan;

/// A variable in one step.
struct StoredArray {
  std::vector<Count> shape;       ///< of the whole array; empty: one value
  std::vector<bp::Block> blocks;  ///< each with its `start` in the array
  bool has_all = true;            ///< otherwise `blocks` has only the first one: there are too many
};

class BpReader {
 public:
  /// Collective, with equal arguments. Rank 0 parses the index and broadcasts it. `report` must
  /// outlive the reader. `index_memory`: bytes for blocks (log_memory). Errors: Errc::enoent;
  /// Errc::enotsupport for BP5 or another version; Errc::ebad_file for a damaged file.
  BpReader(const Comm& comm, const std::string& path, Report& report,
           Count index_memory = 64 << 20);

  ~BpReader();

  /// Collective, on the ranks of the opening. Waits for further steps of a BP4 directory, at most
  /// as many seconds as rank 0 says; rank 0 looks. If there are some, steps() grows, and
  /// variables() and attributes() may. What was there stays, and references to variables stay
  /// valid. A BP3 file has the steps of its opening, and then `end`. `not_ready`: its writer marks
  /// the file as being written (WriteOptions::follow, and adios2), and there was no step in that
  /// time; a writer that was killed leaves it so. Errors as for the constructor; Errc::einval:
  /// seconds below 0; Errc::efile: the file was written anew, or recovered. After an error in
  /// taking up steps every further call throws the same one.
  StepStatus find_steps(const Comm& comm, double seconds);

  const std::string& path() const { return path_; }
  /// "BP4", "BP3".
  const char* format() const { return is_directory() ? "BP4" : "BP3"; }
  bool swapped() const { return index_.origin.swapped; }  ///< the file has the other byte order
  std::size_t steps() const { return index_.times.size(); }
  bool column_major(std::size_t step) const { return index_.column_major[step]; }  ///< as written
  std::uint32_t time(std::size_t step) const { return index_.times[step]; }        ///< in the file
  const std::deque<StoredVariable>& variables() const { return index_.variables; }
  const std::vector<bp::Attribute>& attributes() const { return index_.attributes; }

  /// Finds a name, with or without "/" before it. Errc::enotvar, which suggests a similar name.
  std::size_t find(std::string_view name) const;
  /// Returns the path of a data file.
  std::string data_path(std::uint32_t number) const;

  // All functions from here on are local. `step` is a step of the file, from 0, that has the
  // variable; otherwise Errc::einvalcoords. Errc::ebad_file for a damaged file.

  /// Returns a variable in one step, valid until the next call. Blocks of joined arrays follow one
  /// another in the order of ranks. So do blocks of local arrays if their other dimensions agree
  /// (otherwise Errc::enotsupport); blocks without elements are left out of this. Local values form
  /// an array with one element per block.
  const StoredArray& array(std::size_t variable, std::size_t step) const;
  /// Returns how many blocks are held at a time: of an array, of those that overlap a box, and in
  /// functions for single blocks.
  std::size_t most_blocks() const { return most_blocks_; }
  /// Returns the blocks as they were written, without their places in the array, however many there
  /// are.
  std::vector<bp::Block> blocks(std::size_t variable, std::size_t step) const;
  /// Returns the number of steps in md.idx of a BP4 directory behind steps(): md.0 lacks their
  /// index, or the index of a step before them.
  std::uint64_t unread_steps() const;
  /// Calls f for each block in turn, without memory for all of them.
  void each_block(std::size_t variable, std::size_t step,
                  const std::function<void(bp::Block& block)>& f) const;

  /// Reads the selected elements, row by row, in this machine's byte order: numbers, complex
  /// numbers and characters. Errc::eedge, einvalcoords: outside the array; enotsupport: behind an
  /// operator that is not known; Errc::enodata: elements that nobody wrote. With `fill`, one
  /// element, these get its value instead. Reads only the needed rows, and the bytes between them
  /// if that is faster.
  void read(std::size_t variable, std::size_t step, const Subarray& selection, std::byte* out,
            std::span<const std::byte> fill = {}) const;

  // Steps of a read before the I/O, for reads on behalf of several ranks (pending_reads.h).

  /// Checks a selection of numbers like read(). Returns the variable in this step, like array().
  const StoredArray& checked(std::size_t variable, std::size_t step,
                             const Subarray& selection) const;
  /// The overlaps of a box with blocks, in the order of blocks. Blocks before one that covers the
  /// whole box are left out.
  struct BoxParts {
    std::vector<Overlap> overlaps;
    std::vector<const bp::Block*> blocks;  ///< of the array, or of `own`
    std::deque<bp::Block> own;
    Count sum = 0;          ///< elements in all overlaps; the largest number: or more
    bool too_many = false;  ///< more than most_blocks(), array not held; nothing is set
  };
  /// `array`: the last result of array() or checked().
  BoxParts parts_of(const StoredArray& array, const std::vector<Count>& start,
                    const std::vector<Count>& count) const;
  /// Throws Errc::enotsupport or ebad_file if a block cannot be read.
  void check_readable(const StoredVariable& variable, const bp::Block& block) const;
  /// Throws Errc::enodata: nobody wrote some of the elements.
  [[noreturn]] void nobody_wrote(const StoredVariable& variable) const;
  /// Returns one of the data files, valid until the next call. Few are open at a time.
  File& data(std::uint32_t number) const;
  /// Throws Errc::etrunc if a data file ends before byte `end`.
  void check_end(std::uint32_t number, Offset end) const;

  /// Reads one whole block, as it was written.
  void read_block(std::size_t variable, const bp::Block& block, std::byte* out) const;
  /// The same in parts of whole elements, of a few MiB at most.
  void each_part(std::size_t variable, const bp::Block& block,
                 const std::function<void(std::span<const std::byte> part)>& f) const;
  /// Returns the value of a string.
  std::string text(std::size_t variable, std::size_t step) const;

 private:
  static constexpr Count most_decoded = 64 << 20;  // bytes of blocks behind operators

  /// Consecutive blocks of an entry, and their bounding box.
  struct Stretch {
    EntryPlace place{};
    Count placed = 0;  ///< BlockPlaces::placed() of the blocks before
    bp::Shape within;  ///< `count` is empty if they have no elements
  };
  using OnBlock = std::function<void(bp::Block& block)>;
  using OnWindow = std::function<void(const EntryPlace& place)>;
  void walk(const EntryPlace& at, bool has_head, const bp::Variable& variable, bp::Origin origin,
            const OnBlock& f, const OnWindow& behind) const;
  void each_of(std::size_t variable, std::size_t step, const EntryPlace* part, const OnBlock& f,
               const OnWindow& behind) const;
  bool is_directory() const { return index_.container == Container::directory; }
  EntryPlace entry_of(const StoredVariable& variable, std::size_t step) const;
  [[noreturn]] void throw_written_anew() const;
  [[noreturn]] void fail(Errc code, const std::string& about, const std::string& why,
                         const std::string& advice) const;
  void check_numbers(const StoredVariable& variable) const;
  void read_part(std::size_t variable, const bp::Block& block, Offset from,
                 std::span<std::byte> out) const;
  void read_box(const StoredVariable& variable, const StoredArray& array,
                const std::vector<Count>& start, const std::vector<Count>& count, std::byte* out,
                std::span<const std::byte> fill) const;
  std::span<const std::byte> decoded(const StoredVariable& variable, const bp::Block& block) const;
  void copy_from(const StoredVariable& variable, const bp::Block& block,
                 const std::vector<Count>& start, const std::vector<Count>& count, std::byte* out,
                 Marks* read) const;

  std::string path_, place_;  // place_: absolute
  Rank rank_;
  Report& report_;
  std::size_t most_blocks_;
  StoredIndex index_;
  std::unique_ptr<File> metadata_;
  std::unique_ptr<DirectoryScan> scan_;  // on rank 0, of a directory
  std::optional<Error> broken_;          // why no further steps can be taken up
  mutable OpenFiles<std::uint32_t, std::unique_ptr<File>> open_;  // data files
  mutable DecodedBlocks decoded_{most_decoded};
  mutable CodecWorkspace workspace_;
  mutable RawBytes gathered_;      // runs read together with the bytes between them
  mutable StoredArray array_;      // the last requested variable and step
  mutable BlockPlaces places_in_;  // of the blocks in array_, held or not
  mutable std::vector<Stretch> stretches_;
  mutable std::pair<std::size_t, std::size_t> array_of_{-1, -1};
};

/// Returns a path without a prefix like "ufs:" and without "/" at its end.
std::string plain_path(const std::string& path);
/// Local. Returns whether `path` is a folder with some files of BP4 or BP5, or a file of BP3.
bool is_bp(const std::string& path);

}  // namespace forebay::process_group
