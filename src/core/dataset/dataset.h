// Dataset: a schema, a queue of requests, and the file they belong to. Every front end uses this
// class.
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
#include "dataset/attached_buffer.h"
#include "dataset/consistency.h"
#include "dataset/request_queue.h"
#include "layout/file_view.h"
#include "layout/layout.h"
#include "method/method.h"
#include "stage/stage.h"
#include "storage/write_queue.h"

namespace forebay {

enum class Mode { define, collective, independent };

enum class Which { listed, all, puts, gets };  ///< which queued requests a wait or cancel is about

class StageMember;
struct FileAsMade;
struct NamedFile;
struct PriorMeeting;

/// Bytes that this rank's requests moved since open, in the file's types and before any codec. It
/// does not matter which rank wrote them, or when.
struct MovedBytes {
  Count put = 0, got = 0;
};

/// Returns how many coarser levels a variable has (Request::level): 0 unless it is in patches.
int coarser_levels(const Variable& var);

class Dataset {
 public:
  // -- files

  /// Collective. Creates a file and enters define mode. An existing file is truncated; with
  /// `no_clobber` it is Errc::eexist. `version` is 1, 2 or 5. Rank 0's arguments count. `hints` are
  /// the API-level hints (MPI_Info); environment and XML are read here. `may_be_later`: if the
  /// method wants it, a thread makes the file until something asks for it
  /// (JointContainer::finish_making). `met`: see dataset/opening.h. Ends in a collective step after
  /// which nothing fails, as open() does.
  static std::unique_ptr<Dataset> create(Comm comm, const std::string& path, int version,
                                         bool no_clobber, const HintMap& hints,
                                         bool may_be_later = false,
                                         const PriorMeeting* met = nullptr);
  /// Collective. Opens an existing file in collective data mode.
  static std::unique_ptr<Dataset> open(Comm comm, const std::string& path, bool writable,
                                       const HintMap& hints, const PriorMeeting* met = nullptr);
  /// Like create() and open(), with a method that was chosen before. The method and the absolute
  /// path are equal on all ranks.
  static std::unique_ptr<Dataset> create_by(Comm comm, const std::string& path, int version,
                                            bool no_clobber, const Method& method);
  static std::unique_ptr<Dataset> open_by(Comm comm, const std::string& path, bool writable,
                                          const Method& method);
  ~Dataset();  ///< releases memory and descriptors only; call close() or abort() first

  /// Collective. Ends define mode if needed, writes what is pending in the header, and closes the
  /// file. Queued requests are cancelled; then Errc::epending is thrown, after the file has been
  /// closed properly.
  void close();
  /// Collective. Drops the changes since redef. Deletes a file that never left its first define
  /// mode.
  void abort();
  /// Local. Returns whether the file was closed because the program ended: nothing can be called
  /// any more.
  bool is_closed() const;

  // -- definitions (local unless said otherwise)

  const Schema& schema() const { return coarse_ ? coarse_->schema() : schema_; }
  const Variable& variable(VarId id) const;  ///< Errc::enotvar
  /// Front ends whose functions are collective call this before the functions that follow. In safe
  /// mode it is collective: this rank's error, and arguments that differ, reach all ranks
  /// (forebay::agree_on_call). Ranks in different functions get Errc::emultidefine here, and do not
  /// wait for each other again until enddef. `always`: collective without safe mode, too.
  void agree_on_call(std::string_view function, const std::optional<Error>& mine,
                     const SharedArguments& arguments, bool always = false);
  /// Calls f(), which changes definitions. In data mode this rewrites the header and is collective:
  /// if it fails on any rank, all ranks throw, and the definitions are as before.
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

