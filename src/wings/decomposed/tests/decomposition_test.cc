// Variables defined by a decomposition: what ranks write by their maps is what stands in the array,
// over every layout, and what they read by them.
#include <forebay.h>
#include <pnetcdf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

constexpr MPI_Offset rows = 6, columns = 40, levels = 3, records = 5;
constexpr MPI_Offset cells = rows * columns;

struct Layout {
  const char* name;
  Hints hints;
};

// By definition, elsewhere, and with what comes before or behind a layout. Groups of two ranks.
const std::vector<Layout> layouts = {
    {"", {}},
    {"groups", {{"ranks_per_node", "2"}}},
    {"decomposed", {{"layout", "decomposed"}, {"subfiling", "ranks"}}},
    {"decomposed, encoded",
     {{"layout", "decomposed"}, {"codec", "shuffle,zstd:1"}, {"chunk_bytes", "512"}}},
    {"groups, encoded", {{"ranks_per_node", "2"}, {"codec", "deflate:1"}, {"buffer_limit", "8k"}}},
    {"canonical", {{"layout", "canonical"}}},
    {"chunked", {{"layout", "chunked"}, {"codec", "shuffle,zstd"}, {"chunk_bytes", "4096"}}},
    {"burst", {{"nc_burst_buf", "enable"}}},
    {"canonical, burst", {{"layout", "canonical"}, {"nc_burst_buf", "enable"}}},
    {"memory", {{"stage", "memory"}}},
};

// Who has a cell: scattered, with holes (-1), and rank 1 has nothing.
int owner(MPI_Offset cell) {
  const auto n = static_cast<unsigned>(cell) * 2654435761U >> 7;
  if (n % 11 == 0) return -1;
  const int rank = static_cast<int>(n % static_cast<unsigned>(world.size));
  return world.size > 2 && rank == 1 ? 0 : rank;
}

// One rank's pieces, runs of a row.
struct Pieces {
  std::vector<MPI_Offset> numbers;  // of each piece two starts, two counts
  std::vector<MPI_Offset*> starts, counts;
  std::vector<MPI_Offset> mine;   // cells, in the order of memory
  std::vector<size_t> piece_end;  // in `mine`

  void add(MPI_Offset y, MPI_Offset x, MPI_Offset height, MPI_Offset width) {
    numbers.insert(numbers.end(), {y, x, height, width});
    for (MPI_Offset i = 0; i < height; ++i)
      for (MPI_Offset j = 0; j < width; ++j) mine.push_back((y + i) * columns + x + j);
    piece_end.push_back(mine.size());
  }
  void finish() {
    for (size_t i = 0; i < numbers.size(); i += 4) {
      starts.push_back(&numbers[i]);
      counts.push_back(&numbers[i + 2]);
    }
  }
  int count() const { return static_cast<int>(starts.size()); }
};

Pieces scattered(bool backwards = false) {
  Pieces pieces;
  std::vector<std::pair<MPI_Offset, MPI_Offset>> runs;  // cell, length
  for (MPI_Offset cell = 0; cell < cells; ++cell) {
    if (owner(cell) != world.rank) continue;
    const bool goes_on =
        !runs.empty() && runs.back().first + runs.back().second == cell && cell % columns != 0;
    if (goes_on)
      ++runs.back().second;
    else
      runs.emplace_back(cell, 1);
  }
  if (backwards) std::reverse(runs.begin(), runs.end());
  for (const auto& [cell, length] : runs) pieces.add(cell / columns, cell % columns, 1, length);
  pieces.finish();
  return pieces;
}

int value(int var, MPI_Offset record, MPI_Offset level, MPI_Offset cell) {
  return static_cast<int>(var * 1000000 + record * 10000 + level * 1000 + cell + 1) % 30011;
}

bool asks_for(const Hints& hints, const std::string& key, const std::string& value) {
  return std::any_of(hints.begin(), hints.end(),
                     [&](const auto& hint) { return hint.first == key && hint.second == value; });
}

// The canonical layout does not fill records: holes are zero.
bool fills_records = true;
double in_records(double fill) { return fills_records ? fill : 0; }

struct File {
  int ncid = -1, time = -1, level = -1, y = -1, x = -1, map = -1;
  int fixed = -1, series = -1, deep = -1, narrow = -1, plain = -1;
};

int define_map(const File& f, const Pieces& p, int* map) {
  const int dims[] = {f.y, f.x};
  return ncmpi_def_decom(f.ncid, 2, dims, p.count(), p.starts.data(), p.counts.data(), map);
}

// fixed(y,x) double, series(time,y,x) float, deep(time,level,y,x) int, narrow(level,y,x) short by
// the map; plain(time,y,x) int not.
File create(const Hints& hints, const Pieces& pieces) {
  File f;
  fills_records = !asks_for(hints, "layout", "canonical");
  const Info info(hints);
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                         &f.ncid));
  EXPECT_OK(ncmpi_set_fill(f.ncid, NC_FILL, nullptr));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "time", NC_UNLIMITED, &f.time));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "level", levels, &f.level));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "y", rows, &f.y));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "x", columns, &f.x));
  EXPECT_OK(define_map(f, pieces, &f.map));
  const int leading[] = {f.time, f.level}, plain[] = {f.time, f.y, f.x};
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "fixed", NC_DOUBLE, 0, nullptr, f.map, &f.fixed));
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "series", NC_FLOAT, 1, leading, f.map, &f.series));
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "deep", NC_INT, 2, leading, f.map, &f.deep));
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "narrow", NC_SHORT, 1, &f.level, f.map, &f.narrow));
  EXPECT_OK(ncmpi_def_var(f.ncid, "plain", NC_INT, 3, plain, &f.plain));
  EXPECT_OK(ncmpi_enddef(f.ncid));
  return f;
}

