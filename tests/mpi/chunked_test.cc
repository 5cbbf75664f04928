// Chunked and compressed variables through the C interface.
#include <forebay.h>
#include <pnetcdf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

int create(const Hints& hints = {}) {
  const Info info(hints);
  int ncid = -1;
  EXPECT_OK(
      ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &ncid));
  return ncid;
}

int open(int mode = NC_NOWRITE, const Hints& hints = {}) {
  const Info info(hints);
  int ncid = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), mode, info, &ncid));
  return ncid;
}

int define(int ncid, const char* name, nc_type type,
           const std::vector<std::pair<std::string, MPI_Offset>>& dims) {
  std::vector<int> ids;
  for (const auto& [dim, length] : dims) {
    int id = -1;
    if (ncmpi_inq_dimid(ncid, dim.c_str(), &id) != NC_NOERR) {
      EXPECT_OK(ncmpi_def_dim(ncid, dim.c_str(), length, &id));
    }
    ids.push_back(id);
  }
  int varid = -1;
  EXPECT_OK(ncmpi_def_var(ncid, name, type, static_cast<int>(ids.size()), ids.data(), &varid));
  return varid;
}

std::string filter_of(int ncid, int varid) {
  MPI_Offset length = -1;
  EXPECT_OK(ncmpi_var_get_filter(ncid, varid, &length, nullptr));
  std::string text(static_cast<size_t>(length) + 1, '?');
  EXPECT_OK(ncmpi_var_get_filter(ncid, varid, nullptr, text.data()));
  EXPECT_EQ('\0', text.back());
  text.pop_back();
  return text;
}

MPI_Offset file_size(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

// Rank r has rows [r * rows, (r + 1) * rows) of a 2-D variable of `columns` columns.
std::vector<double> block(MPI_Offset rows, MPI_Offset columns, double shift = 0) {
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(static_cast<MPI_Offset>(i) + world.rank * rows * columns);
    values[i] = std::sin(at * 1e-3) + shift;
  }
  return values;
}

void put_block(int ncid, int varid, MPI_Offset rows, MPI_Offset columns, double shift = 0) {
  const MPI_Offset start[2] = {world.rank * rows, 0}, count[2] = {rows, columns};
  const auto values = block(rows, columns, shift);
  EXPECT_OK(ncmpi_put_vara_double_all(ncid, varid, start, count, values.data()));
}

void check_block(int ncid, int varid, MPI_Offset rows, MPI_Offset columns, double shift = 0,
                 double tolerance = 0) {
  const MPI_Offset start[2] = {world.rank * rows, 0}, count[2] = {rows, columns};
  const auto expected = block(rows, columns, shift);
  std::vector<double> got(expected.size(), -77);
  EXPECT_OK(ncmpi_get_vara_double_all(ncid, varid, start, count, got.data()));
  size_t wrong = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (!(std::abs(got[i] - expected[i]) <= tolerance)) ++wrong;
  }
  EXPECT_EQ(size_t{0}, wrong);
}

}  // namespace

TEST(Chunked, shape_and_filters_are_what_was_set) {
  int ncid = create();
  const int x = define(ncid, "x", NC_FLOAT, {{"a", 100}, {"b", 50}});
  const int s = define(ncid, "s", NC_INT, {});
  const int plain = define(ncid, "plain", NC_INT, {{"b", 50}});
  const MPI_Offset shape[2] = {30, 1000}, zero[2] = {0, 4};
  EXPECT_ERR(NC_EINVAL, ncmpi_var_get_chunk(ncid, x, nullptr));
  EXPECT_EQ(std::string("none"), filter_of(ncid, x));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, x, zero));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, s, zero));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_var_set_chunk(ncid, 99, shape));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, "gzip"));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, "zfp"));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, "zfp:accuracy=0"));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, "zfp:accuracy=nan"));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, plain, "zfp:accuracy=1"));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, nullptr));
  EXPECT_OK(ncmpi_var_set_chunk(ncid, x, shape));
  EXPECT_OK(ncmpi_var_set_filter(ncid, x, "shuffle, zstd"));
  EXPECT_OK(ncmpi_enddef(ncid));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_var_set_chunk(ncid, x, shape));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_var_set_filter(ncid, x, "none"));
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open(NC_WRITE);
  MPI_Offset got[2] = {-1, -1};
  EXPECT_OK(ncmpi_var_get_chunk(ncid, x, got));
  EXPECT_EQ(MPI_Offset{30}, got[0]);
  EXPECT_EQ(MPI_Offset{50}, got[1]);
  EXPECT_EQ(std::string("shuffle,zstd:3"), filter_of(ncid, x));
  EXPECT_EQ(std::string("none"), filter_of(ncid, plain));
  int natts = -1, ndims = -1;
  EXPECT_OK(ncmpi_inq_varnatts(ncid, x, &natts));
  EXPECT_EQ(0, natts);
  EXPECT_OK(ncmpi_inq_varndims(ncid, x, &ndims));
  EXPECT_EQ(2, ndims);
  EXPECT_OK(ncmpi_inq_natts(ncid, &natts));
  EXPECT_EQ(0, natts);
  EXPECT_OK(ncmpi_redef(ncid));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, x, shape));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, x, "none"));
  EXPECT_EQ(std::string("shuffle,zstd:3"), filter_of(ncid, x));
  const int one = 1;
  EXPECT_ERR(NC_EBADNAME, ncmpi_put_att_int(ncid, x, "__chunk_dims", NC_INT, 1, &one));
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, an_absurd_shape_is_refused) {
  const int ncid = create();
  const int x = define(ncid, "x", NC_BYTE, {{"a", 1 << 30}, {"b", 1 << 30}});
  const MPI_Offset large[2] = {1 << 30, 1 << 30}, huge[2] = {INT64_MAX, INT64_MAX},
                   many[2] = {1, 1};
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, x, large));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, x, huge));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_set_chunk(ncid, x, many));
  EXPECT_OK(ncmpi_abort(ncid));
}

