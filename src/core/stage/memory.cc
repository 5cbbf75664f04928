// Stage `memory`: collective writes are held in memory until there are enough of them, and are
// carried out as one operation. Stage `auto` does the same once the file is found to answer slowly,
// and is like `direct` before.
//
// Held writes reach the file when the dataset is synchronised, redefined, closed, read by all ranks
// or switched to independent mode. A killed process loses them. Errors are reported by the call
// that carries them out. If that fails, writes are kept for another attempt.
//
// If writes overlap, the later operation wins, as if nothing had been held. The layout orders the
// writes of one rank. If the transport finds that several ranks wrote the same bytes, all
// operations are carried out again, one after the other. If it cannot find out
// (ExtentIo::overlapped), only flushes order writes of different ranks, as in stage `burst`. An
// operation in which all ranks write the same elements (typically a time) is held on rank 0 alone,
// since it is undefined whose values win. If overlaps cannot be detected, that holds only for the
// first held operation: otherwise a rank's own writes would lose their order.
//
// Independent writes to chunks wait in the layout for the next collective step, since a chunk has
// one owner. For a member of a shared stage whose variables all belong to a joint layout they are
// held here instead, and become one operation then, which waits for the other members' like any
// other. An independent read of the rank passes them on to the layout, which shows it what waits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/layout.h"
#include "method/method.h"
#include "stage/shared_stage.h"

namespace forebay {

namespace {

// If a rank has more data than this in an operation, its own system calls are worthwhile.
constexpr Count large_operation = 2 << 20;

class MemoryStage : public HoldingStage {
 public:
  enum class When { slow, always };

  /// `shared`: for a member of a shared stage, else null.
  MemoryStage(const StageSite& site, When when, SharedStage* shared = nullptr)
      : site_(site),
        layout_(&site.layout),
        always_(when == When::always),
        shared_(shared),
        limit_(std::max<Count>(site.method.buffer_limit / 4, 1)) {}

  StageNeeds offer(std::span<const Request> writes, std::span<const Request> /*reads*/) override {
    StageNeeds needs;
    drop_unagreed();
    note_records();
    records_ = site_.schema.numrecs;
    holds_ = !alone_ && (always_ || (!gave_up_ && layout_->answers_slowly()));
    if (!holds_) return needs;
    bool held = false;
    attempt_to([&] { held = hold(writes); });
    needs.direct = !held;
    needs.flush = !shared_ && bytes_ >= limit_;
    needs.alike = hash_of(writes);
    needs.unlike = largest_hash - needs.alike;
    return needs;
  }

  std::optional<Foreseen> foresee(std::span<const Request> requests) const override {
    const bool at_once = !shared_ && !holds_ && !holds_writes();
    return at_once ? layout_->foresee(requests) : std::nullopt;
  }

  void submit(std::span<Request> requests, bool write, bool collective,
              const StageNeeds& needs) override {
    if (needs.foreseen) {
      drop_unagreed();
      return layout_->carry_out_foreseen(requests, write, *needs.foreseen);
    }
    if (!collective) return submit_alone(requests, write);
    if (!write) {
      carry_out_held();
      return layout_->carry_out(requests, false, true);
    }
    if (holds_ && !needs.direct) {
      // A rank with earlier held writes must hold this one as well, unless overlaps are detected.
      const bool once = ends_.empty() || layout_->sees_overlaps();
      const bool alike = needs.alike + needs.unlike == largest_hash;
      if (once && alike && !site_.comm.is_root()) drop_unagreed();
      if (needs.flush)
        carry_out_held(records_);  // if it fails, this operation has failed as well and is dropped
      ends_.push_back({requests_.size()});  // cannot fail: there is room
      ++held_operations_;
      return;
    }
    drop_unagreed();
    carry_out_held(records_);
    layout_->carry_out(requests, true, true);
  }

