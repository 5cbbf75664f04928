// Values of netCDF-4 files: fill values, records, who sees what when.
#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "netcdf4_file.h"

using namespace forebay_test;

// -- fill values

TEST(Fill, what_was_never_written_reads_as_it) {
  const int own = -5;
  for (const bool chunked : {false, true}) {
    int id = create(NC_NETCDF4, {{"layout", chunked ? "chunked" : "canonical"}});
    const int x = dim_of(id, "x", 50), t = dim_of(id, "t", NC_UNLIMITED);
    const int with_default = define(id, "default", NC_INT, {x});
    const int with_own = define(id, "own", NC_INT, {x});
    const int with_attribute = define(id, "attribute", NC_INT, {x});
    const int series = define(id, "series", NC_INT, {t, x}), scalar = define(id, "s", NC_INT, {});
    const int without = define(id, "without", NC_INT, {x});
    for (const int v : {with_default, series, scalar})
      EXPECT_OK(ncmpi_def_var_fill(id, v, 0, nullptr));
    EXPECT_OK(ncmpi_def_var_fill(id, with_own, 0, &own));
    EXPECT_OK(ncmpi_def_var_fill(id, with_attribute, 0, nullptr));
    EXPECT_OK(ncmpi_put_att_int(id, with_attribute, "_FillValue", NC_INT, 1, &own));
    EXPECT_OK(ncmpi_def_var_fill(id, without, 1, nullptr));
    EXPECT_OK(ncmpi_enddef(id));
    // One element of the file's last record.
    const Index last{4, 49};
    const int value = 12;
    EXPECT_OK(ncmpi_put_var1_int_all(id, series, last.data(), &value));
    for (const bool again : {false, true}) {
      if (again) {
        EXPECT_OK(ncmpi_close(id));
        id = open();
      }
      EXPECT_EQ(std::vector<int>(50, NC_FILL_INT), all_of(id, with_default, 50));
      EXPECT_EQ(std::vector<int>(50, own), all_of(id, with_own, 50));
      EXPECT_EQ(std::vector<int>(50, own), all_of(id, with_attribute, 50));
      EXPECT_EQ(std::vector<int>(1, NC_FILL_INT), all_of(id, scalar, 1));
      std::vector<int> records(250, NC_FILL_INT);
      records.back() = value;
      EXPECT_EQ(records, all_of(id, series, 250));
      all_of(id, without, 50);  // any values, but no error
      int no_fill = -1, found = 0;
      EXPECT_OK(ncmpi_inq_var_fill(id, with_own, &no_fill, &found));
      EXPECT_EQ((std::array{0, own}), (std::array{no_fill, found}));
    }
    EXPECT_OK(ncmpi_close(id));
  }
}

