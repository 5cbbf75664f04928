#include "bundles/joint_write.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "base/attempt.h"
#include "bundles/bundle.h"
#include "bundles/each_at_once.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "transport/aggregation_rules.h"
#include "transport/merged_files.h"
#include "transport/transport.h"

namespace forebay {

namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

/// Returns the rank that makes a file visible if no rank has written the file's beginning. Without
/// groups it is rank 0, which has the files open, unless they are too many for one rank.
Rank root_of(const BundlePlan& plan, std::size_t file) {
  constexpr std::size_t most = 64;
  return plan.groups.size() == 1
             ? static_cast<Rank>(file / most % static_cast<std::size_t>(plan.ranks))
             : plan.root(file);
}

Rank owner_of(const BundlePlan& plan, const BundleWindows& windows, Count position) {
  if (plan.groups.size() == 1) return static_cast<Rank>(position % plan.ranks);
  const auto [file, window] = windows.at(position);
  return plan.owner(file, window, windows.count_of(file));
}

Count window_size(const JointFacts& facts, std::span<StageMember* const> files, const Comm& comm,
                  const BundleOptions& options, bool bulk) {
  OperationTotal total;
  for (const BundleWindows::Range& range : facts.ranges)
    if (__builtin_add_overflow(total.last, range.last - range.first, &total.last))
      total.last = std::numeric_limits<Offset>::max();
  TransportOptions chosen;
  chosen.bulk = bulk;
  chosen.buffer_limit = options.buffer_limit;
  chosen.window_size = options.window_size;
  for (const StageMember* file : files)
    chosen.striping_unit = std::max(chosen.striping_unit, file->method().striping_unit);
  const Topology& topology = Topology::of(comm, options.ranks_per_node);
  return window_size_for(total, {comm.size(), topology.nodes(), true}, chosen, 0);
}

}  // namespace

JointFacts agree_on_facts(const Comm& comm, std::span<StageMember* const> files,
                          std::span<const std::unique_ptr<ExtentStream>> streams) {
  constexpr std::size_t maxima = 3;
  std::vector<std::int64_t> most(files.size() * maxima + 1), sums(files.size() + 1);
  for (std::size_t f = 0; f < files.size(); ++f) {
    const StreamSummary mine = streams[f]->summary();
    const WaitingFacts waits = files[f]->waiting();
    most[maxima * f] = mine.empty() ? none : -mine.first;
    most[maxima * f + 1] = mine.empty() ? none : mine.last;
    most[maxima * f + 2] = waits.numrecs;
    most.back() |= std::int64_t{waits.operations > 1};
    sums[f] = mine.bytes;
    sums.back() += mine.pieces;
  }
  comm.all_reduce(most, Reduce::max);
  comm.all_reduce(sums, Reduce::sum);
  JointFacts facts;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const bool any = sums[f] > 0;
    facts.ranges.push_back(any ? BundleWindows::Range{-most[maxima * f], most[maxima * f + 1]}
                               : BundleWindows::Range{});
    facts.numrecs.push_back(most[maxima * f + 2]);
    facts.bytes.push_back(sums[f]);
  }
  facts.pieces = sums.back();
  facts.several = most.back() != 0;
  return facts;
}

