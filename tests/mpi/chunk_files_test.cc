// Layout chunked with container=directory: chunks in data files of groups of ranks, beside classic
// variables with records.
#include <pnetcdf.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

namespace fs = std::filesystem;

constexpr MPI_Offset columns = 64;

// Behind a meeting, so that all ranks see what rank 0 did.
template <typename F>
void on_root(F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) f();
  MPI_Barrier(MPI_COMM_WORLD);
}

// A data file a rank; `apart` of so many ranks.
Hints hints_of(int ranks_of_a_file = 1) {
  return {{"container", "directory"},
          {"codec", "shuffle,zstd"},
          {"subfiling", "ranks"},
          {"subfile_ranks", std::to_string(ranks_of_a_file)}};
}

std::string data_file(int number) { return world.path() + "/" + std::to_string(number); }

int open(int mode, const Hints& hints = hints_of()) {
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), mode, Info(hints), &id));
  return id;
}

std::vector<int> values_of(int rank, MPI_Offset record, int salt) {
  std::vector<int> values(columns);
  for (int i = 0; i < columns; ++i)
    values[static_cast<size_t>(i)] = 1000 * rank + i + 100000 * static_cast<int>(record) + salt;
  return values;
}

// Variables chunked(time, x), each rank's columns a chunk, and classic(time, x), both of records.
enum { chunked, classic };

