// Define mode, collective and independent data mode, read-only files: which calls each allows.
#include <pnetcdf.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

bool exists(const std::string& path) {
  int there = world.rank == 0 ? (access(path.c_str(), F_OK) == 0 ? 1 : 0) : 0;
  MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return there != 0;
}

}  // namespace

TEST(Modes, create_refuses_modes_it_does_not_have) {
  int id = -1;
  const std::string path = world.path();
  EXPECT_ERR(NC_EINVAL_CMODE,
             ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_NETCDF4 | NC_64BIT_DATA, no_info, &id));
  EXPECT_ERR(NC_EINVAL_CMODE, ncmpi_create(MPI_COMM_WORLD, path.c_str(),
                                           NC_64BIT_DATA | NC_64BIT_OFFSET, no_info, &id));
  EXPECT_ERR(NC_EINVAL_CMODE,
             ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_DISKLESS, no_info, &id));
  EXPECT_ERR(NC_EINVAL_CMODE, ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_MMAP, no_info, &id));
}

TEST(Modes, create_without_clobber_keeps_the_old_file) {
  int id = -1;
  const std::string path = world.path();
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_put_att_text(id, NC_GLOBAL, "title", 3, "old"));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_ERR(NC_EEXIST, ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_NOCLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, no_info, &id));
  MPI_Offset length = 0;
  EXPECT_OK(ncmpi_inq_attlen(id, NC_GLOBAL, "title", &length));
  EXPECT_EQ(MPI_Offset{3}, length);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, no_info, &id));
  int natts = -1;
  EXPECT_OK(ncmpi_inq_natts(id, &natts));
  EXPECT_EQ(0, natts);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, clobbering_a_long_file_leaves_nothing_of_it) {
  const std::string path = world.path();
  if (world.rank == 0) std::ofstream(path) << std::string(100000, 'z');
  MPI_Barrier(MPI_COMM_WORLD);
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  EXPECT_EQ(std::streamoff{32}, static_cast<std::streamoff>(in.tellg()));
}

