#include "layout/canonical/canonical.h"

#include "array/chunk_grid.h"
#include "base/attempt.h"
#include "layout/canonical/flattened.h"
#include "layout/classic_part.h"

namespace forebay {

RequestCursor::RequestCursor(const Request& request, const Variable& var, Count record_distance)
    : memory_(request.packed), swap_(request.swap) {
  if (const auto* sub = std::get_if<Subarray>(&request.selection)) {
    set_up_subarray(*sub, var, record_distance);
  } else {
    set_up_runs(std::get<Runs>(request.selection), var, record_distance);
  }
}

RequestCursor::RequestCursor(const Subarray& part, const Variable& var, Count record_distance) {
  set_up_subarray(part, var, record_distance);
}

void RequestCursor::set_up_subarray(const Subarray& sub, const Variable& var,
                                    Count record_distance) {
  base_ = var.begin;
  run_ = size_of(var.type);
  Count bytes = run_;  // selected so far, for the summary
  Count pieces = 1;
  Offset span = run_;  // from the first to one past the last byte
  Count unit = run_;   // bytes between neighbours of dimension d
  bool contiguous = true;
  for (int d = var.ndims() - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    if (d == 0 && var.is_record) unit = record_distance;
    const Count count = sub.count[i];
    const Count stride = unit * (sub.stride.empty() || count <= 1 ? 1 : sub.stride[i]);
    base_ += sub.start[i] * unit;
    unit *= var.shape[i];
    bytes *= count;
    if (count == 0) break;
    span += (count - 1) * stride;
    if (count == 1) continue;
    if (contiguous && stride == run_) {
      run_ *= count;
      continue;
    }
    contiguous = false;
    pieces *= count;
    // Neighbouring loops that continue each other are one.
    if (!loops_.empty() && stride == loops_.back().stride * loops_.back().count) {
      loops_.back().count *= count;
    } else {
      loops_.push_back({count, stride});
    }
  }
  std::reverse(loops_.begin(), loops_.end());
  at_end_ = bytes == 0;
  summary_ = at_end_ ? StreamSummary{base_, base_, 0, 0}
                     : StreamSummary{base_, base_ + span, bytes, pieces};
}

void RequestCursor::set_up_runs(const Runs& selected, const Variable& var, Count record_distance) {
  const RunList& list = *selected.list;
  list_ = &list;
  base_ = var.begin;
  at_end_ = list.runs.empty();
  if (at_end_) {
    summary_ = {base_, base_, 0, 0};
    return;
  }
  Offset last = list.runs.back().offset + list.runs.back().length;
  if (list.overlapping) {
    for (const Run& r : list.runs) last = std::max(last, r.offset + r.length);
  }
  last += selected.base;
  Offset first = list.runs.front().offset + selected.base;
  auto pieces = static_cast<Count>(list.runs.size());
  if (var.is_record && var.inner_bytes() != record_distance) {
    dense_ = var.inner_bytes();
    gap_ = record_distance - dense_;
    const Count before = first / dense_, behind = (last - 1) / dense_;
    // Most lists lie in one record, whose elements are as far apart as in the list.
    first += before * gap_;
    last += behind * gap_;
    if (before == behind) {
      dense_ = 0;
      base_ += before * gap_;
    } else {
      pieces += behind - before;
    }
  }
  summary_ = {var.begin + first, var.begin + last, list.bytes, pieces};
  (dense_ == 0 ? base_ : shift_) += selected.base;
}

void RequestCursor::restrict_to(Count from, Count bytes, std::byte* memory, int swap) {
  memory_ = memory;
  swap_ = swap;
  Count piece = from / run_;
  before_ = from % run_;
  left_ = (from + bytes + run_ - 1) / run_ - piece;
  behind_ = (piece + left_) * run_ - from - bytes;
  summary_.bytes = bytes;
  summary_.pieces = left_;
  position_ = -before_;
  for (std::size_t l = loops_.size(); l-- > 0; piece /= loops_[l].count) {
    loops_[l].index = piece % loops_[l].count;
    base_ += loops_[l].index * loops_[l].stride;
  }
}

std::optional<ExtentRow> RequestCursor::next_row() {
  if (left_ == 0) return std::nullopt;
  ExtentRow row{{base_, run_, memory_, position_, swap_}};
  if (before_ > 0 || left_ == 1) {  // cut off
    row.first.offset += before_;
    row.first.skip += before_;
    row.first.length -= before_ + (left_ == 1 ? behind_ : 0);
    before_ = 0;
  } else if (!loops_.empty()) {
    const Loop& inner = loops_.back();
    row.count = std::min(inner.count - inner.index, left_ - (behind_ > 0 ? 1 : 0));
    row.stride = inner.stride;
  }
  left_ -= row.count;
  position_ += row.count * run_;
  if (loops_.empty()) return row;
  Loop& inner = loops_.back();
  base_ += row.count * inner.stride;
  inner.index += row.count;
  if (inner.index == inner.count) advance();
  return row;
}

std::size_t RequestCursor::next(std::span<Extent> out) {
  if (at_end_) return 0;
  if (dense_ > 0) return next_of_records(out);
  return list_ ? next_of_runs(out) : next_of_subarray(out);
}

std::size_t RequestCursor::next_of_runs(std::span<Extent> out) {
  const std::size_t n = std::min(out.size(), list_->runs.size() - run_index_);
  const Run* runs = list_->runs.data() + run_index_;
  if (list_->memory.empty()) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = {base_ + runs[i].offset, runs[i].length, memory_, position_, swap_};
      position_ += runs[i].length;
    }
  } else {
    const Offset* places = list_->memory.data() + run_index_;
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = {base_ + runs[i].offset, runs[i].length, memory_, places[i], swap_};
    }
  }
  run_index_ += n;
  at_end_ = run_index_ == list_->runs.size();
  return n;
}

