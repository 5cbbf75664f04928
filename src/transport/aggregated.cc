#include "transport/aggregated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "transport/direct_io.h"

namespace forebay {

namespace {

constexpr Count smallest_window = 64 << 10;
constexpr Count cached_window = 512 << 10;
constexpr Count shipped_window = 4 << 20;
constexpr Count bulk_window = 1 << 20, bulk_piece = 4 << 20;

// Above these sizes a piece is worth a system call of its own (docs/performance.md). Between nodes
// a file system's locks make interleaved writers dear, so pieces must be larger there.
constexpr Count direct_piece_on_one_node = 16 << 10;
constexpr Count direct_write_piece = 256 << 10;
constexpr Count direct_read_piece = 128 << 10;

/// A message about one window: header, then (offset, length) pairs, then for writes the bytes of
/// all pieces.
struct WindowHeader {
  std::int64_t window;
  std::int64_t pieces;
};
struct WirePiece {
  std::uint32_t offset;  // within the window
  std::uint32_t length;
};

/// Collects pieces for a remote window.
class WindowMessage {
 public:
  void add(Offset window_begin, const Extent& e, bool with_bytes) {
    const auto at = static_cast<std::uint32_t>(e.offset - window_begin);
    if (!pieces_.empty() && pieces_.back().offset + pieces_.back().length == at) {
      pieces_.back().length += static_cast<std::uint32_t>(e.length);
    } else {
      pieces_.push_back({at, static_cast<std::uint32_t>(e.length)});
    }
    if (!with_bytes) return;
    const std::size_t used = payload_.size();
    payload_.resize(used + static_cast<std::size_t>(e.length));
    copy_out(payload_.data() + used, e);
  }
  bool empty() const { return pieces_.empty(); }

  std::vector<std::byte> finish(Count window) {
    const WindowHeader header{window, static_cast<std::int64_t>(pieces_.size())};
    const std::size_t table = pieces_.size() * sizeof(WirePiece);
    std::vector<std::byte> out(sizeof header + table + payload_.size());
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, pieces_.data(), table);
    if (!payload_.empty())
      std::memcpy(out.data() + sizeof header + table, payload_.data(), payload_.size());
    return out;
  }

