// The files of a BP file while ranks write it: which files exist, who opens which, how far each is
// written, and how a step becomes part of the index. BP4 is a directory (bp_directory.h), BP3 one
// file (single_file.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/operators/encoder.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/step_index.h"
#include "storage/file.h"

namespace forebay::process_group {

class NodeFile;
class StepBlocks;

/// Local. Returns whether a file begins with a head of BP4.
bool begins_as_bp(const std::string& path);

/// Returns the time for a record of md.idx: seconds since 1970.
std::uint64_t record_time();

[[noreturn]] inline void cannot_append(const std::string& path, const std::string& why,
                                       const std::string& advice = "write a new file") {
  throw Error(Errc::ebad_file, path + " cannot be appended to: " + why, advice);
}

struct WriteOptions {
  std::string group = "forebay";
  bool column_major = false;
  /// How many ranks share a data file: a number, all_ranks, those of a node, or chosen by the first
  /// step's size (data_spread.h).
  int ranks_per_file = all_ranks;
  static constexpr int all_ranks = 0, ranks_of_node = -1, by_size = -2;
  /// Process groups begin at multiples of this: a multiple of 64, and of a stripe if there is one.
  Count alignment = 4096;
  /// How many ranks open files at a time (Lofstead et al. 2009, §IV.A.3); 0: each at its first
  /// write.
  int open_stagger = 0;
  /// Bytes of a rank that may wait for the thread of stage async; 0: steps are written at once.
  Count async_memory = 0;
  /// Bytes of a rank's copies of a step; more are written to the file before the step ends. 0: all
  /// are kept.
  Count step_memory = 0;
  /// Nothing is opened or written; everything else is done.
  bool drop_all = false;
  /// BP4: until close() the file is marked as being written, for readers that follow it.
  bool follow = false;
  /// BP3: one file, with the index of all steps at its end. All ranks share it, steps are written
  /// at once, and copies are kept until the step ends, whatever step_memory is.
  bool one_file = false;
  /// Returns what encodes the blocks of a variable, or null. Not set: nothing does.
  std::function<std::shared_ptr<const operators::Encoder>(const std::string& variable)> encoder_of;
  int ranks_per_node = 0;  ///< as for Comm::split_node()
};

/// Local. Throws Errc::eexist if `path` is something that BpFiles does not replace by a new file.
void check_replaceable(const std::string& path, const WriteOptions& options);

class BpFiles {
 public:
  /// Collective. Makes the file, or empties an existing one. With `append`, continues behind the
  /// last whole step of an existing one, whose index rank 0 reads. Errors, on all ranks:
  /// Errc::eexist if `path` is something else, also by its first bytes; ebad_file if it cannot be
  /// appended to; system errors.
  static std::unique_ptr<BpFiles> open(const Comm& comm, const std::string& path,
                                       const WriteOptions& options, bool append, Report& report);
  virtual ~BpFiles();

  // ---- Data files

  std::uint32_t number() const { return number_; }  ///< K of this rank's data.K
  const Comm& data_ranks() const { return data_ranks_; }
  bool one_data_file() const { return one_data_file_; }
  File& data() { return *data_; }
  std::shared_ptr<File> shared_data() { return data_; }
  /// True with WriteOptions::by_size until spread(): all ranks have data.0 so far.
  bool waits_for_size() const { return waits_for_size_; }
  /// Collective, once, while waits_for_size(), before anything is written to data.K. Chooses the
  /// data files by the bytes of the first step; this rank has `bytes` of them. Afterwards data()
  /// may be another file. If it throws, on all ranks, it may be called again.
  virtual void spread(Count bytes);
  /// Returns what spread() chose, in terms of WriteOptions::ranks_per_file, and for how many bytes.
  std::pair<int, Count> chosen_ranks_per_file() const { return chosen_; }
  /// Returns the file for groups that are written before their step ends; null if there is none.
  virtual NodeFile* early() { return nullptr; }

  // ---- The index

  virtual bp::Form form() const = 0;
  virtual File& metadata() = 0;  ///< file of a step's part of the index
  /// Returns the same file if all ranks may write it together, otherwise null.
  virtual std::shared_ptr<File> shared_metadata() { return nullptr; }
  /// Returns the begin of the index of a step whose groups end at `data_end`.
  virtual Offset index_begin(Offset data_end) const = 0;
  /// Returns the entries of earlier steps in a step's index: of groups, or of a name of the
  /// catalogue.
  virtual IndexList earlier_groups() const { return {}; }
  virtual IndexList earlier(std::size_t /*name*/) const { return {}; }
  /// Collective. Sets the places of blocks of joined arrays if the format has no joined arrays.
  virtual void place_joined(StepBlocks& /*step*/, const Catalogue& /*known*/) {}
  /// Collective. Moves needed bytes before `end` behind it. `failed` is an earlier error of this
  /// rank. It is thrown here if this takes a collective step.
  virtual void make_way(Offset /*end*/, const std::optional<Error>& /*failed*/) {}
  /// Local. Copies this rank's share of earlier steps' entries into the index of this step.
  virtual void carry(const StepIndex& /*step*/) {}
  /// Collective. Makes steps visible whose bytes are all in the files.
  virtual void show(std::span<const bp::StepRecord> records) = 0;
  /// Collective. Frees the space behind whole steps if that works. The next step overwrites it in
  /// any case. Returns false, on all ranks, if the index may still name what lies there.
  virtual bool give_back() = 0;

  virtual void sync() = 0;  ///< collective
  /// Collective; `failed` keeps the first error of this rank.
  virtual void close(std::optional<Error>& failed) = 0;

  // Ends of whole steps. All are equal on all ranks; data_end is equal on data_ranks().
  Offset data_end = 0, metadata_end = 0, index_end = 0;
  std::uint64_t steps = 0;    ///< the number of the last one
  std::uint64_t opening = 0;  ///< bp::GroupMark::opening; equal on all ranks
  std::vector<Name> names;    ///< names in the file when it was opened; on rank 0

 protected:
  BpFiles(const Comm& comm, const std::string& path, const WriteOptions& options, Report& report);
  std::unique_ptr<File> new_file(const std::string& path) const;

  Comm comm_, data_ranks_;
  std::string path_;
  WriteOptions options_;
  Report& report_;
  std::shared_ptr<File> data_;
  PathSync path_sync_;
  std::uint32_t number_ = 0;
  bool one_data_file_ = true, waits_for_size_ = false;
  std::pair<int, Count> chosen_{WriteOptions::by_size, 0};
};

/// Returns a new number for this opening.
std::uint64_t new_opening();
/// Returns the number after that of an earlier opening. Errc::erange if it leaves none: numbers are
/// times, so that such a one is damage.
std::uint64_t opening_after(std::uint64_t last);

/// Collective. Adds up lists over ranks. `before` has this rank's numbers, and gets the sums of
/// lower ranks. `total` gets the sums of all ranks.
void add_up(const Comm& comm, std::vector<std::int64_t>& before, std::vector<std::int64_t>& total,
            const std::optional<Error>& failed);

}  // namespace forebay::process_group
