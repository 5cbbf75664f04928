#include "comm/comm.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <numeric>

#include "base/attempt.h"
#include "base/host_name.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "comm/meeting_place.h"
#include "comm/test_delay.h"

namespace forebay {

namespace {

/// Delays a collective call before and after it.
class Late {
 public:
  explicit Late(Rank rank) : rank_(rank) { test_delay(rank); }
  ~Late() { test_delay(rank_); }
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;

 private:
  Rank rank_;
};

/// Ranks of one node gather in the memory of their meeting place, after the reduction that begins a
/// gather. A call by messages takes as many turns of the scheduler as it has steps.
class Rooms {
 public:
  Rooms(const Comm::Backend& backend, Rank rank)
      : room_(backend.place ? static_cast<std::int64_t>(backend.place->room()) : 0),
        first_(room_ > 0 ? backend.place->rooms() : nullptr),
        rank_(rank) {}

  bool has(std::int64_t bytes) const { return bytes <= room_; }
  /// Before the reduction: stores what this rank contributes, `more` behind `mine`.
  void put(std::span<const std::byte> mine, std::span<const std::byte> more = {}) const {
    if (!has(std::ssize(mine) + std::ssize(more))) return;
    std::copy(more.begin(), more.end(),
              std::copy(mine.begin(), mine.end(), first_ + rank_ * room_));
  }
  /// After the reduction: returns what a rank stored, if all had room.
  const std::byte* of(Rank rank) const { return first_ + rank * room_; }
  std::int64_t value_of(Rank rank, std::size_t i) const {
    std::int64_t value;
    std::memcpy(&value, of(rank) + i * sizeof value, sizeof value);
    return value;
  }

