// PNETCDF_SAFE_MODE=1: what one rank does wrong, or does otherwise than the others, all ranks hear
// of at that call, with the same code, and nothing is changed. The calls and what can be wrong with
// them are the table in faults.cc.
#include <cstdlib>

#include "mpi/faults.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

// The call, with the change made on `odd` only.
void expect(const Files& files, const Call& call, const Fault& change, int odd, int expected) {
  Arguments a;
  a.ncid = files.*call.file;
  a.ncid2 = files.defining;
  if (call.prepare != nullptr) call.prepare(a);
  if (world.rank == odd) change.apply(files, a);
  const int code = call.run(a);
  if (code == expected) return;
  ADD_FAILURE() << call.name + ", " + change.slot + " " + change.what + " on rank " +
                       std::to_string(odd) + ": " + error_name(code) + ", expected " +
                       error_name(expected);
}

// Left out: another file, whose ranks would wait for each other; and what the peer's ranks do not
// agree on.
bool left_out(const Call& call, const Fault& fault) {
  const std::string slot = fault.slot;
  if (slot.starts_with("file")) return true;
  if (is_forebay()) return false;
  return slot == "bufcount" || (call.name == "ncmpi_del_att" && fault.code == NC_ENOTVAR);
}

int code_alone(const Call& call, const Fault& fault) {
  for (const Fault& difference : call.differences)
    if (fault.late && std::string(fault.slot) == difference.slot) return difference.code;
  return fault.code;
}

void check_calls(const std::vector<Call>& calls) {
  if (world.size == 1) return;
  setenv("PNETCDF_SAFE_MODE", "1", 1);
  const Files files = open_files();
  unsetenv("PNETCDF_SAFE_MODE");
  for (const Call& call : calls) {
    if (!call.collective) continue;
    for (const int odd : {0, world.size - 1}) {
      for (const Fault& fault : call.faults)
        if (!left_out(call, fault)) expect(files, call, fault, odd, code_alone(call, fault));
      for (const Fault& difference : call.differences)
        expect(files, call, difference, odd, difference.code);
    }
  }
  // All ranks are where they were, and what was refused is not there.
  int dims = 0, vars = 0, attributes = 0;
  EXPECT_OK(ncmpi_inq(files.defining, &dims, &vars, &attributes, nullptr));
  EXPECT_EQ(3, dims);
  EXPECT_EQ(is_forebay() ? 6 : 5, vars);
  EXPECT_EQ(2, attributes);
  EXPECT_OK(ncmpi_inq_varnatts(files.defining, grid, &attributes));
  EXPECT_EQ(2, attributes);
  EXPECT_OK(ncmpi_enddef(files.defining));
  EXPECT_OK(ncmpi_redef(files.collective));
  close_files(files);
}

int create(int mode, int* id) {
  return ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), mode, no_info, id);
}

}  // namespace

TEST(SafeMode, definitions) { check_calls(definition_calls()); }

TEST(SafeMode, data) { check_calls(data_calls()); }

TEST(SafeMode, modes_of_create_and_open) {
  for (const bool safe : {false, true}) {
    setenv("PNETCDF_SAFE_MODE", safe ? "1" : "0", 1);
    const bool told = world.size > 1 && (safe || world.rank > 0);
    int id = -1, format = 0;
    const int cmode = NC_CLOBBER | (world.rank == 0 ? NC_64BIT_DATA : NC_64BIT_OFFSET);
    EXPECT_ERR(told ? NC_EMULTIDEFINE_CMODE : NC_NOERR, create(cmode, &id));
    EXPECT_OK(ncmpi_inq_format(id, &format));
    EXPECT_EQ(NC_FORMAT_CDF5, format);
    EXPECT_OK(ncmpi_close(id));
    const int omode = world.rank == 0 ? NC_NOWRITE : NC_WRITE;
    EXPECT_ERR(told ? NC_EMULTIDEFINE_OMODE : NC_NOERR,
               ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), omode, no_info, &id));
    EXPECT_ERR(NC_EPERM, ncmpi_redef(id));
    EXPECT_OK(ncmpi_close(id));
  }
  unsetenv("PNETCDF_SAFE_MODE");
}

TEST(SafeMode, a_start_at_the_end_with_a_count_of_zero) {
  for (const bool strict : {false, true}) {
    setenv("PNETCDF_RELAX_COORD_BOUND", strict ? "0" : "1", 1);
    const Files files = open_files();
    unsetenv("PNETCDF_RELAX_COORD_BOUND");
    const int expected = strict ? NC_EINVALCOORDS : NC_NOERR;
    MPI_Offset end[] = {4, 0}, after[] = {2, 0}, none[] = {0, 6}, *starts = end, *counts = none;
    int value = 0, request = NC_REQ_NULL;
    const int id = files.collective;
    EXPECT_ERR(expected, ncmpi_put_vara_int_all(id, grid, end, none, &value));
    EXPECT_ERR(expected, ncmpi_get_vara_int_all(id, grid, end, none, &value));
    EXPECT_ERR(expected, ncmpi_put_varn_int_all(id, grid, 1, &starts, &counts, &value));
    EXPECT_ERR(expected, ncmpi_iget_vara_int(id, grid, end, none, &value, &request));
    EXPECT_OK(ncmpi_wait_all(id, 1, &request, nullptr));
    // Records are there to be read up to the last one, and to be added.
    EXPECT_ERR(expected, ncmpi_get_vara_int_all(id, series, after, none, &value));
    EXPECT_OK(ncmpi_put_vara_int_all(id, series, after, none, &value));
    close_files(files);
  }
}

// Whatever the others do meanwhile, nobody waits for ever.
TEST(SafeMode, a_definition_that_one_rank_leaves_out) {
  if (!is_forebay() || world.size == 1) return;  // the peer hangs or mixes up its messages
  for (int left_out = 0; left_out < 3; ++left_out) {
    setenv("PNETCDF_SAFE_MODE", "1", 1);
    int id = -1, dims = 0, vars = 0, x = 0;
    EXPECT_OK(create(NC_CLOBBER, &id));
    unsetenv("PNETCDF_SAFE_MODE");
    EXPECT_OK(ncmpi_def_dim(id, "x", 5, &x));
    int first = NC_NOERR;
    const auto note = [&](int code) { first = first == NC_NOERR ? code : first; };
    const bool odd = world.rank == world.size - 1;
    if (!odd || left_out != 0) note(ncmpi_def_dim(id, "y", 3, nullptr));
    if (!odd || left_out != 1) note(ncmpi_def_var(id, "v", NC_INT, 1, &x, nullptr));
    if (!odd || left_out != 2) note(ncmpi_put_att_text(id, NC_GLOBAL, "a", 1, "a"));
    // The one that left out the last definition hears nothing: it waits in enddef already.
    EXPECT_ERR(odd && left_out == 2 ? NC_NOERR : NC_EMULTIDEFINE, first);
    EXPECT_OK(ncmpi_enddef(id));
    EXPECT_OK(ncmpi_inq(id, &dims, &vars, nullptr, nullptr));
    EXPECT_EQ(left_out == 0 ? 1 : 2, dims);
    EXPECT_EQ(left_out == 2 ? 1 : 0, vars);
    EXPECT_OK(ncmpi_redef(id));
    EXPECT_OK(ncmpi_def_dim(id, "z", 4, nullptr));
    EXPECT_OK(ncmpi_close(id));
  }
}
