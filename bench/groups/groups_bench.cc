// Process groups against ADIOS 1, the system of the paper, ADIOS2, its heir, parallel HDF5, and the
// physical limit, on the same bytes, in turn, in one run (paper A, III.D; docs/groups.md):
//
//   forebay        forebay_write: buffers are the program's again at once
//   forebay-later  forebay_write_later: lent until the step ends, not copied
//   forebay-bp3    the latter as one BP3 file
//   forebay-async  forebay_write with stage async
//   records        the same as records of a canonical netCDF file
//   append         one pass for the least and greatest value, one pwritev a rank and step: no
//                  index, no names
//   adios-mpi, adios-posix   ADIOS 1.13's methods of these names, where it is installed: one file a
//                  step
//   adios2-bp4, adios2-bp5   its engines of these names, where it was built: values lent until the
//                  step ends, least and greatest of each block, as here
//   hdf5           a contiguous dataset a variable and step, written collectively, one after
//   another
//
// ADIOS 1 is in a program of its own (forebay-bench-groups), and the others are in
// forebay-bench-groups-peers: their libraries do not go together. With --compute each rank sleeps,
// as if it computed, so long behind each step, and what is printed is what is left: the time that
// it waits.
//
// A step is over when its data has been handed to the system, on all ranks; nothing is synced.
// Prints medians over rounds, in which the ways take turns. Behind the one that does not count each
// rank reads its values of the last step back, and compares them.
#include <fcntl.h>
#include <forebay_groups.h>
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef FOREBAY_BENCH_ADIOS
#include <adios.h>
#endif
#ifdef FOREBAY_BENCH_ADIOS2
#include <adios2.h>
#endif
#ifdef FOREBAY_BENCH_GROUPS_HDF5
#include <hdf5.h>
#endif

#include "ways.h"

