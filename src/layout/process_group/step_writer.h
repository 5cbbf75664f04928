// The layout `process-group` (A §III.D): in each step every rank writes what it has as one process
// group, and where all of it lies goes into an index that no rank ever holds.
//
//     add        the block's head and memory are noted, or its bytes copied          local
//                beyond step_memory what was copied goes to the node's file as a
//                group, and entries are kept; who has a data file alone writes such
//                groups there, as soon as copies would leave a core's cache
//     flush      what there is so far goes to data.K as a group, entries are kept    collective
//     end_step   sizes are added up over ranks; groups go to data.K, entries to md.0;
//                behind a meeting one record in md.idx makes the step readable       collective
//
// Ranks exchange sums alone: of the bytes of their groups, and for each variable of the bytes and
// number of its entries. A rank holds its own entries and two numbers a variable, a few times; the
// sums of the last step, too, which serve the next one if no rank has other numbers in it.
//
// With stage async bytes are copied to a queue (storage/write_queue.h), which a thread writes while
// the program goes on; the record of a step is held back until all ranks' queues are empty, which
// the next end_step, sync or close makes sure of first. So a step is in the file when the next one
// has ended, and what was held may be tried again.
//
// With stage burst bytes go to a log of the rank on fast storage (step_log.h), and in the end, or
// when a log is full, to the files; the record of a step is in rank 0's log meanwhile.
//
// A BP3 file has all of it, with the index of all steps at its end (trailing_index.h): what a step
// adds to that lies among what earlier ones have.
//
// Invariant: nothing that a record of md.idx tells of is ever written again; what lies behind the
// ends of whole steps (BpFiles) belongs to the step under way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "base/copy_room.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "format/bp.h"
#include "format/bp_write.h"
#include "layout/list_stream.h"
#include "layout/process_group/bp_files.h"
#include "layout/process_group/catalogue.h"
#include "layout/process_group/range.h"
#include "layout/process_group/step_index.h"
#include "layout/process_group/step_log.h"
#include "storage/write_queue.h"

namespace forebay::process_group {

class StepWriter {
 public:
  /// Collective, with equal arguments. Makes the directory `path`, or replaces the BP file that it
  /// is. `report` outlives the writer. Errors as BpFiles has them; Errc::einval: options.
  static std::unique_ptr<StepWriter> create(const Comm& comm, const std::string& path,
                                            const WriteOptions& options, Report& report);
  /// Local. Errors that create() has before it touches anything.
  static void check_create(const std::string& path, const WriteOptions& options);
  /// Collective. Goes on behind the last whole step, with the variables that the file has; makes
  /// the directory where there is none. Errc::ebad_file: other dimensions' order than the file's.
  static std::unique_ptr<StepWriter> append(const Comm& comm, const std::string& path,
                                            const WriteOptions& options, Report& report);

  /// Local, on all ranks, before any block is added: from here on steps wait in `log`. They are in
  /// the file behind sync() and close(); where these throw the log has all that the file lacks.
  /// Errc::enotsupport: BP3, and with stage async.
  void use_log(std::unique_ptr<StepLog> log);

  /// Local, on all ranks, before any block is added. How many small entries of all ranks go to
  /// md.0: through what `make` gives for that file, collectively, when there are some for the first
  /// time. Without it, and with a log or stage async, each rank writes its own.
  using MakeIo = std::function<std::unique_ptr<ExtentIo>(std::shared_ptr<ByteFile>)>;
  void write_index_by(MakeIo make) { make_io_ = std::move(make); }

  /// Local. A block of the step under way: its elements one after another, in the order that the
  /// shape has; of a string its text, without a zero. `lent`: the bytes stay, unchanged, until
  /// end_step() returns, and are not copied; else they are copied now. A rank may write several
  /// blocks of a variable. A local array without elements leaves nothing in the file, which has no
  /// way to tell it from a scalar, nor does a global array that has none on any rank.
  /// Errors: Errc::emultidefine_var_type, a block of another type or number of dimensions than
  /// before; einval, eedge, ebadtype, emaxname, evarsize: what the file has no room for. The step
  /// goes on without the block then, as it does where what was copied has to go to the file first
  /// (WriteOptions::step_memory) and cannot.
  /// A joined array is a global one in a BP3 file.
  /// `measure`: what the index tells of its values besides their range.
  void add(const bp::Variable& variable, bp::Shape shape, std::span<const std::byte> data,
           bool lent, Measure measure = Measure::bounds);
  /// Local. Room for so many bytes of copies in the step under way, in one piece; for as much of
  /// them as is kept at a time.
  void make_room(std::size_t bytes);
  /// Local. Written in the first step that has it, once, by the lowest rank that gave it; one that
  /// is in the file already is left as it is.
  void add_attribute(const bp::Attribute& attribute);

