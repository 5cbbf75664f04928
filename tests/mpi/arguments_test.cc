// Arguments of data access that make no sense, and ranks that have nothing to say.
//
// A rank with a bad argument gets its own error, and still takes part in the collective call: the
// others' data land.
#include <pnetcdf.h>

#include <climits>
#include <cstdint>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;
constexpr MPI_Offset largest = INT64_MAX;

// One put_vara on every rank with the same arguments.
int put(const Sample& s, int var, Index start, Index count) {
  const std::vector<int> values(64, 1);
  return ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), values.data());
}

int get(const Sample& s, int var, Index start, Index count) {
  std::vector<int> values(64, 1);
  return ncmpi_get_vara_int_all(s.ncid, var, start.data(), count.data(), values.data());
}

int put_strided(const Sample& s, Index start, Index count, Index stride) {
  const std::vector<int> values(64, 1);
  return ncmpi_put_vars_int_all(s.ncid, s.grid, start.data(), count.data(), stride.data(),
                                values.data());
}

// The last rank passes something bad, every other rank writes its own elements of a variable with
// one column a rank. Then all elements of the others must be there.
template <typename BadCall>
void one_bad_rank(int expected, BadCall bad_call) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  int wide = -1;
  int columns = -1;
  EXPECT_OK(ncmpi_def_dim(s.ncid, "ranks", world.size, &columns));
  const int dims[] = {s.y, columns};
  EXPECT_OK(ncmpi_def_var(s.ncid, "wide", NC_INT, 2, dims, &wide));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  std::vector<int> none(static_cast<size_t>(4 * world.size), -1);
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, wide, none.data()));
  const int bad = world.size - 1;
  const int values[4] = {world.rank, world.rank + 10, world.rank + 20, world.rank + 30};
  if (world.rank == bad) {
    EXPECT_ERR(expected, bad_call(s, wide));
  } else {
    const Index start = {0, world.rank};
    const Index count = {4, 1};
    EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, wide, start.data(), count.data(), values));
  }
  std::vector<int> got(none.size(), -2);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, wide, got.data()));
  for (int r = 0; r < world.size; ++r) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(r == bad ? -1 : r + 10 * i, got[static_cast<size_t>(i * world.size + r)]);
    }
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

}  // namespace

