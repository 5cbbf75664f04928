// Attributes: every type, conversion and its range errors, renaming, copying, the order of ids.
#include <pnetcdf.h>

#include <cmath>
#include <cstring>
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

// Puts small numbers as T into every external type and gets them back as T, before and after the
// file was written.
template <typename T>
void round_trip(const char* stem) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_64BIT_DATA, no_info, &id));
  const T put[] = {0, 1, 2, 50, 127};
  for (const nc_type type : number_types) {
    const std::string name = stem + std::to_string(type);
    EXPECT_OK(Api<T>::put_att(id, NC_GLOBAL, name.c_str(), type, 5, put));
  }
  EXPECT_ERR(NC_ECHAR, Api<T>::put_att(id, NC_GLOBAL, "text", NC_CHAR, 5, put));
  for (int pass = 0; pass < 2; ++pass) {
    for (const nc_type type : number_types) {
      const std::string name = stem + std::to_string(type);
      T got[5] = {9, 9, 9, 9, 9};
      EXPECT_OK(Api<T>::get_att(id, NC_GLOBAL, name.c_str(), got));
      for (int i = 0; i < 5; ++i) EXPECT_EQ(put[i], got[i]);
      nc_type stored = NC_NAT;
      MPI_Offset length = 0;
      EXPECT_OK(ncmpi_inq_att(id, NC_GLOBAL, name.c_str(), &stored, &length));
      EXPECT_EQ(type, stored);
      EXPECT_EQ(MPI_Offset{5}, length);
    }
    if (pass == 0) {
      EXPECT_OK(ncmpi_close(id));
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
    }
  }
  EXPECT_OK(ncmpi_close(id));
}

}  // namespace

TEST(Attributes, numbers_of_every_memory_and_external_type) {
  round_trip<signed char>("schar");
  round_trip<unsigned char>("uchar");
  round_trip<short>("short");
  round_trip<unsigned short>("ushort");
  round_trip<int>("int");
  round_trip<unsigned int>("uint");
  round_trip<long>("long");
  round_trip<float>("float");
  round_trip<double>("double");
  round_trip<long long>("longlong");
  round_trip<unsigned long long>("ulonglong");
}

