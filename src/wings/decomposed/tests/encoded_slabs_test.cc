// Slabs of decomposed variables that go through a codec: what is written is read, in however many
// rounds and parts, on any number of ranks; rewriting takes no space; damage is told.
#include <forebay.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

// Columns are dealt in blocks of `block`; a rank has `blocks` of them, of each row.
constexpr MPI_Offset rows = 5, block = 60, blocks = 20, records = 3;

MPI_Offset columns() { return block * blocks * world.size; }
bool is_idle() { return world.size > 2 && world.rank == 1; }  // has no data

// Smooth, so that a codec makes it smaller.
int value(int version, MPI_Offset record, MPI_Offset row, MPI_Offset column) {
  return static_cast<int>(version * 100000 + record * 10000 + row * 1000 + column / 3);
}
bool is_written(MPI_Offset column) { return world.size <= 2 || column / block % world.size != 1; }

// A rank holds so little that encoding goes in many rounds.
Hints hints_of(const Hints& more) {
  Hints hints{{"layout", "decomposed"},
              {"codec", "shuffle,zstd:1"},
              {"chunk_bytes", "2k"},
              {"buffer_limit", "32k"},
              {"window_size", "4k"}};
  for (const auto& hint : more) {
    std::erase_if(hints, [&](const auto& h) { return h.first == hint.first; });
    hints.push_back(hint);
  }
  return hints;
}

struct File {
  int id = -1;
  int fixed = -1, series = -1, bytes = -1;
};

File create(const Hints& hints, const char* filter = nullptr) {
  File f;
  int dims[3];
  const Info info(hints_of(hints));
  EXPECT_OK(
      ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &f.id));
  EXPECT_OK(ncmpi_def_dim(f.id, "time", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(f.id, "row", rows, &dims[1]));
  EXPECT_OK(ncmpi_def_dim(f.id, "column", columns(), &dims[2]));
  EXPECT_OK(ncmpi_def_var(f.id, "fixed", NC_DOUBLE, 2, dims + 1, &f.fixed));
  EXPECT_OK(ncmpi_def_var(f.id, "series", NC_INT, 3, dims, &f.series));
  EXPECT_OK(ncmpi_def_var(f.id, "bytes", NC_BYTE, 2, dims + 1, &f.bytes));
  if (filter != nullptr) {
    EXPECT_OK(ncmpi_var_set_filter(f.id, f.series, filter));
  }
  EXPECT_OK(ncmpi_enddef(f.id));
  return f;
}

struct Pieces {
  std::vector<std::vector<MPI_Offset>> starts, counts;
  std::vector<MPI_Offset*> start, count;
  std::vector<MPI_Offset> row, column;  // of each element
};

// Of this rank; `record` >= 0: of a variable with records.
Pieces own_pieces(MPI_Offset record) {
  Pieces p;
  for (MPI_Offset r = 0; r < rows && !is_idle(); ++r) {
    for (MPI_Offset b = 0; b < blocks; ++b) {
      const MPI_Offset first = (b * world.size + world.rank) * block;
      p.starts.push_back({r, first});
      p.counts.push_back({1, block});
      if (record >= 0) {
        p.starts.back().insert(p.starts.back().begin(), record);
        p.counts.back().insert(p.counts.back().begin(), 1);
      }
      for (MPI_Offset i = 0; i < block; ++i) {
        p.row.push_back(r);
        p.column.push_back(first + i);
      }
    }
  }
  for (auto& s : p.starts) p.start.push_back(s.data());
  for (auto& c : p.counts) p.count.push_back(c.data());
  return p;
}

std::vector<int> own_values(const Pieces& p, int version, MPI_Offset record) {
  std::vector<int> values;
  for (size_t i = 0; i < p.row.size(); ++i)
    values.push_back(value(version, record, p.row[i], p.column[i]));
  return values;
}

void be_late(MPI_Offset turn) {
  if (turn % world.size == world.rank) usleep(2000);
}

int put_record(const File& f, int version, MPI_Offset record) {
  be_late(record);
  const Pieces p = own_pieces(record);
  const auto values = own_values(p, version, record);
  return ncmpi_put_varn_int_all(f.id, f.series, static_cast<int>(p.start.size()), p.start.data(),
                                p.count.data(), values.data());
}

