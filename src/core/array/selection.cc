#include "array/selection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace forebay {

namespace {

[[noreturn]] void reject(const Variable& var, Errc code, std::size_t dim, const std::string& what) {
  throw Error(code, "variable " + var.name + ", dimension " + std::to_string(dim) + ": " + what);
}

}  // namespace

void RunList::drop_running_sum() {
  Offset sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (memory[i] != sum) return;
    sum += runs[i].length;
  }
  memory.clear();
}

std::pair<Subarray, Subarray> halves_of(const Subarray& box) {
  std::size_t d = 0;
  while (box.count[d] == 1) ++d;
  std::pair halves(box, box);
  auto& [first, rest] = halves;
  first.count[d] /= 2;
  rest.count[d] -= first.count[d];
  rest.start[d] += first.count[d] * (box.stride.empty() ? 1 : box.stride[d]);
  return halves;
}

Count max_records(int version, Count bytes_per_record) {
  constexpr Count addressable = std::numeric_limits<Count>::max() / 2;
  const Count by_bytes = bytes_per_record > 0 ? addressable / bytes_per_record : addressable;
  // Above 2^32 - 2, the four bytes of CDF-1 and CDF-2 are full or mean "streaming".
  return version < 3 ? std::min<Count>(by_bytes, 0xFFFFFFFELL) : by_bytes;
}

std::optional<BoxFault> fault_of(const Subarray& box, const std::vector<Count>& shape) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Count stride = box.stride.empty() ? 1 : box.stride[d];
    const Count start = box.start[d], count = box.count[d];
    const auto fault = [&](Errc code, const char* what) {
      return BoxFault{code, "dimension " + std::to_string(d) + ", of " + std::to_string(shape[d]) +
                                " elements: " + what};
    };
    if (stride < 1) return fault(Errc::estride, "a stride below 1");
    if (count < 0) return fault(Errc::enegativecnt, "a negative count");
    if (start < 0 || start > shape[d]) return fault(Errc::einvalcoords, "the start is outside");
    if (count > 0 && (count - 1 > (shape[d] - 1 - start) / stride || start == shape[d]))
      return fault(Errc::eedge, "the selection reaches beyond the end");
  }
  return std::nullopt;
}

void check_selection(const Variable& var, SelectionLimits limits, const Count* start,
                     const Count* count, const Count* stride, bool count_required) {
  const std::size_t n = var.dimids.size();
  if (n == 0) return;
  if (start == nullptr) reject(var, Errc::einvalcoords, 0, "start is a null pointer");

  const auto length = [&](std::size_t d) {
    return d == 0 && var.is_record ? limits.records : var.shape[d];
  };
  for (std::size_t d = 0; d < n; ++d) {
    const bool needs_room = limits.strict || count == nullptr || count[d] > 0;
    if (start[d] < 0 || start[d] > length(d) || (start[d] == length(d) && needs_room)) {
      reject(var, Errc::einvalcoords, d,
             "start " + std::to_string(start[d]) + " is outside 0.." + std::to_string(length(d)));
    }
  }
  if (count == nullptr && count_required) reject(var, Errc::eedge, 0, "count is a null pointer");
  if (count == nullptr) return;
  for (std::size_t d = 0; d < n; ++d) {
    if (count[d] < 0) reject(var, Errc::enegativecnt, d, "count " + std::to_string(count[d]));
    const Count step = stride == nullptr || stride[d] <= 0 ? 1 : stride[d];
    const Count room = length(d) - start[d];
    if (count[d] > 0 && (room - 1) / step < count[d] - 1) {
      reject(var, Errc::eedge, d,
             "start " + std::to_string(start[d]) + ", count " + std::to_string(count[d]) +
                 ", stride " + std::to_string(step) + " leaves length " +
                 std::to_string(length(d)));
    }
  }
  if (stride == nullptr) return;
  for (std::size_t d = 0; d < n; ++d) {
    if (stride[d] <= 0) reject(var, Errc::estride, d, "stride " + std::to_string(stride[d]));
  }
}

namespace {

/// A run with its buffer position, for sorting.
struct PlacedRun {
  Offset offset;
  Count length;
  Offset memory;