// Runs over several records, which are cut where a record ends. Of a list that overlaps itself the
// parts would not be in order: it is brought into the file's terms first.
std::size_t RequestCursor::next_of_records(std::span<Extent> out) {
  if (list_->overlapping) {
    const auto cut = rebased(*list_, dense_, dense_ + gap_, shift_);
    in_file_ = std::make_shared<RunList>(
        sorted_run_list(cut->runs, cut->memory.empty() ? run_positions(*cut) : cut->memory, false));
    list_ = in_file_.get();
    dense_ = 0;
    return next_of_runs(out);
  }
  std::size_t n = 0;
  while (n < out.size() && !at_end_) {
    const Run& run = list_->runs[run_index_];
    const Offset from = shift_ + run.offset + of_run_;
    if (from >= record_end_) {
      record_ = from / dense_;
      record_end_ = (record_ + 1) * dense_;
    }
    const Count length = std::min(run.length - of_run_, record_end_ - from);
    const Offset place = list_->memory.empty() ? position_ : list_->memory[run_index_] + of_run_;
    out[n++] = {base_ + from + record_ * gap_, length, memory_, place, swap_};
    position_ += length;
    of_run_ += length;
    if (of_run_ < run.length) continue;
    of_run_ = 0;
    at_end_ = ++run_index_ == list_->runs.size();
  }
  return n;
}

std::size_t RequestCursor::next_of_subarray(std::span<Extent> out) {
  std::size_t n = 0;
  while (n < out.size() && !at_end_) {
    if (loops_.empty()) {
      out[n++] = {base_, run_, memory_, position_, swap_};
      at_end_ = true;
      break;
    }
    Loop& inner = loops_.back();
    const Count here =
        std::min<Count>(static_cast<Count>(out.size() - n), inner.count - inner.index);
    Offset offset = base_;
    for (Count i = 0; i < here; ++i) {
      out[n++] = {offset, run_, memory_, position_, swap_};
      offset += inner.stride;
      position_ += run_;
    }
    base_ = offset;
    inner.index += here;
    if (inner.index == inner.count) advance();
  }
  return n;
}

