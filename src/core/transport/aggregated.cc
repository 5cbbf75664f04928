#include "transport/aggregated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "storage/store_times.h"
#include "transport/direct_io.h"
#include "transport/window_message.h"
#include "transport/window_walk.h"

namespace forebay {

namespace {

/// The number of windows for which memory is allocated at the start.
constexpr Count few_visits = 256;

}  // namespace

AggregatedTransport::AggregatedTransport(const Comm& comm, std::shared_ptr<ByteFile> file,
                                         const TransportOptions& options, Report& report)
    : comm_(comm),
      file_(std::move(file)),
      batches_(options.bulk),
      options_(options),
      report_(report),
      ahead_(*file_, options.buffer_limit / 16) {
  visits_.reserve(few_visits);
}

void AggregatedTransport::write(ExtentStream& extents) {
  write_directly(*file_, extents, report_, options_.buffer_limit);
}

void AggregatedTransport::write_beside(ExtentStream& extents, Report& report) {
  write_directly(*file_, extents, report, options_.buffer_limit);
}

// Nobody who has the file open with this rank can write to it, and values of others become visible
// only after sync().
void AggregatedTransport::read(ExtentStream& extents) {
  if (!reads_ahead() || !file_->only_reads() || !is_slow(file_->least_latency(false)))
    return read_now(extents);
  ahead_.read(extents, options_.hole_threshold, report_);
  ahead_.note(extents.summary());
}

void AggregatedTransport::read_now(ExtentStream& extents) {
  read_directly(*file_, extents, options_.hole_threshold, report_);
}

// A user who asks for windows gets no reading ahead.
bool AggregatedTransport::reads_ahead() const {
  return options_.kind == "auto" && options_.planned == nullptr;
}

std::string AggregatedTransport::reasons() const {
  std::string text = fmt::format(
      "{} collective operations aggregated, {} direct (large or few pieces, found quicker, or a "
      "single rank){}{}",
      aggregated_operations_, direct_operations_, shares_ ? "" : "; ",
      shares_ ? "" : without_node_memory);
  if (operations_ahead_ > 0)
    text += fmt::format("; {} small reads one behind the other, read ahead", operations_ahead_);
  for (const bool writing : {false, true}) {
    const PathTuner* way = ways_ ? (*ways_)[writing ? 1 : 0].latest() : nullptr;
    if (way == nullptr || !way->was_tried(false)) continue;
    text += fmt::format("; {}: {:.0f} MB/s through windows, ", writing ? "writes" : "reads",
                        way->bytes_per_second(false) / 1e6);
    text += way->was_tried(true) ? fmt::format("{:.0f} directly", way->bytes_per_second(true) / 1e6)
            : way->is_known()    ? "less directly"
                                 : "not tried directly";
  }
  if (answers_slowly())
    text += fmt::format("; a write takes {} us at least: few large ones", latency_ / 1000);
  return text;
}

std::optional<Foreseen> AggregatedTransport::foresee(const StreamSummary& mine) const {
  return Foreseen{{mine.empty() ? INT64_MIN : -mine.first, mine.empty() ? INT64_MIN : mine.last,
                   -file_->least_latency(true), -file_->least_latency(false),
                   file_->has_weak_caches(), reads_ahead() ? ahead_.need(mine) : ReadAhead::other,
                   mine.bytes, mine.pieces}};
}

// This is the time of the quickest write of all ranks: one that is slow by chance does not count.
bool AggregatedTransport::answers_slowly() const { return is_slow(latency_); }

void AggregatedTransport::use_nodes(int ranks_per_node) {
  topology_ = &Topology::of(comm_, ranks_per_node);
}

NodeCounts AggregatedTransport::node_counts() const {
  return {comm_.size(), topology_->nodes(), shares_};
}

void AggregatedTransport::set_up(const OperationTotal& total) {
  StepTimer timer(report_, Step::plan);
  const Count window = window_size_for(total, node_counts(), options_, window_);
  if (slots_ && window == window_) return;
  finish_behind();  // its windows are in the slots
  slots_.reset();
  for (;;) {
    // If it fails on a rank, it fails on its node. Taking memory ends with a reduction of the node.
    auto failed = up_to_meeting(topology_->node(), [&] {
      slots_.emplace(*topology_, window, ring_sizes(node_counts(), options_, window));
    });
    if (!failed && !one_node()) {
      failed = attempt_to(
          [&] { mailbox_.emplace(comm_, mailbox_limit(options_), largest_message(window)); });
    }
    if (comm_.all_reduce(!failed && slots_->ok(), Reduce::min)) {
      window_ = window;
      callers_ = callers_of_node(node_counts(), options_, topology_->my_node());
      return;
    }
    slots_.reset();
    if (topology_->nodes() == comm_.size()) {
      throw Error(Errc::enomem, "no memory for the aggregation windows", "lower window_size");
    }
    use_nodes(1);  // every rank is a node of its own and sends messages
    shares_ = false;
  }
}

void AggregatedTransport::write_all(ExtentStream& extents) { agree_and_carry_out(extents, true); }

void AggregatedTransport::read_all(ExtentStream& extents) { agree_and_carry_out(extents, false); }

void AggregatedTransport::agree_and_carry_out(ExtentStream& extents, bool writing) {
  begin();
  Foreseen agreed;
  {
    StepTimer timer(report_, Step::plan);
    agreed = *foresee(extents.summary());
    comm_.max_and_sum(agreed.values, Foreseen::maxima);
  }
  carry_out(extents, writing, agreed);
}

void AggregatedTransport::carry_out_foreseen(ExtentStream& extents, bool writing,
                                             const Foreseen& agreed, std::optional<Error> failed) {
  begin();
  failure_ = std::move(failed);
  carry_out(extents, writing, agreed);
}

void AggregatedTransport::begin() {
  failure_.reset();
  overlapped_ = false;
  measured_ = {};
  if (topology_ == nullptr) use_nodes(options_.ranks_per_node);
}

// All are here, so the ranks of a node may wait for each other. A rank that has failed takes part.
void AggregatedTransport::carry_out(ExtentStream& extents, bool writing, const Foreseen& agreed) {
  const auto& all = agreed.values;
  latency_ = -all[2];
  file_->learn_latency(true, -all[2]);
  file_->learn_latency(false, -all[3]);
  caches_weak_ = all[4] != 0;
  options_.bulk = batches_ || is_slow(-all[writing ? 2 : 3]);
  const auto need = static_cast<ReadAhead::Need>(all[5]);
  ahead_.agreed(need, writing);
  if (all[6] == 0) return;
  const OperationTotal total{-all[0], all[1], all[6], all[7]};
  if (!writing && need == ReadAhead::nothing) return give_what_is_held(extents);
  const bool reads_on = !writing && need == ReadAhead::what_follows;
  if (reads_on ? each_reads_on(total, node_counts(), options_)
               : carried_out_directly(total, node_counts(), options_, writing)) {
    ++(reads_on ? operations_ahead_ : direct_operations_);
    finish_before_direct();
    if (reads_on)
      attempt_into(failure_, [&] { ahead_.read(extents, options_.hole_threshold, report_); });
    else
      directly(extents, writing);
  } else if (may_try_directly(total, node_counts(), options_, writing) && !caches_weak_ &&
             !file_->writes_later()) {  // the time of copying tells nothing
    by_the_tuned_path(total, extents, writing);
  } else {
    ++aggregated_operations_;
    set_up(total);
    through_windows(total, extents, total.first, total.last, writing);
  }
  if (more_ && writing)
    may_be_behind_ = may_be_behind_ || options_.bulk;
  else
    finish_behind();
  if (!writing) ahead_.note(extents.summary());
  StepTimer timer(report_, Step::wait);
  const Measured measured = std::exchange(measured_, {});
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - measured.begin;
  std::array<std::int64_t, 2> all_found{slots_ && slots_->take_overlapped(),
                                        measured.way ? took.count() : 0};
  agree_on_error(comm_, failure_, all_found, Reduce::max);
  overlapped_ = all_found[0] != 0;
  if (measured.way)
    measured.way->note_whole(measured.directly, static_cast<double>(all_found[1]) * 1e-9,
                             static_cast<double>(total.bytes));
}

// The others need not know of an error here: they have what they read.
void AggregatedTransport::give_what_is_held(ExtentStream& extents) {
  ++operations_ahead_;
  attempt_into(failure_, [&] { ahead_.give(extents); });
  if (failure_) throw Error(*failure_).as_own_matter();
  ahead_.note(extents.summary());
}

// Ranks may name a file differently, but what they know of it must be the same. What one rank knew
// before, all knew.
void AggregatedTransport::find_ways() {
  const std::string& path = file_->path();
  const std::uint64_t name = hash_of(std::as_bytes(std::span(path).first(path.rfind('/') + 1)));
  std::any& notes = topology_->notes();
  const auto* before = std::any_cast<PathTunerCache>(&notes);
  if (before && options_.named_alike && options_.named_alike()) ways_ = before->find(name);
  if (ways_) return;
  std::shared_ptr<PathTunerCache::OfBoth> known, anew;
  std::array<std::int64_t, 2> folder{static_cast<std::int64_t>(name)};
  folder[1] = ~folder[0];
  const auto failed = attempt_to([&] {
    anew = std::make_shared<PathTunerCache::OfBoth>();
    if (!notes.has_value()) notes.emplace<PathTunerCache>();
    known = std::any_cast<PathTunerCache&>(notes).of_folder(name);
  });
  try {
    agree_on_error(comm_, failed, folder, Reduce::max);
  } catch (...) {
    topology_->notes().reset();  // not all ranks have it
    throw;
  }
  const bool alike = folder[0] == ~folder[1];
  if (!alike) topology_->notes().reset();  // ranks added different folders
  ways_ = alike ? std::move(known) : std::move(anew);
}

// Writes under way come first.
void AggregatedTransport::finish_before_direct() {
  if (!may_be_behind_) return;
  finish_behind();
  comm_.barrier();  // after it, what any rank had under way is in the file
}

void AggregatedTransport::directly(ExtentStream& extents, bool writing) {
  attempt_into(failure_, [&] { writing ? write(extents) : read_now(extents); });
}

namespace {

Count bytes_of(StreamBetween&& extents) {
  std::array<Extent, 64> batch;
  Count bytes = 0;
  while (const std::size_t n = extents.next(batch))
    for (std::size_t i = 0; i < n; ++i) bytes += batch[i].length;
  return bytes;
}

constexpr auto no_deadline = StreamBetween::Clock::time_point::max();

}  // namespace

// All ranks decide by what all know. Each try ends with a reduction, so that no window is written,
// with its holes, while a rank writes into it directly.
void AggregatedTransport::by_the_tuned_path(const OperationTotal& total, ExtentStream& extents,
                                            bool writing) {
  if (!ways_) find_ways();
  PathTuner& way = (*ways_)[writing ? 1 : 0].of(total.mean_piece());
  finish_before_direct();
  if (way.is_known()) {
    measured_ = {&way, way.next_is_direct(options_.patience), std::chrono::steady_clock::now()};
    if (measured_.directly) {
      ++direct_operations_;
      apart(total, extents, total.first, total.last, writing, no_deadline);
      return;
    }
  }
  ++aggregated_operations_;
  set_up(total);
  const WindowGrid grid = window_grid_for(total, node_counts(), options_, window_);
  const Count some = windows_of_a_try(grid);
  Offset from = total.first;
  while (!way.is_known() && from < total.last) {
    const bool last = some == 0 || (total.last - from) / grid.size < some;
    const Offset to = last ? total.last : grid.end_of(from / grid.size + some - 1);
    const bool is_direct = way.tries_directly();
    if (!try_one_way(way, total, extents, from, to, writing)) break;
    from = to;
    if (is_direct) break;
  }
  if (from >= total.last) return;
  if (measured_.way || !way.is_direct())
    return through_windows(total, extents, from, total.last, writing);
  apart(total, extents, from, total.last, writing, no_deadline);
}

// When nodes write, adjoining pieces of several ranks take one call, and the kernel takes its lock
// on the file once for them.
bool AggregatedTransport::apart(const OperationTotal& total, ExtentStream& extents, Offset from,
                                Offset to, bool writing,
                                StreamBetween::Clock::time_point deadline) {
  bool by_nodes = nodes_write_apart(total, node_counts(), writing);
  if (by_nodes) {
    set_up(total);
    by_nodes = nodes_write_apart(total, node_counts(), writing);  // each rank may be a node now
    slots_->watch_overlaps(false);
  }
  const bool whole = from == total.first && to == total.last && deadline == no_deadline;
  std::optional<StreamBetween> some;
  attempt_into(failure_, [&] {
    if (by_nodes) {
      const Alone alone{deadline, some};
      walk_windows(total, extents, from, to, true, &alone);
    } else {
      directly(whole ? extents : some.emplace(extents, from, to, deadline), writing);
    }
  });
  return some && some->is_late();
}

bool AggregatedTransport::try_one_way(PathTuner& way, const OperationTotal& total,
                                      ExtentStream& extents, Offset from, Offset to, bool writing) {
  const bool is_direct = way.tries_directly();
  const bool whole = from == total.first && to == total.last;
  const double share =
      static_cast<double>(total.bytes) *
      (static_cast<double>(to - from) / static_cast<double>(total.last - total.first));
  bool late = false;
  using Clock = StreamBetween::Clock;
  const auto begin = Clock::now();
  if (is_direct) {
    constexpr double most = 3600;
    const std::chrono::duration<double> time(
        std::min(way.expected(share) * options_.patience, most));
    late = apart(total, extents, from, to, writing,
                 begin + std::chrono::duration_cast<Clock::duration>(time));
  } else {
    through_windows(total, extents, from, to, writing);
  }
  const std::chrono::nanoseconds took = Clock::now() - begin;
  StepTimer timer(report_, Step::wait);
  Count moved = 0;
  if (!whole) attempt_into(failure_, [&] { moved = bytes_of(StreamBetween(extents, from, to)); });
  std::array<std::int64_t, 4> all{took.count(), late, failure_.has_value(), moved};
  comm_.max_and_sum(all, 3);
  if (all[1] != 0) {
    way.give_up_directly();
    return false;
  }
  // A failed try may have moved nothing, and a try with few bytes tells little.
  const auto bytes = static_cast<double>(whole ? total.bytes : all[3]);
  const double seconds = static_cast<double>(all[0]) * 1e-9;
  if (all[2] == 0 && 2 * bytes >= share) {
    way.note(is_direct, seconds, bytes);
    if (whole) way.note_whole(is_direct, seconds, bytes);
  }
  return true;
}

void AggregatedTransport::through_windows(const OperationTotal& total, ExtentStream& extents,
                                          Offset from, Offset to, bool writing) {
  slots_->watch_overlaps(writing && options_.bulk);
  // All ranks have agreed on what it throws, but threads may still be writing.
  attempt_into(failure_, [&] { walk_windows(total, extents, from, to, writing); });
}

namespace {

class PlannedHomes : public WindowHomes {
 public:
  PlannedHomes(const PlannedWindows* planned, const Topology& topology)
      : planned_(planned), topology_(topology) {}
  int home_of(Count window) const override { return topology_.node_of(planned_->owner(window)); }
  int delegate_of(Count window) const override {
    const Rank owner = planned_->owner(window);
    const auto ranks = topology_.ranks_of(topology_.node_of(owner));
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), owner) - ranks.begin());
  }

 private:
  const PlannedWindows* planned_;
  const Topology& topology_;
};

