#include "array/decomposition.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace forebay {
namespace {

constexpr std::size_t most_known = 16;
constexpr Count most_bytes = Count{16} << 20;  // of known lists, besides four of the whole map

[[noreturn]] void too_large() {
  throw Error(Errc::eintoverflow, "a selection by a decomposition map has too many bytes");
}

Count product(Count a, Count b) {
  Count c = 0;
  if (!multiply_fits(a, b, c)) too_large();
  return c;
}

}  // namespace

Decomposition::Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks)
    : dims_(std::move(dims)), shape_(std::move(shape)), ranks_(ranks) {
  for (const Count length : shape_)
    if (!multiply_fits(extent_, length, extent_))
      throw Error(Errc::evarsize, "the dimensions of a decomposition map exceed 63 bits");
}

Decomposition::Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                             const VarnPieces& pieces)
    : Decomposition(std::move(dims), std::move(shape), ranks) {
  // Elements have one byte, so that runs count elements.
  Variable var;
  var.name = "of a decomposition map";
  var.type = Type::byte;
  var.dimids = dims_;
  var.shape = shape_;
  begins_.push_back(0);
  before_.push_back(0);
  if (pieces.num > 0 && pieces.starts == nullptr)
    throw Error(Errc::enullstart, "starts of a decomposition map is a null pointer");
  begins_.reserve(static_cast<std::size_t>(pieces.num) + 1);
  before_.reserve(begins_.capacity());
  RunList list;
  for (int i = 0; i < pieces.num; ++i) {
    const VarnPieces one{1, pieces.starts + i, pieces.counts ? pieces.counts + i : nullptr};
    try {
      flatten_varn(var, one, 0, false, list);
    } catch (const Error& error) {
      throw error.at("piece " + std::to_string(i));
    }
    runs_.insert(runs_.end(), list.runs.begin(), list.runs.end());
    end_piece();
  }
  overlapping_ = runs(0, pieces.num, false).overlapping;
}

Decomposition::Decomposition(std::vector<DimId> dims, std::vector<Count> shape, int ranks,
                             std::span<const Run> runs)
    : Decomposition(std::move(dims), std::move(shape), ranks) {
  begins_.push_back(0);
  before_.push_back(0);
  for (const Run& run : runs) {
    runs_.push_back(run);
    end_piece();
  }
}

void Decomposition::end_piece() {
  Count sum = before_.back();
  for (std::size_t i = begins_.back(); i < runs_.size(); ++i)
    if (!add_fits(sum, runs_[i].length, sum)) too_large();
  begins_.push_back(runs_.size());
  before_.push_back(sum);
}

RunList Decomposition::runs(int first, int n, bool resolved) const {
  const auto begin = runs_.begin();
  const auto from = static_cast<std::ptrdiff_t>(begins_[at(first)]);
  const auto to = static_cast<std::ptrdiff_t>(begins_[at(first + n)]);
  return sorted_run_list({begin + from, begin + to}, {}, resolved);
}

// Puts one list for each leading coordinate behind another: none reaches into the next one's array.
std::shared_ptr<const RunList> Decomposition::make(const Key& key) const {
  RunList one = runs(key.first, key.n, key.resolved);
  const Count elements = product(this->elements(key.first, key.n), key.width);
  auto list = std::make_shared<RunList>();
  if (one.memory.empty() && key.box.empty()) {
    *list = std::move(one);
    for (Run& run : list->runs) run.offset *= key.width, run.length *= key.width;
    list->bytes *= key.width;
    list->runs.shrink_to_fit();  // some were merged
    return list;
  }
  list->overlapping = one.overlapping;
  list->runs.reserve(one.runs.size());
  list->memory.reserve(one.runs.size());
  std::vector<Count> index(key.box.size() / 2, 0);
  Offset offset = 0, memory = 0;
  for (bool more = true; more; memory += elements) {
    Offset position = memory;
    for (std::size_t i = 0; i < one.runs.size(); ++i) {
      const Run run{offset + one.runs[i].offset * key.width, one.runs[i].length * key.width};
      list->append(run, one.memory.empty() ? position : memory + one.memory[i] * key.width);
      position += run.length;
    }
    more = false;
    for (std::size_t d = index.size(); d-- > 0 && !more;) {
      const Count count = key.box[2 * d], distance = key.box[2 * d + 1];
      offset += distance;
      more = ++index[d] < count;
      if (more) continue;
      offset -= count * distance;
      index[d] = 0;
    }
  }
  list->drop_running_sum();
  list->runs.shrink_to_fit();
  list->memory.shrink_to_fit();
  return list;
}

void Decomposition::remember(Known known) const {
  const Count most = most_bytes + static_cast<Count>(4 * runs_.size() * sizeof(Run));
  Count sum = known.list->memory_bytes();
  if (sum > most) return;
  for (const Known& k : known_) sum += k.list->memory_bytes();
  while (!known_.empty() && (known_.size() >= most_known || sum > most)) {
    sum -= known_.front().list->memory_bytes();
    known_.erase(known_.begin());
  }
  known_.push_back(std::move(known));
}

Runs Decomposition::select(const Variable& var, std::span<const Count> start,
                           std::span<const Count> count, int first, int n, bool write) const {
  const Count width = size_of(var.type);
  Key key{first, n, width, write && overlapping_, {}};
  Offset base = 0;
  Count distance = product(extent_, width), many = elements(first, n);
  const bool several = std::any_of(count.begin(), count.end(), [](Count c) { return c != 1; });
  if (several) key.box.resize(2 * count.size());
  for (std::size_t d = start.size(); d-- > 0;) {
    if (!add_fits(base, product(start[d], distance), base)) too_large();
    if (several) key.box[2 * d] = count[d], key.box[2 * d + 1] = distance;
    many = product(many, count[d]);
    if (d > 0) distance = product(distance, var.shape[d]);
  }
  static_cast<void>(product(many, width));
  const auto known =
      std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.key == key; });
  if (known != known_.end()) {
    std::rotate(known, known + 1, known_.end());
    return {known_.back().list, base};
  }
  auto list = make(key);
  remember({std::move(key), list});
  return {std::move(list), base};
}

}  // namespace forebay