void write_all(const File& f, int version) {
  const Pieces p = own_pieces(-1);
  const auto values = own_values(p, version, 0);
  std::vector<int> small(values);
  for (int& v : small) v %= 100;
  const int n = static_cast<int>(p.start.size());
  int requests[2];
  EXPECT_OK(ncmpi_iput_varn_int(f.id, f.fixed, n, p.start.data(), p.count.data(), values.data(),
                                &requests[0]));
  EXPECT_OK(ncmpi_iput_varn_int(f.id, f.bytes, n, p.start.data(), p.count.data(), small.data(),
                                &requests[1]));
  be_late(1);
  EXPECT_OK(ncmpi_wait_all(f.id, NC_REQ_ALL, nullptr, nullptr));
  for (MPI_Offset r = 0; r < records; ++r) EXPECT_OK(put_record(f, version, r));
}

// A box of one variable, against what is expected.
void expect_box(int id, int var, int version, MPI_Offset record, MPI_Offset first, MPI_Offset count,
                bool of_bytes) {
  std::vector<MPI_Offset> start{0, first}, size{rows, count};
  if (record >= 0) {
    start.insert(start.begin(), record);
    size.insert(size.begin(), 1);
  }
  std::vector<double> got(static_cast<size_t>(rows * count), -1);
  EXPECT_OK(ncmpi_get_vara_double_all(id, var, start.data(), size.data(), got.data()));
  const double fill = of_bytes ? NC_FILL_BYTE : record >= 0 ? NC_FILL_INT : NC_FILL_DOUBLE;
  int wrong = 0;
  for (MPI_Offset i = 0; i < rows * count; ++i) {
    const MPI_Offset column = first + i % count;
    const int v = value(version, record < 0 ? 0 : record, i / count, column);
    const double wanted = !is_written(column) ? fill : of_bytes ? v % 100 : v;
    wrong += got[static_cast<size_t>(i)] == wanted ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "variable " << var << ", record " << record;
}

void expect_all(int id, const File& f, int version) {
  expect_box(id, f.fixed, version, -1, 0, columns(), false);
  expect_box(id, f.bytes, version, -1, 7, columns() - 9, true);
  for (MPI_Offset r = 0; r < records; ++r) {
    expect_box(id, f.series, version, r, 0, columns(), false);
    expect_box(id, f.series, version, r, columns() / 2 - 13, 26, false);
  }
  // As it was written.
  const Pieces p = own_pieces(1);
  std::vector<int> got(p.row.size(), -1);
  EXPECT_OK(ncmpi_get_varn_int_all(id, f.series, static_cast<int>(p.start.size()), p.start.data(),
                                   p.count.data(), got.data()));
  EXPECT_EQ(got, own_values(p, version, 1));
}

int reopen(MPI_Comm comm, int mode, const Hints& hints = {}) {
  int id = -1;
  const Info info(hints);
  EXPECT_OK(ncmpi_open(comm, world.path().c_str(), mode, info, &id));
  return id;
}

std::string folder() { return world.path() + ".subfiles"; }

// On all ranks what rank 0 finds.
MPI_Offset bytes_of_data_files() {
  MPI_Offset sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0)
    for (const auto& entry : fs::directory_iterator(folder()))
      sum += static_cast<MPI_Offset>(fs::file_size(entry));
  MPI_Bcast(&sum, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
  return sum;
}

void remove_file() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

const std::vector<Hints> ways = {
    {},
    {{"codec", "deflate:1"}, {"ranks_per_node", "2"}},
    {{"codec", "bitshuffle,zstd:3"}, {"subfiling", "none"}, {"codec_threads", "3"}},
    {{"subfiling", "ranks"},
     {"subfile_ranks", "1"},
     {"chunk_bytes", "4k"},
     {"buffer_limit", "64k"}},
    {{"chunk_bytes", "16"}, {"chunk_cache", "0"}, {"transport", "posix"}},
    {{"chunk_bytes", "1M"}, {"buffer_limit", "64M"}},
    {{"codec", "checksum"}},
};

}  // namespace

