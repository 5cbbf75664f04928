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

bool exists(Context& t, const std::string& path) {
  int there = t.rank() == 0 ? (access(path.c_str(), F_OK) == 0 ? 1 : 0) : 0;
  MPI_Bcast(&there, 1, MPI_INT, 0, t.comm());
  return there != 0;
}

}  // namespace

TEST_CASE(create_refuses_modes_it_does_not_have) {
  int id = -1;
  const std::string path = t.path();
  CHECK_ERR(NC_ENOTBUILT, ncmpi_create(t.comm(), path.c_str(), NC_NETCDF4, no_info, &id));
  CHECK_ERR(NC_ENOTBUILT,
            ncmpi_create(t.comm(), path.c_str(), NC_NETCDF4 | NC_CLASSIC_MODEL, no_info, &id));
  CHECK_ERR(NC_EINVAL_CMODE,
            ncmpi_create(t.comm(), path.c_str(), NC_64BIT_DATA | NC_64BIT_OFFSET, no_info, &id));
  CHECK_ERR(NC_EINVAL_CMODE, ncmpi_create(t.comm(), path.c_str(), NC_DISKLESS, no_info, &id));
  CHECK_ERR(NC_EINVAL_CMODE, ncmpi_create(t.comm(), path.c_str(), NC_MMAP, no_info, &id));
}

TEST_CASE(create_without_clobber_keeps_the_old_file) {
  int id = -1;
  const std::string path = t.path();
  CHECK_OK(ncmpi_create(t.comm(), path.c_str(), NC_CLOBBER, no_info, &id));
  CHECK_OK(ncmpi_put_att_text(id, NC_GLOBAL, "title", 3, "old"));
  CHECK_OK(ncmpi_close(id));
  CHECK_ERR(NC_EEXIST, ncmpi_create(t.comm(), path.c_str(), NC_NOCLOBBER, no_info, &id));
  CHECK_OK(ncmpi_open(t.comm(), path.c_str(), NC_NOWRITE, no_info, &id));
  MPI_Offset length = 0;
  CHECK_OK(ncmpi_inq_attlen(id, NC_GLOBAL, "title", &length));
  CHECK_EQ(MPI_Offset{3}, length);
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_create(t.comm(), path.c_str(), NC_CLOBBER, no_info, &id));
  int natts = -1;
  CHECK_OK(ncmpi_inq_natts(id, &natts));
  CHECK_EQ(0, natts);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(clobbering_a_long_file_leaves_nothing_of_it) {
  const std::string path = t.path();
  if (t.rank() == 0) std::ofstream(path) << std::string(100000, 'z');
  MPI_Barrier(t.comm());
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), path.c_str(), NC_CLOBBER, no_info, &id));
  CHECK_OK(ncmpi_close(id));
  MPI_Barrier(t.comm());
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  CHECK_EQ(std::streamoff{32}, static_cast<std::streamoff>(in.tellg()));
}