// Another rank is late each time.
void be_late(MPI_Offset turn) {
  if (turn % world.size == world.rank) usleep(2000);
}

template <typename T>
std::vector<T> own_values(const Pieces& p, int var, MPI_Offset record, MPI_Offset level) {
  std::vector<T> values;
  for (const MPI_Offset cell : p.mine)
    values.push_back(static_cast<T>(value(var, record, level, cell)));
  return values;
}

void write_all(const File& f, const Pieces& p) {
  EXPECT_OK(ncmpi_put_decom_double_all(f.ncid, f.fixed, nullptr, nullptr,
                                       own_values<double>(p, f.fixed, 0, 0).data()));
  MPI_Offset used = 64;
  for (MPI_Offset r = 0; r < records; ++r) used += 8 * static_cast<MPI_Offset>(p.mine.size());
  EXPECT_OK(ncmpi_buffer_attach(f.ncid, used));
  for (MPI_Offset r = 0; r < records; ++r) {
    be_late(r);
    const auto series = own_values<float>(p, f.series, r, 0);
    const MPI_Offset start[] = {r, 0}, all[] = {1, levels}, one[] = {1, 1};
    int requests[3];
    EXPECT_OK(ncmpi_iput_decom_float(f.ncid, f.series, start, one, series.data(), &requests[0]));
    std::vector<int> deep;  // every level in one call, or level by level
    for (MPI_Offset l = 0; l < levels; ++l) {
      const auto values = own_values<int>(p, f.deep, r, l);
      deep.insert(deep.end(), values.begin(), values.end());
      const MPI_Offset at[] = {r, l};
      if (r % 2 == 1) {
        EXPECT_OK(ncmpi_bput_decom_int(f.ncid, f.deep, at, one, values.data(), nullptr));
      }
    }
    if (r % 2 == 0) {
      EXPECT_OK(ncmpi_iput_decom_int(f.ncid, f.deep, start, all, deep.data(), &requests[1]));
    }
    EXPECT_OK(ncmpi_wait_all(f.ncid, NC_REQ_ALL, nullptr, nullptr));
  }
  EXPECT_OK(ncmpi_buffer_detach(f.ncid));
  // Each rank for itself, converted.
  EXPECT_OK(ncmpi_begin_indep_data(f.ncid));
  for (MPI_Offset l = 0; l < levels; ++l) {
    be_late(l);
    const MPI_Offset one = 1;
    EXPECT_OK(ncmpi_put_decom_long(f.ncid, f.narrow, &l, &one,
                                   own_values<long>(p, f.narrow, 0, l).data()));
  }
  EXPECT_OK(ncmpi_end_indep_data(f.ncid));
}

// All of a variable's array at these leading coordinates, as every rank reads it.
std::vector<double> whole(const File& f, int var, std::vector<MPI_Offset> leading) {
  std::vector<MPI_Offset> count(leading.size(), 1);
  leading.insert(leading.end(), {0, 0});
  count.insert(count.end(), {rows, columns});
  std::vector<double> got(static_cast<size_t>(cells), -1);
  EXPECT_OK(ncmpi_get_vara_double_all(f.ncid, var, leading.data(), count.data(), got.data()));
  return got;
}

// What nobody has is the fill value.
void expect_whole(const File& f, int var, MPI_Offset record, MPI_Offset level, double fill,
                  const std::vector<MPI_Offset>& leading) {
  if (var == f.series || var == f.deep) fill = in_records(fill);
  std::vector<double> wanted;
  for (MPI_Offset cell = 0; cell < cells; ++cell)
    wanted.push_back(owner(cell) < 0 ? fill : value(var, record, level, cell));
  EXPECT_EQ(wanted, whole(f, var, leading))
      << "variable " << var << ", record " << record << ", level " << level;
}

void expect_arrays(const File& f) {
  expect_whole(f, f.fixed, 0, 0, NC_FILL_DOUBLE, {});
  for (MPI_Offset r = 0; r < records; ++r) {
    be_late(r + 1);
    expect_whole(f, f.series, r, 0, NC_FILL_FLOAT, {r});
    for (MPI_Offset l = 0; l < levels; ++l) expect_whole(f, f.deep, r, l, NC_FILL_INT, {r, l});
  }
  for (MPI_Offset l = 0; l < levels; ++l) expect_whole(f, f.narrow, 0, l, NC_FILL_SHORT, {l});
}

void expect_own(const File& f, const Pieces& p) {
  const size_t n = p.mine.size();
  std::vector<int> fixed(n + 1, -7);
  EXPECT_OK(ncmpi_get_decom_int_all(f.ncid, f.fixed, nullptr, nullptr, fixed.data()));
  auto wanted = own_values<int>(p, f.fixed, 0, 0);
  wanted.push_back(-7);
  EXPECT_EQ(wanted, fixed);
  // All records at once, and all at the end by one wait.
  const MPI_Offset zero[] = {0, 0}, all[] = {records, levels};
  std::vector<float> series(n * records, -1);
  std::vector<int> deep(n * static_cast<size_t>(records * levels), -1);
  EXPECT_OK(ncmpi_get_decom_float_all(f.ncid, f.series, zero, all, series.data()));
  EXPECT_OK(ncmpi_iget_decom_int(f.ncid, f.deep, zero, all, deep.data(), nullptr));
  EXPECT_OK(ncmpi_wait_all(f.ncid, NC_REQ_ALL, nullptr, nullptr));
  std::vector<float> series_wanted;
  std::vector<int> deep_wanted;
  for (MPI_Offset r = 0; r < records; ++r) {
    const auto values = own_values<float>(p, f.series, r, 0);
    series_wanted.insert(series_wanted.end(), values.begin(), values.end());
    for (MPI_Offset l = 0; l < levels; ++l) {
      const auto of_level = own_values<int>(p, f.deep, r, l);
      deep_wanted.insert(deep_wanted.end(), of_level.begin(), of_level.end());
    }
  }
  EXPECT_EQ(series_wanted, series);
  EXPECT_EQ(deep_wanted, deep);
}

