// Writes chunked variables, or (plain) canonical ones, onto a small file system that is full.
//
// Usage: full_disk FILE OTHER [plain|synced]
//
// With `synced` the file shows the state of the last sync, which is part of every write here.
//
// OTHER is a file beside FILE that takes up what space is to be had, but for some pages. The write
// that does not fit must fail with NC_ENO_SPACE on every rank and leave what was there, for whoever
// opens the file; once OTHER is gone the same write must succeed. Exits with 1 where anything is
// otherwise. See run_full_disk.py.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "support/harness.h"

namespace {

constexpr MPI_Offset rows = 48;
constexpr MPI_Offset columns = 2000;

int rank = 0;
int size = 1;
bool wrong = false;
bool syncs = false;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::printf("rank %d: %s\n", rank, what.c_str());
  wrong = true;
}

void expect_code(int expected, int code, const std::string& what) {
  expect(code == expected, what + " returned " + forebay_test::error_name(code) + ", expected " +
                               forebay_test::error_name(expected));
}

// Hardly to be compressed.
int value_of(int version, int var, MPI_Offset row, MPI_Offset column) {
  unsigned mixed = static_cast<unsigned>(version * 2 + var) * 2654435761U +
                   static_cast<unsigned>(row * columns + column) * 2246822519U;
  mixed ^= mixed >> 15;
  mixed *= 3266489917U;
  return static_cast<int>((mixed ^ (mixed >> 13)) & 0x7fffffffU);
}

// All of `fixed`, and one record.
int put(int id, int version, MPI_Offset record) {
  const MPI_Offset first = columns * rank / size;
  const MPI_Offset last = columns * (rank + 1) / size;
  std::vector<int> values[2];
  int requests[2] = {NC_REQ_NULL, NC_REQ_NULL};
  for (const int var : {0, 1}) {
    const MPI_Offset row = var == 0 ? 0 : record;
    const MPI_Offset count[2] = {var == 0 ? rows : 1, last - first};
    const MPI_Offset start[2] = {row, first};
    for (MPI_Offset r = row; r < row + count[0]; ++r) {
      for (MPI_Offset c = first; c < last; ++c) values[var].push_back(value_of(version, var, r, c));
    }
    expect_code(NC_NOERR,
                ncmpi_iput_vara_int(id, var, start, count, values[var].data(), &requests[var]),
                "iput");
  }
  const int code = ncmpi_wait_all(id, 2, requests, nullptr);
  return code == NC_NOERR && syncs ? ncmpi_sync(id) : code;
}

// `fixed` is of this version, and so is the last of so many records.
void check(int id, int version, MPI_Offset records, const std::string& when) {
  MPI_Offset found = -1;
  expect_code(NC_NOERR, ncmpi_inq_dimlen(id, 2, &found), "inq_dimlen");
  expect(found == records,
         when + ": " + std::to_string(found) + " records, not " + std::to_string(records));
  for (const int var : {0, 1}) {
    const MPI_Offset row = var == 0 ? 0 : records - 1;
    const MPI_Offset start[2] = {row, 0};
    const MPI_Offset count[2] = {var == 0 ? rows : 1, columns};
    std::vector<int> got(static_cast<size_t>(count[0] * count[1]));
    expect_code(NC_NOERR, ncmpi_get_vara_int_all(id, var, start, count, got.data()), when);
    size_t bad = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const auto at = static_cast<MPI_Offset>(i);
      bad += got[i] != value_of(version, var, row + at / columns, at % columns) ? 1 : 0;
    }
    expect(bad == 0,
           when + ": " + std::to_string(bad) + " wrong values of variable " + std::to_string(var));
  }
}

void check_reopened(const char* path, int version, MPI_Offset records, const std::string& when) {
  int id = -1;
  expect_code(NC_NOERR, ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), when);
  if (id < 0) return;
  check(id, version, records, when);
  expect_code(NC_NOERR, ncmpi_close(id), when);
}

