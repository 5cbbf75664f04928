// Memory that is taken before something changes, so that the change cannot fail half-way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace forebay {

/// The next push_back() allocates nothing. Room grows as push_back() would let it.
template <typename T>
void room_for_one(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(8, 2 * list.size()));
}

}  // namespace forebay
