// The forebay command. Exit codes: 0 done, 1 what was asked for failed, 2 the command line makes no
// sense.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "tools/bench_command.h"
#include "tools/commands.h"

namespace forebay::tools {
namespace {

int run(int argc, char** argv) {
  int status = exit_usage;
  CLI::App app("Forebay: parallel I/O for scientific computing", "forebay");
  app.set_version_flag("--version", "forebay " FOREBAY_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 what was asked for failed, 2 the command line makes no sense.");
  add_info_command(app, status);
  add_check_command(app, status);
  add_plot_command(app, status);
  add_recover_command(app, status);
  add_log_command(app, status);
  add_config_command(app, status);
  add_docs_command(app, status);
  add_bench_command(app, status);
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