class OwnHomes : public WindowHomes {
 public:
  explicit OwnHomes(const Topology& topology) : node_(topology.my_node()) {}
  int home_of(Count) const override { return node_; }
  int delegate_of(Count) const override { return 0; }

 private:
  int node_;
};

constexpr Count smallest_own_window = 4096;

}  // namespace

// Windows are looked at in parts, so that what ranks keep of them is small for a file of any size.
// If one node mostly covers them, to find out who has pieces where would cost more than visiting a
// few in vain.
void AggregatedTransport::walk_windows(const OperationTotal& total, ExtentStream& extents,
                                       Offset from, Offset to, bool writing, const Alone* alone) {
  OperationTotal range = total;
  range.first = from, range.last = to;
  WindowGrid grid = window_grid_for(range, node_counts(), options_, window_);
  const PlannedHomes planned(options_.planned, *topology_);
  if (options_.planned) grid.given = &planned;
  const OwnHomes homes(*topology_);
  if (alone) grid.given = &homes;
  const Comm& all = alone ? topology_->node() : comm_;
  WindowSite site{comm_.rank(), *topology_, *slots_, mailbox_ && !alone ? &*mailbox_ : nullptr,
                  report_,      failure_,   {},      {}};
  site.write_out = [this, alone](const Slots::Use& use) { finish_write(use, alone != nullptr); };
  site.read_in = [this](const Slots::Use& use) { fetch(use); };
  if (options_.planned) site.messages_in = options_.planned->messages_in;
  site.by_first = writing && options_.planned && options_.planned->by_first && options_.bulk &&
                  !file_->writes_later();
  site.by_waiting =
      writing && options_.planned && one_node() && !options_.bulk && !file_->writes_later();
  const bool by_all = one_node() && (grid.count <= slots_->rings().home ||
                                     total.bytes >= (total.last - total.first) / 2);
  std::unique_ptr<ExtentStream> first_walk, second_walk;
  std::optional<RowReader> looks;
  std::optional<ExtentReader> pieces;  // of a write
  ReadWalks walks;
  auto failed = attempt_to([&] {
    const bool again = from > total.first;
    const auto skip = [&](auto& walk) {
      if (again) walk.for_each_before(from, [](const auto&) {});
    };
    if (!by_all) skip(looks.emplace(*(first_walk = extents.clone())));
    if (!writing) skip(walks.marks.emplace(*(second_walk = extents.clone())));
    if (again) extents.rewind();
    if (alone && alone->deadline != no_deadline) {
      pieces.emplace(alone->pieces.emplace(extents, from, to, alone->deadline));
    } else {
      writing ? skip(pieces.emplace(extents)) : skip(walks.copies.emplace(extents));
    }
  });
  for (Offset begin = from;;) {
    const WindowGrid part = grid.part_from(begin);
    std::optional<WindowWalk> walk;
    {
      StepTimer timer(report_, Step::plan);
      if (by_all && part.count <= few_visits) {
        // This needs no memory, so that a small operation pays for no agreement. A rank that has
        // failed takes part without pieces.
        visit_all(part, topology_->node().size(), visits_);
        walk.emplace(site, part, writing);
        if (failed) {
          failure_ = std::exchange(failed, std::nullopt);
          pieces.reset();
          walks.marks.reset();
          walks.copies.reset();
        }
      } else {
        std::optional<TouchedWindows> touched;
        if (!failed) {
          failed = attempt_to([&] {
            walk.emplace(site, part, writing);
            if (by_all) return visit_all(part, topology_->node().size(), visits_);
            touched.emplace(part);
            looks->for_each_before(part.end(), [&](const auto& piece) {
              each_run(piece, smallest_own_window - 1,
                       [&](Offset offset, Count bytes) { touched->mark(offset, offset + bytes); });
            });
          });
        }
        by_all ? agree_on_error(comm_, failed)
               : plan_visits(all, *topology_, part, touched ? &*touched : nullptr,
                             std::exchange(failed, std::nullopt), visits_);
      }
      walk->over(visits_);
      report_[Counter::windows] += static_cast<std::int64_t>(visits_.size());
    }
    writing ? walk->write(pieces) : walk->read(walks);
    begin = part.end();
    if (begin >= grid.end()) return;
    if (by_all) continue;
    // Nobody has pieces in between.
    constexpr Offset none = std::numeric_limits<Offset>::max();
    failed = attempt_to([&] { begin = looks->next().value_or(none); });
    begin = all.all_reduce(failed ? none : begin, Reduce::min);
    if (begin < grid.end()) continue;
    keep_first(failure_, std::move(failed));
    return;
  }
}

