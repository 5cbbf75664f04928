// Writes steps of a group again and again while one allocation after another fails on one rank: no
// rank may hang or crash, and the file has just the steps that ended.
//
// Usage: no_memory_cases.h.
#include <forebay_groups.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "fault/no_memory_cases.h"

namespace {

using no_memory::fail, no_memory::of_all, no_memory::rank;

constexpr int names = 24, elements = 30;
// So long that the list of names does not go along with a meeting; new in a step in which one rank
// has no new ones.
std::string name_of(int n) { return "a_variable_that_some_ranks_alone_have_" + std::to_string(n); }

class Player {
 public:
  Player(const char* path, no_memory::Steps& steps) : path_(path), steps_(steps) {}

  void play() {
    write_file("w");
    write_file("a");
    steps_.disarm();
    write_file("a");
  }

 private:
  template <typename F>
  int call(const char* step, F&& f) {
    const int code = steps_.call(step, true, f);
    steps_.note(step, code);
    if (code != 0 && steps_.must_succeed()) fail(forebay_error_message());
    return code;
  }
  /// Of a call that ends alike on all ranks.
  template <typename F>
  bool together(const char* step, F&& f) {
    const bool done = call(step, f) == 0;
    if (of_all(done) != done) fail("a collective call failed on other ranks only");
    return done;
  }

  void write_file(const char* mode) {
    if (*mode == 'w') expected_ = 0;
    if (!together("open", [&] { return forebay_open(&id_, "group", path_, mode, MPI_COMM_WORLD); }))
      return;
    for (int step = 0; step < 5; ++step) {
      std::vector<double> values(elements, rank);
      const std::int64_t n = elements;
      call("write n", [&] { return forebay_write(id_, "n", &n); });
      call("write own", [&] { return forebay_write(id_, "own", values.data()); });
      for (int v = 0; rank != 1 && step > 0 && v < names; ++v) {
        const std::string name = name_of(v);
        call("write", [&] {
          return v % 2 == 0 ? forebay_write(id_, name.c_str(), values.data())
                            : forebay_write_later(id_, name.c_str(), values.data());
        });
      }
      if (together("end_step", [&] { return forebay_end_step(id_); })) ++expected_;
    }
    together("sync", [&] { return forebay_sync(id_); });
    together("close", [&] { return forebay_close(id_); });
    check();
  }

  void check() const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) return;
    const auto bytes = std::filesystem::file_size(std::string(path_) + "/md.idx");
    if (bytes != 64 * (static_cast<std::uintmax_t>(expected_) + 1))
      fail("the file has other steps than those that ended");
  }

  const char* path_;
  no_memory::Steps& steps_;
  int id_ = -1, expected_ = 0;
};

void must(int code) {
  if (code == 0) return;
  std::fprintf(stderr, "%s\n", forebay_error_message());
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  must(forebay_init(nullptr, MPI_COMM_WORLD));
  must(forebay_define_group("group", nullptr));
  must(forebay_define_var("group", "n", "int64", nullptr, nullptr, nullptr, nullptr));
  must(forebay_define_var("group", "own", "double", "n", nullptr, nullptr, nullptr));
  for (int v = 0; v < names; ++v)
    must(forebay_define_var("group", name_of(v).c_str(), "double", std::to_string(elements).c_str(),
                            nullptr, nullptr, nullptr));
  must(forebay_define_attribute("group", "units", "K", nullptr));
  const int code =
      no_memory::run(argc, argv, "no_memory_groups",
                     [](const char* file, no_memory::Steps& steps) { Player(file, steps).play(); });
  forebay_finalize();
  MPI_Finalize();
  return code;
}
