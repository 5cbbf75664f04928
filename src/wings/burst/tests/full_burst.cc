// Writes through stage `burst` where the log's device, or the file's, is full.
//
// Usage: full_burst small-log FILE LOGS          20 MiB through logs on a device of 2 MiB
//        full_burst full-file FILE OTHER LOGS    FILE's device is full when it is synchronised
//        full_burst full-close FILE OTHER LOGS   … and when it is closed; leaves logs
//        full_burst verify FILE                  what full-close put is there
//
// OTHER is a file beside FILE that takes up what space is to be had. Exits with 1 where anything is
// not as it must be. See run_full_burst.py.
#include <fcntl.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/harness.h"

namespace {

namespace fs = std::filesystem;
constexpr MPI_Offset columns = 64 << 10;  // of ints: rows of 256 KiB

int rank = 0;
int size = 1;
bool wrong = false;

void expect(bool condition, const std::string& what) {
  if (condition) return;
  std::printf("rank %d: %s\n", rank, what.c_str());
  wrong = true;
}

void expect_code(int expected, int code, const std::string& what) {
  expect(code == expected, what + " returned " + forebay_test::error_name(code) + ", expected " +
                               forebay_test::error_name(expected));
}

int value_of(int version, MPI_Offset row, MPI_Offset column) {
  return static_cast<int>(static_cast<unsigned>(version) * 2654435761U +
                          static_cast<unsigned>(row * columns + column) * 2246822519U);
}

std::vector<int> row_values(int version, MPI_Offset row) {
  std::vector<int> values;
  for (MPI_Offset c = 0; c < columns; ++c) values.push_back(value_of(version, row, c));
  return values;
}

int put(int id, int version, MPI_Offset row, bool together) {
  const std::vector<int> values = row_values(version, row);
  const MPI_Offset start[2] = {row, 0};
  const MPI_Offset count[2] = {1, columns};
  return together ? ncmpi_put_vara_int_all(id, 0, start, count, values.data())
                  : ncmpi_put_vara_int(id, 0, start, count, values.data());
}

int create(const char* path, const char* logs, MPI_Offset rows) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "stage", "burst");
  MPI_Info_set(info, "nc_burst_buf_dirname", logs);
  int id = -1;
  int dims[2] = {};
  int var = -1;
  expect_code(NC_NOERR, ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, info, &id),
              "create");
  ncmpi_def_dim(id, "row", rows, &dims[0]);
  ncmpi_def_dim(id, "column", columns, &dims[1]);
  ncmpi_def_var(id, "v", NC_INT, 2, dims, &var);
  expect_code(NC_NOERR, ncmpi_enddef(id), "enddef");
  MPI_Info_free(&info);
  return id;
}

void check(const char* path, const std::vector<int>& versions, const std::string& when) {
  MPI_Barrier(MPI_COMM_WORLD);
  int id = -1;
  expect_code(NC_NOERR, ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &id), when);
  if (id < 0) return;
  for (MPI_Offset row = 0; row < static_cast<MPI_Offset>(versions.size()); ++row) {
    std::vector<int> got(static_cast<size_t>(columns));
    const MPI_Offset start[2] = {row, 0};
    const MPI_Offset count[2] = {1, columns};
    expect_code(NC_NOERR, ncmpi_get_vara_int_all(id, 0, start, count, got.data()), "get");
    expect(got == row_values(versions[static_cast<size_t>(row)], row),
           when + ": row " + std::to_string(row) + " is wrong");
  }
  expect_code(NC_NOERR, ncmpi_close(id), "close");
}

