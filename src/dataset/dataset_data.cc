// Requests: made from accesses, queued, carried out together, finished.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <tuple>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "codec/pipeline.h"
#include "dataset/dataset.h"

namespace forebay {

namespace {

/// Copies between contiguous elements and elements placed by an imap (netCDF's varm), in selection
/// order. `gather`: from mapped to packed; otherwise back.
void map_elements(const Subarray& sub, const std::vector<Count>& imap, std::byte* mapped,
                  std::byte* packed, int width, bool gather) {
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

/// The variable's _FillValue in native order, in `value`; null without one of the right type.
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

/// Posted writes of up to so many bytes are copied: programs rely on PnetCDF's doing so, though it
/// promises nothing.
constexpr Count small_put = 4096;

Error out_of_range() {
  return Error(Errc::erange, "a value does not fit the type it was converted to",
               "it was replaced by the fill value; all other values are right");
}

}  // namespace

int Dataset::levels(const Variable& var) {
  return var.chunking ? Pipeline::parts_of(var.chunking->codec) - 1 : 0;
}

Count Dataset::most_records(const Variable& var) const {
  return max_records(schema_.version, std::max(file_type_stride(var), var.inner_bytes()));
}

Count Dataset::file_type_stride(const Variable& var) const {
  return mode_ == Mode::define ? std::max<Count>(var.vsize, 1) : record_stride_;
}

// Data that needs no conversion stays where the caller has it and is byte-swapped on its way; the
// rest is converted, gathered or (bput) copied into staging memory here.
void Dataset::prepare(Request& r, bool copy, Errc& deferred) {
  const Variable& var = variable(r.var);
  r.sequence = next_sequence_++;
  r.element_size = size_of(var.type);
  if (coarse_) coarse_->translate(r);

  const Memory& memory = r.memory;
  const Type external = external_for(var.type, memory.type, schema_.version);
  const bool plain = is_plain_copy(external, memory.type);
  const bool mapped = !memory.imap.empty();
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
    map_elements(std::get<Subarray>(r.selection), memory.imap, from, to, width, true);
    from = to;
  }
  if (plain) {
    if (!mapped && bytes > 0) std::memcpy(r.packed, from, static_cast<std::size_t>(bytes));
    r.swap = r.element_size;
  } else {
    std::byte fill[8];
    if (to_external(external, r.packed, memory.type, from, r.elements,
                    own_fill(var, external, fill))) {
      deferred = put_range_error();
    }
  }
}

// What PnetCDF's burst buffer does: it converts when it flushes.
Errc Dataset::put_range_error() {
  if (!stage_entry().converts_late) return Errc::erange;
  staged_out_of_range_ = true;
  return Errc::ok;
}

void Dataset::report_staged_range_error() {
  if (std::exchange(staged_out_of_range_, false)) throw out_of_range();
}

// A completed read's staged data goes to the caller's memory. The request is over even where there
// is no memory for that.
Errc Dataset::finish(Request& r, bool delivered) {
  Errc status = Errc::ok;
  std::optional<Error> failed;
  if (delivered && !r.write && r.staging) {
    failed = attempt_to([&] {
      const Memory& memory = r.memory;
      const Type external = external_for(variable(r.var).type, memory.type, schema_.version);
      const bool mapped = !memory.imap.empty();
      std::unique_ptr<std::byte[]> native;
      if (mapped) native = allocate(r.elements * size_of(memory.type));
      std::byte* to = mapped ? native.get() : memory.data;
      if (from_external(external, r.packed, memory.type, to, r.elements, memory.out_of_range))
        status = Errc::erange;
      if (mapped) {
        map_elements(std::get<Subarray>(r.selection), memory.imap, memory.data, to,
                     size_of(memory.type), false);
      }
    });
  }
  delivered = delivered && !failed;
  const Count bytes = r.elements * r.element_size;
  if (r.buffered) attached_used_ -= bytes;
  if (delivered) (r.write ? put_bytes_ : got_bytes_) += bytes;
  if (r.on_done) r.on_done(delivered);
  if (failed) throw *failed;
  return status;
}

/// Requests on their way through the stage, and what ranks agree on of them.
struct Dataset::Operation {
  enum Fact : std::size_t { writes_any, reads_any, last_record, of_stage };

  std::vector<Request> writes, reads;
  std::array<std::int64_t, 11> facts{};  // maxima
  std::optional<Foreseen> foreseen;
  std::optional<Error> failed;

