// The forebay command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "tools/application.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace {

int run(int argc, char** argv) {
  int status = exit_usage;
  CLI::App app;
  build_application(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_done : exit_usage;  // --help and --version end here too
  }
  return status;
}

int guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "forebay: {}\n", error.message());
    if (!error.advice().empty()) fmt::print(stderr, "         {}\n", error.advice());
  } catch (const std::exception& error) {
    fmt::print(stderr, "forebay: {}\n", error.what());
  }
  return exit_failed;
}

}  // namespace
}  // namespace forebay::tools

int main(int argc, char** argv) { return forebay::tools::guarded(argc, argv); }
