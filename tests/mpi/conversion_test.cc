// Values on their way between memory types and external types.
#include <pnetcdf.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/typed_api.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;
constexpr nc_type number_types[] = {NC_BYTE,  NC_SHORT,  NC_INT,  NC_FLOAT, NC_DOUBLE,
                                    NC_UBYTE, NC_USHORT, NC_UINT, NC_INT64, NC_UINT64};

// A file with one variable of n elements of this type.
int create(nc_type type, MPI_Offset n, int* var, int mode = NC_64BIT_DATA) {
  int id = -1;
  int dim = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | mode, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "n", n, &dim));
  EXPECT_OK(ncmpi_def_var(id, "v", type, 1, &dim, var));
  EXPECT_OK(ncmpi_enddef(id));
  return id;
}

// Writes as T, reads as T and as double, for every external type. Each rank writes its own part, of
// a length that leaves odd sizes.
template <typename T>
void through_every_type() {
  constexpr MPI_Offset each = 37;
  for (const nc_type type : number_types) {
    int var = -1;
    const int id = create(type, each * world.size, &var);
    std::vector<T> mine(each);
    for (MPI_Offset i = 0; i < each; ++i) {
      mine[static_cast<size_t>(i)] = static_cast<T>((i * 3 + world.rank) % 128);
    }
    const MPI_Offset start = each * world.rank;
    Where where{&start, &each, nullptr, nullptr};
    EXPECT_OK(Api<T>::put(Kind::vara, true, id, var, where, mine.data()));
    std::vector<T> all(static_cast<size_t>(each * world.size), T{99});
    EXPECT_OK(Api<T>::get(Kind::var, true, id, var, {}, all.data()));
    std::vector<double> real(all.size(), -1);
    EXPECT_OK(ncmpi_get_var_double_all(id, var, real.data()));
    for (MPI_Offset i = 0; i < each * world.size; ++i) {
      const double expected = static_cast<double>((i % each * 3 + i / each) % 128);
      EXPECT_EQ(static_cast<T>(expected), all[static_cast<size_t>(i)]);
      EXPECT_EQ(expected, real[static_cast<size_t>(i)]);
    }
    EXPECT_OK(ncmpi_close(id));
  }
}

// What arrives when `value` is written into a variable of this type, and the code of the put.
template <typename From, typename Back>
Back put_and_get(nc_type type, From value, int expected, int mode = NC_64BIT_DATA) {
  int var = -1;
  const int id = create(type, 2, &var, mode);
  const From values[2] = {value, 3};
  EXPECT_ERR(expected, Api<From>::put(Kind::var, true, id, var, {}, values));
  Back back[2] = {};
  EXPECT_OK(Api<Back>::get(Kind::var, true, id, var, {}, back));
  // Only the value that does not fit is lost.
  EXPECT_EQ(Back{3}, back[1]);
  EXPECT_OK(ncmpi_close(id));
  return back[0];
}

// The first element of `values` read as To, and the code of the get.
template <typename From, typename To>
To get_as(nc_type type, From value, int expected) {
  int var = -1;
  const int id = create(type, 2, &var);
  const From values[2] = {value, 3};
  EXPECT_OK(Api<From>::put(Kind::var, true, id, var, {}, values));
  To got[2] = {};
  EXPECT_ERR(expected, Api<To>::get(Kind::var, true, id, var, {}, got));
  EXPECT_EQ(To{3}, got[1]);
  EXPECT_OK(ncmpi_close(id));
  return got[0];
}

}  // namespace

