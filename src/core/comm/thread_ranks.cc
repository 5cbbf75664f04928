#include "comm/thread_ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/backend.h"
#include "comm/node_memory.h"

namespace forebay {

namespace {

/// Memory that does not fail in tests of ranks without memory, as others wait for such a rank.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t n)
      : memory_(static_cast<T*>(std::malloc(n * sizeof(T))), std::free) {
    if (!memory_ && n > 0) std::abort();
  }
  T* data() const { return memory_.get(); }
  T& operator[](std::size_t i) const { return memory_.get()[i]; }

 private:
  std::unique_ptr<T, void (*)(void*)> memory_;
};

/// What the ranks of one communicator share.
struct Group {
  explicit Group(int ranks)
      : size(ranks),
        shown(static_cast<std::size_t>(ranks)),
        mail(static_cast<std::size_t>(ranks)),
        letters(static_cast<std::size_t>(ranks)) {}

  const int size;
  std::mutex mutex;
  std::condition_variable all_here;
  int arrived = 0;
  std::uint64_t meetings = 0;
  std::vector<const void*> shown;  // by rank: what it shows between two calls of meet()
  std::vector<std::vector<std::pair<Rank, std::vector<std::byte>>>> mail;  // by receiver

  std::vector<std::vector<std::pair<Rank, Letter*>>> letters;  // under way, by receiver