TEST(EncodedSlabs, what_is_written_is_read_in_however_many_parts_and_rounds) {
  for (const Hints& way : ways) {
    SCOPED_TRACE(way.empty() ? "" : way[0].first + "=" + way[0].second);
    const File f = create(way);
    write_all(f, 1);
    expect_all(f.id, f, 1);
    EXPECT_OK(ncmpi_sync(f.id));
    write_all(f, 2);
    expect_all(f.id, f, 2);
    EXPECT_OK(ncmpi_close(f.id));
    int id = reopen(MPI_COMM_WORLD, NC_NOWRITE);
    expect_all(id, f, 2);
    EXPECT_OK(ncmpi_close(id));
    // On other numbers of ranks.
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, 0, &half);
    id = reopen(half, NC_NOWRITE, {{"chunk_cache", "3000"}, {"codec_threads", "2"}});
    expect_all(id, f, 2);
    EXPECT_OK(ncmpi_close(id));
    MPI_Comm_free(&half);
    remove_file();
  }
}

TEST(EncodedSlabs, they_are_smaller_and_rewriting_takes_no_space) {
  const File f = create({{"subfiling", "ranks"},
                         {"subfile_ranks", "2"},
                         {"chunk_bytes", "4k"},
                         {"buffer_limit", "64k"}});
  write_all(f, 0);
  const MPI_Offset ranks = world.size - (world.size > 2 ? 1 : 0);
  const MPI_Offset raw = ranks * rows * block * blocks * (8 + 1 + 4 * records);
  EXPECT_LT(bytes_of_data_files(), raw / 2 + 8192 * world.size);
  MPI_Offset size = 0;
  for (int version = 1; version <= 40; ++version) {
    write_all(f, version);
    if (version % 11 == 0) {
      EXPECT_OK(ncmpi_sync(f.id));
    }
    if (version == 20) size = bytes_of_data_files();
  }
  EXPECT_LE(bytes_of_data_files(), size + size / 4);
  expect_all(f.id, f, 40);
  EXPECT_OK(ncmpi_close(f.id));
  remove_file();
}

// What was written by another map, independently, or in part stands over and under it.
// A part with a value that is not finite is encoded without the lossy stage; parts beside it are
// not.
TEST(EncodedSlabs, lossy_codecs_keep_their_bound_and_what_is_not_finite) {
  constexpr float bound = 1e-2f;
  for (const char* codec : {"zfp:accuracy=1e-2", "sz3:abs=1e-2", "float32,shuffle,zstd:1"}) {
    SCOPED_TRACE(codec);
    const Hints hints = {{"codec", codec}};
    int dims[2], floats = -1, shorts = -1, id = -1;
    const Info info(hints_of(hints));
    EXPECT_OK(
        ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id));
    EXPECT_OK(ncmpi_def_dim(id, "row", rows, &dims[0]));
    EXPECT_OK(ncmpi_def_dim(id, "column", columns(), &dims[1]));
    EXPECT_OK(ncmpi_def_var(id, "floats", NC_FLOAT, 2, dims, &floats));
    EXPECT_OK(ncmpi_def_var(id, "shorts", NC_SHORT, 2, dims, &shorts));
    EXPECT_OK(ncmpi_enddef(id));

    const auto wanted = [](MPI_Offset row, MPI_Offset column) {
      if (row == 1 && column % 601 == 7) return std::numeric_limits<float>::quiet_NaN();
      if (row == 2 && column == 3) return -std::numeric_limits<float>::infinity();
      return 300 + std::sin(static_cast<float>(row * 7 + column) * 0.01f);
    };
    const auto wanted_short = [](MPI_Offset row, MPI_Offset column) {
      return static_cast<short>(row * 3000 - column);
    };
    const Pieces p = own_pieces(-1);
    std::vector<float> values;
    std::vector<short> small;
    for (size_t i = 0; i < p.row.size(); ++i) {
      values.push_back(wanted(p.row[i], p.column[i]));
      small.push_back(wanted_short(p.row[i], p.column[i]));
    }
    const int n = static_cast<int>(p.start.size());
    be_late(1);
    EXPECT_OK(
        ncmpi_put_varn_float_all(id, floats, n, p.start.data(), p.count.data(), values.data()));
    EXPECT_OK(
        ncmpi_put_varn_short_all(id, shorts, n, p.start.data(), p.count.data(), small.data()));
    EXPECT_OK(ncmpi_close(id));
    EXPECT_LT(bytes_of_data_files(),
              rows * columns() * 6);  // so that the stage was not skipped everywhere

    id = reopen(MPI_COMM_WORLD, NC_NOWRITE);
    const MPI_Offset start[2] = {0, 0}, count[2] = {rows, columns()};
    std::vector<float> got(static_cast<size_t>(rows * columns()), -1);
    std::vector<short> got_short(got.size(), -1);
    EXPECT_OK(ncmpi_get_vara_float_all(id, floats, start, count, got.data()));
    EXPECT_OK(ncmpi_get_vara_short_all(id, shorts, start, count, got_short.data()));
    int wrong = 0;
    for (MPI_Offset i = 0; i < rows * columns(); ++i) {
      const MPI_Offset row = i / columns(), column = i % columns();
      const float x = got[static_cast<size_t>(i)];
      const float expected = is_written(column) ? wanted(row, column) : NC_FILL_FLOAT;
      const bool right = std::isfinite(expected) && is_written(column)
                             ? std::abs(x - expected) <= bound
                             : std::memcmp(&x, &expected, sizeof x) == 0;
      const short y = is_written(column) ? wanted_short(row, column) : NC_FILL_SHORT;
      wrong += right && got_short[static_cast<size_t>(i)] == y ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_OK(ncmpi_close(id));
    remove_file();
  }
}