TEST(Conversion, signed_chars_through_every_type) { through_every_type<signed char>(); }
TEST(Conversion, unsigned_chars_through_every_type) { through_every_type<unsigned char>(); }
TEST(Conversion, shorts_through_every_type) { through_every_type<short>(); }
TEST(Conversion, unsigned_shorts_through_every_type) { through_every_type<unsigned short>(); }
TEST(Conversion, ints_through_every_type) { through_every_type<int>(); }
TEST(Conversion, unsigned_ints_through_every_type) { through_every_type<unsigned int>(); }
TEST(Conversion, longs_through_every_type) { through_every_type<long>(); }
TEST(Conversion, floats_through_every_type) { through_every_type<float>(); }
TEST(Conversion, doubles_through_every_type) { through_every_type<double>(); }
TEST(Conversion, long_longs_through_every_type) { through_every_type<long long>(); }
TEST(Conversion, unsigned_long_longs_through_every_type) {
  through_every_type<unsigned long long>();
}

TEST(Conversion, limits_of_integers_are_kept) {
  EXPECT_EQ(INT32_MAX, (put_and_get<int, int>(NC_INT, INT32_MAX, NC_NOERR)));
  EXPECT_EQ(INT32_MIN, (put_and_get<int, int>(NC_INT, INT32_MIN, NC_NOERR)));
  EXPECT_EQ(INT32_MAX, (put_and_get<double, int>(NC_INT, 2147483647.0, NC_NOERR)));
  EXPECT_EQ(-128, (put_and_get<int, int>(NC_BYTE, -128, NC_NOERR)));
  EXPECT_EQ(65535, (put_and_get<int, int>(NC_USHORT, 65535, NC_NOERR)));
  EXPECT_EQ(INT64_MIN, (put_and_get<long long, long long>(NC_INT64, INT64_MIN, NC_NOERR)));
  EXPECT_EQ(UINT64_MAX,
            (put_and_get<unsigned long long, unsigned long long>(NC_UINT64, UINT64_MAX, NC_NOERR)));
}

