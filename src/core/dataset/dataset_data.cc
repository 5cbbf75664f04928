// How requests are prepared, queued, carried out together, and finished.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "array/convert.h"
#include "array/out_of_range.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "dataset/dataset.h"

namespace forebay {

namespace {

/// Copies between contiguous elements and elements placed by an imap (netCDF's varm), in selection
/// order. `gather`: from mapped to packed; otherwise the other way.
void map_elements(const Subarray& sub, const Counts& imap, std::byte* mapped, std::byte* packed,
                  int width, bool gather) {
  const std::size_t n = sub.count.size();
  const Count total = sub.elements();
  std::vector<Count> index(n, 0);
  Count at = 0;  // in elements, within `mapped`
  for (Count i = 0; i < total; ++i, packed += width) {
    std::byte* there = mapped + at * width;
    gather ? std::memcpy(packed, there, static_cast<std::size_t>(width))
           : std::memcpy(there, packed, static_cast<std::size_t>(width));
    for (std::size_t d = n; d-- > 0;) {
      at += imap[d];
      if (++index[d] < sub.count[d]) break;
      at -= imap[d] * sub.count[d];
      index[d] = 0;
    }
  }
}

/// Stores the variable's _FillValue in native order in `value`. Returns null if there is none of
/// the right type.
const std::byte* own_fill(const Variable& var, Type external, std::byte* value) {
  const Attribute* own = own_fill_value(var, external);
  if (!own) return nullptr;
  const auto width = static_cast<std::size_t>(size_of(external));
  copy_swapped(value, own->value.data(), width, static_cast<int>(width));
  return value;
}

std::unique_ptr<std::byte[]> allocate(Count bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(
      static_cast<std::size_t>(std::max<Count>(bytes, 1)));
}

/// Posted writes of up to so many bytes are copied. PnetCDF does so, and programs rely on it,
/// though it promises nothing.
constexpr Count small_put = 4096;

}  // namespace

// Data that needs no conversion stays in the caller's memory and is byte-swapped on its way. Other
// data is converted, gathered or (bput) copied into staging memory here.
void Dataset::prepare(Request& r, bool copy, std::optional<Error>& deferred) {
  const Variable& var = variable(r.var);
  r.sequence = next_sequence_++;
  r.element_size = size_of(var.type);
  if (coarse_) coarse_->translate(r);

  const Memory& memory = r.memory;
  const Type external = external_for(var.type, memory.type, schema_.version);
  const bool plain = is_plain_copy(external, memory.type);
  const bool mapped = r.is_mapped();
  const Count bytes = r.elements * r.element_size;
  if (plain && !mapped && !r.buffered && !copy) {
    r.packed = memory.data;
    r.swap = r.element_size;
    return;
  }
  r.staging = allocate(bytes);
  r.packed = r.staging.get();
  if (!r.write) return;
  std::byte* from = memory.data;
  std::unique_ptr<std::byte[]> gathered;
  if (mapped) {
    const int width = size_of(memory.type);
    if (!plain) gathered = allocate(r.elements * width);
    std::byte* to = plain ? r.packed : gathered.get();
    map_elements(std::get<Subarray>(r.selection), r.extras->imap, from, to, width, true);
    from = to;
  }
  if (plain) {
    if (!mapped && bytes > 0) std::memcpy(r.packed, from, static_cast<std::size_t>(bytes));
    r.swap = r.element_size;
  } else {
    std::byte fill[8];
    if (to_external(external, r.packed, memory.type, from, r.elements,
                    own_fill(var, external, fill))) {
      // PnetCDF's burst buffer converts when it flushes, so its error comes then.
      keep_first(stage_entry().converts_late ? staged_out_of_range_ : deferred,
                 out_of_range({true, external, memory.type, from, r.elements}, var, r));
    }
  }
}

void Dataset::report_staged_range_error() {
  if (const auto told = std::exchange(staged_out_of_range_, std::nullopt)) throw *told;
}

// Copies a completed read's staged data to the caller's memory. The request is over even if there
// is no memory for that.
std::optional<Error> Dataset::finish(Request& r, bool delivered) {
  std::optional<Error> range, failed;
  if (delivered && !r.write && r.staging) {
    failed = attempt_to([&] {
      const Memory& memory = r.memory;
      const Variable& var = variable(r.var);
      const Type external = external_for(var.type, memory.type, schema_.version);
      const bool mapped = r.is_mapped();
      std::unique_ptr<std::byte[]> native;
      if (mapped) native = allocate(r.elements * size_of(memory.type));
      std::byte* to = mapped ? native.get() : memory.data;
      if (from_external(external, r.packed, memory.type, to, r.elements, nullptr))
        range = out_of_range({false, external, memory.type, r.packed, r.elements}, var, r);
      if (mapped) {
        map_elements(std::get<Subarray>(r.selection), r.extras->imap, memory.data, to,
                     size_of(memory.type), false);
      }
    });
  }
  delivered = delivered && !failed;
  const Count bytes = r.elements * r.element_size;
  if (r.buffered) buffer_.give_back(bytes);
  if (delivered) (r.write ? moved_.put : moved_.got) += bytes;
  if (r.extras && r.extras->on_done) r.extras->on_done(delivered);
  if (failed) throw *failed;
  return range;
}

/// The requests of one operation in the stage, and the facts on which ranks agree.
struct Dataset::Operation {
  enum Fact : std::size_t { writes_any, reads_any, last_record, of_stage };

