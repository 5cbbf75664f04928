#include "hdf5/connector/chunked_places.h"

#include <algorithm>
#include <map>

#include "array/chunk_grid.h"

namespace forebay::vol {
namespace {

/// Returns the coordinates of a chunk's first element.
std::vector<Count> corner_of(const PlacedVariable& var, Count chunk) {
  std::vector<Count> corner(var.chunk.size());
  for (std::size_t d = corner.size(); d-- > 1;) {
    const Count length = var.grid_length(d);
    corner[d] = chunk % length * var.chunk[d];
    chunk /= length;
  }
  corner[0] = chunk * var.chunk[0];
  return corner;
}

/// Returns the last dimension that is cut by chunks. Behind it chunks have whole rows, which lie in
/// the file as in the dataset.
std::size_t last_cut(const PlacedVariable& var) {
  std::size_t d = var.chunk.size() - 1;
  while (d > 0 && var.chunk[d] == var.extents[d]) --d;
  return d;
}

/// Returns bytes between neighbours along each dimension of an array.
std::vector<Count> steps_of(const std::vector<Count>& extents, Count element_size) {
  std::vector<Count> steps(extents.size(), element_size);
  for (std::size_t d = extents.size() - 1; d-- > 0;) steps[d] = steps[d + 1] * extents[d + 1];
  return steps;
}

/// Calls f(chunk, offset in the chunk, bytes) for each part of a run of the variable's bytes that
/// is contiguous in the file.
class RunCutter {
 public:
  explicit RunCutter(const PlacedVariable& var)
      : var_(var),
        cut_(last_cut(var)),
        logical_(steps_of(var.extents, var.element_size)),
        stored_(steps_of(var.chunk, var.element_size)) {}

  template <typename F>
  void each_part(Offset begin, Offset end, F&& f) const {
    while (begin < end) {
      Offset rest = begin, in_chunk = 0;
      Count chunk = 0, left = 0;
      for (std::size_t d = 0; d <= cut_; ++d) {
        const Count at = rest / logical_[d];
        rest %= logical_[d];
        chunk = d == 0 ? at / var_.chunk[d] : chunk * var_.grid_length(d) + at / var_.chunk[d];
        in_chunk += at % var_.chunk[d] * stored_[d];
        if (d < cut_) continue;
        Count ends = (at / var_.chunk[d] + 1) * var_.chunk[d];
        if (d > 0) ends = std::min(ends, var_.extents[d]);
        left = (ends - at) * logical_[d] - rest;
      }
      const Count bytes = std::min(left, end - begin);
      f(chunk, in_chunk + rest, bytes);
      begin += bytes;
    }
  }

