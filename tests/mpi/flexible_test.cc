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

TEST(Flexible, counts_must_match_the_selection) {
  const Sample s = create_sample();
  int values[64] = {};
  const int id = s.ncid;
  const int g = s.grid;
  EXPECT_OK(ncmpi_put_var_all(id, g, values, 24, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 23, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 25, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, 0, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH, ncmpi_put_var_all(id, g, values, -2, MPI_INT));
  // -1 stands for as many as the selection has, of a predefined type.
  EXPECT_OK(ncmpi_put_var_all(id, g, values, -1, MPI_INT));
  // The null type stands for the memory type of the variable.
  EXPECT_OK(ncmpi_put_var_all(id, g, values, 24, MPI_DATATYPE_NULL));
  const Index start = {0, 0};
  const Index none = {0, 6};
  EXPECT_OK(ncmpi_put_vara_all(id, g, start.data(), none.data(), values, 0, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH,
             ncmpi_put_vara_all(id, g, start.data(), none.data(), values, 6, MPI_INT));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Flexible, element_types_that_are_not_supported) {
  const Sample s = create_sample();
  int values[128] = {};
  for (const MPI_Datatype type : {MPI_2INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE}) {
    EXPECT_ERR(NC_EUNSPTETYPE, ncmpi_put_var_all(s.ncid, s.grid, values, 24, type));
  }
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT};
  MPI_Datatype mixed_type;
  MPI_Type_create_struct(2, lengths, places, parts, &mixed_type);
  const Datatype mixed(mixed_type);
  const Index start = {0, 0};
  const Index two = {1, 2};
  EXPECT_ERR(NC_EMULTITYPES,
             ncmpi_put_vara_all(s.ncid, s.grid, start.data(), two.data(), values, 1, mixed));
  EXPECT_ERR(NC_EBADTYPE, ncmpi_put_var_all(s.ncid, s.grid, values, 24, MPI_BYTE));
  if (is_forebay()) {  // the peer stops on an assertion
    EXPECT_ERR(NC_ECHAR, ncmpi_put_var_all(s.ncid, s.text, values, 6, MPI_INT));
  }
  EXPECT_OK(ncmpi_put_var_all(s.ncid, s.text, "abcdef", 6, MPI_CHAR));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, rows_of_a_padded_array) {
  const Sample s = create_sample();
  int padded[4 * 8];
  for (int i = 0; i < 32; ++i) padded[i] = i;
  const Datatype inside(vector(4, 6, 8, MPI_INT));
  EXPECT_OK(ncmpi_put_var_all(s.ncid, s.grid, padded, 1, inside));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(i / 6 * 8 + i % 6, got[i]);
  int back[4 * 8];
  for (int& x : back) x = -1;
  EXPECT_OK(ncmpi_get_var_all(s.ncid, s.grid, back, 1, inside));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(i % 8 < 6 ? padded[i] : -1, back[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, conversion_with_gaps) {
  const Sample s = create_sample();
  double spaced[12];
  for (int i = 0; i < 12; ++i) spaced[i] = i + 0.25;
  const Datatype every_second(vector(6, 1, 2, MPI_DOUBLE));
  EXPECT_OK(ncmpi_put_var_all(s.ncid, s.real, spaced, 1, every_second));
  float got[6] = {};
  EXPECT_OK(ncmpi_get_var_float_all(s.ncid, s.real, got));
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<float>(2 * i + 0.25), got[i]);
  short back[12];
  for (short& x : back) x = -7;
  const Datatype shorts(vector(6, 1, 2, MPI_SHORT));
  EXPECT_OK(ncmpi_get_var_all(s.ncid, s.real, back, 1, shorts));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(i % 2 == 0 ? i : -7, static_cast<int>(back[i]));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, several_elements_of_a_derived_type) {
  const Sample s = create_sample();
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 5 * i;
  const Datatype row(contiguous(6, MPI_INT));
  EXPECT_OK(ncmpi_put_var_all(s.ncid, s.grid, values, 4, row));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_all(s.ncid, s.grid, got, 4, row));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
  const Datatype nested(contiguous(2, row));
  EXPECT_OK(ncmpi_get_var_all(s.ncid, s.grid, got, 2, nested));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, nonblocking_flexible_requests_keep_their_datatype) {
  // The type is freed before the request completes.
  const Sample s = create_sample();
  int padded[4 * 8];
  for (int i = 0; i < 32; ++i) padded[i] = 1000 + i;
  int request = NC_REQ_NULL;
  {
    const Datatype inside(vector(4, 6, 8, MPI_INT));
    if (world.rank == 0) {
      EXPECT_OK(ncmpi_iput_var(s.ncid, s.grid, padded, 1, inside, &request));
    }
  }
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &request, nullptr));
  int back[4 * 8];
  for (int& x : back) x = -1;
  {
    const Datatype inside(vector(4, 6, 8, MPI_INT));
    EXPECT_OK(ncmpi_iget_var(s.ncid, s.grid, back, 1, inside, &request));
  }
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &request, nullptr));
  for (int i = 0; i < 32; ++i) EXPECT_EQ(i % 8 < 6 ? padded[i] : -1, back[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, transposed_write_and_read) {
  const Sample s = create_sample();
  // Memory holds the 4 x 6 grid with columns outermost.
  int columns_first[24];
  for (int i = 0; i < 24; ++i) columns_first[i] = i;
  const Index start = {0, 0};
  const Index count = {4, 6};
  const Index map = {1, 4};
  EXPECT_OK(ncmpi_put_varm_int_all(s.ncid, s.grid, start.data(), count.data(), nullptr, map.data(),
                                   columns_first));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) EXPECT_EQ(x * 4 + y, got[y * 6 + x]);
  }
  int back[24] = {};
  EXPECT_OK(ncmpi_get_varm_int_all(s.ncid, s.grid, start.data(), count.data(), nullptr, map.data(),
                                   back));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(i, back[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, vard_takes_a_filetype) {
  const Sample s = create_sample();
  int zeros[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, zeros));
  // Rank r writes row r, as far as there are rows.
  const int values[6] = {1, 2, 3, 4, 5, 6};
  if (world.rank < 4) {
    const int sizes[2] = {4, 6};
    const int inner[2] = {1, 6};
    const int starts[2] = {world.rank, 0};
    MPI_Datatype row;
    MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_INT, &row);
    const Datatype filetype(row);
    EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, filetype, values, 6, MPI_INT));
  } else {
    EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, MPI_DATATYPE_NULL, values, 0, MPI_INT));
  }
  int got[24] = {};
  const Datatype whole(contiguous(24, MPI_INT));
  EXPECT_OK(ncmpi_get_vard_all(s.ncid, s.grid, whole, got, 24, MPI_INT));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(i / 6 < world.size ? i % 6 + 1 : 0, got[i]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, vard_arguments) {
  const Sample s = create_sample();
  int values[32] = {};
  const Datatype whole(contiguous(24, MPI_INT));
  EXPECT_ERR(NC_EIOMISMATCH, ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 23, MPI_INT));
  EXPECT_ERR(NC_ETYPE_MISMATCH, ncmpi_put_vard_all(s.ncid, s.real, whole, values, 24, MPI_INT));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_put_vard_all(s.ncid, 99, whole, values, 24, MPI_INT));
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 24, MPI_INT));
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 1, whole));
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 1, MPI_DATATYPE_NULL));
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, whole, values, 0, MPI_INT));
  EXPECT_OK(ncmpi_close(s.ncid));
}