  void check_dim(const std::string& name, Count length) const;  ///< throws what def_dim would
  DimId def_dim(const std::string& name, Count length);
  VarId def_var(const std::string& name, Type type, std::span<const DimId> dimids);
  /// Adds a decomposition map (dataset/decompositions.h) and returns its id. Define mode only. All
  /// ranks must have called agree_on_call with `always`; otherwise their numbers of maps would
  /// differ.
  int def_decomposition(std::shared_ptr<const Decomposition> map);
  /// Defines a variable with the dimensions `leading` and then those of a map. Its layout is
  /// decomposed, unless the method says otherwise.
  VarId def_var_by(const std::string& name, Type type, std::span<const DimId> leading, int map);
  /// Local. Returns the map with this rank's pieces, which are read from the file if an earlier
  /// session defined it. Errc::einval: the pieces are not known, or another number of ranks defined
  /// them.
  const Decomposition& own_decomposition(int id);
  /// In data mode the new name must not be longer (Errc::enotindefine). The header is rewritten, so
  /// the call is collective then.
  void rename_dim(DimId id, const std::string& name);
  void rename_var(VarId id, const std::string& name);
  void rename_attribute(VarId owner, const std::string& name, const std::string& new_name);
  /// `value` holds count elements in external form. In data mode it must fit in place, and the call
  /// is collective. Errc::elatefill: _FillValue of a variable from before redef, unless `copied`,
  /// as in PnetCDF.
  void put_attribute(VarId owner, Attribute attribute, bool copied = false);
  void delete_attribute(VarId owner, const std::string& name);  ///< define mode only
  bool set_fill(bool fill);  ///< define mode; returns the former value
  void def_var_fill(VarId var, bool no_fill,
                    const void* fill_value);  ///< define mode; value in native form or null
  /// Stores the variable in chunks of `shape` elements per dimension (records along the record
  /// dimension). Define mode only, and only before the first enddef after the variable's
  /// definition. A length greater than the dimension's counts as the dimension's. An empty shape
  /// leaves the choice to the first flush. Errc::einval: the variable is a scalar, or the shape is
  /// impossible (plan/chunk_shape.h).
  void set_chunk(VarId var, std::span<const Count> shape);
  /// Sets the codec pipeline (codec/pipeline.h) under the same conditions. Chunks the variable,
  /// unless it is to be decomposed.
  void set_filter(VarId var, const std::string& pipeline);

  // -- modes (collective, but for what is const)

  Mode mode() const { return mode_; }
  bool in_define_mode() const { return mode_ == Mode::define; }
  void enddef(const EnddefArguments& arguments = {});
  void redef();
  void begin_independent();
  void end_independent();
  void sync();   ///< data and header reach the device
  void flush();  ///< staged data reaches the file, and who opens it finds it
  void sync_numrecs();
  /// Local, the same on all ranks. `hook` is collective over these ranks. It runs before every
  /// operation that may see what another opening of the file wrote, and throws on all ranks or on
  /// none.
  void before_operations(std::function<void()> hook) { before_operations_ = std::move(hook); }

  // -- data

  /// Blocking. If `collective`, all ranks call. A rank with an error of its own passes it as
  /// `local_error` with no requests; it takes part and gets the error thrown at the end.
  /// Errc::erange is reported after the data has moved.
  void execute(std::span<Request> requests, bool collective,
               std::optional<Error> local_error = std::nullopt);
  /// Local. Queues a request and returns its id. `deferred` receives Errc::erange if it happened.
  int post(Request&& request, std::optional<Error>* deferred = nullptr);
  /// Completes requests. `ids` is read for Which::listed only: entries are set to -1 when done.
  /// `statuses` gets a code per entry, or may be empty. Errc::einval_request: an id is unknown.
  /// Collective if `collective`.
  void wait(Which which, std::span<int> ids, std::span<int> statuses, bool collective,
            std::optional<Error> local_error = std::nullopt);
  /// Collective over `comm`, the ranks of all files in `all`, which are in collective data mode.
  /// Does for each file what wait(Which::all) does, with one agreement for all. Returns the first
  /// error.
  static std::optional<Error> wait_for_all(const Comm& comm, std::span<Dataset* const> all);
  void cancel(Which which, std::span<int> ids, std::span<int> statuses);
  int pending() const { return static_cast<int>(puts_.size() + gets_.size()); }
  void fill_record(VarId var, Count record);  ///< collective: fill_var_rec
  /// Collective. Lets a recovery write to the layout, past the stage, which must be direct. There
  /// are at least `least_records` records when it begins.
  void write_past_stage(Count least_records,
                        const std::function<void(Layout& layout, Report& report)>& write);

  // -- buffers

  AttachedBuffer& buffer() { return buffer_; }  ///< of buffered writes
  /// Where varn and vard requests build and share their run lists.
  RunListPool& run_lists() { return pool_; }

  // -- facts (local)

