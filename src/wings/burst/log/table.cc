#include "burst/log/table.h"

#include <algorithm>

namespace forebay::staging {

void Table::add(const Write& write, Runs runs) {
  Item item{write};
  item.numbers = numbers_.size();
  if (const auto* sub = std::get_if<Subarray>(&write.selection)) {
    item.ndims = static_cast<std::uint16_t>(sub->count.size());
    item.strided = !sub->stride.empty();
    for (const auto* list : {&sub->start, &sub->count, &sub->stride})
      numbers_.insert(numbers_.end(), list->begin(), list->end());
  } else {
    // Writes with one decomposition are usually consecutive.
    if (lists_.empty() || lists_.back() != runs.list) {
      list_bytes_ += static_cast<Count>(runs.list->runs.size() * sizeof(Run));
      lists_.push_back(std::move(runs.list));
    }
    item.numbers = static_cast<std::size_t>(runs.base);
    item.list = static_cast<std::uint32_t>(lists_.size() - 1);
  }
  items_.push_back(item);
  data_bytes_ += item.bytes;
  last_record_ = std::max(last_record_, item.last_record);
}

Count Table::bytes() const {
  return static_cast<Count>(items_.size() * sizeof(Item) + numbers_.size() * sizeof(Count) +
                            lists_.size() * sizeof(lists_[0])) +
         list_bytes_;
}

void Table::clear() { *this = Table(); }

Request Table::request(std::size_t i, std::byte* data) const {
  const Item& item = items_[i];
  Request request;
  request.var = item.var;
  request.write = true;
  request.last_record = item.last_record;
  request.element_size = size_of(item.type);
  request.elements = item.bytes / request.element_size;
  request.swap = item.external ? 1 : request.element_size;
  request.packed = data;
  request.sequence = i;
  if (item.list != none) {
    request.selection = Runs{lists_[item.list], static_cast<Offset>(item.numbers)};
    return request;
  }
  Subarray sub;
  auto at = numbers_.begin() + static_cast<std::ptrdiff_t>(item.numbers);
  const auto take = [&](Counts& list) {
    list.assign(at, at + item.ndims);
    at += item.ndims;
  };
  take(sub.start);
  take(sub.count);
  if (item.strided) take(sub.stride);
  request.selection = std::move(sub);
  return request;
}

}  // namespace forebay::staging
