// The layout `process-group` (Lofstead et al. 2009, §III.D): in each step every rank writes its
// data as one process group. The places of groups and blocks go into an index that no rank holds in
// full.
//
//     add        notes the block's head and memory, or copies its bytes.             local
//                Beyond step_memory, copies go to the node's file as a group, and
//                their entries are kept. A rank with a data file of its own writes
//                such groups there before copies leave a core's cache.
//     flush      writes the blocks so far to data.K as a group, keeps their entries  collective
//     end_step   adds up sizes over ranks; writes groups to data.K, entries to       collective
//                md.0. After a reduction, one record in md.idx makes the step
//                readable.
//
// Ranks exchange only sums: the bytes of their groups, and for each variable the bytes and number
// of its entries. A rank holds its own entries, and a few times two numbers per variable. It also
// holds the sums of the last step, which are used again if no rank's numbers have changed.
//
// StepBlocks, StepAttributes and WrittenGroups hold the data of a step. StepIndex and BpFiles know
// the places in files (of a BP4 directory, or of one BP3 file with the index of all steps at its
// end). A StepSink writes the bytes: at once; or, with stage async, by a queue, so that a step is
// in the file when the next one has ended, and held data can be written again; or, with stage
// burst, by a log of the rank on fast storage (step_log.h). This class defines the order of these
// actions and what ranks agree on.
//
// Invariant: bytes that a record of md.idx refers to are never written again. Everything behind the
// ends of whole steps (BpFiles) belongs to the current step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/report.h"
#include "comm/comm.h"
#include "groups/format/bp.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/name_catalogue.h"
#include "groups/process_group/range.h"
#include "groups/process_group/step_contents.h"
#include "groups/process_group/step_index.h"
#include "groups/process_group/step_log.h"
#include "groups/process_group/step_sink.h"

namespace forebay::process_group {

class StepWriter {
 public:
  /// Collective, with equal arguments. Makes the directory `path`, or replaces the BP file there.
  /// `report` must outlive the writer. Errors as for BpFiles; Errc::einval: options.
  static std::unique_ptr<StepWriter> create(const Comm& comm, const std::string& path,
                                            const WriteOptions& options, Report& report);
  /// Local. Throws the errors that create() would throw before it changes anything.
  static void check_create(const std::string& path, const WriteOptions& options);
  /// Collective. Continues behind the last whole step, with the variables of the file. Makes the
  /// directory if there is none. Errc::ebad_file: the file has another order of dimensions.
  static std::unique_ptr<StepWriter> append(const Comm& comm, const std::string& path,
                                            const WriteOptions& options, Report& report);

  /// Local, on all ranks, before any block is added. From now on steps wait in `log`. sync() and
  /// close() write them to the file. If these throw, the log has all that the file lacks.
  /// Errc::enotsupport: BP3, or stage async.
  void use_log(std::unique_ptr<StepLog> log);

  /// Local, on all ranks, before any block is added. Sets how the many small entries of all ranks
  /// are written to md.0: together, by the object that `make` returns for that file. `make` is
  /// called, collectively, when there are many for the first time. Without it, and with a log or
  /// stage async, each rank writes its own entries.
  void write_index_by(const StepSink::MakeIo& make) { sink_->write_index_by(make); }

  /// Local, on all ranks, before any block is added. Sets how groups are written that a step ends
  /// with: together by the ranks of a data file, by the object that `make` returns for it. `make`
  /// is called, collectively over these ranks, when the first step ends. Groups that go to the file
  /// before their step ends, and those of flush(), each rank writes by itself. Errc::enotsupport:
  /// stage async, or a log.
  void write_groups_by(const StepSink::MakeIo& make) { sink_->write_groups_by(make); }

  /// Local. Adds a block to the current step. `data` has its elements one after another, in the
  /// order that the shape has, or the text of a string without a zero. `lent`: the bytes must stay
  /// unchanged until end_step() returns, and are neither copied nor encoded; otherwise they are
  /// copied now, or what WriteOptions::encoder_of makes of them. A rank
  /// may write several blocks of a variable. A local array without elements leaves nothing in the
  /// file, which cannot tell it from a scalar. Neither does a global array without elements on any
  /// rank. A joined array becomes a global one in a BP3 file. `measure`: which statistics the index
  /// has besides the range.
  /// Errors: Errc::emultidefine_var_type, a block of another type or number of dimensions than
  /// before; einval, eedge, ebadtype, emaxname, evarsize: a block that the file cannot hold. The
  /// step then continues without the block. This is also so if copies must first be written to the
  /// file (WriteOptions::step_memory) and that fails.
  void add(const bp::Variable& variable, bp::Shape shape, std::span<const std::byte> data,
           bool lent, Measure measure = Measure::bounds);
  /// Local. Reserves memory for `bytes` bytes of copies in the current step, in one piece, but for
  /// no more than is kept at a time.
  void make_room(std::size_t bytes);
  /// Local. Adds an attribute. The lowest rank that gave it writes it once, in the first step that
  /// has it. An attribute that is in the file already stays unchanged.
  void add_attribute(const bp::Attribute& attribute);

