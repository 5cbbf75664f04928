// Dataset: a schema, a queue of requests, and the file they belong to. Every front end speaks to
// this class.
//
// Collective means: every rank of the communicator calls it, in the same order. A rank with nothing
// to do, or with an argument error of its own, still calls (see `execute` and `wait`), so that
// nobody waits for it. All functions throw forebay::Error.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "array/decomposition.h"
#include "array/request.h"
#include "array/run_list_pool.h"
#include "array/schema.h"
#include "base/error.h"
#include "base/report.h"
#include "comm/agree.h"
#include "comm/comm.h"
#include "container/container.h"
#include "dataset/coarse_view.h"
#include "dataset/consistency.h"
#include "layout/layout.h"
#include "method/method.h"
#include "stage/burst/flush.h"
#include "stage/stage.h"
#include "storage/write_queue.h"

namespace forebay {

enum class Mode { define, collective, independent };

enum class Which { listed, all, puts, gets };  ///< which queued requests a wait or cancel is about

/// Who writes what waits of several datasets together (bundle/bundle.h).
class WritesTogether {
 public:
  virtual ~WritesTogether() = default;
  /// Collective. What waits of all of them is to be in the files. What cannot be written so is left
  /// waiting; throws where ranks part.
  virtual void write() = 0;
  /// Local. Bytes that may wait on this rank, besides those that do.
  virtual Count room() const = 0;
  /// Local. Memory for what waits, which is used again.
  virtual std::unique_ptr<std::byte[]> take_memory(Count bytes) = 0;
  virtual void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept = 0;
};

/// What a dataset has waiting, that ranks have to agree on.
struct WaitingFacts {
  bool any = false;            ///< writes or definitions: the same on all ranks
  std::size_t operations = 0;  ///< the same on all ranks
  Count bytes = 0;             ///< memory that they take here
  Count numrecs = 0;
  bool numrecs_changed = false;
};

class Dataset;

/// What rank 0 asks for as it creates a file: its arguments, environment and configuration.
struct Asked;
/// Local, on all ranks or on none: a few values, of which a meeting makes maxima, of a file that
/// this rank has ready, rank 0 once it is made. What it throws on one rank all throw.
using Beside = std::function<std::span<std::int64_t>(Dataset& file)>;

/// Ranks have met, and nothing has failed since but this: they need not meet before they begin.
struct Met {
  std::optional<Error> failed = std::nullopt;
  std::shared_ptr<const Asked> asked = nullptr;  ///< known to all: rank 0 need not tell it
  /// Of a file that is created: goes into the meeting that tells of it, if it is called at all.
  Beside beside = {};
};

class Dataset {
 public:
  /// Collective. Creates (truncating, unless `no_clobber`: Errc::eexist) a file and enters define
  /// mode. `version` is 1, 2 or 5. Rank 0's arguments count. `hints` are the API-level hints
  /// (MPI_Info); environment and XML are read here. `may_be_later`: where the method wants it a
  /// thread makes the file, until write_with()'s others, or finish_making(), ask for it. Ends in a
  /// meeting, behind which nothing fails, as open() does.
  static std::unique_ptr<Dataset> create(Comm comm, const std::string& path, int version,
                                         bool no_clobber, const HintMap& hints,
                                         bool may_be_later = false, const Met* met = nullptr);
  /// Local, on rank 0: what create() would tell the others; and what it told a rank last, or null.
  /// Programs ask for the same again and again: where all have the same hash nothing need be told.
  static std::shared_ptr<const Asked> ask_to_create(const std::string& path, int version,
                                                    bool no_clobber, const HintMap& hints);
  static std::shared_ptr<const Asked> asked_last();
  static std::int64_t hash_of_asked(const Asked& asked);  ///< not negative
  /// Collective. Opens an existing file in collective data mode.
  static std::unique_ptr<Dataset> open(Comm comm, const std::string& path, bool writable,
                                       const HintMap& hints, const Met* met = nullptr);
  /// The same by a method that was chosen before, equal on all ranks.
  static std::unique_ptr<Dataset> create_by(Comm comm, const std::string& path, int version,
                                            bool no_clobber, const Method& method);
  static std::unique_ptr<Dataset> open_by(Comm comm, const std::string& path, bool writable,
                                          const Method& method);
  ~Dataset();  ///< releases memory and descriptors only; call close() or abort() first