  void put(const StageNeeds& needs) {
    const std::array<std::int64_t, 8> all{needs.flush, needs.direct, needs.staged, needs.unserved,
                                          needs.alike, needs.unlike, needs.first,  needs.last};
    std::copy(all.begin(), all.end(), facts.begin() + of_stage);
  }
  // Foreseen, if it is of one direction: else a rank may have foreseen one of its two operations.
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

// What fails on one rank only all get to know, so that they go on alike. Whether they do.
template <typename F>
bool Dataset::attempt(Operation& operation, bool collective, F&& f) {
  auto error = collective ? up_to_meeting(comm_, f) : attempt_to(f);
  const bool goes_on = !error || error->is_own_matter();
  keep_first(operation.failed, std::move(error));
  return goes_on;
}

// Local.
void Dataset::offer(std::vector<Request>& requests, Operation& operation) {
  std::vector<Request>&writes = operation.writes, &reads = operation.reads;
  auto& facts = operation.facts;
  writes.reserve(requests.size());
  reads.reserve(requests.size());
  for (Request& r : requests) {
    facts[r.write ? Operation::writes_any : Operation::reads_any] = 1;
    if (r.write)
      facts[Operation::last_record] = std::max(facts[Operation::last_record], r.last_record);
    (r.write ? writes : reads).push_back(std::move(r));
  }
  StageNeeds needs;
  operation.failed = attempt_to([&] { needs = stage_->offer(writes, reads); });
  operation.put(needs);
}

// All writes, then all reads, once ranks have agreed on the facts. `known`: they have.
void Dataset::submit(std::vector<Request>& requests, Operation& operation, bool known,
                     bool collective) {
  std::vector<Request>&writes = operation.writes, &reads = operation.reads;
  const auto& facts = operation.facts;
  const StageNeeds needs = operation.needs();
  const auto part = [&](std::vector<Request>& list, bool write) {
    return attempt(operation, collective, [&] { stage_->submit(list, write, collective, needs); });
  };
  if (known && facts[Operation::writes_any]) {
    changed_ = true;
    // Data and the number of records become visible by one publication, where there is one.
    const Count before = schema_.numrecs, last = facts[Operation::last_record];
    const bool together = container_->publishes_records() && (collective || comm_.size() == 1) &&
                          !stage_->publishes_later();
    if (together) schema_.numrecs = std::max(before, last);
    const bool written = part(writes, true);
    if (together) schema_.numrecs = before;
    if (written)
      attempt(operation, collective, [&] { note_records(last, collective, needs.direct != 0); });
  }
  if (known && facts[Operation::reads_any]) part(reads, false);
  if (!writes.empty() || !reads.empty()) {
    requests.clear();  // they have been moved; there is room for them
    for (Request& r : writes) requests.push_back(std::move(r));
    for (Request& r : reads) requests.push_back(std::move(r));
  }
}

// Collective: ranks agree on whether there are any requests, and on the number of records.
void Dataset::carry_out(std::vector<Request>& requests, bool collective,
                        const std::optional<Error>& local_error) {
  Operation operation;
  const bool known = attempt(operation, collective, [&] {
    if (collective) catch_up();
    offer(requests, operation);
    if (collective && comm_.size() > 1)
      operation.foreseen =
          stage_->foresee(operation.writes.empty() ? operation.reads : operation.writes);
    if (collective) operation.agree(comm_);
  });
  submit(requests, operation, known, collective);
  if (local_error) throw *local_error;
  if (operation.failed) throw *operation.failed;
}

// Data first, then the count that makes it visible. What was not staged, and all before it, is in
// the file: no log would tell of its records.
void Dataset::note_records(Count last_record, bool collective, bool direct) {
  if (last_record <= schema_.numrecs) return;
  schema_.numrecs = last_record;
  numrecs_dirty_ = true;  // until it is written
  if (!collective || (stage_->holds_writes() && !direct)) return;
  container_->publish();
  numrecs_dirty_ = false;
}

void Dataset::execute(std::span<Request> given, bool collective, std::optional<Error> local_error) {
  Errc deferred = Errc::ok;
  std::vector<Request> requests;
  if (!local_error) {
    StepTimer timer(report_, Step::post);
    auto error = attempt_to([&] {
      requests.reserve(given.size());
      for (Request& r : given) prepare(requests.emplace_back(std::move(r)), false, deferred);
    });
    if (error) {
      local_error = error;
      requests.clear();
    }
  }
  auto failed = attempt_to([&] { carry_out(requests, collective, local_error); });
  for (Request& r : requests) {
    Errc status = Errc::ok;
    const auto unfinished = attempt_to([&] { status = finish(r, !failed); });
    if (!failed) failed = unfinished;
    if (status != Errc::ok) deferred = status;
  }
  if (failed) throw *failed;
  if (deferred == Errc::erange) throw out_of_range();
}

int Dataset::post(Request r, Errc* deferred) {
  StepTimer timer(report_, Step::post);
  const bool write = r.write;
  if (r.buffered) {
    const Count bytes = r.elements * size_of(variable(r.var).type);
    if (!attached_)
      throw Error(Errc::enullabuf, "no buffer is attached", "call ncmpi_buffer_attach first");
    if (bytes > *attached_ - attached_used_) {
      throw Error(Errc::einsuffbuf, "the attached buffer is too small for this request",
                  "attach a larger one, or wait for earlier requests first");
    }
  }
  Errc range = Errc::ok;
  const bool small = write && r.elements * size_of(variable(r.var).type) <= small_put;
  if (queue_.size() == queue_.capacity()) queue_.reserve(2 * queue_.size() + 8);
  prepare(r, small, range);
  if (deferred) *deferred = range;
  if (r.buffered) attached_used_ += r.elements * r.element_size;
  int& next = write ? next_put_id_ : next_get_id_;
  if (!has_pending(write)) next = write ? 0 : 1;
  r.id = next;
  next += 2;
  ++(write ? pending_puts_ : pending_gets_);
  queue_.push_back(std::move(r));
  return queue_.back().id;
}

bool Dataset::has_pending(bool write) const { return (write ? pending_puts_ : pending_gets_) > 0; }

// Takes requests off the queue. places[i] tells which entry of `ids` the i-th of them came from, -1
// if none. If any id is unknown nothing is taken, the statuses say which, and Errc::einval_request
// is thrown (as PnetCDF does).
std::vector<Request> Dataset::take(Which which, std::span<int> ids, std::span<int> statuses,
                                   std::vector<std::ptrdiff_t>& places) {
  std::fill(statuses.begin(), statuses.end(), 0);
  std::vector<Request> taken;
  places.reserve(queue_.size());  // nothing is taken before there is memory for all of it
  if (which == Which::all) {
    taken.swap(queue_);
  } else if (which != Which::listed) {
    const bool write = which == Which::puts;
    taken.reserve(queue_.size());
    auto middle = std::stable_partition(queue_.begin(), queue_.end(),
                                        [&](const Request& r) { return r.write != write; });
    taken.assign(std::make_move_iterator(middle), std::make_move_iterator(queue_.end()));
    queue_.erase(middle, queue_.end());
  } else {
    take_listed(ids, statuses, places, taken);
  }
  if (which != Which::listed) places.assign(taken.size(), -1);
  for (const Request& r : taken) --(r.write ? pending_puts_ : pending_gets_);
  return taken;
}

void Dataset::take_listed(std::span<int> ids, std::span<int> statuses,
                          std::vector<std::ptrdiff_t>& places, std::vector<Request>& taken) {
  std::unordered_map<int, std::ptrdiff_t> wanted;  // id → entry
  wanted.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0) wanted.emplace(ids[i], static_cast<std::ptrdiff_t>(i));
  }
  std::size_t known = 0;
  for (const Request& r : queue_) known += wanted.count(r.id);
  bool bad = false;
  if (known != wanted.size() ||
      std::any_of(ids.begin(), ids.end(), [](int id) { return id < -1; })) {
    std::unordered_map<int, bool> there;
    for (const Request& r : queue_) there[r.id] = true;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == -1 || there.count(ids[i])) continue;
      bad = true;
      if (!statuses.empty()) statuses[i] = to_int(Errc::einval_request);
    }
  }
  if (bad) throw Error(Errc::einval_request, "a request id is not that of a pending request");
  std::vector<Request> kept;
  kept.reserve(queue_.size());
  taken.reserve(queue_.size());
  for (Request& r : queue_) {
    auto it = wanted.find(r.id);
    if (it == wanted.end()) {
      kept.push_back(std::move(r));
    } else {
      places.push_back(it->second);
      taken.push_back(std::move(r));
    }
  }
  queue_.swap(kept);
  for (int& id : ids) id = -1;
}