// Programs give steps of bytes that are no multiple of an element: its bytes go where they say.
TEST(Flexible, vard_takes_pieces_at_any_byte) {
  const Sample s = create_sample();
  const int zeros[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, zeros));
  const MPI_Aint places[] = {0, 19, 38};
  MPI_Datatype made;
  const int lengths[] = {4, 4, 4};
  MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &made);
  const Datatype filetype(made);
  int values[12];
  for (int i = 0; i < 12; ++i) values[i] = 0x01020304 * (i + 1);
  const bool mine = world.rank == 0;
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, mine ? filetype : MPI_DATATYPE_NULL, values,
                               mine ? 12 : 0, MPI_INT));
  int back[12] = {};
  EXPECT_OK(ncmpi_get_vard_all(s.ncid, s.grid, filetype, back, 12, MPI_INT));
  for (int i = 0; i < 12; ++i) EXPECT_EQ(values[i], back[i]);
  unsigned char expected[96] = {};
  for (int i = 0; i < 12; ++i)
    for (int b = 0; b < 4; ++b)
      expected[places[i / 4] + i % 4 * 4 + b] =
          static_cast<unsigned char>(static_cast<unsigned>(values[i]) >> (24 - 8 * b));
  int grid[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, grid));
  for (int i = 0; i < 24; ++i) {
    unsigned value = 0;
    for (int b = 0; b < 4; ++b) value = value << 8 | expected[4 * i + b];
    EXPECT_EQ(static_cast<int>(value), grid[i]);
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}

