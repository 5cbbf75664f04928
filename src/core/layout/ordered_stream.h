// The extents of many requests in file order, merged from one cursor per request (plan/order.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/extent.h"
#include "plan/order.h"

namespace forebay {

/// Cursor: `std::size_t next(std::span<Extent>)`, in file order; `StreamSummary summary()`; perhaps
/// `std::size_t next_rows(std::span<ExtentRow>)`.
template <typename Cursor>
class OrderedStream : public ExtentStream {
 public:
  StreamSummary summary() const override { return summary_; }
  void rewind() override {
    group_ = 0;
    single_.reset();
    merge_.reset();
  }
  std::size_t next(std::span<Extent> out) override {
    std::size_t n = 0;
    while (n < out.size()) {
      std::size_t got = 0;
      if (single_) {
        got = single_->next(out.subspan(n));
        if (got == 0) single_.reset();
      } else if (merge_) {
        got = merge_->next(out.subspan(n));
        if (got == 0) merge_.reset();
      }
      n += got;
      if (got == 0) {
        if (group_ == group_ends_.size()) break;
        open_group();
      }
    }
    return n;
  }
  bool has_rows() const override {
    return requires(Cursor & c, std::span<ExtentRow> out) { c.next_rows(out); };
  }
  std::size_t next_rows(std::span<ExtentRow> out) override {
    if constexpr (requires(Cursor & c) { c.next_rows(out); }) {
      while (!merge_ && (single_ || group_ < group_ends_.size())) {
        if (!single_) {
          open_group();
        } else if (const std::size_t n = single_->next_rows(out); n > 0) {
          return n;
        } else {
          single_.reset();
        }
      }
    }
    return ExtentStream::next_rows(out);
  }

 protected:
  /// If written extents overlap, the later request wins.
  explicit OrderedStream(bool cut_overlaps) : cut_overlaps_(cut_overlaps) {}
  /// A cursor at the beginning of a request. There may be several for one request.
  virtual Cursor cursor(std::uint32_t request) const = 0;
  /// To be called by the constructor, once cursor() works.
  void order(std::size_t requests) {
    ranges_.reserve(requests);
    for (std::uint32_t i = 0; i < requests; ++i) {
      const StreamSummary s = cursor(i).summary();
      if (s.empty()) continue;
      summary_.add(s);
      ranges_.push_back({s.first, s.last, i});
    }
    group_ends_ = group_requests(ranges_);
  }

 private:
  void open_group() {
    const std::uint32_t from = group_ == 0 ? 0 : group_ends_[group_ - 1];
    const std::uint32_t to = group_ends_[group_];
    ++group_;
    if (to - from == 1) {
      single_.emplace(cursor(ranges_[from].index));
      return;
    }
    // Program order decides which extent wins, but `ranges_` is in file order.
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = from; i < to; ++i) members.push_back(ranges_[i].index);
    std::sort(members.begin(), members.end());
    std::vector<Cursor> cursors;
    cursors.reserve(members.size());
    for (std::uint32_t m : members) cursors.push_back(cursor(m));
    merge_ = std::make_unique<GroupMerge<Cursor>>(std::move(cursors), cut_overlaps_);
  }

  bool cut_overlaps_;
  StreamSummary summary_;
  std::vector<RequestRange> ranges_;
  std::vector<std::uint32_t> group_ends_;
  std::size_t group_ = 0;
  std::optional<Cursor> single_;
  std::unique_ptr<GroupMerge<Cursor>> merge_;
};

}  // namespace forebay
