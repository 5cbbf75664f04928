#include "base/memory_at_hand.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string_view>

namespace forebay {

namespace {

using Bytes = std::optional<std::uint64_t>;

/// Returns the sum of the numbers that follow these words at the beginnings of lines.
Bytes numbers_after(const std::string& path, std::initializer_list<std::string_view> words) {
  std::ifstream file(path);
  Bytes sum;
  std::string word;
  std::uint64_t number = 0;
  while (file >> word) {
    if (std::find(words.begin(), words.end(), word) != words.end() && file >> number)
      sum = sum.value_or(0) + number;
    file.clear();
    file.ignore(1 << 20, '\n');
  }
  return sum;
}

/// Returns the only number in a file; nothing for the word "max".
Bytes number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  return file >> number ? Bytes(number) : std::nullopt;
}

Bytes smaller(const Bytes& a, const Bytes& b) { return a && b ? std::min(*a, *b) : a ? a : b; }

/// The names that a version of control groups has for the same values.
struct GroupFiles {
  const char *limit, *used, *active, *inactive;
};
constexpr GroupFiles version1{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                              "total_active_file", "total_inactive_file"};
constexpr GroupFiles version2{"/memory.max", "/memory.current", "active_file", "inactive_file"};

/// Returns what is left to the group `path` below `mount` and to all groups around it. In a
/// container, the path may be that of the host, and then only the end of this walk finds files.
Bytes left_to_group(const std::string& mount, std::string path, const GroupFiles& files) {
  Bytes left;
  for (;;) {
    const std::string group = mount + path;
    const Bytes limit = number_in(group + files.limit), used = number_in(group + files.used);
    if (limit && used) {
      const auto cached = numbers_after(group + "/memory.stat", {files.active, files.inactive});
      const std::uint64_t held = *used - std::min(*used, cached.value_or(0));
      left = smaller(left, *limit - std::min(*limit, held));
    }
    if (path.empty()) return left;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

std::optional<std::uint64_t> memory_at_hand(const std::string& root) {
  Bytes left = numbers_after(root + "/proc/meminfo", {"MemAvailable:"});
  if (left) *left <<= 10;  // kB
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  // Lines are NUMBER:CONTROLLERS:PATH. Version 2 has no controllers there.
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      left = smaller(left, left_to_group(mount, path, version2));
    else if (controllers.find(",memory,") != std::string::npos)
      left = smaller(left, left_to_group(mount + "/memory", path, version1));
  }
  return left;
}

}  // namespace forebay
