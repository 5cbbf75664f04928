#include "groups/records/step_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "method/method_values.h"

namespace forebay {

namespace fs = std::filesystem;

std::string file_of_step(const std::string& path, std::uint64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  const fs::path whole(path);
  const fs::path name = whole.stem().string() + "." + number + whole.extension().string();
  return (whole.parent_path() / name).string();
}

std::vector<std::uint64_t> files_of_steps(const std::string& path) {
  std::vector<std::uint64_t> numbers;
  const fs::path whole(path);
  const std::string begin = whole.stem().string() + ".", end = whole.extension().string();
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  std::error_code none;  // without such a folder, creating the file reports it
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < begin.size() + 6 + end.size() || !name.starts_with(begin)) continue;
    const auto number = parse_count(
        std::string_view(name).substr(begin.size(), name.size() - begin.size() - end.size()));
    if (!number || *number < 0) continue;
    const auto step = static_cast<std::uint64_t>(*number);
    if (name == fs::path(file_of_step(path, step)).filename()) numbers.push_back(step);
  }
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace forebay
