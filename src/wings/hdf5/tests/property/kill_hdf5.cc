// Writes rows of datasets with an H5Fflush now and then until it is killed, and tells what a file
// holds. It knows HDF5 alone.
//
//   kill_hdf5 write FILE LOG SEED ROWS fixed|records|objects[,serial][,close]
//   kill_hdf5 check FILE SEED ROWS FLUSHED BEGUN fixed|records|objects[,serial][,step]
//
// "fixed" writes into datasets of their full size; with "records" they grow by H5Dset_extent; with
// "objects" groups, attributes and a scalar dataset come, change and go as well. LOG gets
// "pid RANK PID", "ready", "flushing ROWS" and "flushed ROWS" around each flush (the last is that
// of H5Fclose), "closed" and "error ...". `check` wants every element of the first FLUSHED rows,
// and in the others what was written or nothing; extents and objects must be, together, those of
// the flush of FLUSHED rows or of the one of BEGUN rows. It exits with 1 where that is not so.
//
// "serial": by HDF5's default driver. "close": calls to be killed in count from the close on.
// "step": also of datasets of their full size there must be all rows of a flush, or none. See
// run_kill_hdf5.py.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "handles.h"

using namespace forebay_test;

namespace {

constexpr hsize_t kColumns = 840;  // for any number of ranks to 8 a whole share
constexpr int kDatasets = 3;
constexpr int kRowsOfFlush = 4;
constexpr int kNothing = -1;
constexpr hsize_t kGroups = 3;  // of the last flushes; those before are removed

enum class Mode { fixed, records, objects };
struct Ways {
  bool serial = false, close = false, step = false;
} ways;

int log_file = -1;

void put_line(const std::string& text) {
  const std::string line = text + "\n";
  if (log_file >= 0 && ::write(log_file, line.data(), line.size()) < 0) std::perror("log");
}

int value_of(long seed, int dataset, hsize_t row, hsize_t column) {
  const unsigned long mixed =
      (static_cast<unsigned long>(seed) * 31 + static_cast<unsigned long>(dataset)) * 1000003UL +
      row * 8191 + column;
  return static_cast<int>(mixed * 2654435761UL % 1000000007UL);
}

std::string name_of(int dataset) { return "field" + std::to_string(dataset); }

Id access_of(MPI_Comm comm) {
  Id list = make_list(H5P_FILE_ACCESS);
  if (!ways.serial) check(H5Pset_fapl_mpio(list, comm, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  return list;
}

std::vector<Id> create_datasets(hid_t file, hsize_t rows, bool grows) {
  std::vector<Id> datasets;
  for (int d = 0; d < kDatasets; ++d) {
    const Id list = make_list(H5P_DATASET_CREATE);
    const int nothing = kNothing;
    check(H5Pset_fill_value(list, H5T_NATIVE_INT, &nothing), "H5Pset_fill_value");
    const hsize_t chunk[] = {1, kColumns}, most[] = {H5S_UNLIMITED, kColumns};
    if (grows) check(H5Pset_chunk(list, 2, chunk), "H5Pset_chunk");
    const Id space = grows ? simple_space({0, kColumns}, most) : simple_space({rows, kColumns});
    datasets.emplace_back(
        H5Dcreate2(file, name_of(d).c_str(), H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
  }
  return datasets;
}

// This rank's columns of one row: every ranks-th, so that rows interleave.
void write_row(const std::vector<Id>& datasets, long seed, hsize_t row, bool grows, int rank,
               int ranks) {
  const Id transfer = make_list(H5P_DATASET_XFER);
  check(H5Pset_dxpl_mpio(transfer, row % 2 ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE),
        "H5Pset_dxpl_mpio");
  const auto stride = static_cast<hsize_t>(ranks), first = static_cast<hsize_t>(rank);
  const hsize_t start[] = {row, first}, strides[] = {1, stride}, count[] = {1, kColumns / stride};
  for (int d = 0; d < kDatasets; ++d) {
    const hid_t dataset = datasets[static_cast<size_t>(d)];
    const hsize_t extent[] = {row + 1, kColumns};
    if (grows) check(H5Dset_extent(dataset, extent), "H5Dset_extent");
    const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, strides, count, nullptr),
          "H5Sselect_hyperslab");
    std::vector<int> values;
    for (hsize_t k = 0; k < count[1]; ++k) {
      values.push_back(value_of(seed, d, row, first + k * stride));
    }
    const Id memory = simple_space({count[1]});
    check(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, transfer, values.data()), "H5Dwrite");
  }
}

std::string group_of(hsize_t row) { return "step" + std::to_string(row); }

void put_number(hid_t at, const char* name, hsize_t value) {
  if (H5Aexists(at, name) > 0) check(H5Adelete(at, name), "H5Adelete");
  const Id space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
  const Id attribute(H5Acreate2(at, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                     "H5Acreate");
  check(H5Awrite(attribute, H5T_NATIVE_HSIZE, &value), "H5Awrite");
}

hsize_t number_of(hid_t at, const char* name) {
  hsize_t value = 0;
  const Id attribute(H5Aopen(at, name, H5P_DEFAULT), H5Aclose, "H5Aopen");
  check(H5Aread(attribute, H5T_NATIVE_HSIZE, &value), "H5Aread");
  return value;
}

// A group of this flush with an attribute and a scalar dataset, a number in the root group, and one
// group less: what HDF5 keeps itself changes everywhere.
void change_objects(hid_t file, hsize_t row) {
  put_number(file, "last", row);
  const Id group(H5Gcreate2(file, group_of(row).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                 H5Gclose, "H5Gcreate");
  put_number(group, "row", row);
  const Id space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
  const Id value(
      H5Dcreate2(group, "value", H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose, "H5Dcreate2");
  check(H5Dwrite(value, H5T_NATIVE_HSIZE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &row), "H5Dwrite");
  if (row < kGroups * kRowsOfFlush) return;
  const std::string old = group_of(row - kGroups * kRowsOfFlush);
  check(H5Ldelete(file, old.c_str(), H5P_DEFAULT), "H5Ldelete");
}

// Whether the objects are those of the flush of `row` rows, all of them.
bool has_objects(hid_t file, hsize_t row) {
  if (number_of(file, "last") != row) return false;
  for (hsize_t k = 0; k <= kGroups && k * kRowsOfFlush <= row; ++k) {
    const hsize_t of = row - k * kRowsOfFlush;
    const bool there = H5Lexists(file, group_of(of).c_str(), H5P_DEFAULT) > 0;
    if (there != (k < kGroups)) return false;
    if (!there) continue;
    const Id group(H5Gopen2(file, group_of(of).c_str(), H5P_DEFAULT), H5Gclose, "H5Gopen");
    const Id value(H5Dopen2(group, "value", H5P_DEFAULT), H5Dclose, "H5Dopen2");
    hsize_t found = 0;
    check(H5Dread(value, H5T_NATIVE_HSIZE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &found), "H5Dread");
    if (found != of || number_of(group, "row") != of) return false;
  }
  return true;
}

int write_file(const char* path, long seed, hsize_t rows, Mode mode) {
  const bool grows = mode != Mode::fixed;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  put_line("pid " + std::to_string(rank) + " " + std::to_string(::getpid()));
  Id file(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access_of(MPI_COMM_WORLD)), H5Fclose,
          "H5Fcreate");
  std::vector<Id> datasets = create_datasets(file, rows, grows);
  const auto flush = [&](hsize_t done) {
    if (mode == Mode::objects) change_objects(file, done);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) put_line("flushing " + std::to_string(done));
    check(H5Fflush(file, H5F_SCOPE_GLOBAL), "H5Fflush");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) put_line("flushed " + std::to_string(done));
  };
  flush(0);
  const auto count_calls = [] { ::setenv("FOREBAY_TEST_KILL_COUNTS", "1", 1); };  // kill_at_call.c
  if (!ways.close) count_calls();
  if (rank == 0) put_line("ready");
  for (hsize_t row = 0; row < rows; ++row) {
    write_row(datasets, seed, row, grows, rank, ranks);
    if (row % kRowsOfFlush == kRowsOfFlush - 1 && row + 1 < rows) flush(row + 1);
  }
  if (mode == Mode::objects) change_objects(file, rows);
  datasets.clear();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) put_line("flushing " + std::to_string(rows));
  if (ways.close) count_calls();
  file.close("H5Fclose");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) put_line("closed");
  return EXIT_SUCCESS;
}

