#include "transport/aggregated.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <system_error>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "transport/direct_io.h"

namespace forebay {

namespace {

constexpr int slot_count = 8;
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
    : comm_(comm), file_(std::move(file)), options_(options), report_(report) {}

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

AggregatedTransport::Total AggregatedTransport::total_of(const StreamSummary& mine) {
  StepTimer timer(report_, Step::plan);
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
  if (!node_) find_nodes(options_.exchange == "message" ? 1 : options_.ranks_per_node);
  const bool one_node = nodes_.size() == 1;
  const Count piece = total.bytes / std::max<Count>(total.pieces, 1);
  if (write && options_.bulk) return piece >= bulk_piece;
  if (write) return piece >= (one_node ? direct_piece_on_one_node : direct_write_piece);
  return piece >= (one_node ? direct_piece_on_one_node : direct_read_piece) &&
         total.bytes <= (total.last - total.first) + (total.last - total.first) / 2;
}

void AggregatedTransport::find_nodes(int ranks_per_node) {
  node_ = comm_.split_node(ranks_per_node);
  // A node is named by its lowest rank.
  std::int64_t leader = comm_.rank();
  node_->broadcast(&leader, sizeof leader);
  const auto leaders = comm_.all_gather(leader);
  std::map<std::int64_t, int> index;
  for (std::int64_t l : leaders) index.emplace(l, 0);
  int next = 0;
  for (auto& [l, i] : index) i = next++;
  nodes_.assign(index.size(), {});
  for (Rank r = 0; r < comm_.size(); ++r) {
    nodes_[static_cast<std::size_t>(index[leaders[static_cast<std::size_t>(r)]])].push_back(r);
  }
  node_index_ = index[leader];
}

// On one node a window that fits the cache is quickest; between nodes a window is also the unit of
// the file system's locks and of messages, so it is larger, and never smaller than a stripe. Small
// operations get small windows: their memory is quicker to set up. Windows only grow, so that
// set-up is paid a few times at most. In bulk a window is what one system call writes.
Count AggregatedTransport::window_for(const Total& total) const {
  Count largest = options_.window_size;
  if (largest == 0 && nodes_.size() == 1) largest = options_.bulk ? bulk_window : cached_window;
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
  if (!node_) find_nodes(options_.exchange == "message" ? 1 : options_.ranks_per_node);
  const Count window = window_for(total);
  if (slots_ && window == window_) return;
  finish_behind();  // its windows are in the slots
  slots_.reset();
  for (;;) {
    auto slots = std::make_unique<Slots>(*node_, window, slot_count);
    if (comm_.all_reduce(slots->ok(), Reduce::min)) {
      slots_ = std::move(slots);
      window_ = window;
      return;
    }
    slots.reset();
    if (node_->size() == 1 && nodes_.size() == static_cast<std::size_t>(comm_.size())) {
      throw Error(Errc::enomem, "no memory for the aggregation windows", "lower window_size");
    }
    find_nodes(1);  // every rank is a node of its own and sends messages
    shares_ = false;
  }
}

WindowGrid AggregatedTransport::grid_over(const Total& total) const {
  int homes = static_cast<int>(nodes_.size());
  if (options_.aggregators > 0) homes = std::min(homes, options_.aggregators);
  return WindowGrid::over(total.first, total.last, window_, homes);
}

Rank AggregatedTransport::delegate(const WindowGrid& grid, Count window) const {
  const auto& ranks = nodes_[static_cast<std::size_t>(grid.home_of(window))];
  return ranks[static_cast<std::size_t>(grid.delegate_of(window, static_cast<int>(ranks.size())))];
}

std::vector<Count> AggregatedTransport::touched_windows(const WindowGrid& grid, const Total& total,
                                                        ExtentStream& extents) {
  StepTimer timer(report_, Step::plan);
  TouchedWindows touched(grid);
  // Mostly covered: looking closer would cost more than visiting a few empty windows.
  if (grid.count <= slot_count || total.bytes >= (total.last - total.first) / 2) {
    touched.mark_all();
  } else {
    std::vector<Extent> batch(256);
    while (const std::size_t n = extents.next(batch)) {
      for (std::size_t i = 0; i < n; ++i) touched.mark(batch[i].offset, batch[i].end());
    }
    extents.rewind();
    comm_.all_reduce_or(touched.words());
  }
  std::vector<Count> windows;
  touched.for_each([&](Count w) { windows.push_back(w); });
  report_[Counter::windows] += static_cast<std::int64_t>(windows.size());
  return windows;
}

// A failing rank keeps step with the others, or they would wait for it for ever; what it met is
// thrown at the end.
template <typename F>
void AggregatedTransport::guarded(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (!failure_) failure_ = e;
  } catch (const std::bad_alloc&) {
    if (!failure_) failure_ = Error(Errc::enomem, "out of memory during aggregation");
  }
}

void AggregatedTransport::write_all(ExtentStream& extents) { carry_out(extents, true); }

void AggregatedTransport::read_all(ExtentStream& extents) { carry_out(extents, false); }

void AggregatedTransport::carry_out(ExtentStream& extents, bool writing) {
  const Total total = total_of(extents.summary());
  if (total.bytes == 0) return;
  failure_.reset();
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
    const bool one_node = nodes_.size() == 1;
    if (writing) {
      one_node ? write_within_node(grid, windows, extents)
               : write_over_nodes(grid, windows, extents);
    } else {
      one_node ? read_within_node(grid, windows, extents) : read_over_nodes(grid, windows, extents);
    }
  }
  if (!more_) finish_behind();
  StepTimer timer(report_, Step::wait);
  agree_on_error(comm_, failure_);
}

