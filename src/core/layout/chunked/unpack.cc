#include "layout/chunked/unpack.h"

#include <algorithm>

#include "array/convert.h"
#include "base/byteorder.h"

namespace forebay::chunked {

Target::Target(std::byte* memory, Type external, Type type)
    : memory_(memory),
      swap_(size_of(external)),
      external_(external),
      type_(type),
      converts_(!is_plain_copy(external, type)) {}

bool Target::put(const std::byte* from, Count at, Count length) const {
  if (!converts_) {
    store_swapped_range(memory_, at, from, length, swap_);
    return false;
  }
  const Count width = size_of(external_);
  return from_external(external_, from, type_, memory_ + at / width * size_of(type_),
                       length / width, nullptr);
}

void Target::settle(std::byte* place, Count length) const {
  if (swap_ > 1) copy_swapped(place, place, static_cast<std::size_t>(length), swap_);
}

bool put_part(const Part& part, const std::byte* chunk) {
  const ChunkPieces& pieces = part.first;
  const Target& target = part.second;
  bool out_of_range = false;
  pieces.for_each([&](const ChunkPiece& p) {
    out_of_range |= target.put(chunk + p.position, p.memory, p.length);
  });
  return out_of_range;
}

void Chunk::decode(std::span<std::byte> raw, CodecWorkspace& workspace) const {
  if (is_stored()) {
    decode_chunk(coding, name, id, parts, raw, workspace);
  } else {
    fill_chunk(coding.fill, raw);
  }
}

namespace {

// Copies fill values, a few at a time.
bool put_fill(const VariableCoding& coding, Count bytes, const Part& part, TaskSlot& slot) {
  const ChunkPieces& pieces = part.first;
  const Target& target = part.second;
  const auto some = slot.chunk(std::min(4096 * coding.grid.width(), bytes));
  fill_chunk(coding.fill, some);
  const auto step = static_cast<Count>(some.size());
  bool out_of_range = false;
  pieces.for_each([&](const ChunkPiece& p) {
    for (Count done = 0; done < p.length; done += step) {
      out_of_range |= target.put(some.data(), p.memory + done, std::min(step, p.length - done));
    }
  });
  return out_of_range;
}

}  // namespace

bool unpack(const Chunk& chunk, const Part& part, TaskSlot& slot) {
  const Count bytes = chunk.coding.grid.bytes(chunk.id);
  if (!chunk.is_stored()) return put_fill(chunk.coding, bytes, part, slot);
  const auto& [pieces, target] = part;
  const auto only = pieces.only_piece();
  std::byte* const place = only ? target.place(only->memory) : nullptr;
  if (place != nullptr && only->length == bytes) {
    chunk.decode({place, static_cast<std::size_t>(bytes)}, slot.workspace);
    target.settle(place, bytes);
    return false;
  }
  const std::span<std::byte> raw = slot.chunk(bytes);
  chunk.decode(raw, slot.workspace);
  return put_part(part, raw.data());
}

}  // namespace forebay::chunked
