// The requests of one direction that a program has posted and not waited for, by id.
#pragma once

#include <cstddef>
#include <optional>

#include "dataset/request_list.h"

namespace forebay {

/// Ids are first, first + 2, first + 4, … in the order of posting. They start again whenever
/// nothing is pending. Memory is up to four times what is pending, and 64 requests more. Posting,
/// finding and taking a request take constant time on average. Finding searches among the earlier
/// requests if some of them were taken.
class RequestQueue {
 public:
  explicit RequestQueue(int first) : first_(first), next_(first) {}

  std::size_t size() const { return pending_; }
  bool empty() const { return pending_ == 0; }
  std::size_t room() const { return list_.room(); }  ///< there is memory for so many

  /// Makes room for one more. Throws std::bad_alloc, or Errc::eintoverflow if ids have run out;
  /// then nothing has changed.
  void make_room();
  /// Sets the request's id and returns it. There must be room.
  int add(Request&& request) noexcept;

  /// Returns the place of the pending request with that id; valid until settle().
  std::optional<std::size_t> find(int id) const;
  /// Takes that request. The others stay where they are until settle().
  Request take(std::size_t at) noexcept;
  /// To be called after calls of take().
  void settle() noexcept;
  RequestList take_all() noexcept;

 private:
  // A taken request keeps the complement of its id, so that ids stay in order.
  static bool is_taken(const Request& request) { return request.id < 0; }
  static int id_of(const Request& request) { return is_taken(request) ? ~request.id : request.id; }

  RequestList list_;
  std::size_t pending_ = 0;
  int first_, next_;
};

}  // namespace forebay