  void flush(bool collective) override {
    if (!collective) return;
    if (holds_alone_) join_alone();
    carry_out_held();
    layout_->flush();
  }
  bool may_be_behind() const override { return holds_writes() || layout_->may_be_behind(); }
  void begin_alone() override {
    if (shared_ != nullptr) {
      const Layout::ForJoint joint = layout_->for_joint({});  // which needs no memory
      holds_alone_ = joint.layout && !joint.any_others;
    }
    if (!holds_alone_ || holds_writes()) carry_out_held();
    alone_ = true;
  }
  void before_header() override { carry_out_held(); }
  void end_alone() override {
    const auto failed = attempt_to([&] { holds_alone_ ? join_alone() : layout_->flush(); });
    alone_ = holds_alone_ = false;  // collective writes follow
    if (failed) throw *failed;
  }
  bool holds_writes() const override { return !ends_.empty(); }
  void use(Layout& layout) override { layout_ = &layout; }
  void close(bool /*drop*/) override { clear(); }

  std::span<Request> held() override { return std::span(requests_).first(agreed()); }
  std::span<Request> held(std::size_t operation) override {
    const std::size_t begin = operation == 0 ? 0 : ends_[operation - 1].requests;
    return held().subspan(begin, ends_[operation].requests - begin);
  }
  std::size_t operations() const override { return ends_.size(); }
  Count records(std::size_t operation) const override {
    const Count known = ends_[operation].records;
    return std::max(known < 0 ? site_.schema.numrecs : known, told_);
  }
  void told(Count records) override { told_ = std::max(told_, records); }
  Count held_bytes() const override { return bytes_; }
  void forget_held() override {
    if (!ends_.empty()) ++by_others_;
    let_go_of_held();
  }

  std::string reasons() const override {
    if (held_operations_ == 0) return {};
    if (shared_)
      return fmt::format(
          "bundle: {} collective writes waited, carried out together with other files' {} times, "
          "and with each other alone {} times",
          held_operations_, by_others_, flushes_);
    return fmt::format("memory: {} collective writes waited, carried out together {} times{}",
                       held_operations_, flushes_,
                       gave_up_ ? "; no more of them since ranks wrote the same bytes" : "");
  }

 private:
  void let_go_of_held() {
    for (Request& r : held()) let_go(r);
    requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(agreed()));
    ends_.clear();
  }
  std::size_t agreed() const { return ends_.empty() ? 0 : ends_.back().requests; }

  // Local, in independent mode. Holds writes, or passes them on behind those that are held.
  void submit_alone(std::span<Request> requests, bool write) {
    bool held = false;
    if (write && holds_alone_) attempt_to([&] { held = hold(requests); });
    if (held) {
      alone_requests_ = requests_.size() - agreed();
      return;
    }
    drop_unagreed();
    pass_on_alone();
    layout_->carry_out(requests, write, false);
    passed_on_ = passed_on_ || (write && holds_alone_);
  }
  // Local. Those for which the layout lacks memory are still held, with all behind them; one that
  // it refuses is dropped with its error.
  void pass_on_alone() {
    if (alone_requests_ == 0) return;
    passed_on_ = true;
    const auto first = requests_.begin() + static_cast<std::ptrdiff_t>(agreed());
    const auto end = first + static_cast<std::ptrdiff_t>(alone_requests_);
    auto at = first;
    std::optional<Error> failed;
    while (at != end && !failed) {
      failed = attempt_to([&] { layout_->carry_out(std::span(&*at, 1), true, false); });
      if (!failed || failed->code() != Errc::enomem) ++at;
    }
    std::for_each(first, at, [&](Request& r) { let_go(r); });
    alone_requests_ -= static_cast<std::size_t>(at - first);
    requests_.erase(first, at);
    if (failed) throw *failed;
  }
  // Collective. What ranks hold of independent writes becomes one operation. What they have passed
  // on comes before it, and needs the definitions, which may wait.
  void join_alone() {
    std::array<std::int64_t, 3> all{alone_requests_ > 0, passed_on_, site_.schema.numrecs};
    agree_on_error(site_.comm, attempt_to([&] { ends_.reserve(ends_.size() + 1); }), all,
                   Reduce::max);
    site_.schema.numrecs = all[2];
    std::optional<Error> failed;
    if (all[1] != 0) {
      passed_on_ = false;
      holds_alone_ = false;  // the shared stage may call flush()
      failed = attempt_to([&] {
        carry_out_held();
        layout_->flush();
        site_.host.write_agreed_numrecs();
      });
      holds_alone_ = true;
    }
    if (all[0] != 0) {  // they keep their place before later writes, whatever failed
      note_records();
      ends_.push_back({agreed() + std::exchange(alone_requests_, 0), site_.schema.numrecs});
      ++held_operations_;
    }
    if (failed) throw *failed;
  }

