// The files of a BP4 directory, or the one file of BP3, while ranks write it: who opens which, and
// how far each is written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "layout/process_group/catalogue.h"
#include "layout/process_group/group_walk.h"
#include "layout/process_group/trailing_index.h"
#include "storage/file.h"

namespace forebay::process_group {

/// Local. Whether a file begins as those of BP4 do.
bool begins_as_bp(const std::string& path);

/// What a record of md.idx has as its time: seconds since 1970.
std::uint64_t record_time();

struct WriteOptions {
  std::string group = "forebay";
  bool column_major = false;
  /// How many ranks share a data file; all_ranks, those of a node, or as the first step's size
  /// tells (data_spread.h).
  int ranks_per_file = all_ranks;
  static constexpr int all_ranks = 0, ranks_of_node = -1, by_size = -2;
  /// Where process groups begin: a multiple of 64, of a stripe if there is one.
  Count alignment = 4096;
  /// So many ranks open files at a time (A §IV.A.3); 0: each does when it first writes.
  int open_stagger = 0;
  /// Bytes of a rank that wait for the thread of stage async; 0: steps are written at once.
  Count async_memory = 0;
  /// Bytes of a rank's copies of a step; what is more goes to the file before the step ends. 0: all
  /// are kept.
  Count step_memory = 0;
  /// Nothing is opened nor written; all else is done.
  bool drop_all = false;
  /// BP3: one file, with the index of all steps at its end. All ranks share it, steps are written
  /// at once, and what of a step was copied is kept until it ends, whatever step_memory says.
  bool one_file = false;
  int ranks_per_node = 0;  ///< as Comm::split_node() has it
};

/// Local. Errc::eexist: `path` is something else than BpFiles makes a new file of.
void check_replaceable(const std::string& path, const WriteOptions& options);

class BpFiles {
 public:
  /// Collective. Makes the directory, or empties one that holds a BP file; with `append` goes on
  /// behind the last whole step of one that is there, whose index rank 0 looks through. Errors, on
  /// all ranks: Errc::eexist where `path` is something else, by what its files begin with, too;
  /// ebad_file where it cannot be appended to, and those of system calls.
  BpFiles(const Comm& comm, const std::string& path, const WriteOptions& options, bool append,
          Report& report);

  const std::string& path() const { return path_; }
  std::uint32_t number() const { return number_; }  ///< K of this rank's data.K
  const Comm& data_ranks() const { return data_ranks_; }
  bool one_data_file() const { return one_data_file_; }
  /// With WriteOptions::by_size, until spread(): all ranks have data.0.
  bool waits_for_size() const { return waits_for_size_; }
  /// Collective, once, before anything goes to data.K. `bytes`: of this rank, in the first step.
  /// data() is another file then. When it throws, on all ranks, it may be tried again.
  void spread(const WriteOptions& options, Count bytes);
  /// What was chosen by sizes, as WriteOptions::ranks_per_file has it, and of how many bytes.
  int chosen_ranks_per_file() const { return chosen_; }
  Count chosen_by() const { return chosen_by_; }
  File& data() { return *data_; }
  File& metadata() { return trailing_ ? *data_ : *metadata_; }   ///< md.0
  std::shared_ptr<File> shared_metadata() { return metadata_; }  ///< md.0, of BP4
  File& index() { return *index_; }                              ///< md.idx; root alone

  // Groups that go out before their step ends have places that no other node asks for: in a data
  // file of each node, which is there as soon as one of its ranks has such a group. Places are
  // taken one behind the other, by addition in memory that the node's ranks share; those that
  // cannot share any have a file each. What a step that is given up has there stays, and belongs to
  // no step.

  TrailingIndex* trailing() const {
    return trailing_.get();
  }  ///< of BP3, which has no md.0 nor md.idx

  /// Not without WriteOptions::step_memory.
  bool has_early() const { return early_ != nullptr; }
  std::uint32_t early_number() const { return early_number_; }  ///< K of that data.K
  /// Local. Where to put a group of so many bytes, a multiple of WriteOptions::alignment.
  Offset take_early(Count bytes);
  File& early() { return *early_; }  ///< behind take_early()
  bool wrote_early() const { return early_is_open_; }
  /// Local, once all ranks have ended a step: what there is so far stays.
  void keep_early();
  /// Local, once all ranks have given a step up, which has to be told to all before any of them
  /// writes again: what came since is given back, where that works, and belongs to no step.
  void drop_early();

  void sync_names() const;  ///< the directory's, and its own, reach the device

  // How far whole steps reach. All but data_end are equal on all ranks, that on data_ranks().
  Offset data_end = 0, metadata_end = 0, index_end = 0;
  std::uint64_t steps = 0;    ///< the number of the last one
  std::uint64_t opening = 0;  ///< bp::GroupMark::opening; equal on all ranks
  std::vector<Name> names;    ///< in the file when it was opened; on rank 0

 private:
  std::unique_ptr<File> new_file(const std::string& name) const;
  void open_by_root(bool append, bool column_major);
  void open_one_file(const WriteOptions& options, bool append);
  void make_directory();
  void read_index(bool column_major);
  void look_through(bool column_major);
  void learn_opening(const bp::StepRecord& record);
  void follow_openings();
  void choose_data_file(int ranks_per_file, int ranks_per_node);
  int choose_by_size(Count bytes_of_all, int ranks_per_node);
  void start_data_file(const WriteOptions& options);
  Offset end_of_data(File& data, std::uint32_t number);
  void open_data(Count alignment, bool append);
  void prepare_early(const WriteOptions& options, bool append);
  void open_in_turns(int at_a_time);

  Comm comm_, data_ranks_;
  std::string path_;
  Report& report_;
  bool drops_all_;
  Places whole_ends_;  // of data files that were there: where their blocks of whole steps end
  std::uint64_t last_opening_ = 0;  // the largest that was found in this rank's files; 0: none
  std::uint32_t number_ = 0, early_number_ = 0;
  bool one_data_file_ = true;
  bool waits_for_size_ = false;
  bool goes_on_ = false;  // with files that were there
  int chosen_ = WriteOptions::by_size;
  Count chosen_by_ = 0;
  std::unique_ptr<File> data_, index_, early_;
  std::shared_ptr<File> metadata_;
  std::unique_ptr<TrailingIndex> trailing_;
  struct EarlyEnd;
  EarlyEnd& early_end() const;
  NodeMemory early_end_;
  bool cuts_early_ = false;  // one of the ranks that share it
  Offset early_kept_ = 0;    // of that one: what is before it stays
  bool early_is_open_ = false;
  Count alignment_ = 0;
};

}  // namespace forebay::process_group