TEST(EncodedSlabs, overlapping_writes_of_other_maps_are_put_together) {
  for (const Hints& way : ways) {
    const File f = create(way);
    write_all(f, 1);
    // Every rank writes columns of its right neighbour.
    const auto is_over = [](MPI_Offset c) {
      return c < world.size * block && c % block >= 20 && c % block < 30;
    };
    std::vector<int> values(10, -5);
    const MPI_Offset start[] = {2, 3, (world.rank + 1) % world.size * block + 20},
                     count[] = {1, 1, 10};
    EXPECT_OK(ncmpi_put_vara_int_all(f.id, f.series, start, count, values.data()));
    EXPECT_OK(ncmpi_begin_indep_data(f.id));
    for (int i = 0; i < 6; ++i) {
      const MPI_Offset at[] = {0, 4, world.rank * block + 7 * i}, one[] = {1, 1, 3};
      EXPECT_OK(ncmpi_put_vara_int(f.id, f.series, at, one, values.data()));
    }
    EXPECT_OK(ncmpi_end_indep_data(f.id));
    for (int round = 0; round < 2; ++round) {
      const MPI_Offset all[] = {2, 3, 0}, size[] = {1, 1, columns()};
      std::vector<int> got(static_cast<size_t>(columns()));
      EXPECT_OK(ncmpi_get_vara_int_all(f.id, f.series, all, size, got.data()));
      int wrong = 0;
      for (MPI_Offset c = 0; c < columns(); ++c) {
        const int wanted = is_over(c) ? -5 : is_written(c) ? value(1, 2, 3, c) : NC_FILL_INT;
        wrong += got[static_cast<size_t>(c)] == wanted ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0);
      const MPI_Offset other[] = {0, 4, world.rank * block + 7}, three[] = {1, 1, 3};
      EXPECT_OK(ncmpi_get_vara_int_all(f.id, f.series, other, three, got.data()));
      for (int i = 0; i < 3; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], -5);
      EXPECT_OK(ncmpi_sync(f.id));
    }
    // The first map again covers what it has.
    EXPECT_OK(put_record(f, 3, 2));
    const MPI_Offset all[] = {2, 3, 0}, size[] = {1, 1, columns()};
    std::vector<int> got(static_cast<size_t>(columns()));
    EXPECT_OK(ncmpi_get_vara_int_all(f.id, f.series, all, size, got.data()));
    int wrong = 0;
    for (MPI_Offset c = 0; c < columns(); ++c) {
      const int wanted = is_written(c) ? value(3, 2, 3, c) : is_over(c) ? -5 : NC_FILL_INT;
      wrong += got[static_cast<size_t>(c)] == wanted ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_OK(ncmpi_close(f.id));
    remove_file();
  }
}