  /// Collective. Ends define mode if need be, writes what is pending in the header, closes. Queued
  /// requests are cancelled and Errc::epending is thrown after the file has been closed properly.
  void close();
  /// Collective. Drops changes since redef, deletes a file that was never out of its first define
  /// mode.
  void abort();

  // -- schema (local unless said otherwise)
  // ------------------------------------------------------------------------
  const Schema& schema() const { return coarse_ ? coarse_->schema() : schema_; }
  const Comm& comm() const { return comm_; }
  const std::string& path() const { return path_; }
  const Method& method() const { return method_; }
  Mode mode() const { return mode_; }
  bool writable() const { return writable_; }
  bool in_define_mode() const { return mode_ == Mode::define; }
  const Variable& variable(VarId id) const;  ///< Errc::enotvar

  /// For front ends whose functions are collective, before the functions that follow are called:
  /// in safe mode, collective, all ranks hear of this rank's error, and of arguments that differ
  /// (agree_on_call). Ranks in different functions get Errc::emultidefine here, without waiting for
  /// each other again before enddef brings them together. `always`: without safe mode, too.
  void agree_on_call(std::string_view function, const std::optional<Error>& mine,
                     const SharedArguments& arguments, bool always = false);

  void check_dim(const std::string& name, Count length) const;  ///< throws what def_dim would
  DimId def_dim(const std::string& name, Count length);
  VarId def_var(const std::string& name, Type type, std::span<const DimId> dimids);
  /// A decomposition map: this rank's pieces of an array of fixed dimensions. Define mode; all
  /// ranks have called agree_on_call, always, or their numbers of maps would differ. Errors as
  /// those of flatten_varn, Errc::ebaddim, eunlimpos, einval without dimensions.
  std::shared_ptr<const Decomposition> make_decomposition(std::span<const DimId> dims,
                                                          const VarnPieces& pieces) const;
  int def_decomposition(std::shared_ptr<const Decomposition> map);
  /// A variable of these dimensions and then a map's; it is decomposed by layout, unless the method
  /// says otherwise.
  VarId def_var_by(const std::string& name, Type type, std::span<const DimId> leading, int map);
  /// Local. Errc::einval for what there is not.
  const Decomposition& decomposition(int id) const;
  /// Local. The same with this rank's pieces, which are read from the file where an earlier session
  /// defined it. Errc::einval also where they are not known, or other ranks' (as their number
  /// says).
  const Decomposition& own_decomposition(int id);
  /// Local. The same of the map that a variable was defined by.
  const Decomposition& decomposition_of(VarId var);
  /// In data mode the new name must not be longer (Errc::enotindefine) and the header is rewritten:
  /// collective then.
  void rename_dim(DimId id, const std::string& name);
  void rename_var(VarId id, const std::string& name);
  void rename_attribute(VarId owner, const std::string& name, const std::string& new_name);
  /// `value` holds count elements in external form. In data mode only what fits in place;
  /// collective then. Errc::elatefill for _FillValue of a variable from before redef, unless
  /// `copied`, as PnetCDF has it.
  void put_attribute(VarId owner, Attribute attribute, bool copied = false);
  void delete_attribute(VarId owner, const std::string& name);  ///< define mode only
  bool set_fill(bool fill);  ///< define mode; returns the former value
  void def_var_fill(VarId var, bool no_fill,
                    const void* fill_value);  ///< define mode; value in native form or null
  /// Define mode, before the variable has left its first one. Stores the variable in chunks of
  /// `shape` elements per dimension (records along the record dimension); longer than a dimension
  /// is as long as it. An empty shape leaves the choice to the first flush. Errc::einval for
  /// scalars and for shapes that cannot be (plan/chunk_shape.h).
  void set_chunk(VarId var, std::span<const Count> shape);
  /// The same for the codec pipeline (codec/pipeline.h); chunks the variable, unless it
  /// is to be decomposed.
  void set_filter(VarId var, const std::string& pipeline);