void Dataset::wait(Which which, std::span<int> ids, std::span<int> statuses, bool collective,
                   std::optional<Error> local_error) {
  std::vector<Request> requests;
  std::vector<std::ptrdiff_t> places;
  if (!local_error) {
    StepTimer timer(report_, Step::post);
    local_error = attempt_to([&] { requests = take(which, ids, statuses, places); });
  }
  std::unordered_map<std::uint64_t, std::ptrdiff_t> place_of;
  if (!statuses.empty()) {
    auto error = attempt_to([&] {
      for (std::size_t i = 0; i < requests.size(); ++i) place_of[requests[i].sequence] = places[i];
    });
    if (!local_error) local_error = error;
  }
  auto failed = attempt_to([&] { carry_out(requests, collective, local_error); });
  bool range = false;
  for (Request& r : requests) {
    Errc status = failed ? failed->code() : Errc::ok;
    Errc finished = Errc::ok;
    const auto unfinished = attempt_to([&] { finished = finish(r, !failed); });
    if (unfinished) finished = unfinished->code();
    if (!failed) failed = unfinished;
    if (finished != Errc::ok) status = finished;
    range = range || finished == Errc::erange;
    if (auto it = place_of.find(r.sequence); it != place_of.end() && it->second >= 0) {
      statuses[static_cast<std::size_t>(it->second)] = to_int(status);
    }
  }
  if (failed) throw *failed;
  if (range) throw out_of_range();
  report_staged_range_error();
}

