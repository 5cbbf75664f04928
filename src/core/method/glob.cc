#include "method/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>

namespace forebay {
namespace {

// Position after the ']' that closes the set opened at `open`, or npos. A ']' right after "[" or
// "[!" belongs to the set.
std::size_t set_end(std::string_view pattern, std::size_t open) {
  std::size_t first = open + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  const std::size_t close = pattern.find(']', first + 1);
  return close == std::string_view::npos ? close : close + 1;
}

}  // namespace

std::optional<std::string> glob_fault(std::string_view pattern) {
  if (pattern.empty()) return "the pattern is empty";
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    if (pattern[p] != '[') continue;
    const std::size_t end = set_end(pattern, p);
    if (end == std::string_view::npos) return "'[' is never closed by ']'";
    std::string_view members = pattern.substr(p + 1, end - p - 2);
    if (members.find('/') != std::string_view::npos) return "'/' cannot stand between '[' and ']'";
    for (std::size_t i = 0; i + 2 < members.size(); ++i) {
      if (members[i + 1] != '-') continue;
      if (static_cast<unsigned char>(members[i]) > static_cast<unsigned char>(members[i + 2])) {
        return "the range '" + std::string(members.substr(i, 3)) + "' is empty";
      }
      i += 2;
    }
    p = end - 1;
  }
  return std::nullopt;
}

bool glob_match(std::string_view pattern, std::string_view name) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(name).c_str(),
                   FNM_PATHNAME | FNM_NOESCAPE) == 0;
}

bool glob_match_path(std::string_view pattern, std::string_view path) {
  if (!pattern.empty() && pattern.front() == '/') return glob_match(pattern, path);
  auto components = std::count(pattern.begin(), pattern.end(), '/') + 1;
  std::size_t begin = path.size();
  while (components-- > 0) {
    const std::size_t slash = begin == 0 ? std::string_view::npos : path.rfind('/', begin - 1);
    if (slash == std::string_view::npos) return components == 0 && glob_match(pattern, path);
    begin = slash;
  }
  return glob_match(pattern, path.substr(begin + 1));
}

}  // namespace forebay