// If a system call takes long, a thread makes it: others would wait for this rank's pieces of the
// next windows. Without a thread, or memory for one, this rank makes it at once, because others
// wait for it. If few processes of the node may make calls at a time, this rank waits for its turn
// first, unless its write only goes to a queue.
template <typename F>
void AggregatedTransport::call(bool behind, F&& make) {
  const bool in_turn = callers_ > 0 && !file_->writes_later();
  if (in_turn) slots_->take_turn(callers_);
  const auto f = [this, in_turn, make](Report& report) {
    auto failed = attempt_to([&] { make(report); });
    if (in_turn) slots_->end_turn();
    if (failed) throw *std::move(failed);
  };
  if (behind) {
    const auto here = attempt_to([&] {
      file_->ensure_open();
      take_over_behind(false);
      Behind& mine = behind_.emplace_back(Behind{report_.beside(), {}});
      mine.done = std::async(std::launch::async,
                             [f, &mine] { return attempt_to([&] { f(mine.report); }); });
    });
    if (!here) return;
  }
  attempt_into(failure_, [&] { f(report_); });
}

void AggregatedTransport::finish_write(const Slots::Use& use, bool by_nodes) {
  // Holes are left alone if bytes read from them may be old when they are written. A rank or node
  // that writes alone does not know whether others write there. With weak caches, other nodes may
  // have bytes of them under way. So may any rank, if a thread writes what earlier operations
  // copied, unless these are known to lie elsewhere.
  const bool may_bridge =
      comm_.size() > 1 && !by_nodes && !file_->has_weak_caches() &&
      (!file_->writes_later() || (options_.keeps_apart && options_.keeps_apart()));
  const Count bridge = may_bridge ? options_.hole_threshold : 0;
  call(options_.bulk && !file_->writes_later(),
       [this, use, bridge](Report& report) { slots_->write_out(use, *file_, bridge, report); });
}

