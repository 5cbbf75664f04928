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

/// Writes together what waits in several datasets (bundles/bundle.h).
class WritesTogether {
 public:
  virtual ~WritesTogether() = default;
  /// Collective. Writes to the files what waits in all of the datasets. What cannot be written in
  /// this way stays waiting. Throws if ranks disagree.
  virtual void write() = 0;
  /// Local. Returns how many more bytes may wait on this rank.
  virtual Count room() const = 0;
  /// Local. Returns memory for waiting writes; blocks that come back are used again.
  virtual std::unique_ptr<std::byte[]> take_memory(Count bytes) = 0;
  virtual void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept = 0;
};

/// Facts about a dataset's waiting writes, on which ranks have to agree.
struct WaitingFacts {
  bool any = false;            ///< writes or definitions wait: the same on all ranks
  std::size_t operations = 0;  ///< the same on all ranks
  Count bytes = 0;             ///< memory that waiting writes take on this rank
  Count numrecs = 0;
  bool numrecs_changed = false;
};

class Dataset;
struct FileAsMade;
struct NamedFile;

/// The request of rank 0 to create a file: its arguments, environment and configuration.
struct CreationRequest;
/// Returns a few values of a file; the collective step that creates the file computes their maxima
/// over all ranks. Local, called on all ranks or on none, when this rank has the file ready (rank
/// 0: when it is made). If it throws on one rank, all ranks throw.
using PiggybackFacts = std::function<std::span<std::int64_t>(Dataset& file)>;

/// Says that the ranks have just synchronised, and that nothing has failed since but `failed`. The
/// call that gets it need not synchronise before it begins.
struct PriorMeeting {
  std::optional<Error> failed = std::nullopt;
  std::shared_ptr<const CreationRequest> asked = nullptr;  ///< all ranks know it: no broadcast
  /// For a file that is created: its values join the collective step that creates the file. It may
  /// never be called.
  PiggybackFacts beside = {};
};

class Dataset {
 public:
  /// Collective. Creates a file and enters define mode. An existing file is truncated; with
  /// `no_clobber` it is Errc::eexist. `version` is 1, 2 or 5. Rank 0's arguments count. `hints` are
  /// the API-level hints (MPI_Info); environment and XML are read here. `may_be_later`: if the
  /// method wants it, a thread makes the file until the `others` of write_with(), or
  /// finish_making(), ask for it. Ends in a collective step after which nothing fails, as open()
  /// does.
  static std::unique_ptr<Dataset> create(Comm comm, const std::string& path, int version,
                                         bool no_clobber, const HintMap& hints,
                                         bool may_be_later = false,
                                         const PriorMeeting* met = nullptr);
  /// Local, on rank 0. Returns what create() would broadcast. last_creation_request() returns what
  /// was broadcast to this rank last, or null. Programs often ask for the same again; if all ranks
  /// have the same hash, nothing need be broadcast.
  static std::shared_ptr<const CreationRequest> creation_request(const std::string& path,
                                                                 int version, bool no_clobber,
                                                                 const HintMap& hints);
  static std::shared_ptr<const CreationRequest> last_creation_request();
  /// Returns a hash, not negative, of the request and of the file's place. The place is in rank 0's
  /// folder if the path is relative.
  static std::int64_t hash_of_request(const CreationRequest& asked, const std::string& path);
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

  // -- schema (local unless said otherwise)
  const Schema& schema() const { return coarse_ ? coarse_->schema() : schema_; }
  const Comm& comm() const { return comm_; }
  const std::string& path() const { return path_; }         ///< absolute, and equal on all ranks
  const std::string& given_path() const { return given_; }  ///< as the program gave it
  const Method& method() const { return method_; }
  Mode mode() const { return mode_; }
  bool writable() const { return writable_; }
  bool in_define_mode() const { return mode_ == Mode::define; }
  /// Local. Returns whether the file was closed because the program ended: nothing can be called
  /// any more.
  bool is_closed() const;
  const Variable& variable(VarId id) const;  ///< Errc::enotvar

  /// Front ends whose functions are collective call this before the functions that follow. In safe
  /// mode it is collective: this rank's error, and arguments that differ, reach all ranks
  /// (forebay::agree_on_call). Ranks in different functions get Errc::emultidefine here, and do not
  /// wait for each other again until enddef. `always`: collective without safe mode, too.
  void agree_on_call(std::string_view function, const std::optional<Error>& mine,
                     const SharedArguments& arguments, bool always = false);

