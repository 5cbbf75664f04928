#include "decomposed/encode.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "layout/list_stream.h"

namespace forebay::decomposed {
namespace {

/// What an encoder reports about a part.
struct Told {
  Count bytes = 0;
  std::uint64_t hash = 0;
  std::uint32_t skipped = 0;
  std::uint16_t sorted = 0;
  std::uint16_t bound = 0;  // an EncodedChunk::Bound
};

constexpr Count pattern_overhead = 128;  // of a known pattern

Count with_padding(Count bytes) { return round_up(bytes, part_unit); }

}  // namespace

struct SlabEncoder::Work {
  std::span<const FreshSlab> slabs;
  std::span<const Blob> blobs;
  PartPlan plan;
  std::vector<Encoding> codings;                 // for each slab
  std::vector<std::vector<StoredPart>> entries;  // on the leader, for each slab

  // This rank's parts of the current round.
  struct Own {
    const PlannedPart* part;
    std::byte* raw;
    std::shared_ptr<const PartOrder> order;
  };
  std::vector<Own> own;
  Count raw_bytes = 0;
  std::unique_ptr<std::byte[]> raw;  // without shared memory
  Count raw_room = 0;
  std::vector<chunked::StoredChunk> stored;
  std::vector<Message> messages;

  /// Copies this rank's share of a part, in the file's form.
  void copy(const PlannedPart& part, const Share& share, std::byte* to) const {
    const Blob& blob = blobs[*slabs[part.slab].mine];
    const Count width = blob.width;
    each_in_memory(*blob.what, share.first, share.elements, [&](Count memory, Count count) {
      copy_swapped(to, blob.data + memory * width, static_cast<std::size_t>(count * width),
                   blob.swap);
      to += count * width;
    });
  }
};

// Returns this rank's new patterns, as far as its share of the memory allows.
std::vector<std::byte> SlabEncoder::new_patterns(const Work& work) {
  std::vector<std::byte> bytes;
  const Count share = pattern_room_ / group_.size();
  for (std::size_t i = 0; i < work.slabs.size(); ++i) {
    const FreshSlab& slab = work.slabs[i];
    if (!slab.mine || slab.data.blobs.size() < 2 || !work.codings[i].coding->encodes()) continue;
    const Selected& what = *work.blobs[*slab.mine].what;
    if (what.pattern.runs.size() > most_runs(share) || told_.contains(what.key)) continue;
    told_.insert(what.key);  // it is sent below, or has no room now and later
    const auto packed = packer_.pack(what.pattern);
    const Count room = std::ssize(packed) + pattern_overhead;
    if (share_taken_ + room > share) continue;
    share_taken_ += room;
    put(bytes, what.key);
    put_list(bytes, std::span<const std::byte>(packed));
  }
  return bytes;
}

// Collective. A rank without memory for a pattern leaves its parts unsorted.
void SlabEncoder::share_patterns(std::span<const std::byte> mine) {
  StepTimer timer(report_, Step::exchange);
  std::vector<std::int64_t> sizes;
  const auto all = group_.all_gather_bytes(mine, sizes);
  attempt_to([&] {
    std::span<const std::byte> bytes(all);
    while (!bytes.empty()) {
      const auto key = take<Key>(bytes);
      patterns_[key] = take_list<std::byte>(bytes);
    }
  });
}

// Returns null if the part stays as it is. A single blob, or a piece of one, is in order already.
std::shared_ptr<const PartOrder> SlabEncoder::order_of(const Work& work, const PlannedPart& part) {
  if (part.shares < 2 || !work.codings[part.slab].coding->encodes()) return nullptr;
  const auto& blobs = work.slabs[part.slab].data.blobs;
  std::vector<Key> keys;
  for (const Share& share : work.plan.of(part)) {
    const auto blob =
        std::lower_bound(blobs.begin(), blobs.end(), share.rank,
                         [](const SlabToEncode::Blob& b, Rank rank) { return b.rank < rank; });
    if (share.elements != blob->elements || !patterns_.contains(blob->pattern)) return nullptr;
    keys.push_back(blob->pattern);
  }
  std::size_t i = 0;
  return orders_.of(std::as_bytes(std::span(keys)), [&]() -> std::optional<Pattern> {
    if (i == keys.size()) return std::nullopt;
    return packer_.unpack(patterns_.at(keys[i++]));
  });
}

// Collective. All ranks have the same plan, so either all call this or none.
void SlabEncoder::make_room(const PartPlan& plan) {
  if (!shares_) return;
  Count most = 0;
  for (std::uint32_t r = 0; r < plan.rounds; ++r) {
    Count bytes = 0;
    for (const PlannedPart& part : plan.round(r)) bytes += with_padding(part.bytes);
    most = std::max(most, bytes);
  }
  if (static_cast<std::size_t>(most) <= memory_.size()) return;
  memory_ = NodeMemory{};  // the old one first: there may be no room for both
  memory_ = NodeMemory::create(group_, static_cast<std::size_t>(most));
  shares_ = static_cast<bool>(memory_);
}

// Prepares this rank's own parts, and its shares of others' parts: directly in shared memory, else
// in messages. Shared memory is free: all ranks have written what was in it.
void SlabEncoder::prepare(Work& work, std::span<const PlannedPart> round) {
  StepTimer timer(report_, Step::pack);
  const Rank me = group_.rank();
  work.own.clear();
  work.stored.clear();
  work.messages.clear();
  std::vector<std::vector<std::byte>> to(static_cast<std::size_t>(group_.size()));
  std::vector<std::size_t> sizes(to.size(), 0);
  work.raw_bytes = 0;
  for (const PlannedPart& part : round) {
    if (part.encoder == me) work.raw_bytes += with_padding(part.bytes);
    for (const Share& share : work.plan.of(part))
      if (share.rank == me)
        sizes[static_cast<std::size_t>(part.encoder)] +=
            static_cast<std::size_t>(share.elements * (part.bytes / part.elements));
  }
  if (!shares_ && work.raw_bytes > work.raw_room) {
    work.raw_room = 0;
    work.raw.reset();
    work.raw =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(work.raw_bytes));
    work.raw_room = work.raw_bytes;
  }
  for (std::size_t r = 0; r < to.size() && !shares_; ++r)
    if (static_cast<Rank>(r) != me) to[r].reserve(sizes[r]);