// Fills the file system but for `spare` bytes.
void take_space(const char* other, off_t spare) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const int fd = ::open(other, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const std::vector<char> block(4096, 'x');
    off_t used = 0;
    while (fd >= 0 && ::write(fd, block.data(), block.size()) == 4096) used += 4096;
    expect(fd >= 0 && errno == ENOSPC && used > spare, "the file system cannot be filled");
    if (::ftruncate(fd, used - spare) != 0) expect(false, "no spare room");
    ::close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void release_space(const char* other) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) ::unlink(other);
  MPI_Barrier(MPI_COMM_WORLD);
}

int create(const char* path) {
  int id = -1;
  int dims[3] = {};
  int var = -1;
  expect_code(NC_NOERR,
              ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id),
              "create");
  ncmpi_def_dim(id, "row", rows, &dims[0]);
  ncmpi_def_dim(id, "column", columns, &dims[1]);
  ncmpi_def_dim(id, "time", NC_UNLIMITED, &dims[2]);
  const int fixed[2] = {dims[0], dims[1]};
  const int record[2] = {dims[2], dims[1]};
  ncmpi_def_var(id, "fixed", NC_INT, 2, fixed, &var);
  ncmpi_def_var(id, "series", NC_INT, 2, record, &var);
  expect_code(NC_NOERR, ncmpi_enddef(id), "enddef");
  return id;
}

// True when the disk was full.
bool fill_up(const char* path, const char* other, off_t spare) {
  const std::string when = "with " + std::to_string(spare) + " bytes left";
  const int id = create(path);
  expect_code(NC_NOERR, put(id, 1, 0), "the first write");
  take_space(other, spare);
  const int code = put(id, 2, 1);
  if (code != NC_NOERR) {
    expect_code(NC_ENO_SPACE, code, when + ": wait_all");
    check_reopened(path, 1, 1, when + ": the old contents");
    expect_code(NC_ENO_SPACE, put(id, 2, 1), when + ": wait_all again");
    check_reopened(path, 1, 1, when + ": the old contents, again");
    release_space(other);
    expect_code(NC_NOERR, put(id, 2, 1), when + ", and then enough: wait_all");
  }
  release_space(other);
  check(id, 2, 2, when + ", and then enough");
  check_reopened(path, 2, 2, when + ", and then enough, reopened");
  expect_code(NC_NOERR, ncmpi_sync(id), "sync");
  expect_code(NC_NOERR, put(id, 3, 2), "the write after it");
  expect_code(NC_NOERR, ncmpi_close(id), "close");
  check_reopened(path, 3, 3, when + ", and then enough, closed");
  return code != NC_NOERR;
}

// Room for nothing, for some of the chunks, for all of them but not for the index.
void fill_up_often(const char* path, const char* other) {
  int full = 0;
  int fitted = 0;
  for (const off_t pages : {0, 1, 2, 16, 48, 80, 92, 93, 94, 95, 96, 97, 98, 99, 100, 120})
    ++(fill_up(path, other, pages * 4096) ? full : fitted);
  expect(full >= 6 && fitted >= 1, "the file system was full " + std::to_string(full) +
                                       " times, and was not " + std::to_string(fitted) + " times");
}