// The bytes of a file type count from the variable's begin, whatever variable they belong to.
TEST(Flexible, vard_reaches_other_variables_and_records) {
  const Sample s = create_sample();
  MPI_Offset grid = 0, scalar = 0, series = 0, record = 0;
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.grid, &grid));
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.scalar, &scalar));
  EXPECT_OK(ncmpi_inq_varoffset(s.ncid, s.series, &series));
  EXPECT_OK(ncmpi_inq_recsize(s.ncid, &record));
  const int zeros[24] = {};
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, zeros));
  const Index begin = {0, 0}, three = {3, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, begin.data(), three.data(), zeros));
  // Two rows of grid, scalar, two elements of record 0 and four of record 2; from rank 0.
  const int lengths[] = {12, 1, 2, 4};
  const MPI_Aint places[] = {24, scalar - grid, series - grid, series - grid + 2 * record + 8};
  MPI_Datatype made;
  MPI_Type_create_hindexed(4, lengths, places, MPI_INT, &made);
  const Datatype filetype(made);
  double values[19];
  for (int i = 0; i < 19; ++i) values[i] = i + 1;
  const bool mine = world.rank == 0;
  EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, mine ? filetype : MPI_DATATYPE_NULL, values,
                               mine ? 19 : 0, MPI_DOUBLE));
  EXPECT_EQ(MPI_Offset{3}, records(s));
  int rows[24] = {}, one = 0, first[2] = {}, last[4] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, rows));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(i < 6 || i >= 18 ? 0 : i - 5, rows[i]);
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &one));
  EXPECT_EQ(13, one);
  const Index at0 = {0, 0}, two = {1, 2}, at2 = {2, 2}, four = {1, 4};
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.series, at0.data(), two.data(), first));
  EXPECT_OK(ncmpi_get_vara_int_all(s.ncid, s.series, at2.data(), four.data(), last));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(14 + i, first[i]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(16 + i, last[i]);
  // Read back by everybody, into memory with gaps.
  const Datatype spread(vector(19, 1, 2, MPI_INT));
  int back[38] = {};
  EXPECT_OK(ncmpi_get_vard_all(s.ncid, s.grid, filetype, back, 1, spread));
  for (int i = 0; i < 38; ++i) EXPECT_EQ(i % 2 == 0 ? i / 2 + 1 : 0, back[i]);
  if (is_forebay()) {  // the peer raises the number of records for a record variable's vard only
    const int one_element = 1;
    const MPI_Aint place = series - grid + 4 * record;
    MPI_Type_create_hindexed(1, &one_element, &place, MPI_INT, &made);
    const Datatype beyond(made);
    EXPECT_OK(ncmpi_put_vard_all(s.ncid, s.grid, beyond, zeros, 1, MPI_INT));
    EXPECT_EQ(MPI_Offset{5}, records(s));
  }
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  const int more[19] = {};
  EXPECT_OK(ncmpi_put_vard(s.ncid, s.grid, filetype, more, 19, MPI_INT));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &one));
  EXPECT_EQ(0, one);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Flexible, vard_refuses_what_is_no_element_of_its_type) {
  const Sample s = create_sample();
  if (!is_forebay()) {  // the peer writes there
    EXPECT_OK(ncmpi_close(s.ncid));
    return;
  }
  const int values[32] = {};
  const Datatype into_padding(contiguous(8, MPI_CHAR));  // text has 6
  EXPECT_ERR(NC_ETYPESIZE, ncmpi_put_vard_all(s.ncid, s.text, into_padding, values, 8, MPI_CHAR));
  const Datatype into_text(contiguous(26, MPI_INT));
  EXPECT_ERR(NC_ETYPE_MISMATCH, ncmpi_put_vard_all(s.ncid, s.grid, into_text, values, 26, MPI_INT));
  const int length = 1;
  for (const MPI_Aint place : {MPI_Aint{94}, MPI_Aint{-4}}) {  // grid has 96 bytes
    MPI_Datatype made;
    MPI_Type_create_hindexed(1, &length, &place, MPI_INT, &made);
    const Datatype askew(made);
    EXPECT_ERR(NC_ETYPESIZE, ncmpi_put_vard_all(s.ncid, s.grid, askew, values, 1, MPI_INT));
  }
  EXPECT_OK(ncmpi_close(s.ncid));
}
