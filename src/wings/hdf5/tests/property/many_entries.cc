// How long collective reads at random places take, and how much memory, in a dataset that was
// written in very many small pieces. Through the connector each piece is an entry of the log.
//
//   many_entries FILE [--pieces N] [--reads N] [--only-read]
//
// Each rank writes its share of N squares of 4 x 4 numbers, spread over the array, with independent
// calls. After the close all ranks open the file again, and each reads N boxes of 64 x 64 numbers
// in collective calls. All values are checked.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "handles.h"

using namespace forebay_test;

namespace {

constexpr hsize_t square = 4, box = 64;

int rank = 0, size = 1;

// The largest memory of this process since reset_peak(), in bytes.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::atof(line.c_str() + 6);
  return 0;
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

double largest(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

// The time that f takes on all ranks together.
template <typename F>
double seconds(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  f();
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - begin;
}

Id transfer(bool collective) {
  Id list = make_list(H5P_DATASET_XFER);
  check(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT), "dxpl");
  return list;
}

Id select(hid_t dataset, hsize_t row, hsize_t column, hsize_t length) {
  Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
  const hsize_t start[] = {row, column}, count[] = {length, length};
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr), "select");
  return space;
}

int value(hsize_t row, hsize_t column) { return static_cast<int>(row * 1000003 + column); }

void write_pieces(hid_t file, hsize_t side) {
  const Id space = simple_space({side, side});
  const Id dataset(
      H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "H5Dcreate2");
  const hsize_t in_row = side / square, pieces = in_row * in_row;
  const Id memory = simple_space({square * square}), list = transfer(false);
  constexpr hsize_t prime = 1000000007;  // no factor of any number of pieces below it
  for (auto i = static_cast<hsize_t>(rank); i < pieces; i += static_cast<hsize_t>(size)) {
    const hsize_t piece = i * prime % pieces;
    const hsize_t row = piece / in_row * square, column = piece % in_row * square;
    int values[square * square];
    for (hsize_t k = 0; k < square * square; ++k)
      values[k] = value(row + k / square, column + k % square);
    check(H5Dwrite(dataset, H5T_NATIVE_INT, memory, select(dataset, row, column, square), list,
                   values),
          "H5Dwrite");
  }
}

// Returns how many values are wrong.
int read_boxes(hid_t dataset, hsize_t side, int reads, std::vector<double>& times) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
  const Id memory = simple_space({box * box}), list = transfer(true);
  std::vector<int> values(box * box);
  int wrong = 0;
  for (int n = 0; n < reads; ++n) {
    const hsize_t row = random() % (side - box + 1), column = random() % (side - box + 1);
    const Id space = select(dataset, row, column, box);
    times.push_back(seconds([&] {
      check(H5Dread(dataset, H5T_NATIVE_INT, memory, space, list, values.data()), "H5Dread");
    }));
    for (hsize_t k = 0; k < box * box; ++k)
      wrong += values[k] == value(row + k / box, column + k % box) ? 0 : 1;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2) return 2;
  const std::string path = argv[1];
  hsize_t pieces = 1000000;
  int reads = 20;
  bool writes = true;
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--only-read") == 0) writes = false;
    if (std::strcmp(argv[i], "--pieces") == 0 && i + 1 < argc)
      pieces = std::strtoull(argv[++i], nullptr, 10);
    if (std::strcmp(argv[i], "--reads") == 0 && i + 1 < argc) reads = std::atoi(argv[++i]);
  }
  hsize_t in_row = box / square;
  while (in_row * in_row < pieces) ++in_row;
  const hsize_t side = in_row * square;
  int wrong = 0;
  try {
    const Id access = make_list(H5P_FILE_ACCESS);
    check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    if (writes) {
      const double time = seconds([&] {
        const Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
                      "H5Fcreate");
        write_pieces(file, side);
      });
      if (rank == 0) std::printf("%d ranks wrote in %.2f s\n", size, time);
    }
    reset_peak();
    const double before = peak_memory();
    Id file, dataset;
    const double opening = seconds([&] {
      file = Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "H5Fopen");
      dataset = Id(H5Dopen2(file, "values", H5P_DEFAULT), H5Dclose, "H5Dopen2");
    });
    std::vector<double> times;
    wrong = read_boxes(dataset, side, reads, times);
    const double grown = largest(peak_memory() - before);
    std::sort(times.begin() + 1, times.end());
    if (rank == 0)
      std::printf(
          "%llu entries, %d ranks: opened in %.3f s, first read %.3f s, then %.1f ms (median of "
          "%zu); a rank's memory grew by %.1f MiB at most\n",
          static_cast<unsigned long long>(in_row * in_row), size, opening, times[0],
          1e3 * times[(times.size() + 1) / 2], times.size() - 1, grown / 1048576);
    dataset.close("H5Dclose");
    file.close("H5Fclose");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && wrong > 0) std::printf("FAILED: %d values are wrong\n", wrong);
  H5close();
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
