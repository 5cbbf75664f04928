// Files with chunked variables that are damaged or cut anywhere, read through the C interface.
//
// Whatever is wrong, nothing crashes or hangs, and no value is wrong: a read gives what was written
// or an error. What is damaged harms as little as can be: outside the header never the variable
// that is not chunked, and inside a chunk never another variable.
#include <pnetcdf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/cases.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr size_t every = 2;  // of the bytes: each takes much longer
#else
constexpr size_t every = 1;
#endif

constexpr int records = 3, rows = 40, columns = 50;
constexpr std::array names{"T", "P", "m"};  // the last one is not chunked

double value_of(int var, int element) { return (element * 7 + var) % 1000 - 300; }

struct Good {
  std::string bytes;
  MPI_Offset header = 0;  // to here the header may lie
  MPI_Offset plain = 0;   // where m begins
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void save(const std::string& bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::ofstream(world.path(), std::ios::binary | std::ios::trunc) << bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}

// This rank's rows of a variable.
struct Part {
  std::array<MPI_Offset, 3> start{}, count{};
  int dims, first, elements;
};

Part part_of(int var) {
  const int all = var == 0 ? records * rows : rows;  // T's rows of all records, in order
  const int from = var == 0 ? rows * world.rank / world.size : all * world.rank / world.size;
  const int to =
      var == 0 ? rows * (world.rank + 1) / world.size : all * (world.rank + 1) / world.size;
  Part p{};
  p.dims = var == 0 ? 3 : 2;
  p.first = from;
  p.elements = (to - from) * columns * (var == 0 ? records : 1);
  if (var == 0) {
    p.start = {0, from, 0};
    p.count = {records, to - from, columns};
  } else {
    p.start = {from, 0, 0};
    p.count = {to - from, columns, 0};
  }
  return p;
}

std::vector<double> values_of(const Part& p, int var) {
  std::vector<double> values(static_cast<size_t>(p.elements));
  for (int i = 0; i < p.elements; ++i) {
    const int per_record = p.elements / (var == 0 ? records : 1);
    const int record = i / per_record, rest = i % per_record;
    values[static_cast<size_t>(i)] = value_of(var, (record * rows + p.first) * columns + rest);
  }
  return values;
}

Good write_good() {
  Good good;
  int id = -1, dims[3], var[3];
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                         MPI_INFO_NULL, &id));
  EXPECT_OK(ncmpi_def_dim(id, "t", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "y", rows, &dims[1]));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns, &dims[2]));
  EXPECT_OK(ncmpi_def_var(id, names[0], NC_FLOAT, 3, dims, &var[0]));
  EXPECT_OK(ncmpi_def_var(id, names[1], NC_DOUBLE, 2, dims + 1, &var[1]));
  EXPECT_OK(ncmpi_def_var(id, names[2], NC_INT, 2, dims + 1, &var[2]));
  const MPI_Offset shape[] = {1, 16, columns};
  EXPECT_OK(ncmpi_var_set_chunk(id, var[0], shape));
  EXPECT_OK(ncmpi_var_set_filter(id, var[0], "shuffle,zstd:3"));
  EXPECT_OK(ncmpi_var_set_filter(id, var[1], "deflate:6"));
  EXPECT_OK(ncmpi_enddef(id));
  for (int v = 0; v < 3; ++v) {
    const Part p = part_of(v);
    const auto values = values_of(p, v);
    EXPECT_OK(ncmpi_put_vara_double_all(id, var[v], p.start.data(), p.count.data(), values.data()));
  }
  EXPECT_OK(ncmpi_inq_header_extent(id, &good.header));
  EXPECT_OK(ncmpi_inq_varoffset(id, var[2], &good.plain));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  good.bytes = read_file(world.path());
  MPI_Barrier(MPI_COMM_WORLD);
  return good;
}

// Whether the file still shows the variable as it was defined; a damaged header may show another.
bool as_defined(int id, int v, int& var) {
  nc_type type = NC_NAT;
  int dims[3] = {0}, ndims = 0, natts = 0;
  if (ncmpi_inq_varid(id, names[static_cast<size_t>(v)], &var) != NC_NOERR) return false;
  if (ncmpi_inq_varndims(id, var, &ndims) != NC_NOERR || ndims != (v == 0 ? 3 : 2)) return false;
  ncmpi_inq_var(id, var, nullptr, &type, &ndims, dims, &natts);
  const nc_type types[] = {NC_FLOAT, NC_DOUBLE, NC_INT};
  const MPI_Offset lengths[] = {records, rows, columns};
  if (type != types[v] || natts != 0) return false;
  for (int d = 0; d < ndims; ++d) {
    MPI_Offset length = 0;
    ncmpi_inq_dimlen(id, dims[d], &length);
    if (length != lengths[d + (v == 0 ? 0 : 1)]) return false;
  }
  return true;
}

struct Outcome {
  int open = NC_NOERR;
  std::array<int, 3> code{};   // of reading each variable, on the rank that fares worst
  std::array<bool, 3> same{};  // it was shown as defined
};