void AggregatedTransport::fetch(const Slots::Use& use) {
  call(options_.bulk, [this, use](Report& report) {
    slots_->read_in(use, *file_, options_.hole_threshold, report);
  });
}

void AggregatedTransport::expect_more(bool more) {
  if (more && latency_ == CallTimes::unknown) {
    std::int64_t least = -file_->least_latency(true);
    comm_.meet(std::span(&least, 1), Reduce::max, Errc::ok);
    latency_ = -least;
  }
  const bool behind = std::exchange(more_, more) && may_be_behind_;
  if (more || !behind) return;
  may_be_behind_ = false;
  failure_.reset();
  finish_behind();
  agree_on_error(comm_, failure_);
}

void AggregatedTransport::finish_behind() {
  StepTimer timer(report_, Step::wait);
  take_over_behind(true);
}

void AggregatedTransport::take_over_behind(bool all) {
  const auto is_done = [](const Behind& b) {
    return !b.done.valid() || b.done.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  for (; !behind_.empty() && (all || is_done(behind_.front())); behind_.pop_front()) {
    Behind& behind = behind_.front();
    if (!behind.done.valid()) continue;
    keep_first(failure_, behind.done.get());
    report_.take_over(behind.report);
  }
}

namespace {

constexpr Count kib = 1024, gib = kib * kib * kib;

constexpr KeySpec keys[] = {
    count_or_of_node_key(
        {"aggregators", "a number, at least 0, or N/node, N at least 1", "0",
         "At most how many processes read and write windows at a time under transport aggregated: "
         "dealt to as many nodes evenly, or so many of each node. Which of a node's ranks they are "
         "changes. 0: all.",
         "engine"},
        &Method::aggregators, &Method::aggregators_of_node)
        .honoured_by(netcdf_files | bp_files)
        .with(aggregated_windows),
    size_key(
        {"window_size", "bytes, 4KiB to 1GiB", "0",
         "Bytes of one aggregation window at most; file domains are cut at multiples of it. "
         "Unless given: 512 KiB on one node, 1 MiB between nodes and where ranks of a node read "
         "alike, never less than a stripe.",
         "engine"},
        &Method::window_size, 4 * kib, gib)
        .honoured_by(netcdf_files | bp_files | FrontEnd::bundles)
        .with(aggregated_windows),
    plain_key({"cb_nodes", "a number, at least 1", "not given",
               "MPI-IO's number of aggregators; stands for aggregators where that is not given. "
               "Passed on.",
               "mpi-io"},
              KeyKind::kept, KeyFamily::mpi_io)
        .honoured_by(netcdf_files | bp_files)
        .with(collective_buffers),
    plain_key({"cb_config_list", "any text", "not given",
               "MPI-IO's list of where aggregators are: *:N stands for aggregators=N/node where "
               "that is not given, beside cb_nodes; lists of hosts change nothing. Passed on.",
               "mpi-io"},
              KeyKind::kept, KeyFamily::mpi_io)
        .honoured_by(netcdf_files | bp_files)
        .with(collective_buffers),
    plain_key({"cb_buffer_size", "bytes, at least 1", "not given",
               "MPI-IO's collective buffer; stands for window_size where that is not given. Passed "
               "on.",
               "mpi-io"},
              KeyKind::kept, KeyFamily::mpi_io)
        .honoured_by(netcdf_files | bp_files | FrontEnd::bundles)
        .with(collective_buffers),
};

std::unique_ptr<Transport> make_aggregated(const Comm& comm, std::shared_ptr<ByteFile> file,
                                           const TransportOptions& options, Report& report) {
  return std::make_unique<AggregatedTransport>(comm, std::move(file), options, report);
}

}  // namespace

// carried_out_directly() chooses between the two, and between nodes what PathTuner knows.
extern const TransportEntry auto_transport{
    {"auto",
     "aggregated, or each rank its own where pieces are large enough or that was found quicker", 0},
    make_aggregated,
    nullptr,
    true,
    true};
extern const TransportEntry aggregated_transport{
    {"aggregated", "Forebay's own two-phase exchange, where ranks write for each other", 40, keys},
    make_aggregated,
    nullptr,
    true,
    true};

}  // namespace forebay
