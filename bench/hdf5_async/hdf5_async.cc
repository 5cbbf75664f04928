// An HDF5 program that computes and writes in turn: how long are its ranks in HDF5's calls?
//
//   forebay-bench-hdf5-async FILE [--events] [--steps N] [--fields N] [--mib N] [--compute SECONDS]
//
// In each step a rank computes, and then writes fields together with the others. With --events it
// writes them with an event set, for which it waits after the next computation. Prints one line of
// JSON: the seconds in calls, and of these in H5Fclose, of the rank that takes longest. The
// environment says which connector there is. Knows HDF5 and MPI alone (./dev bench hdf5-async).
#include <hdf5.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

hid_t valid(hid_t id) {
  if (id < 0) throw std::runtime_error("a call of HDF5 failed");
  return id;
}
void done(herr_t status) {
  if (status < 0) throw std::runtime_error("a call of HDF5 failed");
}

struct Options {
  std::string file;
  bool events = false;
  int steps = 8, fields = 4;
  double mib = 2, compute = 0.2;
};

class Program {
 public:
  explicit Program(const Options& options)
      : options_(options),
        elements_(static_cast<hsize_t>(options.mib * (1 << 20) / sizeof(double))) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    for (auto& half : values_) half.assign(fields(), std::vector<double>(elements_, rank_ + 0.5));
  }

  void run() {
    const hid_t access = valid(H5Pcreate(H5P_FILE_ACCESS));
    done(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    transfer_ = valid(H5Pcreate(H5P_DATASET_XFER));
    done(H5Pset_dxpl_mpio(transfer_, H5FD_MPIO_COLLECTIVE));
    if (options_.events) events_ = valid(H5EScreate());
    file_ = valid(H5Fcreate(options_.file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access));
    const hsize_t extents[] = {static_cast<hsize_t>(options_.steps),
                               elements_ * static_cast<hsize_t>(ranks_)};
    space_ = valid(H5Screate_simple(2, extents, nullptr));
    memory_ = valid(H5Screate_simple(1, &elements_, nullptr));
    for (std::size_t f = 0; f < fields(); ++f)
      datasets_.push_back(
          valid(H5Dcreate2(file_, ("field" + std::to_string(f)).c_str(), H5T_NATIVE_DOUBLE, space_,
                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < options_.steps; ++step) {
      compute(step);
      in_calls([&] {
        wait();
        write(step);
      });
    }
    compute(options_.steps);
    const double before = seconds_;
    in_calls([&] {
      wait();
      for (const hid_t dataset : datasets_) done(H5Dclose(dataset));
      done(H5Fclose(file_));
    });
    tell(before);
    if (events_ >= 0) H5ESclose(events_);
    for (const hid_t space : {space_, memory_}) H5Sclose(space);
    for (const hid_t list : {access, transfer_}) H5Pclose(list);
  }

 private:
  std::size_t fields() const { return static_cast<std::size_t>(options_.fields); }

  // The other half of the memory may still be written.
  void compute(int step) {
    auto& mine = values_[step % 2];
    for (const double begin = MPI_Wtime(); MPI_Wtime() - begin < options_.compute;)
      for (auto& values : mine) values[0] += 1e-9;
  }

  void wait() {
    if (events_ < 0) return;
    std::size_t going_on = 0;
    hbool_t failed = false;
    done(H5ESwait(events_, H5ES_WAIT_FOREVER, &going_on, &failed));
    if (failed) throw std::runtime_error("a write failed");
  }

  void write(int step) {
    const hsize_t start[] = {static_cast<hsize_t>(step), elements_ * static_cast<hsize_t>(rank_)};
    const hsize_t count[] = {1, elements_};
    done(H5Sselect_hyperslab(space_, H5S_SELECT_SET, start, nullptr, count, nullptr));
    for (std::size_t f = 0; f < fields(); ++f) {
      const double* const values = values_[step % 2][f].data();
      done(events_ >= 0
               ? H5Dwrite_async(datasets_[f], H5T_NATIVE_DOUBLE, memory_, space_, transfer_, values,
                                events_)
               : H5Dwrite(datasets_[f], H5T_NATIVE_DOUBLE, memory_, space_, transfer_, values));
    }
  }

  // Computing takes ranks apart, which is not the library's time.
  template <typename Calls>
  void in_calls(Calls&& calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    calls();
    seconds_ += MPI_Wtime() - begin;
  }

  void tell(double before_close) const {
    double mine[] = {seconds_, seconds_ - before_close}, most[2];
    MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank_ == 0) std::printf("{\"seconds\": %.6f, \"close\": %.6f}\n", most[0], most[1]);
  }

  Options options_;
  hsize_t elements_;
  int rank_ = 0, ranks_ = 1;
  std::vector<std::vector<double>> values_[2];
  hid_t file_ = -1, space_ = -1, memory_ = -1, transfer_ = -1, events_ = -1;
  std::vector<hid_t> datasets_;
  double seconds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    Options options;
    CLI::App app("HDF5 program that computes and writes in turn");
    app.add_option("file", options.file)->required();
    app.add_flag("--events", options.events);
    app.add_option("--steps", options.steps);
    app.add_option("--fields", options.fields);
    app.add_option("--mib", options.mib);
    app.add_option("--compute", options.compute);
    app.parse(argc, argv);
    Program(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, code = 1);
  }
  MPI_Finalize();
  return code;
}