TEST_CASE(paths_that_cannot_be_files) {
  int id = -1;
  const auto comm = t.comm();
  CHECK_ERR(NC_EBAD_FILE, ncmpi_create(comm, nullptr, 0, no_info, &id));
  CHECK_ERR(NC_EBAD_FILE, ncmpi_create(comm, "", 0, no_info, &id));
  CHECK_ERR(NC_EBAD_FILE, ncmpi_open(comm, nullptr, 0, no_info, &id));
  CHECK_ERR(NC_EBAD_FILE, ncmpi_open(comm, "", 0, no_info, &id));
  CHECK_ERR(NC_ENOENT, ncmpi_open(comm, t.path("missing").c_str(), 0, no_info, &id));
  const std::string nowhere = t.path("nowhere") + "/file.nc";
  CHECK_ERR(NC_ENOENT, ncmpi_open(comm, nowhere.c_str(), 0, no_info, &id));
  CHECK_ERR(NC_ENOENT, ncmpi_create(comm, nowhere.c_str(), 0, no_info, &id));
  CHECK_ERR(NC_EFILE, ncmpi_open(comm, t.directory().c_str(), 0, no_info, &id));
  CHECK_ERR(NC_EFILE, ncmpi_create(comm, t.directory().c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_create(comm, t.path().c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_close(id));
  CHECK_ERR(NC_EINVAL_OMODE, ncmpi_open(comm, t.path().c_str(), NC_DISKLESS, no_info, &id));
  if (is_forebay()) {  // the peer's buffer overflows
    const std::string endless(5000, 'a');
    const int code = ncmpi_create(comm, endless.c_str(), 0, no_info, &id);
    CHECK(code != NC_NOERR);
    CHECK(same_on_all_ranks(t, code));
  }
}

TEST_CASE(delete_removes_a_file_and_reports_a_missing_one) {
  int id = -1;
  const std::string path = t.path();
  CHECK_OK(ncmpi_create(t.comm(), path.c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_close(id));
  MPI_Barrier(t.comm());
  if (t.rank() == 0) CHECK_OK(ncmpi_delete(path.c_str(), no_info));
  MPI_Barrier(t.comm());
  CHECK(!exists(t, path));
  if (t.rank() == 0) CHECK_ERR(NC_ENOENT, ncmpi_delete(path.c_str(), no_info));
}

TEST_CASE(default_format_is_what_create_uses) {
  int old = -1;
  CHECK_OK(ncmpi_set_default_format(NC_FORMAT_CDF5, &old));
  CHECK_EQ(NC_FORMAT_CLASSIC, old);
  CHECK_OK(ncmpi_inq_default_format(&old));
  CHECK_EQ(NC_FORMAT_CDF5, old);
  int id = -1;
  int format = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_inq_format(id, &format));
  CHECK_EQ(NC_FORMAT_CDF5, format);
  int version = 0;
  CHECK_OK(ncmpi_inq_version(id, &version));
  CHECK_EQ(NC_64BIT_DATA, version);
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), NC_64BIT_OFFSET, no_info, &id));
  CHECK_OK(ncmpi_inq_format(id, &format));
  CHECK_EQ(NC_FORMAT_CDF2, format);
  CHECK_OK(ncmpi_close(id));
  CHECK_ERR(NC_EINVAL, ncmpi_set_default_format(77, &old));
  CHECK_ERR(NC_EINVAL, ncmpi_inq_default_format(nullptr));
  CHECK_OK(ncmpi_set_default_format(NC_FORMAT_CLASSIC, nullptr));
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_inq_version(id, &version));
  CHECK_EQ(NC_CLASSIC_MODEL, version);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(file_format_of_a_path) {
  int id = -1;
  for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), mode, no_info, &id));
    CHECK_OK(ncmpi_close(id));
    MPI_Barrier(t.comm());
    int format = -7;
    CHECK_OK(ncmpi_inq_file_format(t.path().c_str(), &format));
    CHECK_EQ(mode == 0 ? 1 : mode == NC_64BIT_OFFSET ? 2 : 5, format);
    MPI_Barrier(t.comm());
  }
  int format = -7;
  CHECK_ERR(NC_ENOENT, ncmpi_inq_file_format(t.path("missing").c_str(), &format));
  if (t.rank() == 0) std::ofstream(t.path("text")) << "this is plain text, no dataset at all";
  MPI_Barrier(t.comm());
  CHECK_OK(ncmpi_inq_file_format(t.path("text").c_str(), &format));
  CHECK_EQ(NC_FORMAT_UNKNOWN, format);
}