  void meet() {
    std::unique_lock lock(mutex);
    const std::uint64_t meeting = meetings;
    if (++arrived == size) {
      arrived = 0;
      ++meetings;
      all_here.notify_all();
    } else {
      all_here.wait(lock, [&] { return meetings != meeting; });
    }
  }
};

class ThreadBackend : public Comm::Backend {
 public:
  ThreadBackend(std::shared_ptr<Group> group, Rank rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size; }
  void meet(Meeting& meeting) override {
    const Meeting mine = meeting;
    show(&mine, [&] {
      for (Rank r = 0; r < size(); ++r)
        if (r != rank_) meeting.add(*seen<Meeting>(r));
    });
  }
  void broadcast(void* data, std::size_t bytes, Rank root) override {
    show(data, [&] {
      if (rank_ != root) std::memcpy(data, seen<std::byte>(root), bytes);
    });
  }
  void all_reduce(std::span<std::int64_t> values, Reduce op) override { reduce(values, op); }
  void all_reduce(std::span<double> values, Reduce op) override { reduce(values, op); }
  void exclusive_scan(std::span<std::int64_t> values) override {
    const Scratch<std::int64_t> sums(values.size());
    show(values.data(), [&] {
      std::fill_n(sums.data(), values.size(), 0);
      for (Rank r = 0; r < rank_; ++r) {
        for (std::size_t i = 0; i < values.size(); ++i) sums[i] += seen<std::int64_t>(r)[i];
      }
    });
    std::copy_n(sums.data(), values.size(), values.begin());
  }
  void all_gather(std::int64_t value, std::span<std::int64_t> all) override {
    show(&value, [&] {
      for (Rank r = 0; r < size(); ++r) all[static_cast<std::size_t>(r)] = *seen<std::int64_t>(r);
    });
  }
  void all_gather(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                  std::span<std::byte> all) override {
    show(mine.data(), [&] {
      std::byte* at = all.data();
      for (Rank r = 0; r < size(); ++r) {
        const auto bytes = static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)]);
        if (bytes > 0) std::memcpy(at, seen<std::byte>(r), bytes);
        at += bytes;
      }
    });
  }

  std::shared_ptr<Comm::Backend> split_node(int ranks_per_node) override {
    const int per_node = ranks_per_node > 0 ? ranks_per_node : size();
    const Rank first = rank_ / per_node * per_node;
    std::shared_ptr<Group> node;
    const auto failed = attempt_to([&] {
      if (rank_ == first) node = std::make_shared<Group>(std::min(per_node, size() - first));
    });
    show(&node, [&] {
      if (rank_ != first) node = *seen<std::shared_ptr<Group>>(first);
    });
    if (failed) throw *failed;
    return std::make_shared<ThreadBackend>(node, rank_ - first);
  }

  std::shared_ptr<Comm::Backend> split_leaders(bool leads) override {
    std::shared_ptr<Group> leaders;
    int before = 0;
    const bool first = leads;
    show(&first, [&] {
      int all = 0;
      for (Rank r = 0; r < size(); ++r) {
        before += *seen<bool>(r) && r < rank_ ? 1 : 0;
        all += *seen<bool>(r) ? 1 : 0;
      }
      if (leads && before == 0) attempt_to([&] { leaders = std::make_shared<Group>(all); });
    });
    show(&leaders, [&] {
      for (Rank r = 0; leads && !leaders && r < size(); ++r)
        leaders = *seen<std::shared_ptr<Group>>(r);
    });
    if (leads && !leaders) throw Error(Errc::enomem);
    return leads ? std::make_shared<ThreadBackend>(leaders, before) : nullptr;
  }

  void exchange(std::span<const Message> outgoing, const Receive& receive) override {
    // A rank without memory still takes part: the others wait for it.
    const auto failed = attempt_to([&] {
      const std::lock_guard lock(group_->mutex);
      for (const Message& m : outgoing) {
        if (m.to != rank_) group_->mail[static_cast<std::size_t>(m.to)].push_back({rank_, m.bytes});
      }
    });
    group_->meet();  // all mail is there; nobody sends again before the next meet()
    auto mine = std::exchange(group_->mail[static_cast<std::size_t>(rank_)], {});
    group_->meet();
    for (const auto& [from, bytes] : mine) receive(from, bytes);
    if (failed) throw *failed;
  }

  void post(Letter& letter) override {
    const std::lock_guard lock(group_->mutex);
    group_->letters[static_cast<std::size_t>(letter.to)].push_back({rank_, &letter});
  }
  bool look_after(std::span<Letter> letters, std::span<Arrival> arrivals) override {
    const std::lock_guard lock(group_->mutex);
    bool any = false;
    for (Letter& letter : letters) any |= letter.taken = letter.ticket != 0;
    for (Arrival& arrival : arrivals) {
      any |= arrival.is_under_way();
      arrival.complete = arrival.tag >= 0;
    }
    return any;
  }
  bool has_mail() override {
    const std::lock_guard lock(group_->mutex);
    return !group_->letters[static_cast<std::size_t>(rank_)].empty();
  }
  bool fetch(int tag, Arrival& arrival) override {
    const std::lock_guard lock(group_->mutex);
    auto& mine = group_->letters[static_cast<std::size_t>(rank_)];
    const auto found =
        std::find_if(mine.begin(), mine.end(), [&](const auto& l) { return l.second->tag == tag; });
    if (found == mine.end()) return false;
    const auto content = found->second->content();
    std::copy(content.begin(), content.end(), arrival.room.get());
    arrival.tag = tag;
    arrival.from = found->first;
    arrival.bytes = content.size();
    found->second->ticket = 1;
    mine.erase(found);
    return true;
  }

  std::shared_ptr<std::byte> memory_of_process(std::size_t bytes) override {
    std::shared_ptr<std::byte> memory;
    attempt_to([&] {  // on failure, null on all ranks
      if (rank_ == 0) memory = zeroed_memory(bytes);
    });
    show(&memory, [&] {
      if (rank_ != 0) memory = *seen<std::shared_ptr<std::byte>>(0);
    });
    return memory;
  }

 private:
  /// Shows `data` to all ranks and looks at what they show. Nobody changes that meanwhile.
  template <typename Look>
  void show(const void* data, Look&& look) {
    group_->shown[static_cast<std::size_t>(rank_)] = data;
    group_->meet();
    look();
    group_->meet();  // all have looked: data and place belong to their owner again
  }
  template <typename T>
  const T* seen(Rank rank) const {
    return static_cast<const T*>(group_->shown[static_cast<std::size_t>(rank)]);
  }
  template <typename T>
  void reduce(std::span<T> values, Reduce op) {
    const Scratch<T> result(values.size());
    std::copy(values.begin(), values.end(), result.data());
    show(values.data(), [&] {
      for (Rank r = 0; r < size(); ++r) {
        for (std::size_t i = 0; r != rank_ && i < values.size(); ++i)
          result[i] = reduced(result[i], seen<T>(r)[i], op);
      }
    });
    std::copy_n(result.data(), values.size(), values.begin());
  }

  std::shared_ptr<Group> group_;
  Rank rank_;
};

/// Time for other steps of ranks that do not wait for the failed rank.
constexpr std::chrono::minutes most_waiting{2};

[[noreturn]] void tell_of_waiting(Rank failed, const std::exception_ptr& failure) {
  const auto error = attempt_to([&] { std::rethrow_exception(failure); });
  std::fprintf(stderr, "rank %d failed, and others wait for it: %s\n", failed, error->what());
  std::abort();
}

}  // namespace

void run_as_threads(int ranks, const std::function<void(const Comm& comm)>& body) {
  const auto group = std::make_shared<Group>(ranks);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  std::mutex mutex;
  std::condition_variable ended;
  int running = ranks;
  Rank first_failed = ranks;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (Rank r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      std::exception_ptr failure;
      try {
        body(Comm(std::make_shared<ThreadBackend>(group, r)));
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (failure && first_failed == ranks) first_failed = r;
      failures[static_cast<std::size_t>(r)] = std::move(failure);
      --running;
      ended.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    ended.wait(lock, [&] { return running == 0 || first_failed < ranks; });
    if (!ended.wait_for(lock, most_waiting, [&] { return running == 0; }))
      tell_of_waiting(first_failed, failures[static_cast<std::size_t>(first_failed)]);
  }
  for (std::thread& t : threads) t.join();
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace forebay