TEST(Arguments, starts_and_counts_of_a_fixed_size_variable) {
  const Sample s = create_sample();
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {4, 0}, {1, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {-1, 0}, {1, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {0, 6}, {1, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {largest, 0}, {1, 1}));
  EXPECT_ERR(NC_EEDGE, put(s, s.grid, {3, 0}, {2, 1}));
  EXPECT_ERR(NC_EEDGE, put(s, s.grid, {0, 0}, {1, 7}));
  EXPECT_ERR(NC_EEDGE, put(s, s.grid, {1, 0}, {largest, 1}));
  EXPECT_ERR(NC_ENEGATIVECNT, put(s, s.grid, {0, 0}, {-1, 1}));
  // A bad start is found before a bad count.
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {0, 9}, {9, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {9, 0}, {-1, 1}));
  EXPECT_ERR(NC_EEDGE, put(s, s.grid, {0, 0}, {5, -1}));
  // At the edge, nothing may be asked for.
  EXPECT_OK(put(s, s.grid, {4, 0}, {0, 1}));
  EXPECT_OK(put(s, s.grid, {0, 6}, {1, 0}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {5, 0}, {0, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.grid, {4, 0}, {1, 1}));
  EXPECT_ERR(NC_EEDGE, get(s, s.grid, {3, 0}, {2, 1}));
  EXPECT_ERR(NC_ENEGATIVECNT, get(s, s.grid, {0, 0}, {1, -1}));
  EXPECT_OK(get(s, s.grid, {4, 0}, {0, 1}));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, the_same_errors_in_independent_mode) {
  const Sample s = create_sample();
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  int value = 0;
  const Index outside = {4, 0};
  const Index one = {1, 1};
  const Index two = {2, 2};
  const Index edge = {3, 0};
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_put_var1_int(s.ncid, s.grid, outside.data(), &value));
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_get_var1_int(s.ncid, s.grid, outside.data(), &value));
  EXPECT_ERR(NC_EINVALCOORDS,
             ncmpi_put_vara_int(s.ncid, s.grid, outside.data(), one.data(), &value));
  EXPECT_ERR(NC_EEDGE, ncmpi_put_vara_int(s.ncid, s.grid, edge.data(), two.data(), &value));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_var_int(s.ncid, 99, &value));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var_int(s.ncid, s.text, &value));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, missing_starts_and_counts) {
  const Sample s = create_sample();
  const Index start = {0, 0};
  const Index count = {1, 1};
  int value = 3;
  const int id = s.ncid;
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_put_var1_int_all(id, s.grid, nullptr, &value));
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_put_vara_int_all(id, s.grid, nullptr, count.data(), &value));
  EXPECT_ERR(NC_EEDGE, ncmpi_put_vara_int_all(id, s.grid, start.data(), nullptr, &value));
  EXPECT_ERR(NC_EEDGE,
             ncmpi_put_vars_int_all(id, s.grid, start.data(), nullptr, start.data(), &value));
  EXPECT_ERR(NC_EEDGE,
             ncmpi_put_varm_int_all(id, s.grid, start.data(), nullptr, nullptr, nullptr, &value));
  // A scalar needs neither.
  EXPECT_OK(ncmpi_put_var1_int_all(id, s.scalar, nullptr, &value));
  EXPECT_OK(ncmpi_put_vara_int_all(id, s.scalar, nullptr, nullptr, &value));
  // No stride is a stride of one, and no map is the map of a contiguous array.
  EXPECT_OK(ncmpi_put_vars_int_all(id, s.grid, start.data(), count.data(), nullptr, &value));
  EXPECT_OK(
      ncmpi_put_varm_int_all(id, s.grid, start.data(), count.data(), nullptr, nullptr, &value));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Arguments, strides) {
  const Sample s = create_sample();
  EXPECT_ERR(NC_ESTRIDE, put_strided(s, {0, 0}, {2, 2}, {0, 1}));
  EXPECT_ERR(NC_ESTRIDE, put_strided(s, {0, 0}, {2, 2}, {-1, 1}));
  EXPECT_ERR(NC_ESTRIDE, put_strided(s, {0, 0}, {0, 2}, {0, 1}));
  EXPECT_ERR(NC_ESTRIDE, put_strided(s, {0, 0}, {1, 1}, {0, 0}));
  EXPECT_ERR(NC_EEDGE, put_strided(s, {0, 0}, {2, 2}, {4, 1}));
  EXPECT_ERR(NC_EEDGE, put_strided(s, {0, 0}, {2, 2}, {largest, 1}));
  EXPECT_OK(put_strided(s, {0, 0}, {2, 2}, {3, 5}));
  EXPECT_OK(put_strided(s, {0, 0}, {1, 1}, {100, 100}));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, variable_ids_and_text_against_numbers) {
  const Sample s = create_sample();
  int values[24] = {};
  char text[24] = {};
  const int id = s.ncid;
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_var_int_all(id, 99, values));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_var_int_all(id, -2, values));
  EXPECT_ERR(NC_EGLOBAL, ncmpi_put_var_int_all(id, NC_GLOBAL, values));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_get_var_int_all(id, 99, values));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var_int_all(id, s.text, values));
  EXPECT_ERR(NC_ECHAR, ncmpi_get_var_int_all(id, s.text, values));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var_text_all(id, s.grid, text));
  EXPECT_ERR(NC_ECHAR, ncmpi_get_var_text_all(id, s.grid, text));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var_schar_all(id, s.text, reinterpret_cast<signed char*>(text)));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var_uchar_all(id, s.text, reinterpret_cast<unsigned char*>(text)));
  const Index outside = {9, 9};
  EXPECT_ERR(NC_ECHAR, ncmpi_put_var1_int_all(id, s.text, outside.data(), values));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Arguments, reads_beyond_the_records) {
  const Sample s = create_sample();
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.series, {0, 0}, {1, 6}));
  EXPECT_OK(get(s, s.series, {0, 0}, {0, 6}));
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.series, {1, 0}, {0, 6}));
  int values[6] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.series, values));
  EXPECT_OK(put(s, s.series, {2, 0}, {1, 6}));
  EXPECT_EQ(MPI_Offset{3}, records(s));
  EXPECT_OK(get(s, s.series, {0, 0}, {3, 6}));
  EXPECT_OK(get(s, s.series, {3, 0}, {0, 6}));
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.series, {3, 0}, {1, 6}));
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.series, {4, 0}, {0, 6}));
  EXPECT_ERR(NC_EEDGE, get(s, s.series, {2, 0}, {2, 6}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.series, {-1, 0}, {1, 6}));
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.series, {0, 6}, {1, 1}));
  EXPECT_EQ(MPI_Offset{3}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, record_numbers_beyond_what_cdf1_counts) {
  const Sample s = create_sample(0);
  EXPECT_TRUE(put(s, s.series, {largest, 0}, {1, 1}) != NC_NOERR);
  EXPECT_TRUE(put(s, s.series, {largest - 1, 0}, {2, 1}) != NC_NOERR);
  EXPECT_EQ(MPI_Offset{0}, records(s));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, a_rank_with_a_bad_start_takes_part) {
  one_bad_rank(NC_EINVALCOORDS, [](const Sample& s, int var) {
    const Index start = {99, 0};
    const Index count = {1, 1};
    const int value = 1;
    return ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), &value);
  });
}