// Independent writes that memory cannot hold wait in a file beside the other. The one that finds no
// room there fails on its rank alone and does nothing; all others arrive.
void fill_up_alone(const char* path, const char* other) {
  const int id = create(path);
  expect_code(NC_NOERR, put(id, 1, 0), "the first write");
  take_space(other, 16 * 4096);
  expect_code(NC_NOERR, ncmpi_begin_indep_data(id), "begin_indep_data");
  const MPI_Offset start[2] = {0, 0}, count[2] = {rows, columns};
  const MPI_Offset record[2] = {1, 0}, once[2] = {1, columns};
  std::vector<int> values(static_cast<size_t>(rows * columns)), got(values);
  int version = 1;
  if (rank == size - 1) {
    int code = NC_NOERR;
    while (code == NC_NOERR && version < 20) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = value_of(version + 1, 0, 0, static_cast<MPI_Offset>(i));
      code = ncmpi_put_vara_int(id, 0, start, count, values.data());
      if (code == NC_NOERR) ++version;
    }
    expect_code(NC_ENO_SPACE, code, "an independent write");
    expect(version > 1, "memory held none of the independent writes");
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = value_of(version, 0, 0, static_cast<MPI_Offset>(i));
    expect_code(NC_NOERR, ncmpi_get_vara_int(id, 0, start, count, got.data()), "the read after it");
    expect(got == values, "the independent write that failed did something");
  }
  if (rank == 0) {
    std::vector<int> row;
    for (MPI_Offset c = 0; c < columns; ++c) row.push_back(value_of(1, 1, 1, c));
    expect_code(NC_NOERR, ncmpi_put_vara_int(id, 1, record, once, row.data()), "rank 0's write");
  }
  release_space(other);
  expect_code(NC_NOERR, ncmpi_end_indep_data(id), "end_indep_data");
  expect_code(NC_NOERR, ncmpi_close(id), "close");
  MPI_Bcast(&version, 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  int reopened = -1;
  expect_code(NC_NOERR, ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &reopened),
              "open");
  expect_code(NC_NOERR, ncmpi_get_vara_int_all(reopened, 0, start, count, got.data()), "fixed");
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == value_of(version, 0, 0, static_cast<MPI_Offset>(i))) continue;
    expect(false, "element " + std::to_string(i) + " did not arrive");
    break;
  }
  std::vector<int> row(static_cast<size_t>(columns));
  expect_code(NC_NOERR, ncmpi_get_vara_int_all(reopened, 1, record, once, row.data()), "series");
  for (MPI_Offset c = 0; c < columns; ++c)
    expect(row[static_cast<size_t>(c)] == value_of(1, 1, 1, c), "the record did not arrive");
  expect_code(NC_NOERR, ncmpi_close(reopened), "close");
}

void move(const std::string& from, const std::string& to) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) expect(std::rename(from.c_str(), to.c_str()) == 0, "cannot rename " + from);
  MPI_Barrier(MPI_COMM_WORLD);
}

// What was there is not kept, but the error is told, on all ranks, by whatever name the file has.
void fill_up_plain(const char* path, const char* other) {
  for (const off_t pages : {0, 1, 40}) {
    const int id = create(path);
    take_space(other, pages * 4096);
    const std::string when = "with " + std::to_string(pages) + " pages left";
    const std::string moved = std::string(path) + ".moved";
    expect_code(NC_ENO_SPACE, put(id, 1, 0), when);
    move(path, moved);
    expect_code(NC_ENO_SPACE, put(id, 1, 0), when + ", again, under another name");
    move(moved, path);
    release_space(other);
    expect_code(NC_NOERR, put(id, 2, 0), when + ", and then enough");
    expect_code(NC_NOERR, ncmpi_close(id), when + ": close");
    check_reopened(path, 2, 1, when + ", and then enough");
  }
}

// Where ranks write the same elements each finds another one's there, zeros among them, and none is
// lost.
void write_the_same(const char* path, const char* other) {
  const int id = create(path);
  take_space(other, 120 * 4096);
  const MPI_Offset start[2] = {0, 0}, count[2] = {rows, columns};
  for (const int more : {0, 1}) {
    const std::vector<int> values(static_cast<size_t>(rows * columns), rank + more);
    expect_code(NC_NOERR, ncmpi_put_vara_int_all(id, 0, start, count, values.data()),
                "ranks that write the same elements");
  }
  expect_code(NC_NOERR, ncmpi_close(id), "close");
  release_space(other);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  forebay_test::start_watch("full_disk", rank, 60);
  syncs = argc == 4 && std::string(argv[3]) == "synced";
  if (argc == 3 || syncs) {
    fill_up_often(argv[1], argv[2]);
    if (size > 1) fill_up_alone(argv[1], argv[2]);
  } else if (argc == 4 && std::string(argv[3]) == "plain") {
    fill_up_plain(argv[1], argv[2]);
    write_the_same(argv[1], argv[2]);
  } else {
    std::fprintf(stderr, "usage: full_disk FILE OTHER [plain|synced]\n");
    wrong = true;
  }
  forebay_test::stop_watch();
  int bad = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad;
}
