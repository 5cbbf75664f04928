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
void round_trip(Context& t, const char* stem) {
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_64BIT_DATA, no_info, &id));
  const T put[] = {0, 1, 2, 50, 127};
  for (const nc_type type : number_types) {
    const std::string name = stem + std::to_string(type);
    CHECK_OK(Api<T>::put_att(id, NC_GLOBAL, name.c_str(), type, 5, put));
  }
  CHECK_ERR(NC_ECHAR, Api<T>::put_att(id, NC_GLOBAL, "text", NC_CHAR, 5, put));
  for (int pass = 0; pass < 2; ++pass) {
    for (const nc_type type : number_types) {
      const std::string name = stem + std::to_string(type);
      T got[5] = {9, 9, 9, 9, 9};
      CHECK_OK(Api<T>::get_att(id, NC_GLOBAL, name.c_str(), got));
      for (int i = 0; i < 5; ++i) CHECK_EQ(put[i], got[i]);
      nc_type stored = NC_NAT;
      MPI_Offset length = 0;
      CHECK_OK(ncmpi_inq_att(id, NC_GLOBAL, name.c_str(), &stored, &length));
      CHECK_EQ(type, stored);
      CHECK_EQ(MPI_Offset{5}, length);
    }
    if (pass == 0) {
      CHECK_OK(ncmpi_close(id));
      CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &id));
    }
  }
  CHECK_OK(ncmpi_close(id));
}

}  // namespace

TEST_CASE(numbers_of_every_memory_and_external_type) {
  round_trip<signed char>(t, "schar");
  round_trip<unsigned char>(t, "uchar");
  round_trip<short>(t, "short");
  round_trip<unsigned short>(t, "ushort");
  round_trip<int>(t, "int");
  round_trip<unsigned int>(t, "uint");
  round_trip<long>(t, "long");
  round_trip<float>(t, "float");
  round_trip<double>(t, "double");
  round_trip<long long>(t, "longlong");
  round_trip<unsigned long long>(t, "ulonglong");
}