int check_file(const char* path, long seed, hsize_t rows, hsize_t flushed, hsize_t begun,
               Mode mode) {
  const bool grows = mode != Mode::fixed;
  const Id access = access_of(MPI_COMM_WORLD);
  const Id file(H5Fopen(path, H5F_ACC_RDONLY, access), H5Fclose, "H5Fopen");
  hsize_t holds = flushed;  // rows of the flush that the file is of
  if (grows) {
    const Id dataset(H5Dopen2(file, name_of(0).c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    holds = extent_of(space)[0];
    if (holds != flushed && holds != begun) {
      std::printf("the file is neither of %llu rows nor of %llu, but of %llu\n",
                  static_cast<unsigned long long>(flushed), static_cast<unsigned long long>(begun),
                  static_cast<unsigned long long>(holds));
      return EXIT_FAILURE;
    }
    if (holds > flushed) std::printf("new\n");
    flushed = holds;
  }
  if (mode == Mode::objects && !has_objects(file, holds)) {
    std::printf("objects are not those of %llu rows\n", static_cast<unsigned long long>(holds));
    return EXIT_FAILURE;
  }
  bool any_new = false, all_new = true;  // of the rows of the flush that had begun
  for (int d = 0; d < kDatasets; ++d) {
    const Id dataset(H5Dopen2(file, name_of(d).c_str(), H5P_DEFAULT), H5Dclose, "H5Dopen2");
    const Id space(H5Dget_space(dataset), H5Sclose, "H5Dget_space");
    const std::vector<hsize_t> dims = extent_of(space);
    if (dims[0] != (grows ? holds : rows)) {
      std::printf("%s has %llu rows, of which %llu were flushed\n", name_of(d).c_str(),
                  static_cast<unsigned long long>(dims[0]),
                  static_cast<unsigned long long>(flushed));
      return EXIT_FAILURE;
    }
    std::vector<int> values(dims[0] * kColumns);
    if (dims[0] > 0) {
      check(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            "H5Dread");
    }
    for (hsize_t k = 0; k < values.size(); ++k) {
      const hsize_t row = k / kColumns;
      const int right = value_of(seed, d, row, k % kColumns);
      if (row >= flushed && row < begun) {
        any_new = any_new || values[k] == right;
        all_new = all_new && values[k] == right;
      }
      if (ways.step && row >= begun && values[k] != kNothing) {
        std::printf("row %llu is there before its flush\n", static_cast<unsigned long long>(row));
        return EXIT_FAILURE;
      }
      if (values[k] == right || (row >= flushed && values[k] == kNothing)) continue;
      std::printf("%s[%llu, %llu] is %d, not %d; %llu rows were flushed\n", name_of(d).c_str(),
                  static_cast<unsigned long long>(row),
                  static_cast<unsigned long long>(k % kColumns), values[k], right,
                  static_cast<unsigned long long>(flushed));
      return EXIT_FAILURE;
    }
  }
  if (ways.step && any_new && !all_new) {
    std::printf("of rows %llu to %llu some are there\n", static_cast<unsigned long long>(flushed),
                static_cast<unsigned long long>(begun));
    return EXIT_FAILURE;
  }
  if (ways.step && any_new) std::printf("new\n");
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "", last = argv[argc - 1];
  const auto says = [&](const char* word) { return last.find(word) != std::string::npos; };
  const Mode mode = says("fixed") ? Mode::fixed : says("records") ? Mode::records : Mode::objects;
  ways = {says(",serial"), says(",close"), says(",step")};
  const auto number = [&](int k) { return std::strtol(argv[k], nullptr, 10); };
  const auto rows = [&](int k) { return static_cast<hsize_t>(number(k)); };
  if (what == "write" && argc == 7) {
    log_file = ::open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return write_file(argv[2], number(4), rows(5), mode);
  }
  if (what == "check" && argc == 8)
    return check_file(argv[2], number(3), rows(4), rows(5), rows(6), mode);
  std::fprintf(stderr,
               "usage: kill_hdf5 write FILE LOG SEED ROWS MODE\n"
               "       kill_hdf5 check FILE SEED ROWS FLUSHED BEGUN MODE\n");
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  int status = EXIT_FAILURE;
  try {
    status = run(argc, argv);
  } catch (const std::exception& error) {
    put_line(std::string("error ") + error.what());
    std::printf("%s\n", error.what());
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  H5close();
  MPI_Finalize();
  return status;
}
