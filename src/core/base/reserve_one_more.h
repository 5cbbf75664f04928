// Reserves memory before something changes, so that the change cannot fail half-way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace forebay {

/// After this call, the next push_back() allocates nothing. The capacity grows geometrically.
template <typename T>
void reserve_one_more(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(8, 2 * list.size()));
}

}  // namespace forebay