bool has_beside(const std::string& name) {
  struct stat status {};
  return ::stat((world.path() + ".subfiles/" + name).c_str(), &status) == 0;
}

bool has_data_files() { return has_beside("state"); }

// Collective. A file leaves no folder behind.
void remove_file() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int reopen(int mode = NC_NOWRITE, const Hints& hints = {}, MPI_Comm comm = MPI_COMM_WORLD) {
  int ncid = -1;
  const Info info(hints);
  EXPECT_OK(ncmpi_open(comm, world.path().c_str(), mode, info, &ncid));
  return ncid;
}

}  // namespace

TEST(Decomposition, writes_are_those_of_a_plain_array) {
  for (const bool backwards : {false, true}) {
    for (const Layout& layout : layouts) {
      if (backwards && asks_for(layout.hints, "nc_burst_buf", "enable")) continue;
      SCOPED_TRACE(layout.name);
      const Pieces pieces = scattered(backwards);
      File f = create(layout.hints, pieces);
      write_all(f, pieces);
      EXPECT_OK(ncmpi_sync(f.ncid));
      expect_arrays(f);
      expect_own(f, pieces);
      EXPECT_OK(ncmpi_close(f.ncid));
      f.ncid = reopen();
      expect_arrays(f);
      EXPECT_OK(ncmpi_close(f.ncid));
      remove_file();
    }
  }
}

TEST(Decomposition, variables_are_decomposed_unless_another_layout_is_chosen) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Pieces pieces = scattered();
    const File f = create(layout.hints, pieces);
    const bool other = asks_for(layout.hints, "layout", "canonical") ||
                       asks_for(layout.hints, "layout", "chunked");
    EXPECT_EQ(!other, has_data_files());
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Hou 2023, §7.4, first way: a part of the pieces at a time, in any order.
TEST(Decomposition, parts_of_the_pieces_fill_the_array_in_stages) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Pieces p = scattered();
    const File f = create(layout.hints, p);
    for (MPI_Offset r = 0; r < records; ++r) {
      const auto values = own_values<int>(p, f.series, r, 0);
      const MPI_Offset one = 1;
      // Pieces i, i + 5, … in the i-th stage; the last stage first.
      for (int stage = 4; stage >= 0; --stage) {
        be_late(r + stage);
        int n = 0;
        for (int i = stage; i < p.count(); i += 5, ++n) {
          const size_t begin = i == 0 ? 0 : p.piece_end[static_cast<size_t>(i) - 1];
          EXPECT_OK(ncmpi_iput_decom_part_int(f.ncid, f.series, &r, &one, i, 1,
                                              values.data() + begin, nullptr));
        }
        EXPECT_OK(ncmpi_wait_all(f.ncid, NC_REQ_ALL, nullptr, nullptr));
      }
      expect_whole(f, f.series, r, 0, NC_FILL_FLOAT, {r});
      // Halves are read back.
      const int half = p.count() / 2;
      const size_t before = half == 0 ? 0 : p.piece_end[static_cast<size_t>(half) - 1];
      std::vector<int> got(values.size(), -1);
      EXPECT_OK(ncmpi_get_decom_part_int_all(f.ncid, f.series, &r, &one, half, p.count() - half,
                                             got.data() + before));
      EXPECT_OK(ncmpi_get_decom_part_int_all(f.ncid, f.series, &r, &one, 0, half, got.data()));
      EXPECT_EQ(values, got);
    }
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Rank 0's definitions count then, and others take them over.
TEST(Decomposition, maps_stay_where_headers_of_ranks_differ) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Pieces p = scattered();
    const File f = create(layout.hints, p);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT_OK(ncmpi_redef(f.ncid));
    EXPECT_OK(ncmpi_put_att_int(f.ncid, NC_GLOBAL, "mine", NC_INT, 1, &rank));
    static_cast<void>(ncmpi_enddef(f.ncid));  // warns
    write_all(f, p);
    expect_arrays(f);
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Of a rank's own pieces that overlap the later one counts, and each is read.
TEST(Decomposition, pieces_may_overlap) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    Pieces p;
    if (world.rank == 0) {
      p.add(0, 0, 2, 5);
      p.add(1, 3, 2, 4);
      p.add(5, 39, 0, 1);
      p.add(0, 4, 1, 1);
    }
    p.finish();
    const File f = create(layout.hints, p);
    std::vector<int> values(p.mine.size()), got(p.mine.size(), -1);
    for (MPI_Offset r = 0; r < records; ++r) {
      be_late(r);
      std::iota(values.begin(), values.end(), static_cast<int>(100 * r));
      const MPI_Offset one = 1;
      EXPECT_OK(ncmpi_put_decom_int_all(f.ncid, f.series, &r, &one, values.data()));
      std::vector<double> wanted(static_cast<size_t>(cells), in_records(NC_FILL_FLOAT));
      if (world.rank == 0)
        for (size_t i = 0; i < values.size(); ++i)
          wanted[static_cast<size_t>(p.mine[i])] = values[i];
      MPI_Bcast(wanted.data(), static_cast<int>(cells), MPI_DOUBLE, 0, MPI_COMM_WORLD);
      EXPECT_EQ(wanted, whole(f, f.series, {r}));
      EXPECT_OK(ncmpi_get_decom_int_all(f.ncid, f.series, &r, &one, got.data()));
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(wanted[static_cast<size_t>(p.mine[i])], got[i]);
    }
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Hou 2023, §7.4, second way: all other functions work as on any variable.
TEST(Decomposition, other_functions_write_the_same_variables) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Pieces p = scattered();
    const File f = create(layout.hints, p);
    write_all(f, p);
    EXPECT_OK(ncmpi_flush(f.ncid));  // a staged write of another rank comes first then
    for (MPI_Offset r = 0; r < records; ++r) {
      // Rank by rank a row over what was written by the map.
      const MPI_Offset row = world.rank % rows;
      const MPI_Offset start[] = {r, row, 0}, count[] = {1, world.rank < rows ? 1 : 0, columns};
      const std::vector<int> own(static_cast<size_t>(columns), static_cast<int>(r) + 1);
      be_late(r);
      EXPECT_OK(ncmpi_put_vara_int_all(f.ncid, f.series, start, count, own.data()));
      const auto got = whole(f, f.series, {r});
      for (MPI_Offset cell = 0; cell < cells; ++cell) {
        const double by_map =
            owner(cell) < 0 ? in_records(NC_FILL_FLOAT) : value(f.series, r, 0, cell);
        EXPECT_EQ(cell / columns < std::min<MPI_Offset>(world.size, rows)
                      ? static_cast<double>(r + 1)
                      : by_map,
                  got[static_cast<size_t>(cell)]);
      }
    }
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