std::optional<Error> Dataset::wait_for_all(const Comm& comm, std::span<Dataset* const> all) {
  struct Waited {
    std::vector<Request> requests;
    Operation operation;
    std::optional<Error> own;
  };
  std::vector<Waited> waited;
  const auto known = up_to_meeting(comm, [&] {
    constexpr std::size_t facts_each = std::tuple_size_v<decltype(Operation::facts)>;
    std::vector<std::int64_t> facts(all.size() * facts_each);
    waited.resize(all.size());
    for (std::size_t f = 0; f < all.size(); ++f) {
      std::vector<std::ptrdiff_t> places;
      Waited& one = waited[f];
      one.own = attempt_to([&] { one.requests = all[f]->take(Which::all, {}, {}, places); });
      all[f]->offer(one.requests, one.operation);
      std::copy(one.operation.facts.begin(), one.operation.facts.end(),
                facts.begin() + static_cast<std::ptrdiff_t>(f * facts_each));
    }
    comm.all_reduce(facts, Reduce::max);
    for (std::size_t f = 0; f < all.size(); ++f)
      std::copy_n(facts.begin() + static_cast<std::ptrdiff_t>(f * facts_each), facts_each,
                  waited[f].operation.facts.begin());
  });
  std::optional<Error> first = known;
  for (std::size_t f = 0; f < waited.size(); ++f) {
    auto& [requests, operation, own] = waited[f];
    all[f]->submit(requests, operation, !known, true);
    auto failed = own ? own : operation.failed;
    if (!failed) failed = known;
    bool range = false;
    for (Request& r : requests) {
      keep_first(failed,
                 attempt_to([&] { range = all[f]->finish(r, !failed) == Errc::erange || range; }));
    }
    keep_first(first, std::move(failed));
    if (range) attempt_into(first, [] { throw out_of_range(); });
  }
  return first;
}

void Dataset::cancel(Which which, std::span<int> ids, std::span<int> statuses) {
  std::vector<std::ptrdiff_t> places;
  std::vector<Request> requests = take(which, ids, statuses, places);
  for (Request& r : requests) finish(r, false);
}

void Dataset::attach_buffer(Count bytes) {
  if (bytes <= 0) throw Error(Errc::enullbuf, "a buffer of no bytes cannot be attached");
  if (attached_)
    throw Error(Errc::eprevattachbuf, "a buffer is attached already", "detach it first");
  attached_ = bytes;
  attached_used_ = 0;
}

void Dataset::detach_buffer() {
  if (!attached_) throw Error(Errc::enullabuf, "no buffer is attached");
  for (const Request& r : queue_) {
    if (r.buffered)
      throw Error(Errc::ependingbput, "buffered writes are pending", "call wait first");
  }
  attached_.reset();
}

Count Dataset::buffer_size() const {
  if (!attached_) throw Error(Errc::enullabuf, "no buffer is attached");
  return *attached_;
}

Count Dataset::buffer_usage() const {
  if (!attached_) throw Error(Errc::enullabuf, "no buffer is attached");
  return attached_used_;
}

}  // namespace forebay
