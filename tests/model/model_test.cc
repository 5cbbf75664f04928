// Property test: random operations against a plain in-memory model.
//
// Arguments: [--seed S] [--rounds N] [--round R] [--operations N] [--longest N] [--bound X]
// [--no-reopen]
//            [--keep] [--trace] [--paranoid] [--peer] [--staged], and those of
//            tests/support/harness.h
//
// With --peer, and always against another library than Forebay, the script keeps to what PnetCDF
// 1.12.3 gets right, and with the same seed is the same script for both.
// Without FOREBAY_TEST_FULL it plays one in five of N rounds (support/cases.h).
// With --staged, ranks flush wherever elements change hands.
// The same seed on the same number of ranks replays the same script. Each round is a test, the
// first that fails the last. A failure names the seed, the round and the operation; `--round R
// --trace` plays that round alone and prints its operations.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/player.h"
#include "support/cases.h"
#include "support/harness.h"

namespace {

using forebay_test::Options;

class Round : public testing::Test {
 public:
  Round(const Options& options, int round) : player_(options, round) {}
  void TestBody() override { player_.play(); }

 private:
  forebay_test::Player player_;
};

bool parse(int argc, char** argv, Options& o) {
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
      if (option == "--seed") {
        o.seed = std::strtoull(value, nullptr, 10);
      } else if (option == "--rounds") {
        o.rounds = std::atoi(value);
      } else if (option == "--round") {
        o.only_round = std::atoi(value);
      } else if (option == "--operations") {
        o.operations = std::atoi(value);
      } else if (option == "--longest") {
        o.longest = std::atoll(value);
      } else if (option == "--bound") {
        o.bound = std::atof(value);
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
  begin_tests(&argc, &argv);
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "cannot read the arguments; see the head of model_test.cc\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (!is_forebay()) options.peer = true;
  testing::GTEST_FLAG(fail_fast) = true;
  const int rounds = few_of(options.rounds);
  if (world.rank == 0 && options.only_round < 0)
    std::printf("%d of %d rounds\n", rounds, options.rounds);
  for (int round = 0; round < rounds || round <= options.only_round; ++round) {
    if (options.only_round >= 0 && round != options.only_round) continue;
    const std::string name =
        "seed_" + std::to_string(options.seed) + "_round_" + std::to_string(round);
    testing::RegisterTest(
        "Model", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&options, round]() -> testing::Test* { return new Round(options, round); });
  }
  return run_tests();
}