  Offset end() const { return offset + length; }
};

/// Sorts stably by offset: least significant digit first, only the digits that differ.
void sort_by_offset(std::vector<PlacedRun>& runs) {
  constexpr int digit_bits = 11;
  constexpr std::size_t buckets = std::size_t{1} << digit_bits;
  if (runs.size() < 256) {
    std::stable_sort(runs.begin(), runs.end(),
                     [](const PlacedRun& a, const PlacedRun& b) { return a.offset < b.offset; });
    return;
  }
  const auto [low, high] = std::minmax_element(
      runs.begin(), runs.end(),
      [](const PlacedRun& a, const PlacedRun& b) { return a.offset < b.offset; });
  const Offset base = low->offset;
  const auto span = static_cast<std::uint64_t>(high->offset - base);
  std::vector<PlacedRun> other(runs.size());
  for (int shift = 0; shift < 64 && (span >> shift) != 0; shift += digit_bits) {
    const auto digit = [&](const PlacedRun& p) {
      return (static_cast<std::uint64_t>(p.offset - base) >> shift) & (buckets - 1);
    };
    std::array<std::size_t, buckets> position{};
    for (const PlacedRun& p : runs) ++position[digit(p)];
    std::size_t sum = 0;
    for (std::size_t& p : position) {
      const std::size_t here = p;
      p = sum;
      sum += here;
    }
    for (const PlacedRun& p : runs) other[position[digit(p)]++] = p;
    runs.swap(other);
  }
}

/// Turns sorted runs with overlaps into runs without, by a sweep in file order. `active` is a heap
/// of the runs at the current position. The one latest in memory is on top and wins.
void resolve(const std::vector<PlacedRun>& sorted, RunList& list) {
  const auto earlier = [](const PlacedRun& a, const PlacedRun& b) { return a.memory < b.memory; };
  std::vector<PlacedRun> active;
  std::size_t next = 0;
  Offset at = 0;
  while (next < sorted.size() || !active.empty()) {
    if (active.empty()) at = sorted[next].offset;
    for (; next < sorted.size() && sorted[next].offset <= at; ++next) {
      active.push_back(sorted[next]);
      std::push_heap(active.begin(), active.end(), earlier);
    }
    const PlacedRun top = active.front();
    if (top.end() <= at) {
      std::pop_heap(active.begin(), active.end(), earlier);
      active.pop_back();
      continue;
    }
    const Offset until =
        next < sorted.size() ? std::min(top.end(), sorted[next].offset) : top.end();
    list.append({at, until - at}, top.memory + (at - top.offset));
    at = until;
  }
}

/// Builds `list` from runs in any order.
void build(std::vector<PlacedRun>& placed, bool resolve_overlaps, RunList& list) {
  const auto by_offset = [](const PlacedRun& a, const PlacedRun& b) { return a.offset < b.offset; };
  if (!std::is_sorted(placed.begin(), placed.end(), by_offset)) sort_by_offset(placed);
  list.runs.clear();
  list.memory.clear();
  list.bytes = 0;
  list.overlapping = false;
  Offset end = std::numeric_limits<Offset>::min();
  for (const PlacedRun& p : placed) {
    if (p.offset < end) list.overlapping = true;
    end = std::max(end, p.end());
  }
  if (list.overlapping && resolve_overlaps) {
    resolve(placed, list);
    list.overlapping = false;
  } else {
    for (const PlacedRun& p : placed) list.append({p.offset, p.length}, p.memory);
  }
  list.drop_running_sum();
}

/// The output of flattening so far. Hot loops hold it in registers, so slow paths take and return
/// it by value.
struct Output {
  Run open{-1, 0};  ///< the run that may still grow; at first it ends before offset 0
  Run* next;        ///< where closed runs go
  Run* end;
  Count bytes = 0;
  Count last_record = 0;
  bool in_order = true;
  bool overflow = false;
};

/// Flattens pieces of a variable of N dimensions (0: any number, known at run time only).
template <std::size_t N>
class Flattener {
 public:
  Flattener(const Variable& var, SelectionLimits limits, RunList& list)
      : var_(var),
        limits_(limits),
        ndims_(var.dimids.size()),
        element_(size_of(var.type)),
        runs_(list.runs) {
    // Generic code keeps its per-dimension values in vectors; the specialised one in arrays.
    if constexpr (N == 0) {
      length_.resize(ndims_);
      step_.resize(ndims_);
      index_.resize(ndims_);
    }
    Count step = element_;
    for (std::size_t d = ndims(); d-- > 0;) {
      length_[d] = d == 0 && var.is_record ? limits.records : var.shape[d];
      step_[d] = step;
      step *= var.shape[d];
    }
  }

  FlattenedVarn run(const VarnPieces& pieces, bool& in_order) {
    if (pieces.num > 0 && pieces.starts == nullptr) fail(nullptr, nullptr);
    // It grows on demand: most requests merge into far fewer runs than pieces.
    const auto expected = static_cast<std::size_t>(std::max(pieces.num, 4));
    runs_.resize(std::min(std::max<std::size_t>(runs_.capacity(), 64), expected));
    Output out;
    out.next = runs_.data();
    out.end = out.next + runs_.size();
    out = pieces.counts == nullptr ? add_elements(out, pieces) : add_blocks(out, pieces);
    close_run(out);
    runs_.resize(static_cast<std::size_t>(out.next - runs_.data()));
    if (out.overflow) throw Error(Errc::eintoverflow, "variable " + var_.name + ": too many bytes");
    in_order = out.in_order;
    return {out.bytes / element_, var_.is_record ? out.last_record : 0, has_empty_};
  }

