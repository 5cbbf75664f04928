// Which code a call returns where several things are wrong with it, for every call and every pair
// of things of the table in faults.cc; and that nobody waits for a rank that does something wrong.
#include <algorithm>
#include <initializer_list>

#include "mpi/faults.h"

using namespace forebay_test;

namespace {

// The call with one or two things wrong, the same on every rank.
void expect(const Files& files, const Call& call, const Fault& first, const Fault* second) {
  Arguments a;
  a.ncid = files.*call.file;
  a.ncid2 = files.defining;
  if (call.prepare != nullptr) call.prepare(a);
  if (second != nullptr) second->apply(files, a);
  first.apply(files, a);
  const int code = call.run(a);
  if (code == first.code) return;
  std::string what = call.name + ", " + first.slot + " " + first.what;
  if (second != nullptr) what += std::string(", ") + second->slot + " " + second->what;
  ADD_FAILURE() << what + ": " + error_name(code) + ", expected " + error_name(first.code);
}

void check_calls(const std::vector<Call>& calls) {
  const Files files = open_files();
  for (const Call& call : calls) {
    // PnetCDF 1.12.3 goes on after errors that it has found, and crashes.
    if (call.name == "ncmpi_fill_var_rec" && !is_forebay()) continue;
    for (auto first = call.faults.begin(); first != call.faults.end(); ++first) {
      expect(files, call, *first, nullptr);
      for (auto second = first + 1; second != call.faults.end(); ++second)
        if (std::string(first->slot) != second->slot) expect(files, call, *first, &*second);
    }
  }
  close_files(files);
}

const MPI_Info no_info = MPI_INFO_NULL;

// Each thing of the table wrong on one rank, which returns its error; the others return something.
void check_alone(const std::vector<Call>& calls, const Files& files, int file) {
  for (const Call& call : calls) {
    if (!call.collective) continue;
    for (const int odd : {0, world.size - 1}) {
      for (const Fault& fault : call.faults) {
        if (std::string(fault.slot).starts_with("file")) continue;  // of another file
        Arguments a;
        a.ncid = file == -1 ? files.*call.file : file;
        a.ncid2 = a.ncid;
        if (call.prepare != nullptr && file == -1) call.prepare(a);
        if (world.rank == odd) fault.apply(files, a);
        const int code = call.run(a);
        if (world.rank == odd && code == NC_NOERR)
          ADD_FAILURE() << call.name + ", " + fault.slot + " " + fault.what + " has no error";
      }
    }
  }
  EXPECT_OK(ncmpi_sync(files.collective));
}

bool one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

}  // namespace

TEST(OneRankIsWrong, data) {
  if (world.size == 1) return;
  const Files files = open_files();
  check_alone(data_calls(), files, -1);
  close_files(files);
}

// In define mode calls are local; those that write the header, or meet, are looked at.
TEST(OneRankIsWrong, definitions) {
  if (world.size == 1 || !is_forebay()) return;  // the peer hangs
  const Files files = open_files();
  std::vector<Call> in_data_mode, meeting;
  for (const Call& call : definition_calls()) {
    if (one_of(call.name,
               {"ncmpi_rename_dim", "ncmpi_rename_var", "ncmpi_put_att", "ncmpi_put_att_int",
                "ncmpi_put_att_text", "ncmpi_rename_att", "ncmpi_copy_att"}))
      in_data_mode.push_back(call);
    if (one_of(call.name, {"ncmpi_fill_var_rec", "ncmpi__enddef", "ncmpi_def_decom"}))
      meeting.push_back(call);
  }
  check_alone(in_data_mode, files, files.collective);
  check_alone(meeting, files, -1);
  close_files(files);
}