  RequestList writes, reads;
  std::array<std::int64_t, 11> facts{};  // as maxima over ranks
  std::optional<Foreseen> foreseen;
  std::optional<Error> failed;

  RequestList& of(bool write) { return write ? writes : reads; }
  template <typename F>
  void each(F&& f) {
    for (Request& r : writes) f(r);
    for (Request& r : reads) f(r);
  }
  void put(const StageNeeds& needs) {
    const std::array<std::int64_t, 8> all{needs.flush, needs.direct, needs.staged, needs.unserved,
                                          needs.alike, needs.unlike, needs.first,  needs.last};
    std::copy(all.begin(), all.end(), facts.begin() + of_stage);
  }
  // Foresight needs one direction: otherwise a rank may have foreseen one of two operations.
  StageNeeds needs() const {
    const bool one = facts[writes_any] + facts[reads_any] == 1;
    return {facts[3], facts[4],  facts[5],
            facts[6], facts[7],  facts[8],
            facts[9], facts[10], one ? foreseen : std::nullopt};
  }
  void agree(const Comm& comm) {
    if (!foreseen) return comm.all_reduce(facts, Reduce::max);
    auto& values = foreseen->values;
    std::array<std::int64_t,
               std::tuple_size_v<decltype(facts)> + std::tuple_size_v<decltype(Foreseen::values)>>
        all;
    std::copy(values.begin(), values.end(), std::copy(facts.begin(), facts.end(), all.begin()));
    comm.max_and_sum(all, facts.size() + Foreseen::maxima);
    std::copy_n(all.begin(), facts.size(), facts.begin());
    std::copy_n(all.begin() + facts.size(), values.size(), values.begin());
  }
};

// Tells all ranks an error of one rank, so that they go on alike. Returns whether they go on.
template <typename F>
bool Dataset::attempt(Operation& operation, bool collective, F&& f) {
  auto error = collective ? up_to_meeting(comm_, f) : attempt_to(f);
  const bool goes_on = !error || error->is_own_matter();
  keep_first(operation.failed, std::move(error));
  return goes_on;
}

void Dataset::offer(Operation& operation) {
  auto& facts = operation.facts;
  facts[Operation::writes_any] = !operation.writes.empty();
  facts[Operation::reads_any] = !operation.reads.empty();
  for (const Request& r : operation.writes)
    facts[Operation::last_record] = std::max(facts[Operation::last_record], r.last_record);
  StageNeeds needs;
  operation.failed = attempt_to([&] { needs = stage_->offer(operation.writes, operation.reads); });
  operation.put(needs);
}

// Submits all writes, then all reads. `known`: the ranks have agreed on the facts.
void Dataset::submit(Operation& operation, bool known, bool collective) {
  const auto& facts = operation.facts;
  const StageNeeds needs = operation.needs();
  const auto part = [&](bool write) {
    return attempt(operation, collective,
                   [&] { stage_->submit(operation.of(write), write, collective, needs); });
  };
  if (known && facts[Operation::writes_any]) {
    changed_ = true;
    // One publication makes data and number of records visible, if the container has publications.
    const Count before = schema_.numrecs, last = facts[Operation::last_record];
    const bool together = container_->publishes_records() && (collective || comm_.size() == 1) &&
                          !stage_->publishes_later();
    if (together) schema_.numrecs = std::max(before, last);
    const bool written = part(true);
    if (together) schema_.numrecs = before;
    if (written)
      attempt(operation, collective, [&] { note_records(last, collective, needs.direct != 0); });
  }
  if (known && facts[Operation::reads_any]) part(false);
}

// Collective. Ranks agree on whether there are requests, and on the number of records.
void Dataset::carry_out(Operation& operation, bool collective,
                        const std::optional<Error>& local_error) {
  const bool known = attempt(operation, collective, [&] {
    if (collective) before_operation();
    offer(operation);
    if (collective && comm_.size() > 1)
      operation.foreseen = stage_->foresee(operation.of(!operation.writes.empty()));
    if (collective) operation.agree(comm_);
  });
  submit(operation, known, collective);
  if (local_error) throw *local_error;
  if (operation.failed) throw *operation.failed;
}

// The count makes data visible, so data comes first. With `direct`, nothing is left in a log that
// could later tell of the records.
void Dataset::note_records(Count last_record, bool collective, bool direct) {
  if (last_record <= schema_.numrecs) return;
  schema_.numrecs = last_record;
  numrecs_dirty_ = true;  // until the count is written
  if (!collective || (stage_->holds_writes() && !direct)) return;
  container_->publish();
  numrecs_dirty_ = false;
}

void Dataset::execute(std::span<Request> given, bool collective, std::optional<Error> local_error) {
  std::optional<Error> deferred;
  Operation operation;
  if (!local_error) {
    StepTimer timer(report_, Step::post);
    auto error = attempt_to([&] {
      for (Request& r : given) {
        RequestList& to = operation.of(r.write);
        to.make_room();
        prepare(to.add(std::move(r)), false, deferred);
      }
    });
    if (error) {
      local_error = error;
      operation.writes = {};
      operation.reads = {};
    }
  }
  auto failed = attempt_to([&] { carry_out(operation, collective, local_error); });
  operation.each([&](Request& r) {
    keep_first(failed, attempt_to([&] { keep_first(deferred, finish(r, !failed)); }));
  });
  if (failed) throw *failed;
  if (deferred) throw *deferred;
}

int Dataset::post(Request&& r, std::optional<Error>* deferred) {
  std::optional<StepTimer> timer;  // reading the clock takes as long as a small request
  if (!method_.report.empty()) timer.emplace(report_, Step::post);
  const Count bytes = r.elements * size_of(variable(r.var).type);
  if (r.buffered) buffer_.check_room(bytes);
  std::optional<Error> range;
  RequestQueue& queue = r.write ? puts_ : gets_;
  queue.make_room();
  prepare(r, r.write && bytes <= small_put, range);
  if (deferred) *deferred = std::move(range);
  if (r.buffered) buffer_.take(bytes);
  return queue.add(std::move(r));
}

// Takes requests off their queues. If an id is unknown or listed twice, the statuses say which one,
// nothing is taken, and Errc::einval_request is thrown. With `refused` it is stored there and the
// other requests are taken, as PnetCDF does in waits and cancels.
void Dataset::take(Which which, std::span<int> ids, std::span<int> statuses, Operation& to,
                   std::optional<Error>* refused) {
  std::fill(statuses.begin(), statuses.end(), 0);
  if (which == Which::listed) {
    auto unknown = take_listed(ids, statuses, to, refused != nullptr);
    if (refused) *refused = std::move(unknown);
    return;
  }
  if (which != Which::gets) to.writes = puts_.take_all();
  if (which != Which::puts) to.reads = gets_.take_all();
}

// The id of a taken request becomes its entry in `ids`.
std::optional<Error> Dataset::take_listed(std::span<int> ids, std::span<int> statuses,
                                          Operation& to, bool some) {
  struct Listed {
    std::size_t at, entry;  // places in the queue and in the list
    bool operator<(const Listed& other) const {
      return at != other.at ? at < other.at : entry < other.entry;
    }
  };
  std::optional<Error> bad;
  const auto refuse = [&](std::size_t i) {
    if (!statuses.empty()) statuses[i] = to_int(Errc::einval_request);
    if (!bad)
      bad = Error(Errc::einval_request,
                  "request " + std::to_string(ids[i]) + " is not pending, or listed twice");
  };
  std::array<std::vector<Listed>, 2> listed;  // writes, reads
  listed[0].reserve(std::min(ids.size(), puts_.size()));
  listed[1].reserve(std::min(ids.size(), gets_.size()));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == -1) continue;
    const bool write = ids[i] % 2 == 0;
    const auto at = (write ? puts_ : gets_).find(ids[i]);
    if (at)
      listed[write ? 0 : 1].push_back({*at, i});
    else
      refuse(i);
  }
  for (auto& list : listed) {
    if (!std::is_sorted(list.begin(), list.end())) std::sort(list.begin(), list.end());
    const auto end = std::unique(list.begin(), list.end(), [&](const Listed& a, const Listed& b) {
      if (a.at == b.at) refuse(b.entry);
      return a.at == b.at;
    });
    list.erase(end, list.end());
  }
  if (bad && !some) throw *bad;
  // Nothing is taken before there is memory for all. A whole queue needs no moves.
  const auto takes_all = [&](bool write) {
    return listed[write ? 0 : 1].size() == (write ? puts_ : gets_).size();
  };
  for (const bool write : {true, false})
    if (!takes_all(write)) to.of(write).reserve(listed[write ? 0 : 1].size());
  for (const bool write : {true, false}) {
    RequestQueue& queue = write ? puts_ : gets_;
    RequestList& taken = to.of(write);
    const auto& list = listed[write ? 0 : 1];
    if (takes_all(write)) {
      taken = queue.take_all();
    } else {
      for (const Listed& one : list) taken.add(queue.take(one.at));
      queue.settle();
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      taken[i].id = static_cast<int>(list[i].entry);
      ids[list[i].entry] = -1;
    }
  }
  return bad;
}

