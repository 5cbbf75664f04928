// The forebay command.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace {

int guarded(int argc, char** argv) {
  try {
    return run_application({argv + 1, argv + argc});
  } catch (const Error& error) {
    print_error(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "forebay: {}\n", error.what());
  }
  return exit_failed;
}

}  // namespace
}  // namespace forebay::tools

int main(int argc, char** argv) { return forebay::tools::guarded(argc, argv); }