 private:
  const PlacedVariable& var_;
  std::size_t cut_;
  std::vector<Count> logical_, stored_;
};

}  // namespace

PlacedCursor::PlacedCursor(const PlacedVariable& var, const Request& request,
                           const PlacedPiece& piece, std::span<const Offset> positions)
    : memory_(request.packed), positions_(positions) {
  if (const auto* box = std::get_if<Subarray>(&request.selection)) {
    set_up_box(var, *box, piece.chunk);
  } else {
    const auto& runs = std::get<Runs>(request.selection);
    list_ = runs.list.get();
    base_ = runs.base;
    set_up_rows(var, piece.chunk);
  }
  summary_ = piece.summary;
}

PlacedCursor::PlacedCursor(const PlacedVariable& var, const Subarray& box, Count chunk) {
  set_up_box(var, box, chunk);
}

StreamSummary PlacedCursor::summary_of_box(const PlacedVariable& var, const Subarray& box,
                                           Count chunk) {
  return PlacedCursor(var, box, chunk).summary_;
}

void PlacedCursor::set_up_box(const PlacedVariable& var, const Subarray& box, Count chunk) {
  const std::vector<Count> corner = corner_of(var, chunk);
  file_ = var.places[static_cast<std::size_t>(chunk)];
  length_ = var.element_size;
  Count in_file = var.element_size, in_memory = var.element_size;
  Count pieces = 1;
  Offset span = length_;
  for (std::size_t d = corner.size(); d-- > 0;) {
    const Count stride = box.stride.empty() || box.count[d] <= 1 ? 1 : box.stride[d];
    const Count before = std::max<Count>(corner[d] - box.start[d], 0);
    const Count first = (before + stride - 1) / stride;
    const Count to = corner[d] + var.chunk[d] - box.start[d];
    const Count last = std::min(box.count[d], to <= 0 ? 0 : (to + stride - 1) / stride);
    const Count count = last - first;
    if (count <= 0) {
      at_end_ = true;
      return;
    }
    file_ += (box.start[d] + first * stride - corner[d]) * in_file;
    position_ += first * in_memory;
    const Loop loop{count, stride * in_file, in_memory};
    in_file *= var.chunk[d];
    in_memory *= box.count[d];
    span += (count - 1) * loop.file;
    if (count == 1) continue;
    if (loops_.empty() && loop.file == length_ && loop.memory == length_) {
      length_ *= count;
      continue;
    }
    pieces *= count;
    loops_.push_back(loop);
  }
  std::reverse(loops_.begin(), loops_.end());
  summary_ = {file_, file_ + span, pieces * length_, pieces};
}

void PlacedCursor::set_up_rows(const PlacedVariable& var, Count chunk) {
  const std::vector<Count> corner = corner_of(var, chunk);
  const auto logical = steps_of(var.extents, var.element_size);
  const auto stored = steps_of(var.chunk, var.element_size);
  const std::size_t cut = last_cut(var);
  file_ = var.places[static_cast<std::size_t>(chunk)];
  for (std::size_t d = 0; d <= cut; ++d) {
    position_ += corner[d] * logical[d];
    const Count count = d == 0 ? var.chunk[d] : std::min(var.chunk[d], var.extents[d] - corner[d]);
    if (d < cut)
      loops_.push_back({count, stored[d], logical[d]});
    else
      length_ = count * logical[d];
  }
}

// Goes to the next piece, or row. Returns false at the end.
bool PlacedCursor::step() {
  for (std::size_t l = loops_.size(); l-- > 0;) {
    Loop& loop = loops_[l];
    file_ += loop.file;
    position_ += loop.memory;
    if (++loop.index < loop.count) return true;
    file_ -= loop.count * loop.file;
    position_ -= loop.count * loop.memory;
    loop.index = 0;
  }
  at_end_ = true;
  return false;
}

std::size_t PlacedCursor::next(std::span<Extent> out) {
  return list_ ? next_of_runs(out) : next_of_box(out);
}

std::size_t PlacedCursor::next_of_box(std::span<Extent> out) {
  std::size_t n = 0;
  for (; n < out.size() && !at_end_; step()) out[n++] = {file_, length_, memory_, position_, 1};
  return n;
}

std::size_t PlacedCursor::next_of_runs(std::span<Extent> out) {
  std::size_t n = 0;
  const std::vector<Run>& runs = list_->runs;
  while (n < out.size() && !at_end_) {
    const Offset row = position_ - base_, row_end = row + length_;
    // The first run that ends behind the row's begin: nearly always this one or the next.
    if (run_ < runs.size() && runs[run_].offset + runs[run_].length <= row)
      run_ = static_cast<std::size_t>(
          std::partition_point(runs.begin() + static_cast<std::ptrdiff_t>(run_) + 1, runs.end(),
                               [row](const Run& r) { return r.offset + r.length <= row; }) -
          runs.begin());
    if (run_ == runs.size()) {
      at_end_ = true;
      break;
    }
    while (run_ < runs.size() && runs[run_].offset < row_end) {
      if (n == out.size()) return n;
      const Run& run = runs[run_];
      const Offset from = std::max(run.offset, row);
      const Offset to = std::min(run.offset + run.length, row_end);
      out[n++] = {file_ + from - row, to - from, memory_, positions_[run_] + from - run.offset, 1};
      if (run.offset + run.length > row_end) break;
      ++run_;
    }
    step();
  }
  return n;
}

struct PlacedStream::Pieces {
  std::span<const Request> requests;
  Variables variables;
  std::vector<PlacedPiece> list;
  std::vector<std::vector<Offset>> positions;  // for each request