  void check_dim(const std::string& name, Count length) const;  ///< throws what def_dim would
  DimId def_dim(const std::string& name, Count length);
  VarId def_var(const std::string& name, Type type, std::span<const DimId> dimids);
  /// Returns a decomposition map: this rank's pieces of an array of fixed dimensions. Define mode
  /// only. All ranks must have called agree_on_call with `always`; otherwise their numbers of maps
  /// would differ. Throws the errors of flatten_varn; also Errc::ebaddim, eunlimpos, and einval
  /// without dimensions.
  std::shared_ptr<const Decomposition> make_decomposition(std::span<const DimId> dims,
                                                          const VarnPieces& pieces) const;
  int def_decomposition(std::shared_ptr<const Decomposition> map);
  /// Defines a variable with the dimensions `leading` and then those of a map. Its layout is
  /// decomposed, unless the method says otherwise.
  VarId def_var_by(const std::string& name, Type type, std::span<const DimId> leading, int map);
  /// Local. Errc::einval: there is no such map.
  const Decomposition& decomposition(int id) const;
  /// Local. Returns the map with this rank's pieces, which are read from the file if an earlier
  /// session defined it. Errc::einval: the pieces are not known, or another number of ranks defined
  /// them.
  const Decomposition& own_decomposition(int id);
  /// Local. Returns the map by which a variable was defined, with this rank's pieces.
  const Decomposition& decomposition_of(VarId var);
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

  // -- modes (collective)
  void enddef(const EnddefArguments& arguments = {});
  void redef();
  void begin_independent();
  void end_independent();
  void sync();   ///< data and header reach the device
  void flush();  ///< staged data reaches the file
  /// Collective. Lets a recovery write to the layout, past the stage, which must be direct. There
  /// are at least `least_records` records when it begins.
  void write_past_stage(Count least_records,
                        const std::function<void(Layout& layout, Report& report)>& write);
  void sync_numrecs();
  void fill_record(VarId var, Count record);  ///< fill_var_rec

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
  void cancel(Which which, std::span<int> ids, std::span<int> statuses);
  /// Returns the largest number of records that a write may reach. One bound holds for all
  /// variables and layouts, and for recovery, because all record variables have equally many
  /// records.
  Count most_records(const Variable& var) const;
  /// Returns how many coarser levels a variable has (Request::level): 0 unless it is in patches.
  static int levels(const Variable& var);
  /// Returns the distance between records in file types (vard): ncmpi_inq_recsize, in every layout.
  Count file_type_stride(const Variable& var) const;
  Count record_stride() const { return record_stride_; }
  /// Returns whether a byte of the file identifies an element, as file types (vard) need.
  bool has_fixed_places() const { return container_->has_fixed_places(); }
  /// Where varn and vard requests build and share their run lists.
  RunListPool& run_lists() { return pool_; }
  int pending() const { return static_cast<int>(puts_.size() + gets_.size()); }

  // -- buffered writes
  void attach_buffer(Count bytes);
  void detach_buffer();
  Count buffer_size() const;  ///< Errc::enullabuf when none is attached
  Count buffer_usage() const;

  // -- bundles (together.cc)

