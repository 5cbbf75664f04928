// Checkpoints with redundancy of a job that is killed, and of which a node's own disk is gone then.
//
// Usage: kill_node write SAID SEED | kill_node check SAID
//
// `write` plays a random program of pushes, drops, pops and syncs, the same on all ranks, until one
// of them is killed (FOREBAY_TEST_KILL, fault/kill_hooks.h). Rank 0 notes in the file SAID what the
// ranks begin and what they have all done. `check` opens the checkpoints again. Each state that is
// there has the values of one push, on all ranks the same one unless a kill came while it was
// replaced. What a sync completed, and nobody touched since, is there as it was. If nothing was
// synced, the opening may be the error that names a rank without files. FOREBAY_HINTS says where
// checkpoints are.
#include <mpi.h>
// after <mpi.h>
#include <forebay.h>
#include <forebay_checkpoint.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fault/kill_hooks.h"

namespace {

int rank = 0, ranks = 1;

[[noreturn]] void fail(const std::string& what) {
  std::printf("FAILED: rank %d: %s\n", rank, what.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
  std::abort();
}
void must(int code) {
  if (code != 0) fail(forebay_error_message());
}

int store_of_run() {
  int store = 0;
  must(forebay_checkpoint_open_mpi(MPI_COMM_WORLD, "run", nullptr, &store));
  return store;
}

struct Model {
  explicit Model(int opened = store_of_run())
      : store(opened), values(static_cast<std::size_t>(3000 + 100 * rank)) {
    const auto n = static_cast<std::int64_t>(values.size());
    must(forebay_checkpoint_var(store, "x", "double", 1, &n, nullptr, values.data(), nullptr));
  }
  double value(std::int64_t version, std::size_t i) const {
    return 1e6 * static_cast<double>(version) + 1e4 * rank + static_cast<double>(i);
  }
  void push(std::int64_t step, std::int64_t version) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(version, i);
    must(forebay_checkpoint_push(store, step));
  }
  /// The version that a state has.
  std::int64_t version_of(std::int64_t step) {
    values.assign(values.size(), -1);
    must(forebay_checkpoint_peek(store, step));
    const auto version = static_cast<std::int64_t>(values[0] / 1e6);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != value(version, i))
        fail("state " + std::to_string(step) + " is that of no push");
    return version;
  }
  int store;
  std::vector<double> values;
};

void write(const std::string& said, unsigned seed) {
  std::ofstream notes;
  if (rank == 0) notes.open(said);
  Model model;
  kill_test::arm(rank, true);
  std::mt19937 random(seed);
  std::set<std::int64_t> there;
  const auto note = [&](const char* what, std::int64_t step, std::int64_t version) {
    // What is begun is noted before any rank begins, what is done after all have done it.
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) notes << what << ' ' << step << ' ' << version << std::endl;
    MPI_Barrier(MPI_COMM_WORLD);
  };
  for (std::int64_t op = 1; op <= 40; ++op) {
    const auto step = static_cast<std::int64_t>(random() % 8);
    const unsigned choice = random() % 8;
    if (choice == 7 || op % 9 == 0) {
      note("sync", 0, 0);
      must(forebay_checkpoint_sync(model.store));
      note("synced", 0, 0);
    } else if (choice < 5 || there.size() < 3) {
      note("push", step, op);
      model.push(step, op);
      note("pushed", step, op);
      there.insert(step);
    } else {
      const std::int64_t which = choice == 5 ? *there.rbegin() : *there.begin();
      note("drop", which, 0);
      std::int64_t popped = which;
      must(choice == 5 ? forebay_checkpoint_pop(model.store, &popped)
                       : forebay_checkpoint_drop(model.store, which));
      if (popped != which) fail("popped " + std::to_string(popped));
      there.erase(which);
    }
  }
  note("close", 0, 0);
  must(forebay_checkpoint_close(model.store, 1));
}

void check(const std::string& said) {
  std::map<std::int64_t, std::set<std::int64_t>> pushed;  // versions of each step
  std::map<std::int64_t, std::int64_t> newest, safe;
  std::ifstream notes(said);
  std::string what;
  std::int64_t step = 0, version = 0;
  while (notes >> what >> step >> version) {
    if (what == "push") {
      pushed[step].insert(version);
      safe.erase(step);
      newest.erase(step);
    }
    if (what == "pushed") newest[step] = version;
    if (what == "drop") {
      safe.erase(step);
      newest.erase(step);
    }
    if (what == "synced") safe = newest;
  }
  int store = 0;
  const int opened = forebay_checkpoint_open_mpi(MPI_COMM_WORLD, "run", nullptr, &store);
  if (safe.empty() && opened == FOREBAY_EINVAL) {
    // Files of a rank are gone, and there was no parity yet.
    if (rank == 0) std::printf("checked: no states, 0 of them synced\n");
    return;
  }
  must(opened);
  Model model(store);
  std::array<std::int64_t, 64> steps{};
  std::int64_t n = 0;
  must(forebay_checkpoint_list(model.store, 0, 64, steps.data(), &n));
  std::map<std::int64_t, std::int64_t> found;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t its = steps[static_cast<std::size_t>(i)];
    found[its] = model.version_of(its);
    if (!pushed[its].contains(found[its]))
      fail("state " + std::to_string(its) + " has version " + std::to_string(found[its]));
  }
  for (const auto& [its, mine] : found) {
    std::int64_t least = mine, most = mine;
    MPI_Allreduce(&mine, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (least != most && newest.contains(its))
      fail("state " + std::to_string(its) + " has versions " + std::to_string(least) + " to " +
           std::to_string(most) + ", and no push was under way");
  }
  for (const auto& [its, wanted] : safe) {
    const auto is = found.find(its);
    if (is == found.end()) fail("state " + std::to_string(its) + " is lost");
    if (is->second != wanted)
      fail("state " + std::to_string(its) + " has version " + std::to_string(is->second) +
           ", synced was " + std::to_string(wanted));
  }
  if (rank == 0)
    std::printf("checked: %zu states, %zu of them synced\n", found.size(), safe.size());
  must(forebay_checkpoint_close(model.store, 0));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc == 4 && std::strcmp(argv[1], "write") == 0)
    write(argv[2], static_cast<unsigned>(std::atoi(argv[3])));
  else if (argc == 3 && std::strcmp(argv[1], "check") == 0)
    check(argv[2]);
  else
    fail("what to do?");
  MPI_Finalize();
  return 0;
}
