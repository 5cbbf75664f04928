// The FLASH I/O benchmark, for backends that write several files in a row.

#include "command.h"
#include "workload_arrays.h"
#include "workload_series.h"

namespace forebay::bench {
namespace {

std::unique_ptr<Workload> make_flash_io(const FlashIoCommand& command, const Team& team) {
  std::vector<SeriesWorkload::Part> parts;
  const auto add = [&](const char* suffix, FlashFile file) {
    FlashOptions options;
    options.file = file;
    options.blocks_of_rank = command.blocks;
    parts.push_back(
        {suffix, std::make_unique<ArrayWorkload>(std::make_unique<FlashPattern>(options, team.size),
                                                 command.storage, team, command.read)});
  };
  add("", FlashFile::Checkpoint);
  add(".plot0", FlashFile::Plot);
  add(".plot1", FlashFile::Plot);
  return std::make_unique<SeriesWorkload>("flash-io", std::move(parts));
}

}  // namespace

void add_flash_io_workload(CLI::App& app, Command& c, FlashIoCommand& o) {
  CLI::App* sub = app.add_subcommand(
      "flash-io", "a checkpoint and two plot files of blocks of 16^3 cells (D3 §3.3.1)");
  sub->add_option("--blocks", o.blocks, "of a rank; every second and third rank has more")
      ->check(CLI::PositiveNumber);
  add_read_options(sub, o.read);
  sub->callback([&c, &o] { c.make = [&o](const Team& team) { return make_flash_io(o, team); }; });
}

}  // namespace forebay::bench