void Dataset::wait(Which which, std::span<int> ids, std::span<int> statuses, bool collective,
                   std::optional<Error> local_error) {
  Operation operation;
  if (!local_error) {
    StepTimer timer(report_, Step::post);
    local_error = attempt_to([&] { take(which, ids, statuses, operation); });
  }
  auto failed = attempt_to([&] { carry_out(operation, collective, local_error); });
  std::optional<Error> range;
  operation.each([&](Request& r) {
    Errc status = failed ? failed->code() : Errc::ok;
    std::optional<Error> its_range;
    const auto unfinished = attempt_to([&] { its_range = finish(r, !failed); });
    if (its_range) status = its_range->code();
    if (unfinished) status = unfinished->code();
    keep_first(failed, unfinished);
    keep_first(range, std::move(its_range));
    if (!statuses.empty()) statuses[static_cast<std::size_t>(r.id)] = to_int(status);
  });
  if (failed) throw *failed;
  if (range) throw *range;
  report_staged_range_error();
}

std::optional<Error> Dataset::wait_for_all(const Comm& comm, std::span<Dataset* const> all) {
  std::vector<Operation> operations;
  const auto known = up_to_meeting(comm, [&] {
    constexpr std::size_t facts_each = std::tuple_size_v<decltype(Operation::facts)>;
    std::vector<std::int64_t> facts(all.size() * facts_each);
    operations.resize(all.size());
    for (std::size_t f = 0; f < all.size(); ++f) {
      all[f]->take(Which::all, {}, {}, operations[f]);
      all[f]->offer(operations[f]);
      std::copy(operations[f].facts.begin(), operations[f].facts.end(),
                facts.begin() + static_cast<std::ptrdiff_t>(f * facts_each));
    }
    comm.all_reduce(facts, Reduce::max);
    for (std::size_t f = 0; f < all.size(); ++f)
      std::copy_n(facts.begin() + static_cast<std::ptrdiff_t>(f * facts_each), facts_each,
                  operations[f].facts.begin());
  });
  std::optional<Error> first = known;
  for (std::size_t f = 0; f < operations.size(); ++f) {
    all[f]->submit(operations[f], !known, true);
    auto failed = operations[f].failed;
    if (!failed) failed = known;
    std::optional<Error> range;
    operations[f].each([&](Request& r) {
      keep_first(failed, attempt_to([&] { keep_first(range, all[f]->finish(r, !failed)); }));
    });
    keep_first(first, std::move(failed));
    keep_first(first, std::move(range));
  }
  return first;
}

void Dataset::cancel(Which which, std::span<int> ids, std::span<int> statuses) {
  Operation operation;
  std::optional<Error> refused;
  take(which, ids, statuses, operation, &refused);
  operation.each([&](Request& r) { finish(r, false); });
  if (refused) throw *refused;
}

}  // namespace forebay