TEST(Arguments, a_rank_with_a_negative_count_takes_part) {
  one_bad_rank(NC_ENEGATIVECNT, [](const Sample& s, int var) {
    const Index start = {0, 0};
    const Index count = {1, -1};
    const int value = 1;
    return ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), &value);
  });
}

TEST(Arguments, a_rank_with_a_count_past_the_edge_takes_part) {
  one_bad_rank(NC_EEDGE, [](const Sample& s, int var) {
    const Index start = {0, 0};
    const Index count = {5, 1};
    const int values[5] = {};
    return ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), values);
  });
}

TEST(Arguments, a_rank_with_an_unknown_variable_takes_part) {
  one_bad_rank(NC_ENOTVAR, [](const Sample& s, int) {
    const Index start = {0, 0};
    const Index count = {1, 1};
    const int value = 1;
    return ncmpi_put_vara_int_all(s.ncid, 99, start.data(), count.data(), &value);
  });
}

TEST(Arguments, a_rank_with_text_for_a_number_takes_part) {
  one_bad_rank(NC_ECHAR, [](const Sample& s, int) {
    const Index start = {0, 0};
    const Index count = {1, 1};
    const int value = 1;
    return ncmpi_put_vara_int_all(s.ncid, s.text, start.data(), count.data(), &value);
  });
}

TEST(Arguments, a_rank_with_a_null_start_takes_part) {
  one_bad_rank(NC_EINVALCOORDS, [](const Sample& s, int var) {
    const Index count = {1, 1};
    const int value = 1;
    return ncmpi_put_vara_int_all(s.ncid, var, nullptr, count.data(), &value);
  });
}

TEST(Arguments, an_empty_rank_takes_part_in_a_collective_write) {
  one_bad_rank(NC_NOERR, [](const Sample& s, int var) {
    const Index start = {0, 0};
    const Index count = {0, 0};
    return ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), nullptr);
  });
}

