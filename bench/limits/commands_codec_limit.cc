// The limit of the workloads of dense arrays: codec calls and one stream of system calls.

#include <CLI/CLI.hpp>

#include "driver/command.h"
#include "limits/workload_codec_limit.h"

namespace forebay::bench {

void add_workloads(CLI::App& app, Command& c) {
  static ArrayCommand arrays;
  arrays.storage.codec = "deflate:6";
  app.add_option("--as-ranks", arrays.as_ranks, "the chunks of a run with so many ranks")
      ->check(CLI::PositiveNumber);
  add_array_workloads(app, c, arrays,
                      [](auto pattern, const ArrayCommand& options, const Team& team) {
                        return std::make_unique<CodecLimitWorkload>(
                            std::move(pattern), options.storage.codec, options.as_ranks, team);
                      });
}

}  // namespace forebay::bench
