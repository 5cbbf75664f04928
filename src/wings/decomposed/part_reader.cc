#include "decomposed/part_reader.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay::decomposed {
namespace {

constexpr std::size_t most_extents = 1 << 14;  // waiting for the parts of a batch

[[noreturn]] void damaged(const ByteFile& file, const StoredPart& part, const std::string& why) {
  throw Error(Errc::enotnc,
              file.path() + ": the part of a slab at byte " + std::to_string(part.offset) +
                  " is damaged: " + why,
              "the rest can be read; forebay check tells what cannot");
}

}  // namespace

void fetch_part(ByteFile& file, const StoredPart& part, std::span<std::byte> into) {
  if (file.read_at(part.offset, into) != into.size())
    damaged(file, part, "the file ends within it");
  if (hash_of(into) != part.hash)
    damaged(file, part, "the checksum of its " + std::to_string(into.size()) + " bytes is wrong");
}

void decode_part(const ByteFile& file, const StoredPart& part, const SlabCoding& coding,
                 std::span<const std::byte> stored, std::span<std::byte> raw,
                 CodecWorkspace& workspace) {
  try {
    coding.pipeline.decode(coding.info(part.elements), stored, part.skipped, raw, workspace);
  } catch (const Error& error) {
    if (error.code() == Errc::enomem) throw;
    damaged(file, part, error.message());
  }
}

void PartReader::load(ByteFile& file, std::uint32_t number, const SlabCoding& coding,
                      const OrderOf& order_of, std::span<Needed> needed) {
  const auto id = static_cast<VarId>(number);
  std::vector<Needed*> missing;
  for (Needed& n : needed) {
    n.bytes = cache_.find(id, n.part->offset);
    // In a damaged file, another slab may have a part at the same place.
    if (n.bytes && std::ssize(*n.bytes) != coding.info(n.part->elements).bytes()) n.bytes = nullptr;
    if (n.bytes) continue;
    if (n.part->sorted) n.order = order_of(*n.part, n.begin / size_of(coding.type));
    missing.push_back(&n);
  }
  if (missing.empty()) return;
  StepTimer timer(report_, Step::decode);
  tasks_.run(missing.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
    Needed& n = *missing[i];
    const ChunkInfo info = coding.info(n.part->elements);
    const auto stored = slot.stored(n.part->bytes);
    fetch_part(file, *n.part, stored);
    auto raw = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(info.bytes()));
    if (n.order) {
      const auto sorted = slot.chunk(info.bytes());
      decode_part(file, *n.part, coding, stored, sorted, slot.workspace);
      n.order->unsort(sorted, *raw, size_of(coding.type));
    } else {
      decode_part(file, *n.part, coding, stored, *raw, slot.workspace);
    }
    n.bytes = std::move(raw);
  });
  report_[Counter::chunks_decoded] += std::ssize(missing);
  for (const Needed* n : missing) cache_.keep(id, n->part->offset, n->bytes);
}

// Works in batches. Extents wait until enough parts are known to use all threads, or to fill half
// of the cache. If the next batch begins with the same part, it is in the cache.
void PartReader::read(ByteFile& file, std::uint32_t number, const Entry& slab,
                      const SlabCoding& coding, const OrderOf& order_of, ExtentStream& extents) {
  const Count width = size_of(coding.type);
  std::vector<Needed> needed;
  std::vector<Extent> waiting;
  std::size_t at = 0;  // where the last extent ended
  Offset begin = 0;
  Count bytes = 0;  // of `needed`
  const auto hand_out = [&] {
    load(file, number, coding, order_of, needed);
    std::size_t from = 0;
    for (const Extent& e : waiting) {  // each lies within one part
      while (needed[from].end(width) <= e.offset) ++from;
      copy_swapped(e.memory, needed[from].bytes->data() + (e.offset - needed[from].begin),
                   static_cast<std::size_t>(e.length), e.swap);
    }
    waiting.clear();
    needed.clear();
    bytes = 0;
  };
  const auto need = [&](Extent e) {
    if (e.offset < begin)
      throw Error(Errc::enotnc, file.path() + ": an inverse map has elements twice",
                  "forebay check tells what can still be read");
    while (e.length > 0) {
      while (at + 1 < slab.parts.size() && begin + slab.parts[at].elements * width <= e.offset)
        begin += slab.parts[at++].elements * width;
      const StoredPart& part = slab.parts[at];
      const Offset end = begin + part.elements * width;
      const bool is_new = needed.empty() || needed.back().part != &part;
      const Count more = is_new ? part.elements * width : 0;
      const bool full = static_cast<int>(needed.size()) >= tasks_.threads() ||
                        bytes + more > options_.cache_bytes / 2;
      if ((is_new && !needed.empty() && full) || waiting.size() == most_extents) {
        hand_out();
        continue;
      }
      if (is_new) needed.push_back({&part, begin, nullptr});
      bytes += more;
      Extent piece = e;
      piece.length = std::min(e.length, end - e.offset);
      waiting.push_back(piece);
      e.memory += piece.length;
      e.offset += piece.length;
      e.length -= piece.length;
    }
  };
  std::array<Extent, 256> some;
  while (const std::size_t n = extents.next(some))
    for (const Extent& e : std::span(some).first(n)) need(e);
  if (!waiting.empty()) hand_out();
}

}  // namespace forebay::decomposed
