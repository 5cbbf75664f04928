#include "core/glob.h"

#include <algorithm>
#include <cstddef>

namespace forebay {
namespace {

// Position after the ']' that closes the set opened at `open`, or npos. A ']' right after "[" or
// "[!" is a member.
std::size_t set_end(std::string_view pattern, std::size_t open) {
  std::size_t first = open + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  const std::size_t close = pattern.find(']', first + 1);
  return close == std::string_view::npos ? close : close + 1;
}

bool set_contains(std::string_view members, char c) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + 2 < members.size() && members[i + 1] == '-') {
      const auto byte = [](char x) { return static_cast<unsigned char>(x); };
      if (byte(members[i]) <= byte(c) && byte(c) <= byte(members[i + 2])) return true;
      i += 2;
    } else if (members[i] == c) {
      return true;
    }
  }
  return false;
}

// Does the one-character element of the pattern at `p` match c? `next` is the position after the
// element.
bool element_matches(std::string_view pattern, std::size_t p, char c, std::size_t& next) {
  next = p + 1;
  if (pattern[p] == '?') return c != '/';
  if (pattern[p] != '[') return pattern[p] == c;
  next = set_end(pattern, p);
  std::string_view members = pattern.substr(p + 1, next - p - 2);
  const bool negated = members[0] == '!' || members[0] == '^';
  if (negated) members.remove_prefix(1);
  return c != '/' && set_contains(members, c) != negated;
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
  // Only the last star needs to be retried: what earlier stars took was the least that worked.
  std::size_t p = 0, n = 0, star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && element_matches(pattern, p, name[n], next)) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos && name[star_name] != '/') {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                     [](char c) { return c == '*'; });
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
