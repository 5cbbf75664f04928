#include "array/run_list_pool.h"

#define XXH_STATIC_LINKING_ONLY  // the state on the stack
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"

namespace forebay {
namespace {

Count bytes_of(const RunList& list) {
  return static_cast<Count>(list.runs.size() * sizeof(Run) + list.memory.size() * sizeof(Offset));
}

/// Hashes numbers that come one by one; a few of them without setting up a state.
class Hash {
 public:
  /// Room for `n` numbers, n ≤ most.
  Count* room(std::size_t n) {
    if (used_ + n > buffer_.size()) flush();
    Count* const at = buffer_.data() + used_;
    used_ += n;
    return at;
  }
  XXH128_hash_t result() {
    if (!streams_) return XXH3_128bits(buffer_.data(), used_ * sizeof(Count));
    flush();
    return XXH3_128bits_digest(&state_);
  }
  static constexpr std::size_t most = 512;

 private:
  void flush() {
    if (!streams_) XXH3_128bits_reset(&state_);
    streams_ = true;
    XXH3_128bits_update(&state_, buffer_.data(), used_ * sizeof(Count));
    used_ = 0;
  }

  std::array<Count, most> buffer_;
  std::size_t used_ = 0;
  bool streams_ = false;
  XXH3_state_t state_;
};

/// Adds starts and counts, their first coordinates less `record`; false where a start is missing.
/// N: the number of dimensions, or 0 where it is known at run time only.
template <std::size_t N>
bool add_pieces(Hash& hash, const VarnPieces& pieces, std::size_t dims, Count record) {
  const std::size_t n = N == 0 ? dims : N;
  for (int i = 0; i < pieces.num; ++i) {
    const Count* start = pieces.starts[i];
    const Count* count = pieces.counts == nullptr ? nullptr : pieces.counts[i];
    if (start == nullptr) return false;
    Count* const to = hash.room(2 * n);
    for (std::size_t d = 0; d < n; ++d) {
      to[d] = start[d];
      to[n + d] = count == nullptr ? 1 : count[d];
    }
    to[0] =
        static_cast<Count>(static_cast<std::uint64_t>(to[0]) - static_cast<std::uint64_t>(record));
  }
  return true;
}

}  // namespace

std::optional<RunListPool::Key> RunListPool::key_of(const Variable& var, const VarnPieces& pieces,
                                                    bool resolve_overlaps) {
  const std::size_t n = var.dimids.size();
  if (n == 0 || 2 * n > Hash::most / 2 || pieces.num < fewest || pieces.starts == nullptr ||
      pieces.starts[0] == nullptr)
    return std::nullopt;
  Hash hash;
  Count* front = hash.room(4 + n);
  *front++ = static_cast<Count>(n);
  *front++ = size_of(var.type);
  *front++ = pieces.num;
  *front++ = (var.is_record ? 2 : 0) + (resolve_overlaps ? 1 : 0);
  std::copy(var.shape.begin(), var.shape.end(), front);
  if (var.is_record) front[0] = 0;
  const Count record = var.is_record ? pieces.starts[0][0] : 0;
  const auto add = n == 1   ? add_pieces<1>
                   : n == 2 ? add_pieces<2>
                   : n == 3 ? add_pieces<3>
                   : n == 4 ? add_pieces<4>
                            : add_pieces<0>;
  if (!add(hash, pieces, n, record)) return std::nullopt;
  const XXH128_hash_t result = hash.result();
  return Key{result.low64, result.high64};
}

Runs RunListPool::flatten(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                          bool resolve_overlaps, FlattenedVarn& found) {
  const auto key = key_of(var, pieces, resolve_overlaps);
  const Count inner = var.is_record ? var.inner_bytes() : 0;
  const Count record = key && var.is_record ? pieces.starts[0][0] : 0;
  if (key) {
    const auto same =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == *key; });
    // What is not within the records there are is left to flatten_varn, which says why.
    if (same != known_.end() &&
        (!var.is_record || (record >= -same->lowest && record < limits.records &&
                            same->found.last_record <= limits.records - record))) {
      std::rotate(same, same + 1, known_.end());
      const Known& known = known_.back();
      found = known.found;
      found.last_record += record;
      Offset base = 0;
      if (!multiply_fits(record + known.lowest, inner, base))
        throw Error(Errc::eintoverflow, "variable " + var.name + ": too many bytes");
      return {known.list, base};
    }
  }
  found = flatten_varn(var, pieces, limits, resolve_overlaps, scratch_);
  if (!key || found.has_empty || scratch_.runs.empty()) return {share(scratch_)};
  Known known{*key, nullptr, found, 0};
  Offset base = 0;
  if (var.is_record) {
    const Count first = scratch_.runs.front().offset / inner;
    base = first * inner;
    for (Run& run : scratch_.runs) run.offset -= base;
    known.lowest = first - record;
    known.found.last_record -= record;
  }
  known.list = share(scratch_);
  Runs runs{known.list, base};
  remember(std::move(known));
  return runs;
}

void RunListPool::remember(Known&& known) {
  if (bytes_of(*known.list) > most_bytes) return;
  known_.push_back(std::move(known));
  const auto bytes = [&] {
    return std::accumulate(known_.begin(), known_.end(), Count{0},
                           [](Count sum, const Known& k) { return sum + bytes_of(*k.list); });
  };
  while (known_.size() > kept || bytes() > most_bytes) known_.erase(known_.begin());
}

std::shared_ptr<const RunList> RunListPool::share(const RunList& list) {
  for (const auto& candidate : recent_) {
    // Lists of different pieces differ early, so comparing costs little where it fails.
    if (auto known = candidate.lock(); known && *known == list) return known;
  }
  auto fresh = std::make_shared<const RunList>(list);
  if (recent_.size() < kept) {
    recent_.push_back(fresh);
  } else {
    recent_[next_] = fresh;
    next_ = (next_ + 1) % kept;
  }
  return fresh;
}

}  // namespace forebay