TEST(Decomposition, memory_may_have_gaps) {
  const Pieces p = scattered();
  const File f = create({}, p);
  MPI_Datatype every_second;
  const int n = static_cast<int>(p.mine.size());
  MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &every_second);
  MPI_Type_commit(&every_second);
  std::vector<double> memory(2 * p.mine.size() + 1, -3), got = memory;
  for (MPI_Offset r = 0; r < records; ++r) {
    for (int i = 0; i < n; ++i)
      memory[2 * static_cast<size_t>(i)] = value(f.series, r, 0, p.mine[static_cast<size_t>(i)]);
    const MPI_Offset one = 1;
    EXPECT_OK(ncmpi_put_decom_all(f.ncid, f.series, &r, &one, memory.data(), n == 0 ? 0 : 1,
                                  every_second));
    expect_whole(f, f.series, r, 0, NC_FILL_FLOAT, {r});
    EXPECT_OK(
        ncmpi_get_decom_all(f.ncid, f.series, &r, &one, got.data(), n == 0 ? 0 : 1, every_second));
    EXPECT_EQ(memory, got);
    EXPECT_OK(
        ncmpi_get_decom_all(f.ncid, f.series, &r, &one, got.data(), NC_COUNT_IGNORE, MPI_DOUBLE));
    for (int i = 0; i < n; ++i)
      EXPECT_EQ(memory[2 * static_cast<size_t>(i)], got[static_cast<size_t>(i)]);
    got = std::vector<double>(memory.size(), -3);
  }
  MPI_Type_free(&every_second);
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}