 private:
  std::int64_t room_;
  std::byte* first_;
  Rank rank_;
};

Rank outer_rank_of(const Comm::Backend& ranks) {
  return ranks.outer_rank < 0 ? ranks.rank() : ranks.outer_rank;
}

/// Codes for ranks in different calls, and for some ranks in their last call. The library's own
/// errors never have these codes.
constexpr std::int64_t different_calls = INT64_MIN + 1, no_more_calls = INT64_MIN;

Error different(const char* message) {
  return {Errc::emultidefine, message,
          "let all ranks make the same collective calls in the same order"};
}

}  // namespace

void Meeting::add(const Meeting& other) {
  if (((kind ^ other.kind) & last) != 0) {
    code = no_more_calls;
  } else if (code != 0 || other.code != 0) {
    code = std::min(code, other.code);
  } else if (kind != other.kind) {
    code = different_calls;
  } else {
    const std::int64_t plain = kind & ~last;
    const auto op = static_cast<Reduce>(plain % 4);
    constexpr auto wide = static_cast<std::int64_t>(room + 1);
    const std::int64_t maxima = plain / 4 % wide, all = plain / 4 / wide;
    for (std::int64_t i = 0; i < all; ++i)
      values[i] = reduced(values[i], other.values[i], i < maxima ? Reduce::max : op);
  }
}

Comm::Comm(std::shared_ptr<Backend> backend)
    : backend_(std::move(backend)), rank_(backend_->rank()), size_(backend_->size()) {}

template <typename F>
void Comm::meet_in(Errc mine, std::span<std::int64_t> values, std::int64_t kind, F&& meet) const {
  std::optional<Error> failed, told = std::exchange(backend_->to_tell, std::nullopt);
  constexpr const char* over =
      "other ranks have closed the file while this one was in another call";
  if (backend_->is_over) {
    backend_->meeting_failed = true;
    throw different(over);
  }
  ++backend_->meetings;
  if (backend_->before_meeting) failed = attempt_to(backend_->before_meeting);
  if (mine != Errc::ok) failed.reset();  // the caller's error comes first
  if (mine == Errc::ok) told = failed;
  if (mine != Errc::ok && (!told || told->code() != mine)) told = Error(mine);  // another's text
  Meeting meeting;
  meeting.code = told ? to_int(told->code()) : 0;
  meeting.kind = backend_->in_last_call ? kind | Meeting::last : kind;
  std::copy(values.begin(), values.end(), meeting.values);
  {
    const Late late(rank_);
    meet(meeting);
  }
  backend_->meeting_failed = meeting.code != 0;
  backend_->has_failed = backend_->has_failed || backend_->meeting_failed;
  backend_->is_over = meeting.code == no_more_calls;
  if (backend_->is_over || meeting.code == different_calls) {
    if (failed) throw *failed;
    if (!backend_->is_over) throw different("ranks are in different collective calls");
    throw different(backend_->in_last_call ? "other ranks are in another call than the last"
                                           : over);
  }
  if (meeting.code != 0) {
    Error others = told_by_others(*this, told, meeting.code);
    throw failed ? *failed : std::move(others);
  }
  std::copy_n(meeting.values, values.size(), values.begin());
}

void tell_at_meeting(const Comm& comm, const Error& mine) noexcept {
  if (comm.backend()) comm.backend()->to_tell = mine;
}

// After a reduction that reported an error, ranks come here before any other collective step.
Error told_by_others(const Comm& comm, const std::optional<Error>& mine, std::int64_t worst) {
  Comm::Backend& ranks = *comm.backend();
  const bool has_worst = mine && to_int(mine->code()) == worst;
  std::int64_t first = has_worst ? comm.rank() : comm.size();
  ranks.all_reduce(std::span(&first, 1), Reduce::min);
  std::array<char, 512> words{"another rank failed in this collective step"};
  const auto print = [&] {
    const char* const what = mine->what();
    if (mine->is_of_others() && *what != '\0')
      std::snprintf(words.data(), words.size(), "%s", what);
    else
      std::snprintf(words.data(), words.size(), "rank %d on %s: %s", outer_rank_of(ranks),
                    host_name().c_str(),
                    *what != '\0' ? what : "it failed in this collective step");
  };
  if (first == comm.rank()) attempt_to(print);  // without memory, the others get the code alone
  if (first < comm.size()) ranks.broadcast(words.data(), words.size(), static_cast<Rank>(first));
  return error_of_others(worst, words.data());
}

void Comm::meet(std::span<std::int64_t> values, Reduce op, Errc mine, std::size_t maxima) const {
  if (size_ == 1) return;
  meet_in(mine, values, Meeting::kind_of(op, values.size(), maxima), [&](Meeting& meeting) {
    backend_->place ? backend_->place->meet(meeting, *backend_) : backend_->meet(meeting);
  });
}

void Comm::meet_by_nodes(std::span<std::int64_t> values, std::span<std::int64_t> of_node,
                         const NodeSums& told, Errc mine) const {
  Meeting node;
  meet_in(mine, values, Meeting::kind_of(Reduce::sum, values.size()), [&](Meeting& meeting) {
    node = backend_->place->meet_by_nodes(meeting, *backend_, told);
  });
  std::copy_n(node.values, of_node.size(), of_node.begin());
}

void Comm::meet(Errc mine) const { meet({}, Reduce::min, mine); }

bool Comm::meeting_failed() const { return backend_ && backend_->meeting_failed; }

void Comm::forget_failed_meeting() const {
  if (backend_) backend_->meeting_failed = false;
}

void Comm::before_meetings(std::function<void()> hook) const {
  if (backend_) backend_->before_meeting = std::move(hook);
}

void Comm::barrier() const { meet(); }

void Comm::broadcast(void* data, std::size_t bytes, Rank root) const {
  if (size_ == 1) return;
  std::array<std::int64_t, Meeting::room> few{};
  if (bytes <= sizeof few) {  // in the reduction itself: the others contribute zeros
    if (rank_ == root) std::memcpy(few.data(), data, bytes);
    meet(std::span(few).first((bytes + 7) / 8), Reduce::bit_or, Errc::ok);
    if (rank_ != root) std::memcpy(data, few.data(), bytes);
    return;
  }
  meet();
  backend_->broadcast(data, bytes, root);
}

// Few bytes travel in the reduction itself, some more in one message after it.
void Comm::broadcast_bytes(std::span<const std::byte> mine,
                           const std::function<std::byte*(std::size_t)>& room, Rank root) const {
  if (size_ == 1) return;
  constexpr std::size_t few = (Meeting::room - 1) * sizeof(std::int64_t), some = 512;
  struct {
    std::size_t size;
    std::byte first[few];
  } front{mine.size(), {}};
  static_assert(sizeof front == Meeting::room * sizeof(std::int64_t));
  if (rank_ == root) std::copy_n(mine.begin(), std::min(few, mine.size()), front.first);
  broadcast(&front, sizeof front, root);
  if (front.size <= few) {
    std::copy_n(front.first, front.size, room(front.size));
  } else if (front.size <= some) {
    std::byte all[some];
    if (rank_ == root) std::copy(mine.begin(), mine.end(), all);
    backend_->broadcast(all, front.size, root);
    std::copy_n(all, front.size, room(front.size));
  } else {
    std::byte* into = nullptr;
    agree_on_error(*this, attempt_to([&] { into = room(front.size); }));
    backend_->broadcast(into, front.size, root);
  }
}

void Comm::all_reduce(std::span<std::int64_t> values, Reduce op) const {
  if (size_ == 1) return;
  if (values.size() <= Meeting::room) return meet(values, op, Errc::ok);
  const Rooms rooms(*backend_, rank_);
  rooms.put(std::as_bytes(values));
  meet();
  if (!rooms.has(std::ssize(std::as_bytes(values)))) return backend_->all_reduce(values, op);
  for (Rank r = 0; r < size_; ++r)
    for (std::size_t i = 0; r != rank_ && i < values.size(); ++i)
      values[i] = reduced(values[i], rooms.value_of(r, i), op);
}

void Comm::max_and_sum(std::span<std::int64_t> values, std::size_t maxima) const {
  meet(values, Reduce::sum, Errc::ok, maxima);
}

std::int64_t Comm::all_reduce(std::int64_t value, Reduce op) const {
  all_reduce(std::span<std::int64_t>(&value, 1), op);
  return value;
}

void Comm::exclusive_scan(std::span<std::int64_t> values, std::span<std::int64_t> totals,
                          Errc mine) const {
  std::copy(values.begin(), values.end(), totals.begin());
  if (size_ == 1) {
    std::fill(values.begin(), values.end(), 0);
    return;
  }
  const Rooms rooms(*backend_, rank_);
  rooms.put(std::as_bytes(values));
  meet(mine);
  if (rooms.has(std::ssize(std::as_bytes(values)))) {
    std::fill(values.begin(), values.end(), 0);
    for (Rank r = 0; r < size_; ++r)
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (r < rank_) values[i] += rooms.value_of(r, i);
        if (r != rank_) totals[i] += rooms.value_of(r, i);
      }
    return;
  }
  backend_->exclusive_scan(values);
  // The last rank has all sums once it adds its own.
  for (std::size_t i = 0; i < values.size(); ++i) totals[i] += values[i];
  if (!totals.empty()) backend_->broadcast(totals.data(), totals.size_bytes(), size_ - 1);
}

