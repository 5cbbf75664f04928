// Which wings the build under test has. CTest says so by the environment; run by hand, tests take
// all to be there.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace forebay_test {

inline bool has_wing(const std::string& wing) {
  const char* const wings = std::getenv("FOREBAY_TEST_WINGS");
  return wings == nullptr ||
         ("," + std::string(wings) + ",").find("," + wing + ",") != std::string::npos;
}

/// Returns whether the build knows a hint, or the wing that it is of is left out.
inline bool is_built(const std::string& key, const std::string& value) {
  if (value == "decomposed" || value == "burst" || value == "patches") return has_wing(value);
  if (value == "process-group" || key == "bp_version") return has_wing("groups");
  if (value == "log" || key == "compact") return has_wing("hdf5");
  if (key.rfind("nc_burst_buf", 0) == 0) return has_wing("burst");
  return key.rfind("bundle", 0) != 0 || has_wing("bundles");
}

inline bool are_built(const std::vector<std::pair<std::string, std::string>>& hints) {
  for (const auto& [key, value] : hints)
    if (!is_built(key, value)) return false;
  return true;
}

}  // namespace forebay_test