  std::byte* room = shares_ ? memory_.data() : work.raw.get();
  for (const PlannedPart& part : round) {
    const Count width = part.bytes / part.elements;
    std::byte* place = shares_ || part.encoder == me ? room : nullptr;
    if (place) room += with_padding(part.bytes);
    if (part.encoder == me) {
      work.own.push_back({&part, place, order_of(work, part)});
      std::memset(place + part.bytes, 0, static_cast<std::size_t>(room - place - part.bytes));
    }
    for (const Share& share : work.plan.of(part)) {
      const auto size = static_cast<std::size_t>(share.elements * width);
      if (share.rank == me && place) {
        work.copy(part, share, place);
      } else if (share.rank == me) {
        auto& message = to[static_cast<std::size_t>(part.encoder)];
        message.resize(message.size() + size);
        work.copy(part, share, message.data() + message.size() - size);
      }
      if (place) place += size;
    }
  }
  for (std::size_t r = 0; r < to.size(); ++r) {
    if (to[r].empty()) continue;
    ++report_[Counter::messages];
    report_[Counter::message_bytes] += std::ssize(to[r]);
    work.messages.push_back({static_cast<Rank>(r), std::move(to[r])});
  }
}

// Afterwards this rank's parts are complete, unless it throws. Without shared memory, a rank that
// failed sends nothing but still takes part. The others get the error in the next collective step.
void SlabEncoder::bring_together(Work& work, std::span<const PlannedPart> round) {
  auto failed = attempt_to([&] { prepare(work, round); });
  if (shares_) {
    StepTimer timer(report_, Step::wait);
    return agree_on_error(group_, failed);
  }
  if (group_.size() > 1) {
    StepTimer timer(report_, Step::exchange);
    const bool whole = !failed;
    if (!whole) work.messages.clear();
    attempt_into(failed, [&] {
      sparse_exchange(group_, work.messages, [&](Rank from, std::span<const std::byte> bytes) {
        if (whole) receive(work, from, bytes);
      });
    });
    work.messages.clear();
  }
  if (failed) throw *failed;
}

// A message has the shares in the order of parts.
void SlabEncoder::receive(Work& work, Rank from, std::span<const std::byte> bytes) {
  for (const Work::Own& own : work.own) {
    const Count width = own.part->bytes / own.part->elements;
    std::byte* place = own.raw;
    for (const Share& share : work.plan.of(*own.part)) {
      const auto size = static_cast<std::size_t>(share.elements * width);
      if (share.rank == from) {
        std::memcpy(place, bytes.data(), size);
        bytes = bytes.subspan(size);
      }
      place += size;
    }
  }
}

void SlabEncoder::encode_own(Work& work) {
  StepTimer timer(report_, Step::encode);
  arena_.reset(work.raw_bytes);
  work.stored.resize(work.own.size());
  tasks_.run(work.own.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
    const auto& [part, raw, order] = work.own[i];
    const auto& [coding, missing] = work.codings[part->slab];
    if (order) {
      const auto sorted = slot.chunk(part->bytes);
      order->sort({raw, sorted.size()}, sorted, static_cast<int>(part->bytes / part->elements));
      std::memcpy(raw, sorted.data(), sorted.size());
    }
    ChunkInfo info = coding->info(part->elements);
    info.missing = missing;
    work.stored[i] =
        chunked::encode_chunk(coding->pipeline, info, {raw, static_cast<std::size_t>(part->bytes)},
                              arena_, true, slot.workspace);
  });
  for (std::size_t i = 0; i < work.own.size(); ++i) {
    const auto size = std::ssize(work.stored[i].bytes);
    ++report_[Counter::chunks_encoded];
    if (size == work.own[i].part->bytes) ++report_[Counter::chunks_raw];
    report_[Counter::bytes_encoded] += work.own[i].part->bytes;
    report_[Counter::bytes_stored] += size;
  }
}