TEST_CASE(text_and_empty_attributes) {
  Sample s = create_sample(t, 0, false);
  CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "title", 5, "hello"));
  CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "none", 0, ""));
  CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "null", 0, nullptr));
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "zero", NC_INT, 0, nullptr));
  CHECK_OK(ncmpi_put_att(s.ncid, s.grid, "generic", NC_CHAR, 3, "abc"));
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  char text[8] = "-------";
  CHECK_OK(ncmpi_get_att_text(s.ncid, NC_GLOBAL, "title", text));
  CHECK_EQ(std::string("hello--"), std::string(text));
  CHECK_OK(ncmpi_get_att_text(s.ncid, NC_GLOBAL, "none", text));
  CHECK_EQ(std::string("hello--"), std::string(text));
  nc_type type = NC_NAT;
  MPI_Offset length = 9;
  CHECK_OK(ncmpi_inq_att(s.ncid, s.grid, "zero", &type, &length));
  CHECK_EQ(NC_INT, type);
  CHECK_EQ(MPI_Offset{0}, length);
  CHECK_OK(ncmpi_get_att_int(s.ncid, s.grid, "zero", nullptr));
  CHECK_OK(ncmpi_get_att(s.ncid, s.grid, "generic", text));
  CHECK_EQ(std::string("abclo--"), std::string(text));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(attribute_arguments_that_make_no_sense) {
  const Sample s = create_sample(t, 0, false);
  int values[3] = {1, 2, 3};
  char name[NC_MAX_NAME + 1];
  const int id = s.ncid;
  CHECK_ERR(NC_EINVAL, ncmpi_put_att_int(id, s.grid, "a", NC_INT, 1, nullptr));
  CHECK_ERR(NC_EINVAL, ncmpi_put_att_int(id, s.grid, "a", NC_INT, -1, values));
  CHECK_ERR(NC_ECHAR, ncmpi_put_att_int(id, s.grid, "a", NC_CHAR, 1, values));
  CHECK_ERR(NC_ESTRICTCDF2, ncmpi_put_att_int(id, s.grid, "a", NC_UINT, 1, values));
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_att_int(id, s.grid, "a", NC_STRING, 1, values));
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_att_int(id, s.grid, "a", NC_NAT, 1, values));
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_att(id, s.grid, "a", NC_NAT, 1, values));
  CHECK_ERR(NC_ENOTVAR, ncmpi_put_att_int(id, 77, "a", NC_INT, 1, values));
  CHECK_ERR(NC_ENOTVAR, ncmpi_put_att_int(id, -2, "a", NC_INT, 1, values));
  CHECK_ERR(NC_EBADNAME, ncmpi_put_att_int(id, s.grid, nullptr, NC_INT, 1, values));
  CHECK_OK(ncmpi_put_att_int(id, s.grid, "a", NC_INT, 3, values));
  CHECK_OK(ncmpi_put_att_text(id, s.grid, "t", 3, "abc"));
  nc_type type = NC_NAT;
  MPI_Offset length = 0;
  CHECK_ERR(NC_ENOTATT, ncmpi_inq_att(id, s.grid, "none", &type, &length));
  CHECK_ERR(NC_ENOTATT, ncmpi_inq_attname(id, s.grid, 99, name));
  CHECK_ERR(NC_ENOTATT, ncmpi_inq_attname(id, s.grid, -1, name));
  CHECK_ERR(NC_ENOTATT, ncmpi_get_att_int(id, s.grid, "none", values));
  CHECK_ERR(NC_ECHAR, ncmpi_get_att_text(id, s.grid, "a", name));
  CHECK_ERR(NC_ECHAR, ncmpi_get_att_int(id, s.grid, "t", values));
  CHECK_ERR(NC_ENOTVAR, ncmpi_get_att_int(id, 77, "a", values));
  CHECK_ERR(NC_EINVAL, ncmpi_get_att_int(id, s.grid, "a", nullptr));
  CHECK_ERR(NC_EBADNAME, ncmpi_get_att_int(id, s.grid, nullptr, values));
  CHECK_ERR(NC_ENOTATT, ncmpi_del_att(id, s.grid, "none"));
  CHECK_ERR(NC_ENOTVAR, ncmpi_del_att(id, 77, "a"));
  CHECK_ERR(NC_ENOTATT, ncmpi_rename_att(id, s.grid, "none", "b"));
  CHECK_ERR(NC_ENAMEINUSE, ncmpi_rename_att(id, s.grid, "a", "t"));
  CHECK_ERR(NC_ENOTATT, ncmpi_copy_att(id, s.grid, "none", id, NC_GLOBAL));
  CHECK_ERR(NC_ENOTVAR, ncmpi_copy_att(id, s.grid, "a", id, 77));
  CHECK_ERR(NC_ENOTVAR, ncmpi_copy_att(id, 77, "a", id, s.grid));
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(ids_follow_the_order_of_definition_and_close_up_after_deletion) {
  const Sample s = create_sample(t, 0, false);
  const int one = 1;
  for (const char* name : {"a", "b", "c", "d"}) {
    CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, name, NC_INT, 1, &one));
  }
  CHECK_OK(ncmpi_del_att(s.ncid, s.grid, "b"));
  int id = -1;
  CHECK_OK(ncmpi_inq_attid(s.ncid, s.grid, "a", &id));
  CHECK_EQ(0, id);
  CHECK_OK(ncmpi_inq_attid(s.ncid, s.grid, "d", &id));
  CHECK_EQ(2, id);
  CHECK_OK(ncmpi_rename_att(s.ncid, s.grid, "c", "much_longer"));
  char name[NC_MAX_NAME + 1];
  CHECK_OK(ncmpi_inq_attname(s.ncid, s.grid, 1, name));
  CHECK_EQ(std::string("much_longer"), std::string(name));
  // Overwriting with another type and length keeps the place.
  CHECK_OK(ncmpi_put_att_text(s.ncid, s.grid, "a", 4, "text"));
  CHECK_OK(ncmpi_inq_attid(s.ncid, s.grid, "a", &id));
  CHECK_EQ(0, id);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(attributes_copy_between_files) {
  const Sample s = create_sample(t, 0, false);
  int other = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path("copy").c_str(), NC_CLOBBER, no_info, &other));
  const double values[] = {1.5, -2.5};
  CHECK_OK(ncmpi_put_att_double(s.ncid, s.grid, "range", NC_DOUBLE, 2, values));
  CHECK_OK(ncmpi_copy_att(s.ncid, s.grid, "range", other, NC_GLOBAL));
  CHECK_OK(ncmpi_copy_att(s.ncid, s.grid, "range", s.ncid, s.grid));
  double got[2] = {};
  CHECK_OK(ncmpi_get_att_double(other, NC_GLOBAL, "range", got));
  CHECK_EQ(-2.5, got[1]);
  CHECK_OK(ncmpi_close(other));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(fill_value_attribute_must_suit_its_variable) {
  const Sample s = create_sample(t, 0, false);
  const int fill[2] = {5, 6};
  CHECK_ERR(NC_EINVAL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 2, fill));
  CHECK_ERR(NC_EINVAL, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 0, fill));
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_SHORT, 1, fill));
  CHECK_OK(ncmpi_put_att_int(s.ncid, NC_GLOBAL, "_FillValue", NC_SHORT, 2, fill));
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "_FillValue", NC_INT, 1, fill));
  int no_fill = -1;
  int value = -1;
  CHECK_OK(ncmpi_inq_var_fill(s.ncid, s.grid, &no_fill, &value));
  CHECK_EQ(1, no_fill);
  CHECK_EQ(5, value);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(out_of_range_numbers_are_stored_as_fill_and_reported) {
  const Sample s = create_sample(t, 0, false);
  const int id = s.ncid;
  const int numbers[3] = {300, -5, 7};
  CHECK_ERR(NC_ERANGE, ncmpi_put_att_int(id, NC_GLOBAL, "byte", NC_BYTE, 3, numbers));
  int back[3] = {};
  CHECK_OK(ncmpi_get_att_int(id, NC_GLOBAL, "byte", back));
  CHECK_EQ(-127, back[0]);
  CHECK_EQ(-5, back[1]);
  CHECK_EQ(7, back[2]);
  const double huge = 1e300;
  CHECK_ERR(NC_ERANGE, ncmpi_put_att_double(id, NC_GLOBAL, "float", NC_FLOAT, 1, &huge));
  float real = 0;
  CHECK_OK(ncmpi_get_att_float(id, NC_GLOBAL, "float", &real));
  CHECK_EQ(NC_FILL_FLOAT, real);
  CHECK_OK(ncmpi_put_att_int(id, NC_GLOBAL, "int", NC_INT, 3, numbers));
  signed char narrow[3] = {};
  CHECK_ERR(NC_ERANGE, ncmpi_get_att_schar(id, NC_GLOBAL, "int", narrow));
  CHECK_EQ(-127, static_cast<int>(narrow[0]));
  CHECK_EQ(-5, static_cast<int>(narrow[1]));
  unsigned char positive[3] = {};
  CHECK_ERR(NC_ERANGE, ncmpi_get_att_uchar(id, NC_GLOBAL, "int", positive));
  CHECK_EQ(255, static_cast<int>(positive[0]));
  CHECK_EQ(255, static_cast<int>(positive[1]));
  CHECK_EQ(7, static_cast<int>(positive[2]));
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(bytes_are_signed_or_not_in_cdf1_attributes) {
  const Sample s = create_sample(t, 0, false);
  const unsigned char high[3] = {0xff, 0x80, 1};
  CHECK_OK(ncmpi_put_att_uchar(s.ncid, NC_GLOBAL, "b", NC_BYTE, 3, high));
  signed char as_signed[3] = {};
  CHECK_OK(ncmpi_get_att_schar(s.ncid, NC_GLOBAL, "b", as_signed));
  CHECK_EQ(-1, static_cast<int>(as_signed[0]));
  CHECK_EQ(-128, static_cast<int>(as_signed[1]));
  unsigned char as_unsigned[3] = {};
  CHECK_OK(ncmpi_get_att_uchar(s.ncid, NC_GLOBAL, "b", as_unsigned));
  CHECK_EQ(255, static_cast<int>(as_unsigned[0]));
  unsigned short wide[3] = {};
  CHECK_ERR(NC_ERANGE, ncmpi_get_att_ushort(s.ncid, NC_GLOBAL, "b", wide));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(not_a_number_and_infinity) {
  const Sample s = create_sample(t, 0, false);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_OK(ncmpi_put_att_double(s.ncid, NC_GLOBAL, "nan", NC_FLOAT, 1, &nan));
  float got = 0;
  CHECK_OK(ncmpi_get_att_float(s.ncid, NC_GLOBAL, "nan", &got));
  CHECK(std::isnan(got));
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_ERR(NC_ERANGE, ncmpi_put_att_double(s.ncid, NC_GLOBAL, "inf", NC_FLOAT, 1, &infinite));
  CHECK_OK(ncmpi_put_att_double(s.ncid, NC_GLOBAL, "inf2", NC_DOUBLE, 1, &infinite));
  double same = 0;
  CHECK_OK(ncmpi_get_att_double(s.ncid, NC_GLOBAL, "inf2", &same));
  CHECK(std::isinf(same));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(many_attributes_survive) {
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_64BIT_DATA, no_info, &id));
  for (int i = 0; i < 500; ++i) {
    const std::string name = "attribute_" + std::to_string(i);
    const std::string text(static_cast<size_t>(i % 61), static_cast<char>('a' + i % 26));
    CHECK_OK(ncmpi_put_att_text(id, NC_GLOBAL, name.c_str(), static_cast<MPI_Offset>(text.size()),
                                text.c_str()));
  }
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &id));
  int natts = 0;
  CHECK_OK(ncmpi_inq_natts(id, &natts));
  CHECK_EQ(500, natts);
  for (int i = 0; i < 500; i += 37) {
    const std::string name = "attribute_" + std::to_string(i);
    char got[64] = "";
    CHECK_OK(ncmpi_get_att_text(id, NC_GLOBAL, name.c_str(), got));
    CHECK_EQ(std::string(static_cast<size_t>(i % 61), static_cast<char>('a' + i % 26)),
             std::string(got));
  }
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(text_of_length_0_reads_as_numbers) {
  Sample s = create_sample(t, 0, false);
  CHECK_OK(ncmpi_put_att_text(s.ncid, NC_GLOBAL, "empty", 0, ""));
  CHECK_OK(ncmpi_put_att_text(s.ncid, s.grid, "full", 1, "x"));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int number = 5;
  CHECK_OK(ncmpi_get_att_int(s.ncid, NC_GLOBAL, "empty", &number));
  CHECK_EQ(5, number);
  double real = 0;
  CHECK_OK(ncmpi_get_att_double(s.ncid, NC_GLOBAL, "empty", &real));
  CHECK_ERR(NC_ECHAR, ncmpi_get_att_int(s.ncid, s.grid, "full", &number));
  CHECK_OK(ncmpi_close(s.ncid));
}