// Each rank writes rows of its own, alone or together with the others, some of them twice.
void small_log(const char* path, const char* logs) {
  const MPI_Offset rows = 40 / size * size;  // 10 MiB
  std::vector<int> versions(static_cast<size_t>(rows), 1);
  const int id = create(path, logs, rows);
  for (MPI_Offset row = 0; row < rows; row += size)
    expect_code(NC_NOERR, put(id, 1, row + rank, true), "put_all");
  expect_code(NC_NOERR, ncmpi_begin_indep_data(id), "begin_indep_data");
  int refused = 0;
  for (MPI_Offset row = rows - size; row >= 0; row -= size) {
    int code = put(id, 2, row + rank, false);
    // Chunks are written by all ranks together: until then the log has to do.
    if (code == NC_ENO_SPACE) {
      ++refused;
      break;
    }
    expect_code(NC_NOERR, code, "put");
    if (code != NC_NOERR) break;
  }
  expect_code(NC_NOERR, ncmpi_end_indep_data(id), "end_indep_data");
  MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  const char* hints = std::getenv("FOREBAY_HINTS");
  const bool chunked = hints && std::string(hints).find("chunked") != std::string::npos;
  expect(refused == 0 || chunked, "a put alone was refused though it could have been written");
  expect_code(NC_NOERR, ncmpi_sync(id), "sync");
  for (MPI_Offset row = 0; row < rows && refused != 0; row += size)
    expect_code(NC_NOERR, put(id, 2, row + rank, true), "put_all after a refusal");
  expect_code(NC_NOERR, ncmpi_close(id), "close");
  versions.assign(versions.size(), 2);
  check(path, versions, "through a small log");
  expect(fs::is_empty(logs), "logs are left");
}

// Fills the file system.
void take_space(const char* other) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const int fd = ::open(other, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const std::vector<char> block(4096, 'x');
    while (fd >= 0 && ::write(fd, block.data(), block.size()) == 4096) {
    }
    expect(fd >= 0 && errno == ENOSPC, "the file system cannot be filled");
    ::close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void release_space(const char* other) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) ::unlink(other);
  MPI_Barrier(MPI_COMM_WORLD);
}

int write_to_full_device(const char* path, const char* other, const char* logs) {
  const int id = create(path, logs, size);
  take_space(other);
  expect_code(NC_NOERR, put(id, 1, rank, true), "put_all");
  return id;
}

void full_file(const char* path, const char* other, const char* logs) {
  const int id = write_to_full_device(path, other, logs);
  for (int i = 0; i < 2; ++i) {
    expect_code(NC_ENO_SPACE, ncmpi_sync(id), "sync onto a full device");
    MPI_Barrier(MPI_COMM_WORLD);
    expect(!fs::is_empty(logs), "the logs are gone though the flush failed");
  }
  // The log takes more all the same, and serves what it holds.
  expect_code(NC_NOERR, put(id, 2, rank, true), "put_all after a failed sync");
  std::vector<int> got(static_cast<size_t>(columns));
  const MPI_Offset start[2] = {rank, 0};
  const MPI_Offset count[2] = {1, columns};
  expect_code(NC_NOERR, ncmpi_get_vara_int_all(id, 0, start, count, got.data()), "get_all");
  expect(got == row_values(2, rank), "what is staged cannot be read");
  release_space(other);
  expect_code(NC_NOERR, ncmpi_sync(id), "sync onto a device with room");
  check(path, std::vector<int>(static_cast<size_t>(size), 2), "with room again");
  expect_code(NC_NOERR, ncmpi_close(id), "close");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(fs::is_empty(logs), "logs are left");
}

void full_close(const char* path, const char* other, const char* logs) {
  const int id = write_to_full_device(path, other, logs);
  expect_code(NC_ENO_SPACE, ncmpi_close(id), "close onto a full device");
  MPI_Barrier(MPI_COMM_WORLD);
  expect(!fs::is_empty(logs), "the logs are gone though the flush failed");
  release_space(other);
  int open_files = -1;
  ncmpi_inq_files_opened(&open_files, nullptr);
  expect(open_files == 0, "the file is still open");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 2 ? argv[1] : "";
  forebay_test::start_watch(what.c_str(), rank, 60);
  if (what == "small-log" && argc == 4) {
    small_log(argv[2], argv[3]);
  } else if (what == "full-file" && argc == 5) {
    full_file(argv[2], argv[3], argv[4]);
  } else if (what == "full-close" && argc == 5) {
    full_close(argv[2], argv[3], argv[4]);
  } else if (what == "verify" && argc == 3) {
    check(argv[2], std::vector<int>(static_cast<size_t>(size), 1), "after recovery");
  } else {
    std::fprintf(stderr, "usage: full_burst small-log|full-file|full-close|verify ...\n");
    wrong = true;
  }
  forebay_test::stop_watch();
  int bad = wrong ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return bad;
}