TEST_CASE(data_calls_in_define_mode) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false);
  int values[24] = {};
  CHECK_ERR(NC_EINDEFINE, ncmpi_redef(s.ncid));
  CHECK_ERR(NC_EINDEFINE, ncmpi_begin_indep_data(s.ncid));
  CHECK_ERR(NC_EINDEFINE, ncmpi_end_indep_data(s.ncid));
  CHECK_ERR(NC_EINDEFINE, ncmpi_sync(s.ncid));
  CHECK_ERR(NC_EINDEFINE, ncmpi_sync_numrecs(s.ncid));
  CHECK_OK(ncmpi_flush(s.ncid));
  CHECK_ERR(NC_EINDEFINE, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEFINE, ncmpi_put_var_int(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEFINE, ncmpi_get_var_int_all(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEFINE, ncmpi_get_var_int(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEFINE, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  CHECK_ERR(NC_EINDEFINE, ncmpi_mput_var_int_all(s.ncid, 0, nullptr, nullptr));
  CHECK_ERR(NC_EINDEFINE, ncmpi_wait_all(s.ncid, 0, nullptr, nullptr));
  CHECK_ERR(NC_EINDEFINE, ncmpi_wait(s.ncid, NC_REQ_ALL, nullptr, nullptr));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(requests_may_be_posted_in_define_mode) {
  const Sample s = create_sample(t, NC_64BIT_DATA, false);
  const int value = 41;
  int request = NC_REQ_NULL;
  if (t.rank() == 0) CHECK_OK(ncmpi_iput_var_int(s.ncid, s.scalar, &value, &request));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int status = 1;
  CHECK_OK(ncmpi_wait_all(s.ncid, 1, &request, &status));
  CHECK_EQ(NC_NOERR, status);
  int got = 0;
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.scalar, &got));
  CHECK_EQ(41, got);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(define_calls_in_data_mode) {
  Sample s = create_sample(t, NC_64BIT_DATA, false);
  int values[24] = {};
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, values));
  CHECK_OK(ncmpi_enddef(s.ncid));
  int id = -1;
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi__enddef(s.ncid, 0, 4, 0, 4));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_def_dim(s.ncid, "z", 10, &id));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_def_var(s.ncid, "w", NC_INT, 0, nullptr, &id));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "new", NC_INT, 1, values));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 4, values));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_del_att(s.ncid, s.grid, "a"));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_rename_att(s.ncid, s.grid, "a", "longer"));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_rename_var(s.ncid, s.grid, "grid_with_a_longer_name"));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_rename_dim(s.ncid, s.x, "longer"));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_copy_att(s.ncid, s.grid, "a", s.ncid, NC_GLOBAL));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_def_var_fill(s.ncid, s.grid, 0, nullptr));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(what_does_not_grow_the_header_may_change_in_data_mode) {
  Sample s = create_sample(t, NC_64BIT_DATA, false);
  const int three[] = {1, 2, 3};
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, three));
  CHECK_OK(ncmpi_enddef(s.ncid));
  const int two[] = {8, 9};
  CHECK_OK(ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 2, two));
  // What shrank does not grow back.
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_put_att_int(s.ncid, s.grid, "a", NC_INT, 3, three));
  CHECK_OK(ncmpi_rename_var(s.ncid, s.grid, "g"));
  CHECK_OK(ncmpi_rename_dim(s.ncid, s.time, "t"));
  CHECK_OK(ncmpi_rename_att(s.ncid, s.grid, "a", "b"));
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int id = -1;
  CHECK_OK(ncmpi_inq_varid(s.ncid, "g", &id));
  CHECK_EQ(s.grid, id);
  CHECK_OK(ncmpi_inq_dimid(s.ncid, "t", &id));
  CHECK_EQ(s.time, id);
  int got[3] = {};
  CHECK_OK(ncmpi_get_att_int(s.ncid, s.grid, "b", got));
  CHECK_EQ(8, got[0]);
  CHECK_EQ(9, got[1]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(independent_calls_in_collective_mode) {
  const Sample s = create_sample(t);
  int values[24] = {};
  CHECK_ERR(NC_ENOTINDEP, ncmpi_put_var_int(s.ncid, s.grid, values));
  CHECK_ERR(NC_ENOTINDEP, ncmpi_get_var_int(s.ncid, s.grid, values));
  CHECK_ERR(NC_ENOTINDEP, ncmpi_put_vard(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  CHECK_ERR(NC_ENOTINDEP, ncmpi_wait(s.ncid, 0, nullptr, nullptr));
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(collective_calls_in_independent_mode) {
  const Sample s = create_sample(t);
  int values[24] = {};
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  CHECK_ERR(NC_EINDEP, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEP, ncmpi_get_var_int_all(s.ncid, s.grid, values));
  CHECK_ERR(NC_EINDEP, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  CHECK_ERR(NC_EINDEP, ncmpi_mput_var_int_all(s.ncid, 0, nullptr, nullptr));
  CHECK_ERR(NC_EINDEP, ncmpi_wait_all(s.ncid, 0, nullptr, nullptr));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK_OK(ncmpi_flush(s.ncid));
  CHECK_OK(ncmpi_sync_numrecs(s.ncid));
  CHECK_OK(ncmpi_rename_var(s.ncid, s.grid, "g"));
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(redef_and_close_are_possible_from_independent_mode) {
  const Sample s = create_sample(t);
  int values[24] = {};
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_OK(ncmpi_enddef(s.ncid));
  // enddef leads to collective mode.
  CHECK_ERR(NC_ENOTINDEP, ncmpi_put_var_int(s.ncid, s.grid, values));
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  if (t.rank() == 0) {
    values[5] = 17;
    CHECK_OK(ncmpi_put_var_int(s.ncid, s.grid, values));
  }
  CHECK_OK(ncmpi_close(s.ncid));
  int id = -1;
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &id));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(id, s.grid, got));
  CHECK_EQ(17, got[5]);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(a_rank_writes_alone_in_independent_mode) {
  const Sample s = create_sample(t);
  const int last = t.size() - 1;
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  if (t.rank() == last) {
    const Index start = {1, 2};
    const int value = 77;
    CHECK_OK(ncmpi_put_var1_int(s.ncid, s.grid, start.data(), &value));
    int back = 0;
    CHECK_OK(ncmpi_get_var1_int(s.ncid, s.grid, start.data(), &back));
    CHECK_EQ(77, back);
  }
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  CHECK_EQ(77, got[8]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(read_only_files_refuse_every_change) {
  Sample s = create_sample(t);
  CHECK_OK(ncmpi_close(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int values[24] = {};
  int request = 5;
  CHECK_ERR(NC_EPERM, ncmpi_redef(s.ncid));
  CHECK_ERR(NC_EPERM, ncmpi_put_var_int_all(s.ncid, s.grid, values));
  CHECK_ERR(NC_EPERM, ncmpi_iput_var_int(s.ncid, s.grid, values, &request));
  CHECK_EQ(NC_REQ_NULL, request);
  CHECK_ERR(NC_EPERM, ncmpi_put_vard_all(s.ncid, s.grid, MPI_INT, values, 1, MPI_INT));
  CHECK_ERR(NC_EPERM, ncmpi_rename_var(s.ncid, s.grid, "g"));
  CHECK_ERR(NC_EPERM, ncmpi_rename_dim(s.ncid, s.x, "q"));
  CHECK_ERR(NC_EPERM, ncmpi_put_att_int(s.ncid, s.grid, "b", NC_INT, 1, values));
  CHECK_ERR(NC_EPERM, ncmpi_del_att(s.ncid, s.grid, "b"));
  CHECK_ERR(NC_EPERM, ncmpi_fill_var_rec(s.ncid, s.series, 0));
  CHECK_ERR(NC_EPERM, ncmpi_set_fill(s.ncid, NC_FILL, nullptr));
  CHECK_ERR(NC_EPERM, ncmpi_sync_numrecs(s.ncid));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_def_dim(s.ncid, "q", 1, nullptr));
  CHECK_ERR(NC_ENOTINDEFINE, ncmpi_enddef(s.ncid));
  CHECK_OK(ncmpi_sync(s.ncid));
  CHECK_OK(ncmpi_flush(s.ncid));
  CHECK_OK(ncmpi_buffer_attach(s.ncid, 100));
  CHECK_ERR(NC_EPERM, ncmpi_bput_var_int(s.ncid, s.grid, values, &request));
  CHECK_OK(ncmpi_buffer_detach(s.ncid));
  CHECK_OK(ncmpi_begin_indep_data(s.ncid));
  CHECK_ERR(NC_EPERM, ncmpi_put_var_int(s.ncid, s.grid, values));
  CHECK_OK(ncmpi_get_var_int(s.ncid, s.grid, values));
  CHECK_OK(ncmpi_end_indep_data(s.ncid));
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(abort_before_the_first_enddef_removes_the_file) {
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), 0, no_info, &id));
  const int code = ncmpi_abort(id);
  if (is_forebay()) CHECK_OK(code);  // the peer's ranks race for the deletion
  MPI_Barrier(t.comm());
  CHECK(!exists(t, t.path()));
}

TEST_CASE(abort_in_redef_keeps_the_old_definitions) {
  Sample s = create_sample(t);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = i;
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  CHECK_OK(ncmpi_redef(s.ncid));
  CHECK_OK(ncmpi_def_dim(s.ncid, "added", 9, nullptr));
  CHECK_OK(ncmpi_abort(s.ncid));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &s.ncid));
  int ndims = -1;
  CHECK_OK(ncmpi_inq_ndims(s.ncid, &ndims));
  CHECK_EQ(3, ndims);
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(s.ncid, s.grid, got));
  CHECK_EQ(23, got[23]);
  CHECK_OK(ncmpi_close(s.ncid));
}

TEST_CASE(close_in_define_mode_ends_it) {
  int id = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), 0, no_info, &id));
  CHECK_OK(ncmpi_def_dim(id, "q", 3, nullptr));
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &id));
  int ndims = -1;
  CHECK_OK(ncmpi_inq_ndims(id, &ndims));
  CHECK_EQ(1, ndims);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(ids_of_closed_and_unknown_files) {
  int other = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path("other").c_str(), 0, no_info, &other));
  CHECK_ERR(NC_EBADID, ncmpi_close(-1));
  CHECK_ERR(NC_EBADID, ncmpi_close(99999));
  if (is_forebay()) {  // the peer crashes on the id of a closed file while another is open
    int id = -1;
    CHECK_OK(ncmpi_create(t.comm(), t.path().c_str(), 0, no_info, &id));
    CHECK_OK(ncmpi_close(id));
    int value = 0;
    CHECK_ERR(NC_EBADID, ncmpi_close(id));
    CHECK_ERR(NC_EBADID, ncmpi_redef(id));
    CHECK_ERR(NC_EBADID, ncmpi_enddef(id));
    CHECK_ERR(NC_EBADID, ncmpi_sync(id));
    CHECK_ERR(NC_EBADID, ncmpi_abort(id));
    CHECK_ERR(NC_EBADID, ncmpi_inq_nvars(id, &value));
    CHECK_ERR(NC_EBADID, ncmpi_put_var_int_all(id, 0, &value));
    CHECK_ERR(NC_EBADID, ncmpi_iput_var_int(id, 0, &value, &value));
    CHECK_ERR(NC_EBADID, ncmpi_wait_all(id, 0, nullptr, nullptr));
  }
  CHECK_OK(ncmpi_close(other));
}