  /// Local, before any block is added. Names that steps will have, equally on all ranks: the index
  /// has them in this order then, whichever rank writes which. `dimensions`: none for scalars.
  void announce(const bp::Variable& variable, Kind kind, std::size_t dimensions);
  /// Collective. The blocks so far go to data.K, and their memory is the caller's again, lent or
  /// not; the step under way goes on, and needs memory for entries of the index alone. `failed`: an
  /// error of this rank from before. When it throws, on all ranks, the step is given up, as by
  /// end_step(). 3 meetings, and those for new names and several data files.
  void flush(const std::optional<Error>& failed = std::nullopt);

  /// Collective. All ranks' blocks are one step of the file when this returns: 3 meetings; one more
  /// where a rank has more or less than in the step before, then one of those that share a data
  /// file where there are several, and up to 4 where there are new names (catalogue.h); one more
  /// where the index goes out in windows. When it throws, on all ranks, the step is not in the
  /// file, its blocks are dropped, earlier steps are as they were, and another step may be written.
  /// With stage async the step before is in the file when this returns, for one meeting more; if
  /// that cannot be written, this throws and writes nothing, and the next call tries it again.
  void end_step();

  /// Collective. All steps so far are on the device when this returns.
  void sync();
  /// Collective. Blocks of a step that was not ended are dropped; with stage async so is the last
  /// step where this throws, as it cannot be written.
  void close();

  /// Local. Bytes that copies of blocks take, or took in the last step.
  std::size_t memory() const { return copies_.memory(); }
  /// That have ended, whoever wrote them.
  std::uint64_t steps() const { return files_.steps; }
  /// Local. How often this rank met others in a step that it ended: in the first one, which makes
  /// names and files known, and the least and most often in those behind it. -1: there were none.
  struct Meetings {
    std::int64_t first = -1, least = -1, most = -1;
  };
  Meetings meetings() const { return meetings_; }
  /// Local. With WriteOptions::by_size what it came to, and by how many bytes of all ranks.
  std::pair<int, Count> chosen_ranks_per_file() const {
    return {files_.chosen_ranks_per_file(), files_.chosen_by()};
  }

 private:
  struct Pending {
    std::size_t name = 0;  // in names_
    Count number = 0;      // of the step's blocks of this rank, in the order that they came in
    bp::Block block;
    std::span<const std::byte> data;
    bool lent = false;
    Measure measure = Measure::bounds;
    std::optional<std::size_t> joined;  // of BP3, which has no joined arrays: along which dimension
  };
  /// What this rank has of a step once names are agreed on.
  struct Laid {
    std::uint32_t number = 0;
    std::optional<bp::GroupImage> image;  // none: this rank has nothing to write
    std::vector<std::size_t> names;       // of the catalogue, that may be in it; attributes last
    std::size_t first_attribute = 0;      // in `names`
    bp::Bytes entries;                    // of md.0, in their order
    std::vector<std::pair<std::size_t, std::size_t>> own;  // those whose places are in the image
    // Sums over the ranks below, and over all: bytes of groups, groups, and then for each of
    // `names` bytes and number of entries.
    std::vector<std::int64_t> mine, before, total;
    // Of the index, with what BP3's has already: all groups, and each of `names`.
    NameSums of_groups;
    std::vector<NameSums> sums;
    std::int64_t bytes_before = 0, bytes_of_file = 0;  // of groups in this rank's data.K
    bool sums_are_known = false;                       // those of the step before
  };
  /// Sums of the last step that ended; whose is empty there was none. What `mine` is like on all
  /// ranks the others are.
  struct LastSums {
    std::vector<std::int64_t> mine, before, total;
    std::int64_t bytes_before = 0, bytes_of_file = 0;
  };

  /// What went to the file of the step under way: groups by their places, and entries of blocks.
  struct Flushed {
    struct Entry {
      std::size_t name = 0;  // in names_
      Count number = 0;      // of the block
      std::size_t from = 0, bytes = 0;
    };
    std::span<std::byte> of(const Entry& entry) {
      return std::span(bytes).subspan(entry.from, entry.bytes);
    }
    void clear() {
      groups.clear(), early_groups.clear(), entries.clear(), bytes.clear();
      end = early_bytes = 0;
    }

    std::vector<Offset> groups, early_groups;  // in data.K, and in the node's file
    std::vector<Entry> entries;
    bp::Bytes bytes;        // of entries
    Offset end = 0;         // of data.K, over data_ranks(); 0: nothing
    Count early_bytes = 0;  // of early groups, without heads
  };

