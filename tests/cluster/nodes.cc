// What the library and the system say of nodes is what a cluster was made of.
//
//   nodes 3,1,2 [--by-node] [--shm BYTES] [--disk DIRECTORY]
//
// The ranks of each node, in the order in which mpiexec fills nodes, or going round them; the size
// of /dev/shm; a folder that is each node's own. The folder of the program is everybody's.
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi.h"
#include "comm/topology.h"

using namespace forebay;

namespace {

struct Expected {
  std::vector<int> ranks_of;  // of each node
  bool by_node = false;
  unsigned long long shm = 0;
  std::string disk;
};

int rank = 0, size = 0, failures = 0;

void check(bool right, const std::string& what) {
  if (right) return;
  std::printf("FAILED: rank %d: %s\n", rank, what.c_str());
  ++failures;
}

Expected parse(int argc, char** argv) {
  Expected e;
  std::istringstream nodes(argc > 1 ? argv[1] : "");
  for (std::string word; std::getline(nodes, word, ',');) e.ranks_of.push_back(std::stoi(word));
  for (int i = 2; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--by-node") e.by_node = true;
    if (option == "--shm" && i + 1 < argc) e.shm = std::strtoull(argv[++i], nullptr, 10);
    if (option == "--disk" && i + 1 < argc) e.disk = argv[++i];
  }
  return e;
}

/// The node of each rank.
std::vector<int> expected_nodes(const Expected& e) {
  std::vector<int> left = e.ranks_of, nodes;
  const int all = std::accumulate(left.begin(), left.end(), 0);
  for (std::size_t node = 0; static_cast<int>(nodes.size()) < all;) {
    if (left[node] > 0) {
      --left[node];
      nodes.push_back(static_cast<int>(node));
    }
    if (e.by_node || left[node] == 0) node = (node + 1) % left.size();
  }
  return nodes;
}

template <typename T>
std::vector<T> from_all(T mine, MPI_Datatype type) {
  std::vector<T> all(static_cast<std::size_t>(size));
  MPI_Allgather(&mine, 1, type, all.data(), 1, type, MPI_COMM_WORLD);
  return all;
}

void the_library_finds_the_nodes(const std::vector<int>& node_of) {
  const Comm comm = make_comm(MPI_COMM_WORLD);
  const Topology& topology = Topology::of(comm, 0);
  for (int r = 0; r < size; ++r) {
    const int node = topology.node_of(r);
    if (node == node_of[static_cast<std::size_t>(r)]) continue;
    check(false, "rank " + std::to_string(r) + " is on node " + std::to_string(node) + ", not " +
                     std::to_string(node_of[static_cast<std::size_t>(r)]));
  }
}

/// As the kernel numbers them.
void namespaces_are_of_each_node(const std::vector<int>& node_of) {
  for (const char* name : {"mnt", "uts", "ipc", "net", "pid"}) {
    struct stat is {};
    const std::string path = std::string("/proc/self/ns/") + name;
    check(::stat(path.c_str(), &is) == 0, path);
    const auto all = from_all(static_cast<unsigned long long>(is.st_ino), MPI_UNSIGNED_LONG_LONG);
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool same = node_of[r] == node_of[static_cast<std::size_t>(rank)];
      check((all[r] == is.st_ino) == same, path + " of rank " + std::to_string(r));
    }
  }
}

void names_differ_between_nodes(const std::vector<int>& node_of) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string expected = "node" + std::to_string(node_of[static_cast<std::size_t>(rank)]);
  check(name == expected, "the host's name is " + std::string(name) + ", not " + expected);
}

/// Each rank makes a file in a folder: who sees whose?
void a_folder_is(const std::string& folder, bool of_each_node, const std::vector<int>& node_of) {
  const int job = from_all(static_cast<int>(getpid()), MPI_INT)[0];
  const auto path = [&](int r) {
    return folder + "/seen-" + std::to_string(job) + "-" + std::to_string(r);
  };
  const int fd = ::open(path(rank).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  check(fd >= 0, "a file cannot be made in " + folder);
  if (fd >= 0) ::close(fd);
  MPI_Barrier(MPI_COMM_WORLD);  // all files are there
  for (int r = 0; r < size; ++r) {
    const bool seen = ::access(path(r).c_str(), F_OK) == 0;
    const bool same =
        node_of[static_cast<std::size_t>(r)] == node_of[static_cast<std::size_t>(rank)];
    check(seen == (same || !of_each_node), std::string(seen ? "sees" : "does not see") +
                                               " what rank " + std::to_string(r) + " has in " +
                                               folder);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // all have looked
  ::unlink(path(rank).c_str());
}

void the_environment_came_along() {
  const char* word = std::getenv("FOREBAY_TEST_WORD");
  check(word != nullptr && std::string_view(word) == "two words; and more",
        "the caller's environment is not there");
}

void shared_memory_has_its_size(unsigned long long expected) {
  struct statvfs is {};
  check(::statvfs("/dev/shm", &is) == 0 && is.f_blocks * is.f_frsize == expected,
        "the size of /dev/shm");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Expected expected = parse(argc, argv);
  const std::vector<int> node_of = expected_nodes(expected);
  if (std::ssize(node_of) != size) {
    if (rank == 0) std::printf("FAILED: %d ranks, not %zu\n", size, node_of.size());
    MPI_Finalize();
    return 1;
  }
  the_library_finds_the_nodes(node_of);
  namespaces_are_of_each_node(node_of);
  names_differ_between_nodes(node_of);
  a_folder_is(".", false, node_of);
  a_folder_is("/dev/shm", true, node_of);
  if (!expected.disk.empty()) a_folder_is(expected.disk, true, node_of);
  if (expected.shm > 0) shared_memory_has_its_size(expected.shm);
  the_environment_came_along();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d ranks, %d failures\n", size, failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
