#include "burst/flush.h"

#include <algorithm>
#include <future>
#include <memory>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/layout.h"
#include "plan/order.h"

namespace forebay::burst {

namespace {

/// Memory for a request besides its data.
constexpr Count request_bytes = sizeof(Request) + 6 * sizeof(Count) * 4;

// If the buffer could hold everything, this many batches still let reading and writing overlap. But
// small batches mean more operations. That matters if the file answers slowly; reading a log then
// takes only a fraction of the time for writing.
constexpr Count useful_batches = 4;
constexpr Count least_batch = Count{512} << 10;

}  // namespace

struct Flush::Batch {
  std::unique_ptr<std::byte[]> data;
  Count room = 0;
  std::vector<Request> requests;
  std::vector<LostWrite> lost;
  Count bytes = 0;
};

Flush::Flush(std::vector<Source> sources, Layout& layout, const FlushOptions& options,
             Report& report)
    : sources_(std::move(sources)), layout_(layout), options_(options), report_(report) {
  StepTimer timer(report_, Step::plan);
  Count all = 0;
  std::size_t writes = 0;
  for (const Source& s : sources_) {
    writes += s.table->size();
    all += s.table->data_bytes() + static_cast<Count>(s.table->size()) * request_bytes;
  }
  // Two batches are in memory at a time: one is read while the other is written.
  const Count useful = layout_.answers_slowly() ? all : all / useful_batches;
  limit_ = std::clamp(useful, least_batch, options_.buffer / 2);
  picks_.reserve(writes);
  if (options_.order == Order::two_level) {
    order_by_file();
    return;
  }
  for (std::uint32_t s = 0; s < sources_.size(); ++s) {
    for (std::uint32_t i = 0; i < sources_[s].table->size(); ++i) {
      add({s, i});
      end_batch();
    }
  }
}

void Flush::add(Pick pick) {
  const Count bytes = sources_[pick.source].table->bytes_of(pick.index) + request_bytes;
  if (filled_ > 0 && bytes > limit_ - filled_) end_batch();
  picks_.push_back(pick);
  filled_ += bytes;
}

void Flush::end_batch() {
  if (filled_ == 0) return;
  // The layout resolves overlaps in the order of requests.
  const std::size_t from = ends_.empty() ? 0 : ends_.back();
  std::sort(picks_.begin() + static_cast<std::ptrdiff_t>(from), picks_.end(),
            [](const Pick& a, const Pick& b) {
              return a.source != b.source ? a.source < b.source : a.index < b.index;
            });
  ends_.push_back(picks_.size());
  filled_ = 0;
}

void Flush::order_by_file() {
  std::vector<Pick> all;
  std::vector<RequestRange> ranges;
  bool known = true;
  for (std::uint32_t s = 0; s < sources_.size(); ++s) {
    const staging::Table& table = *sources_[s].table;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      const auto range = known ? layout_.range_of(table.request(i, nullptr)) : std::nullopt;
      known = range.has_value();
      if (known)
        ranges.push_back({range->first, range->last, static_cast<std::uint32_t>(all.size())});
      all.push_back({s, i});
    }
  }
  if (!known) {
    for (const Pick& pick : all) add(pick);
    return end_batch();
  }
  const std::vector<std::uint32_t> ends = group_requests(ranges);
  std::uint32_t from = 0;
  for (const std::uint32_t end : ends) {
    Count bytes = 0;
    for (std::uint32_t i = from; i < end; ++i) {
      const Pick& pick = all[ranges[i].index];
      bytes += sources_[pick.source].table->bytes_of(pick.index) + request_bytes;
    }
    if (bytes > limit_ - filled_) end_batch();
    if (bytes > limit_) {
      std::sort(ranges.begin() + from, ranges.begin() + end,
                [](const RequestRange& a, const RequestRange& b) { return a.index < b.index; });
    }
    for (std::uint32_t i = from; i < end; ++i) add(all[ranges[i].index]);
    from = end;
  }
  end_batch();
}

