// OpenFiles keeps few of many files open: those that were used last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <utility>

#include "base/error.h"

namespace forebay {

/// Local. Returns how many files one reader keeps open at a time: 64, or fewer where the process
/// may have few descriptors, since MPI and the program need some, too.
std::size_t most_open_files();

/// Local. Returns open(). If no descriptor is left for it, calls give_back(), which closes files,
/// and tries again. Throws Errc::enfile if give_back() returns false: there was nothing to close.
template <typename Open, typename GiveBack>
auto with_descriptor(Open&& open, GiveBack&& give_back) {
  for (;;) {
    try {
      return open();
    } catch (const Error& error) {
      if (error.code() != Errc::enfile || !give_back()) throw;
    }
  }
}

/// `Value` owns a file, or several. Not thread-safe.
template <typename Key, typename Value>
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t most = most_open_files()) : most_(most) {}

  /// Local. Returns the value of a key, valid until the next call. If it is not held, open() makes
  /// it and opens its file; the value that was used longest ago is dropped if there are `most`.
  /// Throws what open() throws; Errc::enfile only if no other value is held.
  template <typename Open>
  Value& get(const Key& key, Open&& open) {
    const auto found =
        std::ranges::find_if(held_, [&](const auto& one) { return one.first == key; });
    if (found != held_.end()) {
      held_.splice(held_.begin(), held_, found);
      return held_.front().second;
    }
    while (!held_.empty() && held_.size() >= most_) held_.pop_back();
    Value made = with_descriptor(open, [&] { return halve(); });
    held_.emplace_front(key, std::move(made));
    return held_.front().second;
  }

  void clear() { held_.clear(); }
  /// Calls f(value) for all that are held.
  template <typename F>
  void each(F&& f) {
    for (auto& [key, value] : held_) f(value);
  }

 private:
  // Others in this process need descriptors, too. So fewer are held from here on.
  bool halve() {
    if (held_.empty()) return false;
    most_ = std::max<std::size_t>(held_.size() / 2, 1);
    while (held_.size() >= most_ && !held_.empty()) held_.pop_back();
    return true;
  }

  std::size_t most_;
  std::list<std::pair<Key, Value>> held_;  // the last used first
};

}  // namespace forebay