namespace {

namespace fs = std::filesystem;

struct Work {
  int variables = 8;
  std::int64_t elements = 1 << 20;  // doubles of a variable and rank
  int steps = 2;
  double compute = 0;  // seconds behind each step
  fs::path folder;
};

// Asleep, as ranks here share cores, which they would not where they compute.
void compute(const Work& work) {
  if (work.compute > 0) std::this_thread::sleep_for(std::chrono::duration<double>(work.compute));
}

void check(int status, const char* what) {
  if (status != 0) failed(std::string(what) + " failed with " + std::to_string(status));
}

using Values = std::vector<std::vector<double>>;

Values make_values(const Work& work) {
  Values values(static_cast<std::size_t>(work.variables));
  for (std::size_t v = 0; v < values.size(); ++v) {
    values[v].resize(static_cast<std::size_t>(work.elements));
    for (std::size_t i = 0; i < values[v].size(); ++i)
      values[v][i] = static_cast<double>((i * 7919 + v) % 100003) + rank;
  }
  return values;
}

void define_forebay(const Work& work) {
  check(forebay_init(nullptr, MPI_COMM_WORLD), "forebay_init");
  for (const char* group : {"g", "bp3", "async"}) {
    check(forebay_define_group(group, "C"), "forebay_define_group");
    for (const char* scalar : {"n", "all", "at"})
      check(forebay_define_var(group, scalar, "int64", nullptr, nullptr, nullptr, nullptr), scalar);
    for (int v = 0; v < work.variables; ++v)
      check(forebay_define_var(group, name_of(v).c_str(), "double", "n", "all", "at", nullptr),
            "forebay_define_var");
  }
  check(forebay_define_method("bp3", "bp_version=3"), "forebay_define_method");
  check(forebay_define_method("async", "stage=async"), "forebay_define_method");
}

void write_forebay(const Work& work, const Values& values, bool later, const char* name,
                   const char* group = "g") {
  const std::int64_t n = work.elements, all = n * ranks, at = n * rank;
  int file = 0;
  check(forebay_open(&file, group, (work.folder / name).c_str(), "w", MPI_COMM_WORLD),
        "forebay_open");
  for (int step = 0; step < work.steps; ++step) {
    check(forebay_write(file, "n", &n), "n");
    check(forebay_write(file, "all", &all), "all");
    check(forebay_write(file, "at", &at), "at");
    for (int v = 0; v < work.variables; ++v) {
      const auto* data = values[static_cast<std::size_t>(v)].data();
      check(later ? forebay_write_later(file, name_of(v).c_str(), data)
                  : forebay_write(file, name_of(v).c_str(), data),
            "forebay_write");
    }
    check(forebay_end_step(file), "forebay_end_step");
    compute(work);
  }
  check(forebay_close(file), "forebay_close");
}

void read_forebay(const Work& work, const std::string& name, int variable,
                  std::vector<double>& out) {
  const std::int64_t n = work.elements, at = n * rank;
  int file = 0;
  check(forebay_open(&file, nullptr, (work.folder / name).c_str(), "r", MPI_COMM_WORLD),
        "forebay_open");
  check(forebay_read(file, name_of(variable).c_str(), work.steps - 1, &at, &n, out.data()),
        "forebay_read");
  check(forebay_close(file), "forebay_close");
}

double least_and_greatest = 0;  // so that the pass is made

void write_all(int fd, std::vector<iovec>& pieces, off_t at) {
  for (std::size_t from = 0; from < pieces.size();) {
    const auto many = static_cast<int>(std::min<std::size_t>(pieces.size() - from, IOV_MAX));
    ssize_t done = ::pwritev(fd, pieces.data() + from, many, at);
    if (done <= 0) failed("pwritev");
    at += done;
    for (; from < pieces.size() && done >= static_cast<ssize_t>(pieces[from].iov_len); ++from)
      done -= static_cast<ssize_t>(pieces[from].iov_len);
    if (done > 0) {
      pieces[from].iov_base = static_cast<char*>(pieces[from].iov_base) + done;
      pieces[from].iov_len -= static_cast<std::size_t>(done);
    }
  }
}

void write_append(const Work& work, const Values& values) {
  const std::string path = work.folder / "append";
  if (rank == 0) ::close(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0666));
  MPI_Barrier(MPI_COMM_WORLD);
  const int fd = ::open(path.c_str(), O_WRONLY);
  const std::int64_t bytes = work.variables * work.elements * 8;
  for (int step = 0; step < work.steps; ++step) {
    std::vector<iovec> pieces;
    for (const auto& one : values) {
      double least[8], greatest[8];
      std::fill_n(least, 8, one[0]);
      std::fill_n(greatest, 8, one[0]);
      std::size_t i = 0;
      for (; i + 8 <= one.size(); i += 8) {
        for (std::size_t l = 0; l < 8; ++l) {
          least[l] = std::min(least[l], one[i + l]);
          greatest[l] = std::max(greatest[l], one[i + l]);
        }
      }
      least_and_greatest +=
          *std::min_element(least, least + 8) + *std::max_element(greatest, greatest + 8);
      pieces.push_back({const_cast<double*>(one.data()), one.size() * sizeof(double)});
    }
    write_all(fd, pieces, (static_cast<std::int64_t>(step) * ranks + rank) * bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    compute(work);
  }
  ::close(fd);
}

void read_append(const Work& work, int variable, std::vector<double>& out) {
  const int fd = ::open((work.folder / "append").c_str(), O_RDONLY);
  const std::int64_t bytes = work.elements * 8;
  const std::int64_t group = static_cast<std::int64_t>(work.steps - 1) * ranks + rank;
  if (::pread(fd, out.data(), static_cast<std::size_t>(bytes),
              (group * work.variables + variable) * bytes) != bytes)
    failed("pread");
  ::close(fd);
}

#ifdef FOREBAY_BENCH_ADIOS
std::int64_t define_adios(const Work& work, const char* method) {
  std::int64_t group = 0;
  adios_declare_group(&group, method, "", adios_stat_default);
  adios_select_method(group, method, "verbose=1", "");
  for (const char* scalar : {"n", "all", "at"})
    adios_define_var(group, scalar, "", adios_long, "", "", "");
  for (int v = 0; v < work.variables; ++v)
    adios_define_var(group, name_of(v).c_str(), "", adios_double, "n", "all", "at");
  return group;
}

void write_adios(const Work& work, const Values& values, const char* method) {
  std::int64_t n = work.elements, all = n * ranks, at = n * rank;
  for (int step = 0; step < work.steps; ++step) {
    std::int64_t file = 0;
    std::uint64_t total = 0;
    const std::string path =
        work.folder / (std::string(method) + "." + std::to_string(step) + ".bp");
    check(adios_open(&file, method, path.c_str(), "w", MPI_COMM_WORLD), "adios_open");
    adios_group_size(file, static_cast<std::uint64_t>(3 * 8 + work.variables * n * 8), &total);
    adios_write(file, "n", &n);
    adios_write(file, "all", &all);
    adios_write(file, "at", &at);
    for (int v = 0; v < work.variables; ++v)
      adios_write(file, name_of(v).c_str(),
                  const_cast<double*>(values[static_cast<std::size_t>(v)].data()));
    check(adios_close(file), "adios_close");
  }
}
#endif

#ifdef FOREBAY_BENCH_ADIOS2
void write_adios2(const Work& work, const Values& values, const char* engine_name) {
  const auto n = static_cast<std::size_t>(work.elements), all = n * static_cast<std::size_t>(ranks),
             at = n * static_cast<std::size_t>(rank);
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine(engine_name);
  std::vector<adios2::Variable<double>> variables;
  for (int v = 0; v < work.variables; ++v)
    variables.push_back(io.DefineVariable<double>(name_of(v), {all}, {at}, {n}));
  adios2::Engine file =
      io.Open(work.folder / (std::string(engine_name) + ".bp"), adios2::Mode::Write);
  for (int step = 0; step < work.steps; ++step) {
    file.BeginStep();
    for (std::size_t v = 0; v < variables.size(); ++v) file.Put(variables[v], values[v].data());
    file.EndStep();
    compute(work);
  }
  file.Close();
}
#endif

#ifdef FOREBAY_BENCH_ADIOS2
void read_adios2(const Work& work, const char* engine_name, int variable,
                 std::vector<double>& out) {
  const auto n = static_cast<std::size_t>(work.elements);
  adios2::ADIOS adios(MPI_COMM_WORLD);
  adios2::IO io = adios.DeclareIO("g");
  io.SetEngine(engine_name);
  adios2::Engine file =
      io.Open(work.folder / (std::string(engine_name) + ".bp"), adios2::Mode::ReadRandomAccess);
  auto of = io.InquireVariable<double>(name_of(variable));
  of.SetStepSelection({static_cast<std::size_t>(work.steps - 1), 1});
  of.SetSelection({{n * static_cast<std::size_t>(rank)}, {n}});
  file.Get(of, out.data(), adios2::Mode::Sync);
  file.Close();
}
#endif

#ifdef FOREBAY_BENCH_GROUPS_HDF5
void read_hdf5(const Work& work, int variable, std::vector<double>& out) {
  const auto n = static_cast<hsize_t>(work.elements), at = n * static_cast<hsize_t>(rank);
  const hid_t file = H5Fopen((work.folder / "peer.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const std::string name = "step" + std::to_string(work.steps - 1) + "/" + name_of(variable);
  const hid_t set = H5Dopen2(file, name.c_str(), H5P_DEFAULT), whole = H5Dget_space(set),
              mine = H5Screate_simple(1, &n, nullptr);
  H5Sselect_hyperslab(whole, H5S_SELECT_SET, &at, nullptr, &n, nullptr);
  check(H5Dread(set, H5T_NATIVE_DOUBLE, mine, whole, H5P_DEFAULT, out.data()), "H5Dread");
  H5Sclose(mine);
  H5Sclose(whole);
  H5Dclose(set);
  H5Fclose(file);
}

void write_hdf5(const Work& work, const Values& values) {
  const auto n = static_cast<hsize_t>(work.elements), all = n * static_cast<hsize_t>(ranks),
             at = n * static_cast<hsize_t>(rank);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_libver_bounds(access, H5F_LIBVER_V114, H5F_LIBVER_V114);
  H5Pset_all_coll_metadata_ops(access, true);
  H5Pset_coll_metadata_write(access, true);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t file =
      H5Fcreate((work.folder / "peer.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t whole = H5Screate_simple(1, &all, nullptr), mine = H5Screate_simple(1, &n, nullptr);
  H5Sselect_hyperslab(whole, H5S_SELECT_SET, &at, nullptr, &n, nullptr);
  for (int step = 0; step < work.steps; ++step) {
    const hid_t group = H5Gcreate2(file, ("step" + std::to_string(step)).c_str(), H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT);
    for (int v = 0; v < work.variables; ++v) {
      const hid_t set = H5Dcreate2(group, name_of(v).c_str(), H5T_NATIVE_DOUBLE, whole, H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT);
      check(H5Dwrite(set, H5T_NATIVE_DOUBLE, mine, whole, transfer,
                     values[static_cast<std::size_t>(v)].data()),
            "H5Dwrite");
      H5Dclose(set);
    }
    H5Gclose(group);
    compute(work);
  }
  H5Sclose(whole);
  H5Sclose(mine);
  check(H5Fclose(file), "H5Fclose");
  H5Pclose(access);
  H5Pclose(transfer);
}
#endif

/// What the way wrote, of the first and the last variable.
void verify(const Work& work, const Values& values, const std::string& way) {
  for (const int v : {0, work.variables - 1}) {
    std::vector<double> out(static_cast<std::size_t>(work.elements), -1);
    if (way == "append") {
      read_append(work, v, out);
    } else if (way == "adios-mpi" || way == "adios-posix") {
      continue;  // this library reads what it wrote in foreign.adios1
#ifdef FOREBAY_BENCH_ADIOS2
    } else if (way == "adios2-bp4" || way == "adios2-bp5") {
      read_adios2(work, way == "adios2-bp4" ? "BP4" : "BP5", v, out);
#endif
#ifdef FOREBAY_BENCH_GROUPS_HDF5
    } else if (way == "hdf5") {
      read_hdf5(work, v, out);
#endif
    } else {
      const bool three = way == "forebay-bp3", records = way == "records";
      read_forebay(work, three ? "three.bp" : records ? "forebay.nc" : "forebay.bp", v, out);
    }
    if (out != values[static_cast<std::size_t>(v)]) failed(way + ": wrong values");
  }
}

void empty(const fs::path& folder) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Work work;
  int rounds = 5;
  bool json = false;
  CLI::App app("Process groups against ADIOS 1 and the physical limit");
  app.add_option("--dir", work.folder, "an empty folder, which is removed")->required();
  app.add_option("--variables", work.variables, "of a rank and step")->check(CLI::PositiveNumber);
  app.add_option("--elements", work.elements, "doubles of a variable and rank")
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", work.steps)->check(CLI::PositiveNumber);
  app.add_option("--compute", work.compute, "seconds behind each step, which are not counted");
  app.add_option("--rounds", rounds, "in which the ways take turns")->check(CLI::PositiveNumber);
  std::vector<std::string> chosen;
  app.add_option("--ways", chosen, "these only, with commas")->delimiter(',');
  app.add_flag("--json", json);
  CLI11_PARSE(app, argc, argv);

  if (rank == 0 && fs::exists(work.folder) && !fs::is_empty(work.folder))
    failed(work.folder.string() + " is not empty");
  const Values values = make_values(work);
  define_forebay(work);
  std::vector<Way> ways;
  ways.push_back({"forebay", [&] { write_forebay(work, values, false, "forebay.bp"); }, {}});
  ways.push_back({"forebay-later", [&] { write_forebay(work, values, true, "forebay.bp"); }, {}});
  ways.push_back(
      {"forebay-bp3", [&] { write_forebay(work, values, true, "three.bp", "bp3"); }, {}});
  ways.push_back(
      {"forebay-async", [&] { write_forebay(work, values, false, "forebay.bp", "async"); }, {}});
  ways.push_back({"records", [&] { write_forebay(work, values, true, "forebay.nc"); }, {}});
  ways.push_back({"append", [&] { write_append(work, values); }, {}});
#ifdef FOREBAY_BENCH_ADIOS
  check(adios_init_noxml(MPI_COMM_WORLD), "adios_init_noxml");
  define_adios(work, "MPI");
  define_adios(work, "POSIX");
  ways.push_back({"adios-mpi", [&] { write_adios(work, values, "MPI"); }, {}});
  ways.push_back({"adios-posix", [&] { write_adios(work, values, "POSIX"); }, {}});
#endif
#ifdef FOREBAY_BENCH_ADIOS2
  ways.push_back({"adios2-bp4", [&] { write_adios2(work, values, "BP4"); }, {}});
  ways.push_back({"adios2-bp5", [&] { write_adios2(work, values, "BP5"); }, {}});
#endif
#ifdef FOREBAY_BENCH_GROUPS_HDF5
  ways.push_back({"hdf5", [&] { write_hdf5(work, values); }, {}});
#endif
  std::erase_if(ways, [&](const Way& way) {
    return !chosen.empty() && std::find(chosen.begin(), chosen.end(), way.name) == chosen.end();
  });
  if (ways.empty()) failed("there is no such way");
  take_turns(
      ways, rounds, [&](const Way&) { empty(work.folder); },
      [&](const Way& way, bool counts) {
        if (!counts) verify(work, values, way.name);
      });
  empty(work.folder);
  const double bytes =
      8.0 * static_cast<double>(work.elements) * work.variables * work.steps * ranks;
  if (rank == 0) {
    fs::remove_all(work.folder);
    nlohmann::ordered_json report = {{"ranks", ranks},
                                     {"variables", work.variables},
                                     {"elements", work.elements},
                                     {"steps", work.steps},
                                     {"bytes", bytes},
                                     {"ways", nlohmann::ordered_json::array()}};
    const double own = median(ways[0].seconds) - work.compute * work.steps;
    if (!json)
      std::printf(
          "%d ranks, %d steps, %d variables of %lld doubles a rank: %.1f MiB\n%-14s %9s %9s %9s\n",
          ranks, work.steps, work.variables, static_cast<long long>(work.elements), bytes / 1048576,
          "", "seconds", "MiB/s", "/forebay");
    for (const Way& way : ways) {
      const double seconds = median(way.seconds) - work.compute * work.steps;
      report["ways"].push_back({{"name", way.name}, {"seconds", seconds}, {"all", way.seconds}});
      if (!json)
        std::printf("%-14s %9.4f %9.0f %9.2f\n", way.name.c_str(), seconds,
                    bytes / 1048576 / seconds, seconds / own);
    }
    if (json) std::printf("%s\n", report.dump(1).c_str());
  }
#ifdef FOREBAY_BENCH_ADIOS
  adios_finalize(rank);
#endif
  check(forebay_finalize(), "forebay_finalize");
  MPI_Finalize();
  return 0;
}