TEST(Decomposition, inquiries) {
  const Pieces p = scattered();
  const File f = create({}, p);
  int n = -1, map = -7, ndims = -1, dims[3] = {-1, -1, -1}, ranks = -1, nreqs = -1;
  MPI_Offset elements = -1;
  EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &n));
  EXPECT_EQ(1, n);
  EXPECT_OK(ncmpi_inq_var_decom(f.ncid, f.series, &map));
  EXPECT_EQ(f.map, map);
  EXPECT_OK(ncmpi_inq_var_decom(f.ncid, f.plain, &map));
  EXPECT_EQ(-1, map);
  EXPECT_OK(ncmpi_inq_decom(f.ncid, f.map, &ndims, dims, &ranks, &nreqs, &elements));
  EXPECT_EQ(2, ndims);
  EXPECT_EQ(f.y, dims[0]);
  EXPECT_EQ(f.x, dims[1]);
  EXPECT_EQ(-1, dims[2]);
  EXPECT_EQ(world.size, ranks);
  EXPECT_EQ(p.count(), nreqs);
  EXPECT_EQ(static_cast<MPI_Offset>(p.mine.size()), elements);
  EXPECT_OK(ncmpi_inq_decom(f.ncid, f.map, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_ERR(NC_EINVAL, ncmpi_inq_decom(f.ncid, 1, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_ERR(NC_EINVAL, ncmpi_inq_decom(f.ncid, -1, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_ERR(NC_ENOTVAR, ncmpi_inq_var_decom(f.ncid, 99, &map));
  EXPECT_ERR(NC_EGLOBAL, ncmpi_inq_var_decom(f.ncid, NC_GLOBAL, &map));
  // The variable has the map's dimensions behind its own.
  EXPECT_OK(ncmpi_inq_var(f.ncid, f.series, nullptr, nullptr, &ndims, dims, nullptr));
  EXPECT_EQ(3, ndims);
  EXPECT_EQ((std::vector<int>{f.time, f.y, f.x}), std::vector<int>(dims, dims + 3));
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}

// A restart: the same ranks find their maps in the file, and need not define them.
TEST(Decomposition, the_same_ranks_find_their_maps_again) {
  for (const Hints& hints :
       {Hints{}, Hints{{"ranks_per_node", "2"}}, Hints{{"subfiling", "none"}}}) {
    const Pieces p = scattered();
    File f = create(hints, p);
    const File first = f;
    write_all(f, p);
    EXPECT_OK(ncmpi_close(f.ncid));
    for (const int mode : {NC_NOWRITE, NC_WRITE}) {
      f.ncid = reopen(mode, hints);
      int n = -1, map = -7, ndims = -1, dims[2] = {-1, -1}, ranks = -1;
      MPI_Offset elements = -1;
      EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &n));
      EXPECT_EQ(1, n);
      EXPECT_OK(ncmpi_inq_var_decom(f.ncid, f.deep, &map));
      EXPECT_EQ(first.map, map);
      EXPECT_OK(ncmpi_inq_decom(f.ncid, map, &ndims, dims, &ranks, nullptr, &elements));
      EXPECT_EQ(2, ndims);
      EXPECT_EQ(f.y, dims[0]);
      EXPECT_EQ(world.size, ranks);
      EXPECT_EQ(static_cast<MPI_Offset>(p.mine.size()), elements);
      expect_own(f, p);
      if (mode == NC_WRITE) {  // more records by it, and a variable
        const auto values = own_values<float>(p, f.series, records, 0);
        const MPI_Offset at = records, one = 1;
        EXPECT_OK(ncmpi_put_decom_float_all(f.ncid, f.series, &at, &one, values.data()));
        expect_whole(f, f.series, records, 0, NC_FILL_FLOAT, {records});
        EXPECT_OK(ncmpi_redef(f.ncid));
        int more = -1;
        EXPECT_OK(ncmpi_def_decom_var(f.ncid, "more", NC_INT, 1, &f.time, map, &more));
        EXPECT_OK(ncmpi_enddef(f.ncid));
        const auto ints = own_values<int>(p, more, records, 0);
        EXPECT_OK(ncmpi_put_decom_int_all(f.ncid, more, &at, &one, ints.data()));
        expect_whole(f, more, records, 0, NC_FILL_INT, {records});
      }
      EXPECT_OK(ncmpi_close(f.ncid));
    }
    remove_file();
  }
}

TEST(Decomposition, other_ranks_are_told_to_use_get_vara) {
  const Pieces p = scattered();
  File f = create({}, p);
  write_all(f, p);
  EXPECT_OK(ncmpi_close(f.ncid));
  MPI_Comm fewer;
  const bool in = world.rank > 0;
  MPI_Comm_split(MPI_COMM_WORLD, in ? 1 : MPI_UNDEFINED, 0, &fewer);
  if (in) {
    f.ncid = reopen(NC_WRITE, {}, fewer);
    int map = -1, ranks = -1, nreqs = -1;
    MPI_Offset elements = -1, start = 0, one = 1;
    std::vector<float> values(static_cast<size_t>(cells), 1);
    EXPECT_OK(ncmpi_inq_var_decom(f.ncid, f.series, &map));
    EXPECT_OK(ncmpi_inq_decom(f.ncid, map, nullptr, nullptr, &ranks, nullptr, nullptr));
    EXPECT_EQ(world.size, ranks);
    EXPECT_ERR(NC_EINVAL, ncmpi_inq_decom(f.ncid, map, nullptr, nullptr, nullptr, &nreqs, nullptr));
    EXPECT_ERR(NC_EINVAL,
               ncmpi_inq_decom(f.ncid, map, nullptr, nullptr, nullptr, nullptr, &elements));
    EXPECT_ERR(NC_EINVAL, ncmpi_get_decom_float_all(f.ncid, f.series, &start, &one, values.data()));
    EXPECT_TRUE(std::strstr(forebay_error_message(), "get_vara") != nullptr)
        << forebay_error_message();
    EXPECT_ERR(NC_EINVAL, ncmpi_put_decom_float_all(f.ncid, f.series, &start, &one, values.data()));
    EXPECT_ERR(NC_EINVAL,
               ncmpi_iget_decom_float(f.ncid, f.series, &start, &one, values.data(), nullptr));
    expect_arrays(f);
    EXPECT_OK(ncmpi_close(f.ncid));
    MPI_Comm_free(&fewer);
  }
  remove_file();
}

// What a file does not tell: maps of another layout, and the order of pieces in memory.
TEST(Decomposition, maps_that_the_file_does_not_tell) {
  for (const bool canonical : {false, true}) {
    const Pieces p = scattered(!canonical);
    File f = create(canonical ? Hints{{"layout", "canonical"}} : Hints{}, p);
    write_all(f, p);
    EXPECT_OK(ncmpi_close(f.ncid));
    f.ncid = reopen();
    // In any order there is one only where ranks have no two pieces.
    int most = p.count();
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_TRUE(most > 1);
    int n = -1, map = -7;
    EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &n));
    EXPECT_EQ(canonical ? 0 : 1, n);
    EXPECT_OK(ncmpi_inq_var_decom(f.ncid, f.series, &map));
    EXPECT_EQ(canonical ? -1 : 0, map);
    MPI_Offset start = 0, one = 1;
    std::vector<float> values(static_cast<size_t>(cells), 1);
    EXPECT_ERR(NC_EINVAL, ncmpi_get_decom_float_all(f.ncid, f.series, &start, &one, values.data()));
    EXPECT_TRUE(std::strstr(forebay_error_message(), "get_vara") != nullptr)
        << forebay_error_message();
    expect_arrays(f);
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// One rank's order is enough for a file not to tell a map; of many maps all hear of it in words.
TEST(Decomposition, each_of_many_maps_is_told_or_not) {
  for (const int maps : {3, 63, 64, 130}) {
    const Pieces forwards = scattered(), backwards = scattered(true);
    File f;
    const Info info(Hints{});
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                           &f.ncid));
    EXPECT_OK(ncmpi_def_dim(f.ncid, "y", rows, &f.y));
    EXPECT_OK(ncmpi_def_dim(f.ncid, "x", columns, &f.x));
    std::vector<int> tells, vars;
    std::vector<const Pieces*> pieces;
    for (int i = 0; i < maps; ++i) {
      const bool turned = (i % 5 == 2 || i == 62 || i == 63) && i % world.size == world.rank;
      pieces.push_back(turned ? &backwards : &forwards);
      tells.push_back(!turned || forwards.count() < 2);
      int map = -1, var = -1;
      EXPECT_OK(define_map(f, *pieces.back(), &map));
      EXPECT_OK(ncmpi_def_decom_var(f.ncid, ("v" + std::to_string(i)).c_str(), NC_INT, 0, nullptr,
                                    map, &var));
      vars.push_back(var);
    }
    MPI_Allreduce(MPI_IN_PLACE, tells.data(), maps, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    EXPECT_OK(ncmpi_enddef(f.ncid));
    for (size_t i = 0; i < vars.size(); ++i)
      EXPECT_OK(ncmpi_put_decom_int_all(f.ncid, vars[i], nullptr, nullptr,
                                        own_values<int>(*pieces[i], vars[i], 0, 0).data()));
    EXPECT_OK(ncmpi_close(f.ncid));
    f.ncid = reopen();
    for (size_t i = 0; i < vars.size(); ++i) {
      std::vector<int> got(forwards.mine.size());
      const int told = ncmpi_get_decom_int_all(f.ncid, vars[i], nullptr, nullptr, got.data());
      EXPECT_EQ(tells[i] != 0 ? NC_NOERR : NC_EINVAL, told) << "map " << i << " of " << maps;
      if (told != NC_NOERR) continue;
      EXPECT_EQ(own_values<int>(forwards, vars[i], 0, 0), got);
    }
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Several maps in one file, some defined later, one by none of the variables; each finds its own.
TEST(Decomposition, several_maps_and_redefinition) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const Pieces p = scattered();
    File f = create(layout.hints, p);
    write_all(f, p);
    std::vector<int> vars;
    std::vector<Pieces> blocks(5);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_OK(ncmpi_redef(f.ncid));
      // Columns in blocks, another rank's in each map.
      const MPI_Offset first =
          columns * ((world.rank + static_cast<int>(i)) % world.size) / world.size;
      const MPI_Offset last =
          columns * ((world.rank + static_cast<int>(i)) % world.size + 1) / world.size;
      if (last > first) blocks[i].add(0, first, rows, last - first);
      blocks[i].finish();
      int unused = -1, map = -1;
      EXPECT_OK(define_map(f, p, &unused));
      EXPECT_OK(define_map(f, blocks[i], &map));
      EXPECT_EQ(unused + 1, map);
      const std::string name = "v" + std::to_string(i);
      EXPECT_OK(ncmpi_def_decom_var(f.ncid, name.c_str(), NC_INT, 1, &f.time, map,
                                    &vars.emplace_back(-1)));
      EXPECT_OK(ncmpi_enddef(f.ncid));
      for (MPI_Offset r = 0; r < records; ++r) {
        be_late(r);
        const MPI_Offset one = 1;
        EXPECT_OK(ncmpi_put_decom_int_all(f.ncid, vars[i], &r, &one,
                                          own_values<int>(blocks[i], vars[i], r, 0).data()));
      }
    }
    for (const bool again : {false, true}) {
      int ndecoms = -1, map = -7;
      EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &ndecoms));
      EXPECT_OK(ncmpi_inq_var_decom(f.ncid, vars[4], &map));
      EXPECT_EQ(again && !has_data_files() ? 0 : 11, ndecoms);
      EXPECT_EQ(again && !has_data_files() ? -1 : 10, map);
      for (size_t i = 0; i < vars.size(); ++i) {
        for (MPI_Offset r = 0; r < records; ++r) {
          const auto got = whole(f, vars[i], {r});
          for (MPI_Offset cell = 0; cell < cells; ++cell)
            EXPECT_EQ(value(vars[i], r, 0, cell), got[static_cast<size_t>(cell)]);
        }
        if (map < 0) continue;
        std::vector<int> own(blocks[i].mine.size(), -1);
        const MPI_Offset start = 3, one = 1;
        EXPECT_OK(ncmpi_get_decom_int_all(f.ncid, vars[i], &start, &one, own.data()));
        EXPECT_EQ(own_values<int>(blocks[i], vars[i], 3, 0), own);
      }
      EXPECT_OK(ncmpi_close(f.ncid));
      if (!again) f.ncid = reopen();
    }
    remove_file();
  }
}