// Reads all that the file shows; wrong values are failures, but of m if `plain_may_differ`.
Outcome try_file(bool plain_may_differ, const std::string& what) {
  Outcome outcome;
  int id = -1;
  outcome.open = ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &id);
  if (!same_on_all_ranks(outcome.open)) ADD_FAILURE() << "codes differ: " + what;
  if (outcome.open != NC_NOERR) return outcome;
  for (int v = 0; v < 3; ++v) {
    int var = -1;
    if (!as_defined(id, v, var)) continue;
    outcome.same[static_cast<size_t>(v)] = true;
    const Part p = part_of(v);
    const auto expected = values_of(p, v);
    std::vector<double> got(expected.size(), -1);
    const int code = ncmpi_get_vara_double_all(id, var, p.start.data(), p.count.data(), got.data());
    if (code == NC_NOERR && got != expected && !(v == 2 && plain_may_differ)) {
      const auto at = std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin();
      ADD_FAILURE() << std::string("silently wrong: ") + names[static_cast<size_t>(v)] +
                           ", element " + std::to_string(at) + " of this rank, " + what;
    }
    int worst = code;
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    outcome.code[static_cast<size_t>(v)] = worst;
  }
  ncmpi_close(id);
  return outcome;
}

}  // namespace

TEST(DamagedChunks, one_damaged_byte_anywhere) {
  const Good good = write_good();
  const auto plain_end = good.plain + rows * columns * 4;
  int refused = 0, harmless = 0, partly = 0;
  const size_t size = good.bytes.size();
  for (size_t at = 0; at < size;) {
    const auto place = static_cast<MPI_Offset>(at);
    const bool header = place < good.header;
    const bool plain = place >= good.plain && place < plain_end;
    std::string bytes = good.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    save(bytes);
    const std::string what = "byte " + std::to_string(at) + " damaged";
    const Outcome o = try_file(header || plain, what);
    if (!header) {
      if (o.open != NC_NOERR) ADD_FAILURE() << "cannot be opened: " + what;
      if (o.code[2] != NC_NOERR) ADD_FAILURE() << "m cannot be read: " + what;
      if (plain && (o.code[0] != NC_NOERR || o.code[1] != NC_NOERR))
        ADD_FAILURE() << "m harms other variables: " + what;
    }
    const bool failed = std::any_of(o.code.begin(), o.code.end(), [](int c) { return c != 0; });
    ++(o.open != NC_NOERR ? refused : failed ? partly : harmless);
    // Every byte of the header itself, or each fifth; less of what is much alike. (The unit tests
    // of FileChunks go through every byte.)
    const std::string next = good.bytes.substr(at, 64);
    const bool zeros = next.find_first_not_of('\0') == std::string::npos;
    at = next_place(at, every * (zeros ? 37 : plain ? 101 : header ? 1 : 11), size);
  }
  // The test means something only if it has seen all kinds.
  EXPECT_TRUE(refused > few_of(50));
  EXPECT_TRUE(harmless > few_of(50));
  EXPECT_TRUE(partly > few_of(50));
  if (world.rank == 0) unlink(world.path().c_str());
}

TEST(DamagedChunks, cut_at_many_lengths) {
  const Good good = write_good();
  int refused = 0, readable = 0;
  const size_t end = good.bytes.size();
  for (size_t size = 0; size < end; size = next_place<size_t>(size, size < 1500 ? 37 : 83, end)) {
    save(good.bytes.substr(0, size));
    // What lies behind the end of an unchunked variable reads as zeros, as in any classic file.
    const bool plain_cut = static_cast<MPI_Offset>(size) < good.plain + rows * columns * 4;
    const Outcome o = try_file(plain_cut, "cut to " + std::to_string(size) + " bytes");
    ++(o.open != NC_NOERR ? refused : readable);
  }
  EXPECT_TRUE(refused > few_of(10));
  EXPECT_TRUE(readable > few_of(20));
  if (world.rank == 0) unlink(world.path().c_str());
}

TEST(DamagedChunks, several_damaged_bytes_at_random) {
  const Good good = write_good();
  unsigned state = 12345;
  const auto random = [&] { return state = state * 1664525u + 1013904223u; };
  for (int round = 0; round < few_of(100); ++round) {
    std::string bytes = good.bytes;
    bool plain = false;
    for (int i = 0; i < 20; ++i) {
      const auto first = static_cast<size_t>(good.plain + rows * columns * 4);
      const size_t at = first + (random() >> 4) % (bytes.size() - first);
      bytes[at] = static_cast<char>(random() >> 24);
    }
    save(bytes);
    const Outcome o = try_file(plain, "round " + std::to_string(round));
    if (o.open != NC_NOERR || o.code[2] != NC_NOERR)
      ADD_FAILURE() << "m cannot be read in round " + std::to_string(round);
  }
  if (world.rank == 0) unlink(world.path().c_str());
}
