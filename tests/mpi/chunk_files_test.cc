// Layout chunked with container=directory: chunks in data files of groups of ranks, beside classic
// variables with records.
#include <pnetcdf.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

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

int define(int id, const char* name, bool in_chunks) {
  const int dims[] = {0, 1};
  const MPI_Offset shape[] = {1, columns};
  int var = -1;
  EXPECT_OK(ncmpi_def_var(id, name, NC_INT, 2, dims, &var));
  if (in_chunks) {
    EXPECT_OK(ncmpi_var_set_chunk(id, var, shape));
  }
  return var;
}

int create(const Hints& hints, const std::string& path = world.path()) {
  int id = -1, dim = -1;
  EXPECT_OK(
      ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, Info(hints), &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, &dim));
  EXPECT_OK(ncmpi_def_dim(id, "x", columns * world.size, &dim));
  return id;
}

void make(const Hints& hints = hints_of(), const std::string& path = world.path()) {
  const int id = create(hints, path);
  define(id, "chunked", true);
  define(id, "classic", false);
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

bool has(const char* name) { return fs::exists(world.path() + "/" + name); }

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
  if (code == NC_NOERR) {
    EXPECT_EQ(values_of(rank, 0, 0), found);
  }
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
  const int more[] = {define(id, "a", true), define(id, "b", false)};
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
    if (last > 0) {
      EXPECT_OK(code_of(0));
    }
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

TEST(ChunkFiles, staged_writes_reach_them_in_batches) {
  if (!has_wing("burst")) return;
  make();
  Hints hints = hints_of();
  hints.insert(hints.end(),
               {{"nc_burst_buf", "enable"},
                {"nc_burst_buf_dirname", fs::path(world.path()).parent_path().string()}});
  for (MPI_Offset round = 0; round < 6; ++round) {
    const int id = open(NC_WRITE, hints);
    for (const int var : {chunked, classic}) write(id, var, round, round + 2);
    if (round % 2 == 0) {
      EXPECT_OK(ncmpi_sync(id));
    }
    expect_values(id, chunked, round + 2);
    EXPECT_OK(ncmpi_close(id));
    expect_file(round + 2);
  }
  remove();
}

// A name that ends as that of a folder beside a file does.
TEST(ChunkFiles, any_name_will_do_and_so_will_that_of_the_definitions) {
  const std::string path = world.path("subfiles");
  make(hints_of(), path);
  on_root([&] { EXPECT_OK(ncmpi_delete((path + "/header.nc").c_str(), MPI_INFO_NULL)); });
  EXPECT_FALSE(fs::exists(path));
}

// -- directories that there are

TEST(ChunkFiles, records_that_are_there_stay_beside_chunks_that_are_added) {
  int id = create(hints_of());
  define(id, "plain", false);
  EXPECT_OK(ncmpi_enddef(id));
  write(id, 0, 0, 3);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_FALSE(has("index"));
  for (int round = 1; round < 6; ++round) {
    id = open(NC_WRITE);
    EXPECT_OK(ncmpi_redef(id));
    const std::string name = "more" + std::to_string(round);
    const int var = define(id, name.c_str(), true);
    EXPECT_OK(ncmpi_enddef(id));
    write(id, var, 0, 3, round);
    for (int v = 0; v <= round; ++v) expect_values(id, v, 3, v);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    id = open(NC_NOWRITE);
    for (int v = 0; v <= round; ++v) expect_values(id, v, 3, v);
    EXPECT_OK(ncmpi_close(id));
  }
  EXPECT_TRUE(has("index"));
  remove();
}

// As earlier versions wrote them: chunks and index at the end of header.nc.
TEST(ChunkFiles, directories_with_chunks_among_the_definitions_stay_so) {
  Hints plain = hints_of();
  plain[0] = {"container", "classic"};
  int id = create(plain);
  define(id, "chunked", true);
  EXPECT_OK(ncmpi_enddef(id));
  write(id, 0, 0, 1);
  EXPECT_OK(ncmpi_close(id));
  on_root([] {
    fs::rename(world.path(), world.path() + ".file");
    fs::create_directory(world.path());
    fs::rename(world.path() + ".file", world.path() + "/header.nc");
  });
  for (int round = 1; round < 6; ++round) {
    id = open(NC_WRITE);
    EXPECT_OK(ncmpi_redef(id));  // all moves
    const std::string text(static_cast<size_t>(6000 * round), 'a');
    EXPECT_OK(ncmpi_put_att_text(id, NC_GLOBAL, "long", 6000 * round, text.c_str()));
    EXPECT_OK(ncmpi_enddef(id));
    write(id, 0, round, round + 1);
    EXPECT_OK(ncmpi_close(id));
    id = open(NC_NOWRITE);
    expect_values(id, 0, round + 1);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_FALSE(has("index") || has("0"));
  remove();
}

TEST(ChunkFiles, directories_with_decomposed_variables_get_no_chunks) {
  if (!has_wing("decomposed")) return;
  Hints decomposed = hints_of(), chunks = hints_of();
  decomposed.emplace_back("layout", "decomposed");
  chunks.emplace_back("layout", "chunked");
  int id = create(decomposed);
  define(id, "slabs", false);
  EXPECT_OK(ncmpi_enddef(id));
  write(id, 0, 0, 1);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_TRUE(has("state"));
  for (int round = 1; round < 6; ++round) {
    id = open(NC_WRITE, chunks);
    write(id, 0, round, round + 1);
    if (round == 1) {
      EXPECT_OK(ncmpi_redef(id));
      define(id, "plain", false);
      EXPECT_OK(ncmpi_enddef(id));
    }
    write(id, 1, 0, round + 1);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    id = open(NC_NOWRITE);
    for (const int var : {0, 1}) expect_values(id, var, round + 1);
    EXPECT_OK(ncmpi_close(id));
  }
  EXPECT_FALSE(has("index"));
  id = open(NC_WRITE, chunks);
  EXPECT_OK(ncmpi_redef(id));
  define(id, "chunks", true);
  EXPECT_ERR(NC_EINVAL, ncmpi_enddef(id));
  EXPECT_OK(ncmpi_abort(id));
  id = open(NC_NOWRITE);
  for (const int var : {0, 1}) expect_values(id, var, 6);
  EXPECT_OK(ncmpi_close(id));
  remove();
}

// Nor the other way round, in plain files either.
TEST(ChunkFiles, files_with_chunks_get_no_decomposed_variables) {
  if (!has_wing("decomposed")) return;
  for (const bool in_folder : {false, true}) {
    Hints hints = in_folder ? hints_of() : Hints{};
    hints.emplace_back("layout", "chunked");
    int id = create(hints);
    define(id, "chunks", false);
    EXPECT_OK(ncmpi_enddef(id));
    write(id, 0, 0, 1);
    EXPECT_OK(ncmpi_close(id));
    hints.back().second = "decomposed";
    id = open(NC_WRITE, hints);
    EXPECT_OK(ncmpi_redef(id));
    define(id, "more", false);
    const int encoded = define(id, "encoded", false);
    EXPECT_OK(ncmpi_var_set_filter(id, encoded, "shuffle,zstd:2"));
    EXPECT_OK(ncmpi_enddef(id));
    for (const int var : {0, 1, encoded}) write(id, var, 0, 2);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    id = open(NC_NOWRITE);
    for (const int var : {0, 1, encoded}) expect_values(id, var, 2);
    char codec[64] = "";
    EXPECT_OK(ncmpi_var_get_filter(id, encoded, nullptr, codec));
    EXPECT_STREQ("shuffle,zstd:2", codec);
    EXPECT_OK(ncmpi_close(id));
    remove();
  }
}

// What the hints ask to be decomposed is, as in plain files; a folder has data files of one layout.
TEST(ChunkFiles, of_rules_for_both_layouts_those_for_decomposed_variables_count) {
  if (!has_wing("decomposed")) return;
  const std::string config = world.path("xml");
  on_root([&] {
    std::ofstream(config) << "<forebay><file match='*'><variable match='chunks*' layout='chunked'/>"
                             "<variable match='slabs*' layout='decomposed'/></file></forebay>";
  });
  ::setenv("FOREBAY_CONFIG", config.c_str(), 1);
  for (int round = 0; round < 6; ++round) {
    const bool slabs_first = round % 2 == 0, by_program = round == 5;
    int id = create(hints_of());
    for (const bool slabs : {slabs_first, !slabs_first})
      define(id, slabs ? "slabs" : "chunks", !slabs && by_program);
    if (by_program) {
      EXPECT_ERR(NC_EINVAL, ncmpi_enddef(id));
      EXPECT_OK(ncmpi_abort(id));
      EXPECT_FALSE(fs::exists(world.path()));
      continue;
    }
    EXPECT_OK(ncmpi_enddef(id));
    EXPECT_TRUE(has("state"));
    EXPECT_FALSE(has("index"));
    for (const int var : {0, 1}) write(id, var, 0, 3, round);
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    id = open(NC_NOWRITE);
    for (const int var : {0, 1}) expect_values(id, var, 3, round);
    EXPECT_OK(ncmpi_close(id));
    remove();
  }
  ::unsetenv("FOREBAY_CONFIG");
  on_root([&] { fs::remove(config); });
}

// -- what is in the way

namespace {

// A directory with records, which an anchor moves.
void make_plain() {
  const int id = create(hints_of());
  define(id, "plain", false);
  EXPECT_OK(ncmpi_enddef(id));
  write(id, 0, 0, 2);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

// In define mode, with a chunked variable.
int begin_to_add() {
  const int id = open(NC_WRITE);
  EXPECT_OK(ncmpi_redef(id));
  define(id, "chunks", true);
  return id;
}

void expect_plain() {
  const int id = open(NC_NOWRITE);
  expect_values(id, 0, 2);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
}

void expect_added(int id) {
  write(id, 1, 0, 2, 5);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  const int again = open(NC_NOWRITE);
  expect_values(again, 0, 2);
  expect_values(again, 1, 2, 5);
  EXPECT_OK(ncmpi_close(again));
  MPI_Barrier(MPI_COMM_WORLD);
}

// Fails on rank 0 when the index is there, and on the others their data files: one that begins as
// data files do stands in the way.
void fail_enddef(int id) {
  on_root([] { std::ofstream(data_file(0)) << "FBDF"; });
  EXPECT_ERR(NC_EEXIST, ncmpi_enddef(id));
  on_root([] { fs::remove(data_file(0)); });
  EXPECT_TRUE(has("index"));
}

enum class Then { again, abort, remove, clobber };

}  // namespace

TEST(ChunkFiles, of_a_failed_enddef_nothing_is_in_the_way) {
  const std::string kept = world.path("kept");
  for (const bool is_new : {true, false}) {
    for (const auto& [then, torn] : {std::pair{Then::again, false},
                                     {Then::abort, false},
                                     {Then::abort, true},
                                     {Then::remove, false},
                                     {Then::remove, true},
                                     {Then::clobber, false},
                                     {Then::clobber, true}}) {
      if (!is_new) make_plain();
      int id = is_new ? create(hints_of()) : begin_to_add();
      if (is_new) {
        define(id, "plain", false);
        define(id, "chunks", true);
      }
      fail_enddef(id);
      on_root([&] { fs::copy(world.path(), kept, fs::copy_options::recursive); });
      if (then == Then::again) {
        EXPECT_OK(ncmpi_enddef(id));
        if (is_new) write(id, 0, 0, 2);
        expect_added(id);
      } else {
        EXPECT_OK(ncmpi_abort(id));
        EXPECT_EQ(!is_new, fs::exists(world.path()));
        if (!is_new) expect_plain();
        // As if the job had been killed instead, with or without a front of the index.
        on_root([&, only_index = torn] {
          fs::remove_all(world.path());
          fs::copy(kept, world.path(), fs::copy_options::recursive);
          if (!only_index) return;
          for (int r = 0; r < world.size; ++r) fs::remove(data_file(r));
          fs::resize_file(world.path() + "/index", 0);
        });
        if (!is_new) expect_plain();
      }
      if (then == Then::abort && !is_new) {
        id = begin_to_add();
        EXPECT_OK(ncmpi_enddef(id));
        expect_added(id);
      }
      if (then == Then::clobber) {
        make();
        id = open(NC_WRITE);
        for (const int var : {chunked, classic}) write(id, var, 0, 2);
        EXPECT_OK(ncmpi_close(id));
        expect_file(2);
      }
      remove();
      on_root([&] { fs::remove_all(kept); });
    }
  }
}

TEST(ChunkFiles, what_is_of_others_stays) {
  const std::string another = world.path("another");
  make(hints_of(), another);
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, another.c_str(), NC_WRITE, Info(hints_of()), &id));
  write(id, chunked, 0, 1);
  EXPECT_OK(ncmpi_close(id));
  const auto contents = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  for (const std::string name : {"index", "0"}) {
    // A file of Forebay's, text, numbers that begin with zeros.
    for (const std::string& mine : {std::string(), std::string("mine, and nobody else's"),
                                    std::string(5000, '\0') + "mine"}) {
      const bool of_forebay = mine.empty();
      const std::string path = world.path() + "/" + name;
      make_plain();
      on_root([&] {
        of_forebay ? void(fs::copy_file(another + "/" + name, path))
                   : void(std::ofstream(path) << mine);
      });
      const std::string before = contents(path);
      id = begin_to_add();
      EXPECT_ERR(NC_EEXIST, ncmpi_enddef(id));
      EXPECT_OK(ncmpi_abort(id));
      EXPECT_EQ(before, contents(path));
      if (!of_forebay) {
        EXPECT_ERR(NC_EEXIST, ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER,
                                           Info(hints_of()), &id));
        on_root([&] { EXPECT_EQ(-91, ncmpi_delete(world.path().c_str(), MPI_INFO_NULL)); });
        EXPECT_EQ(before, contents(path));
      }
      expect_plain();
      if (of_forebay) {  // it goes with the directory alone
        remove();
        continue;
      }
      on_root([&] { fs::remove(path); });
      id = begin_to_add();
      EXPECT_OK(ncmpi_enddef(id));
      expect_added(id);
      remove();
    }
  }
  // Where another group is to write.
  if (world.size > 1) {
    make(hints_of(world.size));
    const std::string path = data_file(1);
    on_root([&] { std::ofstream(path) << "mine, and nobody else's"; });
    EXPECT_ERR(NC_ENOTNC,
               ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_WRITE, Info(hints_of()), &id));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ("mine, and nobody else's", contents(path));
    // What a kill leaves is made anew.
    on_root([&] { fs::resize_file(path, 0); });
    id = open(NC_WRITE);
    for (const int var : {chunked, classic}) write(id, var, 0, 2);
    EXPECT_OK(ncmpi_close(id));
    expect_file(2);
    remove();
  }
  on_root([&] { EXPECT_OK(ncmpi_delete(another.c_str(), MPI_INFO_NULL)); });
}
