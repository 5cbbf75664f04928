// What a fuzz target claims of what it has parsed.
#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program where a claim does not hold: a fuzzer keeps the input then.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}