// One rank's error is every rank's: none has a map that the others lack.
TEST(Decomposition, a_wrong_piece_of_one_rank_is_told_to_all) {
  const Pieces p = scattered();
  File f;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                         MPI_INFO_NULL, &f.ncid));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "time", NC_UNLIMITED, &f.time));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "y", rows, &f.y));
  EXPECT_OK(ncmpi_def_dim(f.ncid, "x", columns, &f.x));
  struct Wrong {
    MPI_Offset start, count;
    int code;
  };
  for (const Wrong& wrong : {Wrong{-1, 1, NC_EINVALCOORDS}, Wrong{columns, 1, NC_EINVALCOORDS},
                             Wrong{3, -1, NC_ENEGATIVECNT}, Wrong{3, columns, NC_EEDGE}}) {
    MPI_Offset start[] = {0, world.rank == world.size - 1 ? wrong.start : 0};
    MPI_Offset count[] = {1, world.rank == world.size - 1 ? wrong.count : 1};
    MPI_Offset* starts[] = {start};
    MPI_Offset* counts[] = {count};
    const int dims[] = {f.y, f.x};
    int map = -5;
    be_late(wrong.count);
    EXPECT_ERR(wrong.code, ncmpi_def_decom(f.ncid, 2, dims, 1, starts, counts, &map));
    EXPECT_EQ(-5, map);
  }
  // Dimensions are not the same.
  if (world.size > 1) {
    const int dims[] = {world.rank == 0 ? f.y : f.x, f.x};
    EXPECT_ERR(NC_EMULTIDEFINE_FNC_ARGS,
               ncmpi_def_decom(f.ncid, 2, dims, 0, nullptr, nullptr, nullptr));
  }
  int n = -1;
  EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &n));
  EXPECT_EQ(0, n);
  EXPECT_OK(define_map(f, p, &f.map));
  EXPECT_EQ(0, f.map);
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "series", NC_FLOAT, 1, &f.time, f.map, &f.series));
  EXPECT_OK(ncmpi_enddef(f.ncid));
  // A rank with a wrong record takes part.
  const auto values = own_values<float>(p, f.series, 0, 0);
  const bool bad = world.rank == world.size - 1;
  const MPI_Offset start = bad ? -1 : 0, one = 1;
  EXPECT_ERR(bad ? NC_EINVALCOORDS : NC_NOERR,
             ncmpi_put_decom_float_all(f.ncid, f.series, &start, &one, values.data()));
  if (world.size > 1) {
    const auto got = whole(f, f.series, {0});
    for (MPI_Offset cell = 0; cell < cells; ++cell) {
      if (owner(cell) < 0 || owner(cell) == world.size - 1) continue;
      EXPECT_EQ(value(f.series, 0, 0, cell), got[static_cast<size_t>(cell)]);
    }
  }
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}