void AggregatedTransport::place_all(const Slots::Use& use, ExtentReader& reader, Offset limit) {
  StepTimer timer(report_, Step::pack);
  Slots::Placer placer(*slots_, use);
  reader.for_each_before(limit, [&](const Extent& e) { placer.add(e); });
}

void AggregatedTransport::finish_write(const Slots::Use& use) {
  if (!slots_->arrive(use)) return;
  // Alone, nothing tells whether somebody else writes into the holes of this file: leave them
  // untouched.
  const Count bridge = comm_.size() == 1 ? 0 : options_.hole_threshold;
  if (options_.bulk) return write_behind(use, bridge);
  guarded([&] { slots_->write_out(use, *file_, bridge, report_); });
}

// Where a system call takes long, the others would wait for what this rank has for the next
// windows.
void AggregatedTransport::write_behind(const Slots::Use& use, Count bridge) {
  const auto unopened = attempt_to([&] { file_->ensure_open(); });
  Behind& behind = behind_.emplace_back(Behind{report_.beside(), {}});
  const auto write = [this, use, bridge, &behind] {
    return attempt_to([&] { slots_->write_out(use, *file_, bridge, behind.report); });
  };
  const auto here = std::launch::deferred;
  try {
    behind.done = std::async(unopened ? here : std::launch::async, write);
  } catch (const std::system_error&) {  // no more threads to be had
    behind.done = std::async(here, write);
  }
  if (behind.done.wait_for(std::chrono::seconds(0)) == std::future_status::deferred)
    behind.done.wait();
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
  ExtentReader reader(extents);
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
                                                       std::span<const Count>& windows) const {
  const Count fit = std::max<Count>(1, options_.buffer_limit / 2 / window_);
  const auto most =
      static_cast<std::size_t>(std::min<Count>(fit, static_cast<Count>(nodes_.size())));
  std::vector<int> of_home(static_cast<std::size_t>(grid.homes));
  std::size_t n = 0;
  while (n < windows.size() && n < most &&
         ++of_home[static_cast<std::size_t>(grid.home_of(windows[n]))] <= slot_count) {
    ++n;
  }
  const auto round = windows.first(n);
  windows = windows.subspan(n);
  return round;
}

