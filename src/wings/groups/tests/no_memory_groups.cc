// Writes steps of a group, and reads them together, again and again while one allocation after
// another fails on one rank: no rank may hang or crash, the file has just the steps that ended, and
// what is read without an error is right.
//
// Usage: no_memory_cases.h.
#include <forebay_groups.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fault/no_memory_cases.h"

namespace {

using no_memory::fail, no_memory::of_all, no_memory::rank;

constexpr int names = 24, elements = 30;
// So long that the list of names does not go along with a meeting; new in a step in which one rank
// has no new ones.
std::string name_of(int n) { return "a_variable_that_some_ranks_alone_have_" + std::to_string(n); }

bool is_netcdf(std::string_view path) { return path.ends_with(".nc"); }

class Player {
 public:
  Player(const char* path, no_memory::Steps& steps) : path_(path), steps_(steps) {}

  void play() {
    write_file("w");
    write_file("a");
    read_file();
    steps_.disarm();
    write_file("a");
    read_file();
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
      call("write own", [&] { return write("own", values.data(), false); });
      for (int v = 0; rank != 1 && step > 0 && v < names; ++v) {
        const std::string name = name_of(v);
        call("write", [&] { return write(name.c_str(), values.data(), v % 2 != 0); });
      }
      if (together("end_step", [&] { return forebay_end_step(id_); })) ++expected_;
    }
    together("sync", [&] { return forebay_sync(id_); });
    together("close", [&] { return forebay_close(id_); });
    check();
  }

  // In netCDF files arrays have one shape in all steps, whoever fails.
  int write(const char* name, const double* values, bool later) const {
    if (!is_netcdf(path_))
      return later ? forebay_write_later(id_, name, values) : forebay_write(id_, name, values);
    const std::int64_t shape = 3 * elements, start = elements * rank, count = elements;
    return forebay_write_box(id_, name, &shape, &start, &count, values);
  }

  // All of "own", and the blocks of what ranks alone have.
  void read_file() {
    if (is_netcdf(path_)) return;
    if (!together("open to read",
                  [&] { return forebay_open(&id_, "group", path_, "r", MPI_COMM_WORLD); }))
      return;
    for (int round = 0; round < 2; ++round) {
      std::vector<std::vector<double>> got;
      for (int step = 0; step < expected_; ++step)
        for (const std::string& name : {std::string("own"), name_of(rank), name_of(5)})
          read_later(name, step, got);
      if (together("perform_reads", [&] { return forebay_perform_reads(id_); }))
        for (const auto& values : got) check_read(values);
    }
    together("close", [&] { return forebay_close(id_); });
  }

  // Steps that failed on some rank may lack names: that is an error, too.
  void read_later(const std::string& name, int step, std::vector<std::vector<double>>& got) {
    std::int64_t all = 0;
    if (forebay_inq_shape(id_, name.c_str(), step, &all, nullptr) != 0) return;
    std::vector<double> values(static_cast<std::size_t>(all), -1);
    if (call("read_later", [&] {
          return forebay_read_later(id_, name.c_str(), step, nullptr, nullptr, values.data());
        }) == 0)
      got.push_back(std::move(values));
  }

  // Ranks' blocks, one behind the other, of those that could write them.
  static void check_read(const std::vector<double>& values) {
    for (std::size_t n = 0; n < values.size(); ++n) {
      const double first = values[n / elements * elements];
      if (values[n] != first || first < 0 || first >= no_memory::size) fail("wrong values");
      if (n > 0 && values[n] < values[n - 1]) fail("ranks are not in order");
    }
  }

  void check() const {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) return;
    if (is_netcdf(path_)) {
      // Of a step that failed there may be a part, which the next one is written over.
      const std::int64_t there = records();
      if (there != expected_ && there != expected_ + 1)
        fail(("the file has " + std::to_string(there) + " records, and " +
              std::to_string(expected_) + " steps ended")
                 .c_str());
      return;
    }
    if (std::filesystem::is_regular_file(path_)) {
      if (last_step() != expected_) fail("the file has other steps than those that ended");
      return;
    }
    const auto bytes = std::filesystem::file_size(std::string(path_) + "/md.idx");
    if (bytes != 64 * (static_cast<std::uintmax_t>(expected_) + 1))
      fail("the file has other steps than those that ended");
  }

  // As the header of a CDF-5 file has it.
  std::int64_t records() const {
    std::ifstream file(path_, std::ios::binary);
    std::int64_t number = 0;
    file.seekg(4);
    for (int byte = 0; byte < 8; ++byte) number = number * 256 + file.get();
    return file ? number : 0;  // where no step ended there may be no header yet
  }

  // As the index at the end of a BP3 file has it.
  std::int64_t last_step() const {
    std::ifstream file(path_, std::ios::binary);
    const auto number = [&](int width) {
      std::int64_t value = 0;
      file.read(reinterpret_cast<char*>(&value), width);
      return value;
    };
    file.seekg(-28, std::ios::end);
    file.seekg(number(8));
    std::int64_t last = 0;
    const std::int64_t groups = number(8);
    file.seekg(8, std::ios::cur);
    for (std::int64_t group = 0; file && group < groups; ++group) {
      file.seekg(number(2) - 12, std::ios::cur);
      last = std::max(last, number(4));
      file.seekg(8, std::ios::cur);
    }
    return file ? last : -1;
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
  const bool netcdf = argc > 1 && is_netcdf(argv[1]);
  const std::string each = std::to_string(elements), all = std::to_string(3 * elements);
  const char* shape = netcdf ? all.c_str() : nullptr;
  const char* start = netcdf ? "0" : nullptr;
  must(forebay_define_var("group", "own", "double", "n", shape, start, nullptr));
  for (int v = 0; v < names; ++v)
    must(forebay_define_var("group", name_of(v).c_str(), "double", each.c_str(), shape, start,
                            nullptr));
  must(forebay_define_attribute("group", "units", "K", nullptr));
  const int code =
      no_memory::run(argc, argv, "no_memory_groups",
                     [](const char* file, no_memory::Steps& steps) { Player(file, steps).play(); });
  forebay_finalize();
  MPI_Finalize();
  return code;
}
