#include "transport/aggregated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "transport/direct_io.h"
#include "transport/window_message.h"
#include "transport/window_walk.h"

namespace forebay {

AggregatedTransport::AggregatedTransport(const Comm& comm, std::shared_ptr<File> file,
                                         const TransportOptions& options, Report& report)
    : comm_(comm),
      file_(std::move(file)),
      batches_(options.bulk),
      options_(options),
      report_(report) {
  visits_.reserve(Slots::most);
}

void AggregatedTransport::write(ExtentStream& extents) { write_directly(*file_, extents, report_); }

void AggregatedTransport::write_beside(ExtentStream& extents, Report& report) {
  write_directly(*file_, extents, report);
}

void AggregatedTransport::read(ExtentStream& extents) {
  read_directly(*file_, extents, options_.hole_threshold, report_);
}

std::string AggregatedTransport::reasons() const {
  std::string text = fmt::format(
      "{} collective operations aggregated, {} direct (pieces large enough, or a single rank){}{}",
      aggregated_operations_, direct_operations_, shares_ ? "" : "; ",
      shares_ ? "" : without_node_memory);
  if (answers_slowly())
    text += fmt::format("; a write takes {} us at least: few large ones", latency_ / 1000);
  return text;
}

OperationTotal AggregatedTransport::total_of(const ExtentStream& extents) {
  StepTimer timer(report_, Step::plan);
  const StreamSummary mine = extents.summary();
  std::array<std::int64_t, 5> all{mine.empty() ? INT64_MIN : -mine.first,
                                  mine.empty() ? INT64_MIN : mine.last, -file_->least_latency(),
                                  mine.bytes, mine.pieces};
  comm_.max_and_sum(all, 3);
  latency_ = -all[2];
  options_.bulk = batches_ || answers_slowly();
  if (all[3] == 0) return {};
  return {-all[0], all[1], all[3], all[4]};
}

// What the quickest write of all ranks took: one that is slow by chance does not count.
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
    // Where it fails on a rank it fails on its node.
    const auto failed = attempt_together(topology_->node(), [&] {
      slots_.emplace(*topology_, window, ring_sizes(node_counts()));
      if (one_node()) return;
      mailbox_.emplace(comm_, mailbox_limit(options_), largest_message(window));
    });
    if (comm_.all_reduce(!failed && slots_->ok(), Reduce::min)) {
      window_ = window;
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

void AggregatedTransport::write_all(ExtentStream& extents) { carry_out(extents, true); }

void AggregatedTransport::read_all(ExtentStream& extents) { carry_out(extents, false); }

void AggregatedTransport::carry_out(ExtentStream& extents, bool writing) {
  failure_.reset();
  overlapped_ = false;
  if (topology_ == nullptr) use_nodes(options_.ranks_per_node);
  // Behind it all are here, so that those of a node may wait for each other.
  const OperationTotal total = total_of(extents);
  if (total.bytes == 0) return;
  if (carried_out_directly(total, node_counts(), options_, writing)) {
    ++direct_operations_;
    if (more_) {  // what is under way comes first
      finish_behind();
      comm_.barrier();  // behind it what any rank had under way is in the file
    }
    attempt_into(failure_, [&] { writing ? write(extents) : read(extents); });
  } else {
    ++aggregated_operations_;
    set_up(total);
    slots_->watch_overlaps(writing && options_.bulk);
    // What it throws all ranks have agreed on; but threads may still be writing.
    attempt_into(failure_, [&] {
      through_windows(window_grid_for(total, node_counts(), options_, window_), total, extents,
                      writing);
    });
  }
  more_ ? void(may_be_behind_ = may_be_behind_ || options_.bulk) : finish_behind();
  StepTimer timer(report_, Step::wait);
  std::array<std::int64_t, 1> overlapped{slots_ && slots_->take_overlapped()};
  agree_on_error(comm_, failure_, overlapped, Reduce::max);
  overlapped_ = overlapped[0] != 0;
}

// Windows are looked at in parts, so that what ranks keep of them is small however large the file.
// Where one node mostly covers them, looking closer at who has pieces where would cost more than
// visiting a few in vain.
void AggregatedTransport::through_windows(const WindowGrid& grid, const OperationTotal& total,
                                          ExtentStream& extents, bool writing) {
  WindowSite site{comm_.rank(), *topology_, *slots_, mailbox_ ? &*mailbox_ : nullptr,
                  report_,      failure_,   {},      {}};
  site.write_out = [this](const Slots::Use& use) { finish_write(use); };
  site.read_in = [this](const Slots::Use& use) {
    attempt_into(failure_, [&] { slots_->read_in(use, *file_, options_.hole_threshold, report_); });
  };
  const bool by_all = one_node() && (grid.count <= slots_->rings().home ||
                                     total.bytes >= (total.last - total.first) / 2);
  std::unique_ptr<ExtentStream> first_walk, second_walk;
  std::optional<ExtentReader> looks;
  ReadWalks walks;
  auto failed = attempt_to([&] {
    if (!by_all) looks.emplace(*(first_walk = extents.clone()));
    if (!writing) walks.marks.emplace(*(second_walk = extents.clone()));
    walks.copies.emplace(extents);
  });
  for (Offset begin = total.first;;) {
    const WindowGrid part = grid.part_from(begin);
    std::optional<WindowWalk> walk;
    {
      StepTimer timer(report_, Step::plan);
      if (by_all && part.count <= slots_->rings().home) {
        // Needs no memory, so that a small operation has no agreement to pay for: a rank that has
        // failed takes part without pieces.
        visit_all(part, topology_->node().size(), visits_);
        walk.emplace(site, part, visits_, writing);
        if (failed) {
          failure_ = std::exchange(failed, std::nullopt);
          walks.marks.reset();
          walks.copies.reset();
        }
      } else {
        std::optional<TouchedWindows> touched;
        if (!failed) {
          failed = attempt_to([&] {
            if (by_all) return visit_all(part, topology_->node().size(), visits_);
            touched.emplace(part);
            looks->for_each_before(part.end(),
                                   [&](const Extent& e) { touched->mark(e.offset, e.end()); });
          });
        }
        if (!by_all)
          failed = plan_visits(comm_, *topology_, part, touched ? &*touched : nullptr,
                               std::move(failed), visits_);
        if (!failed) failed = attempt_to([&] { walk.emplace(site, part, visits_, writing); });
        agree_on_error(comm_, failed);
      }
      report_[Counter::windows] += static_cast<std::int64_t>(visits_.size());
    }
    writing ? walk->write(walks.copies) : walk->read(walks);
    begin = part.end();
    if (begin >= grid.end()) return;
    if (by_all) continue;
    // Nobody has pieces in what lies between.
    constexpr Offset none = std::numeric_limits<Offset>::max();
    failed = attempt_to([&] { begin = looks->next().value_or(none); });
    begin = comm_.all_reduce(failed ? none : begin, Reduce::min);
    if (begin != none) continue;
    keep_first(failure_, std::move(failed));
    return;
  }
}

void AggregatedTransport::finish_write(const Slots::Use& use) {
  // Holes are left alone where what is read of them may be old when it is written: alone, nothing
  // tells whether somebody else writes there; and where caches are weak, other nodes may have bytes
  // of them under way.
  const bool may_bridge = comm_.size() > 1 && !file_->has_weak_caches();
  const Count bridge = may_bridge ? options_.hole_threshold : 0;
  if (options_.bulk) return write_behind(use, bridge);
  attempt_into(failure_, [&] { slots_->write_out(use, *file_, bridge, report_); });
}

// Where a system call takes long, the others would wait for what this rank has for the next
// windows. Without a thread to be had the window is written here and now.
void AggregatedTransport::write_behind(const Slots::Use& use, Count bridge) {
  const auto here = attempt_to([&] {
    file_->ensure_open();
    Behind& behind = behind_.emplace_back(Behind{report_.beside(), {}});
    behind.done = std::async(std::launch::async, [this, use, bridge, &behind] {
      return attempt_to([&] { slots_->write_out(use, *file_, bridge, behind.report); });
    });
  });
  if (here) attempt_into(failure_, [&] { slots_->write_out(use, *file_, bridge, report_); });
}

void AggregatedTransport::expect_more(bool more) {
  const bool behind = std::exchange(more_, more) && may_be_behind_;
  if (more || !behind) return;
  may_be_behind_ = false;
  failure_.reset();
  finish_behind();
  agree_on_error(comm_, failure_);
}

void AggregatedTransport::finish_behind() {
  StepTimer timer(report_, Step::wait);
  for (Behind& behind : behind_) {
    if (!behind.done.valid()) continue;
    keep_first(failure_, behind.done.get());
    report_.take_over(behind.report);
  }
  behind_.clear();
}

namespace {

constexpr Count kib = 1024, gib = kib * kib * kib;

constexpr KeySpec keys[] = {
    count_key({"aggregators", "a number, at least 0", "0",
               "At most how many nodes take windows for the others under transport aggregated; "
               "within a node all ranks share the work. 0: every node.",
               "engine"},
              &Method::aggregators, 0, std::numeric_limits<int>::max()),
    size_key({"window_size", "bytes, 4KiB to 1GiB", "0",
              "Bytes of one aggregation window at most; file domains are cut at multiples of it. "
              "Unless given: 512 KiB on one node, 1 MiB between nodes, never less than a stripe.",
              "engine"},
             &Method::window_size, 4 * kib, gib),
    plain_key({"cb_nodes", "a number, at least 1", "not given",
               "MPI-IO's number of aggregators; stands for aggregators where that is not given. "
               "Passed on.",
               "mpi-io"},
              KeyKind::kept, KeyFamily::mpi_io),
    plain_key({"cb_buffer_size", "bytes, at least 1", "not given",
               "MPI-IO's collective buffer; stands for window_size where that is not given. Passed "
               "on.",
               "mpi-io"},
              KeyKind::kept, KeyFamily::mpi_io),
};

std::unique_ptr<Transport> make(const Comm& comm, std::shared_ptr<File> file,
                                const TransportOptions& options, Report& report) {
  return std::make_unique<AggregatedTransport>(comm, std::move(file), options, report);
}

}  // namespace

// carried_out_directly() tells which of the two it is.
extern const TransportEntry auto_transport{
    {"auto", "aggregated, or each rank its own where pieces are large enough", 0}, make};
extern const TransportEntry aggregated_transport{
    {"aggregated", "Forebay's own two-phase exchange, where ranks write for each other", 40, keys},
    make};

}  // namespace forebay
