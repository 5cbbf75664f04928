#include "burst/recorder.h"

#include <algorithm>
#include <cstring>

#include "base/attempt.h"

namespace forebay::burst {

namespace {

constexpr std::size_t most_parts = 4096;         // before they are committed
constexpr std::size_t most_known = 64;           // run lists that are kept
constexpr Count most_gathered = Count{8} << 20;  // bytes before they are committed

staging::Write write_of(const Request& request, const Variable& var) {
  staging::Write write;
  write.var = request.var;
  write.type = var.type;
  write.external = request.swap == 1 && request.element_size > 1;
  write.last_record = request.last_record;
  return write;
}

}  // namespace

Recorder::Recorder(const Schema& schema, staging::Writer& writer, Count most_bytes)
    : schema_(schema), writer_(writer), most_(most_bytes) {}

std::size_t Recorder::record(std::span<const Request> writes, staging::Table& table,
                             std::optional<Error>& error) {
  std::size_t recorded = 0;
  error = attempt_to([&] {
    for (std::size_t i = 0; i < writes.size(); ++i) {
      add(writes[i]);
      if (parts_.size() < most_parts && gathered_bytes_ < most_gathered) continue;
      commit(table);
      recorded = i + 1;
    }
    commit(table);
    recorded = writes.size();
  });
  parts_.clear();
  gathered_.clear();
  gathered_bytes_ = 0;
  if (error) {
    writer_.forget();
    known_.clear();
  }
  return recorded;
}

void Recorder::commit(staging::Table& table) {
  writer_.commit();
  for (Part& part : parts_) table.add(part.write, std::move(part.runs));
  parts_.clear();
  gathered_.clear();
  gathered_bytes_ = 0;
}

void Recorder::add(const Request& request) {
  if (request.elements == 0) return;
  if (const auto* sub = std::get_if<Subarray>(&request.selection)) {
    add_subarray(request, *sub);
  } else {
    add_runs(request, std::get<Runs>(request.selection));
  }
}

// Splits a subarray into parts whose data is contiguous in memory: outer dimensions index by index,
// as many indices of the next dimension as fit, and all inner ones.
void Recorder::add_subarray(const Request& request, const Subarray& sub) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(request.var)];
  const Count all = request.elements * request.element_size;
  if (all <= most_) {
    staging::Write write = write_of(request, var);
    write.continues = false;
    write.selection = sub;
    return add_part(std::move(write), {}, request.packed, all);
  }
  std::size_t cut = sub.count.size();
  Count inner = request.element_size;  // bytes of one index of the split dimension
  while (cut > 0 && inner * sub.count[cut - 1] <= most_) inner *= sub.count[--cut];
  --cut;
  const Count step = std::max<Count>(most_ / inner, 1);
  std::vector<Count> index(cut + 1, 0);
  for (Count done = 0; done < all;) {
    Subarray part = sub;
    for (std::size_t d = 0; d <= cut; ++d) {
      part.count[d] = d == cut ? std::min(step, sub.count[d] - index[d]) : 1;
      part.start[d] += index[d] * (sub.stride.empty() ? 1 : sub.stride[d]);
    }
    const Count bytes = part.count[cut] * inner;
    staging::Write write = write_of(request, var);
    write.continues = done + bytes < all;
    index[cut] += part.count[cut];
    write.selection = std::move(part);
    add_part(std::move(write), {}, request.packed + done, bytes);
    done += bytes;
    for (std::size_t d = cut; d > 0 && index[d] == sub.count[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

const Recorder::Known& Recorder::known(const std::shared_ptr<const RunList>& list) {
  if (const auto found = known_.find(list.get()); found != known_.end()) return found->second;
  if (known_.size() >= most_known) known_.clear();
  Known& known = known_[list.get()];
  known.source = list;
  known.gather = !list->memory.empty();
  Count bytes = 0;
  for (const Run& run : list->runs) bytes += run.length;
  if (bytes <= most_ && !known.gather) {
    known.pieces.push_back({list, 0, 0, list->runs.size(), 0});
    return known;
  }
  auto runs = std::make_shared<RunList>();
  Known::Piece piece{};
  Offset position = 0;  // in file order
  const auto end_piece = [&] {
    if (runs->bytes == 0) return;
    piece.runs = std::move(runs);
    known.pieces.push_back(std::move(piece));
    runs = std::make_shared<RunList>();
  };
  for (std::size_t i = 0; i < list->runs.size(); ++i) {
    Run run = list->runs[i];
    for (Offset skipped = 0; run.length > 0;) {
      if (runs->bytes == 0) piece = {nullptr, position, i, 0, skipped};
      const Count now = std::min(run.length, most_ - runs->bytes);
      runs->runs.push_back({run.offset, now});
      runs->bytes += now;
      ++piece.count;
      position += now;
      skipped += now;
      run.offset += now;
      run.length -= now;
      if (runs->bytes == most_) end_piece();
    }
  }
  end_piece();
  return known;
}

void Recorder::add_runs(const Request& request, const Runs& selected) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(request.var)];
  const Known& how = known(selected.list);
  for (const Known::Piece& piece : how.pieces) {
    const std::byte* data = request.packed + piece.memory;
    if (how.gather) {
      gathered_.push_back(
          std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(piece.runs->bytes)));
      gathered_bytes_ += piece.runs->bytes;
      std::byte* to = gathered_.back().get();
      Offset skipped = piece.skipped;
      for (std::size_t i = 0; i < piece.count; ++i) {
        const auto bytes = static_cast<std::size_t>(piece.runs->runs[i].length);
        std::memcpy(to, request.packed + selected.list->memory[piece.first + i] + skipped, bytes);
        to += bytes;
        skipped = 0;
      }
      data = gathered_.back().get();
    }
    staging::Write write = write_of(request, var);
    write.continues = &piece != &how.pieces.back();
    Runs part{piece.runs, selected.base};
    write.selection = writer_.add_pieces(part);
    add_part(std::move(write), std::move(part), data, piece.runs->bytes);
  }
}

void Recorder::add_part(staging::Write&& write, Runs runs, const std::byte* data, Count bytes) {
  const iovec memory{const_cast<std::byte*>(data), static_cast<std::size_t>(bytes)};
  writer_.add(write, std::span<const iovec>(&memory, 1));
  parts_.push_back({std::move(write), std::move(runs)});
}

}  // namespace forebay::burst
