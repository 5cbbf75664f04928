#include "layout/chunked/gathered_writes.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "plan/file_space.h"

namespace forebay::chunked {
namespace {

// The rest of a unit is written, too, so that neighbours make one run.
Count padded(Count bytes) { return round_up(bytes, FileSpace::unit); }

struct SizeNote {
  OwnPart::Order order;
  Count bytes;
};

struct PlaceNote {
  Offset offset;
  std::uint64_t window;
};

}  // namespace

GatheredWrites::GatheredWrites(const Comm& comm, std::span<const Rank> writers,
                               std::span<const OwnPart> parts, const FindPlace& find_place,
                               Count most_bytes)
    : comm_(comm), writers_(writers) {
  tell_writers(parts);
  lay_out(find_place, most_bytes);
  answer_owners();
  windows_ = static_cast<std::uint32_t>(comm.all_reduce(windows_, Reduce::max));
}

void GatheredWrites::tell_writers(std::span<const OwnPart> parts) {
  places_.resize(parts.size());
  sent_.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) sent_.push_back({parts[i], i});
  std::sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
    return std::tie(a.file, a.order) < std::tie(b.file, b.order);
  });
  for (std::size_t i = 0; i < sent_.size(); ++i) first_of_.try_emplace(writers_[sent_[i].file], i);
  const auto messages = messages_of(
      std::span<const Sent>(sent_), [&](const Sent& part) { return writers_[part.file]; },
      [](const Sent& part) {
        return SizeNote{part.order, part.bytes};
      });
  comm_.meet();
  sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
    auto own = first_for(from);
    for (const SizeNote& note : all_of<SizeNote>(bytes)) {
      received_.push_back({note.order, from, note.bytes, 0, 0, 0, nullptr});
      if (from == comm_.rank()) received_.back().memory = (own++)->memory;
    }
  });
}

// The first of this rank's parts that a rank writes, while parts are in the order of files.
std::vector<GatheredWrites::Sent>::iterator GatheredWrites::first_for(Rank writer) {
  const auto first = first_of_.find(writer);
  return first == first_of_.end() ? sent_.end()
                                  : sent_.begin() + static_cast<std::ptrdiff_t>(first->second);
}

void GatheredWrites::lay_out(const FindPlace& find_place, Count most_bytes) {
  std::sort(received_.begin(), received_.end(),
            [](const Received& a, const Received& b) { return a.order < b.order; });
  for (Received& part : received_) part.offset = find_place(part.bytes);
  std::sort(received_.begin(), received_.end(),
            [](const Received& a, const Received& b) { return a.offset < b.offset; });
  Count used = 0, most = 0;
  std::uint32_t window = 0;
  for (Received& part : received_) {
    if (used > 0 && used + padded(part.bytes) > most_bytes) {
      ++window;
      used = 0;
    }
    part.window = window;
    part.at = used;
    used += padded(part.bytes);
    most = std::max(most, used);
  }
  windows_ = received_.empty() ? 0 : window + 1;
  for (std::uint32_t b = 0; b < std::min(windows_, 2U); ++b)
    buffers_[b].resize(static_cast<std::size_t>(most));
}

void GatheredWrites::answer_owners() {
  std::vector<const Received*> by_owner;
  by_owner.reserve(received_.size());
  for (const Received& part : received_) by_owner.push_back(&part);
  std::sort(by_owner.begin(), by_owner.end(), [](const Received* a, const Received* b) {
    return std::tie(a->owner, a->order) < std::tie(b->owner, b->order);
  });
  const auto messages = messages_of(
      std::span<const Received* const>(by_owner), [](const Received* part) { return part->owner; },
      [](const Received* part) {
        return PlaceNote{part->offset, part->window};
      });
  comm_.meet();
  sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
    auto part = first_for(from);
    for (const PlaceNote& note : all_of<PlaceNote>(bytes)) {
      part->offset = note.offset;
      part->window = static_cast<std::uint32_t>(note.window);
      ++part;
    }
  });
  for (const Sent& part : sent_) places_[part.index] = part.offset;
  std::erase_if(sent_, [&](const Sent& part) { return writers_[part.file] == comm_.rank(); });
  std::sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
    return std::tie(a.window, a.file, a.offset) < std::tie(b.window, b.file, b.offset);
  });
}

std::span<const GatheredWrites::Received> GatheredWrites::received_in(std::uint32_t window) const {
  Received wanted;
  wanted.window = window;
  const auto [first, last] =
      std::equal_range(received_.begin(), received_.end(), wanted,
                       [](const Received& a, const Received& b) { return a.window < b.window; });
  return {first, last};
}

void GatheredWrites::gather(std::uint32_t number) {
  std::vector<Message> messages;
  auto failed = attempt_to([&] {
    auto part = std::partition_point(sent_.begin(), sent_.end(),
                                     [&](const Sent& its) { return its.window < number; });
    for (; part != sent_.end() && part->window == number; ++part) {
      const Rank to = writers_[part->file];
      if (messages.empty() || messages.back().to != to) messages.push_back({to, {}});
      std::vector<std::byte>& bytes = messages.back().bytes;
      bytes.insert(bytes.end(), part->memory, part->memory + part->bytes);
    }
  });
  if (failed) messages.clear();
  const auto mine = received_in(number);
  std::vector<std::byte>& buffer = buffers_[number % 2];
  Count missing = 0;
  for (const Received& part : mine) {
    std::byte* const to = buffer.data() + part.at;
    const auto bytes = static_cast<std::size_t>(part.bytes);
    std::fill(to + bytes, to + padded(part.bytes), std::byte{0});
    if (part.memory != nullptr)
      std::memcpy(to, part.memory, bytes);
    else
      missing += part.bytes;
  }
  attempt_into(failed, [&] {
    sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
      for (const Received& part : mine) {
        if (part.owner != from || std::ssize(bytes) < part.bytes) continue;
        const auto its = static_cast<std::size_t>(part.bytes);
        std::memcpy(buffer.data() + part.at, bytes.data(), its);
        bytes = bytes.subspan(its);
        missing -= part.bytes;
      }
    });
  });
  if (failed) throw *failed;
  if (missing != 0)
    throw error_of_others(to_int(Errc::enomem), "another rank could not send its chunks");
}

std::vector<Extent> GatheredWrites::runs(std::uint32_t number) {
  std::vector<Extent> runs;
  for (const Received& part : received_in(number)) {
    std::byte* const memory = buffers_[number % 2].data() + part.at;
    if (!runs.empty() && runs.back().end() == part.offset)
      runs.back().length += padded(part.bytes);
    else
      runs.push_back({part.offset, padded(part.bytes), memory, 0, 1});
  }
  return runs;
}

}  // namespace forebay::chunked
