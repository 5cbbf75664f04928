// Property test: random operations against a plain in-memory model.
//
// Arguments: [--dir DIRECTORY] [--seed S] [--rounds N] [--round R] [--operations N] [--longest N]
//            [--timeout SECONDS] [--no-reopen] [--keep] [--trace] [--paranoid] [--peer] [--staged]
//
// With --peer, and always against another library than Forebay, the script keeps to what PnetCDF
// 1.12.3 gets right, and with the same seed is the same script for both.
// With --staged, ranks flush wherever elements change hands.
// The same seed on the same number of ranks replays the same script. A failure names the seed, the
// round and the operation; `--round R --trace` plays that round alone and prints its operations.
#include <mpi.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/player.h"
#include "support/harness.h"

namespace {

using forebay_test::Options;

struct Command {
  Options options;
  std::string directory = forebay_test::default_directory();
  int timeout = 60;  // a round
};

bool parse(int argc, char** argv, Command* command) {
  Options& o = command->options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (option == "--no-reopen") {
      o.reopen = false;
    } else if (option == "--keep") {
      o.keep = true;
    } else if (option == "--peer") {
      o.peer = true;
    } else if (option == "--paranoid") {
      o.paranoid = true;
    } else if (option == "--staged") {
      o.staged = true;
    } else if (option == "--trace") {
      o.trace = true;
    } else if (value == nullptr) {
      return false;
    } else {
      ++i;
      if (option == "--dir") {
        command->directory = value;
      } else if (option == "--seed") {
        o.seed = std::strtoull(value, nullptr, 10);
      } else if (option == "--rounds") {
        o.rounds = std::atoi(value);
      } else if (option == "--round") {
        o.only_round = std::atoi(value);
      } else if (option == "--operations") {
        o.operations = std::atoi(value);
      } else if (option == "--longest") {
        o.longest = std::atoll(value);
      } else if (option == "--timeout") {
        command->timeout = std::atoi(value);
      } else {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace forebay_test;
  MPI_Init(&argc, &argv);
  Command command;
  if (!parse(argc, argv, &command)) {
    std::fprintf(stderr, "cannot read the arguments; see the head of model_test.cc\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (!is_forebay()) command.options.peer = true;
  const Options& options = command.options;
  set_program_name(argv[0]);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) mkdir(command.directory.c_str(), 0777);
  MPI_Barrier(MPI_COMM_WORLD);
  int failed = 0;
  int played = 0;
  for (int round = 0; round < options.rounds || round <= options.only_round; ++round) {
    if (options.only_round >= 0 && round != options.only_round) continue;
    const std::string name =
        "seed " + std::to_string(options.seed) + " round " + std::to_string(round);
    start_watch(name.c_str(), rank, command.timeout);
    Context world(MPI_COMM_WORLD, command.directory, "model");
    {
      Player player(world, options, round);
      player.play();
    }
    stop_watch();
    ++played;
    if (report(world, name.c_str()) != 0) {
      ++failed;
      break;
    }
  }
  if (rank == 0) {
    std::printf("%d rounds of seed %llu, %d failed (%s)\n", played,
                static_cast<unsigned long long>(options.seed), failed, ncmpi_inq_libvers());
  }
  MPI_Finalize();
  return failed != 0 || played == 0 ? 1 : 0;
}
