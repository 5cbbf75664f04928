// Writes and reads an HDF5 file again and again while one allocation after another fails on one
// rank, in the connector of the environment and in this program: HDF5 itself is C. No rank may hang
// or crash, and what calls say they have written must be there.
//
// Usage: fault/no_memory_cases.h.
#include <hdf5.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "fault/no_memory_cases.h"

namespace {

using no_memory::fail, no_memory::of_all, no_memory::rank, no_memory::size;

constexpr hsize_t kRows = 40, kColumns = 24;
constexpr int kDatasets = 2, kVersions = 8;
class Player {
 public:
  Player(const char* path, no_memory::Steps& steps) : path_(path), steps_(steps) {
    for (auto& of_dataset : may_be_) of_dataset.assign(kRows * kColumns, 1);
    for (auto& of_dataset : ever_) of_dataset.assign(kRows * kColumns, 1);
  }

  void play() {
    access_ = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access_, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_libver_bounds(access_, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    write_file();
    if (defined_ && closed_) read_file("open", true);
    steps_.disarm();
    if (defined_) read_file("check", false);
    H5Pclose(access_);
  }

 private:
  // Calls f(), where it `fails` with allocations failing.
  //
  // Those that make datasets do not: HDF5 keeps its metadata by every rank's making the same calls,
  // and does not meet in them, so that one rank which fails there parts from the others.
  template <typename F>
  hid_t call(const char* step, bool fails, F&& f) {
    const hid_t result = steps_.call(step, fails, f);
    steps_.note(step, result < 0 ? -1 : 0);
    if (result >= 0 || (!steps_.must_succeed() && (fails || refused_))) return result;
    H5Eprint2(H5E_DEFAULT, stderr);
    fail("a call failed with all the memory there is");
  }

  // Of a call that ends alike on all ranks.
  template <typename F>
  hid_t together(const char* step, bool fails, F&& f) {
    const hid_t result = call(step, fails, f);
    if (of_all(result >= 0) != (result >= 0)) fail("a collective call failed on other ranks only");
    if (result < 0) forget();
    return result;
  }

  // A step failed that carries out what was written before.
  void forget() {
    for (int d = 0; d < kDatasets; ++d) may_be_[d] = ever_[d];
  }

  static int value(int version, hsize_t element) {
    return version == 0 ? 0 : version * 100000 + static_cast<int>(element);
  }
  static hsize_t first_column(int of) {
    return kColumns * static_cast<hsize_t>(of) / static_cast<hsize_t>(size);
  }

  void write_file() {
    file_ = together("create", true,
                     [&] { return H5Fcreate(path_, H5F_ACC_TRUNC, H5P_DEFAULT, access_); });
    if (file_ < 0) return;
    create_datasets();
    if (defined_) {
      put(0, "put_all", 1, 0, 20, true);
      put(1, "put_all_chunked", 2, 5, 30, true);
      get(0, "get_all", true);
      put(0, "put", 3, 10, 40, false);
      put(1, "put_chunked", 4, 20, 25, false);
      flush("flush");
      get(0, "get", false);
      put(0, "put_all_2", 5, 15, 18, true);
      flush("flush_2");
      put(1, "put_2", 6, 30, 40, false);
      close_datasets();
    }
    close("close");
  }

  // What failed for want of memory succeeds when it is tried again with memory; but after a flush
  // that lost a part of HDF5's own metadata closing fails, too: what had been flushed before is
  // found again.
  void close(const char* step) {
    const auto once = [&] { return H5Fclose(file_); };
    closed_ = together(step, true, once) >= 0;
    if (!closed_) closed_ = together("close_after_all", false, once) >= 0;
    refused_ = false;
  }

  void create_datasets() {
    const hsize_t dims[] = {kRows, kColumns}, most[] = {H5S_UNLIMITED, kColumns}, chunk[] = {7, 10};
    for (int d = 0; d < kDatasets; ++d) {
      const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC);
      if (d == 1) H5Pset_chunk(list, 2, chunk);
      const hid_t space = H5Screate_simple(2, dims, d == 1 ? most : nullptr);
      datasets_[d] = call("create_dataset", false, [&] {
        return H5Dcreate2(file_, d == 0 ? "a" : "b", H5T_NATIVE_INT, space, H5P_DEFAULT, list,
                          H5P_DEFAULT);
      });
      H5Sclose(space);
      H5Pclose(list);
    }
    defined_ = true;
  }

  void close_datasets() {
    for (const hid_t dataset : datasets_)
      if (call("close_dataset", true, [&] { return H5Dclose(dataset); }) < 0)
        call("close_dataset_after_all", false, [&] { return H5Dclose(dataset); });
  }

