// Bundles on nodes: what several ranks of a job write under each scheme is what files one after
// another are.
//
//   bundle_nodes schemes SEED...   writes random programs in all ways and compares
//   bundle_nodes rows BYTES...     writes files of which each rank has an equal part of each
//   window,
//                                  and looks whether they are whole; hints and report as the
//                                  environment says
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "bundles/bundle_program_testing.h"
#include "comm/agree.h"
#include "comm/mpi.h"

using namespace forebay;
using namespace forebay::bundle_testing;

namespace {

/// Collective. Rank 0's f() says what is wrong, or nothing.
template <typename F>
bool is_right(const Comm& comm, F&& f) {
  const std::int64_t wrong = told_by_root(comm, [&] {
    const std::string what = f();
    if (!what.empty()) std::printf("FAILED: %s\n", what.c_str());
    return what.empty() ? 0 : 1;
  });
  return wrong == 0;
}

/// Collective. Writes one program in all ways. Counts how often a scheme wrote files jointly.
bool compare(const Comm& comm, unsigned seed, bool chunked, std::map<std::string, int>& jointly) {
  constexpr int most_files = 6;
  Program program(seed, comm.size(), most_files);
  program.chunked = chunked;
  program.write_apart(comm, "apart");
  bool right = true;
  for (const char* scheme : {"auto", "off", "joint", "bps", "lps", "ips", "balanced"}) {
    const HintMap hints{{"bundle_scheme", scheme},
                        {"buffer_limit", "64k"},
                        {"bundle_memory", "16m"},
                        {"window_size", "4k"},
                        {"chunk_bytes", "2k"}};
    const std::string plan = program.write_bundle(comm, "bundle", hints);
    jointly[scheme] +=
        plan.find(chunked ? "\"encoded_together\":[\"" : "\"files\":[{") != std::string::npos;
    right &= is_right(comm, [&]() -> std::string {
      for (int f = 0; f < program.files; ++f) {
        const std::string one = Program::path_of("bundle", f), other = Program::path_of("apart", f);
        // In chunks a bundle has no journals, so bytes may differ.
        if (chunked ? values_of(one) != values_of(other) : content(one) != content(other))
          return "seed " + std::to_string(seed) + ", " + one + ", " + plan;
      }
      return {};
    });
  }
  return right;
}

bool compare_schemes(const Comm& comm, const std::vector<std::string>& seeds) {
  bool right = true;
  for (const bool chunked : {false, true}) {
    std::map<std::string, int> jointly;
    for (const std::string& seed : seeds)
      right &= compare(comm, static_cast<unsigned>(std::stoul(seed)), chunked, jointly);
    // Programs whose operations overlap are written file by file, and some have one file only.
    for (const auto& [scheme, times] : jointly) {
      right &= is_right(comm, [&, scheme = scheme, times = times]() -> std::string {
        return (times > 0) == (scheme != "off") ? "" : scheme + " was not tried";
      });
    }
  }
  return right;
}

bool write_equal_rows(const Comm& comm, const std::vector<std::string>& sizes) {
  std::vector<std::int64_t> bytes;
  for (const std::string& size : sizes) bytes.push_back(std::stoll(size));
  write_rows(comm, "rows", bytes, {});
  return is_right(comm, [&]() -> std::string {
    for (std::size_t f = 0; f < bytes.size(); ++f)
      if (!rows_are_whole("rows", static_cast<int>(f), bytes[f], comm.size()))
        return Program::path_of("rows", static_cast<int>(f));
    return {};
  });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = false;
  {
    const Comm comm = make_comm(MPI_COMM_WORLD);
    const std::string mode = argc > 1 ? argv[1] : "";
    const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
    const auto failed = attempt_to([&] {
      right = mode == "rows" ? write_equal_rows(comm, words) : compare_schemes(comm, words);
    });
    if (failed) std::printf("FAILED: rank %d: %s\n", comm.rank(), failed->what());
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
