#include "layout/chunked/deferred.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/attempt.h"
#include "base/byteorder.h"

namespace forebay::chunked {

namespace {

/// The elements of a subarray that are in a box.
Subarray part_within(const Subarray& whole, const ChunkGrid::Box& box) {
  Subarray part = whole;
  for (std::size_t d = 0; d < whole.start.size(); ++d) {
    const Count stride = whole.stride.empty() ? 1 : whole.stride[d];
    const Count before = std::max<Count>(box.first[d] - whole.start[d], 0);
    const Count first = before / stride + (before % stride != 0);
    const Count last = (box.first[d] + box.extent[d] - 1 - whole.start[d]) / stride;
    part.start[d] = whole.start[d] + first * stride;
    part.count[d] = std::min(last, whole.count[d] - 1) - first + 1;
  }
  return part;
}

/// The position of a chunk's byte in its variable.
Offset linear_of(const ChunkGrid::Segments& segments, Count position) {
  return segments.begins[static_cast<std::size_t>(position / segments.bytes)] +
         position % segments.bytes;
}

}  // namespace

void DeferredWrites::add(const ChunkGrid& grid, const Request& write) {
  const auto* runs = std::get_if<Runs>(&write.selection);
  std::vector<Offset> positions;
  if (runs != nullptr && runs->list->memory.empty()) positions = run_positions(*runs->list);
  const std::size_t before = requests_.size();
  const auto failed = attempt_to([&] {
    for (const ChunkTouch& touched : touched_chunks(grid, write))
      add_part(grid, write, touched, positions);
  });
  if (!failed) return;
  for (auto at = of_chunk_.begin(); at != of_chunk_.end();) {
    while (!at->second.empty() && at->second.back() >= before) at->second.pop_back();
    at = at->second.empty() ? of_chunk_.erase(at) : std::next(at);
  }
  requests_.resize(before);
  pieces_.resize(std::min(before, pieces_.size()));
  throw *failed;
}

void DeferredWrites::add_part(const ChunkGrid& grid, const Request& write,
                              const ChunkTouch& touched, std::span<const Offset> positions) {
  Request part;
  part.var = write.var;
  part.write = true;
  part.element_size = write.element_size;
  part.elements = touched.bytes / write.element_size;
  data_.make_room(touched.bytes);
  Piece piece{touched.chunk, 0, touched.bytes};
  std::byte* to = data_.reserve(touched.bytes, piece.position).data();
  const auto copy = [&](const ChunkPiece& p) {
    copy_swapped_range(to, write.packed, p.memory, p.length, write.swap);
    to += p.length;
  };
  const ChunkPieces pieces(grid, write, touched.chunk, positions);
  if (const auto* sub = std::get_if<Subarray>(&write.selection)) {
    part.selection = part_within(*sub, grid.box(touched.chunk));
    pieces.for_each(copy);
  } else {
    RunList runs;
    const auto segments = grid.segments(touched.chunk);
    pieces.for_each([&](const ChunkPiece& p) {
      copy(p);
      runs.runs.push_back({linear_of(segments, p.position), p.length});
      runs.memory.push_back(runs.bytes);
      runs.bytes += p.length;
    });
    part.selection = Runs{std::make_shared<const RunList>(std::move(runs))};
  }
  requests_.push_back(std::move(part));
  pieces_.push_back(piece);
  of_chunk_[{write.var, touched.chunk}].push_back(static_cast<std::uint32_t>(requests_.size() - 1));
}

void DeferredWrites::apply(const ChunkGrid& grid, VarId var, Count id,
                           std::span<std::byte> raw) const {
  const auto found = of_chunk_.find({var, id});
  if (found == of_chunk_.end()) return;
  std::vector<std::byte> written;
  for (const std::uint32_t i : found->second) {
    written.resize(static_cast<std::size_t>(pieces_[i].bytes));
    data_.read(pieces_[i].position, written);
    ChunkPieces(grid, requests_[i], id, {}).for_each([&](const ChunkPiece& p) {
      std::memcpy(raw.data() + p.position, written.data() + p.memory,
                  static_cast<std::size_t>(p.length));
    });
  }
}

void DeferredWrites::cut_again(const GridOf& grid) {
  DeferredWrites again(limit_, make_file_);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    loaded_.resize(static_cast<std::size_t>(pieces_[i].bytes));
    data_.read(pieces_[i].position, loaded_);
    requests_[i].packed = loaded_.data();
    again.add(grid(requests_[i].var), requests_[i]);
  }
  *this = std::move(again);
}

std::vector<Touch> DeferredWrites::touch_list() const {
  std::vector<Touch> touches;
  touches.reserve(requests_.size());
  for (const auto& [chunk, numbers] : of_chunk_) {
    for (const std::uint32_t i : numbers)
      touches.push_back({chunk.first, chunk.second, i, 0, pieces_[i].bytes});
  }
  return touches;
}

void DeferredWrites::make_room(const Operation& op) {
  Count most = 0;
  for (std::uint32_t round = 0; round < op.rounds; ++round) {
    Count bytes = 0;
    for (const Touch& t : op.touches_of_round(round)) bytes += t.bytes;
    most = std::max(most, bytes);
  }
  loaded_.resize(static_cast<std::size_t>(most));
}

void DeferredWrites::load(const Operation& op, std::uint32_t round) {
  std::byte* to = loaded_.data();
  for (const Touch& t : op.touches_of_round(round)) {
    op.requests[t.request].packed = to;
    to += t.bytes;
  }
  to = loaded_.data();
  // Parts that were written one after another are read in one call.
  const auto touches = op.touches_of_round(round);
  for (std::size_t i = 0; i < touches.size();) {
    const Offset begin = pieces_[touches[i].request].position;
    Offset end = begin;
    for (; i < touches.size() && pieces_[touches[i].request].position == end; ++i)
      end += touches[i].bytes;
    const std::span<std::byte> part(to, static_cast<std::size_t>(end - begin));
    data_.read(begin, part);
    to += part.size();
  }
}

void DeferredWrites::clear() {
  requests_.clear();
  pieces_.clear();
  of_chunk_.clear();
  loaded_ = {};
  data_ = PendingData(limit_, make_file_);
}

}  // namespace forebay::chunked
