// What waits in bundles is written at the end: those of a process alone and those of ranks, begun
// before MPI, with it, and behind it. Rank 0 says whether the files are whole.
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "bundles/open_bundles.h"
#include "comm/mpi.h"

using namespace forebay;

namespace {

constexpr Count each = 100;
std::string folder;

std::string path_of(const std::string& name) { return folder + "/ends_" + name + ".nc"; }

/// Closes a file that waits. Whoever made the bundle writes it.
void leave(const Comm& comm, const std::string& name) {
  const HintMap hints{{"bundle", name}};
  auto file = Dataset::create(comm, path_of(name), 5, false, hints);
  join_bundle(*file);
  const VarId var =
      file->def_var("v", Type::int32, std::array{file->def_dim("x", each * comm.size())});
  file->enddef();
  std::array<int, each> values{};
  values.fill(comm.rank() + 1);
  std::vector<Request> list(1);
  list[0].var = var;
  list[0].write = true;
  list[0].selection = Subarray{{each * comm.rank()}, {each}, {}};
  list[0].elements = each;
  list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
  file->execute(list, true);
  close_file(std::move(file));
}

bool is_there(const std::string& name) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path_of(name), failed);
  const bool there = !failed && bytes >= each * 4;
  if (!there) std::printf("%s is not written\n", path_of(name).c_str());
  return there;
}

/// Registered first, and so called last.
void look() {
  bool good = true;
  for (const char* name : {"before", "with", "behind"}) good &= is_there(name);
  std::fflush(stdout);
  if (!good) _exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  folder = argc > 1 ? argv[1] : ".";
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const bool first = rank == nullptr || std::string(rank) == "0";
  if (first) std::atexit(look);
  if (first) leave(Comm(), "before");
  MPI_Init(&argc, &argv);
  leave(make_comm(MPI_COMM_WORLD), "with");
  if (first && std::filesystem::file_size(path_of("with")) != 0) return 1;
  MPI_Finalize();
  if (first && !is_there("with")) return 1;
  if (first) leave(Comm(), "behind");
  return 0;
}
