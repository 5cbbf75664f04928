// The flexible interface: counts against datatypes, unusual datatypes, and vard.
#include <pnetcdf.h>

#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

// Commits a datatype and frees it at the end of the scope.
class Datatype {
 public:
  explicit Datatype(MPI_Datatype type) : type_(type) { MPI_Type_commit(&type_); }
  ~Datatype() { MPI_Type_free(&type_); }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  operator MPI_Datatype() const { return type_; }  // NOLINT: stands for the handle

 private:
  MPI_Datatype type_;
};

MPI_Datatype contiguous(int n, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_contiguous(n, of, &type);
  return type;
}

MPI_Datatype vector(int n, int length, int stride, MPI_Datatype of) {
  MPI_Datatype type;
  MPI_Type_vector(n, length, stride, of, &type);
  return type;
}

}  // namespace

TEST_CASE(counts_must_match_the_selection) {
  const Sample s = create_sample(t);
  int values[64] = {};
  const int id = s.ncid;
  const int g = s.grid;
  CHECK_OK(ncmpi_put_var_all(id, g, values, 24, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 23, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 25, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 0, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, -2, MPI_INT));
  // -1 stands for as many as the selection has, of a predefined type.
  CHECK_OK(ncmpi_put_var_all(id, g, values, -1, MPI_INT));
  // The null type stands for the memory type of the variable.
  CHECK_OK(ncmpi_put_var_all(id, g, values, 24, MPI_DATATYPE_NULL));
  const Index start = {0, 0};
  const Index none = {0, 6};
  CHECK_OK(ncmpi_put_vara_all(id, g, start.data(), none.data(), values, 0, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH,
            ncmpi_put_vara_all(id, g, start.data(), none.data(), values, 6, MPI_INT));
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(element_types_that_are_not_supported) {
  const Sample s = create_sample(t);
  int values[128] = {};
  for (const MPI_Datatype type : {MPI_2INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE}) {
    CHECK_ERR(NC_EUNSPTETYPE, ncmpi_put_var_all(s.ncid, s.grid, values, 24, type));
  }
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT};
  MPI_Datatype mixed_type;
  MPI_Type_create_struct(2, lengths, places, parts, &mixed_type);
  const Datatype mixed(mixed_type);
  const Index start = {0, 0};
  const Index two = {1, 2};
  CHECK_ERR(NC_EMULTITYPES,
            ncmpi_put_vara_all(s.ncid, s.grid, start.data(), two.data(), values, 1, mixed));
  CHECK_ERR(NC_EBADTYPE, ncmpi_put_var_all(s.ncid, s.grid, values, 24, MPI_BYTE));
  if (is_forebay()) {  // the peer stops on an assertion
    CHECK_ERR(NC_ECHAR, ncmpi_put_var_all(s.ncid, s.text, values, 6, MPI_INT));
  }
  CHECK_OK(ncmpi_put_var_all(s.ncid, s.text, "abcdef", 6, MPI_CHAR));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(rows_of_a_padded_array) {
  const Sample s = create_sample(t);
  int padded[4 * 8];
  for (int i = 0; i < 32; ++i) padded[i] = i;
  const Datatype inside(vector(4, 6, 8, MPI_INT));
  CHECK_OK(ncmpi_put_var_all(s.ncid, s.grid, padded, 1, inside));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (int i = 0; i < 24; ++i) CHECK_EQ(i / 6 * 8 + i % 6, got[i]);
  int back[4 * 8];
  for (int& x : back) x = -1;
  CHECK_OK(ncmpi_get_var_all(s.ncid, s.grid, back, 1, inside));
  for (int i = 0; i < 32; ++i) CHECK_EQ(i % 8 < 6 ? padded[i] : -1, back[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(conversion_with_gaps) {
  const Sample s = create_sample(t);
  double spaced[12];
  for (int i = 0; i < 12; ++i) spaced[i] = i + 0.25;
  const Datatype every_second(vector(6, 1, 2, MPI_DOUBLE));
  CHECK_OK(ncmpi_put_var_all(s.ncid, s.real, spaced, 1, every_second));
  float got[6] = {};
  CHECK_OK(ncmpi_get_var_float_all(s.ncid, s.real, got));
  for (int i = 0; i < 6; ++i) CHECK_EQ(static_cast<float>(2 * i + 0.25), got[i]);
  short back[12];
  for (short& x : back) x = -7;
  const Datatype shorts(vector(6, 1, 2, MPI_SHORT));
  CHECK_OK(ncmpi_get_var_all(s.ncid, s.real, back, 1, shorts));
  for (int i = 0; i < 12; ++i) CHECK_EQ(i % 2 == 0 ? i : -7, static_cast<int>(back[i]));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(several_elements_of_a_derived_type) {
  const Sample s = create_sample(t);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 5 * i;
  const Datatype row(contiguous(6, MPI_INT));
  CHECK_OK(ncmpi_put_var_all(s.ncid, s.grid, values, 4, row));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_all(s.ncid, s.grid, got, 4, row));
  for (int i = 0; i < 24; ++i) CHECK_EQ(values[i], got[i]);
  const Datatype nested(contiguous(2, row));
  CHECK_OK(ncmpi_get_var_all(s.ncid, s.grid, got, 2, nested));
  for (int i = 0; i < 24; ++i) CHECK_EQ(values[i], got[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(nonblocking_flexible_requests_keep_their_datatype) {
  // The type is freed before the request completes.
  const Sample s = create_sample(t);
  int padded[4 * 8];
  for (int i = 0; i < 32; ++i) padded[i] = 1000 + i;
  int request = NC_REQ_NULL;
  {
    const Datatype inside(vector(4, 6, 8, MPI_INT));
    if (t.rank() == 0) CHECK_OK(ncmpi_iput_var(s.ncid, s.grid, padded, 1, inside, &request));
  }
  CHECK_OK(ncmpi_wait_all(s.ncid, 1, &request, nullptr));
  int back[4 * 8];
  for (int& x : back) x = -1;
  {
    const Datatype inside(vector(4, 6, 8, MPI_INT));
    CHECK_OK(ncmpi_iget_var(s.ncid, s.grid, back, 1, inside, &request));
  }
  CHECK_OK(ncmpi_wait_all(s.ncid, 1, &request, nullptr));
  for (int i = 0; i < 32; ++i) CHECK_EQ(i % 8 < 6 ? padded[i] : -1, back[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(transposed_write_and_read) {
  const Sample s = create_sample(t);
  // Memory holds the 4 x 6 grid with columns outermost.
  int columns_first[24];
  for (int i = 0; i < 24; ++i) columns_first[i] = i;
  const Index start = {0, 0};
  const Index count = {4, 6};
  const Index map = {1, 4};
  CHECK_OK(ncmpi_put_varm_int_all(s.ncid, s.grid, start.data(), count.data(), nullptr, map.data(),
                                  columns_first));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) CHECK_EQ(x * 4 + y, got[y * 6 + x]);
  }
  int back[24] = {};
  CHECK_OK(ncmpi_get_varm_int_all(s.ncid, s.grid, start.data(), count.data(), nullptr, map.data(),
                                  back));
  for (int i = 0; i < 24; ++i) CHECK_EQ(i, back[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(vard_takes_a_filetype) {
  const Sample s = create_sample(t);
  int zeros[24] = {};
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.grid, zeros));
  // Rank r writes row r, as far as there are rows.
  const int values[6] = {1, 2, 3, 4, 5, 6};
  if (t.rank() < 4) {
    const int sizes[2] = {4, 6};
    const int inner[2] = {1, 6};
    const int starts[2] = {t.rank(), 0};
    MPI_Datatype row;
    MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_INT, &row);
    const Datatype filetype(row);
    CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, filetype, values, 6, MPI_INT));
  } else {
    CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, MPI_DATATYPE_NULL, values, 0, MPI_INT));
  }
  int got[24] = {};
  const Datatype whole(contiguous(24, MPI_INT));
  CHECK_OK(ncmpi_get_vard_all(s.ncid, s.grid, whole, got, 24, MPI_INT));
  for (int i = 0; i < 24; ++i) CHECK_EQ(i / 6 < t.size() ? i % 6 + 1 : 0, got[i]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(vard_arguments) {
  const Sample s = create_sample(t);
  int values[32] = {};
  const Datatype whole(contiguous(24, MPI_INT));
  CHECK_ERR(NC_EIOMISMATCH, ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 23, MPI_INT));
  CHECK_ERR(NC_ETYPE_MISMATCH, ncmpi_put_vard_all(s.ncid, s.real, whole, values, 24, MPI_INT));
  CHECK_ERR(NC_ENOTVAR, ncmpi_put_vard_all(s.ncid, 99, whole, values, 24, MPI_INT));
  CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 24, MPI_INT));
  CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 1, whole));
  CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 1, MPI_DATATYPE_NULL));
  CHECK_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 0, MPI_INT));
  CHECK_OK(ncmpi_close(s.ncid));
}
