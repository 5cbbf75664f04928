// What a write call has completed, others find: after a barrier, by an independent read, without a
// flush. Programs rely on that with HDF5's own connector, so this one runs with it too.
//
//   visibility [--seed S] [--steps N] [--small N] [--filtered] [--apart]
//
// Random steps on one dataset: one rank writes anything, all write slabs together or at a time, the
// extents change, the file is flushed or opened anew, the dataset closed. Between steps stands
// MPI_Barrier alone. After each, ranks read anything by themselves, and all must be as in an array
// in memory that every rank keeps. `--apart`: the system refuses to let ranks read each other's
// memory, as Yama and containers do.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "handles.h"
#include "support/rng.h"

using namespace forebay_test;

namespace {

constexpr hsize_t kRows = 24, kColumns = 20, kMostRows = 64;
constexpr int kNothing = -1;

struct Options {
  uint64_t seed = 1;
  int steps = 120, small = 2000;
  bool filtered = false, apart = false;
};

struct Box {
  hsize_t start[2], count[2];
};

Id transfer_list(bool collective) {
  Id list = make_list(H5P_DATASET_XFER);
  check(H5Pset_dxpl_mpio(list, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT),
        "H5Pset_dxpl_mpio");
  return list;
}

class Program {
 public:
  Program(const Options& options, MPI_Comm comm)
      : options_(options), comm_(comm), rng_(options.seed) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    own_ = Rng(options.seed * 1000 + static_cast<uint64_t>(rank_));
    access_ = make_list(H5P_FILE_ACCESS);
    check(H5Pset_fapl_mpio(access_, comm, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    file_ = Id(H5Fcreate(path_, H5F_ACC_TRUNC, H5P_DEFAULT, access_), H5Fclose, "H5Fcreate");
    create();
  }

  void run() {
    for (step_ = 0; step_ < options_.steps; ++step_) {
      step();
      settle();
      if (own_.one_in(2)) look("");
      MPI_Barrier(comm_);
    }
    for (const bool collective : {false, true}) fields_of_others(collective);
    read_while_others_write();
    many_small();
    reopen();
    look(" after the end");
  }

 private:
  // What was written before it on any rank is read after it on any rank.
  void settle() { MPI_Barrier(comm_); }

  void create() {
    const Id list = make_list(H5P_DATASET_CREATE);
    const int nothing = kNothing;
    check(H5Pset_fill_value(list, H5T_NATIVE_INT, &nothing), "H5Pset_fill_value");
    const bool chunked = options_.filtered || rng_.one_in(2);
    const hsize_t chunk[] = {5, 7}, most[] = {H5S_UNLIMITED, kColumns};
    if (chunked) check(H5Pset_chunk(list, 2, chunk), "H5Pset_chunk");
    if (options_.filtered) check(H5Pset_deflate(list, 1), "H5Pset_deflate");
    grows_ = chunked;
    rows_ = kRows;
    const Id space = simple_space({rows_, kColumns}, chunked ? most : nullptr);
    Id(H5Dcreate2(file_, "array", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT), H5Dclose,
       "H5Dcreate2");
    open();
    model_.assign(kMostRows * kColumns, kNothing);
  }

  void open() { array_ = Id(H5Dopen2(file_, "array", H5P_DEFAULT), H5Dclose, "H5Dopen2"); }

  void reopen() {
    array_.reset();
    file_.close("H5Fclose");
    MPI_Barrier(comm_);
    file_ = Id(H5Fopen(path_, H5F_ACC_RDWR, access_), H5Fclose, "H5Fopen");
    open();
  }

  void step() {
    const int64_t chosen = rng_.below(20);
    if (chosen < 8) return one_writes();
    if (chosen < 12) return all_write(rng_.one_in(2), false);
    if (chosen < 14) return all_write(true, true);
    if (chosen < 16) {
      array_.close("H5Dclose");
      return open();
    }
    if (chosen < 17) {
      check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
      return;
    }
    if (chosen < 18) return reopen();
    if (grows_) change_extent();
  }

  Box random_box(Rng& rng, hsize_t rows) const {
    Box box{};
    const hsize_t dims[] = {rows, kColumns};
    for (int d = 0; d < 2; ++d) {
      box.start[d] = static_cast<hsize_t>(rng.below(static_cast<int64_t>(dims[d])));
      box.count[d] =
          1 + static_cast<hsize_t>(rng.below(static_cast<int64_t>(dims[d] - box.start[d])));
    }
    return box;
  }

  // The values of a write depend on the step and the element, so that every rank knows them.
  int value_of(hsize_t row, hsize_t column) const {
    return static_cast<int>(static_cast<hsize_t>(step_ + 1) * 10000 + row * kColumns + column);
  }

  void note(const Box& box) {
    for (hsize_t i = 0; i < box.count[0]; ++i)
      for (hsize_t j = 0; j < box.count[1]; ++j) {
        const hsize_t row = box.start[0] + i, column = box.start[1] + j;
        model_[row * kColumns + column] = value_of(row, column);
      }
  }

  void write(const Box& box, bool collective) {
    std::vector<int> values;
    for (hsize_t i = 0; i < box.count[0]; ++i)
      for (hsize_t j = 0; j < box.count[1]; ++j)
        values.push_back(value_of(box.start[0] + i, box.start[1] + j));
    const Id space = selected(box), memory = simple_space({values.size()});
    check(H5Dwrite(array_, H5T_NATIVE_INT, memory, space, transfer_list(collective), values.data()),
          "H5Dwrite");
  }

  Id selected(const Box& box) const {
    Id space(H5Dget_space(array_), H5Sclose, "H5Dget_space");
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, box.start, nullptr, box.count, nullptr),
          "H5Sselect_hyperslab");
    return space;
  }