TEST(Decomposition, maps_of_nothing_and_requests_for_nothing) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    Pieces p;
    if (world.rank == 0) p.add(2, 3, 2, 0);  // one piece, no elements
    p.finish();
    const File f = create(layout.hints, p);
    const MPI_Offset zero[] = {0, 0}, two[] = {2, 2}, none[] = {2, 0};
    float nothing = 0;
    int request = 5;
    EXPECT_OK(ncmpi_put_decom_float_all(f.ncid, f.series, zero, two, &nothing));
    EXPECT_OK(ncmpi_put_decom_float_all(f.ncid, f.series, zero, none, nullptr));
    EXPECT_OK(ncmpi_put_decom_all(f.ncid, f.series, zero, two, nullptr, 0, MPI_FLOAT));
    EXPECT_OK(ncmpi_put_decom_part_float_all(f.ncid, f.series, zero, two, 0, 0, nullptr));
    EXPECT_OK(ncmpi_iput_decom_float(f.ncid, f.deep, zero, two, nullptr, &request));
    EXPECT_EQ(NC_REQ_NULL, request);
    EXPECT_OK(ncmpi_wait_all(f.ncid, NC_REQ_ALL, nullptr, nullptr));
    // As with vara, the call says which records there are.
    MPI_Offset length = -1;
    EXPECT_OK(ncmpi_inq_dimlen(f.ncid, f.time, &length));
    EXPECT_EQ(MPI_Offset{2}, length);
    EXPECT_OK(ncmpi_get_decom_float_all(f.ncid, f.series, zero, two, nullptr));
    EXPECT_EQ(std::vector<double>(static_cast<size_t>(cells), in_records(NC_FILL_FLOAT)),
              whole(f, f.series, {1}));
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// By PnetCDF's hints for several files: no more of them than were asked for, unless a key of ours
// says how many.
TEST(Decomposition, subfiles_of_pnetcdf_are_data_files) {
  const std::string number = world.size > 2 ? "2" : "1";
  for (const bool by_ranks : {false, true}) {
    Hints hints{{"pnetcdf_subfiling", "enable"}, {"nc_num_subfiles", number}};
    if (by_ranks) hints.emplace_back("subfiling", "ranks");
    const Pieces p = scattered();
    const File f = create(hints, p);
    write_all(f, p);
    EXPECT_OK(ncmpi_sync(f.ncid));
    const int files = by_ranks ? world.size : std::stoi(number);
    EXPECT_TRUE(has_beside(std::to_string(files - 1)));
    EXPECT_FALSE(has_beside(std::to_string(files)));
    expect_arrays(f);
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
  const Pieces p = scattered();
  const File f = create({{"pnetcdf_subfiling", "enable"}, {"layout", "canonical"}}, p);
  EXPECT_FALSE(has_data_files());
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}

// More groups than data files, of which each rank opens its own by MPI-IO.
TEST(Decomposition, data_files_of_more_groups_are_there_for_mpi_io) {
  const Pieces p = scattered();
  for (const char* transport : {"independent", "collective"}) {
    File f = create({{"subfiling", "none"}}, p);
    write_all(f, p);
    EXPECT_OK(ncmpi_close(f.ncid));
    f.ncid = reopen(NC_WRITE, {{"subfiling", "ranks"}, {"transport", transport}});
    EXPECT_TRUE(has_beside(std::to_string(world.size - 1)));
    const auto values = own_values<float>(p, f.series, records, 0);
    const MPI_Offset at = records, one = 1;
    EXPECT_OK(ncmpi_put_decom_float_all(f.ncid, f.series, &at, &one, values.data()));
    expect_whole(f, f.series, records, 0, NC_FILL_FLOAT, {records});
    EXPECT_OK(ncmpi_close(f.ncid));
    remove_file();
  }
}

// Maps need define mode; text is decomposed as well as numbers.
TEST(Decomposition, modes_and_text) {
  Pieces p = scattered();
  File f = create({}, p);
  int map = -1;
  EXPECT_ERR(NC_ENOTINDEFINE, define_map(f, p, &map));
  EXPECT_ERR(NC_EINVAL, ncmpi_put_decom_int_all(f.ncid, f.plain, nullptr, nullptr, nullptr));
  EXPECT_OK(ncmpi_redef(f.ncid));
  int text = -1;
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "text", NC_CHAR, 1, &f.level, f.map, &text));
  EXPECT_OK(ncmpi_enddef(f.ncid));
  std::string letters;
  for (const MPI_Offset cell : p.mine) letters += static_cast<char>('a' + cell % 26);
  const MPI_Offset start = 1, one = 1;
  EXPECT_OK(ncmpi_put_decom_text_all(f.ncid, text, &start, &one, letters.data()));
  std::string got(static_cast<size_t>(cells), '?');
  const MPI_Offset first[] = {1, 0, 0}, all[] = {1, rows, columns};
  EXPECT_OK(ncmpi_get_vara_text_all(f.ncid, text, first, all, got.data()));
  for (MPI_Offset cell = 0; cell < cells; ++cell)
    EXPECT_EQ(owner(cell) < 0 ? '\0' : static_cast<char>('a' + cell % 26),
              got[static_cast<size_t>(cell)]);
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}