 private:
  std::vector<WirePiece> pieces_;
  std::vector<std::byte> payload_;
};

WindowHeader header_of(std::span<const std::byte> message) {
  WindowHeader header;
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

/// Calls f(offset in window, length) for every piece of a message.
template <typename F>
void for_each_piece(std::span<const std::byte> message, F&& f) {
  const WindowHeader header = header_of(message);
  const std::byte* at = message.data() + sizeof header;
  for (std::int64_t i = 0; i < header.pieces; ++i, at += sizeof(WirePiece)) {
    WirePiece piece;
    std::memcpy(&piece, at, sizeof piece);
    f(static_cast<Count>(piece.offset), static_cast<Count>(piece.length));
  }
}

}  // namespace

AggregatedTransport::AggregatedTransport(const Comm& comm, std::shared_ptr<File> file,
                                         const TransportOptions& options, Report& report)
    : comm_(comm), file_(std::move(file)), options_(options), report_(report) {
  // use_nodes() may be called for a second time where no rank may fail alone.
  of_home_.reserve(static_cast<std::size_t>(comm.size()));
  windows_.reserve(slot_count);
}

void AggregatedTransport::write(ExtentStream& extents) { write_directly(*file_, extents, report_); }

void AggregatedTransport::write_beside(ExtentStream& extents, Report& report) {
  write_directly(*file_, extents, report);
}

void AggregatedTransport::read(ExtentStream& extents) {
  read_directly(*file_, extents, options_.hole_threshold, report_);
}

std::string AggregatedTransport::reasons() const {
  return fmt::format(
      "{} collective operations aggregated, {} direct (pieces large enough, or a single rank){}{}",
      aggregated_operations_, direct_operations_, shares_ ? "" : "; ",
      shares_ ? "" : without_node_memory);
}

AggregatedTransport::Total AggregatedTransport::total_of(const ExtentStream& extents) {
  StepTimer timer(report_, Step::plan);
  const StreamSummary mine = extents.summary();
  std::array<std::int64_t, 2> bounds{mine.empty() ? INT64_MIN : -mine.first,
                                     mine.empty() ? INT64_MIN : mine.last};
  std::array<std::int64_t, 2> sums{mine.bytes, mine.pieces};
  comm_.all_reduce(bounds, Reduce::max);
  comm_.all_reduce(sums, Reduce::sum);
  if (sums[0] == 0) return {};
  return {-bounds[0], bounds[1], sums[0], sums[1]};
}

// Ranks that interleave finely need aggregation. Where the average piece is worth a system call,
// moving it through another rank's buffer only costs; unless ranks read the same bytes, which one
// read can serve.
bool AggregatedTransport::directly(const Total& total, bool write) {
  if (options_.kind == "aggregated") return false;
  if (comm_.size() == 1) return true;
  if (topology_ == nullptr) use_nodes(options_.ranks_per_node);
  const Count piece = total.bytes / std::max<Count>(total.pieces, 1);
  if (write && options_.bulk) return piece >= bulk_piece;
  if (write) return piece >= (one_node() ? direct_piece_on_one_node : direct_write_piece);
  return piece >= (one_node() ? direct_piece_on_one_node : direct_read_piece) &&
         total.bytes <= (total.last - total.first) + (total.last - total.first) / 2;
}

void AggregatedTransport::use_nodes(int ranks_per_node) {
  const Topology& found = Topology::of(comm_, ranks_per_node);
  of_home_.resize(static_cast<std::size_t>(found.nodes()));
  topology_ = &found;
}

// On one node a window that fits the cache is quickest; between nodes a window is also the unit of
// the file system's locks and of messages, so it is larger, and never smaller than a stripe. Small
// operations get small windows: their memory is quicker to set up. Windows only grow, so that
// set-up is paid a few times at most. In bulk a window is what one system call writes.
Count AggregatedTransport::window_for(const Total& total) const {
  Count largest = options_.window_size;
  if (largest == 0 && one_node()) largest = options_.bulk ? bulk_window : cached_window;
  if (largest == 0 && !shares_) largest = cached_window;  // each rank has its own, in scarce memory
  if (largest == 0) largest = shipped_window;
  const Count most = std::max<Count>(4096, options_.buffer_limit / (2 * slot_count));
  largest = std::min(std::max(largest, options_.striping_unit), most);
  Count window = std::max<Count>(options_.striping_unit, std::min(smallest_window, most));
  while (window < (total.last - total.first) / slot_count && window < largest) window *= 2;
  return std::max(round_up(std::min(window, largest), 4096), window_);
}

void AggregatedTransport::set_up(const Total& total) {
  StepTimer timer(report_, Step::plan);
  if (topology_ == nullptr) use_nodes(options_.ranks_per_node);
  const Count window = window_for(total);
  if (slots_ && window == window_) return;
  finish_behind();  // its windows are in the slots
  slots_.reset();
  comm_.meet();  // all are here: those of a node wait for each other now
  for (;;) {
    // Where it fails on a rank it fails on its node.
    const auto failed = attempt_together(topology_->node(),
                                         [&] { slots_.emplace(*topology_, window, slot_count); });
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

WindowGrid AggregatedTransport::grid_over(const Total& total) const {
  int homes = topology_->nodes();
  if (options_.aggregators > 0) homes = std::min(homes, options_.aggregators);
  return WindowGrid::over(total.first, total.last, window_, homes);
}

Rank AggregatedTransport::delegate(const WindowGrid& grid, Count window) const {
  const auto ranks = topology_->ranks_of(grid.home_of(window));
  return ranks[static_cast<std::size_t>(grid.delegate_of(window, static_cast<int>(ranks.size())))];
}

// The list is made on all ranks or on none. What a small operation needs for it is there already,
// so that it has no agreement to pay for.
std::span<const Count> AggregatedTransport::touched_windows(const WindowGrid& grid,
                                                            const Total& total,
                                                            ExtentStream& extents) {
  StepTimer timer(report_, Step::plan);
  windows_.clear();
  if (grid.count <= slot_count) {
    for (Count i = 0; i < grid.count; ++i) windows_.push_back(grid.first + i);
    report_[Counter::windows] += grid.count;
    return windows_;
  }
  // Mostly covered: looking closer would cost more than visiting a few empty windows.
  const bool all = total.bytes >= (total.last - total.first) / 2;
  std::optional<TouchedWindows> touched;
  auto failed = attempt_to([&] {
    touched.emplace(grid);
    if (all) return touched->mark_all();
    std::array<Extent, 256> batch;
    while (const std::size_t n = extents.next(batch)) {
      for (std::size_t i = 0; i < n; ++i) touched->mark(batch[i].offset, batch[i].end());
    }
    extents.rewind();
  });
  if (!all) {
    agree_on_error(comm_, failed);
    comm_.all_reduce_or(touched->words());
  }
  if (!failed)
    failed = attempt_to([&] { touched->for_each([&](Count w) { windows_.push_back(w); }); });
  agree_on_error(comm_, failed);
  report_[Counter::windows] += static_cast<std::int64_t>(windows_.size());
  return windows_;
}

// A failing rank keeps step with the others, or they would wait for it for ever; what it met is
// thrown at the end.
template <typename F>
bool AggregatedTransport::guarded(F&& f) {
  const auto failed = attempt_to(f);
  if (failed && !failure_) failure_ = failed;
  return !failed;
}

// A walk that fails is over: this rank goes on through the windows, with no pieces.
template <typename F>
void AggregatedTransport::walk(std::optional<ExtentReader>& reader, Offset limit, F&& f) {
  if (reader && !guarded([&] { reader->for_each_before(limit, f); })) reader.reset();
}

void AggregatedTransport::write_all(ExtentStream& extents) { carry_out(extents, true); }

void AggregatedTransport::read_all(ExtentStream& extents) { carry_out(extents, false); }

void AggregatedTransport::carry_out(ExtentStream& extents, bool writing) {
  failure_.reset();
  const Total total = total_of(extents);
  if (total.bytes == 0) return;
  if (directly(total, writing)) {
    ++direct_operations_;
    if (more_) {  // what is under way comes first
      finish_behind();
      comm_.barrier();  // behind it what any rank had under way is in the file
    }
    guarded([&] { writing ? write(extents) : read(extents); });
  } else {
    ++aggregated_operations_;
    set_up(total);
    const WindowGrid grid = grid_over(total);
    const auto windows = touched_windows(grid, total, extents);
    if (writing) {
      one_node() ? write_within_node(grid, windows, extents)
                 : write_over_nodes(grid, windows, extents);
    } else {
      one_node() ? read_within_node(grid, windows, extents)
                 : read_over_nodes(grid, windows, extents);
    }
  }
  if (!more_) finish_behind();
  StepTimer timer(report_, Step::wait);
  agree_on_error(comm_, failure_);
}

void AggregatedTransport::place_all(const Slots::Use& use, std::optional<ExtentReader>& reader,
                                    Offset limit) {
  StepTimer timer(report_, Step::pack);
  Slots::Placer placer(*slots_, use);
  walk(reader, limit, [&](const Extent& e) { placer.add(e); });
}

void AggregatedTransport::finish_write(const Slots::Use& use) {
  if (!slots_->arrive(use)) return;
  // Holes are left alone where what is read of them may be old when it is written: alone, nothing
  // tells whether somebody else writes there; and where caches are weak, other nodes may have bytes
  // of them under way.
  const bool may_bridge = comm_.size() > 1 && !file_->has_weak_caches();
  const Count bridge = may_bridge ? options_.hole_threshold : 0;
  if (options_.bulk) return write_behind(use, bridge);
  guarded([&] { slots_->write_out(use, *file_, bridge, report_); });
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
  if (here) guarded([&] { slots_->write_out(use, *file_, bridge, report_); });
}

void AggregatedTransport::expect_more(bool more) {
  more_ = more;
  if (more || !options_.bulk) return;
  failure_.reset();
  finish_behind();
  agree_on_error(comm_, failure_);
}

void AggregatedTransport::finish_behind() {
  StepTimer timer(report_, Step::wait);
  for (Behind& behind : behind_) {
    if (!behind.done.valid()) continue;
    const auto error = behind.done.get();
    if (error && !failure_) failure_ = error;
    report_.take_over(behind.report);
  }
  behind_.clear();
}

void AggregatedTransport::write_within_node(const WindowGrid& grid, std::span<const Count> windows,
                                            ExtentStream& extents) {
  std::optional<ExtentReader> reader(extents);
  for (Count w : windows) {
    Slots::Use use;
    {
      StepTimer timer(report_, Step::wait);
      use = slots_->acquire(grid.begin_of(w));
    }
    place_all(use, reader, grid.end_of(w));
    finish_write(use);
  }
}

// A round has at most one window a node, as many as `buffer_limit` allows for messages, and never
// more windows of one home than that node has slots.
std::span<const Count> AggregatedTransport::take_round(const WindowGrid& grid,
                                                       std::span<const Count>& windows) {
  const Count fit = std::max<Count>(1, options_.buffer_limit / 2 / window_);
  const auto most = static_cast<std::size_t>(std::min<Count>(fit, topology_->nodes()));
  std::fill(of_home_.begin(), of_home_.end(), 0);
  std::size_t n = 0;
  while (n < windows.size() && n < most &&
         ++of_home_[static_cast<std::size_t>(grid.home_of(windows[n]))] <= slot_count) {
    ++n;
  }
  const auto round = windows.first(n);
  windows = windows.subspan(n);
  return round;
}

void AggregatedTransport::write_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                                           ExtentStream& extents) {
  std::optional<ExtentReader> reader(extents);
  while (!windows.empty()) {
    const auto round = take_round(grid, windows);
    LocalUses uses;
    std::vector<Message> outgoing;
    for (Count w : round) {
      if (is_local(grid, w)) {
        place_all(uses.add(w, slots_->acquire(grid.begin_of(w))), reader, grid.end_of(w));
        continue;
      }
      StepTimer timer(report_, Step::pack);
      WindowMessage message;
      walk(reader, grid.end_of(w),
           [&](const Extent& e) { message.add(grid.begin_of(w), e, true); });
      if (reader && !message.empty())
        guarded([&] { outgoing.push_back({delegate(grid, w), message.finish(w)}); });
    }
    guarded([&] { ship(outgoing, uses); });
    for (const auto& [w, use] : uses) finish_write(use);
  }
}

void AggregatedTransport::ship(std::span<const Message> outgoing, const LocalUses& uses) {
  StepTimer timer(report_, Step::exchange);
  report_[Counter::messages] += static_cast<std::int64_t>(outgoing.size());
  for (const Message& m : outgoing)
    report_[Counter::message_bytes] += static_cast<std::int64_t>(m.bytes.size());
  sparse_exchange(comm_, outgoing, [&](Rank, std::span<const std::byte> message) {
    const WindowHeader header = header_of(message);
    const auto& use = uses.at(header.window);
    const std::byte* data = message.data() + sizeof header +
                            static_cast<std::size_t>(header.pieces) * sizeof(WirePiece);
    Slots::Placer placer(*slots_, use);
    for_each_piece(message, [&](Count offset, Count length) {
      placer.add_bytes(use.begin + offset, data, length);
      data += length;
    });
  });
}

void AggregatedTransport::finish_marking(const Slots::Use& use) {
  if (slots_->arrive(use))
    guarded([&] { slots_->read_in(use, *file_, options_.hole_threshold, report_); });
}

// Marks run ahead of copies by as many windows as there are slots, so that reading overlaps
// copying.
void AggregatedTransport::read_within_node(const WindowGrid& grid, std::span<const Count> windows,
                                           ExtentStream& extents) {
  Walks walks = walks_of(extents);
  constexpr std::size_t lead = slot_count - 1;
  std::array<Slots::Use, slot_count> uses;
  for (std::size_t i = 0; i < windows.size() + lead; ++i) {
    if (i < windows.size()) {
      Slots::Use& use = uses[i % slot_count];
      {
        StepTimer timer(report_, Step::wait);
        use = slots_->acquire(grid.begin_of(windows[i]));
      }
      {
        StepTimer timer(report_, Step::plan);
        walk(walks.marks, grid.end_of(windows[i]),
             [&](const Extent& e) { slots_->need(use, e.offset, e.length); });
      }
      finish_marking(use);
    }
    if (i < lead) continue;
    const Slots::Use& use = uses[(i - lead) % slot_count];
    {
      StepTimer timer(report_, Step::wait);
      slots_->wait_until_read(use);
    }
    StepTimer timer(report_, Step::unpack);
    walk(walks.copies, grid.end_of(windows[i - lead]),
         [&](const Extent& e) { copy_in(e, slots_->data(use, e.offset)); });
    slots_->depart(use);
  }
}

AggregatedTransport::Walks AggregatedTransport::walks_of(ExtentStream& extents) {
  Walks walks;
  if (guarded([&] { walks.ahead = extents.clone(); })) {
    walks.marks.emplace(*walks.ahead);
    walks.copies.emplace(extents);
  }
  return walks;
}

void AggregatedTransport::read_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                                          ExtentStream& extents) {
  Walks walks = walks_of(extents);
  while (!windows.empty()) {
    const auto round = take_round(grid, windows);
    read_round(grid, round, walks);
  }
}

void AggregatedTransport::read_round(const WindowGrid& grid, std::span<const Count> round,
                                     Walks& walks) {
  LocalUses uses;
  std::vector<Message> wishes;
  for (Count w : round) {
    if (is_local(grid, w)) {
      const Slots::Use& use = uses.add(w, slots_->acquire(grid.begin_of(w)));
      walk(walks.marks, grid.end_of(w),
           [&](const Extent& e) { slots_->need(use, e.offset, e.length); });
      continue;
    }
    WindowMessage message;
    walk(walks.marks, grid.end_of(w),
         [&](const Extent& e) { message.add(grid.begin_of(w), e, false); });
    if (walks.marks && !message.empty())
      guarded([&] { wishes.push_back({delegate(grid, w), message.finish(w)}); });
  }
  std::vector<Held> held;
  guarded([&] {
    StepTimer timer(report_, Step::exchange);
    report_[Counter::messages] += static_cast<std::int64_t>(wishes.size());
    sparse_exchange(comm_, wishes, [&](Rank from, std::span<const std::byte> message) {
      const auto& use = uses.at(header_of(message).window);
      for_each_piece(message, [&](Count offset, Count length) {
        slots_->need(use, use.begin + offset, length);
      });
      held.push_back({from, {message.begin(), message.end()}});
    });
  });
  for (const auto& [w, use] : uses) finish_marking(use);
  for (const auto& [w, use] : uses) slots_->wait_until_read(use);
  const auto received = answer(held, uses);
  StepTimer timer(report_, Step::unpack);
  for (Count w : round) {
    if (is_local(grid, w)) {
      const Slots::Use& use = uses.at(w);
      walk(walks.copies, grid.end_of(w),
           [&](const Extent& e) { copy_in(e, slots_->data(use, e.offset)); });
      slots_->depart(use);
      continue;
    }
    const auto found = received.find(w);
    std::span<const std::byte> left;
    if (found != received.end()) left = found->second;
    walk(walks.copies, grid.end_of(w), [&](const Extent& e) {
      const auto length = static_cast<std::size_t>(e.length);
      if (left.size() < length) throw Error(Errc::enomem, "another rank could not answer");
      copy_in(e, left.data());
      left = left.subspan(length);
    });
  }
}

std::map<Count, std::vector<std::byte>> AggregatedTransport::answer(std::span<const Held> held,
                                                                    const LocalUses& uses) {
  std::vector<Message> answers;
  guarded([&] {
    for (const Held& h : held) {
      const Count w = header_of(h.pieces).window;
      const auto& use = uses.at(w);
      Message answer{h.from, std::vector<std::byte>(sizeof w)};
      std::memcpy(answer.bytes.data(), &w, sizeof w);
      for_each_piece(h.pieces, [&](Count offset, Count length) {
        const std::byte* from = slots_->data(use, use.begin + offset);
        answer.bytes.insert(answer.bytes.end(), from, from + length);
      });
      answers.push_back(std::move(answer));
    }
  });
  std::map<Count, std::vector<std::byte>> received;
  guarded([&] {
    StepTimer timer(report_, Step::exchange);
    for (const Message& m : answers)
      report_[Counter::message_bytes] += static_cast<std::int64_t>(m.bytes.size());
    sparse_exchange(comm_, answers, [&](Rank, std::span<const std::byte> message) {
      Count w;
      std::memcpy(&w, message.data(), sizeof w);
      received[w].assign(message.begin() + sizeof w, message.end());
    });
  });
  return received;
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
              "Unless given: 512 KiB on one node, 4 MiB between nodes, never less than a stripe.",
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

// AggregatedTransport::directly() looks which of the two it is.
extern const TransportEntry auto_transport{
    {"auto", "aggregated, or each rank its own where pieces are large enough", 0}, make};
extern const TransportEntry aggregated_transport{
    {"aggregated", "Forebay's own two-phase exchange, where ranks write for each other", 40, keys},
    make};

}  // namespace forebay