TEST(Chunked, blocks_of_ranks_become_the_chunks) {
  int ncid = create({{"layout", "chunked"}, {"codec", "shuffle,zstd"}, {"chunk_bytes", "4k"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 8 * world.size}, {"b", 64}});
  EXPECT_OK(ncmpi_enddef(ncid));
  MPI_Offset shape[2] = {-1, -1};
  EXPECT_OK(ncmpi_var_get_chunk(ncid, x, shape));
  EXPECT_EQ(MPI_Offset{0}, shape[0]);
  put_block(ncid, x, 8, 64);
  EXPECT_OK(ncmpi_var_get_chunk(ncid, x, shape));
  EXPECT_EQ(MPI_Offset{8}, shape[0]);
  EXPECT_EQ(MPI_Offset{64}, shape[1]);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open();
  EXPECT_OK(ncmpi_var_get_chunk(ncid, x, shape));
  EXPECT_EQ(MPI_Offset{8}, shape[0]);
  check_block(ncid, x, 8, 64);
  EXPECT_OK(ncmpi_close(ncid));
}

// Rank 0's definitions count. Each record writes the same chunk again, at another place.
TEST(Chunked, ranks_whose_headers_differ_give_chunks_the_same_places) {
  constexpr MPI_Offset width = 64;
  constexpr int records = 6;
  const MPI_Offset count[] = {1, width};
  for (const bool redefined : {false, true}) {
    int ncid = create({{"layout", "chunked"}});
    const int x = define(ncid, "x", NC_INT, {{"t", NC_UNLIMITED}, {"c", width * world.size}});
    if (redefined) {
      EXPECT_OK(ncmpi_enddef(ncid));
      EXPECT_OK(ncmpi_redef(ncid));
    }
    EXPECT_OK(ncmpi_put_att_int(ncid, NC_GLOBAL, "mine", NC_INT, 1, &world.rank));
    static_cast<void>(ncmpi_enddef(ncid));  // warns where it is not rank 0's
    std::vector<int> values(width);
    for (MPI_Offset r = 0; r < records; ++r) {
      const MPI_Offset start[] = {r, width * world.rank};
      std::iota(values.begin(), values.end(), static_cast<int>(1000 * r + start[1]));
      if (world.rank == 0) usleep(1000);
      EXPECT_OK(ncmpi_put_vara_int_all(ncid, x, start, count, values.data()));
    }
    for (const bool again : {false, true}) {
      if (again) {
        EXPECT_OK(ncmpi_close(ncid));
        ncid = open();
      }
      for (MPI_Offset r = 0; r < records; ++r) {
        const MPI_Offset start[] = {r, width * ((world.rank + 1) % world.size)};
        std::vector<int> got(width, -1);
        std::iota(values.begin(), values.end(), static_cast<int>(1000 * r + start[1]));
        EXPECT_OK(ncmpi_get_vara_int_all(ncid, x, start, count, got.data()));
        EXPECT_EQ(values, got) << "record " << r << (redefined ? ", redefined" : "");
      }
    }
    EXPECT_OK(ncmpi_close(ncid));
  }
}