TEST(Modes, paths_that_cannot_be_files) {
  int id = -1;
  const auto comm = MPI_COMM_WORLD;
  EXPECT_ERR(NC_EBAD_FILE, ncmpi_create(comm, nullptr, 0, no_info, &id));
  EXPECT_ERR(NC_EBAD_FILE, ncmpi_create(comm, "", 0, no_info, &id));
  EXPECT_ERR(NC_EBAD_FILE, ncmpi_open(comm, nullptr, 0, no_info, &id));
  EXPECT_ERR(NC_EBAD_FILE, ncmpi_open(comm, "", 0, no_info, &id));
  EXPECT_ERR(NC_ENOENT, ncmpi_open(comm, world.path("missing").c_str(), 0, no_info, &id));
  const std::string nowhere = world.path("nowhere") + "/file.nc";
  EXPECT_ERR(NC_ENOENT, ncmpi_open(comm, nowhere.c_str(), 0, no_info, &id));
  EXPECT_ERR(NC_ENOENT, ncmpi_create(comm, nowhere.c_str(), 0, no_info, &id));
  EXPECT_ERR(NC_EFILE, ncmpi_open(comm, world.directory.c_str(), 0, no_info, &id));
  EXPECT_ERR(NC_EFILE, ncmpi_create(comm, world.directory.c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_create(comm, world.path().c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_ERR(NC_EINVAL_OMODE, ncmpi_open(comm, world.path().c_str(), NC_DISKLESS, no_info, &id));
  if (is_forebay()) {  // the peer's buffer overflows
    const std::string endless(5000, 'a');
    const int code = ncmpi_create(comm, endless.c_str(), 0, no_info, &id);
    EXPECT_TRUE(code != NC_NOERR);
    EXPECT_TRUE(same_on_all_ranks(code));
  }
}

TEST(Modes, delete_removes_a_file_and_reports_a_missing_one) {
  int id = -1;
  const std::string path = world.path();
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(path.c_str(), no_info));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!exists(path));
  if (world.rank == 0) {
    EXPECT_ERR(NC_ENOENT, ncmpi_delete(path.c_str(), no_info));
  }
}

TEST(Modes, default_format_is_what_create_uses) {
  int old = -1;
  EXPECT_OK(ncmpi_set_default_format(NC_FORMAT_CDF5, &old));
  EXPECT_EQ(NC_FORMAT_CLASSIC, old);
  EXPECT_OK(ncmpi_inq_default_format(&old));
  EXPECT_EQ(NC_FORMAT_CDF5, old);
  int id = -1;
  int format = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_inq_format(id, &format));
  EXPECT_EQ(NC_FORMAT_CDF5, format);
  int version = 0;
  EXPECT_OK(ncmpi_inq_version(id, &version));
  EXPECT_EQ(NC_64BIT_DATA, version);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_64BIT_OFFSET, no_info, &id));
  EXPECT_OK(ncmpi_inq_format(id, &format));
  EXPECT_EQ(NC_FORMAT_CDF2, format);
  EXPECT_OK(ncmpi_close(id));
  EXPECT_ERR(NC_EINVAL, ncmpi_set_default_format(77, &old));
  EXPECT_ERR(NC_EINVAL, ncmpi_inq_default_format(nullptr));
  EXPECT_OK(ncmpi_set_default_format(NC_FORMAT_CLASSIC, nullptr));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_inq_version(id, &version));
  EXPECT_EQ(NC_CLASSIC_MODEL, version);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, file_format_of_a_path) {
  int id = -1;
  for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), mode, no_info, &id));
    EXPECT_OK(ncmpi_close(id));
    MPI_Barrier(MPI_COMM_WORLD);
    int format = -7;
    EXPECT_OK(ncmpi_inq_file_format(world.path().c_str(), &format));
    EXPECT_EQ(mode == 0 ? 1 : mode == NC_64BIT_OFFSET ? 2 : 5, format);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int format = -7;
  EXPECT_ERR(NC_ENOENT, ncmpi_inq_file_format(world.path("missing").c_str(), &format));
  if (world.rank == 0) std::ofstream(world.path("text")) << "this is plain text, no dataset at all";
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_inq_file_format(world.path("text").c_str(), &format));
  EXPECT_EQ(NC_FORMAT_UNKNOWN, format);
}