// The innermost loop has run out: step the nearest outer loop that has not.
void RequestCursor::advance() {
  for (std::size_t l = loops_.size() - 1;; --l) {
    base_ -= loops_[l].count * loops_[l].stride;
    loops_[l].index = 0;
    if (l == 0) break;
    Loop& outer = loops_[l - 1];
    base_ += outer.stride;
    if (++outer.index < outer.count) return;
  }
  at_end_ = true;
}

CanonicalStream::CanonicalStream(std::span<const Request> requests, const Schema& schema,
                                 bool write)
    : OrderedStream(write), requests_(requests), schema_(schema), write_(write) {
  order(requests.size());
}

std::unique_ptr<ExtentStream> CanonicalStream::clone() const {
  return std::make_unique<CanonicalStream>(requests_, schema_, write_);
}

namespace {

class NoExtents : public ExtentStream {
 public:
  StreamSummary summary() const override { return {}; }
  std::size_t next(std::span<Extent> /*out*/) override { return 0; }
  void rewind() override {}
  std::unique_ptr<ExtentStream> clone() const override { return std::make_unique<NoExtents>(); }
};

class CanonicalLayout : public Layout {
 public:
  CanonicalLayout(const Schema& schema, ExtentIo& io, Report& report, bool flatten)
      : schema_(schema), io_(io), report_(report), flatten_(flatten) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    const std::unique_ptr<ExtentStream> stream = stream_of(requests, write);
    if (collective) {
      write ? io_.write_all(*stream) : io_.read_all(*stream);
    } else if (!stream->summary().empty()) {
      write ? io_.write(*stream) : io_.read(*stream);
    }
  }
  std::optional<Foreseen> foresee(std::span<const Request> requests) const override {
    StreamSummary all;
    for (const Request& request : requests) all.add(RequestCursor(request, schema_).summary());
    return io_.foresee(all);
  }
  // Nobody hears of a rank without memory for the stream before it has taken part.
  void carry_out_foreseen(std::span<Request> requests, bool write,
                          const Foreseen& agreed) override {
    std::unique_ptr<ExtentStream> stream;
    auto failed = attempt_to([&] { stream = stream_of(requests, write); });
    NoExtents none;
    io_.carry_out_foreseen(stream ? *stream : none, write, agreed, std::move(failed));
  }
  std::optional<ByteRange> range_of(const Request& request) const override {
    const StreamSummary range = RequestCursor(request, schema_).summary();
    return ByteRange{range.first, range.last};
  }
  ByteRange in_place(std::span<const Request> writes) const override {
    ByteRange all;
    for (const Request& write : writes) all.add(*range_of(write));
    return all;
  }
  std::unique_ptr<ExtentStream> extents_of(std::span<Request> writes) override {
    return stream_of(writes, true);
  }
  bool writes_alone() const override { return true; }
  void expect_more(bool more) override { io_.expect_more(more); }
  bool answers_slowly() const override { return io_.answers_slowly(); }
  bool overlapped() const override { return io_.overlapped(); }
  bool sees_overlaps() const override { return io_.sees_overlaps(); }

 private:
  std::unique_ptr<ExtentStream> stream_of(std::span<Request> requests, bool write) {
    StepTimer timer(report_, Step::plan);
    std::unique_ptr<ExtentStream> stream;
    if (flatten_ && write) {
      stream = std::make_unique<FlattenedStream>(requests, schema_);
    } else {
      stream = std::make_unique<CanonicalStream>(requests, schema_, write);
    }
    report_[Counter::requests] += static_cast<std::int64_t>(requests.size());
    report_[Counter::pieces] += stream->summary().pieces;
    report_[write ? Counter::bytes_asked_write : Counter::bytes_asked_read] +=
        stream->summary().bytes;
    return stream;
  }

  const Schema& schema_;
  ExtentIo& io_;
  Report& report_;
  bool flatten_;
};

}  // namespace

std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report,
                                              bool flatten) {
  return std::make_unique<CanonicalLayout>(schema, io, report, flatten);
}

extern const LayoutEntry canonical_layout{{"canonical",
                                           "the classic netCDF order that every reader knows",
                                           10,
                                           {},
                                           netcdf_files | FrontEnd::hdf5 | FrontEnd::convert_hdf5}};

}  // namespace forebay
