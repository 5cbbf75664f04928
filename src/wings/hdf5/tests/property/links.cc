// External links into a file that is open, or was closed, by all ranks: what they lead to is read,
// and written where that file is open.
//
//   links FILE
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "handles.h"

using namespace forebay_test;

namespace {

constexpr hsize_t kColumns = 10;

struct Ranks {
  int rank = 0, size = 1;
};

// One row of each rank.
class Row {
 public:
  explicit Row(const Ranks& ranks) : ranks_(ranks) {
    const hsize_t all = kColumns * static_cast<hsize_t>(ranks.size), mine = kColumns,
                  begin = kColumns * static_cast<hsize_t>(ranks.rank);
    file_ = Id(H5Screate_simple(1, &all, nullptr), H5Sclose, "H5Screate_simple");
    memory_ = Id(H5Screate_simple(1, &mine, nullptr), H5Sclose, "H5Screate_simple");
    check(H5Sselect_hyperslab(file_, H5S_SELECT_SET, &begin, nullptr, &mine, nullptr), "select");
  }
  hid_t space() const { return file_; }

  std::vector<int> values(int first) const {
    std::vector<int> values;
    for (int i = 0; i < static_cast<int>(kColumns); ++i)
      values.push_back(first + ranks_.rank * static_cast<int>(kColumns) + i);
    return values;
  }
  void write(hid_t dataset, int first) const {
    check(H5Dwrite(dataset, H5T_NATIVE_INT, memory_, file_, H5P_DEFAULT, values(first).data()),
          "H5Dwrite");
  }
  bool has(hid_t dataset, int first) const {
    std::vector<int> got(kColumns);
    check(H5Dread(dataset, H5T_NATIVE_INT, memory_, file_, H5P_DEFAULT, got.data()), "H5Dread");
    return got == values(first);
  }

 private:
  Ranks ranks_;
  Id file_, memory_;
};

int failures = 0;

void expect(bool holds, const char* what, bool open) {
  if (holds) return;
  std::fprintf(stderr, "%s (%s)\n", what, open ? "open" : "closed");
  ++failures;
}

Id open_dataset(hid_t at, const char* path) {
  return {H5Dopen2(at, path, H5P_DEFAULT), H5Dclose, "H5Dopen2"};
}

void run(const std::string& name, const Ranks& ranks, bool open) {
  const std::string target = name + ".target";
  const Row row(ranks);
  Id access = make_list(H5P_FILE_ACCESS);
  check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  Id other(H5Fcreate(target.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "H5Fcreate");
  {
    const Id group(H5Gcreate2(other, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "g");
    const Id dataset(
        H5Dcreate2(group, "x", H5T_NATIVE_INT, row.space(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose, "H5Dcreate2");
    row.write(dataset, 0);
  }
  check(H5Fflush(other, H5F_SCOPE_GLOBAL), "H5Fflush");
  if (!open) other.close("H5Fclose");
  {
    const Id file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "create");
    check(H5Lcreate_external(target.c_str(), "/g", file, "link", H5P_DEFAULT, H5P_DEFAULT), "link");
    const Id dataset = open_dataset(file, "link/x");
    expect(row.has(dataset, 0), "a link leads to other values", open);
    expect(H5Aexists(dataset, "_forebay_dataset") <= 0, "what is hidden shows", open);
    H5O_info2_t info;
    check(H5Oget_info3(dataset, &info, H5O_INFO_NUM_ATTRS), "H5Oget_info3");
    expect(info.num_attrs == 0, "a dataset has attributes that nobody made", open);
    if (open) row.write(dataset, 1000);
  }
  if (!open) other = Id(H5Fopen(target.c_str(), H5F_ACC_RDONLY, access), H5Fclose, "H5Fopen");
  expect(row.has(open_dataset(other, "g/x"), open ? 1000 : 0), "the file has other values", open);
  other.close("H5Fclose");
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks.rank == 0) std::remove(name.c_str()), std::remove(target.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  try {
    for (const bool open : {false, true}) run(argc > 1 ? argv[1] : "links.h5", ranks, open);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", ranks.rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