  /// Local, the same on all ranks. Returns false if the file is read only, or if its stage keeps
  /// writes elsewhere.
  bool may_write_with_others() const;
  /// What a rank has to prepare for write_with().
  struct Joining {
    std::unique_ptr<HoldingStage> stage;
    std::int64_t weak = 0;  ///< this node's caches are weak; nodes may mount a folder differently
  };
  /// Local.
  Joining prepare_to_join();
  /// Collective; all ranks are prepared, and `weak` is the largest of all ranks. From now on
  /// collective writes wait until `others` or close() write them; so do the definitions of a new
  /// file. `others` must outlive the dataset, unless forget_others() is called.
  /// `comm` has the same ranks in the same order. A new file uses it from now on where it can,
  /// because its topology is known already and communicators are scarce. No collective step is
  /// needed if the topology is known. Throws on all ranks or on none.
  void write_with(WritesTogether& others, const Comm& comm, Joining joining);
  void forget_others();  ///< local; the same on all ranks
  WritesTogether* others() const { return others_; }
  /// Local, the same on all ranks. `catch_up` is collective over these ranks. It runs before every
  /// operation that may see what another opening of the file wrote, and throws on all ranks or on
  /// none.
  void follow(std::function<void()> catch_up) { catch_up_ = std::move(catch_up); }
  WaitingFacts waiting() const;
  /// Local. Returns the file to which the extents of the waiting writes go. Null, on all ranks, if
  /// a layout or a transport writes in another way.
  ByteFile* waiting_file();
  std::unique_ptr<ExtentStream> waiting_extents();
  /// Local, on one rank, after the values are written. Makes them visible. All ranks agree on
  /// `numrecs`.
  void publish_alone(Count numrecs);
  /// Local, on all ranks. Notes that all writes are in the file, or in a queue that somebody else
  /// completes.
  void handed_over(Count numrecs);
  /// Local, on all ranks, after publish_alone() on one rank. Notes that so many records are
  /// visible.
  void published(Count numrecs);
  /// Local, on all ranks. Notes that what was handed over did not reach the file.
  void failed() { handed_over_ = false; }
  bool is_handed_over() const { return handed_over_; }
  /// Local. These follow renamed files, as the container does.
  std::string place_now() { return container_->place_now(); }
  void moved(const std::string& path) { container_->moved(path_ = path); }
  /// These forward to the container. finish_making() is collective and completes what they left.
  bool is_being_made() const { return container_->is_being_made(); }
  FileIdentity wait_until_made() { return container_->wait_until_made(); }
  void made(const FileIdentity& file) { container_->made(file); }
  void finish_making() { container_->finish_making(); }
  /// Collective over `comm`, the ranks of all files in `all`, which are in collective data mode.
  /// Does for each file what wait(Which::all) does, with one agreement for all. Returns the first
  /// error.
  static std::optional<Error> wait_for_all(const Comm& comm, std::span<Dataset* const> all);
  /// Collective. Writes what waits by this file's own means.
  void write_alone();
  /// Local, the same on all ranks. Returns whether writes wait whose layout can write several files
  /// in one operation.
  bool may_wait_for_layout();
  /// Local, the same on all ranks. Returns whether some node has weak caches: then ranks also have
  /// to synchronise in this file.
  bool has_weak_caches() const { return weak_caches_; }
  /// Collective over `comm`, which has the ranks of these files in the same order and is the
  /// communicator of others_. Writes what waits in such files and makes it visible. Returns 0 for
  /// each file, or the code of what kept its written values from becoming visible. If it throws, it
  /// throws on all ranks, and everything still waits. `closed`: no more writes follow.
  static std::vector<std::int64_t> write_by_layout(const Comm& comm,
                                                   std::span<Dataset* const> files,
                                                   const std::vector<bool>& closed, Report& report);
  /// Local, on all ranks. Closes a file that has nothing waiting and whose size is right, after its
  /// writes were published. The caller combines the errors. Not allowed if a report is wanted,
  /// because a report takes all ranks.
  bool may_close_alone() const { return method_.report.empty() && !numrecs_dirty_; }
  std::optional<Error> close_alone();
  /// Collective. Closes a file that is not wanted any more: what waits is not written. `removes`:
  /// the file is deleted if it has no other contents.
  void drop(bool removes);
  /// Local. A sentence for the report.
  void remark(std::string sentence) { remarks_.push_back(std::move(sentence)); }

  // -- facts
  /// Bytes that this rank's requests moved since open, in the file's types and before any codec. It
  /// does not matter which rank wrote them, or when.
  Count put_bytes() const { return put_bytes_; }
  Count get_bytes() const { return got_bytes_; }
  const Report& report() const { return report_; }  ///< of what was done so far
  /// Returns the method in force as hint keys and values, under the names that users set.
  HintMap hints_in_force() const;
  Offset header_size() const;  ///< bytes; in define mode of what is defined so far

 private:
  Dataset(Comm comm, const NamedFile& name, Method method);
  /// Collective; succeeds on all ranks or on none. `begin` sets the dataset and says whether it
  /// made the file. It returns whether its last step was a collective one after which nothing
  /// fails.
  template <typename F>
  static std::unique_ptr<Dataset> start(const Comm& comm, const PriorMeeting* met, F&& begin);
  static bool begin_new(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
                        int version, bool exclusive, Method method, bool logs, bool may_be_later,
                        bool& made, const PiggybackFacts* beside);
  static void begin_old(std::unique_ptr<Dataset>& ds, const Comm& comm, const NamedFile& name,
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
  Count record_stride_ = 0;            // from the definitions in the file: see file_type_stride()
  bool handed_over_ = false;           // waiting writes are in a queue and not visible yet
  bool was_bundled_ = false;           // it has been a member of a bundle
  bool weak_caches_ = false;           // some rank's node has weak caches; for members of a bundle
  bool numrecs_dirty_ = false;         // this rank's count of records may differ from the file's
  Report report_;                      // outlives container and stage, like the next member
  std::unique_ptr<WriteQueue> later_;  // if the stage wants one
  std::unique_ptr<Container> container_;
  std::unique_ptr<Staging> staging_;  // the stage's host, for a file that is open for writing
  std::unique_ptr<Stage> stage_;
  HoldingStage* holding_ = nullptr;  // stage_ itself, once it is a bundle's
  WritesTogether* others_ = nullptr;
  std::function<void()> catch_up_;
  std::vector<std::string> remarks_;
  std::size_t found_vars_ = 0;      // number of variables when it was opened
  RequestQueue puts_{0}, gets_{1};  // even ids, and odd ones
  RunListPool pool_;
  std::uint64_t next_sequence_ = 0;
  std::optional<Count> attached_;
  Count attached_used_ = 0;
  Count put_bytes_ = 0, got_bytes_ = 0;
  std::optional<Error> staged_out_of_range_;  // reported by the next flush
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace forebay