TEST(Fill, modes_of_the_file_and_records_that_are_filled) {
  int id = create(), old = -1;
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", 10);
  EXPECT_OK(ncmpi_set_fill(id, NC_FILL, &old));
  EXPECT_EQ(NC_NOFILL, old);
  const int a = define(id, "a", NC_INT, {t, x}), b = define(id, "b", NC_INT, {t, x});
  const int fixed = define(id, "fixed", NC_INT, {x});
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_OK(ncmpi_fill_var_rec(id, a, 2));
  const Index at{1, 3};
  const int value = 77;
  EXPECT_OK(ncmpi_put_var1_int_all(id, b, at.data(), &value));
  EXPECT_OK(ncmpi_close(id));
  id = open(NC_WRITE);
  EXPECT_EQ(3, length_of(id, t));
  EXPECT_EQ(std::vector<int>(30, NC_FILL_INT), all_of(id, a, 30));
  std::vector<int> of_b(30, NC_FILL_INT);
  of_b[13] = value;
  EXPECT_EQ(of_b, all_of(id, b, 30));
  EXPECT_EQ(std::vector<int>(10, NC_FILL_INT), all_of(id, fixed, 10));
  // A filled record loses what it had.
  EXPECT_OK(ncmpi_fill_var_rec(id, b, 1));
  EXPECT_OK(ncmpi_close(id));
  id = open();
  EXPECT_EQ(std::vector<int>(30, NC_FILL_INT), all_of(id, b, 30));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Fill, of_variables_that_are_added_where_others_were) {
  int id = create(NC_NETCDF4, {{"chunk_bytes", "200"}, {"layout", "chunked"}});
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", 64);
  const int v = define(id, "v", NC_INT, {t, x});
  EXPECT_OK(ncmpi_enddef(id));
  const std::vector<int> values(64, 9);
  for (int round = 0; round < 5; ++round) {
    const Index start{0, 0}, count{1, 64};
    EXPECT_OK(ncmpi_put_vara_int_all(id, v, start.data(), count.data(), values.data()));
    EXPECT_OK(ncmpi_sync(id));
  }
  EXPECT_OK(ncmpi_redef(id));
  const int no_fill = define(id, "no_fill", NC_INT, {x}), fill = define(id, "fill", NC_INT, {x});
  EXPECT_OK(ncmpi_def_var_fill(id, fill, 0, nullptr));
  EXPECT_OK(ncmpi_enddef(id));
  EXPECT_EQ(std::vector<int>(64, NC_FILL_INT), all_of(id, fill, 64));
  // Not what was freed there.
  for (const int e : all_of(id, no_fill, 64)) EXPECT_TRUE(e == 0 || e == NC_FILL_INT) << e;
  EXPECT_OK(ncmpi_close(id));
}

// -- records

TEST(Records, grow_by_whichever_rank_writes_the_last) {
  int id = create();
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", 4 * world.size);
  const int a = define(id, "a", NC_INT, {t, x}), b = define(id, "b", NC_INT, {t});
  EXPECT_OK(ncmpi_enddef(id));
  // Rank r writes record r of round r alone; the others take part with nothing.
  MPI_Offset records = 0;
  for (int round = 0; round < world.size; ++round) {
    const bool mine = world.rank == round;
    const Index start{mine ? 2 * round : 0, 0}, count{mine ? 1 : 0, 4 * world.size};
    const std::vector<int> values(static_cast<size_t>(4 * world.size), round);
    EXPECT_OK(ncmpi_put_vara_int_all(id, a, start.data(), count.data(), values.data()));
    records = 2 * round + 1;
    EXPECT_EQ(records, length_of(id, t));
  }
  // Each rank another record of the other variable, in one call.
  const MPI_Offset own = records + world.rank;
  EXPECT_OK(ncmpi_put_var1_int_all(id, b, &own, &world.rank));
  EXPECT_EQ(records + world.size, length_of(id, t));
  // Alone: known to all by the next collective call.
  EXPECT_OK(ncmpi_begin_indep_data(id));
  const MPI_Offset far = 40;
  const int value = 5;
  if (world.rank == world.size - 1) {
    EXPECT_OK(ncmpi_put_var1_int(id, b, &far, &value));
  }
  EXPECT_OK(ncmpi_end_indep_data(id));
  EXPECT_EQ(41, length_of(id, t));
  EXPECT_OK(ncmpi_close(id));
  id = open();
  EXPECT_EQ(41, length_of(id, t));
  const auto of_a = all_of(id, a, static_cast<size_t>(41 * 4 * world.size));
  const auto of_b = all_of(id, b, 41);
  for (int r = 0; r < world.size; ++r) {
    EXPECT_EQ(r, of_a[static_cast<size_t>(2 * r * 4 * world.size)]);
    EXPECT_EQ(r, of_b[static_cast<size_t>(records + r)]);
  }
  EXPECT_EQ(value, of_b[40]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Files, are_opened_by_other_numbers_of_ranks) {
  const MPI_Offset width = 6, columns = width * world.size;
  int id =
      create(NC_NETCDF4, {{"layout", "chunked"}, {"codec", "deflate:1"}, {"chunk_bytes", "100"}});
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", columns);
  const int v = define(id, "v", NC_INT, {t, x});
  EXPECT_OK(ncmpi_enddef(id));
  for (int row = 0; row < 4; ++row) put_part(id, v, row, width);
  EXPECT_OK(ncmpi_close(id));
  // Half of the ranks, then one of them, then all again.
  for (int ranks = (world.size + 1) / 2;; ranks = 1) {
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank < ranks ? 0 : MPI_UNDEFINED, 0, &some);
    if (some != MPI_COMM_NULL) {
      id = open(NC_WRITE, some);
      const auto got = all_of(id, v, static_cast<size_t>(4 * columns));
      for (MPI_Offset i = 0; i < 4 * columns; ++i)
        EXPECT_EQ(i / columns * 1000 + i % columns, got[static_cast<size_t>(i)]);
      const Index start{0, 0}, count{1, columns};
      EXPECT_OK(ncmpi_put_vara_int_all(id, v, start.data(), count.data(), got.data()));
      EXPECT_OK(ncmpi_close(id));
      MPI_Comm_free(&some);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks == 1) break;
  }
  id = open();
  for (int row = 0; row < 4; ++row) check_part(id, v, row, width);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Files, grow_no_more_than_a_session_needs) {
  int id =
      create(NC_NETCDF4, {{"layout", "chunked"}, {"codec", "zstd:1"}, {"chunk_bytes", "1000"}});
  const int y = dim_of(id, "y", 64), x = dim_of(id, "x", 64), v = define(id, "v", NC_INT, {y, x});
  EXPECT_OK(ncmpi_enddef(id));
  std::vector<int> values(64 * 64);
  const auto rewrite = [&](int shift) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int>(i * 2654435761U % 1000) + shift;
    EXPECT_OK(ncmpi_put_var_int_all(id, v, values.data()));
    EXPECT_OK(ncmpi_sync(id));
  };
  for (int i = 0; i < 4; ++i) rewrite(i);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto first = static_cast<MPI_Offset>(std::filesystem::file_size(world.path()));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 40; ++i) rewrite(i);
  EXPECT_OK(ncmpi_close(id));
  id = open(NC_WRITE);
  for (int i = 0; i < 40; ++i) rewrite(i);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  const auto now = static_cast<MPI_Offset>(std::filesystem::file_size(world.path()));
  EXPECT_TRUE(now < 3 * first) << first << " bytes became " << now;
  id = open();
  EXPECT_EQ(values, all_of(id, v, values.size()));
  EXPECT_OK(ncmpi_close(id));
}