  // Between operations, the schema counts the records of held operations and no others.
  void note_records() {
    if (!ends_.empty() && ends_.back().records < 0) ends_.back().records = site_.schema.numrecs;
  }
  // Drops the requests of an operation that is not held after all.
  void drop_unagreed() {
    for (; requests_.size() > agreed() + alone_requests_; requests_.pop_back())
      let_go(requests_.back());
  }
  void let_go(Request& r) {
    bytes_ -= held_bytes(r);
    if (shared_) shared_->give_memory(std::move(r.staging), data_bytes(r));
  }
  static Count data_bytes(const Request& r) {
    return std::max<Count>(r.elements * r.element_size, 1);
  }

  static constexpr std::int64_t largest_hash = std::int64_t{1} << 62;

  // Equal for equal elements. Run lists are not compared.
  std::int64_t hash_of(std::span<const Request> writes) const {
    std::uint64_t hash = 0;
    const auto add = [&](std::uint64_t value) {
      hash = (hash ^ value) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    };
    for (const Request& r : writes) {
      const auto* box = std::get_if<Subarray>(&r.selection);
      if (!box) return site_.comm.rank();
      add(static_cast<std::uint64_t>(r.var) + 1);
      for (const auto* list : {&box->start, &box->count, &box->stride})
        for (const Count n : *list) add(static_cast<std::uint64_t>(n) + 1);
    }
    return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(largest_hash));
  }

  static Count held_bytes(const Request& r) {
    Count bytes = r.elements * r.element_size + static_cast<Count>(sizeof(Request));
    if (const auto* runs = std::get_if<Runs>(&r.selection)) {  // others may share the list
      bytes += static_cast<Count>(runs->list->runs.size() * sizeof(Run) +
                                  runs->list->memory.size() * sizeof(Offset));
    } else {
      const auto& box = std::get<Subarray>(r.selection);
      bytes += static_cast<Count>(box.start.memory_bytes() + box.count.memory_bytes() +
                                  box.stride.memory_bytes());
    }
    return bytes;
  }

  std::unique_ptr<std::byte[]> take_memory(Count bytes) {
    return shared_ ? shared_->take_memory(bytes)
                   : std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  }

  bool hold(std::span<const Request> writes) {
    Count bytes = 0;
    for (const Request& r : writes) bytes += held_bytes(r);
    if (shared_ ? bytes > shared_->room()
                : bytes > std::min(limit_, large_operation) || bytes_ + bytes > 2 * limit_)
      return false;
    StepTimer timer(site_.report, Step::stage);
    ends_.reserve(ends_.size() + 1);
    for (const Request& r : writes) {
      Request held = r.for_layout();
      held.sequence = next_++;  // a later operation may contain a request that was posted earlier
      const auto size = static_cast<std::size_t>(r.elements * r.element_size);
      held.staging = take_memory(data_bytes(r));
      if (size > 0) std::memcpy(held.staging.get(), r.packed, size);
      held.packed = held.staging.get();
      requests_.push_back(std::move(held));
      bytes_ += held_bytes(requests_.back());
    }
    return true;
  }

