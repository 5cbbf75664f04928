#include "storage/store_times.h"

#include <map>
#include <mutex>
#include <string_view>

namespace forebay {

namespace {

constexpr std::size_t most_folders = 256;

std::string_view folder_of(std::string_view path) {
  constexpr std::string_view beside = ".subfiles";
  const auto above = [](std::string_view name) {
    const auto slash = name.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
  };
  const std::string_view folder = above(path);
  return folder.ends_with(beside) ? above(folder) : folder;
}

}  // namespace

// Open files keep their times when folders are forgotten.
std::shared_ptr<StoreTimes> StoreTimes::of(const std::string& path) {
  static std::mutex guard;
  using Folders = std::map<std::string, std::shared_ptr<StoreTimes>, std::less<>>;
  static Folders& folders = *new Folders;  // files may be opened after statics are gone
  const std::string_view folder = folder_of(path);
  const std::lock_guard lock(guard);
  if (const auto found = folders.find(folder); found != folders.end()) return found->second;
  if (folders.size() == most_folders) folders.clear();
  return folders.emplace(folder, std::make_shared<StoreTimes>()).first->second;
}

}  // namespace forebay
