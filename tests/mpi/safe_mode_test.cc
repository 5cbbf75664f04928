// PNETCDF_SAFE_MODE=1: what one rank does wrong, or does otherwise than the others, all ranks hear
// of at that call, with the same code, and nothing is changed. The calls and what can be wrong with
// them are the table in faults.cc.
#include <cstdlib>

#include "mpi/faults.h"

using namespace forebay_test;

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

// The call, with the change made on `odd` only.
void expect(Context& t, const Files& files, const Call& call, const Fault& change, int odd,
            int expected) {
  Arguments a;
  a.ncid = files.*call.file;
  a.ncid2 = files.defining;
  if (call.prepare != nullptr) call.prepare(a);
  if (t.rank() == odd) change.apply(files, a);
  const int code = call.run(a);
  if (code == expected) return;
  t.fail(__FILE__, __LINE__,
         call.name + ", " + change.slot + " " + change.what + " on rank " + std::to_string(odd) +
             ": " + error_name(code) + ", expected " + error_name(expected));
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

void check_calls(Context& t, const std::vector<Call>& calls) {
  if (t.size() == 1) return;
  setenv("PNETCDF_SAFE_MODE", "1", 1);
  const Files files = open_files(t);
  unsetenv("PNETCDF_SAFE_MODE");
  for (const Call& call : calls) {
    if (!call.collective) continue;
    for (const int odd : {0, t.size() - 1}) {
      for (const Fault& fault : call.faults)
        if (!left_out(call, fault)) expect(t, files, call, fault, odd, code_alone(call, fault));
      for (const Fault& difference : call.differences)
        expect(t, files, call, difference, odd, difference.code);
    }
  }
  // All ranks are where they were, and what was refused is not there.
  int dims = 0, vars = 0, attributes = 0;
  CHECK_OK(ncmpi_inq(files.defining, &dims, &vars, &attributes, nullptr));
  CHECK_EQ(3, dims);
  CHECK_EQ(5, vars);
  CHECK_EQ(2, attributes);
  CHECK_OK(ncmpi_inq_varnatts(files.defining, grid, &attributes));
  CHECK_EQ(2, attributes);
  CHECK_OK(ncmpi_enddef(files.defining));
  CHECK_OK(ncmpi_redef(files.collective));
  close_files(t, files);
}

int create(Context& t, int mode, int* id) {
  return ncmpi_create(t.comm(), t.path().c_str(), mode, no_info, id);
}

}  // namespace

TEST_CASE(definitions) { check_calls(t, definition_calls()); }

TEST_CASE(data) { check_calls(t, data_calls()); }

TEST_CASE(modes_of_create_and_open) {
  for (const bool safe : {false, true}) {
    setenv("PNETCDF_SAFE_MODE", safe ? "1" : "0", 1);
    const bool told = t.size() > 1 && (safe || t.rank() > 0);
    int id = -1, format = 0;
    const int cmode = NC_CLOBBER | (t.rank() == 0 ? NC_64BIT_DATA : NC_64BIT_OFFSET);
    CHECK_ERR(told ? NC_EMULTIDEFINE_CMODE : NC_NOERR, create(t, cmode, &id));
    CHECK_OK(ncmpi_inq_format(id, &format));
    CHECK_EQ(NC_FORMAT_CDF5, format);
    CHECK_OK(ncmpi_close(id));
    const int omode = t.rank() == 0 ? NC_NOWRITE : NC_WRITE;
    CHECK_ERR(told ? NC_EMULTIDEFINE_OMODE : NC_NOERR,
              ncmpi_open(t.comm(), t.path().c_str(), omode, no_info, &id));
    CHECK_ERR(NC_EPERM, ncmpi_redef(id));
    CHECK_OK(ncmpi_close(id));
  }
  unsetenv("PNETCDF_SAFE_MODE");
}

TEST_CASE(a_start_at_the_end_with_a_count_of_zero) {
  for (const bool strict : {false, true}) {
    setenv("PNETCDF_RELAX_COORD_BOUND", strict ? "0" : "1", 1);
    const Files files = open_files(t);
    unsetenv("PNETCDF_RELAX_COORD_BOUND");
    const int expected = strict ? NC_EINVALCOORDS : NC_NOERR;
    MPI_Offset end[] = {4, 0}, after[] = {2, 0}, none[] = {0, 6}, *starts = end, *counts = none;
    int value = 0, request = NC_REQ_NULL;
    const int id = files.collective;
    CHECK_ERR(expected, ncmpi_put_vara_int_all(id, grid, end, none, &value));
    CHECK_ERR(expected, ncmpi_get_vara_int_all(id, grid, end, none, &value));
    CHECK_ERR(expected, ncmpi_put_varn_int_all(id, grid, 1, &starts, &counts, &value));
    CHECK_ERR(expected, ncmpi_iget_vara_int(id, grid, end, none, &value, &request));
    CHECK_OK(ncmpi_wait_all(id, 1, &request, nullptr));
    // Records are there to be read up to the last one, and to be added.
    CHECK_ERR(expected, ncmpi_get_vara_int_all(id, series, after, none, &value));
    CHECK_OK(ncmpi_put_vara_int_all(id, series, after, none, &value));
    close_files(t, files);
  }
}

// Whatever the others do meanwhile, nobody waits for ever.
TEST_CASE(a_definition_that_one_rank_leaves_out) {
  if (!is_forebay() || t.size() == 1) return;  // the peer hangs or mixes up its messages
  for (int left_out = 0; left_out < 3; ++left_out) {
    setenv("PNETCDF_SAFE_MODE", "1", 1);
    int id = -1, dims = 0, vars = 0, x = 0;
    CHECK_OK(create(t, NC_CLOBBER, &id));
    unsetenv("PNETCDF_SAFE_MODE");
    CHECK_OK(ncmpi_def_dim(id, "x", 5, &x));
    int first = NC_NOERR;
    const auto note = [&](int code) { first = first == NC_NOERR ? code : first; };
    const bool odd = t.rank() == t.size() - 1;
    if (!odd || left_out != 0) note(ncmpi_def_dim(id, "y", 3, nullptr));
    if (!odd || left_out != 1) note(ncmpi_def_var(id, "v", NC_INT, 1, &x, nullptr));
    if (!odd || left_out != 2) note(ncmpi_put_att_text(id, NC_GLOBAL, "a", 1, "a"));
    // The one that left out the last definition hears nothing: it waits in enddef already.
    CHECK_ERR(odd && left_out == 2 ? NC_NOERR : NC_EMULTIDEFINE, first);
    CHECK_OK(ncmpi_enddef(id));
    CHECK_OK(ncmpi_inq(id, &dims, &vars, nullptr, nullptr));
    CHECK_EQ(left_out == 0 ? 1 : 2, dims);
    CHECK_EQ(left_out == 2 ? 1 : 0, vars);
    CHECK_OK(ncmpi_redef(id));
    CHECK_OK(ncmpi_def_dim(id, "z", 4, nullptr));
    CHECK_OK(ncmpi_close(id));
  }
}