TEST(Modes, data_calls_in_define_mode) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  int values[24] = {};
  EXPECT_ERR(NC_EINDEFINE, ncmpi_redef(s.ncid));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_begin_indep_data(s.ncid));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_end_indep_data(s.ncid));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_sync(s.ncid));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_sync_numrecs(s.ncid));
  EXPECT_OK(ncmpi_flush(s.ncid));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_put_var_int(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_get_var_int_all(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_get_var_int(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_mput_var_int_all(s.ncid, 0, nullptr, nullptr));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_wait_all(s.ncid, 0, nullptr, nullptr));
  EXPECT_ERR(NC_EINDEFINE, ncmpi_wait(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, requests_may_be_posted_in_define_mode) {
  const Sample s = create_sample(NC_64BIT_DATA, false);
  const int value = 41;
  int request = NC_REQ_NULL;
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &value, &request));
  }
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int status = 1;
  EXPECT_OK(ncmpi_wait_all(s.ncid, 1, &request, &status));
  EXPECT_EQ(NC_NOERR, status);
  int got = 0;
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &got));
  EXPECT_EQ(41, got);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, define_calls_in_data_mode) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  int values[24] = {};
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, values));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  int id = -1;
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi__enddef(s.ncid, 0, 4, 0, 4));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_def_dim(s.ncid, "z", 10, &id));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_def_var(s.ncid, "w", NC_INT, 0, nullptr, &id));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "new", NC_INT, 1, values));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 4, values));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_del_att(s.ncid, s.grid, "a"));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_rename_att(s.ncid, s.grid, "a", "longer"));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_rename_var(s.ncid, s.grid, "grid_with_a_longer_name"));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_rename_dim(s.ncid, s.x, "longer"));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_copy_att(s.ncid, s.grid, "a", s.ncid, NC_GLOBAL));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_def_var_fill(s.ncid, s.grid, 0, nullptr));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, what_does_not_grow_the_header_may_change_in_data_mode) {
  Sample s = create_sample(NC_64BIT_DATA, false);
  const int three[] = {1, 2, 3};
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, three));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  const int two[] = {8, 9};
  EXPECT_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 2, two));
  // What shrank does not grow back.
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, three));
  EXPECT_OK(ncmpi_rename_var(s.ncid, s.grid, "g"));
  EXPECT_OK(ncmpi_rename_dim(s.ncid, s.time, "t"));
  EXPECT_OK(ncmpi_rename_att(s.ncid, s.grid, "a", "b"));
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int id = -1;
  EXPECT_OK(ncmpi_inq_varid(s.ncid, "g", &id));
  EXPECT_EQ(s.grid, id);
  EXPECT_OK(ncmpi_inq_dimid(s.ncid, "t", &id));
  EXPECT_EQ(s.time, id);
  int got[3] = {};
  EXPECT_OK(ncmpi_get_att_int(s.ncid, s.grid, "b", got));
  EXPECT_EQ(8, got[0]);
  EXPECT_EQ(9, got[1]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, independent_calls_in_collective_mode) {
  const Sample s = create_sample();
  int values[24] = {};
  EXPECT_ERR(NC_ENOTINDEP, ncmpi_put_var_int(s.ncid, s.grid, values));
  EXPECT_ERR(NC_ENOTINDEP, ncmpi_get_var_int(s.ncid, s.grid, values));
  EXPECT_ERR(NC_ENOTINDEP, ncmpi_put_vard(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  EXPECT_ERR(NC_ENOTINDEP, ncmpi_wait(s.ncid, 0, nullptr, nullptr));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, collective_calls_in_independent_mode) {
  const Sample s = create_sample();
  int values[24] = {};
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  EXPECT_ERR(NC_EINDEP, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEP, ncmpi_get_var_int_all(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EINDEP, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  EXPECT_ERR(NC_EINDEP, ncmpi_mput_var_int_all(s.ncid, 0, nullptr, nullptr));
  EXPECT_ERR(NC_EINDEP, ncmpi_wait_all(s.ncid, 0, nullptr, nullptr));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_OK(ncmpi_flush(s.ncid));
  EXPECT_OK(ncmpi_sync_numrecs(s.ncid));
  EXPECT_OK(ncmpi_rename_var(s.ncid, s.grid, "g"));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, redef_and_close_are_possible_from_independent_mode) {
  const Sample s = create_sample();
  int values[24] = {};
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  // enddef leads to collective mode.
  EXPECT_ERR(NC_ENOTINDEP, ncmpi_put_var_int(s.ncid, s.grid, values));
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  if (world.rank == 0) {
    values[5] = 17;
    EXPECT_OK(ncmpi_put_var_int(s.ncid, s.grid, values));
  }
  EXPECT_OK(ncmpi_close(s.ncid));
  int id = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(id, s.grid, got));
  EXPECT_EQ(17, got[5]);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, a_rank_writes_alone_in_independent_mode) {
  const Sample s = create_sample();
  const int last = world.size - 1;
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  if (world.rank == last) {
    const Index start = {1, 2};
    const int value = 77;
    EXPECT_OK(ncmpi_put_var1_int(s.ncid, s.grid, start.data(), &value));
    int back = 0;
    EXPECT_OK(ncmpi_get_var1_int(s.ncid, s.grid, start.data(), &back));
    EXPECT_EQ(77, back);
  }
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(77, got[8]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

// Small reads that follow each other may have been read ahead.
TEST(Modes, reads_of_all_see_what_one_rank_wrote_between_them) {
  constexpr int width = 1 << 14, piece = 1 << 10;
  int id = -1, own = -1, dims[2] = {}, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "y", world.size, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", width, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  int time = 0;
  const Index rows = {0, 0}, counts = {world.size, width};
  const auto values = [&] {
    return std::vector<int>(static_cast<std::size_t>(world.size * width), time);
  };
  EXPECT_OK(ncmpi_put_var_int_all(id, var, values().data()));
  EXPECT_OK(ncmpi_sync(id));
  const bool writes = world.rank == world.size - 1;
  if (writes) {
    EXPECT_OK(ncmpi_open(MPI_COMM_SELF, world.path().c_str(), NC_WRITE, no_info, &own));
  }
  for (const bool by_another_open : {false, true}) {
    for (int at = 0; at < width; at += piece) {
      const Index start = {world.rank, at}, count = {1, piece};
      std::vector<int> found(piece, -1);
      EXPECT_OK(ncmpi_get_vara_int_all(id, var, start.data(), count.data(), found.data()));
      EXPECT_TRUE(found == std::vector<int>(piece, time));
      if (at / piece % 5 != 4) continue;
      ++time;
      if (by_another_open) {
        if (writes) {
          EXPECT_OK(ncmpi_put_vara_int_all(own, var, rows.data(), counts.data(), values().data()));
          EXPECT_OK(ncmpi_sync(own));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        continue;
      }
      EXPECT_OK(ncmpi_begin_indep_data(id));
      if (writes) {
        EXPECT_OK(ncmpi_put_vara_int(id, var, rows.data(), counts.data(), values().data()));
      }
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_OK(ncmpi_end_indep_data(id));
    }
  }
  if (writes) {
    EXPECT_OK(ncmpi_close(own));
  }
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, read_only_files_refuse_every_change) {
  Sample s = create_sample();
  EXPECT_OK(ncmpi_close(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int values[24] = {};
  int request = 5;
  EXPECT_ERR(NC_EPERM, ncmpi_redef(s.ncid));
  EXPECT_ERR(NC_EPERM, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  EXPECT_ERR(NC_EPERM, ncmpi_iput_var_int(s.ncid, s.grid, values, &request));
  EXPECT_EQ(NC_REQ_NULL, request);
  EXPECT_ERR(NC_EPERM, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  EXPECT_ERR(NC_EPERM, ncmpi_rename_var(s.ncid, s.grid, "g"));
  EXPECT_ERR(NC_EPERM, ncmpi_rename_dim(s.ncid, s.x, "q"));
  EXPECT_ERR(NC_EPERM, ncmpi_put_att_int(s.ncid, s.grid, "b", NC_INT, 1, values));
  EXPECT_ERR(NC_EPERM, ncmpi_del_att(s.ncid, s.grid, "b"));
  EXPECT_ERR(NC_EPERM, ncmpi_fill_var_rec(s.ncid, s.series, 0));
  EXPECT_ERR(NC_EPERM, ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  EXPECT_ERR(NC_EPERM, ncmpi_sync_numrecs(s.ncid));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_def_dim(s.ncid, "q", 1, nullptr));
  EXPECT_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  EXPECT_OK(ncmpi_sync(s.ncid));
  EXPECT_OK(ncmpi_flush(s.ncid));
  EXPECT_OK(ncmpi_buffer_attach(s.ncid, 100));
  EXPECT_ERR(NC_EPERM, ncmpi_bput_var_int(s.ncid, s.grid, values, &request));
  EXPECT_OK(ncmpi_buffer_detach(s.ncid));
  EXPECT_OK(ncmpi_begin_indep_data(s.ncid));
  EXPECT_ERR(NC_EPERM, ncmpi_put_var_int(s.ncid, s.grid, values));
  EXPECT_OK(ncmpi_get_var_int(s.ncid, s.grid, values));
  EXPECT_OK(ncmpi_end_indep_data(s.ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, abort_before_the_first_enddef_removes_the_file) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), 0, no_info, &id));
  const int code = ncmpi_abort(id);
  if (is_forebay()) {  // the peer's ranks race for the deletion
    EXPECT_OK(code);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(!exists(world.path()));
}

TEST(Modes, abort_in_redef_keeps_the_old_definitions) {
  Sample s = create_sample();
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = i;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_def_dim(s.ncid, "added", 9, nullptr));
  EXPECT_OK(ncmpi_abort(s.ncid));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int ndims = -1;
  EXPECT_OK(ncmpi_inq_ndims(s.ncid, &ndims));
  EXPECT_EQ(3, ndims);
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  EXPECT_EQ(23, got[23]);
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Modes, close_in_define_mode_ends_it) {
  int id = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), 0, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "q", 3, nullptr));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &id));
  int ndims = -1;
  EXPECT_OK(ncmpi_inq_ndims(id, &ndims));
  EXPECT_EQ(1, ndims);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, ids_of_closed_and_unknown_files) {
  int other = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path("other").c_str(), 0, no_info, &other));
  EXPECT_ERR(NC_EBADID, ncmpi_close(-1));
  EXPECT_ERR(NC_EBADID, ncmpi_close(99999));
  if (is_forebay()) {  // the peer crashes on the id of a closed file while another is open
    int id = -1;
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), 0, no_info, &id));
    EXPECT_OK(ncmpi_close(id));
    int value = 0;
    EXPECT_ERR(NC_EBADID, ncmpi_close(id));
    EXPECT_ERR(NC_EBADID, ncmpi_redef(id));
    EXPECT_ERR(NC_EBADID, ncmpi_enddef(id));
    EXPECT_ERR(NC_EBADID, ncmpi_sync(id));
    EXPECT_ERR(NC_EBADID, ncmpi_abort(id));
    EXPECT_ERR(NC_EBADID, ncmpi_inq_nvars(id, &value));
    EXPECT_ERR(NC_EBADID, ncmpi_put_var_int_all(id, 0, &value));
    EXPECT_ERR(NC_EBADID, ncmpi_iput_var_int(id, 0, &value, &value));
    EXPECT_ERR(NC_EBADID, ncmpi_wait_all(id, 0, nullptr, nullptr));
  }
  EXPECT_OK(ncmpi_close(other));
}

