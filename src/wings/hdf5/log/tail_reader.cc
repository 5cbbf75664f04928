#include "hdf5/log/tail_reader.h"

#include <algorithm>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay::logged {
namespace {

constexpr Count read_window_bytes = 256 << 10;
constexpr Count tail_front_bytes = 8;

/// `bounds` are those of a pattern at base 0.
bool meets(const Bounds& bounds, Count base, const Bounds& wanted) {
  for (std::size_t d = 0; d < bounds.low.size(); ++d) {
    const Count shift = d == 0 ? base : 0;
    if (bounds.low[d] + shift >= wanted.high[d] || bounds.high[d] + shift <= wanted.low[d])
      return false;
  }
  if (bounds.inner != wanted.inner) return true;
  Count row = base;
  for (const Count extent : bounds.inner) row *= extent;
  return bounds.first + row < wanted.last && bounds.last + row > wanted.first;
}

}  // namespace

void TailReader::forget() {
  for (Known& known : known_) known = {};
  memory_ = 0;
}

/// Reads all that the others have shown of this dataset, and of others while memory is left.
void TailReader::update(std::uint64_t dataset) {
  if (generation_ != tails_.generation()) {
    generation_ = tails_.generation();
    only_.reset();
    forget();
  }
  if (memory_ > memory_limit_ || (only_ && *only_ != dataset)) {
    only_ = dataset;
    forget();
  }
  try {
    tails_.look();
    for (int rank = 0; rank < tails_.ranks(); ++rank)
      if (rank != tails_.rank()) extend(rank, tails_.bytes(rank));
  } catch (...) {
    forget();  // a record may have been taken over in part
    throw;
  }
}

void TailReader::extend(int rank, Count end) {
  Known& known = known_[static_cast<std::size_t>(rank)];
  while (known.read < end) {
    buffer_.resize(static_cast<std::size_t>(std::min(end - known.read, read_window_bytes)));
    tails_.read_stream(rank, known.read, buffer_);
    const Count before = known.read;
    auto left = std::span<const std::byte>(buffer_);
    while (left.size() >= tail_front_bytes) {
      const auto kind = static_cast<TailRecord>(load_native<std::uint32_t>(left.data()));
      const std::size_t bytes = load_native<std::uint32_t>(left.subspan(4).data());
      // Patterns may be long, so they are read only when needed.
      const bool whole = tail_front_bytes + bytes <= left.size();
      if (!whole && kind != TailRecord::pattern) break;
      take(rank, kind, known.read + tail_front_bytes,
           kind == TailRecord::pattern ? left.first(0) : left.subspan(tail_front_bytes, bytes));
      if (kind == TailRecord::pattern) known.patterns.back().bytes = bytes;
      known.read += tail_front_bytes + static_cast<Count>(bytes);
      if (!whole) break;
      left = left.subspan(tail_front_bytes + bytes);
    }
    if (known.read == before)
      throw Error(Errc::eread,
                  "what rank " + std::to_string(rank) + " shows of its writes is damaged",
                  "call H5Fflush on all ranks");
  }
}

void TailReader::take(int rank, TailRecord kind, Offset place, std::span<const std::byte> payload) {
  Known& known = known_[static_cast<std::size_t>(rank)];
  switch (kind) {
    case TailRecord::entry: {
      const auto what = load_native<TailEntry>(payload.data());
      const std::uint64_t number = known.entries++;
      if (only_ && what.entry.dataset != *only_) return;
      known.datasets[what.entry.dataset].push_back({what, number});
      memory_ += static_cast<Count>(sizeof(KnownEntry));
      return;
    }
    case TailRecord::pattern:
      known.patterns.emplace_back().place = place;
      break;
    case TailRecord::reference:
      known.patterns.emplace_back().ref = load_native<PatternRef>(payload.data());
      break;
    case TailRecord::placed: {
      const auto placed = load_native<TailPlaced>(payload.data());
      // If a flush fails on another rank, its record comes again.
      if (!known.placed.empty() && known.placed.back().first == placed.first)
        known.placed.pop_back();
      known.placed.push_back(placed);
      return;
    }
    case TailRecord::handed:
      known.handed = load_native<std::uint64_t>(payload.data());
      return;
  }
  memory_ += static_cast<Count>(sizeof(KnownPattern));
}

const TailReader::KnownPattern& TailReader::pattern(int rank, std::uint32_t number) {
  KnownPattern& known = known_[static_cast<std::size_t>(rank)].patterns.at(number);
  if (known.pattern) return known;
  std::shared_ptr<const Pattern> pattern;
  if (known.bytes == 0) {
    pattern = from_file_(known.ref);
  } else {
    std::vector<std::byte> packed(known.bytes);
    tails_.read_stream(rank, known.place, packed);
    pattern = std::make_shared<const Pattern>(packer_.unpack(packed));
  }
  known.bounds = bounds_of(*pattern, 0);
  known.pattern = std::move(pattern);
  memory_ += static_cast<Count>(known.pattern->runs.size() * sizeof(PatternRun) + 512);
  return known;
}

std::vector<TailReader::Found> TailReader::find(std::uint64_t dataset, const Bounds& wanted) {
  update(dataset);
  std::vector<Found> all;
  for (int rank = 0; rank < tails_.ranks(); ++rank) {
    const Known& known = known_[static_cast<std::size_t>(rank)];
    const auto at = known.datasets.find(dataset);
    if (at == known.datasets.end()) continue;
    for (const auto& [what, number] : at->second) {
      Found found{what.entry, nullptr, what.address, false, number < known.handed};
      if (what.entry.kind != Kind::cleared) {
        const KnownPattern& selected = pattern(rank, what.entry.pattern);
        if (what.entry.kind == Kind::write && !meets(selected.bounds, what.entry.base, wanted))
          continue;
        found.pattern = selected.pattern;
      }
      // The last record of placed entries gives the data's place.
      auto after =
          std::upper_bound(known.placed.begin(), known.placed.end(), number,
                           [](std::uint64_t n, const TailPlaced& p) { return n < p.first; });
      if (after != known.placed.begin() && number < (*std::prev(after)).last) {
        found.placed = true;
        found.entry.file = std::prev(after)->file;
        found.entry.data += std::prev(after)->begin;
      }
      all.push_back(std::move(found));
    }
  }
  return all;
}

void TailReader::read(const Found& found, Offset skip, std::span<std::byte> into) {
  const auto rank = static_cast<int>(found.entry.rank);
  if (found.address == on_its_way)
    throw Error(Errc::eperm,
                "a thread of rank " + std::to_string(rank) +
                    " is still writing what is read here, or has written it since the last call of "
                    "that rank",
                "wait for that rank's event set, or call H5Fflush, before; or read collectively");
  // No temporary file reaches that far, so the data is read at its address.
  constexpr Offset beyond = Offset{1} << 62;
  const Offset position = found.handed ? beyond : found.entry.data + skip;
  tails_.read_data(rank, position,
                   found.address == 0 ? 0 : found.address + static_cast<std::uint64_t>(skip), into);
}

Count TailReader::stored_bytes(std::uint64_t dataset) {
  update(dataset);
  Count sum = 0;
  for (const Known& known : known_)
    if (const auto at = known.datasets.find(dataset); at != known.datasets.end())
      for (const KnownEntry& one : at->second) sum += one.what.entry.stored;
  return sum;
}

}  // namespace forebay::logged
