#include "array/chunk_grid.h"

#include <algorithm>

namespace forebay {

ChunkGrid::ChunkGrid(const Variable& var, std::span<const Count> shape)
    : record_(var.is_record),
      width_(size_of(var.type)),
      length_(var.shape),
      shape_(shape.begin(), shape.end()) {
  const std::size_t n = length_.size();
  grid_.resize(n);
  step_.resize(n);
  Count step = width_;
  for (std::size_t d = n; d-- > 0;) {
    const bool endless = d == 0 && record_;
    step_[d] = step;
    if (endless) continue;
    shape_[d] = std::clamp<Count>(shape_[d], 1, std::max<Count>(length_[d], 1));
    grid_[d] = (length_[d] + shape_[d] - 1) / shape_[d];
    step *= length_[d];
    if (d > 0) per_row_ *= grid_[d];
  }
  for (std::size_t d = 0; d < n; ++d)
    if (shape_[d] < length_[d] || (d == 0 && record_)) split_ = static_cast<int>(d);
}

Count ChunkGrid::chunks(Count records) const {
  if (length_.empty()) return 1;
  return per_row_ * (record_ ? (records + shape_[0] - 1) / shape_[0] : grid_[0]);
}

std::vector<Count> ChunkGrid::coordinates(Count id) const {
  std::vector<Count> at(length_.size());
  for (std::size_t d = length_.size(); d-- > 1;) {
    at[d] = id % grid_[d];
    id /= grid_[d];
  }
  if (!at.empty()) at[0] = id;
  return at;
}

ChunkGrid::Box ChunkGrid::box(Count id) const {
  Box box;
  box.first = coordinates(id);
  box.extent = shape_;
  for (std::size_t d = 0; d < length_.size(); ++d) {
    box.first[d] *= shape_[d];
    if (d > 0 || !record_) box.extent[d] = std::min(shape_[d], length_[d] - box.first[d]);
  }
  return box;
}

Count ChunkGrid::bytes(Count id) const {
  Count bytes = width_;
  for (const Count n : box(id).extent) bytes *= n;
  return bytes;
}

Count ChunkGrid::chunk_at(Offset linear, Offset& segment_end) const {
  if (length_.empty()) {
    segment_end = width_;
    return 0;
  }
  const auto s = static_cast<std::size_t>(split_);
  Count outer = linear / step_[s];  // index along the split dimension, and those before it
  Count id = 0, weight = 1;
  for (std::size_t d = s; d > 0; --d) {
    const Count index = outer % length_[d];
    outer /= length_[d];
    const Count chunk = index / shape_[d];
    if (d == s) {
      const Count end = std::min((chunk + 1) * shape_[d], length_[d]);
      segment_end = linear / step_[d] * step_[d] + (end - index) * step_[d];
    }
    id += chunk * weight;
    weight *= grid_[d];
  }
  // Dimensions behind the split one are whole: one chunk each.
  const Count chunk = outer / shape_[0];
  if (s == 0) {
    const Count end =
        record_ ? (chunk + 1) * shape_[0] : std::min((chunk + 1) * shape_[0], length_[0]);
    segment_end = end * step_[0];
  }
  return id + chunk * weight;
}

ChunkGrid::Segments ChunkGrid::segments(Count id) const {
  const Box b = box(id);
  Segments out;
  const auto s = static_cast<std::size_t>(split_);
  out.bytes = length_.empty() ? width_ : b.extent[s] * step_[s];
  out.begins.assign(1, 0);
  for (std::size_t d = 0; d <= s && d < length_.size(); ++d) {
    const Count times = d == s ? 1 : b.extent[d];
    std::vector<Offset> next;
    next.reserve(out.begins.size() * static_cast<std::size_t>(times));
    for (const Offset begin : out.begins) {
      for (Count i = 0; i < times; ++i) next.push_back(begin + (b.first[d] + i) * step_[d]);
    }
    out.begins.swap(next);
  }
  return out;
}

namespace {

/// Selected indices of one dimension that fall into one chunk coordinate.
struct Share {
  Count chunk, count;
};

std::vector<Share> shares_of(Count start, Count count, Count stride, Count extent) {
  std::vector<Share> shares;
  for (Count i = 0; i < count;) {
    const Count chunk = (start + i * stride) / extent;
    const Count last = std::min(count - 1, ((chunk + 1) * extent - 1 - start) / stride);
    shares.push_back({chunk, last - i + 1});
    i = last + 1;
  }
  return shares;
}

std::vector<ChunkTouch> touched_by_box(const ChunkGrid& grid, const Subarray& sub) {
  std::vector<ChunkTouch> touched{{0, grid.width()}};
  Count weight_of_row = grid.chunks_per_row();
  // Weights from the slowest dimension on: chunk id = Σ coordinate × product of faster grids.
  const auto n = static_cast<std::size_t>(grid.ndims());
  for (std::size_t d = 0; d < n; ++d) {
    if (sub.count[d] == 0) return {};
    const Count stride = sub.stride.empty() ? 1 : sub.stride[d];
    const auto shares = shares_of(sub.start[d], sub.count[d], stride, grid.shape()[d]);
    if (d > 0) weight_of_row /= grid.grid_length(static_cast<int>(d));
    std::vector<ChunkTouch> next;
    next.reserve(touched.size() * shares.size());
    for (const ChunkTouch& t : touched) {
      for (const Share& s : shares)
        next.push_back({t.chunk + s.chunk * weight_of_row, t.bytes * s.count});
    }
    touched.swap(next);
  }
  return touched;
}

std::vector<ChunkTouch> touched_by_runs(const ChunkGrid& grid, const Runs& selected) {
  std::vector<ChunkTouch> touched;
  Offset end = -1;   // of the current segment
  Offset begin = 0;  // runs come in increasing order, so only its end matters, unless they overlap
  bool sorted = true;
  for (const Run& run : selected.list->runs) {
    Offset at = selected.base + run.offset;
    const Offset stop = at + run.length;
    while (at < stop) {
      if (at >= end || at < begin) {
        const Count chunk = grid.chunk_at(at, end);
        begin = at;
        if (touched.empty() || touched.back().chunk != chunk) {
          sorted = sorted && (touched.empty() || touched.back().chunk < chunk);
          touched.push_back({chunk, 0});
        }
      }
      const Offset next = std::min(stop, end);
      touched.back().bytes += next - at;
      at = next;
    }
  }
  if (sorted) return touched;
  std::sort(touched.begin(), touched.end(),
            [](const ChunkTouch& a, const ChunkTouch& b) { return a.chunk < b.chunk; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < touched.size(); ++i) {
    if (touched[i].chunk == touched[kept].chunk) {
      touched[kept].bytes += touched[i].bytes;
    } else {
      touched[++kept] = touched[i];
    }
  }
  touched.resize(kept + 1);
  return touched;
}

}  // namespace

std::vector<ChunkTouch> touched_chunks(const ChunkGrid& grid, const Request& request) {
  if (const auto* sub = std::get_if<Subarray>(&request.selection)) {
    return touched_by_box(grid, *sub);
  }
  return touched_by_runs(grid, std::get<Runs>(request.selection));
}

std::vector<Offset> run_positions(const RunList& list) {
  std::vector<Offset> positions;
  positions.reserve(list.runs.size());
  Offset at = 0;
  for (const Run& run : list.runs) {
    positions.push_back(at);
    at += run.length;
  }
  return positions;
}

ChunkPieces::ChunkPieces(const ChunkGrid& grid, const Request& request, Count chunk,
                         std::span<const Offset> positions) {
  if (const auto* sub = std::get_if<Subarray>(&request.selection)) {
    set_up_box(*sub, grid, chunk);
    return;
  }
  const auto& selected = std::get<Runs>(request.selection);
  list_ = selected.list.get();
  base_ = selected.base;
  places_ = list_->memory.empty() ? positions : std::span<const Offset>(list_->memory);
  segments_ = grid.segments(chunk);
}

void ChunkPieces::set_up_box(const Subarray& sub, const ChunkGrid& grid, Count chunk) {
  const ChunkGrid::Box box = grid.box(chunk);
  const Count width = grid.width();
  piece_ = {0, 0, width};
  Count position_step = width, memory_step = width;  // between neighbours of dimension d
  bool contiguous = true;  // piece_ is all that was selected of the faster dimensions
  for (auto d = static_cast<std::size_t>(grid.ndims()); d-- > 0;) {
    const Count stride = sub.stride.empty() ? 1 : sub.stride[d];
    const Count first = box.first[d], end = first + box.extent[d];
    // Indices i of the selection with first <= start + i * stride < end.
    const Count from = sub.start[d] >= first ? 0 : (first - sub.start[d] + stride - 1) / stride;
    const Count to =
        sub.start[d] >= end ? 0 : std::min(sub.count[d], (end - 1 - sub.start[d]) / stride + 1);
    if (from >= to) {
      piece_.length = 0;
      return;
    }
    const Count count = to - from;
    piece_.position += (sub.start[d] + from * stride - first) * position_step;
    piece_.memory += from * memory_step;
    const Count in_chunk = stride * position_step;
    if (count > 1) {
      if (contiguous && in_chunk == piece_.length && memory_step == piece_.length) {
        piece_.length *= count;
      } else {
        contiguous = false;
        Loop* faster = loops_.empty() ? nullptr : &loops_.back();
        if (faster && in_chunk == faster->count * faster->position &&
            memory_step == faster->count * faster->memory) {
          faster->count *= count;
        } else {
          loops_.push_back({count, in_chunk, memory_step});
        }
      }
    }
    position_step *= box.extent[d];
    memory_step *= sub.count[d];
  }
  std::reverse(loops_.begin(), loops_.end());
}

const Run* ChunkPieces::first_reaching(const Run* run, const Run* last, Offset begin) {
  // Usually it is one of the next few.
  for (int i = 0; i < 4 && run != last; ++i, ++run) {
    if (run->offset + run->length > begin) return run;
  }
  return std::partition_point(run, last,
                              [begin](const Run& r) { return r.offset + r.length <= begin; });
}

std::vector<Count> level_shape(std::span<const Count> shape, int level) {
  std::vector<Count> coarse(shape.begin(), shape.end());
  for (Count& n : coarse) n = ((n - 1) >> level) + 1;
  return coarse;
}

bool is_cut(const Variable& var, std::size_t dim) {
  return var.chunking->shape[dim] > 1 && var.shape[dim] > 0 && !(dim == 0 && var.is_record);
}

Variable at_level(const Variable& var, int level) {
  Variable coarse = var;
  std::vector<Count>& shape = coarse.chunking->shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (is_cut(var, d)) coarse.shape[d] = ((var.shape[d] - 1) >> level) + 1;
  }
  shape = level_shape(shape, level);
  coarse.inner_elements = 1;
  for (std::size_t d = var.is_record ? 1 : 0; d < shape.size(); ++d)
    coarse.inner_elements *= coarse.shape[d];
  return coarse;
}

}  // namespace forebay