TEST(EncodedSlabs, a_codec_that_the_program_names_is_taken_and_kept) {
  const File f = create({{"codec", "none"}}, "shuffle,deflate:2");
  write_all(f, 1);
  EXPECT_ERR(NC_EBADNAME, ncmpi_redef(f.id) == NC_NOERR
                              ? ncmpi_put_att_text(f.id, f.series, "__filters", 1, "x")
                              : NC_NOERR);
  EXPECT_OK(ncmpi_enddef(f.id));
  EXPECT_OK(ncmpi_close(f.id));
  const int id = reopen(MPI_COMM_WORLD, NC_WRITE, {{"buffer_limit", "64k"}});
  const File again{id, f.fixed, f.series, f.bytes};
  write_all(again, 2);
  expect_all(id, f, 2);
  char named[64] = "";
  MPI_Offset length = 0;
  EXPECT_OK(ncmpi_var_get_filter(id, f.series, &length, named));
  EXPECT_EQ(std::string(named, static_cast<size_t>(length)), "shuffle,deflate:2");
  int attributes = -1;
  EXPECT_OK(ncmpi_inq_varnatts(id, f.series, &attributes));
  EXPECT_EQ(attributes, 0);
  EXPECT_OK(ncmpi_close(id));
  // In the header an anchor tells.
  if (world.rank == 0) {
    std::ifstream in(world.path(), std::ios::binary);
    const std::string header{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NE(header.find("__filters"), std::string::npos);
    EXPECT_NE(header.find("shuffle,deflate:2"), std::string::npos);
  }
  remove_file();
  const int bad = [&] {
    int ncid = -1, var = -1, dim = -1;
    const Info info(hints_of({}));
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &ncid));
    EXPECT_OK(ncmpi_def_dim(ncid, "x", 1000, &dim));
    EXPECT_OK(ncmpi_def_var(ncid, "v", NC_INT, 1, &dim, &var));
    EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, var, "nonsense"));
    EXPECT_ERR(NC_EINVAL, ncmpi_var_set_filter(ncid, var, "float32"));
    EXPECT_OK(ncmpi_enddef(ncid));
    return ncid;
  }();
  EXPECT_OK(ncmpi_close(bad));
  remove_file();
}

// All ranks fail together, and what is not damaged is read.
TEST(EncodedSlabs, damage_is_told_with_file_and_variable) {
  for (const char* codec : {"shuffle,zstd:1", "checksum"}) {
    SCOPED_TRACE(codec);
    const File f = create({{"codec", codec}, {"chunk_bytes", "4k"}, {"buffer_limit", "64k"}});
    write_all(f, 1);
    EXPECT_OK(ncmpi_close(f.id));
    if (world.rank == 0) {  // the first slabs are those of `fixed`
      std::fstream file(folder() + "/0", std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(4096 + 600);
      const int byte = file.get();
      file.seekp(4096 + 600);
      file.put(static_cast<char>(byte ^ 8));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const int id = reopen(MPI_COMM_WORLD, NC_NOWRITE);
    const MPI_Offset start[] = {0, 0}, count[] = {rows, columns()};
    std::vector<double> got(static_cast<size_t>(rows * columns()));
    const int code = ncmpi_get_vara_double_all(id, f.fixed, start, count, got.data());
    EXPECT_ERR(NC_ENOTNC, code);
    const std::string text = forebay_error_message();
    EXPECT_NE(text.find("variable fixed"), std::string::npos) << text;
    EXPECT_NE(text.find(".subfiles/0"), std::string::npos) << text;
    EXPECT_NE(text.find("checksum"), std::string::npos) << text;
    for (MPI_Offset r = 0; r < records; ++r) expect_box(id, f.series, 1, r, 0, columns(), false);
    EXPECT_OK(ncmpi_close(id));
    remove_file();
  }
}