TEST(Chunked, smooth_fields_become_smaller_and_noise_does_not_grow) {
  const MPI_Offset rows = 64, columns = 512;
  const MPI_Offset raw = rows * columns * 8 * world.size;
  int ncid = create({{"layout", "chunked"}, {"codec", "shuffle,zstd:3"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", rows * world.size}, {"b", columns}});
  EXPECT_OK(ncmpi_enddef(ncid));
  const MPI_Offset start[2] = {world.rank * rows, 0}, count[2] = {rows, columns};
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i / 100);
  EXPECT_OK(ncmpi_put_vara_double_all(ncid, x, start, count, values.data()));
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_TRUE(file_size(world.path()) < raw / 4);
  ncid = create({{"layout", "chunked"}, {"codec", "shuffle,zstd:3"}});
  define(ncid, "x", NC_DOUBLE, {{"a", rows * world.size}, {"b", columns}});
  EXPECT_OK(ncmpi_enddef(ncid));
  uint64_t state = 88172645463325252u + static_cast<uint64_t>(world.rank);
  for (double& v : values) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(&v, &state, sizeof v);
  }
  EXPECT_OK(ncmpi_put_vara_double_all(ncid, x, start, count, values.data()));
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_TRUE(file_size(world.path()) < raw + 16384);
}

TEST(Chunked, a_lossy_codec_for_the_file_leaves_coordinates_and_integers_exact) {
  int ncid = create({{"layout", "chunked"}, {"codec", "zfp:accuracy=1e-3"}});
  const int lat = define(ncid, "lat", NC_DOUBLE, {{"lat", 4096}});
  const int field = define(ncid, "field", NC_DOUBLE, {{"a", 64 * world.size}, {"b", 64}});
  const int mask = define(ncid, "mask", NC_INT, {{"lat", 4096}});
  EXPECT_OK(ncmpi_enddef(ncid));
  EXPECT_EQ(std::string("none"), filter_of(ncid, lat));
  EXPECT_EQ(std::string("none"), filter_of(ncid, mask));
  EXPECT_EQ(std::string("zfp:accuracy=0.001"), filter_of(ncid, field));
  std::vector<double> exact(4096);
  for (size_t i = 0; i < exact.size(); ++i) exact[i] = 1.0 / static_cast<double>(i + 3);
  EXPECT_OK(ncmpi_put_var_double_all(ncid, lat, exact.data()));
  put_block(ncid, field, 64, 64);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open();
  std::vector<double> got(4096);
  EXPECT_OK(ncmpi_get_var_double_all(ncid, lat, got.data()));
  EXPECT_TRUE(got == exact);
  check_block(ncid, field, 64, 64, 0, 1e-3);
  EXPECT_OK(ncmpi_close(ncid));
}

namespace {

/// Puts a field of -2 ... 30 with `mark` in a fourth of its places, and reads it again: marks are
/// to come back bit for bit, all else within 1e-3 of the range.
void check_marked(int ncid, int varid, float mark, const std::string& what) {
  const MPI_Offset start[2] = {world.rank * 64, 0}, count[2] = {64, 96};
  std::vector<float> values(64 * 96), got(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<float>(i) + static_cast<float>(world.rank);
    values[i] = i % 96 < 24 ? mark : 14 + 16 * std::sin(at / 300);
  }
  EXPECT_OK(ncmpi_put_vara_float_all(ncid, varid, start, count, values.data()));
  EXPECT_OK(ncmpi_get_vara_float_all(ncid, varid, start, count, got.data()));
  size_t wrong = 0;
  float worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 96 < 24)
      wrong += std::memcmp(&values[i], &got[i], sizeof mark) != 0 ? 1 : 0;
    else if (!(std::abs(values[i] - got[i]) <= worst))
      worst = std::abs(values[i] - got[i]);
  }
  EXPECT_EQ(size_t{0}, wrong) << what;
  EXPECT_TRUE(worst <= 0.0321F) << what << ": off by " << worst;
}

}  // namespace

// Whichever attribute says what is missing, and whenever it comes.
TEST(Chunked, missing_values_stay_and_do_not_count_in_a_relative_bound) {
  for (const char* layout : {"chunked", "patches", "decomposed"}) {
    if (!is_built("layout", layout)) continue;
    int ncid = create({{"layout", layout}, {"codec", "zfp:relative=1e-3"}});
    const std::vector<std::pair<std::string, MPI_Offset>> dims{{"a", 64 * world.size}, {"b", 96}};
    const int first = define(ncid, "first", NC_FLOAT, dims);
    const int range = define(ncid, "range", NC_FLOAT, dims);
    const int filled = define(ncid, "filled", NC_FLOAT, dims);
    const int later = define(ncid, "later", NC_FLOAT, dims);
    const int untold = define(ncid, "untold", NC_FLOAT, dims);
    const double two[2] = {-7777, -1e10};
    const short valid[2] = {-20, 200};
    const float fill = 777;
    EXPECT_OK(ncmpi_put_att_double(ncid, first, "missing_value", NC_DOUBLE, 2, two));
    EXPECT_OK(ncmpi_put_att_short(ncid, range, "valid_range", NC_SHORT, 2, valid));
    EXPECT_OK(ncmpi_put_att_float(ncid, filled, "_FillValue", NC_FLOAT, 1, &fill));
    EXPECT_OK(ncmpi_enddef(ncid));
    check_marked(ncid, first, -1e10F, std::string(layout) + ", missing_value");
    check_marked(ncid, range, -9e4F, std::string(layout) + ", valid_range");
    check_marked(ncid, filled, 777, std::string(layout) + ", _FillValue");
    check_marked(ncid, untold, 1e20F, std::string(layout) + ", no attribute");
    EXPECT_OK(ncmpi_redef(ncid));
    const int least = -100;
    EXPECT_OK(ncmpi_put_att_int(ncid, later, "valid_min", NC_INT, 1, &least));
    EXPECT_OK(ncmpi_put_att_double(ncid, first, "missing_value", NC_DOUBLE, 1, two));
    EXPECT_OK(ncmpi_enddef(ncid));
    check_marked(ncid, later, -999, std::string(layout) + ", valid_min in redef");
    check_marked(ncid, first, -7777, std::string(layout) + ", another missing_value");
    EXPECT_OK(ncmpi_close(ncid));
  }
}

