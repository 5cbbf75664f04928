#include "array/run_list_pool.h"

#define XXH_STATIC_LINKING_ONLY  // allows the state on the stack
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/hash.h"

namespace forebay {
namespace {

/// Hashes numbers that come one by one. A few of them need no state.
class Hash {
 public:
  /// Returns room for `n` numbers, n ≤ most. All but the first ones are of one type.
  template <typename T>
  T* room(std::size_t n) {
    if (used_ + n * sizeof(T) > sizeof buffer_) flush();
    T* const at = reinterpret_cast<T*>(buffer_.data() + used_);
    used_ += n * sizeof(T);
    return at;
  }
  XXH128_hash_t result() {
    if (!streams_) return XXH3_128bits(buffer_.data(), used_);
    flush();
    return XXH3_128bits_digest(&state_);
  }
  static constexpr std::size_t most = 512;

 private:
  void flush() {
    if (!streams_) XXH3_128bits_reset(&state_);
    streams_ = true;
    update_128(&state_, buffer_.data(), used_);
    used_ = 0;
  }

  alignas(Count) std::array<std::byte, most * sizeof(Count)> buffer_;
  std::size_t used_ = 0;  // bytes
  bool streams_ = false;
  XXH3_state_t state_;
};

enum class Added { all, too_large, no_start };

/// Adds starts, their first coordinates less `record`, and counts as numbers of type T, if all fit.
/// N: the number of dimensions, or 0 if it is known at run time only.
template <typename T, std::size_t N>
Added add_pieces(Hash& hash, const VarnPieces& pieces, std::size_t dims, Count record) {
  const std::size_t n = N == 0 ? dims : N;
  for (int i = 0; i < pieces.num; ++i) {
    const Count* start = pieces.starts[i];
    const Count* count = pieces.counts == nullptr ? nullptr : pieces.counts[i];
    if (start == nullptr) return Added::no_start;
    T* const to = hash.room<T>(2 * n);
    std::uint64_t any = 0;
    for (std::size_t d = 0; d < n; ++d) {
      const auto from =
          static_cast<std::uint64_t>(start[d]) - (d == 0 ? static_cast<std::uint64_t>(record) : 0);
      const auto length = count == nullptr ? 1 : static_cast<std::uint64_t>(count[d]);
      to[d] = static_cast<T>(from);
      to[n + d] = static_cast<T>(length);
      any |= from | length;
    }
    if (any > std::numeric_limits<T>::max()) return Added::too_large;
  }
  return Added::all;
}

template <typename T>
Added add(Hash& hash, const VarnPieces& pieces, std::size_t dims, Count record) {
  const auto f = dims == 1   ? add_pieces<T, 1>
                 : dims == 2 ? add_pieces<T, 2>
                 : dims == 3 ? add_pieces<T, 3>
                 : dims == 4 ? add_pieces<T, 4>
                             : add_pieces<T, 0>;
  return f(hash, pieces, dims, record);
}

}  // namespace

std::optional<RunListPool::Key> RunListPool::key_of(const Variable& var, const VarnPieces& pieces,
                                                    bool resolve_overlaps) {
  const std::size_t n = var.dimids.size();
  if (n == 0 || 2 * n > Hash::most / 2 || pieces.num < fewest || pieces.starts == nullptr ||
      pieces.starts[0] == nullptr)
    return std::nullopt;
  const Count record = var.is_record ? pieces.starts[0][0] : 0;
  // Numbers are usually small: half of the bytes to hash.
  for (const bool wide : {false, true}) {
    Hash hash;
    Count* front = hash.room<Count>(4 + n);
    *front++ = static_cast<Count>(n);
    *front++ = size_of(var.type);
    *front++ = pieces.num;
    *front++ = (wide ? 4 : 0) + (var.is_record ? 2 : 0) + (resolve_overlaps ? 1 : 0);
    std::copy(var.shape.begin(), var.shape.end(), front);
    if (var.is_record) front[0] = 0;
    const Added added = wide ? add<std::uint64_t>(hash, pieces, n, record)
                             : add<std::uint32_t>(hash, pieces, n, record);
    if (added == Added::no_start) return std::nullopt;
    if (added == Added::too_large) continue;
    const XXH128_hash_t result = hash.result();
    return Key{result.low64, result.high64};
  }
  return std::nullopt;
}

Runs RunListPool::flatten(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                          bool resolve_overlaps, FlattenedVarn& found) {
  const auto key = key_of(var, pieces, resolve_overlaps);
  const Count inner = var.is_record ? var.inner_bytes() : 0;
  const Count record = key && var.is_record ? pieces.starts[0][0] : 0;
  if (key) {
    const auto same =
        std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == *key; });
    // A selection outside the existing records is left to flatten_varn, which says why.
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
  if (known.list->memory_bytes() > most_bytes) return;
  known_.push_back(std::move(known));
  const auto bytes = [&] {
    return std::accumulate(known_.begin(), known_.end(), Count{0},
                           [](Count sum, const Known& k) { return sum + k.list->memory_bytes(); });
  };
  while (known_.size() > kept || bytes() > most_bytes) known_.erase(known_.begin());
}

std::shared_ptr<const RunList> RunListPool::share(const RunList& list) {
  for (const auto& candidate : recent_) {
    // Lists of different pieces differ early, so a comparison that fails costs little.
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
