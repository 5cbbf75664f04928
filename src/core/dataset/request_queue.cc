#include "dataset/request_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace forebay {

void RequestQueue::make_room() {
  if (next_ > std::numeric_limits<int>::max() - 2)
    throw Error(Errc::eintoverflow, "there are no more ids for requests",
                "wait for all that are pending: ids begin again then");
  list_.make_room();
}

int RequestQueue::add(Request&& request) noexcept {
  Request& added = list_.add(std::move(request));
  added.id = next_;
  next_ += 2;
  ++pending_;
  return added.id;
}

std::optional<std::size_t> RequestQueue::find(int id) const {
  if (list_.empty() || id < id_of(list_[0]) || id >= next_) return std::nullopt;
  // The request is at this place if no request before it was removed from the list, and otherwise
  // before it.
  const auto furthest = static_cast<std::size_t>(id - id_of(list_[0])) / 2;
  const Request* found = list_.begin() + std::min(furthest, list_.size() - 1);
  if (id_of(*found) != id)
    found = std::lower_bound(list_.begin(), found, id,
                             [](const Request& r, int wanted) { return id_of(r) < wanted; });
  if (found->id != id) return std::nullopt;
  return static_cast<std::size_t>(found - list_.begin());
}

Request RequestQueue::take(std::size_t at) noexcept {
  Request taken = std::move(list_[at]);
  list_[at].id = ~taken.id;
  --pending_;
  return taken;
}

// If most have been taken, the others move together: each taken request pays for moving one. A
// short list keeps its memory for the next round of posting and waiting.
void RequestQueue::settle() noexcept {
  if (pending_ > 0 && list_.size() <= 2 * pending_ + 32) return;
  list_.remove_if(is_taken);
  list_.trim();
  if (pending_ == 0) next_ = first_;
}

RequestList RequestQueue::take_all() noexcept {
  if (pending_ < list_.size()) list_.remove_if(is_taken);
  pending_ = 0;
  next_ = first_;
  return std::exchange(list_, {});
}

}  // namespace forebay