  void one_writes() {
    const auto writer = static_cast<int>(rng_.below(ranks_));
    const Box box = random_box(rng_, rows_);
    if (rank_ == writer) write(box, false);
    note(box);
  }

  // A slab of rows each; `shifted`: twice, the second time those of the next rank.
  void all_write(bool collective, bool shifted) {
    const auto ranks = static_cast<hsize_t>(ranks_);
    if (rows_ < ranks) return;
    for (int time = 0; time < (shifted ? 2 : 1); ++time) {
      const hsize_t column = static_cast<hsize_t>(rng_.below(kColumns));
      for (hsize_t r = 0; r < ranks; ++r) {
        const hsize_t from = rows_ * r / ranks, to = rows_ * (r + 1) / ranks;
        const Box box{{from, column}, {to - from, kColumns - column}};
        note(box);
        if ((r + static_cast<hsize_t>(time)) % ranks == static_cast<hsize_t>(rank_))
          write(box, collective);
      }
      ++step_;
    }
  }

  void change_extent() {
    const auto rows = static_cast<hsize_t>(1 + rng_.below(kMostRows - 1));
    const hsize_t extent[] = {rows, kColumns};
    check(H5Dset_extent(array_, extent), "H5Dset_extent");
    for (hsize_t k = rows * kColumns; k < model_.size(); ++k) model_[k] = kNothing;
    rows_ = rows;
  }

  void look(const char* when) {
    const Box box = random_box(own_, rows_);
    std::vector<int> values(box.count[0] * box.count[1]);
    const Id space = selected(box), memory = simple_space({values.size()});
    check(H5Dread(array_, H5T_NATIVE_INT, memory, space, transfer_list(false), values.data()),
          "H5Dread");
    for (hsize_t k = 0; k < values.size(); ++k) {
      const hsize_t row = box.start[0] + k / box.count[1], column = box.start[1] + k % box.count[1];
      const int right = model_[row * kColumns + column];
      if (values[k] == right) continue;
      throw std::runtime_error("step " + std::to_string(step_) + when + ": element [" +
                               std::to_string(row) + ", " + std::to_string(column) + "] is " +
                               std::to_string(values[k]) + ", not " + std::to_string(right));
    }
  }