// -- who sees what

TEST(Files, show_the_last_sync_to_who_opens_them_meanwhile) {
  const MPI_Offset width = 5;
  const int id = create(NC_NETCDF4, {{"layout", "chunked"}, {"chunk_bytes", "64"}});
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", width * world.size);
  const int v = define(id, "v", NC_INT, {t, x});
  EXPECT_OK(ncmpi_enddef(id));
  put_part(id, v, 0, width, 1);
  EXPECT_OK(ncmpi_sync(id));
  put_part(id, v, 0, width, 2);
  put_part(id, v, 1, width, 2);
  int other = open();
  EXPECT_EQ(1, length_of(other, t));
  check_part(other, v, 0, width, 1);
  EXPECT_OK(ncmpi_close(other));
  check_part(id, v, 0, width, 2);
  EXPECT_OK(ncmpi_sync(id));
  other = open();
  EXPECT_EQ(2, length_of(other, t));
  check_part(other, v, 0, width, 2);
  check_part(other, v, 1, width, 2);
  EXPECT_OK(ncmpi_close(other));
  EXPECT_OK(ncmpi_close(id));
}

TEST(Files, may_be_opened_twice_and_several_at_a_time) {
  const MPI_Offset width = 3;
  std::array<int, 3> ids{};
  std::array<std::string, 3> paths{world.path(), world.path("second"), world.path("third")};
  for (size_t f = 0; f < ids.size(); ++f) {
    EXPECT_OK(
        ncmpi_create(MPI_COMM_WORLD, paths[f].c_str(), NC_CLOBBER | NC_NETCDF4, no_info, &ids[f]));
    const int t = dim_of(ids[f], "t", NC_UNLIMITED), x = dim_of(ids[f], "x", width * world.size);
    define(ids[f], "v", NC_INT, {t, x});
    EXPECT_OK(ncmpi_enddef(ids[f]));
  }
  for (int row = 0; row < 4; ++row)
    for (size_t f = 0; f < ids.size(); ++f) put_part(ids[f], 0, row, width, static_cast<int>(f));
  EXPECT_OK(ncmpi_sync(ids[1]));
  for (const int id : ids) EXPECT_OK(ncmpi_close(id));
  for (size_t f = 0; f < ids.size(); ++f) {
    std::array<int, 2> twice{};
    for (int& id : twice)
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, paths[f].c_str(), NC_NOWRITE, no_info, &id));
    for (int row = 0; row < 4; ++row)
      for (const int id : twice) check_part(id, 0, row, width, static_cast<int>(f));
    for (const int id : twice) EXPECT_OK(ncmpi_close(id));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t f = 1; f < ids.size() && world.rank == 0; ++f) std::filesystem::remove(paths[f]);
}

