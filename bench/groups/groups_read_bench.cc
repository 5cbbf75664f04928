// Reading groups on other numbers of ranks than wrote them (docs/groups.md): the same arrays in a
// file of groups and in a canonical CDF-5 file of the same library, which one run makes and others
// read, on any number of ranks:
//
//   forebay_read        each rank for itself
//   forebay_read_later  all together
//   canonical           ncmpi_iget and ncmpi_wait_all
//   adios2-bp4, -bp5    ADIOS2's engines of these names, where it was built, each from the file
//   that
//                       it wrote: deferred gets, and one PerformGets
//   adios2-of-groups    its BP4, from the file of groups
//
// Patterns: slabs, each rank's along the fastest dimension; blocks, in three dimensions; all, every
// rank all of it. Times are from open to close, of the slowest rank; medians over rounds, in which
// the ways take turns. Each way's values are compared in a round that does not count.
#include <forebay_groups.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef FOREBAY_BENCH_ADIOS2
#include <adios2.h>
#endif

#include "ways.h"

namespace {

namespace fs = std::filesystem;

using Three = std::array<MPI_Offset, 3>;
using Indices = std::array<std::int64_t, 3>;

struct Work {
  int variables = 8;
  std::vector<MPI_Offset> shape{64, 128, 512};
  std::string pattern = "slabs";
  fs::path folder;
  std::string groups() const { return folder / "groups.bp"; }
  std::string canonical() const { return folder / "canonical.nc"; }
};

struct Box {
  Three start{}, count{};
  std::size_t elements() const { return static_cast<std::size_t>(count[0] * count[1] * count[2]); }
};

void check(int status, const char* what) {
  if (status != 0) failed(std::string(what) + ": " + ncmpi_strerror(status));
}

Box box_of(const Work& work) {
  std::array<int, 3> parts{1, 1, ranks}, at{0, 0, rank};
  if (work.pattern == "all") parts = {1, 1, 1}, at = {0, 0, 0};
  if (work.pattern == "blocks") {
    parts = {0, 0, 0};
    MPI_Dims_create(ranks, 3, parts.data());
    at = {rank / (parts[1] * parts[2]), rank / parts[2] % parts[1], rank % parts[2]};
  }
  Box box;
  for (std::size_t d = 0; d < 3; ++d) {
    box.start[d] = work.shape[d] * at[d] / parts[d];
    box.count[d] = work.shape[d] * (at[d] + 1) / parts[d] - box.start[d];
  }
  return box;
}

double value_at(const Work& work, int variable, MPI_Offset i, MPI_Offset j, MPI_Offset k) {
  return static_cast<double>((i * work.shape[1] + j) * work.shape[2] + k) + 0.25 * variable;
}

template <typename F>
void each_element(const Box& box, F&& f) {
  std::size_t n = 0;
  for (MPI_Offset i = 0; i < box.count[0]; ++i)
    for (MPI_Offset j = 0; j < box.count[1]; ++j)
      for (MPI_Offset k = 0; k < box.count[2]; ++k)
        f(n++, box.start[0] + i, box.start[1] + j, box.start[2] + k);
}

using Values = std::vector<std::vector<double>>;

Indices indices(const Three& some) { return {some[0], some[1], some[2]}; }

void write_groups(const Work& work, const Box& box, const Values& values) {
  const Indices shape{work.shape[0], work.shape[1], work.shape[2]}, start = indices(box.start),
                                                                    count = indices(box.count);
  check(forebay_define_group("g", "C"), "forebay_define_group");
  for (int v = 0; v < work.variables; ++v)
    check(forebay_define_var("g", name_of(v).c_str(), "double", "1,1,1", "1,1,1", "0,0,0", nullptr),
          "forebay_define_var");
  int file = 0;
  check(forebay_open(&file, "g", work.groups().c_str(), "w", MPI_COMM_WORLD), "forebay_open");
  for (int v = 0; v < work.variables; ++v)
    check(forebay_write_box(file, name_of(v).c_str(), shape.data(), start.data(), count.data(),
                            values[static_cast<std::size_t>(v)].data()),
          "forebay_write_box");
  check(forebay_end_step(file), "forebay_end_step");
  check(forebay_close(file), "forebay_close");
}

void write_canonical(const Work& work, const Box& box, const Values& values) {
  int file = 0;
  check(ncmpi_create(MPI_COMM_WORLD, work.canonical().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                     MPI_INFO_NULL, &file),
        "ncmpi_create");
  std::array<int, 3> dims{};
  for (std::size_t d = 0; d < 3; ++d)
    check(ncmpi_def_dim(file, ("d" + std::to_string(d)).c_str(), work.shape[d], &dims[d]),
          "ncmpi_def_dim");
  std::vector<int> ids(values.size());
  for (int v = 0; v < work.variables; ++v)
    check(ncmpi_def_var(file, name_of(v).c_str(), NC_DOUBLE, 3, dims.data(),
                        &ids[static_cast<std::size_t>(v)]),
          "ncmpi_def_var");
  check(ncmpi_enddef(file), "ncmpi_enddef");
  for (std::size_t v = 0; v < values.size(); ++v)
    check(ncmpi_put_vara_double_all(file, ids[v], box.start.data(), box.count.data(),
                                    values[v].data()),
          "ncmpi_put_vara_double_all");
  check(ncmpi_close(file), "ncmpi_close");
}

void read_groups(const Work& work, const Box& box, Values& values, bool later) {
  const Indices start = indices(box.start), count = indices(box.count);
  int file = 0;
  check(forebay_open(&file, nullptr, work.groups().c_str(), "r", MPI_COMM_WORLD), "forebay_open");
  for (int v = 0; v < work.variables; ++v)
    check((later ? forebay_read_later : forebay_read)(file, name_of(v).c_str(), 0, start.data(),
                                                      count.data(),
                                                      values[static_cast<std::size_t>(v)].data()),
          "forebay_read");
  if (later) check(forebay_perform_reads(file), "forebay_perform_reads");
  check(forebay_close(file), "forebay_close");
}

void read_canonical(const Work& work, const Box& box, Values& values) {
  int file = 0;
  check(ncmpi_open(MPI_COMM_WORLD, work.canonical().c_str(), NC_NOWRITE, MPI_INFO_NULL, &file),
        "ncmpi_open");
  for (int v = 0; v < work.variables; ++v)
    check(ncmpi_iget_vara_double(file, v, box.start.data(), box.count.data(),
                                 values[static_cast<std::size_t>(v)].data(), nullptr),
          "ncmpi_iget_vara_double");
  check(ncmpi_wait_all(file, NC_REQ_ALL, nullptr, nullptr), "ncmpi_wait_all");
  check(ncmpi_close(file), "ncmpi_close");
}

#ifdef FOREBAY_BENCH_ADIOS2
adios2::Dims dims(const std::array<MPI_Offset, 3>& some) {
  return {static_cast<std::size_t>(some[0]), static_cast<std::size_t>(some[1]),
          static_cast<std::size_t>(some[2])};
}

std::string path_of(const Work& work, const std::string& engine) {
  return work.folder / (engine + ".bp");
}

void write_adios2(const Work& work, const Box& box, const Values& values, const char* engine) {
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine(engine);
  adios2::Engine file = io.Open(path_of(work, engine), adios2::Mode::Write);
  file.BeginStep();
  for (int v = 0; v < work.variables; ++v)
    file.Put(
        io.DefineVariable<double>(name_of(v), dims({work.shape[0], work.shape[1], work.shape[2]}),
                                  dims(box.start), dims(box.count)),
        values[static_cast<std::size_t>(v)].data());
  file.EndStep();
  file.Close();
}

void read_adios2(const Work& work, const Box& box, Values& values, const char* engine,
                 const std::string& path) {
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine(engine);
  adios2::Engine file = io.Open(path, adios2::Mode::ReadRandomAccess);
  for (int v = 0; v < work.variables; ++v) {
    auto variable = io.InquireVariable<double>(name_of(v));
    variable.SetSelection({dims(box.start), dims(box.count)});
    file.Get(variable, values[static_cast<std::size_t>(v)].data());
  }
  file.PerformGets();
  file.Close();
}
#endif

void compare(const Work& work, const Box& box, Values& values, const std::string& way) {
  for (int v = 0; v < work.variables; ++v) {
    auto& some = values[static_cast<std::size_t>(v)];
    each_element(box, [&](std::size_t n, MPI_Offset i, MPI_Offset j, MPI_Offset k) {
      if (some[n] != value_at(work, v, i, j, k)) failed(way + ": wrong values");
      some[n] = -1;
    });
  }
}

void measure(const Work& work, const Box& box, Values& values, int rounds,
             const std::vector<std::string>& chosen) {
  std::vector<Way> ways;
  ways.push_back({"forebay_read", [&] { read_groups(work, box, values, false); }, {}});
  ways.push_back({"forebay_read_later", [&] { read_groups(work, box, values, true); }, {}});
  ways.push_back({"canonical", [&] { read_canonical(work, box, values); }, {}});
#ifdef FOREBAY_BENCH_ADIOS2
  const auto add = [&](const char* name, const char* engine, const std::string& path) {
    ways.push_back({name, [&, engine, path] { read_adios2(work, box, values, engine, path); }, {}});
  };
  add("adios2-bp4", "BP4", path_of(work, "BP4"));
  add("adios2-bp5", "BP5", path_of(work, "BP5"));
  add("adios2-of-groups", "BP4", work.groups());
#endif
  std::erase_if(ways, [&](const Way& way) {
    return !chosen.empty() && std::find(chosen.begin(), chosen.end(), way.name) == chosen.end();
  });
  if (ways.empty()) failed("there is no such way");
  const std::size_t base = ways.size() > 1 ? 1 : 0;
  take_turns(
      ways, rounds, [](const Way&) {},
      [&](const Way& way, bool counts) {
        if (!counts) compare(work, box, values, way.name);
      });
  if (rank != 0) return;
  std::printf("%d ranks, %s, %d variables\n%-20s %9s %s\n", ranks, work.pattern.c_str(),
              work.variables, "", "seconds", ("/" + ways[base].name).c_str());
  for (const Way& way : ways)
    std::printf("%-20s %9.4f %9.2f\n", way.name.c_str(), median(way.seconds),
                median(way.seconds) / median(ways[base].seconds));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Work work;
  int rounds = 5;
  bool make = false, remove = false;
  CLI::App app("Reading groups alone and together, and a canonical file");
  app.add_option("--dir", work.folder, "the folder of both files")->required();
  app.add_flag("--make", make, "make the files, each rank its part by the pattern");
  app.add_flag("--remove", remove, "remove the folder in the end");
  app.add_option("--pattern", work.pattern)->check(CLI::IsMember({"slabs", "blocks", "all"}));
  app.add_option("--variables", work.variables)->check(CLI::PositiveNumber);
  app.add_option("--shape", work.shape, "of a variable: three extents, with commas")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "0: none")->check(CLI::NonNegativeNumber);
  std::vector<std::string> chosen;
  app.add_option("--ways", chosen, "these only, with commas")->delimiter(',');
  CLI11_PARSE(app, argc, argv);

  const Box box = box_of(work);
  Values values(static_cast<std::size_t>(work.variables), std::vector<double>(box.elements()));
  check(forebay_init(nullptr, MPI_COMM_WORLD), "forebay_init");
  if (make) {
    if (rank == 0) fs::create_directories(work.folder);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int v = 0; v < work.variables; ++v)
      each_element(box, [&](std::size_t n, MPI_Offset i, MPI_Offset j, MPI_Offset k) {
        values[static_cast<std::size_t>(v)][n] = value_at(work, v, i, j, k);
      });
    write_groups(work, box, values);
    write_canonical(work, box, values);
#ifdef FOREBAY_BENCH_ADIOS2
    for (const char* engine : {"BP4", "BP5"}) write_adios2(work, box, values, engine);
#endif
  }
  if (rounds > 0) measure(work, box, values, rounds, chosen);
  MPI_Barrier(MPI_COMM_WORLD);
  if (remove && rank == 0) fs::remove_all(work.folder);
  check(forebay_finalize(), "forebay_finalize");
  MPI_Finalize();
  return 0;
}