  // Each rank in turn writes a field of its own of the same records, which leaves the others alone.
  // In collective calls, where all others select nothing, no barrier stands between the turns.
  void fields_of_others(bool collective) {
    const Id whole(H5Tcreate(H5T_COMPOUND, 4 * static_cast<size_t>(ranks_)), H5Tclose, "H5Tcreate");
    const auto name = [](int r) { return "field" + std::to_string(r); };
    for (int r = 0; r < ranks_; ++r)
      check(H5Tinsert(whole, name(r).c_str(), 4 * static_cast<size_t>(r), H5T_NATIVE_INT),
            "H5Tinsert");
    const Id field(H5Tcreate(H5T_COMPOUND, 4), H5Tclose, "H5Tcreate");
    check(H5Tinsert(field, name(rank_).c_str(), 0, H5T_NATIVE_INT), "H5Tinsert");
    const Id space = simple_space({10}), nothing = copy_space(space);
    check(H5Sselect_none(nothing), "H5Sselect_none");
    const Id records(H5Dcreate2(file_, collective ? "together" : "records", whole, space,
                                H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose, "H5Dcreate2");
    const Id list = transfer_list(collective);
    const auto write = [&](int r, int first) {
      const std::vector<int> values(10, first + r);
      const hid_t part = r == rank_ ? space : nothing;
      check(H5Dwrite(records, field, part, part, list, values.data()), "H5Dwrite");
    };
    // Ranks look at times how much they hold, all together: then nobody is ahead.
    const int times = collective ? 3 : 1;
    for (int time = 0; time < times; ++time)
      for (int r = 0; r < ranks_; ++r) {
        if (collective && r == rank_) usleep(5000);  // the next one is ahead
        if (collective || r == rank_) write(r, 100 * (time + 1));
        if (!collective) settle();
      }
    if (collective) settle();
    std::vector<int> values(10 * static_cast<size_t>(ranks_));
    check(H5Dread(records, whole, H5S_ALL, H5S_ALL, transfer_list(false), values.data()),
          "H5Dread");
    for (size_t k = 0; k < values.size(); ++k)
      if (values[k] != 100 * times + static_cast<int>(k) % ranks_)
        throw std::runtime_error("a field that another rank wrote is " + std::to_string(values[k]));
    MPI_Barrier(comm_);
  }

  // Rank 0 reads what is there already while the others write other elements.
  void read_while_others_write() {
    constexpr hsize_t each = 3000;
    const auto ranks = static_cast<hsize_t>(ranks_);
    const Id space = simple_space({each * ranks});
    const Id line(
        H5Dcreate2(file_, "line", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
    const auto move = [&](bool write, hsize_t start, std::vector<int>& values) {
      const Id part = copy_space(space), memory = simple_space({values.size()});
      const hsize_t count = values.size();
      check(H5Sselect_hyperslab(part, H5S_SELECT_SET, &start, nullptr, &count, nullptr), "select");
      check(write
                ? H5Dwrite(line, H5T_NATIVE_INT, memory, part, transfer_list(false), values.data())
                : H5Dread(line, H5T_NATIVE_INT, memory, part, transfer_list(false), values.data()),
            "a transfer");
    };
    std::vector<int> mine(each, 7 + rank_);
    if (rank_ <= 1) move(true, each * static_cast<hsize_t>(rank_), mine);
    settle();
    if (rank_ == 0) {
      for (int time = 0; time < 200; ++time) {
        std::vector<int> there(each);
        move(false, each, there);
        for (const int value : there)
          if (value != 8) throw std::runtime_error("beside other writes " + std::to_string(value));
      }
    } else if (rank_ > 1) {
      for (hsize_t k = 0; k < each; k += 10) {
        std::vector<int> few(10, 7 + rank_);
        move(true, each * static_cast<hsize_t>(rank_) + k, few);
      }
    } else {
      // Its own again, where nobody looks: memory moves while rank 0 reads.
      for (hsize_t k = 0; k < 200; ++k) {
        std::vector<int> few(each, 9);
        move(true, 0, few);
      }
    }
    settle();
    std::vector<int> all(each * ranks);
    move(false, 0, all);
    for (hsize_t k = each; k < all.size(); ++k)
      if (all[k] != 7 + static_cast<int>(k / each)) throw std::runtime_error("a value of the line");
    MPI_Barrier(comm_);
  }

  // One-element writes by the thousand, by all ranks; then each reads what the next one wrote.
  void many_small() {
    const auto each = static_cast<hsize_t>(options_.small);
    const Id space = simple_space({each * static_cast<hsize_t>(ranks_)});
    const Id small(
        H5Dcreate2(file_, "small", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
    const Id part = copy_space(space), one = simple_space({1}), list = transfer_list(false);
    const double begin = MPI_Wtime();
    for (hsize_t k = 0; k < each; ++k) {
      const hsize_t at[] = {k * static_cast<hsize_t>(ranks_) + static_cast<hsize_t>(rank_)};
      const int value = static_cast<int>(at[0]);
      check(H5Sselect_elements(part, H5S_SELECT_SET, 1, at), "H5Sselect_elements");
      check(H5Dwrite(small, H5T_NATIVE_INT, one, part, list, &value), "H5Dwrite");
    }
    const double written = MPI_Wtime();
    settle();
    std::vector<int> values(each * static_cast<hsize_t>(ranks_));
    check(H5Dread(small, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, list, values.data()), "H5Dread");
    for (size_t k = 0; k < values.size(); ++k)
      if (values[k] != static_cast<int>(k)) throw std::runtime_error("a small write is missing");
    MPI_Barrier(comm_);
    if (rank_ == 0)
      std::printf("a small write: %.2f us; reading all: %.4f s\n",
                  (written - begin) * 1e6 / options_.small, MPI_Wtime() - written);
  }

  Options options_;
  MPI_Comm comm_;
  Rng rng_, own_{0};
  int rank_ = 0, ranks_ = 1, step_ = 0;
  const char* path_ = "visible.h5";
  Id access_, file_, array_;
  bool grows_ = false;
  hsize_t rows_ = 0;
  std::vector<int> model_;
};

/// From now on process_vm_readv() fails with EPERM.
bool refuse_reading_memory() {
  std::array<sock_filter, 4> program{
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const auto number = [&] { return k + 1 < argc ? std::strtol(argv[++k], nullptr, 10) : 0; };
    if (word == "--filtered") options.filtered = true;
    if (word == "--apart") options.apart = true;
    if (word == "--seed") options.seed = static_cast<uint64_t>(number());
    if (word == "--steps") options.steps = static_cast<int>(number());
    if (word == "--small") options.small = static_cast<int>(number());
  }
  if (options.apart && !refuse_reading_memory()) {
    std::perror("refusing process_vm_readv");
    return EXIT_FAILURE;
  }
  MPI_Init(&argc, &argv);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  {
    Program program(options, MPI_COMM_WORLD);
    // Before anything is closed: the other ranks would not take part.
    try {
      program.run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(options.seed),
                   error.what());
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
  }
  H5close();
  MPI_Barrier(MPI_COMM_WORLD);
  if (access("visible.h5.pending", F_OK) == 0) {
    std::fprintf(stderr, "what ranks showed each other was left behind\n");
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