TEST_CASE(several_files_at_once) {
  int ids[3] = {};
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(ncmpi_create(t.comm(), t.path(std::to_string(i)).c_str(), 0, no_info, &ids[i]));
  }
  int n = 0;
  int listed[3] = {-1, -1, -1};
  CHECK_OK(ncmpi_inq_files_opened(&n, listed));
  CHECK_EQ(3, n);
  for (int i = 0; i < 3; ++i) CHECK_EQ(ids[i], listed[i]);
  CHECK_OK(ncmpi_close(ids[1]));
  int again = -1;
  CHECK_OK(ncmpi_create(t.comm(), t.path("again").c_str(), 0, no_info, &again));
  CHECK_EQ(ids[1], again);
  CHECK_OK(ncmpi_close(ids[0]));
  CHECK_OK(ncmpi_close(ids[2]));
  CHECK_OK(ncmpi_close(again));
  CHECK_ERR(NC_EINVAL, ncmpi_inq_files_opened(nullptr, nullptr));
}

TEST_CASE(one_file_for_each_rank_on_its_own) {
  int id = -1;
  const std::string path = t.path("rank" + std::to_string(t.rank()));
  CHECK_OK(ncmpi_create(MPI_COMM_SELF, path.c_str(), 0, no_info, &id));
  int var = -1;
  CHECK_OK(ncmpi_def_var(id, "v", NC_INT, 0, nullptr, &var));
  CHECK_OK(ncmpi_enddef(id));
  const int mine = t.rank() + 100;
  CHECK_OK(ncmpi_put_var_int_all(id, var, &mine));
  CHECK_OK(ncmpi_close(id));
  CHECK_OK(ncmpi_open(MPI_COMM_SELF, path.c_str(), NC_NOWRITE, no_info, &id));
  int got = 0;
  CHECK_OK(ncmpi_get_var_int_all(id, var, &got));
  CHECK_EQ(mine, got);
  CHECK_OK(ncmpi_close(id));
}

TEST_CASE(sync_makes_data_visible_to_a_second_handle) {
  const Sample s = create_sample(t);
  int values[24];
  for (int i = 0; i < 24; ++i) values[i] = 3 * i;
  CHECK_OK(ncmpi_put_var_int_all(s.ncid, s.grid, values));
  const Index start = {2, 0};
  const Index count = {1, 6};
  CHECK_OK(ncmpi_put_vara_int_all(s.ncid, s.series, start.data(), count.data(), values));
  CHECK_OK(ncmpi_sync(s.ncid));
  MPI_Barrier(t.comm());
  int second = -1;
  CHECK_OK(ncmpi_open(t.comm(), t.path().c_str(), NC_NOWRITE, no_info, &second));
  int got[24] = {};
  CHECK_OK(ncmpi_get_var_int_all(second, s.grid, got));
  for (int i = 0; i < 24; ++i) CHECK_EQ(values[i], got[i]);
  MPI_Offset n = 0;
  CHECK_OK(ncmpi_inq_dimlen(second, s.time, &n));
  CHECK_EQ(MPI_Offset{3}, n);
  CHECK_OK(ncmpi_close(second));
  CHECK_OK(ncmpi_close(s.ncid));
}
