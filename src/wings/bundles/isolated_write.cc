#include "bundles/isolated_write.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "base/copy_few.h"
#include "bundles/each_at_once.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "transport/extent_reader.h"
#include "transport/window_cover.h"
#include "transport/window_message.h"

namespace forebay {

namespace {

/// The bytes of one window that a rank has so far.
class WindowPart {
 public:
  explicit WindowPart(Count size) : size_(size) {}

  bool is_empty() const { return high_ <= low_; }
  void add(Count at, const Extent& piece) {
    copy_out(room() + at, piece);
    mark(at, at + piece.length);
  }
  /// Adds what another rank has. Returns how many bytes that is.
  Count add(std::span<const std::byte> message) {
    const std::byte* from = payload_of(message).data();
    const std::byte* const begin = from;
    std::byte* const to = room();
    for_each_run(message, [&](Count at, Count bytes) {
      copy_few(to + at, from, bytes);
      mark(at, at + bytes);
      from += bytes;
    });
    return from - begin;
  }
  /// Appends a message with all bytes to `messages`. Empties this part.
  void send(Rank to, Count window, std::vector<Message>& messages) {
    std::vector<WindowRun> runs;
    Count bytes = 0;
    for_each_run(cover_.data(), low_, high_, [&](Count from, Count end) {
      runs.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(end)});
      bytes += end - from;
    });
    RawBytes message = window_message(window, runs, bytes);
    std::byte* into = payload_of(std::span(message)).data();
    for (const WindowRun& run : runs) {
      copy_few(into, bytes_.get() + run.from, run.to - run.from);
      into += run.to - run.from;
    }
    messages.push_back({to, {message.begin(), message.end()}});
    clear();
  }
  /// Writes all bytes, which begin a window at `begin`. Returns how many were written.
  Count write(ByteFile& file, Offset begin, Count hole_threshold) {
    return write_covered(file, begin, bytes_.get(), cover_.data(), low_, high_, hole_threshold);
  }
  void clear() {
    if (!is_empty())
      std::fill(cover_.begin() + low_ / 64, cover_.begin() + (high_ - 1) / 64 + 1, 0);
    low_ = size_;
    high_ = 0;
  }
  /// Returns whether bytes were added twice, ever.
  bool overlapped() const { return overlapped_; }

 private:
  std::byte* room() {
    if (!bytes_) {
      cover_.resize(static_cast<std::size_t>(size_ + 63) / 64);
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size_));
    }
    return bytes_.get();
  }
  void mark(Count from, Count to) {
    if (from == to) return;
    low_ = std::min(low_, from);
    high_ = std::max(high_, to);
    constexpr std::uint64_t all = ~std::uint64_t{0};
    const Count first = from / 64, last = (to - 1) / 64;
    for (Count w = first; w <= last; ++w) {
      std::uint64_t bits = all;
      if (w == first) bits &= all << (from % 64);
      if (w == last) bits &= all >> (63 - (to - 1) % 64);
      std::uint64_t& word = cover_[static_cast<std::size_t>(w)];
      overlapped_ |= (word & bits) != 0;
      word |= bits;
    }
  }

  Count size_;
  Count low_ = size_, high_ = 0;  // what is covered lies between them
  std::vector<std::uint64_t> cover_;
  std::unique_ptr<std::byte[]> bytes_;
  bool overlapped_ = false;
};

class IsolatedWrite {
 public:
  IsolatedWrite(const Comm& comm, const BundlePlan& plan, const BundleWindows& windows,
                MergedFile& file, const IsolatedOptions& options, Report& report)
      : comm_(comm),
        plan_(plan),
        windows_(windows),
        file_(file),
        options_(options),
        report_(report),
        mine_(windows.size()) {}

  IsolatedOutcome run(ExtentStream& extents);

 private:
  const BundleGroup& group_of(Count window) const { return plan_.group(windows_.at(window).file); }
  bool is_member(const BundleGroup& group) const {
    return comm_.rank() >= group.first && comm_.rank() < group.first + group.ranks;
  }
  WindowPart& part(Count window) { return parts_[static_cast<std::size_t>(window - begin_)]; }
  bool overlapped() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const WindowPart& one) { return one.overlapped(); });
  }
  void pack(ExtentReader& pieces);
  void aggregate();
  void exchange(bool shuffles);
  void write();

  const Comm& comm_;
  const BundlePlan& plan_;
  const BundleWindows& windows_;
  MergedFile& file_;
  const IsolatedOptions& options_;
  Report& report_;
  Count begin_ = 0, end_ = 0;      // the windows of the round
  std::vector<WindowPart> parts_;  // of the windows of this rank's groups, by their place in it
  WindowPart mine_;                // of a window of another group
  std::vector<Message> messages_;
  std::optional<Error> failure_;
  IsolatedOutcome outcome_;
};