// Parts lie in the file in the order of the plan, like slabs without a codec.
void SlabEncoder::place_and_write(Work& work, std::span<const PlannedPart> round,
                                  DataFileWriter* file) {
  std::vector<Told> mine;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(group_.size()), 0);
  for (std::size_t i = 0; i < work.stored.size(); ++i) {
    const chunked::StoredChunk& stored = work.stored[i];
    mine.push_back({std::ssize(stored.bytes), stored.hash, stored.skipped,
                    static_cast<std::uint16_t>(work.own[i].order ? 1 : 0),
                    static_cast<std::uint16_t>(stored.bound)});
  }
  for (const PlannedPart& part : round)
    sizes[static_cast<std::size_t>(part.encoder)] += sizeof(Told);
  const auto all = [&] {
    StepTimer timer(report_, Step::wait);
    return group_.all_gather_known(std::as_bytes(std::span(mine)), sizes);
  }();

  std::vector<std::size_t> next;  // next place of each rank in `all`
  std::size_t begin_of_rank = 0;
  for (const std::int64_t size : sizes) {
    next.push_back(begin_of_rank);
    begin_of_rank += static_cast<std::size_t>(size);
  }
  std::vector<StoredPart> parts;
  parts.reserve(round.size());
  Count total = 0;
  for (const PlannedPart& part : round) {
    Told told;
    std::size_t& at = next[static_cast<std::size_t>(part.encoder)];
    std::memcpy(&told, all.data() + at, sizeof told);
    at += sizeof told;
    if (file)
      lossy_.note(work.slabs[part.slab].first.var, told.skipped,
                  static_cast<EncodedChunk::Bound>(told.bound));
    parts.push_back({part.elements, total, told.bytes, told.skipped, told.hash, told.sorted != 0});
    total += with_padding(told.bytes);
  }
  const Offset begin = told_by_root(group_, [&] { return file ? file->allocate(total) : 0; });
  for (StoredPart& part : parts) part.offset += begin;
  std::vector<Extent> extents;
  for (std::size_t i = 0, own = 0; i < round.size(); ++i) {
    if (file) work.entries[round[i].slab].push_back(parts[i]);
    if (round[i].encoder != group_.rank()) continue;
    extents.push_back({parts[i].offset, with_padding(parts[i].bytes),
                       const_cast<std::byte*>(work.stored[own++].bytes.data()), 0, 1});
  }
  ListStream stream(std::move(extents));
  io_.write_all(stream);
}

void SlabEncoder::encode(std::span<const FreshSlab> slabs, std::span<const Blob> blobs,
                         const CodingOf& coding, DataFileWriter* file) {
  Work work;
  work.slabs = slabs;
  work.blobs = blobs;
  std::vector<std::byte> patterns;
  const auto failed = attempt_to([&] {
    std::vector<SlabToEncode> data;
    for (const FreshSlab& slab : slabs) {
      data.push_back(slab.data);
      work.codings.push_back(coding(slab.first.var));
    }
    work.plan = plan_parts(data, group_.size(), limits_);
    if (file) work.entries.resize(slabs.size());
    patterns = new_patterns(work);
  });
  // After this step all ranks know the number of rounds, and need no further agreement.
  std::int64_t any = patterns.empty() ? 0 : 1;
  const auto outcome = attempt_to([&] {
    agree_on_error(group_, failed, std::span(&any, 1), Reduce::max);
    if (any != 0) share_patterns(patterns);
  });
  if (outcome) {  // on all ranks: it is unknown which patterns were received
    told_.clear();
    patterns_.clear();
    share_taken_ = 0;
    throw *outcome;
  }
  make_room(work.plan);
  for (std::uint32_t r = 0; r < work.plan.rounds; ++r) {
    const auto round = work.plan.round(r);
    bring_together(work, round);
    encode_own(work);
    place_and_write(work, round, file);
  }
  by_root(group_, [&] {
    for (std::size_t i = 0; file && i < slabs.size(); ++i) {
      const Item& first = slabs[i].first;
      Count bytes = 0;
      for (const auto& blob : slabs[i].data.blobs) bytes += blob.elements * slabs[i].data.width;
      auto& parts = work.entries[i];
      file->add({first.var, first.record, first.order, slabs[i].map, parts.front().offset, bytes, 0,
                 std::move(parts)});
    }
  });
}

}  // namespace forebay::decomposed