  StepWriter(const Comm& comm, const std::string& path, const WriteOptions& options, bool append,
             Report& report);
  void choose_data_files();
  std::int64_t meetings_so_far() const;
  void count_meetings(std::int64_t of_step);
  std::size_t name_of(const bp::Variable& variable, Kind kind, std::size_t dimensions);
  std::vector<Name> new_names() const;
  void measure_lent(Pending& pending);
  void keep_own_attributes();
  std::uint32_t next_step() const;
  template <typename F>
  void agree(Laid& step, std::optional<Error> failed, F&& lay_out);
  void add_up(std::vector<std::int64_t>& before, std::vector<std::int64_t>& total,
              const std::optional<Error>& failed);
  void agree_on_step(Laid& step);
  void place_joined();
  void show(const bp::StepRecord& record);
  void show_trailing(const Laid& step, const IndexPlan& plan);
  void finish_last();
  void write(File& file, VarId which, std::span<const FilePiece> pieces);
  void write_group(File& file, std::uint32_t number, const bp::GroupImage& image, Offset at);
  LoggedPiece of_step(VarId file) const;
  void show_logged(const bp::StepRecord& record);
  void empty_log();
  void write_step();
  void write_flush(const std::optional<Error>& failed);
  bool passes_through();
  Count room_of_passing() const;
  void let_out(bool may_wait);
  bool is_beyond(Count room, std::size_t bytes) const;
  bool is_beyond_memory(std::size_t bytes) const;
  void write_early();
  void keep_entries(const bp::Bytes& bytes, std::span<const Flushed::Entry> entries, Offset at);
  bp::GroupImage new_image(std::uint32_t step) const;
  void end_image(Laid& step);
  void find_places();
  std::size_t place(std::size_t name) const { return *names_[name].known; }
  void sort_blocks();
  Flushed::Entry put_block(Pending& pending, std::uint32_t file, std::uint32_t step,
                           bp::GroupImage& image, bp::Bytes& entries);
  void put_blocks(Laid& step, std::span<const std::size_t> slots);
  void put_attributes(Laid& step, std::span<const std::size_t> slots);
  void lay_out(Laid& step);
  Offset place_of(Laid& step, Offset& end);
  IndexPlan plan_metadata(Laid& step, Offset data_end);
  void print_heads(const Laid& step, const IndexPlan& plan, bp::Bytes& heads,
                   std::vector<std::pair<Offset, std::size_t>>& places) const;
  /// What a rank has for md.0, in the order of the file.
  struct Metadata {
    bp::Bytes heads, groups;
    std::vector<FilePiece> pieces;
  };
  void lay_out_metadata(const Laid& step, const IndexPlan& plan, Offset group_at,
                        Metadata& own) const;
  bool writes_index_together(const Laid& step, const IndexPlan& plan) const;
  void make_index_io();
  void write_index_together(std::optional<ListStream>& stream, const std::optional<Error>& failed);
  TrailingIndex::List told_of(std::size_t name) const;
  bp::Form form() const { return options_.one_file ? bp::Form::bp3 : bp::Form::bp4; }
  template <typename F>
  void carry_out(F&& f);
  void give_up_step();
  void forget_blocks();
  void forget_step();

  Comm comm_;
  WriteOptions options_;
  Report& report_;
  std::unique_ptr<WriteQueue> later_;  // of stage async; outlives the files, which drop what waits
  BpFiles files_;
  Catalogue catalogue_;
  std::vector<bool> attribute_written_;  // by place in the catalogue
  struct OwnName {
    Name name;
    std::optional<std::size_t> known;  // its place in the catalogue; none: it is new
  };
  // This rank's, of all steps; one without a place is of the step under way.
  std::vector<OwnName> names_;
  std::unordered_map<std::string, std::size_t> name_places_;
  std::size_t next_name_ = 0;  // in names_, behind the one that came last
  std::vector<Pending> pending_;
  Count blocks_ = 0;  // of the step under way, this rank's
  Flushed flushed_;
  LastSums last_;
  bool could_pass_ = true;                 // nothing failed of what went out in this step
  std::vector<bp::Attribute> attributes_;  // not written yet
  CopyRoom copies_;
  MakeIo make_io_;
  std::unique_ptr<ExtentIo> index_io_;
  std::unique_ptr<StepLog> log_;  // of stage burst; it refers to the files
  Meetings meetings_;
  std::vector<bp::StepRecord> held_;  // of steps that wait; on all ranks, root's count
};

}  // namespace forebay::process_group
