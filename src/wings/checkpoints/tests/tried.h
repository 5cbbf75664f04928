// What a program that kills its children says of what it tries.
#pragma once

#include <forebay.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace kill_test {

inline int wrong = 0;
inline std::string how;  ///< what is tried

inline void fail(const std::string& what) {
  std::printf("%s: %s\n", how.c_str(), what.c_str());
  ++wrong;
}

inline void must(int code) {
  if (code == 0) return;
  std::printf("%s: %s\n", how.c_str(), forebay_error_message());
  std::fflush(stdout);
  std::_Exit(2);
}

}  // namespace kill_test