TEST(Chunked, what_was_never_written_is_the_fill_value) {
  int ncid = create({{"layout", "chunked"}, {"codec", "zstd"}, {"chunk_bytes", "64"}});
  const int x = define(ncid, "x", NC_INT, {{"time", NC_UNLIMITED}, {"b", 100}});
  const int y = define(ncid, "y", NC_SHORT, {{"time", NC_UNLIMITED}});
  const short own = -7;
  EXPECT_OK(ncmpi_put_att_short(ncid, y, "_FillValue", NC_SHORT, 1, &own));
  EXPECT_OK(ncmpi_enddef(ncid));
  const MPI_Offset start[2] = {world.size + 1, 40}, count[2] = {world.rank == 0 ? 1 : 0, 20};
  std::vector<int> values(20);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_OK(ncmpi_put_vara_int_all(ncid, x, start, count, values.data()));
  const MPI_Offset records = world.size + 2;
  for (int reopened = 0; reopened < 2; ++reopened) {
    std::vector<int> all(static_cast<size_t>(records * 100));
    EXPECT_OK(ncmpi_get_var_int_all(ncid, x, all.data()));
    for (size_t i = 0; i < all.size(); ++i) {
      const auto at = static_cast<MPI_Offset>(i) - ((records - 1) * 100 + 40);
      EXPECT_EQ(at >= 0 && at < 20 ? static_cast<int>(at) + 1 : NC_FILL_INT, all[i]);
    }
    std::vector<short> shorts(static_cast<size_t>(records));
    EXPECT_OK(ncmpi_get_var_short_all(ncid, y, shorts.data()));
    for (const short v : shorts) EXPECT_EQ(own, v);
    EXPECT_OK(ncmpi_close(ncid));
    if (reopened == 0) ncid = open();
  }
}

// Each rank reads nearly all of its own chunks, which only it touches, and one that it shares with
// the next: in most rounds of the read nobody meets anybody.
TEST(Chunked, rounds_in_which_ranks_share_chunks_and_rounds_in_which_none_do) {
  const MPI_Offset chunk = 1024, mine = chunk * 40 + 600;
  const Hints hints{{"buffer_limit", "64k"}, {"chunk_read", "owners"}};
  int ncid = create(hints);
  const int x = define(ncid, "x", NC_FLOAT, {{"a", mine * world.size}});
  EXPECT_OK(ncmpi_var_set_chunk(ncid, x, &chunk));
  EXPECT_OK(ncmpi_var_set_filter(ncid, x, "deflate:1"));
  EXPECT_OK(ncmpi_enddef(ncid));
  const auto value = [](MPI_Offset i) { return static_cast<float>(i * 7919 % 1000003); };
  const MPI_Offset start = world.rank * mine;
  std::vector<float> values(static_cast<size_t>(mine)), got(values);
  for (MPI_Offset i = 0; i < mine; ++i) values[static_cast<size_t>(i)] = value(start + i);
  EXPECT_OK(ncmpi_put_vara_float_all(ncid, x, &start, &mine, values.data()));
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open(NC_NOWRITE, hints);
  // The late ranks are other ones each time: now each rank reads its own, now another one's.
  for (int again = 0; again < 12; ++again) {
    const MPI_Offset from = (world.rank + again / 4) % world.size * mine;
    std::fill(got.begin(), got.end(), -1.0f);
    EXPECT_OK(ncmpi_get_vara_float_all(ncid, x, &from, &mine, got.data()));
    MPI_Offset wrong = 0;
    for (MPI_Offset i = 0; i < mine; ++i) wrong += got[static_cast<size_t>(i)] != value(from + i);
    EXPECT_EQ(MPI_Offset{0}, wrong);
  }
  EXPECT_OK(ncmpi_close(ncid));
}