// What a redefinition brought goes with it, maps included.
// As many dimensions as netCDF's variables may have: what is written so is read.
TEST(Decomposition, variables_of_many_dimensions) {
  for (const Layout& layout : layouts) {
    for (const int fixed : {31, 32, 33, 200}) {
      SCOPED_TRACE(layout.name + std::string(", dimensions: ") + std::to_string(fixed));
      const Info info(layout.hints);
      int ncid = -1, vars[2] = {-1, -1}, dims[201];
      EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                             &ncid));
      EXPECT_OK(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]));
      for (int d = 1; d <= fixed; ++d) {
        // Ranks have the first; some of the others have two indices, of which each second is read.
        const MPI_Offset length = d == 1 ? world.size : d % 50 == 20 ? 2 : 1;
        EXPECT_OK(ncmpi_def_dim(ncid, ("d" + std::to_string(d)).c_str(), length, &dims[d]));
      }
      EXPECT_OK(ncmpi_def_var(ncid, "fixed", NC_INT, fixed, dims + 1, &vars[0]));
      EXPECT_OK(ncmpi_def_var(ncid, "record", NC_INT, fixed + 1, dims, &vars[1]));
      EXPECT_OK(ncmpi_enddef(ncid));
      std::vector<MPI_Offset> start(static_cast<size_t>(fixed) + 1, 0), count(start.size(), 1);
      MPI_Offset each = 1;
      for (int d = 2; d <= fixed; ++d)
        if (d % 50 == 20) count[static_cast<size_t>(d)] = 2, each *= 2;
      start[1] = world.rank;
      std::vector<int> values(static_cast<size_t>(each), 0), back(values);
      for (size_t i = 0; i < values.size(); ++i) values[i] = 100 * world.rank + static_cast<int>(i);
      EXPECT_OK(ncmpi_put_vara_int_all(ncid, vars[0], &start[1], &count[1], values.data()));
      EXPECT_OK(ncmpi_put_vara_int_all(ncid, vars[1], start.data(), count.data(), values.data()));
      EXPECT_OK(ncmpi_close(ncid));
      ncid = reopen();
      start[1] = (world.rank + 1) % world.size;
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = 100 * static_cast<int>(start[1]) + static_cast<int>(i);
      EXPECT_OK(ncmpi_get_vara_int_all(ncid, vars[0], &start[1], &count[1], back.data()));
      EXPECT_EQ(values, back);
      back.assign(back.size(), -1);
      EXPECT_OK(ncmpi_get_vara_int_all(ncid, vars[1], start.data(), count.data(), back.data()));
      EXPECT_EQ(values, back);
      EXPECT_OK(ncmpi_close(ncid));
      remove_file();
    }
  }
}

TEST(Decomposition, abort_takes_maps_back) {
  const Pieces p = scattered();
  File f = create({}, p);
  EXPECT_OK(ncmpi_redef(f.ncid));
  int map = -1, n = -1;
  EXPECT_OK(define_map(f, p, &map));
  EXPECT_EQ(1, map);
  EXPECT_OK(ncmpi_def_decom_var(f.ncid, "gone", NC_INT, 0, nullptr, map, nullptr));
  EXPECT_OK(ncmpi_abort(f.ncid));
  f.ncid = reopen();
  EXPECT_OK(ncmpi_inq_ndecoms(f.ncid, &n));
  EXPECT_EQ(1, n);
  EXPECT_OK(ncmpi_close(f.ncid));
  remove_file();
}