TEST(Arguments, bad_ranks_take_part_in_reads_too) {
  const Sample s = create_sample();
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = i;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {world.rank % 2 == 0 ? 1 : 50, 0};
  const Index count = {2, 6};
  int got[12] = {};
  const int code = ncmpi_get_vara_int_all(s.ncid, s.grid, start.data(), count.data(), got);
  if (world.rank % 2 == 0) {
    EXPECT_ERR(NC_NOERR, code);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(i + 6, got[i]);
  } else {
    EXPECT_ERR(NC_EINVALCOORDS, code);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, every_rank_bad_is_no_hang) {
  const Sample s = create_sample();
  EXPECT_ERR(NC_EINVALCOORDS, put(s, s.grid, {99, 0}, {1, 1}));
  EXPECT_ERR(NC_EINVALCOORDS, get(s, s.grid, {99, 0}, {1, 1}));
  EXPECT_OK(put(s, s.grid, {0, 0}, {4, 6}));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, varn_arguments) {
  const Sample s = create_sample();
  MPI_Offset a[2] = {0, 0};
  MPI_Offset b[2] = {1, 1};
  MPI_Offset one_by_two[2] = {1, 2};
  MPI_Offset counts_b[2] = {2, 2};
  MPI_Offset* starts[2] = {a, b};
  MPI_Offset* counts[2] = {one_by_two, counts_b};
  MPI_Offset* no_second[2] = {a, nullptr};
  int values[24] = {};
  const int id = s.ncid;
  const int g = s.grid;
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, 2, starts, counts, values));
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, 0, nullptr, nullptr, nullptr));
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, -1, starts, counts, values));
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, 2, starts, nullptr, values));
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, 2, starts, no_second, values));
  EXPECT_ERR(NC_ENULLSTART, ncmpi_put_varn_int_all(id, g, 2, nullptr, counts, values));
  EXPECT_ERR(NC_ENULLSTART, ncmpi_put_varn_int_all(id, g, 2, no_second, counts, values));
  counts_b[0] = 9;
  EXPECT_ERR(NC_EEDGE, ncmpi_put_varn_int_all(id, g, 2, starts, counts, values));
  counts_b[0] = -1;
  EXPECT_ERR(NC_ENEGATIVECNT, ncmpi_put_varn_int_all(id, g, 2, starts, counts, values));
  counts_b[0] = 0;
  EXPECT_OK(ncmpi_put_varn_int_all(id, g, 2, starts, counts, values));
  b[0] = 4;
  counts_b[0] = 1;
  EXPECT_ERR(NC_EINVALCOORDS, ncmpi_put_varn_int_all(id, g, 2, starts, counts, values));
  EXPECT_ERR(NC_EINVAL, ncmpi_put_varn_int_all(id, s.scalar, 2, starts, counts, values));
  EXPECT_ERR(NC_EINVAL, ncmpi_put_varn_int_all(id, s.scalar, -1, starts, counts, values));
  EXPECT_OK(ncmpi_put_varn_int_all(id, s.scalar, 0, starts, counts, values));
  EXPECT_OK(ncmpi_put_varn_int_all(id, s.scalar, 1, starts, counts, values));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_varn_text_all(id, g, 0, nullptr, nullptr, nullptr));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Arguments, varn_with_different_numbers_of_boxes) {
  // Rank r writes r boxes of one element; rank 0 writes none.
  Sample s = create_sample(NC_64BIT_DATA, false);
  int line = -1;
  int dim = -1;
  const int n = world.size;
  EXPECT_OK(ncmpi_def_dim(s.ncid, "n", n * n, &dim));
  EXPECT_OK(ncmpi_def_var(s.ncid, "line", NC_SHORT, 1, &dim, &line));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  std::vector<MPI_Offset> places;
  for (int i = 0; i < world.rank; ++i)
    places.push_back(static_cast<MPI_Offset>(i) * n + world.rank);
  std::vector<MPI_Offset*> starts;
  for (auto& p : places) starts.push_back(&p);
  std::vector<int> values;
  for (int i = 0; i < world.rank; ++i) values.push_back(100 * world.rank + i);
  EXPECT_OK(
      ncmpi_put_varn_int_all(s.ncid, line, world.rank, starts.data(), nullptr, values.data()));
  std::vector<int> got(static_cast<size_t>(n * n), -1);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, line, got.data()));
  for (int r = 1; r < n; ++r) {
    for (int i = 0; i < r; ++i) EXPECT_EQ(100 * r + i, got[static_cast<size_t>(i * n + r)]);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, mput_arguments) {
  const Sample s = create_sample();
  int ids[2] = {s.grid, s.real};
  int values[24] = {};
  int* buffers[2] = {values, values};
  EXPECT_OK(ncmpi_mput_var_int_all(s.ncid, 2, ids, buffers));
  EXPECT_OK(ncmpi_mput_var_int_all(s.ncid, 0, ids, buffers));
  EXPECT_OK(ncmpi_mput_var_int_all(s.ncid, -1, ids, buffers));
  ids[1] = 99;
  EXPECT_ERR(NC_ENOTVAR, ncmpi_mput_var_int_all(s.ncid, 2, ids, buffers));
  ids[1] = s.text;
  EXPECT_ERR(NC_ECHAR, ncmpi_mput_var_int_all(s.ncid, 2, ids, buffers));
  EXPECT_OK(ncmpi_mput_var_int(s.ncid, 0, nullptr, nullptr));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Arguments, a_rank_with_a_bad_mput_takes_part) {
  const Sample s = create_sample();
  const int bad = world.size - 1;
  int ids[2] = {s.grid, world.rank == bad ? 99 : s.scalar};
  MPI_Offset zero[2] = {0, 0};
  MPI_Offset* starts[2] = {zero, zero};
  int value = 11;
  int* buffers[2] = {&value, &value};
  const int code = ncmpi_mput_var1_int_all(s.ncid, 2, ids, starts, buffers);
  EXPECT_ERR(world.rank == bad ? NC_ENOTVAR : NC_NOERR, code);
  // A failed call leaves nothing pending.
  if (is_forebay()) {
    int pending = -1;
    EXPECT_OK(ncmpi_inq_nreqs(s.ncid, &pending));
    EXPECT_EQ(0, pending);
  }
  if (world.size > 1) {
    int got = 0;
    EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &got));
    EXPECT_EQ(11, got);
  }
  const int code_of_close = ncmpi_close(s.ncid);
  if (is_forebay()) {
    EXPECT_OK(code_of_close);
  }
}

TEST(Arguments, null_buffers) {
  const Sample s = create_sample();
  const Index start = {0, 0};
  const Index none = {0, 0};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), none.data(), nullptr));
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.grid, start.data(), none.data(), nullptr));
  if (is_forebay()) {  // the peer crashes
    const Index one = {1, 1};
    EXPECT_TRUE(ncmpi_put_vara_int_all(s.ncid, s.grid, start.data(), one.data(), nullptr) !=
                NC_NOERR);
    EXPECT_TRUE(ncmpi_get_vara_int_all(s.ncid, s.grid, start.data(), one.data(), nullptr) !=
                NC_NOERR);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}