TEST(Conversion, numbers_that_do_not_fit_become_fill_in_the_file) {
  EXPECT_EQ(-127, (put_and_get<int, int>(NC_BYTE, 300, NC_ERANGE)));
  EXPECT_EQ(-127, (put_and_get<int, int>(NC_BYTE, -129, NC_ERANGE)));
  EXPECT_EQ(-127, (put_and_get<unsigned char, int>(NC_BYTE, 200, NC_ERANGE)));
  EXPECT_EQ(255, (put_and_get<int, int>(NC_UBYTE, -1, NC_ERANGE)));
  EXPECT_EQ(-32767, (put_and_get<int, int>(NC_SHORT, 32768, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_INT, (put_and_get<double, int>(NC_INT, 2147483648.0, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_INT, (put_and_get<double, int>(NC_INT, 2147483647.5, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_INT, (put_and_get<long long, int>(NC_INT, INT64_MAX, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_UINT, (put_and_get<int, unsigned int>(NC_UINT, -1, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_FLOAT, (put_and_get<double, float>(NC_FLOAT, 1e300, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_FLOAT, (put_and_get<double, float>(NC_FLOAT, -1e300, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_UINT64, (put_and_get<int, unsigned long long>(NC_UINT64, -1, NC_ERANGE)));
}

TEST(Conversion, numbers_that_do_not_fit_become_fill_in_memory) {
  EXPECT_EQ(-127, static_cast<int>(get_as<int, signed char>(NC_INT, 300, NC_ERANGE)));
  EXPECT_EQ(255, static_cast<int>(get_as<int, unsigned char>(NC_INT, -1, NC_ERANGE)));
  EXPECT_EQ(255, static_cast<int>(get_as<signed char, unsigned char>(NC_BYTE, -1, NC_ERANGE)));
  EXPECT_EQ(65535, static_cast<int>(get_as<int, unsigned short>(NC_INT, -1, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_INT, (get_as<double, int>(NC_DOUBLE, 1e10, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_FLOAT, (get_as<double, float>(NC_DOUBLE, 1e300, NC_ERANGE)));
  EXPECT_EQ(NC_FILL_INT64, (get_as<float, long long>(NC_FLOAT, 1e30F, NC_ERANGE)));
}

TEST(Conversion, fractions_are_cut_off) {
  EXPECT_EQ(2, (put_and_get<double, int>(NC_INT, 2.9, NC_NOERR)));
  EXPECT_EQ(-2, (put_and_get<double, int>(NC_INT, -2.9, NC_NOERR)));
  EXPECT_EQ(1, (get_as<float, int>(NC_FLOAT, 1.5F, NC_NOERR)));
  EXPECT_EQ(16777216.0F, (get_as<int, float>(NC_INT, 16777217, NC_NOERR)));
}

TEST(Conversion, the_variable_s_own_fill_value_marks_what_did_not_fit) {
  // PnetCDF takes the variable's fill value where it has one.
  int id = -1;
  int var = -1;
  int dim = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "n", 2, &dim));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_SHORT, 1, &dim, &var));
  const short fill = 77;
  EXPECT_OK(ncmpi_def_var_fill(id, var, 0, &fill));
  EXPECT_OK(ncmpi_enddef(id));
  const int values[2] = {100000, 5};
  EXPECT_ERR(NC_ERANGE, ncmpi_put_var_int_all(id, var, values));
  int got[2] = {};
  EXPECT_OK(ncmpi_get_var_int_all(id, var, got));
  EXPECT_EQ(77, got[0]);
  EXPECT_EQ(5, got[1]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Conversion, only_the_rank_with_the_bad_number_hears_of_it) {
  int var = -1;
  const int id = create(NC_BYTE, world.size, &var);
  const MPI_Offset start = world.rank;
  const int value = world.rank == 0 ? 1000 : world.rank;
  EXPECT_ERR(world.rank == 0 ? NC_ERANGE : NC_NOERR,
             ncmpi_put_var1_int_all(id, var, &start, &value));
  std::vector<int> got(static_cast<size_t>(world.size));
  EXPECT_OK(ncmpi_get_var_int_all(id, var, got.data()));
  for (int r = 1; r < world.size; ++r) EXPECT_EQ(r, got[static_cast<size_t>(r)]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Conversion, nan_and_infinity_of_the_same_type_pass_unchanged) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(put_and_get<double, double>(NC_DOUBLE, nan, NC_NOERR)));
  EXPECT_TRUE(std::isnan(put_and_get<double, float>(NC_FLOAT, nan, NC_NOERR)));
  EXPECT_EQ(infinite, (put_and_get<double, double>(NC_DOUBLE, infinite, NC_NOERR)));
}

TEST(Conversion, text_is_neither_converted_nor_swapped) {
  int var = -1;
  const int id = create(NC_CHAR, 5, &var);
  EXPECT_OK(ncmpi_put_var_text_all(id, var, "h\0llo"));
  char got[6] = "-----";
  EXPECT_OK(ncmpi_get_var_text_all(id, var, got));
  EXPECT_EQ(std::string("h\0llo", 5), std::string(got, 5));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Conversion, the_user_s_buffer_is_not_swapped) {
  // Large enough for a library that swaps in place.
  constexpr MPI_Offset n = 100000;
  int var = -1;
  const int id = create(NC_INT, n * world.size, &var);
  std::vector<int> values(n);
  for (MPI_Offset i = 0; i < n; ++i) values[static_cast<size_t>(i)] = static_cast<int>(i * 3);
  const std::vector<int> before = values;
  const MPI_Offset start = n * world.rank;
  EXPECT_OK(ncmpi_put_vara_int_all(id, var, &start, &n, values.data()));
  EXPECT_TRUE(before == values);
  int request = NC_REQ_NULL;
  EXPECT_OK(ncmpi_iput_vara_int(id, var, &start, &n, values.data(), &request));
  EXPECT_OK(ncmpi_wait_all(id, 1, &request, nullptr));
  EXPECT_TRUE(before == values);
  std::vector<int> got(n);
  EXPECT_OK(ncmpi_get_vara_int_all(id, var, &start, &n, got.data()));
  EXPECT_TRUE(before == got);
  EXPECT_OK(ncmpi_close(id));
}