void Comm::reduce_seconds(std::span<double> min, std::span<double> max,
                          std::span<double> sum) const {
  if (size_ == 1) return;
  meet();
  backend_->all_reduce(min, Reduce::min);
  backend_->all_reduce(max, Reduce::max);
  backend_->all_reduce(sum, Reduce::sum);
}

void Comm::all_reduce_stats(std::span<std::int64_t> min, std::span<std::int64_t> max,
                            std::span<std::int64_t> sum) const {
  all_reduce(min, Reduce::min);
  all_reduce(max, Reduce::max);
  all_reduce(sum, Reduce::sum);
}

std::vector<std::int64_t> Comm::all_gather(std::int64_t value) const {
  if (size_ == 1) return {value};
  std::vector<std::int64_t> all;
  const Rooms rooms(*backend_, rank_);
  rooms.put(std::as_bytes(std::span(&value, 1)));
  agree_on_error(*this, attempt_to([&] { all.resize(static_cast<std::size_t>(size_)); }));
  if (!rooms.has(sizeof value)) {
    backend_->all_gather(value, all);
    return all;
  }
  for (Rank r = 0; r < size_; ++r)
    std::memcpy(&all[static_cast<std::size_t>(r)], rooms.of(r), sizeof value);
  return all;
}

std::vector<std::byte> Comm::all_gather_bytes(std::span<const std::byte> mine,
                                              std::vector<std::int64_t>& sizes) const {
  return *all_gather_up_to(std::numeric_limits<std::int64_t>::max(), mine, sizes);
}