  const Comm& comm() const { return comm_; }
  const std::string& path() const { return path_; }         ///< absolute, and equal on all ranks
  const std::string& given_path() const { return given_; }  ///< as the program gave it
  const Method& method() const { return method_; }  ///< in force; to_hints() has it as hints
  bool writable() const { return writable_; }
  Offset header_size() const;  ///< bytes; in define mode of what is defined so far
  Count record_stride() const { return record_stride_; }  ///< see dataset/records.h
  /// Returns whether a byte of the file identifies an element, as file types (vard) need.
  bool has_fixed_places() const { return container_->has_fixed_places(); }
  const MovedBytes& moved() const { return moved_; }
  const Report& report() const { return report_; }  ///< of what was done so far
  void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }  ///< for it
  /// Returns the file as the member of a stage that it may share with others
  /// (dataset/stage_member.h). Null, the same on all ranks: it is read only, or its container
  /// cannot.
  StageMember* as_member() const { return member_.get(); }

 private:
  Dataset(Comm comm, const NamedFile& name, Method method);
  /// Collective; succeeds on all ranks or on none. `begin` sets the dataset and says whether it
  /// made the file. It returns whether its last step was a collective one after which nothing
  /// fails.
  template <typename F>
  static std::unique_ptr<Dataset> start(const Comm& comm, const PriorMeeting* met, F&& begin);
  static bool begin_new(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
                        int version, bool exclusive, Method method, bool logs, bool may_be_later,
                        bool& made, const PriorMeeting* met);
  static void begin_old(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
                        bool writable, Method method, const std::string& found, bool logs);

  // dataset.cc
  void require_define() const;
  void before_operation() {
    if (before_operations_) before_operations_();
  }
  bool writes_wait() const;  // in the stage, or handed over and not visible yet
  bool definitions_wait() const;
  void require_data() const;
  void require_writable() const;
  void use_container();
  void agree(const std::optional<Error>& mine) const;
  void write_agreed_numrecs();  // collective
  FileAsMade as_made();         // collective
  // Collective. Returns whether all work is done; then the last step was a collective one.
  bool agree_on_schema(const EnddefArguments& arguments);

  // define.cc
  void header_changed();  // rewrites the definitions in data mode (collective)
  Variable& variable_to_store(VarId id);
  void agree_on_enddef(const EnddefArguments& arguments);  // collective in safe mode

  // dataset_staging.cc
  class Staging;
  const StageEntry& stage_entry() const;  // the method's stage
  void start_staging();                   // collective

  // dataset_data.cc
  void prepare(Request& request, bool copy, std::optional<Error>& deferred);
  void report_staged_range_error();
  std::optional<Error> finish(Request& request, bool delivered);
  struct Operation;
  template <typename F>
  bool attempt(Operation& operation, bool collective, F&& f);
  void offer(Operation& operation);
  void submit(Operation& operation, bool known, bool collective);
  void carry_out(Operation& operation, bool collective, const std::optional<Error>& local_error);
  void note_records(Count last_record, bool collective, bool direct = false);
  void take(Which which, std::span<int> ids, std::span<int> statuses, Operation& to,
            std::optional<Error>* refused = nullptr);
  std::optional<Error> take_listed(std::span<int> ids, std::span<int> statuses, Operation& to,
                                   bool some);

  Comm comm_;
  std::string given_, path_;
  Method method_;
  Schema schema_;
  std::unique_ptr<FileView> coarse_;  // shown instead of schema_, if hints ask for it
  std::optional<Schema> before_redef_;
  Mode mode_ = Mode::define;
  bool writable_ = true;
  bool created_ = false;    // it has never left its first define mode
  bool was_there_ = false;  // opened, not created
  bool parted_ = false;     // ranks called different functions in safe mode; the same on all
  bool changed_ = false;    // something was written since open
  bool apart_ = false;      // ranks wrote independently: what they know of the file may differ
  bool fill_ = false;
  Count record_stride_ = 0;            // from the definitions in the file
  bool numrecs_dirty_ = false;         // this rank's count of records may differ from the file's
  Report report_;                      // outlives container and stage, like the next member
  std::unique_ptr<WriteQueue> later_;  // if the stage wants one
  std::unique_ptr<Container> container_;
  std::unique_ptr<Staging> staging_;  // the stage's host, for a file that is open for writing
  std::unique_ptr<StageMember> member_;
  std::unique_ptr<Stage> stage_;
  std::function<void()> before_operations_;
  std::vector<std::string> remarks_;
  std::size_t found_vars_ = 0;      // number of variables when it was opened
  RequestQueue puts_{0}, gets_{1};  // even ids, and odd ones
  RunListPool pool_;
  std::uint64_t next_sequence_ = 0;
  AttachedBuffer buffer_;
  MovedBytes moved_;
  std::optional<Error> staged_out_of_range_;  // reported by the next flush
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace forebay