TEST(OneRankIsWrong, requests_files_and_modes) {
  if (world.size == 1 || !is_forebay()) return;  // the peer hangs
  const Files files = open_files();
  for (const int odd : {0, world.size - 1}) {
    const bool is_odd = world.rank == odd;
    const auto expect_odd = [&](int code, int got) {
      if (is_odd) EXPECT_ERR(code, got);
    };
    int wrong = 4711, *const list = is_odd ? nullptr : &wrong;
    expect_odd(NC_EINVAL, ncmpi_wait_all(files.collective, is_odd ? 1 : 0, list, nullptr));
    int status = NC_NOERR;
    ncmpi_wait_all(files.collective, is_odd ? 1 : 0, &wrong, &status);
    expect_odd(NC_EINVAL_REQUEST, status);
    int id = -1;
    const std::string path = world.path("one");
    const char* const given = is_odd ? nullptr : path.c_str();
    EXPECT_TRUE(ncmpi_create(MPI_COMM_WORLD, given, NC_CLOBBER, no_info, &id) != NC_NOERR);
    EXPECT_TRUE(ncmpi_open(MPI_COMM_WORLD, given, NC_NOWRITE, no_info, &id) != NC_NOERR);
    int* const place = is_odd ? nullptr : &id;
    EXPECT_TRUE(ncmpi_create(MPI_COMM_WORLD, path.c_str(), 0, no_info, place) != NC_NOERR);
  }
  close_files(files);
}

// One rank makes a collective call more than the others, which are in their last one.
TEST(OneRankIsWrong, calls_that_others_do_not_make) {
  if (world.size == 1 || !is_forebay()) return;  // the peer hangs
  for (const int odd : {0, world.size - 1}) {
    for (const auto& [key, value] : {std::pair{"stage", "direct"},
                                     {"stage", "memory"},
                                     {"stage", "async"},
                                     {"transport", "independent"},
                                     {"transport", "collective"}}) {
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      MPI_Info_set(info, key, value);
      int id = -1, dim = -1, var = -1;
      const std::string path = world.path("more");
      EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER, info, &id));
      MPI_Info_free(&info);
      EXPECT_OK(ncmpi_def_dim(id, "x", world.size, &dim));
      EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 1, &dim, &var));
      EXPECT_OK(ncmpi_enddef(id));
      const MPI_Offset start = world.rank, count = 1;
      const auto put = [&] { return ncmpi_put_vara_int_all(id, var, &start, &count, &world.rank); };
      EXPECT_OK(put());
      if (world.rank == odd) {
        EXPECT_ERR(NC_EMULTIDEFINE, put());
        EXPECT_ERR(NC_EMULTIDEFINE, put());
        EXPECT_ERR(NC_EMULTIDEFINE, ncmpi_sync(id));
      }
      EXPECT_ERR(NC_EMULTIDEFINE, ncmpi_close(id));
    }
  }
}

// Types whose bytes are no elements of a variable, and none at all.
TEST(OneRankIsWrong, file_types) {
  if (world.size == 1 || !is_forebay()) return;  // the peer takes them
  const Files files = open_files();
  MPI_Datatype beyond = MPI_DATATYPE_NULL;
  const MPI_Aint at[] = {0, MPI_Aint{1} << 40};
  MPI_Type_create_hindexed_block(2, 1, at, MPI_INT, &beyond);
  MPI_Type_commit(&beyond);
  for (const int odd : {0, world.size - 1}) {
    const bool is_odd = world.rank == odd;
    int values[2] = {};
    const auto put = [&](MPI_Datatype type, MPI_Offset count, void* data) {
      return ncmpi_put_vard_all(files.collective, grid, is_odd ? type : MPI_INT, data,
                                is_odd ? count : 1, MPI_INT);
    };
    EXPECT_ERR(is_odd ? NC_ETYPESIZE : NC_NOERR, put(beyond, 2, values));
    EXPECT_ERR(is_odd ? NC_ETYPE_MISMATCH : NC_NOERR, put(MPI_DOUBLE, 1, values));
    EXPECT_ERR(is_odd ? NC_EIOMISMATCH : NC_NOERR, put(MPI_INT, 2, values));
    EXPECT_ERR(is_odd ? NC_EINVAL : NC_NOERR, put(MPI_INT, 1, is_odd ? nullptr : values));
  }
  MPI_Type_free(&beyond);
  close_files(files);
}

TEST(Precedence, definitions) { check_calls(definition_calls()); }

TEST(Precedence, data) { check_calls(data_calls()); }