void AggregatedTransport::write_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                                           ExtentStream& extents) {
  ExtentReader reader(extents);
  while (!windows.empty()) {
    const auto round = take_round(grid, windows);
    std::map<Count, Slots::Use> uses;  // local windows of this round
    std::vector<Message> outgoing;
    for (Count w : round) {
      if (is_local(grid, w)) {
        const auto use = slots_->acquire(grid.begin_of(w));
        uses.emplace(w, use);
        place_all(use, reader, grid.end_of(w));
        continue;
      }
      StepTimer timer(report_, Step::pack);
      WindowMessage message;
      reader.for_each_before(grid.end_of(w),
                             [&](const Extent& e) { message.add(grid.begin_of(w), e, true); });
      if (!message.empty()) outgoing.push_back({delegate(grid, w), message.finish(w)});
    }
    {
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
    for (auto& [w, use] : uses) finish_write(use);
  }
}

void AggregatedTransport::finish_marking(const Slots::Use& use) {
  if (slots_->arrive(use))
    guarded([&] { slots_->read_in(use, *file_, options_.hole_threshold, report_); });
}

// Marks run ahead of copies by as many windows as there are slots, so that reading overlaps
// copying.
void AggregatedTransport::read_within_node(const WindowGrid& grid, std::span<const Count> windows,
                                           ExtentStream& extents) {
  auto ahead = extents.clone();
  ExtentReader marks(*ahead), copies(extents);
  const std::size_t lead = slot_count - 1;
  std::vector<Slots::Use> uses(windows.size());
  for (std::size_t i = 0; i < windows.size() + lead; ++i) {
    if (i < windows.size()) {
      {
        StepTimer timer(report_, Step::wait);
        uses[i] = slots_->acquire(grid.begin_of(windows[i]));
      }
      {
        StepTimer timer(report_, Step::plan);
        marks.for_each_before(grid.end_of(windows[i]),
                              [&](const Extent& e) { slots_->need(uses[i], e.offset, e.length); });
      }
      finish_marking(uses[i]);
    }
    if (i < lead) continue;
    const std::size_t k = i - lead;
    {
      StepTimer timer(report_, Step::wait);
      slots_->wait_until_read(uses[k]);
    }
    StepTimer timer(report_, Step::unpack);
    copies.for_each_before(grid.end_of(windows[k]),
                           [&](const Extent& e) { copy_in(e, slots_->data(uses[k], e.offset)); });
    slots_->depart(uses[k]);
  }
}

void AggregatedTransport::read_over_nodes(const WindowGrid& grid, std::span<const Count> windows,
                                          ExtentStream& extents) {
  auto ahead = extents.clone();
  ExtentReader marks(*ahead), copies(extents);
  while (!windows.empty()) {
    const auto round = take_round(grid, windows);
    read_round(grid, round, marks, copies);
  }
}

void AggregatedTransport::read_round(const WindowGrid& grid, std::span<const Count> round,
                                     ExtentReader& marks, ExtentReader& copies) {
  std::map<Count, Slots::Use> uses;
  std::vector<Message> wishes;
  for (Count w : round) {
    if (is_local(grid, w)) {
      const auto use = slots_->acquire(grid.begin_of(w));
      uses.emplace(w, use);
      marks.for_each_before(grid.end_of(w),
                            [&](const Extent& e) { slots_->need(use, e.offset, e.length); });
      continue;
    }
    WindowMessage message;
    marks.for_each_before(grid.end_of(w),
                          [&](const Extent& e) { message.add(grid.begin_of(w), e, false); });
    if (!message.empty()) wishes.push_back({delegate(grid, w), message.finish(w)});
  }
  std::vector<Held> held;
  {
    StepTimer timer(report_, Step::exchange);
    report_[Counter::messages] += static_cast<std::int64_t>(wishes.size());
    sparse_exchange(comm_, wishes, [&](Rank from, std::span<const std::byte> message) {
      const auto& use = uses.at(header_of(message).window);
      for_each_piece(message, [&](Count offset, Count length) {
        slots_->need(use, use.begin + offset, length);
      });
      held.push_back({from, {message.begin(), message.end()}});
    });
  }
  for (auto& [w, use] : uses) finish_marking(use);
  for (auto& [w, use] : uses) slots_->wait_until_read(use);

  std::vector<Message> answers;
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
  std::map<Count, std::vector<std::byte>> received;
  {
    StepTimer timer(report_, Step::exchange);
    for (const Message& m : answers)
      report_[Counter::message_bytes] += static_cast<std::int64_t>(m.bytes.size());
    sparse_exchange(comm_, answers, [&](Rank, std::span<const std::byte> message) {
      Count w;
      std::memcpy(&w, message.data(), sizeof w);
      received[w].assign(message.begin() + sizeof w, message.end());
    });
  }
  StepTimer timer(report_, Step::unpack);
  for (Count w : round) {
    if (auto it = uses.find(w); it != uses.end()) {
      const auto& use = it->second;
      copies.for_each_before(grid.end_of(w),
                             [&](const Extent& e) { copy_in(e, slots_->data(use, e.offset)); });
      slots_->depart(use);
      continue;
    }
    const std::byte* from = received[w].data();
    copies.for_each_before(grid.end_of(w), [&](const Extent& e) {
      copy_in(e, from);
      from += e.length;
    });
  }
}

std::unique_ptr<Transport> make_aggregated_transport(const Comm& comm, std::shared_ptr<File> file,
                                                     const TransportOptions& options,
                                                     Report& report) {
  return std::make_unique<AggregatedTransport>(comm, std::move(file), options, report);
}

}  // namespace forebay