TEST(Attributes, text_and_empty_attributes) {
  Sample s = create_sample(0, false);
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "title", 5, "hello"));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "none", 0, ""));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "null", 0, nullptr));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "zero", NC_INT, 0, nullptr));
  EXPECT_OK(ncmpi_put_att(s.ncid, s.grid, "generic", NC_CHAR, 3, "abc"));
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  char text[8] = "-------";
  EXPECT_OK(ncmpi_get_att_text(s.ncid, NC_GLOBAL, "title", text));
  EXPECT_EQ(std::string("hello--"), std::string(text));
  EXPECT_OK(ncmpi_get_att_text(s.ncid, NC_GLOBAL, "none", text));
  EXPECT_EQ(std::string("hello--"), std::string(text));
  nc_type type = NC_NAT;
  MPI_Offset length = 9;
  EXPECT_OK(ncmpi_inq_att(s.ncid, s.grid, "zero", &type, &length));
  EXPECT_EQ(NC_INT, type);
  EXPECT_EQ(MPI_Offset{0}, length);
  EXPECT_OK(ncmpi_get_att_int(s.ncid, s.grid, "zero", nullptr));
  EXPECT_OK(ncmpi_get_att(s.ncid, s.grid, "generic", text));
  EXPECT_EQ(std::string("abclo--"), std::string(text));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, attribute_arguments_that_make_no_sense) {
  const Sample s = create_sample(0, false);
  int values[3] = {1, 2, 3};
  char name[NC_MAX_NAME + 1];
  const int id = s.ncid;
  EXPECT_ERR(NC_EINVAL, ncmpi_put_att_int(id, s.grid, "a", NC_INT, 1, nullptr));
  EXPECT_ERR(NC_EINVAL, ncmpi_put_att_int(id, s.grid, "a", NC_INT, -1, values));
  EXPECT_ERR(NC_ECHAR, ncmpi_put_att_int(id, s.grid, "a", NC_CHAR, 1, values));
  EXPECT_ERR(NC_ESTRICTCDF2, ncmpi_put_att_int(id, s.grid, "a", NC_UINT, 1, values));
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_att_int(id, s.grid, "a", NC_STRING, 1, values));
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_att_int(id, s.grid, "a", NC_NAT, 1, values));
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_att(id, s.grid, "a", NC_NAT, 1, values));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_att_int(id, 77, "a", NC_INT, 1, values));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_att_int(id, -2, "a", NC_INT, 1, values));
  EXPECT_ERR(NC_EBADNAME, ncmpi_put_att_int(id, s.grid, nullptr, NC_INT, 1, values));
  EXPECT_OK(ncmpi_put_att_int(id, s.grid, "a", NC_INT, 3, values));
  EXPECT_OK(ncmpi_put_att_text(id, s.grid, "t", 3, "abc"));
  nc_type type = NC_NAT;
  MPI_Offset length = 0;
  EXPECT_ERR(NC_ENOTATT, ncmpi_inq_att(id, s.grid, "none", &type, &length));
  EXPECT_ERR(NC_ENOTATT, ncmpi_inq_attname(id, s.grid, 99, name));
  EXPECT_ERR(NC_ENOTATT, ncmpi_inq_attname(id, s.grid, -1, name));
  EXPECT_ERR(NC_ENOTATT, ncmpi_get_att_int(id, s.grid, "none", values));
  EXPECT_ERR(NC_ECHAR, ncmpi_get_att_text(id, s.grid, "a", name));
  EXPECT_ERR(NC_ECHAR, ncmpi_get_att_int(id, s.grid, "t", values));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_get_att_int(id, 77, "a", values));
  EXPECT_ERR(NC_EINVAL, ncmpi_get_att_int(id, s.grid, "a", nullptr));
  EXPECT_ERR(NC_EBADNAME, ncmpi_get_att_int(id, s.grid, nullptr, values));
  EXPECT_ERR(NC_ENOTATT, ncmpi_del_att(id, s.grid, "none"));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_del_att(id, 77, "a"));
  EXPECT_ERR(NC_ENOTATT, ncmpi_rename_att(id, s.grid, "none", "b"));
  EXPECT_ERR(NC_ENAMEINUSE, ncmpi_rename_att(id, s.grid, "a", "t"));
  EXPECT_ERR(NC_ENOTATT, ncmpi_copy_att(id, s.grid, "none", id, NC_GLOBAL));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_copy_att(id, s.grid, "a", id, 77));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_copy_att(id, 77, "a", id, s.grid));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Attributes, ids_follow_the_order_of_definition_and_close_up_after_deletion) {
  const Sample s = create_sample(0, false);
  const int one = 1;
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, name, NC_INT, 1, &one));
  }
  EXPECT_OK(ncmpi_del_att(s.ncid, s.grid, "b"));
  int id = -1;
  EXPECT_OK(ncmpi_inq_attid(s.ncid, s.grid, "a", &id));
  EXPECT_EQ(0, id);
  EXPECT_OK(ncmpi_inq_attid(s.ncid, s.grid, "d", &id));
  EXPECT_EQ(2, id);
  EXPECT_OK(ncmpi_rename_att(s.ncid, s.grid, "c", "much_longer"));
  char name[NC_MAX_NAME + 1];
  EXPECT_OK(ncmpi_inq_attname(s.ncid, s.grid, 1, name));
  EXPECT_EQ(std::string("much_longer"), std::string(name));
  // Overwriting with another type and length keeps the place.
  EXPECT_OK(ncmpi_put_att_text(s.ncid, s.grid, "a", 4, "text"));
  EXPECT_OK(ncmpi_inq_attid(s.ncid, s.grid, "a", &id));
  EXPECT_EQ(0, id);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, attributes_copy_between_files) {
  const Sample s = create_sample(0, false);
  int other = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path("copy").c_str(), NC_CLOBBER, no_info, &other));
  const double values[] = {1.5, -2.5};
  EXPECT_OK(ncmpi_put_att_double(s.ncid, s.grid, "range", NC_DOUBLE, 2, values));
  EXPECT_OK(ncmpi_copy_att(s.ncid, s.grid, "range", other, NC_GLOBAL));
  EXPECT_OK(ncmpi_copy_att(s.ncid, s.grid, "range", s.ncid, s.grid));
  double got[2] = {};
  EXPECT_OK(ncmpi_get_att_double(other, NC_GLOBAL, "range", got));
  EXPECT_EQ(-2.5, got[1]);
  EXPECT_OK(ncmpi_close(other));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, fill_value_attribute_must_suit_its_variable) {
  const Sample s = create_sample(0, false);
  const int fill[2] = {5, 6};
  EXPECT_ERR(NC_EINVAL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 2, fill));
  EXPECT_ERR(NC_EINVAL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 0, fill));
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_SHORT, 1, fill));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "_FillValue", NC_SHORT, 2, fill));
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, fill));
  int no_fill = -1;
  int value = -1;
  EXPECT_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, &value));
  EXPECT_EQ(1, no_fill);
  EXPECT_EQ(5, value);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, out_of_range_numbers_are_stored_as_fill_and_reported) {
  const Sample s = create_sample(0, false);
  const int id = s.ncid;
  const int numbers[3] = {300, -5, 7};
  EXPECT_ERR(NC_ERANGE, ncmpi_put_att_int(id, NC_GLOBAL, "byte", NC_BYTE, 3, numbers));
  int back[3] = {};
  EXPECT_OK(ncmpi_get_att_int(id, NC_GLOBAL, "byte", back));
  EXPECT_EQ(-127, back[0]);
  EXPECT_EQ(-5, back[1]);
  EXPECT_EQ(7, back[2]);
  const double huge = 1e300;
  EXPECT_ERR(NC_ERANGE, ncmpi_put_att_double(id, NC_GLOBAL, "float", NC_FLOAT, 1, &huge));
  float real = 0;
  EXPECT_OK(ncmpi_get_att_float(id, NC_GLOBAL, "float", &real));
  EXPECT_EQ(NC_FILL_FLOAT, real);
  EXPECT_OK(ncmpi_put_att_int(id, NC_GLOBAL, "int", NC_INT, 3, numbers));
  signed char narrow[3] = {};
  EXPECT_ERR(NC_ERANGE, ncmpi_get_att_schar(id, NC_GLOBAL, "int", narrow));
  EXPECT_EQ(-127, static_cast<int>(narrow[0]));
  EXPECT_EQ(-5, static_cast<int>(narrow[1]));
  unsigned char positive[3] = {};
  EXPECT_ERR(NC_ERANGE, ncmpi_get_att_uchar(id, NC_GLOBAL, "int", positive));
  EXPECT_EQ(255, static_cast<int>(positive[0]));
  EXPECT_EQ(255, static_cast<int>(positive[1]));
  EXPECT_EQ(7, static_cast<int>(positive[2]));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Attributes, bytes_are_signed_or_not_in_cdf1_attributes) {
  const Sample s = create_sample(0, false);
  const unsigned char high[3] = {0xff, 0x80, 1};
  EXPECT_OK(ncmpi_put_att_uchar(s.ncid, NC_GLOBAL, "b", NC_BYTE, 3, high));
  signed char as_signed[3] = {};
  EXPECT_OK(ncmpi_get_att_schar(s.ncid, NC_GLOBAL, "b", as_signed));
  EXPECT_EQ(-1, static_cast<int>(as_signed[0]));
  EXPECT_EQ(-128, static_cast<int>(as_signed[1]));
  unsigned char as_unsigned[3] = {};
  EXPECT_OK(ncmpi_get_att_uchar(s.ncid, NC_GLOBAL, "b", as_unsigned));
  EXPECT_EQ(255, static_cast<int>(as_unsigned[0]));
  unsigned short wide[3] = {};
  EXPECT_ERR(NC_ERANGE, ncmpi_get_att_ushort(s.ncid, NC_GLOBAL, "b", wide));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, not_a_number_and_infinity) {
  const Sample s = create_sample(0, false);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_OK(ncmpi_put_att_double(s.ncid, NC_GLOBAL, "nan", NC_FLOAT, 1, &nan));
  float got = 0;
  EXPECT_OK(ncmpi_get_att_float(s.ncid, NC_GLOBAL, "nan", &got));
  EXPECT_TRUE(std::isnan(got));
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_ERR(NC_ERANGE, ncmpi_put_att_double(s.ncid, NC_GLOBAL, "inf", NC_FLOAT, 1, &infinite));
  EXPECT_OK(ncmpi_put_att_double(s.ncid, NC_GLOBAL, "inf2", NC_DOUBLE, 1, &infinite));
  double same = 0;
  EXPECT_OK(ncmpi_get_att_double(s.ncid, NC_GLOBAL, "inf2", &same));
  EXPECT_TRUE(std::isinf(same));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Attributes, many_attributes_survive) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_64BIT_DATA, no_info, &id));
  for (int i = 0; i < 500; ++i) {
    const std::string name = "attribute_" + std::to_string(i);
    const std::string text(static_cast<size_t>(i % 61), static_cast<char>('a' + i % 26));
    EXPECT_OK(ncmpi_put_att_text(id, NC_GLOBAL, name.c_str(), static_cast<MPI_Offset>(text.size()),
                                 text.c_str()));
  }
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
  int natts = 0;
  EXPECT_OK(ncmpi_inq_natts(id, &natts));
  EXPECT_EQ(500, natts);
  for (int i = 0; i < 500; i += 37) {
    const std::string name = "attribute_" + std::to_string(i);
    char got[64] = "";
    EXPECT_OK(ncmpi_get_att_text(id, NC_GLOBAL, name.c_str(), got));
    EXPECT_EQ(std::string(static_cast<size_t>(i % 61), static_cast<char>('a' + i % 26)),
              std::string(got));
  }
  EXPECT_OK(ncmpi_close(id));
}

TEST(Attributes, text_of_length_0_reads_as_numbers) {
  Sample s = create_sample(0, false);
  EXPECT_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "empty", 0, ""));
  EXPECT_OK(ncmpi_put_att_text(s.ncid, s.grid, "full", 1, "x"));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int number = 5;
  EXPECT_OK(ncmpi_get_att_int(s.ncid, NC_GLOBAL, "empty", &number));
  EXPECT_EQ(5, number);
  double real = 0;
  EXPECT_OK(ncmpi_get_att_double(s.ncid, NC_GLOBAL, "empty", &real));
  EXPECT_ERR(NC_ECHAR, ncmpi_get_att_int(s.ncid, s.grid, "full", &number));
  EXPECT_OK(ncmpi_close(s.ncid));
}
