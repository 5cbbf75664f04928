// A file of very many blocks, of which each rank opens and reads one: time from open to close, and
// the memory that a rank takes for it, this library's and ADIOS2's BP4, each of the file that it
// wrote (and ADIOS2 of ours, too). Each way runs in a process of its own: run with --way.
//
//   --make    each rank writes `variables` arrays a step, of `elements` doubles a rank
//   --way     forebay, adios2-bp4, adios2-of-groups
#include <forebay_groups.h>
#include <mpi.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
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

struct Work {
  int variables = 3000, steps = 100, rounds = 5;
  std::int64_t elements = 2;
  std::string way = "forebay";
  fs::path folder;
  std::string groups() const { return folder / "groups.bp"; }
  std::string peer() const { return folder / "BP4.bp"; }
};

void check(int status, const char* what) {
  if (status != 0) failed(std::string(what) + ": " + forebay_error_message());
}

double value_of(int variable, int step, std::int64_t element) {
  return variable + 1e4 * step + 1e-4 * static_cast<double>(element);
}

std::vector<double> values_of(const Work& work, int variable, int step, std::int64_t from) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < work.elements; ++i)
    values.push_back(value_of(variable, step, from + i));
  return values;
}

void write_forebay(const Work& work) {
  const std::int64_t n = work.elements, all = n * ranks, at = n * rank;
  check(forebay_define_group("g", "C"), "forebay_define_group");
  for (const char* scalar : {"n", "all", "at"})
    check(forebay_define_var("g", scalar, "int64", nullptr, nullptr, nullptr, nullptr), scalar);
  for (int v = 0; v < work.variables; ++v)
    check(forebay_define_var("g", name_of(v).c_str(), "double", "n", "all", "at", nullptr), "var");
  int file = 0;
  check(forebay_open(&file, "g", work.groups().c_str(), "w", MPI_COMM_WORLD), "forebay_open");
  for (int step = 0; step < work.steps; ++step) {
    check(forebay_write(file, "n", &n), "n");
    check(forebay_write(file, "all", &all), "all");
    check(forebay_write(file, "at", &at), "at");
    for (int v = 0; v < work.variables; ++v)
      check(forebay_write(file, name_of(v).c_str(), values_of(work, v, step, at).data()), "write");
    check(forebay_end_step(file), "forebay_end_step");
  }
  check(forebay_close(file), "forebay_close");
}

/// What each rank reads: another block than those beside it.
struct One {
  int variable, step;
  std::int64_t start;
};
One one_of(const Work& work, int round) {
  const int n = 7919 * (rank + 1) + 104729 * (round + 1);
  return {n % work.variables, n / 7 % work.steps, work.elements * ((rank + 1) % ranks)};
}

void read_forebay(const Work& work, const One& one, std::vector<double>& values) {
  int file = 0;
  check(forebay_open(&file, nullptr, work.groups().c_str(), "r", MPI_COMM_WORLD), "forebay_open");
  check(forebay_read(file, name_of(one.variable).c_str(), one.step, &one.start, &work.elements,
                     values.data()),
        "forebay_read");
  check(forebay_close(file), "forebay_close");
}

#ifdef FOREBAY_BENCH_ADIOS2
void write_adios2(const Work& work) {
  const auto n = static_cast<std::size_t>(work.elements), all = n * static_cast<std::size_t>(ranks),
             at = n * static_cast<std::size_t>(rank);
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine("BP4");
  std::vector<adios2::Variable<double>> variables;
  for (int v = 0; v < work.variables; ++v)
    variables.push_back(io.DefineVariable<double>(name_of(v), {all}, {at}, {n}));
  adios2::Engine file = io.Open(work.peer(), adios2::Mode::Write);
  for (int step = 0; step < work.steps; ++step) {
    file.BeginStep();
    for (int v = 0; v < work.variables; ++v)
      file.Put(variables[static_cast<std::size_t>(v)],
               values_of(work, v, step, static_cast<std::int64_t>(at)).data(), adios2::Mode::Sync);
    file.EndStep();
  }
  file.Close();
}

void read_adios2(const Work& work, const One& one, std::vector<double>& values,
                 const std::string& path) {
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine("BP4");
  adios2::Engine file = io.Open(path, adios2::Mode::ReadRandomAccess);
  auto variable = io.InquireVariable<double>(name_of(one.variable));
  variable.SetStepSelection({static_cast<std::size_t>(one.step), 1});
  variable.SetSelection(
      {{static_cast<std::size_t>(one.start)}, {static_cast<std::size_t>(work.elements)}});
  file.Get(variable, values.data(), adios2::Mode::Sync);
  file.Close();
}
#endif

long peak_kib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

void read_one(const Work& work, const One& one, std::vector<double>& values) {
#ifdef FOREBAY_BENCH_ADIOS2
  if (work.way == "adios2-bp4") return read_adios2(work, one, values, work.peer());
  if (work.way == "adios2-of-groups") return read_adios2(work, one, values, work.groups());
#endif
  if (work.way != "forebay") failed("there is no such way");
  read_forebay(work, one, values);
}

void measure(const Work& work) {
  std::vector<double> seconds, values(static_cast<std::size_t>(work.elements));
  const long before = peak_kib();
  for (int round = -1; round < work.rounds; ++round) {
    const One one = one_of(work, round);
    const double took = timed([&] { read_one(work, one, values); });
    if (round >= 0) seconds.push_back(took);
    if (values != values_of(work, one.variable, one.step, one.start))
      failed(work.way + ": wrong values");
  }
  long mine = peak_kib() - before, most = 0;
  MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%-18s %d ranks, %lld blocks: %9.4f s, %7.1f MiB more a rank\n", work.way.c_str(),
                ranks, static_cast<long long>(work.variables) * work.steps * ranks, median(seconds),
                static_cast<double>(most) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Work work;
  bool make = false, remove = false;
  CLI::App app("Reading one of very many blocks");
  app.add_option("--dir", work.folder, "the folder of the files")->required();
  app.add_flag("--make", make, "make the files");
  app.add_flag("--remove", remove, "remove the folder in the end");
  app.add_option("--variables", work.variables)->check(CLI::PositiveNumber);
  app.add_option("--steps", work.steps)->check(CLI::PositiveNumber);
  app.add_option("--elements", work.elements, "of a block")->check(CLI::PositiveNumber);
  app.add_option("--rounds", work.rounds, "0: none")->check(CLI::NonNegativeNumber);
  app.add_option("--way", work.way, "forebay, adios2-bp4, adios2-of-groups");
  CLI11_PARSE(app, argc, argv);

  check(forebay_init(nullptr, MPI_COMM_WORLD), "forebay_init");
  if (make) {
    if (rank == 0) fs::create_directories(work.folder);
    MPI_Barrier(MPI_COMM_WORLD);
    write_forebay(work);
#ifdef FOREBAY_BENCH_ADIOS2
    write_adios2(work);
#endif
  }
  if (work.rounds > 0) measure(work);
  MPI_Barrier(MPI_COMM_WORLD);
  if (remove && rank == 0) fs::remove_all(work.folder);
  check(forebay_finalize(), "forebay_finalize");
  MPI_Finalize();
  return 0;
}