std::optional<std::vector<std::byte>> Comm::all_gather_up_to(
    std::int64_t most, std::span<const std::byte> mine, std::vector<std::int64_t>& sizes) const {
  auto size = static_cast<std::int64_t>(mine.size());
  if (size_ == 1) {
    sizes = {size};
    return std::vector<std::byte>(mine.begin(), mine.end());
  }
  // Few bytes a rank travel with their sizes, at the cost of one reduction and one call; so do more
  // if ranks have about as many. Memory for them is allocated before the reduction.
  constexpr std::int64_t few = 4096, some = 256 << 10;
  const auto head = static_cast<std::int64_t>(sizeof size);
  std::int64_t room = few / size_;
  if (size <= some / size_ - head) room = std::max(room, std::min(some / size_, 2 * (head + size)));
  std::vector<std::byte> all, sent;
  std::array<std::int64_t, 2> most_of{size, -room};
  const Rooms rooms(*backend_, rank_);
  rooms.put(std::as_bytes(std::span(&size, 1)), mine);
  agree_on_error(*this, attempt_to([&] {
    sizes.resize(static_cast<std::size_t>(size_));
    sent.reserve(static_cast<std::size_t>(room));
    all.reserve(static_cast<std::size_t>(room * size_));
  }),
                 most_of, Reduce::max);
  const std::int64_t slot = head + most_of[0];
  if (slot <= -most_of[1] && rooms.has(slot)) {
    for (Rank r = 0; r < size_; ++r) {
      const std::byte* const theirs = rooms.of(r);
      std::int64_t& its = sizes[static_cast<std::size_t>(r)];
      std::memcpy(&its, theirs, sizeof its);
      all.insert(all.end(), theirs + head, theirs + head + its);  // memory is reserved
    }
    if (std::ssize(all) > most) return std::nullopt;
    return all;
  }
  if (slot <= -most_of[1]) {
    sent.resize(static_cast<std::size_t>(slot));
    std::memcpy(sent.data(), &size, sizeof size);
    std::copy(mine.begin(), mine.end(), sent.begin() + head);
    std::fill(sizes.begin(), sizes.end(), slot);
    all.resize(static_cast<std::size_t>(slot * size_));
    backend_->all_gather(sent, sizes, all);
    auto from = all.cbegin();
    auto to = all.begin();
    for (std::int64_t& theirs : sizes) {
      std::memcpy(&theirs, &*from, sizeof theirs);
      to = std::copy(from + head, from + head + theirs, to);
      from += slot;
    }
    if (to - all.begin() > most) return std::nullopt;
    all.erase(to, all.end());
    return all;
  }
  backend_->all_gather(size, sizes);
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) > most) return std::nullopt;
  return all_gather_known(mine, sizes);
}

std::vector<std::byte> Comm::all_gather_known(std::span<const std::byte> mine,
                                              std::span<const std::int64_t> sizes) const {
  if (size_ == 1) return {mine.begin(), mine.end()};
  std::size_t total = 0;
  for (const std::int64_t size : sizes) total += static_cast<std::size_t>(size);
  std::vector<std::byte> all;
  const Rooms rooms(*backend_, rank_);
  rooms.put(mine);
  agree_on_error(*this, attempt_to([&] { all.resize(total); }));
  if (!rooms.has(*std::max_element(sizes.begin(), sizes.end()))) {
    backend_->all_gather(mine, sizes, all);
    return all;
  }
  auto to = all.begin();
  for (Rank r = 0; r < size_; ++r)
    to = std::copy_n(rooms.of(r), sizes[static_cast<std::size_t>(r)], to);
  return all;
}

Comm Comm::split_node(int ranks_per_node) const {
  if (size_ == 1 || ranks_per_node == 1) return Comm();
  meet();
  // It may fail on some nodes only.
  std::shared_ptr<Backend> node;
  agree_on_error(*this, attempt_to([&] { node = backend_->split_node(ranks_per_node); }));
  node->outer_rank = outer_rank_of(*backend_);
  return Comm(std::move(node));
}

Comm Comm::split_leaders(bool leads) const {
  meet();
  std::shared_ptr<Backend> leaders;
  agree_on_error(*this, attempt_to([&] { leaders = backend_->split_leaders(leads); }));
  if (leaders) leaders->outer_rank = outer_rank_of(*backend_);
  return leaders ? Comm(std::move(leaders)) : Comm();
}

void Comm::end_job() const {
  if (backend_) backend_->end_job();
  std::abort();
}

void sparse_exchange(const Comm& comm, std::span<const Message> outgoing, const Receive& receive) {
  std::exception_ptr failure;
  const auto deliver = [&](Rank from, std::span<const std::byte> bytes) {
    test_delay(comm.rank());
    try {
      receive(from, bytes);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  for (const Message& m : outgoing) {
    if (m.to == comm.rank()) deliver(m.to, m.bytes);
  }
  if (comm.size() > 1) {
    const Late late(comm.rank());
    try {
      comm.backend()->exchange(outgoing, deliver);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace forebay