 private:
  std::size_t ndims() const {
    if constexpr (N == 0) {
      return ndims_;
    } else {
      return N;
    }
  }

  /// Finds the exact error of a piece that the quick check refused.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const Count* start, const Count* count) const {
    if (start == nullptr)
      throw Error(Errc::enullstart, "variable " + var_.name + ": a start is null");
    check_selection(var_, limits_, start, count, nullptr);
    throw Error(Errc::einvalcoords, "variable " + var_.name + ": a piece is outside");
  }

  Output add_elements(Output out, const VarnPieces& pieces) const {
    const auto length = length_;
    const auto step = step_;
    const Count element = element_;
    for (int i = 0; i < pieces.num; ++i) {
      add_element(out, pieces.starts[i], length, step, element);
    }
    return out;
  }

  Output add_blocks(Output out, const VarnPieces& pieces) {
    const auto length = length_;
    const auto step = step_;
    const Count element = element_;
    for (int i = 0; i < pieces.num; ++i) {
      const Count* count = pieces.counts[i];
      if (count == nullptr) {
        add_element(out, pieces.starts[i], length, step, element);
      } else {
        add_block(out, pieces.starts[i], count, length, step, element);
      }
    }
    return out;
  }

  template <typename Values>
  [[gnu::always_inline]] void add_element(Output& out, const Count* start, const Values& length,
                                          const Values& step, Count element) const {
    if (start == nullptr) fail(start, nullptr);
    std::uint64_t offset = 0;
    int inside = 1;
    for (std::size_t d = 0; d < ndims(); ++d) {
      inside &= static_cast<int>(static_cast<std::uint64_t>(start[d]) <
                                 static_cast<std::uint64_t>(length[d]));
      offset += static_cast<std::uint64_t>(start[d]) * static_cast<std::uint64_t>(step[d]);
    }
    if (inside == 0) [[unlikely]]
      fail(start, nullptr);
    out.last_record = std::max(out.last_record, start[0] + 1);
    add_run(out, static_cast<Offset>(offset), element);
  }

  template <typename Values>
  [[gnu::always_inline]] void add_block(Output& out, const Count* start, const Count* count,
                                        const Values& length, const Values& step, Count element) {
    if (start == nullptr) fail(start, count);
    std::uint64_t offset = 0;
    int ordinary = 1;
    std::uint64_t beyond_one = 0;
    for (std::size_t d = 0; d < ndims(); ++d) {
      const auto at = static_cast<std::uint64_t>(start[d]);
      const auto end = static_cast<std::uint64_t>(length[d]);
      const auto more = static_cast<std::uint64_t>(count[d]) - 1;
      ordinary &= static_cast<int>(at < end) & static_cast<int>(more < end - at);
      beyond_one |= more;
      offset += at * static_cast<std::uint64_t>(step[d]);
    }
    if (ordinary == 0) [[unlikely]] {
      check_selection(var_, limits_, start, count, nullptr);
      has_empty_ = true;  // neither wrong nor ordinary
      return;
    }
    out.last_record = std::max(out.last_record, start[0] + count[0]);
    if (beyond_one == 0) {
      add_run(out, static_cast<Offset>(offset), element);
      return;
    }

    // Inner dimensions whose rows follow each other without a gap make one run.
    Count chunk = element;
    std::size_t outer = ndims();
    while (outer > 0 && (count[outer - 1] == 1 || step[outer - 1] == chunk)) {
      chunk *= count[outer - 1];
      --outer;
    }
    if (outer == 0) {
      add_run(out, static_cast<Offset>(offset), chunk);
    } else {
      out = add_rows(out, static_cast<Offset>(offset), count, outer, chunk);
    }
  }

  /// Adds one run of `chunk` bytes for each index into the first `outer` dimensions of a block.
  [[gnu::noinline]] Output add_rows(Output out, Offset offset, const Count* count,
                                    std::size_t outer, Count chunk) {
    for (std::size_t d = 0; d < outer; ++d) index_[d] = 0;
    for (;;) {
      add_run(out, offset, chunk);
      std::size_t d = outer;
      for (;;) {
        if (d-- == 0) return out;
        offset += step_[d];
        if (++index_[d] < count[d]) break;
        offset -= count[d] * step_[d];
        index_[d] = 0;
      }
    }
  }

  [[gnu::always_inline]] void add_run(Output& out, Offset offset, Count length) const {
    out.overflow |= !add_fits(out.bytes, length, out.bytes);
    const Offset end = out.open.offset + out.open.length;
    if (offset == end) {
      out.open.length += length;
      return;
    }
    out.in_order &= offset > end;
    close_run(out);
    out.open = {offset, length};
  }