JointWrite::JointWrite(const Comm& comm, std::vector<StageMember*> files,
                       std::vector<std::unique_ptr<ExtentStream>> streams, JointFacts facts,
                       BundlePlan plan, const BundleOptions& options, std::int64_t latency,
                       WriteQueue* queue, Report& report)
    : comm_(comm),
      files_(std::move(files)),
      facts_(std::move(facts)),
      plan_(std::move(plan)),
      began_(std::chrono::steady_clock::now()) {
  // For a store of unknown latency, the choice is the one that costs least if it is wrong.
  const bool unknown = latency == std::numeric_limits<std::int64_t>::max();
  slow_ = unknown || is_slow(latency);
  const bool bulk = slow_ || facts_.several;
  std::vector<ByteFile*> bytes_of;
  for (StageMember* file : files_) bytes_of.push_back(file->waiting_file());

  windows_ = std::make_unique<BundleWindows>(facts_.ranges,
                                             window_size(facts_, files_, comm, options, bulk));
  merged_ = std::make_shared<MergedFile>(files_[0]->path(), std::move(bytes_of), *windows_, queue);
  MergedStream extents(std::move(streams), *windows_);
  Count hole_threshold = std::numeric_limits<Count>::max();
  for (const StageMember* file : files_)
    hole_threshold = std::min(hole_threshold, file->method().hole_threshold);
  if (windows_->count() == 0) return;
  std::optional<WriteQueue::Open> open;
  if (queue) open.emplace(*queue);
  if (plan_.scheme == BundleScheme::ips) {
    IsolatedOutcome outcome = write_isolated(comm, extents, plan_, *windows_, *merged_,
                                             {options.buffer_limit, hole_threshold, slow_}, report);
    overlapped_ = facts_.several && outcome.overlapped;
    traffic_ = std::move(outcome.traffic);
    for (const IsolatedTraffic& of_file : traffic_)
      messages_in_ += of_file.messages + of_file.aggregation_messages;
    return;
  }
  // Otherwise each writing rank would have to open most files, which takes long if calls are slow.
  const PlannedWindows planned{windows_->size(),
                               [&](Count position) { return owner_of(plan_, *windows_, position); },
                               &messages_in_, slow_};
  TransportOptions to;
  // Overlaps are detected in windows only.
  to.kind = plan_.groups.size() == 1 && !facts_.several ? "auto" : "aggregated";
  to.bulk = bulk;
  to.buffer_limit = options.buffer_limit;
  to.hole_threshold = hole_threshold;
  to.ranks_per_node = options.ranks_per_node;
  to.planned = &planned;
  const auto transport = make_transport(comm, merged_, to, report);
  transport->write_all(extents);
  overlapped_ = facts_.several && transport->overlapped();
  transport->close();
}

JointOutcome JointWrite::finish() {
  const std::size_t n = files_.size();
  std::vector<std::int64_t> codes(2 * n + 1);
  const auto note = [&](std::size_t f, const std::optional<Error>& failed) {
    if (failed) codes[f] = std::min<std::int64_t>(codes[f], to_int(failed->code()));
  };
  merged_->finish_later();
  for (std::size_t f = 0; f < n; ++f) {
    note(f, merged_->failure(f));
    if (merged_->wrote_begin(f)) codes[n + f] = -1 - comm_.rank();
  }
  codes.back() = merged_->least_latency(true);
  comm_.all_reduce(codes, Reduce::min);
  JointOutcome outcome;
  outcome.latency = codes.back();
  outcome.codes.resize(n, to_int(Errc::ewrite));
  if (overlapped_) return outcome;

  // After all values comes what makes them visible. The rank that wrote the first stripe does it,
  // because it has the file open.
  std::vector<std::size_t> mine;
  for (std::size_t f = 0; f < n; ++f) {
    const std::int64_t writer = codes[n + f] < 0 ? -1 - codes[n + f] : root_of(plan_, f);
    if (codes[f] == 0 && writer == comm_.rank()) mine.push_back(f);
  }
  // Times in nanoseconds: of the whole operation, and for each file its begin, and the negatives of
  // its end and of when it was visible.
  const auto since = [this] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - began_).count();
  };
  codes.resize(4 * n + 1);
  outcome.times.resize(n);  // after the reduction nothing allocates
  for (std::size_t f = 0; f < n; ++f) {
    const MergedFile::Span span = merged_->span(f);
    codes[n + f] = span.begin;
    codes[2 * n + f] = -span.end;
  }
  each_at_once(mine, slow_, [&](std::size_t f) {
    note(f, attempt_to([&] { files_[f]->publish_alone(facts_.numrecs[f]); }));
    codes[3 * n + f] = -since();
  });
  codes.back() = -since();
  comm_.all_reduce(codes, Reduce::min);
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  outcome.seconds = seconds(-codes.back());
  for (std::size_t f = 0; f < n; ++f) {
    const bool any = codes[2 * n + f] != 0;
    outcome.times[f] = {any ? seconds(codes[n + f]) : 0, seconds(-codes[2 * n + f]),
                        seconds(-codes[3 * n + f])};
  }
  codes.resize(n);
  outcome.codes = std::move(codes);
  return outcome;
}

}  // namespace forebay
