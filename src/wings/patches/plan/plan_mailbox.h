// Delivers notes between ranks that are simulated in one process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "patches/plan/plan_message.h"

namespace forebay {

template <typename T>
class PlanMailbox {
 public:
  /// Delivers notes in the order of senders, or `backwards`.
  explicit PlanMailbox(int ranks, bool backwards = false)
      : ranks_(static_cast<std::size_t>(ranks)), backwards_(backwards) {}

  /// Sends all notes in `out`.
  void send(Rank from, Notes<T>& out) {
    Rank last = -1;
    for (const auto& [to, what] : out) {
      messages_ += to != last;
      last = to;
      sent_.push_back({from, to, what});
    }
    out.clear();
  }
  Count notes() const { return std::ssize(sent_); }
  /// Consecutive notes to one rank count as one message.
  Count messages() const { return messages_; }

  /// Calls f(rank, notes) for each rank with notes, by increasing rank, and removes them.
  template <typename F>
  void deliver(F&& f) {
    std::vector<std::size_t> end(ranks_ + 1, 0);
    for (const Sent& s : sent_) ++end[static_cast<std::size_t>(s.to) + 1];
    std::partial_sum(end.begin(), end.end(), end.begin());
    Notes<T> sorted(sent_.size());
    std::vector<std::size_t> at(end.begin(), end.end() - 1);
    for (const Sent& s : sent_) sorted[at[static_cast<std::size_t>(s.to)]++] = {s.from, s.what};
    std::vector<Sent>().swap(sent_);
    const std::span<PlanMessage<T>> all(sorted);
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (end[r] == end[r + 1]) continue;
      const auto its = all.subspan(end[r], end[r + 1] - end[r]);
      if (backwards_) std::reverse(its.begin(), its.end());
      f(static_cast<Rank>(r), std::span<const PlanMessage<T>>(its));
    }
  }

 private:
  struct Sent {
    Rank from, to;
    T what;
  };
  std::size_t ranks_;
  bool backwards_;
  std::vector<Sent> sent_;
  Count messages_ = 0;
};

}  // namespace forebay
