#include "tools/commands/bench_command.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace forebay::tools {
namespace {

constexpr const char* program = "forebay-bench";

// Beside this command, where an installation has it; otherwise the bare name, for PATH.
std::string find_program() {
  std::error_code fault;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (fault) return program;
  const auto beside = self.parent_path() / program;
  return std::filesystem::exists(beside, fault) ? beside.string() : program;
}

}  // namespace

void become_bench(std::vector<std::string> arguments) {
  std::string path = find_program();
  std::vector<char*> argv{path.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execvp(path.c_str(), argv.data());
  throw Error(Errc::enotfound, "cannot start " + path,
              "build and install with -DFOREBAY_BENCH=ON, or put forebay-bench in PATH");
}

}  // namespace forebay::tools