  [[gnu::always_inline]] void close_run(Output& out) const {
    if (out.open.length == 0) return;
    if (out.next == out.end) [[unlikely]]
      out = grow(out);
    *out.next++ = out.open;
  }

  [[gnu::cold, gnu::noinline]] Output grow(Output out) const {
    const std::size_t used = runs_.size();
    runs_.resize(2 * used);
    out.next = runs_.data() + used;
    out.end = runs_.data() + runs_.size();
    return out;
  }

  template <typename T>
  using PerDim = std::conditional_t<N == 0, std::vector<T>, std::array<T, N == 0 ? 1 : N>>;

  const Variable& var_;
  SelectionLimits limits_;
  std::size_t ndims_;
  Count element_;
  std::vector<Run>& runs_;
  PerDim<Count> length_{}, step_{}, index_{};
  bool has_empty_ = false;
};

template <std::size_t N>
FlattenedVarn flatten(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                      RunList& list, bool& in_order) {
  return Flattener<N>(var, limits, list).run(pieces, in_order);
}

/// Returns whether each run ends before, or where, the next one begins.
bool are_apart(std::span<const Run> runs) {
  Offset end = std::numeric_limits<Offset>::min();
  for (const Run& run : runs) {
    if (run.offset < end) return false;
    end = run.offset + run.length;
  }
  return true;
}

/// Builds the list of runs that are apart and lie in memory one after another.
RunList list_of(std::vector<Run>&& runs) {
  RunList list;
  std::size_t kept = 0;
  for (const Run& run : runs) {
    if (run.length == 0) continue;
    list.bytes += run.length;
    if (kept > 0 && runs[kept - 1].offset + runs[kept - 1].length == run.offset)
      runs[kept - 1].length += run.length;
    else
      runs[kept++] = run;
  }
  runs.resize(kept);
  list.runs = std::move(runs);
  return list;
}

/// Each piece of a scalar is the scalar.
FlattenedVarn flatten_scalar(const Variable& var, const VarnPieces& pieces, RunList& list,
                             bool& in_order) {
  for (int i = 0; i < pieces.num; ++i) list.runs.push_back({0, size_of(var.type)});
  in_order = pieces.num < 2;
  return {pieces.num, 0};
}

}  // namespace

RunList sorted_run_list(std::vector<Run> runs, std::vector<Offset> memory, bool resolve_overlaps) {
  if (memory.empty() && are_apart(runs)) return list_of(std::move(runs));
  std::vector<PlacedRun> placed;
  placed.reserve(runs.size());
  Offset sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].length > 0) {
      placed.push_back({runs[i].offset, runs[i].length, memory.empty() ? sum : memory[i]});
    }
    sum += runs[i].length;
  }
  RunList list;
  build(placed, resolve_overlaps, list);
  return list;
}

std::shared_ptr<const RunList> rebased(const RunList& list, Count from, Count to, Offset shift) {
  auto out = std::make_shared<RunList>();
  out->bytes = list.bytes;
  out->overlapping = list.overlapping;
  Offset position = 0;
  for (std::size_t i = 0; i < list.runs.size(); ++i) {
    Run run = list.runs[i];
    run.offset += shift;
    Offset at = list.memory.empty() ? position : list.memory[i];
    position += run.length;
    while (run.length > 0) {
      const Count record = run.offset / from, within = run.offset % from;
      const Count length = std::min(run.length, from - within);
      out->runs.push_back({record * to + within, length});
      if (!list.memory.empty()) out->memory.push_back(at);
      at += length;
      run.offset += length;
      run.length -= length;
    }
  }
  return out;
}

FlattenedVarn flatten_varn(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
                           bool resolve_overlaps, RunList& list) {
  list.runs.clear();
  list.memory.clear();
  list.overlapping = false;
  bool in_order = true;
  FlattenedVarn result;
  switch (var.dimids.size()) {
    case 0:
      result = flatten_scalar(var, pieces, list, in_order);
      break;
    case 1:
      result = flatten<1>(var, pieces, limits, list, in_order);
      break;
    case 2:
      result = flatten<2>(var, pieces, limits, list, in_order);
      break;
    case 3:
      result = flatten<3>(var, pieces, limits, list, in_order);
      break;
    case 4:
      result = flatten<4>(var, pieces, limits, list, in_order);
      break;
    default:
      result = flatten<0>(var, pieces, limits, list, in_order);
  }
  list.bytes = result.elements * size_of(var.type);
  if (!in_order) {
    std::vector<PlacedRun> placed;
    placed.reserve(list.runs.size());
    Offset sum = 0;
    for (const Run& r : list.runs) {
      placed.push_back({r.offset, r.length, sum});
      sum += r.length;
    }
    build(placed, resolve_overlaps, list);
  }
  return result;
}

}  // namespace forebay
