// Carries notes between ranks that are all here, one after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "plan/note.h"

namespace forebay {

template <typename T>
class Post {
 public:
  /// Notes for a rank come in the order of senders, or `backwards`.
  explicit Post(int ranks, bool backwards = false)
      : ranks_(static_cast<std::size_t>(ranks)), backwards_(backwards) {}

  /// Takes all notes out of `out`.
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
  /// Notes that followed each other to one rank are one.
  Count messages() const { return messages_; }

  /// f(rank, notes) for each rank that has any, by increasing rank; then there are none.
  template <typename F>
  void deliver(F&& f) {
    std::vector<std::size_t> end(ranks_ + 1, 0);
    for (const Sent& s : sent_) ++end[static_cast<std::size_t>(s.to) + 1];
    std::partial_sum(end.begin(), end.end(), end.begin());
    Notes<T> sorted(sent_.size());
    std::vector<std::size_t> at(end.begin(), end.end() - 1);
    for (const Sent& s : sent_) sorted[at[static_cast<std::size_t>(s.to)]++] = {s.from, s.what};
    std::vector<Sent>().swap(sent_);
    const std::span<Note<T>> all(sorted);
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (end[r] == end[r + 1]) continue;
      const auto its = all.subspan(end[r], end[r + 1] - end[r]);
      if (backwards_) std::reverse(its.begin(), its.end());
      f(static_cast<Rank>(r), std::span<const Note<T>>(its));
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