void Flush::load(std::size_t number, Batch& batch) const {
  batch.requests.clear();
  batch.lost.clear();
  batch.bytes = 0;
  if (number >= ends_.size()) return;
  const std::size_t from = number == 0 ? 0 : ends_[number - 1];
  Count bytes = 0;
  for (std::size_t p = from; p < ends_[number]; ++p)
    bytes += sources_[picks_[p].source].table->bytes_of(picks_[p].index);
  if (bytes > batch.room) {
    batch.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    batch.room = bytes;
  }
  batch.requests.reserve(ends_[number] - from);
  std::byte* at = batch.data.get();
  for (std::size_t p = from; p < ends_[number]; ++p) {
    const Source& source = sources_[picks_[p].source];
    const std::size_t index = picks_[p].index;
    const auto size = static_cast<std::size_t>(source.table->bytes_of(index));
    const auto error = attempt_to([&] { source.read(source.table->facts(index), {at, size}); });
    if (error && error->code() != Errc::ebadlog) throw *error;
    if (error) {
      batch.lost.push_back({picks_[p].source, index, *error});
      continue;
    }
    batch.requests.push_back(source.table->request(index, at));
    batch.requests.back().sequence = p;
    batch.bytes += static_cast<Count>(size);
    at += size;
  }
}

FlushResult Flush::run(Count rounds, bool collective) {
  FlushResult result;
  Batch slots[2];
  std::optional<Error> unread, unwritten;
  // Reads ahead. Its destructor waits, so no thread outlives the memory that it writes to.
  std::future<void> ahead;
  const auto read = [&](Count round) {
    if (auto error = attempt_to([&] { load(static_cast<std::size_t>(round), slots[round % 2]); });
        error && !unread) {
      unread = error;
    }
  };
  for (Count round = 0; round < rounds; ++round) {
    Batch& batch = slots[round % 2];
    {
      StepTimer timer(report_, Step::reload);
      if (ahead.valid()) {
        ahead.get();
      } else {
        read(round);
      }
    }
    const auto untold = attempt_to([&] {
      for (LostWrite& lost : batch.lost) result.lost.push_back(std::move(lost));
    });
    batch.lost.clear();
    if (untold && !unread) unread = untold;
    if (unread) {
      batch.requests.clear();
      if (!collective) throw *unread;
    }
    // If no thread can be created, the next round reads its batch itself.
    if (round + 1 < batches() && !unread)
      attempt_to([&] { ahead = std::async(std::launch::async, read, round + 1); });
    result.writes += static_cast<Count>(batch.requests.size());
    result.bytes += batch.bytes;
    result.batches += !batch.requests.empty();
    const auto failed = attempt_to([&] { layout_.carry_out(batch.requests, true, collective); });
    if (failed && !failed->is_own_matter()) throw *failed;
    if (failed && !unwritten) unwritten = failed;
  }
  if (unwritten) throw *unwritten;
  // All ranks have taken part in all rounds.
  if (unread) throw std::move(*unread).as_own_matter();
  return result;
}

FlushResult flush_together(const Comm& comm, std::vector<Source> sources, Layout& layout,
                           const FlushOptions& options, Report& report) {
  layout.expect_more(true);
  std::optional<Flush> flush;
  const auto mine = attempt_to([&] { flush.emplace(std::move(sources), layout, options, report); });
  std::int64_t rounds = flush ? flush->batches() : 0;
  const auto unplanned =
      attempt_to([&] { agree_on_error(comm, mine, std::span(&rounds, 1), Reduce::max); });
  if (unplanned) {
    layout.expect_more(false);  // no rank has started
    throw *unplanned;
  }
  FlushResult result;
  const auto failed = up_to_meeting(comm, [&] { result = flush->run(rounds, true); });
  const auto unfinished = up_to_meeting(comm, [&] { layout.expect_more(false); });
  // Tells all ranks about an error on one rank.
  agree_on_error(comm, failed ? failed : unfinished);
  return result;
}

}  // namespace forebay::burst