  /// Calls f(), which changes definitions. In data mode, where that rewrites the header,
  /// collective: if it fails on any rank, all ranks throw, and definitions are what they were.
  template <typename F>
  void change_definitions(F&& f) {
    if (in_define_mode()) return f();
    std::optional<Schema> before;
    const auto failed = attempt_together(comm_, [&] {
      before = schema_;
      comm_.meet();  // no rank changes anything before all can take it back
      f();
    });
    if (failed && before) schema_ = std::move(*before);
    if (failed) throw *failed;
  }

  // -- modes (collective)
  // ------------------------------------------------------------------------------------------
  void enddef(const EnddefArguments& arguments = {});
  void redef();
  void begin_independent();
  void end_independent();
  void sync();   ///< data and header reach the device
  void flush();  ///< staged data reaches the file
  /// Collective. Carries out what logs of a job that ended hold, and raises the number of records.
  /// Later sources win. Returns the writes whose data is damaged; they are left out. The stage is
  /// direct.
  std::vector<burst::LostWrite> replay(std::vector<burst::Source> sources, Count least_records);
  void sync_numrecs();
  void fill_record(VarId var, Count record);  ///< fill_var_rec

  // -- data
  // --------------------------------------------------------------------------------------------------------
  /// Blocking. If `collective`, all ranks call; a rank with an error of its own passes it as
  /// `local_error` with no requests, takes part, and gets it thrown at the end. Errc::erange is
  /// reported after data has moved.
  void execute(std::span<Request> requests, bool collective,
               std::optional<Error> local_error = std::nullopt);
  /// Queues a request and returns its id; not collective. `deferred` receives Errc::erange, if it
  /// happened.
  int post(Request request, Errc* deferred = nullptr);
  /// Completes requests. `ids` is read for Which::listed only: entries are set to -1 when done, and
  /// `statuses` (may be empty) gets a code per entry; Errc::einval_request for unknown ids.
  /// Collective if `collective`.
  void wait(Which which, std::span<int> ids, std::span<int> statuses, bool collective,
            std::optional<Error> local_error = std::nullopt);
  void cancel(Which which, std::span<int> ids, std::span<int> statuses);
  /// How many records a write may reach to: one bound for all variables and layouts, which recovery
  /// has, too, as all record variables get as many records.
  Count most_records(const Variable& var) const;
  /// How many coarser levels a variable has (Request::level): 0, but for those in patches.
  static int levels(const Variable& var);
  /// The distance between records in file types (vard): ncmpi_inq_recsize, in every layout.
  Count file_type_stride(const Variable& var) const;
  Count record_stride() const { return record_stride_; }
  /// Whether bytes of the file tell elements, as file types (vard) have it.
  bool has_fixed_places() const { return container_->has_fixed_places(); }
  /// Where varn and vard requests build and share their run lists.
  RunListPool& run_lists() { return pool_; }
  int pending() const { return static_cast<int>(queue_.size()); }
  bool has_pending(bool write) const;

  // -- buffered writes
  // ---------------------------------------------------------------------------------------------
  void attach_buffer(Count bytes);
  void detach_buffer();
  Count buffer_size() const;  ///< Errc::enullabuf when none is attached
  Count buffer_usage() const;

  // -- bundles (together.cc)
  // -----------------------------------------------------------------------------------------

