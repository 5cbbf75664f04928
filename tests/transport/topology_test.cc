// What files of one MPI communicator share of its topology, and when it is found out anew: every
// communicator that the library makes and frees is counted.
#include "comm/topology.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/backend.h"
#include "comm/mpi.h"

using namespace forebay;

namespace {

int failures = 0;
int made = 0, alive = 0;  // of others; not freed yet

void check(bool right, const char* what) {
  if (right) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

/// Uses what belongs to one file at a time.
void use(const Comm& file, int per_node) {
  const Topology& topology = Topology::of(file, per_node);
  for (int i = 0; i < 20; ++i) topology.node().barrier();
  const bool shares = topology.node().size() > 1;
  check(!shares || (file.backend()->place && topology.node().backend()->place), "a place to meet");
  const auto ranks = topology.ranks_of(topology.my_node());
  check(topology.node().all_reduce(file.rank(), Reduce::max) == ranks.back(), "ranks of a node");
  check(topology.node().all_reduce(1, Reduce::sum) == std::ssize(ranks), "size of a node");
}

void a_file_after_another_finds_nothing_out(MPI_Comm parent, int per_node) {
  {
    const Comm first = make_comm(parent);
    use(first, per_node);
  }
  const int before = made;
  for (int i = 0; i < 3; ++i) {
    const Comm next = make_comm(parent);
    use(next, per_node);
  }
  check(made == before, "the second file makes communicators again");
}

void what_a_meeting_failed_on_is_not_used_again(MPI_Comm world) {
  MPI_Comm parent;
  MPI_Comm_dup(world, &parent);
  {
    int before = 0;
    {
      const Comm file = make_comm(parent);
      before = alive;
      const auto told = attempt_to([&] { file.meet(file.is_root() ? Errc::enomem : Errc::ok); });
      check(told.has_value() || file.size() == 1, "a failure is told");
    }
    const Comm next = make_comm(parent), beside = make_comm(parent);
    check(!next.backend()->has_failed && !beside.backend()->has_failed,
          "what failed is used again");
    check(alive == before + 1, "what failed is not freed, or what did not is not used again");
  }
  MPI_Comm_free(&parent);
}

void files_that_are_open_at_once(MPI_Comm parent, int per_node) {
  std::optional<Comm> first = make_comm(parent);
  const Comm second = make_comm(parent);
  const Topology* of_first = &Topology::of(*first, per_node);
  const Topology* of_second = &Topology::of(second, per_node);
  check(second.size() == 1 || of_first != of_second, "two open files have one topology");
  use(second, per_node);
  use(*first, per_node);
  first.reset();
  use(second, per_node);
  const Comm third = make_comm(parent);
  check(&Topology::of(third, per_node) == of_first, "what the closed file had is not taken over");
  use(third, per_node);
  use(second, per_node);
}

// As where a garbage collector closes it.
void a_file_that_one_rank_holds_longer(MPI_Comm parent, int per_node) {
  std::optional<Comm> held = make_comm(parent);
  const Topology* of_held = &Topology::of(*held, per_node);
  if (held->rank() != held->size() - 1) held.reset();
  const Comm next = make_comm(parent);
  use(next, per_node);
  check(next.size() == 1 || &Topology::of(next, per_node) != of_held,
        "a rank uses what another one still does");
}

void a_communicator_is_freed(MPI_Comm world, int per_node, bool before_its_files) {
  const int before = alive;
  {
    MPI_Comm parent;
    MPI_Comm_dup(world, &parent);
    std::optional<Comm> file = make_comm(parent);
    use(*file, per_node);
    if (!before_its_files) file.reset();
    MPI_Comm_free(&parent);
    if (file) use(*file, per_node);
  }
  check(alive == before, "communicators are left");
}

// A rank that cannot look whether the others live goes on waiting.
void a_rank_has_no_descriptors(MPI_Comm world) {
  const Comm file = make_comm(world);
  use(file, 0);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{std::min<rlim_t>(256, before.rlim_max), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> all;
  for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) all.push_back(fd);
  if (file.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  file.barrier();
  for (const int fd : all) close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
}

void another_version_is_told_of(MPI_Comm world) {
  const int before = alive;
  int rank = 0, size = 1;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (rank == size - 1) setenv("FOREBAY_TEST_VERSION", "another", 1);
  MPI_Comm parent;
  MPI_Comm_dup(world, &parent);
  const auto failed = attempt_to([&] { make_comm(parent); });
  unsetenv("FOREBAY_TEST_VERSION");
  check((size == 1) == !failed, "a rank has another version of the library");
  check(!failed || failed->message().find("different versions") != std::string::npos, "told why");
  make_comm(parent);
  MPI_Comm_free(&parent);
  check(alive == before, "communicators are left");
}

}  // namespace

extern "C" {
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  const int code = PMPI_Comm_split(comm, color, key, part);
  ++made, alive += *part != MPI_COMM_NULL;
  return code;
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part) {
  ++made, ++alive;
  return PMPI_Comm_split_type(comm, type, key, info, part);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  ++made, ++alive;
  return PMPI_Comm_dup(comm, copy);
}
int MPI_Comm_free(MPI_Comm* comm) {
  --alive;
  return PMPI_Comm_free(comm);
}
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  alarm(60);
  const auto of_communicator = [](MPI_Comm comm) {
    for (const int per_node : {0, 2}) {
      a_file_after_another_finds_nothing_out(comm, per_node);
      files_that_are_open_at_once(comm, per_node);
      a_file_that_one_rank_holds_longer(comm, per_node);
    }
  };
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  of_communicator(MPI_COMM_WORLD);
  of_communicator(copy);
  MPI_Comm_free(&copy);
  for (const bool before_its_files : {false, true}) {
    a_communicator_is_freed(MPI_COMM_WORLD, 0, before_its_files);
    a_communicator_is_freed(MPI_COMM_WORLD, 2, before_its_files);
  }
  what_a_meeting_failed_on_is_not_used_again(MPI_COMM_WORLD);
  another_version_is_told_of(MPI_COMM_WORLD);
  a_rank_has_no_descriptors(MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
