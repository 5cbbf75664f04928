// Work on several files or windows, by threads where calls of the file system are slow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <span>
#include <vector>

#include "base/attempt.h"

namespace forebay {

/// Calls f() for each of several numbers. If calls are slow, each gets a thread, for a few numbers
/// at a time. f() must not throw.
template <typename F>
void each_at_once(std::span<const std::size_t> numbers, bool slow, F&& f) {
  constexpr std::size_t most = 16;
  for (std::size_t begin = 0; begin < numbers.size(); begin += most) {
    const auto some = numbers.subspan(begin, std::min(most, numbers.size() - begin));
    std::vector<std::future<void>> others;
    std::size_t here = 0;  // those of the calling thread: one, and any for which no thread starts
    if (slow) {
      attempt_to([&] {
        others.reserve(some.size());
        for (; here + 1 < some.size(); ++here)
          others.push_back(std::async(std::launch::async, [&f, i = some[here]] { f(i); }));
      });
    }
    for (; here < some.size(); ++here) f(some[here]);
    for (auto& other : others) other.wait();
  }
}

}  // namespace forebay