  /// Local, the same on all ranks. False: the file is for reading, or its stage keeps what is
  /// written elsewhere.
  bool may_write_with_others() const;
  /// What a rank needs for write_with().
  struct Joining {
    std::unique_ptr<HoldingStage> stage;
    std::int64_t weak = 0;  ///< caches of its node: nodes may mount a folder in different ways
  };
  /// Local.
  Joining prepare_to_join();
  /// Collective, all ranks being prepared, with the largest `weak` of all. From here on collective
  /// writes wait, and the definitions of a new file with them, until `others` write them, or
  /// close(). `others` outlive the dataset, or it forgets them.
  /// `comm`: of the same ranks in the same order; a new file meets there from here on, as far as it
  /// can: the others have found out who is on which node, and communicators are few. It has no
  /// meeting where its ranks are known, and throws on all ranks or on none.
  void write_with(WritesTogether& others, const Comm& comm, Joining joining);
  void forget_others();  ///< local; the same on all ranks
  WritesTogether* others() const { return others_; }
  /// Local, the same on all ranks. `catch_up`, collective over these ranks, goes ahead of whatever
  /// may see what another opening of the file wrote: it throws on all ranks or on none.
  void follow(std::function<void()> catch_up) { catch_up_ = std::move(catch_up); }
  WaitingFacts waiting() const;
  /// Local. The file that what waits goes to, by its extents; null, on all ranks, where a layout or
  /// a transport does it otherwise.
  ByteFile* waiting_file();
  std::unique_ptr<ExtentStream> waiting_extents();
  /// Local, on one rank, behind the values: what makes them visible. `numrecs`: which all agree on.
  void publish_alone(Count numrecs);
  /// Local, on all ranks: all is in the file, or in a queue that somebody sees to.
  void handed_over(Count numrecs);
  /// Local, on all ranks, behind publish_alone() on one: so many records are visible.
  void published(Count numrecs);
  /// Local, on all ranks: what was handed over did not get there.
  void failed() { handed_over_ = false; }
  bool is_handed_over() const { return handed_over_; }
  /// Local. As the container has it: where renamed files are, and how they are known again; the
  /// queue that values go to.
  std::string place_now() { return container_->place_now(); }
  void moved(const std::string& path) { container_->moved(path_ = path); }
  void expect(std::uint64_t inode) { container_->expect(inode); }
  /// Those of the container; finish_making() is collective, and does what is left of them.
  bool is_being_made() const { return container_->is_being_made(); }
  FileNumber wait_until_made() { return container_->wait_until_made(); }
  void made() { container_->made(); }
  void finish_making();
  /// Collective over `comm`, of the ranks of all of `all`, which are in collective data mode. What
  /// wait(Which::all) does for each, with one agreement. The first error of all.
  static std::optional<Error> wait_for_all(const Comm& comm, std::span<Dataset* const> all);
  /// Collective. What waits is written, by this file's own means.
  void write_alone();
  /// Local, the same on all ranks. Whether a layout has what waits that writes several files as one
  /// operation.
  bool may_wait_for_layout();
  /// Local, the same on all ranks. Of some node: there ranks have to meet in this file, too.
  bool has_weak_caches() const { return weak_caches_; }
  /// Collective over `comm`, which has the ranks of these files in their order, and calls itself
  /// that of others_. What waits of such files is written and made visible. Returns of each 0, or
  /// the code of what kept it from that: its values are written. Throws on all ranks, and
  /// everything waits still. `closed`: no more follows.
  static std::vector<std::int64_t> write_by_layout(const Comm& comm,
                                                   std::span<Dataset* const> files,
                                                   const std::vector<bool>& closed, Report& report);
  /// Local, on all ranks: closes a file that has nothing waiting, and whose size is what it should
  /// be, behind written_together(). The caller brings errors together. Not where a report is
  /// wanted: that takes all ranks.
  bool may_close_alone() const { return method_.report.empty() && !numrecs_dirty_; }
  std::optional<Error> close_alone();
  /// Collective. Closes a file that is not wanted any more: what waits is not written. `removes`:
  /// one that has nothing else in it goes.
  void drop(bool removes);
  /// Local. A sentence for the report.
  void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }

  // -- facts
  // -------------------------------------------------------------------------------------------------------
  /// Bytes that this rank's requests moved since open, in the file's types and before any codec,
  /// whoever carried them to the file and when.
  Count put_bytes() const { return put_bytes_; }
  Count get_bytes() const { return got_bytes_; }
  const Report& report() const { return report_; }  ///< of what was done so far
  /// The method in force, as hint keys and values in the names that users set them by.
  HintMap hints_in_force() const;
  Offset header_size() const;  ///< bytes; in define mode of what is defined so far