TEST(Files, are_not_overwritten_with_noclobber_and_are_deleted) {
  const MPI_Offset width = 3;
  int id = create();
  const int x = dim_of(id, "x", width * world.size), y = dim_of(id, "y", 1);
  const int v = define(id, "v", NC_INT, {y, x});
  EXPECT_OK(ncmpi_enddef(id));
  put_part(id, v, 0, width);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_ERR(NC_EEXIST, ncmpi_create(MPI_COMM_WORLD, world.path().c_str(),
                                     NC_NOCLOBBER | NC_NETCDF4, no_info, &id));
  id = open();
  check_part(id, v, 0, width);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(world.path().c_str(), no_info));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!std::filesystem::exists(world.path()));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Files, may_be_renamed_while_they_are_open) {
  const MPI_Offset width = 3;
  int id = create();
  const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", width * world.size);
  const int v = define(id, "v", NC_INT, {t, x});
  EXPECT_OK(ncmpi_enddef(id));
  put_part(id, v, 0, width);
  EXPECT_OK(ncmpi_sync(id));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::filesystem::rename(world.path(), world.path("moved"));
  MPI_Barrier(MPI_COMM_WORLD);
  put_part(id, v, 1, width);
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!std::filesystem::exists(world.path()));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::filesystem::rename(world.path("moved"), world.path());
  MPI_Barrier(MPI_COMM_WORLD);
  id = open();
  for (int row = 0; row < 2; ++row) check_part(id, v, row, width);
  EXPECT_OK(ncmpi_close(id));
}

// -- abort

TEST(Abort, of_a_new_file_removes_it) {
  const int id = create();
  dim_of(id, "x", 3);
  EXPECT_OK(ncmpi_abort(id));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!std::filesystem::exists(world.path()));
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Abort, keeps_values_and_the_definitions_before_redef) {
  const MPI_Offset width = 3;
  for (const bool synced : {false, true}) {
    for (const bool redefines : {false, true}) {
      int id = create();
      const int t = dim_of(id, "t", NC_UNLIMITED), x = dim_of(id, "x", width * world.size);
      const int v = define(id, "v", NC_INT, {t, x});
      EXPECT_OK(ncmpi_enddef(id));
      put_part(id, v, 0, width);
      if (synced) {
        EXPECT_OK(ncmpi_sync(id));
      }
      put_part(id, v, 1, width);
      if (redefines) {
        EXPECT_OK(ncmpi_redef(id));
        define(id, "added", NC_INT, {x});
        EXPECT_OK(ncmpi_rename_var(id, v, "renamed"));
      }
      EXPECT_OK(ncmpi_abort(id));
      id = open();
      int nvars = -1, found = -1;
      EXPECT_OK(ncmpi_inq_nvars(id, &nvars));
      EXPECT_EQ(1, nvars);
      EXPECT_OK(ncmpi_inq_varid(id, "v", &found));
      EXPECT_EQ(2, length_of(id, t));
      for (int row = 0; row < 2; ++row) check_part(id, v, row, width);
      EXPECT_OK(ncmpi_close(id));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}
