#include "layout/chunked/gathered_writes.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/attempt.h"
#include "base/error.h"
#include "base/extent.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "plan/file_space.h"

namespace forebay::chunked {
namespace {

// The rest of a unit is written, too, so that neighbours make one run.
Count padded(Count bytes) { return round_up(bytes, FileSpace::unit); }

}  // namespace

GatheredWrites::GatheredWrites(const Comm& comm, std::span<const Rank> writers,
                               std::vector<PlacedPart> parts, Count most_bytes)
    : comm_(comm), writers_(writers) {
  std::sort(parts.begin(), parts.end(), [](const PlacedPart& a, const PlacedPart& b) {
    return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
  });
  parts_.reserve(parts.size());
  for (const PlacedPart& part : parts) parts_.push_back({part});
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t last = first;
    while (last < parts_.size() && parts_[last].file == parts_[first].file) ++last;
    const auto of_a_file = std::span(parts_).subspan(first, last - first);
    const Count window_bytes = lay_out(of_a_file, most_bytes);
    if (writers_[of_a_file[0].file] == comm_.rank()) {
      mine_ = of_a_file;
      const bool several = of_a_file.back().window > 0;
      for (std::size_t b = 0; b <= std::size_t{several}; ++b)
        buffers_[b].resize(static_cast<std::size_t>(window_bytes));
    }
    first = last;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].memory != nullptr && writers_[parts_[i].file] != comm_.rank())
      to_send_.push_back(i);
  std::stable_sort(to_send_.begin(), to_send_.end(), [&](std::size_t a, std::size_t b) {
    return parts_[a].window < parts_[b].window;
  });
}

// Returns the bytes of the largest window.
Count GatheredWrites::lay_out(std::span<Part> of_a_file, Count most_bytes) {
  Count used = 0, most = 0;
  std::uint32_t window = 0;
  for (Part& part : of_a_file) {
    if (used > 0 && used + padded(part.bytes) > most_bytes) {
      ++window;
      used = 0;
    }
    part.window = window;
    part.at = used;
    used += padded(part.bytes);
    most = std::max(most, used);
  }
  windows_ = std::max(windows_, window + 1);
  return most;
}

std::span<const GatheredWrites::Part> GatheredWrites::parts_of(std::uint32_t window) const {
  const auto [first, last] =
      std::equal_range(mine_.begin(), mine_.end(), Part{{}, window, 0},
                       [](const Part& a, const Part& b) { return a.window < b.window; });
  return {first, last};
}

void GatheredWrites::gather(std::uint32_t number) {
  std::vector<Message> messages;
  auto failed = attempt_to([&] {
    const auto first = std::partition_point(
        to_send_.begin(), to_send_.end(), [&](std::size_t i) { return parts_[i].window < number; });
    for (auto i = first; i != to_send_.end() && parts_[*i].window == number; ++i) {
      const Part& part = parts_[*i];
      const Rank to = writers_[part.file];
      if (messages.empty() || messages.back().to != to) messages.push_back({to, {}});
      std::vector<std::byte>& bytes = messages.back().bytes;
      bytes.insert(bytes.end(), part.memory, part.memory + part.bytes);
      sent_ += part.bytes;
    }
  });
  if (failed) messages.clear();
  const auto mine = parts_of(number);
  std::vector<std::byte>& buffer = buffers_[number % 2];
  Count missing = 0;
  for (const Part& part : mine) {
    std::byte* const to = buffer.data() + part.at;
    const auto bytes = static_cast<std::size_t>(part.bytes);
    std::fill(to + bytes, to + padded(part.bytes), std::byte{0});
    if (part.owner == comm_.rank())
      std::memcpy(to, part.memory, bytes);
    else
      missing += part.bytes;
  }
  attempt_into(failed, [&] {
    sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
      for (const Part& part : mine) {
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
  for (const Part& part : parts_of(number)) {
    std::byte* const memory = buffers_[number % 2].data() + part.at;
    if (!runs.empty() && runs.back().end() == part.offset)
      runs.back().length += padded(part.bytes);
    else
      runs.push_back({part.offset, padded(part.bytes), memory, 0, 1});
  }
  return runs;
}

}  // namespace forebay::chunked
