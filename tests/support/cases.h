// How many cases a test tries that goes through very many: every byte, every system call, rounds
// with random numbers.
//
// With FOREBAY_TEST_FULL=1 in the environment (./dev soak sets it) it tries all of them.
// Otherwise it tries about one in five, spread evenly, with the first and the last one among them.
// cases.py has the same for Python.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <string_view>

namespace forebay_test {

constexpr int one_in = 5, at_least = 3;

/// Returns whether every case is tried.
inline bool all_cases() {
  const char* const full = std::getenv("FOREBAY_TEST_FULL");
  return full != nullptr && !std::string_view(full).empty();
}

/// Returns how many of `all` rounds are played, or how many of `all` events a test has to see:
/// three at least, if there are so many.
template <std::integral T>
T few_of(T all) {
  return all_cases() ? all : std::max(std::min<T>(all, at_least), (all + one_in - 1) / one_in);
}

/// Returns the place that is tried after `at`, by a test that goes through [0, end) in steps of
/// `step`. Without FOREBAY_TEST_FULL the last place is end - 1.
template <std::integral T>
T next_place(T at, T step, T end) {
  if (all_cases()) return at + step;
  const T next = at + step * one_in;
  return next < end || at + 1 >= end ? next : end - 1;
}

struct Tried {
  long places = 0;  ///< that were tried
  long end = 0;     ///< the first place behind all
};

/// Tries place after place, from `first` on in steps of `step`, until `has_effect(place)` has been
/// false `patience` times in a row: the program is over before it comes there. Without
/// FOREBAY_TEST_FULL the steps are five times as long, and the last place is looked for: by halves
/// if patience is 1, since then every place before the last one has an effect.
template <typename Try>
Tried try_places(long first, long step, Try&& has_effect, int patience = 1) {
  const long apart = all_cases() ? step : step * one_in;
  Tried tried;
  long last = first - step;
  int quiet = 0;
  for (long place = first; quiet < patience; place += apart, ++tried.places) {
    quiet = has_effect(place) ? 0 : quiet + 1;
    if (quiet == 0) last = place;
  }
  long low = std::max(last, first);  // was tried
  long end = last < first && patience == 1 ? low : last + apart;
  while (end - low > step) {
    const long place = patience > 1 ? end - step : low + (end - low) / step / 2 * step;
    ++tried.places;
    if (has_effect(place))
      low = last = place;
    else
      end = place;
  }
  tried.end = last + step;
  return tried;
}

}  // namespace forebay_test
