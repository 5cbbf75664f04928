#include "tools/other_program.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace forebay::tools {

std::string beside_this_command(const std::string& name) {
  std::error_code fault;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault) return {};
  const auto beside = self.parent_path() / name;
  return std::filesystem::exists(beside, fault) ? beside.string() : std::string();
}

std::string find_program(const std::string& name) {
  const std::string beside = beside_this_command(name);
  return beside.empty() ? name : beside;
}

void become(std::vector<std::string> words, const std::string& advice) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  throw Error(Errc::enotfound, "cannot start " + words[0], advice);
}

}  // namespace forebay::tools
