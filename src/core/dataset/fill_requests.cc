#include "dataset/fill_requests.h"

#include <algorithm>
#include <utility>

#include "array/selection.h"
#include "base/byteorder.h"

namespace forebay {
namespace {

constexpr Count most_filled = 1 << 20;  // bytes per request

}  // namespace

std::vector<Count> record_extents(const Dataset& file, VarId id) {
  const Variable& var = file.variable(id);
  std::vector<Count> extents = var.shape;
  if (var.is_record) extents.erase(extents.begin());
  return extents;
}

Request get_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, std::byte* data) {
  Request made;
  made.var = var;
  if (file.variable(var).is_record) {
    start.insert(start.begin(), record);
    count.insert(count.begin(), 1);
    made.last_record = record + 1;
  }
  Subarray box{start, count, {}};
  made.elements = box.elements();
  made.selection = std::move(box);
  made.memory.data = data;
  made.memory.type = file.variable(var).type;
  return made;
}

Request put_request(const Dataset& file, VarId var, Count record, std::vector<Count> start,
                    std::vector<Count> count, const std::byte* data) {
  // Writes do not change it. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto* const from = const_cast<std::byte*>(data);
  Request made = get_request(file, var, record, std::move(start), std::move(count), from);
  made.write = true;
  return made;
}

/// Returns enough fill values of the variable for one request. Their address does not change.
const std::byte* FillRequests::values(const Variable& var) {
  std::vector<std::byte> one = external_fill(var);
  if (!native_is_big_endian) std::reverse(one.begin(), one.end());
  auto& all = values_[one];
  if (all.empty()) {
    all.reserve(static_cast<std::size_t>(most_filled) + one.size());
    while (std::ssize(all) < most_filled) all.insert(all.end(), one.begin(), one.end());
  }
  return all.data();
}

// A record is halved into pieces, which are distributed round-robin over the ranks.
void FillRequests::add(const Dataset& file, VarId id, Count record, std::vector<Request>& to) {
  const Variable& var = file.variable(id);
  const Count width = size_of(var.type);
  Rank next = id % comm_.size();
  const std::vector<Count> extents = record_extents(file, id);
  std::vector<Subarray> left{{std::vector<Count>(extents.size(), 0), extents, {}}};
  while (!left.empty()) {
    const Subarray box = std::move(left.back());
    left.pop_back();
    const Count bytes = box.elements() * width;
    if (bytes > most_filled) {
      auto [first, second] = halves_of(box);
      left.push_back(std::move(second));
      left.push_back(std::move(first));
      continue;
    }
    if (next == comm_.rank())
      to.push_back(put_request(file, id, record, box.start, box.count, values(var)));
    next = (next + 1) % comm_.size();
  }
}

}  // namespace forebay