  /// Local, before any block is added, equally on all ranks. Announces names of later steps. The
  /// index has them in this order, whichever rank writes which. `dimensions`: 0 for scalars.
  void announce(const bp::Variable& variable, Kind kind, std::size_t dimensions);
  /// Collective. Writes the blocks so far to data.K. Their memory, lent or not, is the caller's
  /// again. The step continues, and only needs memory for index entries. `failed`: an earlier error
  /// of this rank. If it throws, on all ranks, the step is given up, as by end_step(). It takes 3
  /// collective steps, and those for new names and several data files.
  void flush(const std::optional<Error>& failed = std::nullopt);

  /// Collective. All ranks' blocks are one step of the file when this returns. It takes 3
  /// collective steps. One more if a rank's sizes differ from the step before; then one among the
  /// ranks that share a data file if there are several files, and up to 4 if there are new names
  /// (name_catalogue.h). One more if the index is written in windows. If it throws, on all ranks,
  /// the step is not in the file, its blocks are dropped, earlier steps are unchanged, and another
  /// step may be written. With stage async the step before is in the file when this returns, for
  /// one more collective step. If that step cannot be written, this throws and writes nothing, and
  /// the next call tries it again.
  void end_step();

  /// Collective. All steps so far, also those of earlier openings, are on the device when this
  /// returns, and no log has them any more.
  void sync();
  /// Collective. Drops blocks of a step that was not ended. If it throws with stage async, the last
  /// step could not be written and is dropped, too.
  void close();

  /// Local. Returns the bytes of block copies, in this step or the last one.
  std::size_t memory() const { return blocks_.copies().memory(); }
  /// Returns the number of ended steps, whoever wrote them.
  std::uint64_t steps() const { return files_->steps; }
  /// The number of this rank's collective steps in an ended step of the file: in the first one,
  /// which exchanges names and files, and the least and most in later ones. -1: there were none.
  struct Meetings {
    std::int64_t first = -1, least = -1, most = -1;
  };
  Meetings meetings() const { return meetings_; }
  /// The ranks that share this rank's data file, once the first step has ended.
  const Comm& data_ranks() const { return files_->data_ranks(); }
  /// Local. With WriteOptions::by_size: what was chosen, for how many bytes of all ranks.
  std::pair<int, Count> chosen_ranks_per_file() const { return files_->chosen_ranks_per_file(); }

 private:
  /// What this rank writes when the step ends or is flushed.
  struct Part {
    std::uint32_t step = 0;
    std::optional<GroupDraft> group;  // none: this rank has nothing to write
    bp::Bytes attributes;             // index entries of attributes
    StepIndex index;
  };

  StepWriter(const Comm& comm, const std::string& path, const WriteOptions& options, bool append,
             Report& report);
  void choose_data_files();
  std::int64_t meetings_so_far() const;
  void count_meetings(std::int64_t of_step);
  std::vector<Name> new_names();
  std::uint32_t next_step() const;
  LoggedPiece logged(VarId file) const;
  LoggedPiece logged_data(std::uint32_t number) const;

  void encode(StepBlocks::Block& block, const bp::Variable& variable);
  bool passes_through();
  Count room();
  void let_out(bool may_wait);
  void write_early();

  GroupDraft new_group(std::uint32_t step, std::uint32_t file) const;
  void put_blocks(Part& part);
  template <typename F>
  void agree(Part& part, std::optional<Error> failed, F&& lay_out);
  void agree_on_step(Part& part);
  void lay_out(Part& part);
  Offset place_of(RankSums& sums, Offset& end);
  void plan(StepIndex& index, std::uint32_t step, Offset data_end) const;
  IndexPieces write_part(Part& part, Offset at);

  void write_step();
  void write_flush(const std::optional<Error>& failed);
  template <typename F>
  void carry_out(F&& f);
  void give_up_step();
  void forget_step();

  Comm comm_;
  WriteOptions options_;
  Report& report_;
  std::unique_ptr<BpFiles> files_;
  std::unique_ptr<StepSink> sink_;  // refers to the files
  Catalogue catalogue_;
  StepBlocks blocks_;
  StepAttributes attributes_;
  WrittenGroups written_;
  // Sums of the last ended step. `mine` is empty if there was none. All ranks have it empty, or
  // none.
  RankSums last_;
  std::unordered_map<std::string, std::shared_ptr<const operators::Encoder>> encoders_;
  CodecWorkspace workspace_;
  operators::CodedBlock coded_;  // of the block that is added
  bool could_pass_ = true;       // no early write of this step has failed
  Meetings meetings_;
};

}  // namespace forebay::process_group
