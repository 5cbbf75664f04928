// Stage async: variables in their places lie on both sides of chunks, in holes that a window
// bridges. What waits to be written to such a hole must not be undone by what the file had there
// before.
#include <pnetcdf.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

constexpr MPI_Offset few = 4, many = 200;  // elements a rank, of a plain variable and of a record

struct File {
  int ncid = -1, before = -1, chunks = -1, behind = -1;
};

// Collective. Plain variables around chunks, of which some places are free again.
File make_file(const Hints& hints) {
  const Info info(hints);
  File f;
  int small = -1, large = -1, time = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                         &f.ncid));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "small", few * world.size, &small));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "large", many * world.size, &large));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "time", NC_UNLIMITED, &time));
  const int dims[] = {time, large};
  EXPECT_OK(ncmpi_def_var(f.ncid, "before", NC_INT, 1, &small, &f.before));
  EXPECT_OK(ncmpi_def_var(f.ncid, "chunks", NC_INT, 2, dims, &f.chunks));
  EXPECT_OK(ncmpi_enddef(f.ncid));
  return f;
}

std::vector<int> values(MPI_Offset n, int seed) {
  std::vector<int> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = seed * 1'000'000 + world.rank * 10'000 + static_cast<int>(i);
  return v;
}

// This rank's part of a variable, or of its first record.
struct Place {
  explicit Place(bool is_record)
      : n(is_record ? many : few), start{0, n * world.rank}, count{1, n}, skip(is_record ? 0 : 1) {}
  const MPI_Offset* first() const { return start + skip; }
  const MPI_Offset* length() const { return count + skip; }

  MPI_Offset n, start[2], count[2];
  int skip;
};

void put(const File& f, int var, const std::vector<int>& v) {
  const Place at(var == f.chunks);
  EXPECT_OK(ncmpi_iput_vara_int(f.ncid, var, at.first(), at.length(), v.data(), nullptr));
}

void expect(const File& f, int var, int seed) {
  const Place at(var == f.chunks);
  std::vector<int> v(static_cast<size_t>(at.n), -1);
  EXPECT_OK(ncmpi_get_vara_int_all(f.ncid, var, at.first(), at.length(), v.data()));
  EXPECT_TRUE(v == values(at.n, seed)) << "variable " << var << " of rank " << world.rank;
}

void delay(int rank) {
  const std::string text = "pwrite:rank=" + std::to_string(rank) + ":delay=4000";
  ::setenv("FOREBAY_FAULT", text.c_str(), 1);
}

TEST(AsyncHoles, what_waits_in_a_hole_stays) {
  for (int slow = 0; slow < world.size; ++slow) {
    delay(slow);
    File f = make_file({{"layout", "chunked"},
                        {"stage", "async"},
                        {"transport", "aggregated"},
                        {"chunk_bytes", "1k"}});
    int seed = 1;
    const auto write = [&](std::initializer_list<int> vars) {
      ++seed;
      const auto one = values(few, seed), record = values(many, seed);
      for (const int var : vars) put(f, var, var == f.chunks ? record : one);
      EXPECT_OK(ncmpi_wait_all(f.ncid, NC_PUT_REQ_ALL, nullptr, nullptr));
    };
    write({f.chunks});
    EXPECT_OK(ncmpi_redef(f.ncid));
    int small = -1;
    EXPECT_OK(ncmpi_inq_dimid(f.ncid, "small", &small));
    EXPECT_OK(ncmpi_def_var(f.ncid, "behind", NC_INT, 1, &small, &f.behind));
    EXPECT_OK(ncmpi_enddef(f.ncid));
    for (int round = 0; round < 5; ++round) {
      write({f.chunks});
      EXPECT_OK(ncmpi_sync(f.ncid));
      // In one call, and in two.
      if (round % 2 == 0) {
        write({f.before, f.chunks, f.behind});
      } else {
        write({f.chunks});
        --seed;
        write({f.before, f.behind});
      }
      for (const int var : {f.before, f.chunks, f.behind}) expect(f, var, seed);
    }
    EXPECT_OK(ncmpi_close(f.ncid));
  }
}

}  // namespace