  // Collective. All ranks hold parts of the same operations, so they have the same steps.
  void carry_out_held() { carry_out_held(site_.schema.numrecs); }
  // The schema may already count the records of a following operation; these are not published yet.
  void carry_out_held(Count records) {
    struct InTheEnd {
      Schema& schema;
      Count now = schema.numrecs;
      ~InTheEnd() { schema.numrecs = std::max(schema.numrecs, now); }
    } const in_the_end{site_.schema};
    site_.schema.numrecs = records;
    note_records();
    if (shared_) shared_->write();
    if (!holds_writes()) return;
    refused_.reset();
    together(site_.comm, [&] {
      const bool blind = shared_ && ends_.size() > 1 && !looks_for_overlaps();
      if (!blind) carry_out(held(), ends_.size() - 1);
      // If the file has become fast meanwhile, overlaps were not detected; also for a member of a
      // shared stage.
      const bool watched = (always_ && !shared_) || layout_->sees_overlaps();
      gave_up_ = gave_up_ || (!always_ && watched && layout_->overlapped());
      if ((blind || layout_->overlapped() || !watched) && ends_.size() > 1) carry_out_in_turn();
      layout_->flush();
      site_.host.write_agreed_numrecs();
    });
    ++flushes_;
    ++site_.report[Counter::flushes];
    let_go_of_held();
    agree_on_error(site_.comm, refused_);
  }

  // A member of a shared stage may be a file for which overlaps are never detected. They are not
  // detected either if pieces are so large that each rank writes its own.
  bool looks_for_overlaps() const {
    if (!layout_->sees_overlaps()) return false;
    return site_.comm.all_reduce(bytes_ > large_operation, Reduce::max) == 0;
  }

  // An error that only concerns this rank is thrown when all is done.
  void carry_out(std::span<Request> requests, std::size_t last) {
    site_.schema.numrecs = records(last);
    auto failed = attempt_to([&] { layout_->carry_out(requests, true, true); });
    if (failed && !failed->is_own_matter()) throw *failed;
    keep_first(refused_, std::move(failed));
    told(site_.schema.numrecs);
  }

  // A program with such writes would pay for that at each flush, so it stops holding them.
  void carry_out_in_turn() {
    const std::span<Request> all = held();
    std::sort(all.begin(), all.end(),
              [](const Request& a, const Request& b) { return a.sequence < b.sequence; });
    for (std::size_t i = 0; i < ends_.size(); ++i) carry_out(held(i), i);
  }

  void clear() {
    requests_.clear();
    ends_.clear();
    alone_requests_ = 0;
    bytes_ = 0;
  }

  StageSite site_;
  Layout* layout_;
  bool always_;
  SharedStage* shared_;
  Count limit_;
  bool alone_ = false, gave_up_ = false;
  bool holds_ = false;        // the current operation may be held
  bool holds_alone_ = false;  // independent writes are held; equal on all ranks
  bool passed_on_ = false;    // this rank has passed some of them on to the layout
  // In the order of calls; each owns its data. Behind those of held operations are as many
  // independent writes, then those of the current operation.
  std::vector<Request> requests_;
  std::size_t alone_requests_ = 0;
  struct End {
    std::size_t requests;  // on this rank, including earlier operations
    Count records = -1;    // of the file by then; may be unknown for the last operation
  };
  std::vector<End> ends_;  // the end of each held operation; their number is equal on all ranks
  Count records_ = 0;      // before the current operation
  Count told_ = 0;         // the published number of records
  Count bytes_ = 0;
  std::optional<Error> refused_;
  std::uint64_t next_ = 0;
  std::int64_t held_operations_ = 0, flushes_ = 0, by_others_ = 0;
};

}  // namespace

std::unique_ptr<HoldingStage> make_holding_stage(const StageSite& site, SharedStage& shared) {
  return std::make_unique<MemoryStage>(site, MemoryStage::When::always, &shared);
}

extern const StageEntry auto_stage{
    {"auto", "direct, or memory where the file system answers slowly", 0},
    [](const StageSite& site) -> std::unique_ptr<Stage> {
      return std::make_unique<MemoryStage>(site, MemoryStage::When::slow);
    },
    false,
    false,
    false,
    true};

extern const StageEntry memory_stage{
    {"memory",
     "kept in memory until there is much of it, and handed over as one operation",
     15,
     {},
     written_as_netcdf},
    [](const StageSite& site) -> std::unique_ptr<Stage> {
      return std::make_unique<MemoryStage>(site, MemoryStage::When::always);
    },
    true,
    false,
    false,
    true};

}  // namespace forebay