 private:
  Dataset(Comm comm, std::string path, Method method);
  /// Collective: on all ranks or on none. `begin` sets the dataset, and whether it made the file,
  /// and returns whether its last step was a meeting behind which nothing fails.
  template <typename F>
  static std::unique_ptr<Dataset> start(const Comm& comm, const Met* met, F&& begin);
  static bool begin_new(std::unique_ptr<Dataset>& ds, const Comm& comm, const std::string& path,
                        int version, bool exclusive, Method method, bool logs, bool may_be_later,
                        bool& made, const Beside* beside);
  static void begin_old(std::unique_ptr<Dataset>& ds, const Comm& comm, const std::string& path,
                        bool writable, Method method, const std::string& found, bool logs);

  // dataset.cc
  void require_define() const;
  void catch_up() {
    if (catch_up_) catch_up_();
  }
  void require_data() const;
  void require_writable() const;
  void use_container();
  void agree(const std::optional<Error>& mine) const;
  void write_agreed_numrecs();  // collective
  // Collective. Whether all is done by then; the last step was a meeting, in that case.
  bool agree_on_schema(const EnddefArguments& arguments);

  // define.cc
  void header_changed();  // in data mode rewrites the definitions (collective)
  Variable& variable_to_store(VarId id);
  void agree_on_enddef(const EnddefArguments& arguments);  // collective in safe mode

  // dataset_staging.cc
  class Staging;
  const StageEntry& stage_entry() const;  // of the method
  void start_staging();                   // collective

  // dataset_data.cc
  void prepare(Request& request, bool copy, Errc& deferred);
  Errc put_range_error();
  void report_staged_range_error();
  Errc finish(Request& request, bool delivered);
  struct Operation;
  template <typename F>
  bool attempt(Operation& operation, bool collective, F&& f);
  void offer(std::vector<Request>& requests, Operation& operation);
  void submit(std::vector<Request>& requests, Operation& operation, bool known, bool collective);
  void carry_out(std::vector<Request>& requests, bool collective,
                 const std::optional<Error>& local_error);
  void note_records(Count last_record, bool collective, bool direct = false);
  std::vector<Request> take(Which which, std::span<int> ids, std::span<int> statuses,
                            std::vector<std::ptrdiff_t>& places);
  void take_listed(std::span<int> ids, std::span<int> statuses, std::vector<std::ptrdiff_t>& places,
                   std::vector<Request>& taken);

  Comm comm_;
  std::string path_;
  Method method_;
  Schema schema_;
  std::unique_ptr<CoarseView> coarse_;  // what is shown instead, with read_level
  std::optional<Schema> before_redef_;
  Mode mode_ = Mode::define;
  bool writable_ = true;
  bool created_ = false;  // never out of the first define mode yet
  bool parted_ = false;   // ranks called different functions in safe mode; the same on all
  bool changed_ = false;  // something was written since open
  bool apart_ = false;    // ranks have written by themselves: not all know alike what there is
  bool fill_ = false;
  Count record_stride_ = 0;     // of the definitions that the file has: see file_type_stride()
  bool handed_over_ = false;    // what waited is in a queue, and is not visible yet
  bool weak_caches_ = false;    // of a node that has a member of a bundle
  bool numrecs_dirty_ = false;  // this rank's count of records may differ from the file's
  Report report_;               // outlives container and stage, as what follows
  std::unique_ptr<WriteQueue> later_;  // where the stage wants one
  std::unique_ptr<Container> container_;
  std::unique_ptr<Staging> staging_;  // what the stage needs, of a file that is open for writing
  std::unique_ptr<Stage> stage_;
  HoldingStage* holding_ = nullptr;  // what stage_ is, once it is a bundle's
  WritesTogether* others_ = nullptr;
  std::function<void()> catch_up_;
  std::vector<std::string> remarks_;
  std::vector<Request> queue_;
  RunListPool pool_;
  std::uint64_t next_sequence_ = 0;
  int next_put_id_ = 0, next_get_id_ = 1;  // even: puts, odd: gets
  int pending_puts_ = 0, pending_gets_ = 0;
  std::optional<Count> attached_;
  Count attached_used_ = 0;
  Count put_bytes_ = 0, got_bytes_ = 0;
  bool staged_out_of_range_ = false;  // told by the next flush
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace forebay