  void read_file(const char* step, bool write) {
    file_ = together(
        step, true, [&] { return H5Fopen(path_, write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access_); });
    if (file_ < 0) return;
    bool opened = true;
    for (int d = 0; d < kDatasets; ++d) {
      datasets_[d] = call("open_dataset", true,
                          [&] { return H5Dopen2(file_, d == 0 ? "a" : "b", H5P_DEFAULT); });
      opened = opened && datasets_[d] >= 0;
    }
    if (of_all(opened)) {
      get(0, "get_again", true);
      get(1, "get_again_chunked", true);
      if (write) put(1, "put_again", 7, 1, 30, true);
      if (write) flush("flush_again");
    }
    for (const hid_t dataset : datasets_) {
      if (dataset >= 0 && call("close_dataset", true, [&] { return H5Dclose(dataset); }) < 0)
        call("close_dataset_after_all", false, [&] { return H5Dclose(dataset); });
    }
    close("close_again");
  }

  void flush(const char* step) {
    if (together(step, true, [&] { return H5Fflush(file_, H5F_SCOPE_GLOBAL); }) < 0)
      refused_ = true;
  }

  hid_t transfer(int dataset, bool write, bool all, hsize_t from, hsize_t to, int of, int* values,
                 const char* step) {
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(list, all ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    const hsize_t dims[] = {kRows, kColumns};
    const hid_t space = H5Screate_simple(2, dims, nullptr);  // the first question is the transfer
    const hsize_t low = of < 0 ? 0 : first_column(of),
                  high = of < 0 ? kColumns : first_column(of + 1);
    const hsize_t start[] = {from, low}, count[] = {to - from, high - low};
    const hid_t memory = H5Screate_simple(2, count, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    const hid_t result = call(step, true, [&]() -> hid_t {
      return write ? H5Dwrite(datasets_[dataset], H5T_NATIVE_INT, memory, space, list, values)
                   : H5Dread(datasets_[dataset], H5T_NATIVE_INT, memory, space, list, values);
    });
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(list);
    return result;
  }

  // Every rank has a share of the columns.
  void put(int dataset, const char* step, int version, hsize_t from, hsize_t to, bool all) {
    std::vector<int> values;
    for (hsize_t r = from; r < to; ++r) {
      for (hsize_t c = first_column(rank); c < first_column(rank + 1); ++c)
        values.push_back(value(version, r * kColumns + c));
    }
    const int mine = transfer(dataset, true, all, from, to, rank, values.data(), step) >= 0 ? 1 : 0;
    std::vector<int> done(static_cast<std::size_t>(size));
    MPI_Allgather(&mine, 1, MPI_INT, done.data(), 1, MPI_INT, MPI_COMM_WORLD);
    const auto bit = static_cast<std::uint8_t>(1U << version);
    for (int of = 0; of < size; ++of) {
      for (hsize_t r = from; r < to; ++r) {
        for (hsize_t c = first_column(of); c < first_column(of + 1); ++c) {
          auto& may_be = may_be_[dataset][r * kColumns + c];
          ever_[dataset][r * kColumns + c] |= bit;
          may_be =
              done[static_cast<std::size_t>(of)] ? bit : static_cast<std::uint8_t>(may_be | bit);
        }
      }
    }
  }

  // All that anybody wrote: collectively at any time, by this rank alone after a flush.
  void get(int dataset, const char* step, bool all) {
    std::vector<int> values(kRows * kColumns, -1);
    if (transfer(dataset, false, all, 0, kRows, -1, values.data(), step) >= 0) {
      for (hsize_t e = 0; e < values.size(); ++e) {
        int version = -1;
        for (int v = 0; v < kVersions; ++v) {
          if (value(v, e) == values[e]) version = v;
        }
        if (version >= 0 && (may_be_[dataset][e] >> version & 1) != 0) continue;
        std::fprintf(stderr, "%s: element %d has value %d, of version %d\n", step,
                     static_cast<int>(e), values[e], version);
        fail("a wrong value");
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);  // nobody writes on while others read
  }

  const char* path_;
  no_memory::Steps& steps_;
  bool closed_ = false, refused_ = false, defined_ = false;
  hid_t access_ = -1, file_ = -1, datasets_[kDatasets] = {-1, -1};
  // A bit for each version that an element may be, and that was ever written to it.
  std::vector<std::uint8_t> may_be_[kDatasets], ever_[kDatasets];
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = no_memory::run(argc, argv, "no_memory_hdf5", [](const char* file, auto& steps) {
    // HDF5 tells of every error that is asked for.
    if (!no_memory::telling) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    Player(file, steps).play();
  });
  H5close();
  MPI_Finalize();
  return code;
}