  void add(std::uint32_t request, const PlacedVariable& var, const Subarray& box);
  void add(std::uint32_t request, const PlacedVariable& var, const Runs& runs);
};

void PlacedStream::Pieces::add(std::uint32_t request, const PlacedVariable& var,
                               const Subarray& box) {
  const std::size_t n = var.chunk.size();
  std::vector<Count> first(n), last(n);
  for (std::size_t d = 0; d < n; ++d) {
    if (box.count[d] == 0) return;
    const Count stride = box.stride.empty() ? 1 : box.stride[d];
    first[d] = box.start[d] / var.chunk[d];
    last[d] = (box.start[d] + (box.count[d] - 1) * stride) / var.chunk[d];
  }
  std::vector<Count> at = first;
  for (;;) {
    Count chunk = at[0];
    for (std::size_t d = 1; d < n; ++d) chunk = chunk * var.grid_length(d) + at[d];
    const StreamSummary summary = PlacedCursor::summary_of_box(var, box, chunk);
    if (!summary.empty()) list.push_back({request, chunk, summary});
    std::size_t d = n;
    while (d > 0 && at[d - 1] == last[d - 1]) --d, at[d] = first[d];
    if (d == 0) return;
    ++at[d - 1];
  }
}

void PlacedStream::Pieces::add(std::uint32_t request, const PlacedVariable& var, const Runs& runs) {
  const RunCutter cutter(var);
  std::map<Count, StreamSummary> chunks;
  auto last = chunks.end();
  for (const Run& run : runs.list->runs)
    cutter.each_part(runs.base + run.offset, runs.base + run.offset + run.length,
                     [&](Count chunk, Offset in_chunk, Count bytes) {
                       if (last == chunks.end() || last->first != chunk)
                         last = chunks.try_emplace(chunk).first;
                       const Offset from = var.places[static_cast<std::size_t>(chunk)] + in_chunk;
                       last->second.add({from, from + bytes, bytes, 1});
                     });
  for (const auto& [chunk, summary] : chunks) list.push_back({request, chunk, summary});
  positions[request] = runs.list->memory.empty() ? run_positions(*runs.list) : runs.list->memory;
}

PlacedStream::PlacedStream(std::span<const Request> requests, const Variables& variables)
    : OrderedStream(true) {
  auto pieces = std::make_shared<Pieces>();
  pieces->requests = requests;
  pieces->variables = variables;
  pieces->positions.resize(requests.size());
  for (std::uint32_t r = 0; r < requests.size(); ++r)
    std::visit(
        [&](const auto& selection) { pieces->add(r, variables(requests[r].var), selection); },
        requests[r].selection);
  pieces_ = std::move(pieces);
  order(pieces_->list.size());
}

PlacedStream::PlacedStream(std::shared_ptr<const Pieces> pieces)
    : OrderedStream(true), pieces_(std::move(pieces)) {
  order(pieces_->list.size());
}

std::unique_ptr<ExtentStream> PlacedStream::clone() const {
  return std::unique_ptr<ExtentStream>(new PlacedStream(pieces_));
}

PlacedCursor PlacedStream::cursor(std::uint32_t piece) const {
  const PlacedPiece& its = pieces_->list[piece];
  const Request& request = pieces_->requests[its.request];
  return {pieces_->variables(request.var), request, its, pieces_->positions[its.request]};
}

}  // namespace forebay::vol