void make() {
  int id = -1, time = -1, x = -1, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA,
                         Info(hints_of()), &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &time));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &x));
  const int dims[] = {time, x};
  const MPI_Offset shape[] = {1, columns};
  EXPECT_OK(ncmpi_def_var(id, "chunked", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_var_set_chunk(id, var, shape));
  EXPECT_OK(ncmpi_def_var(id, "classic", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

// Each rank writes the columns of its neighbour `shift` ranks on.
void write(int id, int var, MPI_Offset first, MPI_Offset last, int salt = 0, int shift = 0) {
  const int whose = (world.rank + shift) % world.size;
  for (MPI_Offset record = first; record < last; ++record) {
    const auto mine = values_of(whose, record, salt);
    const MPI_Offset start[] = {record, whose * columns}, count[] = {1, columns};
    EXPECT_OK(ncmpi_put_vara_int_all(id, var, start, count, mine.data()));
  }
}

void expect_values(int id, int var, MPI_Offset records, int salt = 0) {
  MPI_Offset found_records = -1;
  EXPECT_OK(ncmpi_inq_dimlen(id, 0, &found_records));
  EXPECT_EQ(records, found_records);
  const int neighbour = (world.rank + 1) % world.size;
  for (MPI_Offset record = 0; record < records; ++record) {
    std::vector<int> found(columns, -1);
    const MPI_Offset start[] = {record, neighbour * columns}, count[] = {1, columns};
    EXPECT_OK(ncmpi_get_vara_int_all(id, var, start, count, found.data()));
    EXPECT_EQ(values_of(neighbour, record, salt), found);
    EXPECT_OK(ncmpi_begin_indep_data(id));
    EXPECT_OK(ncmpi_get_vara_int(id, var, start, count, found.data()));
    EXPECT_OK(ncmpi_end_indep_data(id));
    EXPECT_EQ(values_of(neighbour, record, salt), found);
  }
}

void expect_file(MPI_Offset records, int salt = 0) {
  MPI_Barrier(MPI_COMM_WORLD);
  const int id = open(NC_NOWRITE);
  expect_values(id, chunked, records, salt);
  expect_values(id, classic, records);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

// All bytes of the folder.
MPI_Offset size_of_folder() {
  MPI_Offset sum = 0;
  for (const auto& entry : fs::directory_iterator(world.path()))
    sum += static_cast<MPI_Offset>(entry.file_size());
  return sum;
}

void remove() {
  on_root([] { EXPECT_OK(ncmpi_delete(world.path().c_str(), MPI_INFO_NULL)); });
  EXPECT_FALSE(fs::exists(world.path()));
}

// The code that reading a rank's columns of the chunked variable gives, on all ranks.
int code_of(int rank) {
  const int id = open(NC_NOWRITE);
  std::vector<int> found(columns, -1);
  const MPI_Offset start[] = {0, rank * columns}, count[] = {1, columns};
  const int code = ncmpi_get_vara_int_all(id, chunked, start, count, found.data());
  if (code == NC_NOERR) EXPECT_EQ(values_of(rank, 0, 0), found);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  return code;
}

}  // namespace

TEST(ChunkFiles, chunks_lie_in_the_file_of_their_owner_beside_classic_records) {
  make();
  int id = open(NC_WRITE);
  write(id, chunked, 0, 3);
  write(id, classic, 0, 3);
  expect_values(id, chunked, 3);
  EXPECT_OK(ncmpi_close(id));
  expect_file(3);
  on_root([] {
    for (int r = 0; r < world.size; ++r) EXPECT_TRUE(fs::file_size(data_file(r)) > 4096);
    EXPECT_FALSE(fs::exists(data_file(world.size)));
  });
  // More records by other groups: two ranks a file, whose chunks other ranks wrote before.
  id = open(NC_WRITE, hints_of(2));
  write(id, chunked, 2, 5, 0, 1);
  write(id, classic, 3, 5);
  EXPECT_OK(ncmpi_close(id));
  expect_file(5);
  remove();
}

TEST(ChunkFiles, definitions_move_records_and_add_variables_of_both_kinds) {
  make();
  int id = open(NC_WRITE);
  write(id, chunked, 0, 2);
  write(id, classic, 0, 2);
  EXPECT_OK(ncmpi_redef(id));
  EXPECT_OK(ncmpi_put_att_text(id, NC_GLOBAL, "long", 6000, std::string(6000, 'a').c_str()));
  const int dims[] = {0, 1};
  int more[2] = {-1, -1};
  const MPI_Offset shape[] = {1, columns};
  for (int i = 0; i < 2; ++i)
    EXPECT_OK(ncmpi_def_var(id, i == 0 ? "a" : "b", NC_INT, 2, dims, &more[i]));
  EXPECT_OK(ncmpi_var_set_chunk(id, more[0], shape));
  EXPECT_OK(ncmpi_enddef(id));
  for (const int var : more) write(id, var, 0, 2, 7);
  for (const int var : more) expect_values(id, var, 2, 7);
  EXPECT_OK(ncmpi_close(id));
  expect_file(2);
  id = open(NC_NOWRITE);
  for (const int var : more) expect_values(id, var, 2, 7);
  EXPECT_OK(ncmpi_close(id));
  remove();
}

TEST(ChunkFiles, a_thousand_rewrites_do_not_grow_the_files) {
  make();
  int id = open(NC_WRITE);
  write(id, classic, 0, 1);
  for (int i = 0; i < 8; ++i) write(id, chunked, 0, 1, i, i);
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Offset before = size_of_folder();
  for (int i = 0; i < 1000; ++i) write(id, chunked, 0, 1, i, i);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(size_of_folder() < 2 * before + 8192);
  EXPECT_OK(ncmpi_close(id));
  expect_file(1, 999);
  remove();
}

TEST(ChunkFiles, the_synced_state_stays_while_chunks_are_written_anew) {
  make();
  int id = open(NC_WRITE);
  write(id, classic, 0, 1);
  write(id, chunked, 0, 1);
  EXPECT_OK(ncmpi_sync(id));
  for (int i = 1; i < 20; ++i) write(id, chunked, 0, 1, i);
  EXPECT_OK(ncmpi_close(id));
  expect_file(1, 19);
  Hints synced = hints_of();
  synced.emplace_back("chunk_state", "synced");
  id = open(NC_NOWRITE, synced);
  expect_values(id, chunked, 1);
  EXPECT_OK(ncmpi_close(id));
  remove();
}

TEST(ChunkFiles, of_damaged_files_only_what_lies_in_them_is_lost_and_all_ranks_hear_of_it) {
  make();
  int id = open(NC_WRITE);
  write(id, chunked, 0, 1);
  write(id, classic, 0, 1);
  EXPECT_OK(ncmpi_close(id));
  const int last = world.size - 1;
  const std::string kept = world.path() + ".kept", path = data_file(last);
  on_root([&] { fs::copy_file(path, kept, fs::copy_options::overwrite_existing); });
  const auto expect_damage = [&](int code) {
    EXPECT_ERR(code, code_of(last));
    if (last > 0) EXPECT_OK(code_of(0));
    id = open(NC_NOWRITE);
    expect_values(id, classic, 1);
    EXPECT_OK(ncmpi_close(id));
    on_root([&] { fs::copy_file(kept, path, fs::copy_options::overwrite_existing); });
  };
  on_root([&] { fs::resize_file(path, 4100); });  // truncated
  expect_damage(NC_ENOTNC);
  on_root([&] { fs::resize_file(path, 100); });
  expect_damage(NC_ENOTNC);
  on_root([&] {  // another file's: the id begins at byte 8
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(12);
    file << "another";
  });
  expect_damage(NC_ENOTNC);
  if (last > 0) {  // exchanged
    on_root([&] { fs::copy_file(data_file(0), path, fs::copy_options::overwrite_existing); });
    expect_damage(NC_ENOTNC);
  }
  on_root([&] { fs::remove(path); });
  EXPECT_ERR(NC_ENOENT,
             ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, Info(hints_of()), &id));
  MPI_Barrier(MPI_COMM_WORLD);
  expect_damage(NC_ENOENT);
  expect_file(1);
  // Without the index no chunk is found.
  on_root([&] { fs::rename(world.path() + "/index", kept); });
  EXPECT_ERR(NC_ENOTNC, code_of(0));
  on_root([&] { fs::rename(kept, world.path() + "/index"); });
  expect_file(1);
  remove();
}