// Noise that is written again and again leaves places behind those that are used.
TEST(Chunked, a_new_variable_that_nobody_wrote_is_zero_where_chunks_were) {
  const MPI_Offset width = 1024;
  int ncid = create({{"layout", "chunked"}, {"codec", "none"}, {"chunk_bytes", "4k"}});
  const int x = define(ncid, "x", NC_INT, {{"c", width * world.size}});
  EXPECT_OK(ncmpi_enddef(ncid));
  const MPI_Offset start = width * world.rank;
  const std::vector<int> noise(static_cast<size_t>(width), 0x5a5a5a5a);
  for (int time = 0; time < 6; ++time) {
    EXPECT_OK(ncmpi_put_vara_int_all(ncid, x, &start, &width, noise.data()));
    EXPECT_OK(ncmpi_sync(ncid));
  }
  int old = 0;
  for (int time = 0; time < 3; ++time) {
    EXPECT_OK(ncmpi_redef(ncid));
    constexpr int few = 100;
    const std::string name = "y" + std::to_string(time), dim = "few" + std::to_string(time);
    const int y = define(ncid, name.c_str(), NC_INT, {{dim.c_str(), few}});
    EXPECT_OK(ncmpi_enddef(ncid));
    std::vector<int> got(few, -1);
    EXPECT_OK(ncmpi_get_var_int_all(ncid, y, got.data()));
    EXPECT_EQ(std::vector<int>(few), got) << time;
    MPI_Offset place = 0;
    EXPECT_OK(ncmpi_inq_varoffset(ncid, y, &place));
    old += place < file_size(world.path());
  }
  EXPECT_GT(old, 0);
  std::vector<int> got(static_cast<size_t>(width), -1);
  EXPECT_OK(ncmpi_get_vara_int_all(ncid, x, &start, &width, got.data()));
  EXPECT_EQ(noise, got);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, redefinition_adds_variables_of_both_kinds_and_moves_everything_once) {
  int ncid = create();
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 16 * world.size}, {"b", 33}});
  const MPI_Offset shape[2] = {5, 7};
  EXPECT_OK(ncmpi_var_set_chunk(ncid, x, shape));
  EXPECT_OK(ncmpi_var_set_filter(ncid, x, "shuffle,deflate:1"));
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, x, 16, 33);
  EXPECT_OK(ncmpi_redef(ncid));
  const int plain = define(ncid, "plain", NC_DOUBLE, {{"a", 16 * world.size}, {"b", 33}});
  const int z = define(ncid, "z", NC_DOUBLE, {{"a", 16 * world.size}, {"b", 33}});
  EXPECT_OK(ncmpi_var_set_chunk(ncid, z, nullptr));
  const std::string text(100000, 'n');
  EXPECT_OK(ncmpi_put_att_text(ncid, NC_GLOBAL, "history", 100000, text.data()));
  EXPECT_OK(ncmpi_enddef(ncid));
  MPI_Offset offset = 0;
  EXPECT_OK(ncmpi_inq_varoffset(ncid, x, &offset));
  EXPECT_TRUE(offset > 100000);
  check_block(ncid, x, 16, 33);
  put_block(ncid, plain, 16, 33, 5);
  put_block(ncid, z, 16, 33, 9);
  put_block(ncid, x, 16, 33, 2);
  EXPECT_OK(ncmpi_redef(ncid));
  EXPECT_OK(ncmpi_rename_var(ncid, z, "zed"));
  const int last = define(ncid, "last", NC_DOUBLE, {{"time", NC_UNLIMITED}, {"b", 33}});
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, last, 1, 33, 4);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open();
  check_block(ncid, x, 16, 33, 2);
  check_block(ncid, plain, 16, 33, 5);
  check_block(ncid, z, 16, 33, 9);
  check_block(ncid, last, 1, 33, 4);
  int id = -1;
  EXPECT_OK(ncmpi_inq_varid(ncid, "zed", &id));
  EXPECT_EQ(z, id);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, a_classic_file_that_gets_chunks_moves_what_it_has) {
  int ncid = create();
  const int plain = define(ncid, "plain", NC_DOUBLE, {{"a", 16 * world.size}, {"b", 33}});
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, plain, 16, 33, 3);
  EXPECT_OK(ncmpi_redef(ncid));
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 16 * world.size}, {"b", 33}});
  EXPECT_OK(ncmpi_var_set_chunk(ncid, x, nullptr));
  const std::string text(100000, 'n');
  EXPECT_OK(ncmpi_put_att_text(ncid, NC_GLOBAL, "history", 100000, text.data()));
  EXPECT_OK(ncmpi_enddef(ncid));
  check_block(ncid, plain, 16, 33, 3);
  put_block(ncid, x, 16, 33, 4);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open();
  check_block(ncid, plain, 16, 33, 3);
  check_block(ncid, x, 16, 33, 4);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, space_of_overwritten_chunks_is_used_again) {
  int ncid = create({{"layout", "chunked"}, {"codec", "shuffle,zstd"}, {"chunk_bytes", "1k"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, x, 32, 32);
  EXPECT_OK(ncmpi_sync(ncid));
  const MPI_Offset first = file_size(world.path());
  for (int i = 0; i < 40; ++i) {
    put_block(ncid, x, 32, 32, i);
    if (i % 8 == 7) {
      EXPECT_OK(ncmpi_sync(ncid));
    }
  }
  check_block(ncid, x, 32, 32, 39);
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_TRUE(file_size(world.path()) < 4 * first);
  ncid = open(NC_WRITE);
  const MPI_Offset before = file_size(world.path());
  for (int i = 0; i < 10; ++i) put_block(ncid, x, 32, 32, i);
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_TRUE(file_size(world.path()) < 2 * before);
  ncid = open();
  check_block(ncid, x, 32, 32, 9);
  EXPECT_OK(ncmpi_close(ncid));
}

// Each session finds the space that the one before it left.
TEST(Chunked, space_is_used_again_by_those_who_open_a_file_again_and_again) {
  for (const char* method : {"chunked;shuffle,zstd:1", "patches;shuffle,zstd:1"}) {
    const std::string text = method, layout = text.substr(0, text.find(';'));
    if (!is_built("layout", layout)) continue;
    int ncid = create({{"layout", layout}, {"codec", text.substr(text.find(';') + 1)}});
    const int x = define(ncid, "x", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
    EXPECT_OK(ncmpi_enddef(ncid));
    put_block(ncid, x, 32, 32);
    EXPECT_OK(ncmpi_close(ncid));
    const MPI_Offset first = file_size(world.path());
    for (int i = 0; i < 24; ++i) {
      ncid = open(NC_WRITE);
      const MPI_Offset at[2] = {(i * 37) % (32 * world.size), (i * 11) % 32};
      const double value = i * 0.37;
      EXPECT_OK(ncmpi_put_var1_double_all(ncid, x, at, &value));
      EXPECT_OK(ncmpi_close(ncid));
    }
    EXPECT_TRUE(file_size(world.path()) < 4 * first + 8192)
        << method << ": " << first << " bytes became " << file_size(world.path());
    ncid = open();
    double got = 0;
    const MPI_Offset last[2] = {(23 * 37) % (32 * world.size), (23 * 11) % 32};
    EXPECT_OK(ncmpi_get_var1_double_all(ncid, x, last, &got));
    EXPECT_TRUE(std::abs(got - 23 * 0.37) <= 1e-6);
    EXPECT_OK(ncmpi_close(ncid));
  }
}

TEST(Chunked, independent_writes_arrive_and_are_seen_by_their_rank_before) {
  int ncid = create({{"layout", "chunked"}, {"codec", "shuffle,zstd"}, {"chunk_bytes", "200"}});
  const int x = define(ncid, "x", NC_INT, {{"time", NC_UNLIMITED}, {"b", 50}});
  EXPECT_OK(ncmpi_enddef(ncid));
  EXPECT_OK(ncmpi_begin_indep_data(ncid));
  std::vector<int> row(50, world.rank + 1), got(50);
  for (int again = 0; again < 3; ++again) {
    const MPI_Offset start[2] = {world.rank, 0}, count[2] = {1, 50};
    EXPECT_OK(ncmpi_put_vara_int(ncid, x, start, count, row.data()));
    std::fill(got.begin(), got.end(), -1);
    EXPECT_OK(ncmpi_get_vara_int(ncid, x, start, count, got.data()));
    EXPECT_TRUE(got == row);
    for (int& v : row) v += 100;
  }
  EXPECT_OK(ncmpi_end_indep_data(ncid));
  std::vector<int> all(static_cast<size_t>(50 * world.size));
  EXPECT_OK(ncmpi_get_var_int_all(ncid, x, all.data()));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(static_cast<int>(i / 50) + 201, all[i]);
  EXPECT_OK(ncmpi_close(ncid));
}

// Twenty times what memory may hold: columns of each rank, so that every chunk has parts of
// several ranks; an early value that a later one covers; rank 0 has nothing where there are others.
TEST(Chunked, independent_writes_may_exceed_what_memory_holds) {
  const Hints hints = {
      {"layout", "chunked"}, {"buffer_limit", "64KiB"}, {"codec", "zstd:1"}, {"chunk_bytes", "4k"}};
  for (const bool given : {false, true}) {  // or chosen at the flush
    int ncid = create(hints);
    const MPI_Offset rows = 1280, width = 256;
    const int x = define(ncid, "x", NC_INT, {{"rows", rows}, {"b", width * world.size}});
    const int r = define(ncid, "r", NC_SHORT, {{"time", NC_UNLIMITED}, {"c", 2000}});
    const MPI_Offset shape[2] = {50, 75};
    if (given) {
      EXPECT_OK(ncmpi_var_set_chunk(ncid, x, shape));
    }
    EXPECT_OK(ncmpi_enddef(ncid));
    EXPECT_OK(ncmpi_begin_indep_data(ncid));
    const bool empty = world.rank == 0 && world.size > 1;
    const auto value = [](MPI_Offset row, MPI_Offset column) {
      return static_cast<int>(row * 7919 + column);
    };
    std::vector<int> rows_of(static_cast<size_t>(64 * width)), got(rows_of);
    for (MPI_Offset row = 0; row < rows && !empty; row += 64) {
      const MPI_Offset start[2] = {row, width * world.rank}, count[2] = {64, width};
      for (size_t i = 0; i < rows_of.size(); ++i)
        rows_of[i] = value(row + static_cast<MPI_Offset>(i) / width,
                           start[1] + static_cast<MPI_Offset>(i) % width);
      if (row % 640 == 0) {
        EXPECT_OK(ncmpi_put_vara_int(ncid, x, start, count, got.data()));
      }
      EXPECT_OK(ncmpi_put_vara_int(ncid, x, start, count, rows_of.data()));
      std::fill(got.begin(), got.end(), -1);
      EXPECT_OK(ncmpi_get_vara_int(ncid, x, start, count, got.data()));
      EXPECT_TRUE(got == rows_of);
    }
    // Every third element of a record, by a strided and by a list of pieces.
    const MPI_Offset at[2] = {world.rank, 1}, every[2] = {1, 600}, stride[2] = {1, 3};
    const std::vector<short> shorts(600, static_cast<short>(world.rank + 1));
    if (!empty) {
      EXPECT_OK(ncmpi_put_vars_short(ncid, r, at, every, stride, shorts.data()));
    }
    MPI_Offset first[2] = {world.rank, 1900}, second[2] = {world.rank, 1950}, few[2] = {1, 10};
    MPI_Offset* const starts[2] = {second, first};
    MPI_Offset* const counts[2] = {few, few};
    if (!empty) {
      EXPECT_OK(ncmpi_put_varn_short(ncid, r, 2, starts, counts, shorts.data()));
    }
    EXPECT_OK(ncmpi_end_indep_data(ncid));
    for (const bool reopened : {false, true}) {
      if (reopened) ncid = open();
      std::vector<int> block(static_cast<size_t>(64 * width));
      for (MPI_Offset row = 0; row < rows; row += 64) {
        // What the next rank wrote.
        const int of = (world.rank + 1) % world.size;
        const MPI_Offset start[2] = {row, width * of}, count[2] = {64, width};
        EXPECT_OK(ncmpi_get_vara_int_all(ncid, x, start, count, block.data()));
        const bool filled = of == 0 && world.size > 1;
        size_t bad = 0;
        for (size_t i = 0; i < block.size(); ++i)
          bad += block[i] != (filled ? NC_FILL_INT
                                     : value(row + static_cast<MPI_Offset>(i) / width,
                                             start[1] + static_cast<MPI_Offset>(i) % width));
        EXPECT_EQ(size_t{0}, bad);
      }
      std::vector<short> all(static_cast<size_t>(2000 * world.size));
      EXPECT_OK(ncmpi_get_var_short_all(ncid, r, all.data()));
      for (size_t i = 0; i < all.size(); ++i) {
        const size_t of = i / 2000, column = i % 2000;
        const bool written =
            (column % 3 == 1 && column < 1801) || (column >= 1900 && column % 50 < 10);
        const bool filled = !written || (of == 0 && world.size > 1);
        EXPECT_EQ(filled ? NC_FILL_SHORT : static_cast<short>(of + 1), all[i]);
      }
      EXPECT_OK(ncmpi_close(ncid));
    }
  }
}

bool is_chunked(int ncid, int varid) {
  const int code = ncmpi_var_get_chunk(ncid, varid, nullptr);
  if (code != NC_EINVAL) {
    EXPECT_OK(code);
  }
  return code == NC_NOERR;
}

TEST(Chunked, variables_of_a_few_elements_are_chunked_where_asked_for_by_name) {
  const std::string config = world.path() + ".xml";
  if (world.rank == 0) {
    std::ofstream(config) << R"(<forebay><file match="*" layout="chunked"><variable match="n*")"
                          << R"( layout="chunked"/></file></forebay>)";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ::setenv("FOREBAY_CONFIG", config.c_str(), 1);
  int ncid = create();
  ::unsetenv("FOREBAY_CONFIG");
  const int few = define(ncid, "few", NC_INT, {{"few", 255}});
  const int named = define(ncid, "named", NC_INT, {{"one", 1}});
  const int set = define(ncid, "set", NC_INT, {{"one", 1}});
  const int more = define(ncid, "more", NC_INT, {{"more", 256}});
  const int record = define(ncid, "record", NC_INT, {{"time", NC_UNLIMITED}});
  EXPECT_OK(ncmpi_var_set_chunk(ncid, set, nullptr));
  EXPECT_OK(ncmpi_enddef(ncid));
  EXPECT_TRUE(!is_chunked(ncid, few));
  for (const int varid : {named, set, more, record}) EXPECT_TRUE(is_chunked(ncid, varid));
  EXPECT_OK(ncmpi_close(ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::remove(config.c_str());
}

// Process groups, logs and what is dropped are other programs' files.
TEST(Layouts, of_other_files_are_refused_with_what_netcdf_files_can_be) {
  const std::string path = world.path();
  for (const std::string layout : {"process-group", "log", "null"}) {
    if (!is_built("layout", layout)) continue;
    const Info info({{"layout", layout}});
    int id = -1;
    EXPECT_ERR(NC_ENOTSUPPORT, ncmpi_create(MPI_COMM_WORLD, path.c_str(), 0, info, &id));
    const std::string said = forebay_error_message();
    for (const std::string& part :
         {"layout=" + layout + " is for ", std::string("accepted here: auto|canonical|chunked"),
          std::string(layout == "log" ? "docs/hdf5.md" : "docs/groups.md")})
      EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_NE(::access(path.c_str(), F_OK), 0) << layout;
    id = create();
    EXPECT_OK(ncmpi_close(id));
    EXPECT_ERR(NC_ENOTSUPPORT, ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, info, &id));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) ::unlink(path.c_str());
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST(Chunked, the_synced_state_can_be_opened) {
  int ncid = create({{"layout", "chunked"}, {"codec", "zstd"}, {"chunk_bytes", "1k"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, x, 32, 32, 1);
  EXPECT_OK(ncmpi_sync(ncid));
  for (int i = 0; i < 5; ++i) put_block(ncid, x, 32, 32, 10 + i);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open(NC_NOWRITE, {{"chunk_state", "synced"}});
  check_block(ncid, x, 32, 32, 1);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open(NC_WRITE);
  check_block(ncid, x, 32, 32, 14);
  put_block(ncid, x, 32, 32, 20);
  EXPECT_OK(ncmpi_close(ncid));
  // What was synced before the file was opened again still stands.
  ncid = open(NC_NOWRITE, {{"chunk_state", "synced"}});
  check_block(ncid, x, 32, 32, 1);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, a_header_that_does_not_fit_the_index_harms_its_own_variable_only) {
  int ncid = create({{"layout", "chunked"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
  const int y = define(ncid, "y", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
  EXPECT_OK(ncmpi_var_set_filter(ncid, x, "zstd:3"));
  EXPECT_OK(ncmpi_var_set_filter(ncid, y, "deflate:1"));
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, x, 32, 32);
  put_block(ncid, y, 32, 32);
  EXPECT_OK(ncmpi_close(ncid));
  if (world.rank == 0) {
    std::fstream file(world.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string bytes(4096, '\0');
    file.read(bytes.data(), 4096);
    file.clear();
    file.seekp(static_cast<std::streamoff>(bytes.find("zstd:3")));
    file << "abcd:3";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ncid = open();
  const MPI_Offset start[2] = {0, 0}, count[2] = {1, 32};
  double got[32];
  EXPECT_ERR(NC_ENOTNC, ncmpi_get_vara_double_all(ncid, x, start, count, got));
  check_block(ncid, y, 32, 32);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, an_empty_rank_and_a_failing_rank_take_part) {
  int ncid = create({{"layout", "chunked"}, {"codec", "zstd"}, {"chunk_bytes", "1k"}});
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 32 * world.size}, {"b", 32}});
  EXPECT_OK(ncmpi_enddef(ncid));
  // The last rank asks for what is outside; the first has nothing to do.
  const bool bad = world.rank == world.size - 1;
  const MPI_Offset rows = world.rank == 0 && world.size > 1 ? 0 : 32;
  const MPI_Offset start[2] = {world.rank * 32, bad ? 10 : 0}, count[2] = {rows, 32};
  const auto values = block(32, 32);
  EXPECT_ERR(bad ? NC_EEDGE : NC_NOERR,
             ncmpi_put_vara_double_all(ncid, x, start, count, values.data()));
  std::vector<double> all(static_cast<size_t>(32 * 32 * world.size));
  EXPECT_OK(ncmpi_get_var_double_all(ncid, x, all.data()));
  for (size_t i = 0; i < all.size(); ++i) {
    const int row_of = static_cast<int>(i / 1024);
    const bool written = row_of < world.size - 1 && (row_of > 0 || world.size == 1);
    EXPECT_EQ(written ? std::sin(static_cast<double>(i) * 1e-3) : NC_FILL_DOUBLE, all[i]);
  }
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, a_file_with_classic_records_keeps_them) {
  int ncid = create();
  const int r = define(ncid, "r", NC_DOUBLE, {{"time", NC_UNLIMITED}, {"b", 8}});
  EXPECT_OK(ncmpi_enddef(ncid));
  put_block(ncid, r, 1, 8);
  EXPECT_OK(ncmpi_close(ncid));
  ncid = open(NC_WRITE, {{"layout", "chunked"}, {"codec", "zstd"}});
  EXPECT_OK(ncmpi_redef(ncid));
  const int x = define(ncid, "x", NC_DOUBLE, {{"a", 4 * world.size}, {"b", 8}});
  EXPECT_OK(ncmpi_enddef(ncid));
  EXPECT_ERR(NC_EINVAL, ncmpi_var_get_chunk(ncid, x, nullptr));
  put_block(ncid, x, 4, 8, 3);
  EXPECT_OK(ncmpi_redef(ncid));
  const int y = define(ncid, "y", NC_DOUBLE, {{"a", 4 * world.size}, {"b", 8}});
  EXPECT_OK(ncmpi_var_set_chunk(ncid, y, nullptr));
  EXPECT_ERR(NC_EINVAL, ncmpi_enddef(ncid));
  EXPECT_OK(ncmpi_abort(ncid));
  ncid = open();
  check_block(ncid, r, 1, 8);
  check_block(ncid, x, 4, 8, 3);
  EXPECT_OK(ncmpi_close(ncid));
}

TEST(Chunked, chunked_variables_larger_than_their_format_allows) {
  // Two of 12 GB in CDF-1, of which one element is written: the file holds an index and one chunk.
  int ncid = -1, y = -1, x = -1;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "layout", "chunked");
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &ncid));
  MPI_Info_free(&info);
  EXPECT_OK(ncmpi_def_dim(ncid, "y", 3000000, &y));
  EXPECT_OK(ncmpi_def_dim(ncid, "x", 1000, &x));
  const int dims[2] = {y, x};
  int a = -1, b = -1;
  EXPECT_OK(ncmpi_def_var(ncid, "a", NC_INT, 2, dims, &a));
  EXPECT_OK(ncmpi_def_var(ncid, "b", NC_INT, 2, dims, &b));
  EXPECT_OK(ncmpi_enddef(ncid));
  const MPI_Offset last[2] = {2999999, 999}, first[2] = {0, 0};
  const MPI_Offset count[2] = {world.rank == 0 ? 1 : 0, 1}, one[2] = {1, 1};
  int value = 5;
  EXPECT_OK(ncmpi_put_vara_int_all(ncid, b, last, count, &value));
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid));
  EXPECT_OK(ncmpi_get_vara_int_all(ncid, b, last, one, &value));
  EXPECT_EQ(5, value);
  EXPECT_OK(ncmpi_get_vara_int_all(ncid, a, first, one, &value));
  EXPECT_EQ(NC_FILL_INT, value);
  EXPECT_OK(ncmpi_close(ncid));
  struct stat status {};
  EXPECT_EQ(0, stat(world.path().c_str(), &status));
  EXPECT_TRUE(status.st_size < (8 << 20));
}