TEST(Modes, several_files_at_once) {
  int ids[3] = {};
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(
        ncmpi_create(MPI_COMM_WORLD, world.path(std::to_string(i)).c_str(), 0, no_info, &ids[i]));
  }
  int n = 0;
  int listed[3] = {-1, -1, -1};
  EXPECT_OK(ncmpi_inq_files_opened(&n, listed));
  EXPECT_EQ(3, n);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ids[i], listed[i]);
  EXPECT_OK(ncmpi_close(ids[1]));
  int again = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path("again").c_str(), 0, no_info, &again));
  EXPECT_EQ(ids[1], again);
  EXPECT_OK(ncmpi_close(ids[0]));
  EXPECT_OK(ncmpi_close(ids[2]));
  EXPECT_OK(ncmpi_close(again));
  EXPECT_ERR(NC_EINVAL, ncmpi_inq_files_opened(nullptr, nullptr));
}

TEST(Modes, one_file_for_each_rank_on_its_own) {
  int id = -1;
  const std::string path = world.path("rank" + std::to_string(world.rank));
  EXPECT_OK(ncmpi_create(MPI_COMM_SELF, path.c_str(), 0, no_info, &id));
  int var = -1;
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 0, nullptr, &var));
  EXPECT_OK(ncmpi_enddef(id));
  const int mine = world.rank + 100;
  EXPECT_OK(ncmpi_put_var_int_all(id, var, &mine));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, no_info, &id));
  int got = 0;
  EXPECT_OK(ncmpi_get_var_int_all(id, var, &got));
  EXPECT_EQ(mine, got);
  EXPECT_OK(ncmpi_close(id));
}

TEST(Modes, sync_makes_data_visible_to_a_second_handle) {
  const Sample s = create_sample();
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 3 * i;
  EXPECT_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {2, 0};
  const Index count = {1, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  EXPECT_OK(ncmpi_sync(s.ncid));
  MPI_Barrier(MPI_COMM_WORLD);
  int second = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, no_info, &second));
  int got[24] = {};
  EXPECT_OK(ncmpi_get_var_int_all(second, s.grid, got));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(values[i], got[i]);
  MPI_Offset n = 0;
  EXPECT_OK(ncmpi_inq_dimlen(second, s.time, &n));
  EXPECT_EQ(MPI_Offset{3}, n);
  EXPECT_OK(ncmpi_close(second));
  EXPECT_OK(ncmpi_close(s.ncid));
}