// A rank that has failed takes part in the round, and all throw at the next one's beginning.
IsolatedOutcome IsolatedWrite::run(ExtentStream& extents) {
  // In a round a rank may have its own bytes in messages, the windows of its groups, and what it
  // sends of these.
  constexpr Count held = 4;
  const Count most = std::min(windows_.count(),
                              std::max<Count>(options_.buffer_limit / windows_.size() / held, 1));
  constexpr Count none = std::numeric_limits<Count>::max();
  std::optional<ExtentReader> pieces;
  attempt_into(failure_, [&] {
    outcome_.traffic.resize(plan_.bytes.size());
    parts_.reserve(static_cast<std::size_t>(most));
    while (std::ssize(parts_) < most) parts_.emplace_back(windows_.size());
    pieces.emplace(extents);
  });
  for (;;) {
    // Nobody has bytes of the windows before the first of them.
    std::array<std::int64_t, 2> least{none, 0};
    attempt_into(failure_, [&] {
      if (!pieces) return;
      if (const auto next = pieces->next()) least[0] = *next / windows_.size();
    });
    least[1] = overlapped() ? -1 : 0;
    {
      StepTimer timer(report_, Step::wait);
      agree_on_error(comm_, failure_, least, Reduce::min);
    }
    outcome_.overlapped = least[1] != 0;
    if (least[0] == none) return std::move(outcome_);
    begin_ = least[0];
    end_ = begin_ + std::min(most, windows_.count() - begin_);
    attempt_into(failure_, [&] { pack(*pieces); });
    exchange(true);
    attempt_into(failure_, [&] { aggregate(); });
    exchange(false);
    attempt_into(failure_, [&] { write(); });
  }
}

void IsolatedWrite::pack(ExtentReader& pieces) {
  StepTimer timer(report_, Step::pack);
  const Count size = windows_.size();
  while (const auto next = pieces.next()) {
    const Count window = *next / size;
    if (window >= end_) return;
    const BundleGroup& group = group_of(window);
    WindowPart& to = is_member(group) ? part(window) : mine_;
    pieces.for_each_before((window + 1) * size,
                           [&](const Extent& e) { to.add(e.offset - window * size, e); });
    if (&to == &mine_) mine_.send(group.first + comm_.rank() % group.ranks, window, messages_);
  }
}

void IsolatedWrite::aggregate() {
  StepTimer timer(report_, Step::pack);
  for (Count window = begin_; window < end_; ++window) {
    if (part(window).is_empty()) continue;
    ++report_[Counter::windows];
    const Rank root = group_of(window).first;
    if (root != comm_.rank()) part(window).send(root, window, messages_);
  }
}

void IsolatedWrite::exchange(bool shuffles) {
  StepTimer timer(report_, Step::exchange);
  for (const Message& message : messages_) {
    ++report_[Counter::messages];
    report_[Counter::message_bytes] += static_cast<std::int64_t>(message.bytes.size());
  }
  attempt_into(failure_, [&] {
    sparse_exchange(comm_, messages_, [&](Rank, std::span<const std::byte> message) {
      const Count window = head_of(message).window;
      const Count bytes = part(window).add(message);
      IsolatedTraffic& traffic = outcome_.traffic[windows_.at(window).file];
      ++(shuffles ? traffic.messages : traffic.aggregation_messages);
      (shuffles ? traffic.bytes : traffic.aggregation_bytes) += bytes;
    });
  });
  messages_.clear();
}

// After the aggregation only roots have anything.
void IsolatedWrite::write() {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i].is_empty()) some.push_back(i);
  if (some.empty()) return;
  const bool later = file_.writes_later();
  StepTimer timer(report_, later ? Step::stage : Step::write);
  // Bytes read from holes may be old if a queue has others for them.
  const Count bridge = later || comm_.size() == 1 ? 0 : options_.hole_threshold;
  std::vector<std::optional<Error>> failed(parts_.size());
  std::atomic<Count> written = 0;
  each_at_once(some, options_.slow && !later, [&](std::size_t i) {
    const Offset begin = (begin_ + static_cast<Count>(i)) * windows_.size();
    failed[i] = attempt_to([&] { written += parts_[i].write(file_, begin, bridge); });
    parts_[i].clear();
  });
  for (const std::size_t i : some) keep_first(failure_, std::move(failed[i]));
  if (!later) timer.moved(written);
}

}  // namespace

IsolatedOutcome write_isolated(const Comm& comm, ExtentStream& extents, const BundlePlan& plan,
                               const BundleWindows& windows, MergedFile& file,
                               const IsolatedOptions& options, Report& report) {
  return IsolatedWrite(comm, plan, windows, file, options, report).run(extents);
}

}  // namespace forebay
