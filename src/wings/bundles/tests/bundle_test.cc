// Bundles through the C interface, and by keys for programs that know nothing of them.
#include <forebay_bundle.h>
#include <pnetcdf.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

// Of the library, where ranks are on nodes of their own, so that they meet by messages. The library
// finds these functions in place of MPI's if they are visible, which not every <mpi.h> sees to.
static int meetings = 0;

#pragma GCC visibility push(default)

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  ++meetings;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++meetings;
  return PMPI_Bcast(data, count, type, root, comm);
}

// That there are now, less those that there were.
static int duplicates = 0;

extern "C" int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  ++duplicates;
  return PMPI_Comm_dup(comm, made);
}

extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  --duplicates;
  return PMPI_Comm_free(comm);
}

#pragma GCC visibility pop

namespace {

constexpr int width = 12;

struct File {
  std::string path;
  int id = -1, var = -1;
};

File create(const std::string& suffix, const Hints& hints = {}, MPI_Comm comm = MPI_COMM_WORLD) {
  File file;
  file.path = world.path(suffix);
  Info info(hints);
  EXPECT_OK(ncmpi_create(comm, file.path.c_str(), NC_64BIT_DATA, info, &file.id));
  return file;
}

void define(File& file, int ranks = world.size) {
  int dims[2];
  EXPECT_OK(ncmpi_def_dim(file.id, "time", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(file.id, "x", width * ranks, &dims[1]));
  EXPECT_OK(ncmpi_def_var(file.id, "v", NC_INT, 2, dims, &file.var));
  EXPECT_OK(ncmpi_enddef(file.id));
}

void put(const File& file, int step, int rank = world.rank) {
  std::vector<int> values(width, 100 * step + rank);
  const MPI_Offset start[] = {step, width * rank}, count[] = {1, width};
  EXPECT_OK(ncmpi_put_vara_int_all(file.id, file.var, start, count, values.data()));
}

MPI_Offset bytes_of(const std::string& path) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto bytes = static_cast<MPI_Offset>(std::filesystem::file_size(path));
  MPI_Barrier(MPI_COMM_WORLD);
  return bytes;
}

void expect_whole(const std::string& path, int steps) {
  int id = -1, var = -1;
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  EXPECT_OK(ncmpi_inq_varid(id, "v", &var));
  std::vector<int> values(width, -1);
  for (int step = 0; step < steps; ++step) {
    const MPI_Offset start[] = {step, width * world.rank}, count[] = {1, width};
    EXPECT_OK(ncmpi_get_vara_int_all(id, var, start, count, values.data()));
    EXPECT_EQ(values[width - 1], 100 * step + world.rank) << path;
  }
  EXPECT_OK(ncmpi_close(id));
}

std::string plan_of(int id) {
  std::string plan(4096, '\0');
  const int64_t needed = forebay_bundle_plan(id, plan.data(), 4096);
  EXPECT_GT(needed, 0);
  plan.resize(static_cast<std::size_t>(std::max<int64_t>(needed, 1) - 1));
  return plan;
}

template <typename F>
int meetings_in(F&& f) {
  meetings = 0;
  f();
  return meetings;
}

// What is asked for of an opened file says nothing of those that are created. The first test, as
// others leave places to meet in.
TEST(BundleMeetings, are_no_more_to_create_a_file_behind_one_that_was_opened) {
  if (world.size == 1) return;
  const Hints hints{{"ranks_per_node", "1"}};
  std::string last;
  int meetings_before = 0;
  for (int time = 0; time < 5; ++time) {
    if (time > 2) {
      Info info(hints);
      int id = -1;
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, last.c_str(), NC_NOWRITE, info, &id));
      EXPECT_OK(ncmpi_close(id));
    }
    File file;
    const std::string name = "behind" + std::to_string(time) + ".nc";
    const int create_ = meetings_in([&] { file = create(name, hints); });
    EXPECT_GT(create_, 0) << "meetings are not counted";
    if (time > 2) EXPECT_EQ(create_, meetings_before) << time;
    meetings_before = create_;
    last = file.path;
    define(file);
    EXPECT_OK(ncmpi_close(file.id));
  }
}

// Of all that ranks tell each other: who has an unused communicator, that all know what rank 0 asks
// for, and what is there; then that the file is made, and is a member.
TEST(BundleMeetings, are_two_to_create_a_member_and_none_to_close_it) {
  if (world.size == 1) return;
  for (const std::string kind : {"", "later"}) {
    Hints hints{{"bundle", "meetings" + kind}, {"bundle_files", "5"}, {"ranks_per_node", "1"}};
    if (!kind.empty()) hints.emplace_back("bundle_create", kind);
    for (int time = 0; time < 5; ++time) {
      File file;
      const std::string name = kind + std::to_string(time) + ".nc";
      const int create_ = meetings_in([&] { file = create(name, hints); });
      const int define_ = meetings_in([&] { define(file); });
      const int put_ = meetings_in([&] { put(file, 0); });
      const int close_ = meetings_in([&] { EXPECT_OK(ncmpi_close(file.id)); });
      // The first makes the bundle, the second what the next ones find; the last close writes it.
      if (time < 2 || time == 4) continue;
      EXPECT_EQ(create_, 2) << kind;
      EXPECT_EQ(define_, 1) << kind;
      EXPECT_EQ(put_, 1) << kind;
      EXPECT_EQ(close_, 0) << kind;
    }
  }
  // Not before: readers find out who shares a node, and leave a place to meet in.
  for (const std::string kind : {"", "later"})
    for (int time = 0; time < 5; ++time)
      expect_whole(world.path(kind + std::to_string(time) + ".nc"), 1);
}

// In the node's memory. Two files are open at a time, and closed in either order; a third fails, so
// that its communicator is not used again.
TEST(BundleMeetings, begin_a_file_in_memory_where_others_have_left_a_place) {
  if (world.size == 1 || std::getenv("FOREBAY_HINTS") != nullptr) return;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int time = 0; time < 6; ++time) {
    File files[2];
    const int create_ = meetings_in([&] { files[0] = create("place0.nc", {}, comm); });
    EXPECT_EQ(time > 0 ? create_ : 0, 0) << time;
    files[1] = create("place1.nc", {}, comm);
    for (File& file : files) define(file);
    for (File& file : files) put(file, 0);
    for (const int i : {time % 2, 1 - time % 2}) EXPECT_OK(ncmpi_close(files[i].id));
    Info info({});
    int id = -1;
    EXPECT_NE(ncmpi_create(comm, files[0].path.c_str(), NC_64BIT_DATA, info,
                           world.rank == time % world.size ? nullptr : &id),
              NC_NOERR);
    for (const File& file : files) expect_whole(file.path, 1);
  }
  MPI_Comm_free(&comm);
}

std::string hint_in_force(int id, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_OK(ncmpi_inq_file_info(id, &info));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return value;
}

// Whatever the others gave, and had been told before.
TEST(BundleMeetings, give_all_ranks_what_the_first_asks_for) {
  const char* const asked[][2] = {{"512", "512"},  {"512", "1024"}, {"1024", "1024"},
                                  {"512", "1024"}, {"1024", "512"}, {"1024", "512"}};
  for (const auto& [first, others] : asked) {
    const char* const mine = world.rank == 0 ? first : others;
    for (const char* bundle : {"asked", ""}) {
      Hints hints{{"nc_header_align_size", mine}};
      if (*bundle) hints.emplace_back("bundle", bundle);
      File file = create("asked.nc", hints);
      define(file);
      EXPECT_EQ(hint_in_force(file.id, "nc_header_align_size"), first);
      put(file, 0);
      EXPECT_OK(ncmpi_close(file.id));
      expect_whole(file.path, 1);
    }
  }
}

// Though all know what is asked for.
TEST(BundleMeetings, leave_the_old_file_where_an_argument_is_wrong_on_one_rank) {
  File file = create("old.nc");
  define(file);
  put(file, 0);
  EXPECT_OK(ncmpi_close(file.id));
  Info info({});
  int id = -1;
  EXPECT_NE(ncmpi_create(MPI_COMM_WORLD, file.path.c_str(), NC_64BIT_DATA, info,
                         world.rank == world.size - 1 ? nullptr : &id),
            NC_NOERR);
  expect_whole(file.path, 1);
}

TEST(BundleCalls, files_wait_and_are_closed_together) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "calls", MPI_INFO_NULL, &bundle));
  std::vector<File> files;
  for (const char* name : {"a.nc", "b.nc", "c.nc"}) {
    files.push_back(create(name));
    EXPECT_OK(forebay_bundle_add(bundle, files.back().id));
    define(files.back());
    put(files.back(), 0);
    int values[width];
    std::fill(values, values + width, 100 + world.rank);
    const MPI_Offset start[] = {1, width * world.rank}, count[] = {1, width};
    EXPECT_OK(
        ncmpi_iput_vara_int(files.back().id, files.back().var, start, count, values, nullptr));
    EXPECT_OK(forebay_bundle_wait_all(bundle));
  }
  EXPECT_EQ(bytes_of(files[0].path), 0);
  EXPECT_OK(forebay_bundle_flush(bundle));
  EXPECT_GT(bytes_of(files[2].path), 2 * width * world.size * 4);
  const std::string plan = plan_of(bundle);
  EXPECT_NE(plan.find("\"one_after_another\":[]"), std::string::npos) << plan;
  const std::string name = files[2].path.substr(files[2].path.rfind('/'));  // of an absolute path
  EXPECT_NE(plan.find("{\"path\":\"/"), std::string::npos) << plan;
  EXPECT_NE(plan.find(name + '"'), std::string::npos) << plan;
  put(files[1], 2);
  EXPECT_OK(ncmpi_close(files[0].id));
  EXPECT_OK(forebay_bundle_sync(bundle));
  put(files[1], 3);
  std::vector<int> statuses(3, 7);
  EXPECT_OK(forebay_bundle_close(bundle, statuses.data()));
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
  EXPECT_ERR(NC_EBADID, ncmpi_close(files[1].id));
  EXPECT_ERR(NC_EBADID, forebay_bundle_flush(bundle));
  expect_whole(files[0].path, 2);
  expect_whole(files[1].path, 4);
  expect_whole(files[2].path, 2);
}

TEST(BundleCalls, what_cannot_be_added) {
  int bundle = 0, again = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "refused", MPI_INFO_NULL, &bundle));
  EXPECT_ERR(NC_EINVAL, forebay_bundle_open(MPI_COMM_WORLD, "refused", MPI_INFO_NULL, &again));
  EXPECT_ERR(NC_EBADNAME, forebay_bundle_open(MPI_COMM_WORLD, "", MPI_INFO_NULL, &again));
  EXPECT_ERR(NC_EBADID, forebay_bundle_add(bundle, 999));
  EXPECT_ERR(NC_EBADID, forebay_bundle_add(bundle + 50, 0));
  File file = create("a.nc");
  // One rank's wrong number is an error on all.
  const bool wrong = world.rank == world.size - 1;
  EXPECT_ERR(wrong ? NC_EBADID : NC_EINVAL,
             forebay_bundle_add(wrong ? bundle + 50 : bundle, file.id));
  EXPECT_OK(forebay_bundle_add(bundle, file.id));
  EXPECT_ERR(NC_EINVAL, forebay_bundle_add(bundle, file.id));
  define(file);
  if (world.size > 1) {
    MPI_Comm half = MPI_COMM_NULL, reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, &reversed);
    File other = create("half" + std::to_string(world.rank % 2), {}, half);
    EXPECT_ERR(NC_EINVAL, forebay_bundle_add(bundle, other.id));
    EXPECT_OK(ncmpi_close(other.id));
    File turned = create("turned.nc", {}, reversed);
    EXPECT_ERR(NC_EINVAL, forebay_bundle_add(bundle, turned.id));
    EXPECT_OK(ncmpi_close(turned.id));
    MPI_Comm_free(&half);
    MPI_Comm_free(&reversed);
  }
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
}

TEST(BundleCalls, a_full_disk_has_its_status) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "full", MPI_INFO_NULL, &bundle));
  File good = create("a.nc"), full;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, "/dev/full", NC_64BIT_DATA, MPI_INFO_NULL, &full.id));
  for (File* file : {&full, &good}) {
    EXPECT_OK(forebay_bundle_add(bundle, file->id));
    define(*file);
    put(*file, 0);
  }
  int statuses[] = {1, 1};
  EXPECT_ERR(NC_ENO_SPACE, forebay_bundle_close(bundle, statuses));
  EXPECT_ERR(NC_ENO_SPACE, statuses[0]);
  EXPECT_OK(statuses[1]);
  expect_whole(good.path, 1);
}

TEST(BundleCalls, no_files_at_all_and_one_without_variables) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "none", MPI_INFO_NULL, &bundle));
  EXPECT_OK(forebay_bundle_wait_all(bundle));
  EXPECT_OK(forebay_bundle_flush(bundle));
  EXPECT_OK(forebay_bundle_sync(bundle));
  EXPECT_GT(forebay_bundle_plan(bundle, nullptr, 0), 0);
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "none", MPI_INFO_NULL, &bundle));
  File empty = create("empty.nc");
  EXPECT_OK(forebay_bundle_add(bundle, empty.id));
  int status = 1;
  EXPECT_OK(forebay_bundle_close(bundle, &status));
  EXPECT_OK(status);
  EXPECT_GT(bytes_of(empty.path), 0);
}

TEST(BundleCalls, pending_requests_have_their_status_where_they_were) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "pending", MPI_INFO_NULL, &bundle));
  File good = create("a.nc"), late = create("b.nc");
  for (File* file : {&good, &late}) {
    EXPECT_OK(forebay_bundle_add(bundle, file->id));
    define(*file);
    put(*file, 0);
  }
  const int one = 1;
  const MPI_Offset start[] = {0, 0}, count[] = {1, 1};
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_iput_vara_int(late.id, late.var, start, count, &one, nullptr));
  }
  int statuses[] = {1, 1};
  const int expected = world.rank == 0 ? NC_EPENDING : NC_NOERR;
  EXPECT_ERR(expected, forebay_bundle_close(bundle, statuses));
  EXPECT_OK(statuses[0]);
  EXPECT_ERR(expected, statuses[1]);
  expect_whole(good.path, 1);
  expect_whole(late.path, 1);
}

// What a program says of an open member is not lost by its mistake.
TEST(BundleCalls, a_member_that_is_open_is_not_made_anew) {
  int bundle = 0, again = -1;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "anew", MPI_INFO_NULL, &bundle));
  File file = create("a.nc");
  EXPECT_OK(forebay_bundle_add(bundle, file.id));
  define(file);
  put(file, 0);
  EXPECT_ERR(NC_EINVAL,
             ncmpi_create(MPI_COMM_WORLD, file.path.c_str(), NC_64BIT_DATA, MPI_INFO_NULL, &again));
  EXPECT_ERR(NC_EEXIST,
             ncmpi_create(MPI_COMM_WORLD, file.path.c_str(), NC_NOCLOBBER, MPI_INFO_NULL, &again));
  EXPECT_OK(forebay_bundle_flush(bundle));
  put(file, 1);
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
  expect_whole(file.path, 2);
}

// A rank may have files of its own open, so that numbers of files differ from rank to rank.
TEST(BundleCalls, numbers_of_files_differ_between_ranks) {
  int bundle = 0, own = -1;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "numbers", MPI_INFO_NULL, &bundle));
  const std::string path = world.path("own" + std::to_string(world.rank));
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_create(MPI_COMM_SELF, path.c_str(), NC_CLOBBER, MPI_INFO_NULL, &own));
  }
  std::vector<File> files;
  for (int f = 0; f < 3; ++f) {
    if (f == 2 && world.rank == 0) {
      EXPECT_OK(ncmpi_close(own));  // the next file has its number
    }
    files.push_back(create(std::to_string(f)));
    EXPECT_OK(forebay_bundle_add(bundle, files.back().id));
    define(files.back());
    for (int step = 0; step <= f; ++step) put(files.back(), step);
  }
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
  for (int f = 0; f < 3; ++f) expect_whole(files[static_cast<std::size_t>(f)].path, f + 1);
}

TEST(BundleCalls, what_could_not_wait_and_is_closed_is_not_closed_again) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "apart", MPI_INFO_NULL, &bundle));
  File apart = create("apart", {{"stage", "async"}});
  EXPECT_OK(forebay_bundle_add(bundle, apart.id));
  EXPECT_ERR(NC_EINVAL, forebay_bundle_add(bundle, apart.id));
  define(apart);
  EXPECT_OK(ncmpi_close(apart.id));
  File other = create("other");
  EXPECT_EQ(other.id, apart.id);
  define(other);
  int status = 1;
  EXPECT_OK(forebay_bundle_close(bundle, &status));
  EXPECT_OK(status);
  put(other, 0);
  EXPECT_OK(ncmpi_close(other.id));
  expect_whole(other.path, 1);
}

// Which of two operations wins is the order of calls, however large they are.
TEST(BundleCalls, large_writes_of_several_ranks_stay_in_order) {
  constexpr int elements = 3 << 20;
  for (const char* stage : {"auto", "memory"}) {
    for (const char* scheme : {"joint", "off"}) {
      File file = create(stage, {{"bundle", "large"},
                                 {"bundle_files", "1"},
                                 {"stage", stage},
                                 {"bundle_scheme", scheme}});
      int dim = -1;
      EXPECT_OK(ncmpi_def_dim(file.id, "x", elements, &dim));
      EXPECT_OK(ncmpi_def_var(file.id, "v", NC_INT, 1, &dim, &file.var));
      EXPECT_OK(ncmpi_enddef(file.id));
      std::vector<int> values(elements);
      // The first writer has most to copy.
      for (int writer = 0; writer < world.size; ++writer) {
        std::fill(values.begin(), values.end(), writer + 1);
        const MPI_Offset start = 0, count = writer == world.rank ? elements - writer : 0;
        EXPECT_OK(ncmpi_put_vara_int_all(file.id, file.var, &start, &count, values.data()));
      }
      EXPECT_OK(ncmpi_close(file.id));
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, file.path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file.id));
      EXPECT_OK(ncmpi_get_var_int_all(file.id, file.var, values.data()));
      EXPECT_OK(ncmpi_close(file.id));
      int wrong = 0;
      for (int i = 0; i < elements; ++i)
        wrong += values[static_cast<std::size_t>(i)] != std::min(world.size, elements - i);
      EXPECT_EQ(wrong, 0) << stage << ", " << scheme;
    }
    if (world.rank == 0) std::filesystem::remove(world.path(stage));
  }
}

// The bundle is given to the first of them; the others' writes are not lost behind it.
TEST(BundleCalls, a_file_that_is_open_twice_is_a_member_once) {
  for (const char* scheme : {"joint", "balanced"}) {
    File first = create("a.nc");
    define(first);
    put(first, 0);
    put(first, 1);
    EXPECT_OK(ncmpi_close(first.id));
    const std::string link = world.path("link");
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) {
      std::filesystem::remove(link);
      std::filesystem::create_symlink(std::filesystem::absolute(first.path), link);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    File second = first;
    const Hints hints{{"bundle", "twice"}, {"bundle_scheme", scheme}};
    Info info(hints);
    EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, first.path.c_str(), NC_WRITE, info, &first.id));
    EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, link.c_str(), NC_WRITE, info, &second.id));
    const std::vector<int> old(width, -5);
    for (const int step : {1, 0}) {
      const MPI_Offset start[] = {step, width * world.rank}, count[] = {1, width};
      EXPECT_OK(ncmpi_put_vara_int_all(second.id, second.var, start, count, old.data()));
    }
    put(first, 1);
    EXPECT_OK(ncmpi_sync(second.id));
    put(first, 0);
    EXPECT_OK(ncmpi_close(second.id));
    EXPECT_OK(ncmpi_close(first.id));
    expect_whole(first.path, 2);
    if (world.rank == 0) std::filesystem::remove(link);
  }
}

TEST(BundleCalls, waiting_for_requests_of_members_in_other_modes) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "modes", MPI_INFO_NULL, &bundle));
  File a = create("a.nc"), b = create("b.nc");
  for (File* file : {&a, &b}) {
    EXPECT_OK(forebay_bundle_add(bundle, file->id));
    define(*file);
    put(*file, 0);
    int values[width];
    std::fill(values, values + width, 100 + world.rank);
    const MPI_Offset start[] = {1, width * world.rank}, count[] = {1, width};
    EXPECT_OK(ncmpi_iput_vara_int(file->id, file->var, start, count, values, nullptr));
  }
  EXPECT_OK(ncmpi_redef(b.id));
  EXPECT_ERR(NC_EINDEFINE, forebay_bundle_wait_all(bundle));
  EXPECT_OK(ncmpi_enddef(b.id));
  EXPECT_OK(ncmpi_begin_indep_data(b.id));
  EXPECT_ERR(NC_EINDEP, forebay_bundle_wait_all(bundle));
  EXPECT_OK(ncmpi_end_indep_data(b.id));
  EXPECT_OK(forebay_bundle_wait_all(bundle));
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
  expect_whole(a.path, 2);
  expect_whole(b.path, 2);
}

// Each has its own, whatever comes later under its name.
TEST(BundleCalls, statuses_of_files_of_one_name) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "names", MPI_INFO_NULL, &bundle));
  const std::string path = world.path("link");
  const auto point_to = [&](const std::string& target) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) {
      std::filesystem::remove(path);
      std::filesystem::create_symlink(target, path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  };
  for (const bool full : {true, false}) {
    point_to(full ? "/dev/full" : std::filesystem::absolute(world.path("real")).string());
    File file;
    EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_64BIT_DATA, MPI_INFO_NULL, &file.id));
    EXPECT_OK(forebay_bundle_add(bundle, file.id));
    define(file);
    put(file, 0);
    EXPECT_OK(ncmpi_close(file.id));
    EXPECT_ERR(full ? NC_ENO_SPACE : NC_NOERR, forebay_bundle_flush(bundle));
  }
  int statuses[] = {1, 1};
  EXPECT_OK(forebay_bundle_close(bundle, statuses));
  EXPECT_ERR(NC_ENO_SPACE, statuses[0]);
  EXPECT_OK(statuses[1]);
  expect_whole(path, 1);
  if (world.rank == 0) {
    std::filesystem::remove(path);
    std::filesystem::remove(world.path("real"));
  }
}

TEST(BundleCalls, a_file_that_is_added_in_independent_mode) {
  int bundle = 0;
  EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "alone", MPI_INFO_NULL, &bundle));
  for (const char* stage : {"auto", "memory"}) {
    File a = create(stage, {{"stage", stage}});
    define(a);
    EXPECT_OK(ncmpi_begin_indep_data(a.id));
    EXPECT_OK(forebay_bundle_add(bundle, a.id));
    std::vector<int> values(width, world.rank);
    const MPI_Offset start[] = {0, width * world.rank}, count[] = {1, width};
    EXPECT_OK(ncmpi_put_vara_int(a.id, a.var, start, count, values.data()));
    EXPECT_OK(ncmpi_get_vara_int(a.id, a.var, start, count, values.data()));
    EXPECT_EQ(values[0], world.rank);
    EXPECT_OK(ncmpi_end_indep_data(a.id));
    put(a, 1);
    EXPECT_OK(forebay_bundle_flush(bundle));
    expect_whole(a.path, 2);
  }
  EXPECT_OK(forebay_bundle_close(bundle, nullptr));
}

Hints keys(const std::string& name, const std::string& files) {
  return {{"bundle", name}, {"bundle_files", files}};
}

TEST(BundleKeys, the_last_close_writes_all) {
  for (int step = 0; step < 2; ++step) {
    File a = create("a.nc", keys("keys", "2")), b = create("b.nc", keys("keys", "2"));
    for (File* file : {&a, &b}) {
      define(*file);
      put(*file, 0);
      EXPECT_OK(ncmpi_close(file->id));
      if (file == &a) {
        EXPECT_EQ(bytes_of(a.path), 0);
      }
    }
    EXPECT_GT(bytes_of(a.path), 100);
    expect_whole(a.path, 1);
    expect_whole(b.path, 1);
  }
}

TEST(BundleKeys, a_waiting_file_is_written_before_it_is_opened_again) {
  File a = create("a.nc", keys("reopened", "9")), b = create("b.nc", keys("reopened", "9"));
  for (File* file : {&a, &b}) {
    define(*file);
    put(*file, 0);
    EXPECT_OK(ncmpi_close(file->id));
  }
  EXPECT_EQ(bytes_of(b.path), 0);
  expect_whole(b.path, 1);
  EXPECT_GT(bytes_of(a.path), 100);
  // By other ranks it cannot be.
  File c = create("c.nc", keys("reopened", "9"));
  define(c);
  put(c, 0);
  EXPECT_OK(ncmpi_close(c.id));
  int id = -1;
  if (world.size > 1) {
    EXPECT_ERR(NC_EPERM, ncmpi_open(MPI_COMM_SELF, c.path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_whole(c.path, 1);
}

// However the first opening became a member, and whatever the second is for.
TEST(BundleKeys, a_second_opening_sees_what_waits_in_the_first) {
  for (const std::string kind : {"key", "number", "async"}) {
    Hints hints;
    if (kind != "number") hints = keys("seen_" + kind, "9");
    if (kind == "async") hints.emplace_back("bundle_async", "enable");
    int bundle = 0;
    if (kind == "number") {
      EXPECT_OK(forebay_bundle_open(MPI_COMM_WORLD, "seen", MPI_INFO_NULL, &bundle));
    }
    File first = create("a.nc", hints), other = create("b.nc", hints);
    for (File* file : {&first, &other}) {
      if (kind == "number") {
        EXPECT_OK(forebay_bundle_add(bundle, file->id));
      }
      define(*file);
      for (int step = 0; step < 4; ++step) put(*file, step);
    }
    const std::string link = world.path("link");
    MPI_Barrier(MPI_COMM_WORLD);
    if (world.rank == 0) {
      std::filesystem::remove(link);
      std::filesystem::create_symlink(std::filesystem::absolute(first.path), link);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (const int mode : {NC_NOWRITE, NC_WRITE}) {
      File second = first;
      Info info(mode == NC_WRITE ? hints : Hints{});
      const std::string& path = mode == NC_WRITE ? link : first.path;
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, path.c_str(), mode, info, &second.id));
      std::vector<int> got(width);
      const auto see = [&](int step, int value, auto&& get) {
        const MPI_Offset start[] = {step, width * world.rank}, count[] = {1, width};
        EXPECT_OK(get(second.id, second.var, start, count, got.data()));
        EXPECT_EQ(got, std::vector<int>(width, 100 * value + world.rank)) << kind << mode;
      };
      const auto change = [&](int step, int value) {
        const std::vector<int> values(width, 100 * value + world.rank);
        const MPI_Offset start[] = {step, width * world.rank}, count[] = {1, width};
        EXPECT_OK(ncmpi_put_vara_int_all(first.id, first.var, start, count, values.data()));
      };
      see(0, mode == NC_NOWRITE ? 0 : 10, ncmpi_get_vara_int_all);
      change(0, 10);
      see(0, 10, ncmpi_get_vara_int_all);
      change(3, 13);
      EXPECT_OK(ncmpi_sync(second.id));
      change(1, mode + 11);
      EXPECT_OK(ncmpi_begin_indep_data(second.id));
      see(1, mode + 11, ncmpi_get_vara_int);
      EXPECT_OK(ncmpi_end_indep_data(second.id));
      if (mode == NC_WRITE) {  // the later one wins
        change(2, 21);
        const std::vector<int> values(width, 2200 + world.rank);
        const MPI_Offset start[] = {2, width * world.rank}, count[] = {1, width};
        EXPECT_OK(ncmpi_put_vara_int_all(second.id, second.var, start, count, values.data()));
        see(2, 22, ncmpi_get_vara_int_all);
      }
      EXPECT_OK(ncmpi_close(second.id));
    }
    if (kind == "number") {
      int statuses[2] = {-1, -1};
      EXPECT_OK(forebay_bundle_close(bundle, statuses));
      EXPECT_EQ(statuses[0] + statuses[1], 0);
    } else {
      EXPECT_OK(ncmpi_close(first.id));
      EXPECT_OK(ncmpi_close(other.id));
    }
    expect_whole(other.path, 4);
    if (world.rank == 0) std::filesystem::remove(link);
  }
}

// Where nothing waits as it is opened other ranks may open a member: they see what is in the file.
TEST(BundleKeys, openings_by_other_ranks_do_not_see_what_waits) {
  if (world.size == 1) return;
  File first = create("a.nc", keys("unseen", "9"));
  define(first);
  put(first, 0);
  int id = -1;
  EXPECT_ERR(NC_EPERM,
             ncmpi_open(MPI_COMM_SELF, first.path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_sync(first.id));
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, 0, &half);
  int ids[2] = {-1, -1}, at = 0;
  for (MPI_Comm comm : {MPI_COMM_SELF, half})
    EXPECT_OK(ncmpi_open(comm, first.path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ids[at++]));
  const MPI_Offset start[] = {0, width * world.rank}, count[] = {1, width};
  const std::vector<int> values(width, 7);
  EXPECT_OK(ncmpi_put_vara_int_all(first.id, first.var, start, count, values.data()));
  const auto see = [&](int value) {
    for (const int other : ids) {
      std::vector<int> got(width, -1);
      EXPECT_OK(ncmpi_get_vara_int_all(other, first.var, start, count, got.data()));
      EXPECT_EQ(got, std::vector<int>(width, value));
    }
  };
  see(world.rank);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(ncmpi_flush(first.id));
  MPI_Barrier(MPI_COMM_WORLD);
  for (const int other : ids) EXPECT_OK(ncmpi_sync(other));
  see(7);
  for (const int other : ids) EXPECT_OK(ncmpi_close(other));
  MPI_Comm_free(&half);
  EXPECT_OK(ncmpi_close(first.id));
}

TEST(BundleKeys, deleted_and_aborted_files_are_not_written) {
  File a = create("a.nc", keys("dropped", "3")), b = create("b.nc", keys("dropped", "3"));
  File c = create("c.nc", keys("dropped", "3"));
  for (File* file : {&a, &b, &c}) {
    define(*file);
    put(*file, 0);
  }
  EXPECT_OK(ncmpi_close(a.id));
  EXPECT_OK(ncmpi_abort(b.id));
  EXPECT_FALSE(std::filesystem::exists(b.path));
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(a.path.c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  File again = create("a.nc", keys("dropped", "3"));
  define(again);
  put(again, 0);
  EXPECT_OK(ncmpi_close(again.id));
  EXPECT_OK(ncmpi_close(c.id));  // the third
  expect_whole(a.path, 1);
  expect_whole(c.path, 1);
}

// What was not removed is written, whatever name was removed, and whatever its own is by then.
TEST(BundleKeys, a_file_that_was_not_deleted_is_written) {
  const std::string folder = world.path("folder"), link = world.path("link");
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::filesystem::create_directory(folder);
  MPI_Barrier(MPI_COMM_WORLD);
  File a, b = create("b.nc", keys("kept", "0"));
  a.path = folder + "/a.nc";
  Info info(keys("kept", "0"));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, a.path.c_str(), NC_64BIT_DATA, info, &a.id));
  for (File* file : {&a, &b}) {
    define(*file);
    put(*file, 0);
    EXPECT_OK(ncmpi_close(file->id));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    std::filesystem::create_symlink(std::filesystem::absolute(b.path), link);
    EXPECT_OK(ncmpi_delete(link.c_str(), MPI_INFO_NULL));
    std::filesystem::rename(folder, folder + "2");
    EXPECT_ERR(NC_ENOENT, ncmpi_delete(a.path.c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_whole(b.path, 1);
  expect_whole(folder + "2/a.nc", 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::filesystem::remove_all(folder + "2");
}

TEST(BundleKeys, files_of_other_ranks_are_left_out) {
  File a = create("a.nc", keys("left", "0"));
  define(a);
  put(a, 0);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, 0, &half);
  int rank = 0, size = 0;
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  File other = create("half" + std::to_string(world.rank % 2), keys("left", "0"), half);
  define(other, size);
  put(other, 0, rank);
  EXPECT_OK(ncmpi_close(other.id));
  if (world.size > 1) {
    EXPECT_GT(bytes_of(other.path), 100);
  }
  MPI_Comm_free(&half);
  EXPECT_OK(ncmpi_close(a.id));
  EXPECT_EQ(bytes_of(a.path), 0);
  expect_whole(a.path, 1);
}

TEST(BundleKeys, an_error_that_something_else_found_comes_with_the_next_close) {
  const Hints hints = keys("late", "0");
  File full, a = create("a.nc", hints);
  Info info(hints);
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, "/dev/full", NC_64BIT_DATA, info, &full.id));
  for (File* file : {&full, &a}) {
    define(*file);
    put(*file, 0);
  }
  EXPECT_OK(ncmpi_close(full.id));
  EXPECT_OK(ncmpi_sync(a.id));
  EXPECT_ERR(NC_ENO_SPACE, ncmpi_close(a.id));
  EXPECT_NE(std::string(forebay_error_message()).find("/dev/full"), std::string::npos);
  expect_whole(a.path, 1);
}

TEST(BundleKeys, files_of_a_step_are_counted_whatever_was_written_before) {
  for (int step = 0; step < 2; ++step) {
    std::vector<File> files;
    for (int f = 0; f < 3; ++f) {
      files.push_back(create(std::to_string(f), keys("counted", "3")));
      define(files.back());
      put(files.back(), 0);
      if (f == 1) {
        EXPECT_OK(ncmpi_sync(files.back().id));
      }
      EXPECT_OK(ncmpi_close(files.back().id));
    }
    for (const File& file : files) EXPECT_GT(bytes_of(file.path), 100) << file.path;
  }
}

TEST(BundleKeys, ranks_close_in_different_orders) {
  File a = create("a.nc", keys("orders", "2")), b = create("b.nc", keys("orders", "2"));
  for (File* file : {&a, &b}) define(*file);
  put(a, 0);
  put(b, 0);
  put(b, 1);
  EXPECT_OK(ncmpi_close(world.rank == 0 ? a.id : b.id));
  EXPECT_OK(ncmpi_close(world.rank == 0 ? b.id : a.id));
  expect_whole(a.path, 1);
  expect_whole(b.path, 2);
}

TEST(BundleKeys, many_files_do_not_use_up_descriptors) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 400;
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<std::string> paths;
  for (int f = 0; f < 500; ++f) {
    File file = create(std::to_string(f), keys("many", "0"));
    define(file);
    put(file, 0);
    EXPECT_OK(ncmpi_close(file.id));
    paths.push_back(file.path);
  }
  expect_whole(paths[0], 1);
  expect_whole(paths[499], 1);
  MPI_Barrier(MPI_COMM_WORLD);
  setrlimit(RLIMIT_NOFILE, &before);
  if (world.rank == 0)
    for (const std::string& path : paths) std::filesystem::remove(path);
}

TEST(BundleKeys, files_that_threads_make) {
  Hints hints = keys("made", "3");
  hints.emplace_back("bundle_create", "later");
  for (int step = 0; step < 3; ++step) {
    std::vector<File> files;
    for (int f = 0; f < 4; ++f) {
      const std::string name = std::to_string(step) + "_" + std::to_string(f);
      if (world.rank == 0) std::filesystem::remove(world.path(name));
      MPI_Barrier(MPI_COMM_WORLD);
      files.push_back(create(name, hints));
      define(files.back());
      put(files.back(), 0);
      EXPECT_OK(f == 3 ? ncmpi_abort(files.back().id) : ncmpi_close(files.back().id));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_FALSE(std::filesystem::exists(files[3].path));
    for (int f = 0; f < 3; ++f) expect_whole(files[static_cast<std::size_t>(f)].path, 1);
  }
  // Whatever another file of the name is needed for: a second opening, or a removal.
  File a = create("a.nc", hints), b = create("b.nc", hints);
  for (File* file : {&a, &b}) {
    define(*file);
    put(*file, 0);
    EXPECT_OK(ncmpi_close(file->id));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_OK(ncmpi_delete(a.path.c_str(), MPI_INFO_NULL));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_whole(b.path, 1);
  EXPECT_FALSE(std::filesystem::exists(a.path));
}

// A communicator each would be all that MPI has, in a program that names a bundle for each step.
TEST(BundleKeys, names_that_are_not_used_again_are_forgotten) {
  File waits = create("waits.nc", keys("waits", "0"));
  define(waits);
  put(waits, 0);
  EXPECT_OK(ncmpi_close(waits.id));
  // What is to be told yet stays, too.
  File full, synced = create("synced.nc", keys("untold", "0"));
  Info info(keys("untold", "0"));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, "/dev/full", NC_64BIT_DATA, info, &full.id));
  for (File* file : {&full, &synced}) {
    define(*file);
    put(*file, 0);
  }
  EXPECT_OK(ncmpi_close(full.id));
  EXPECT_OK(ncmpi_sync(synced.id));
  EXPECT_OK(ncmpi_abort(synced.id));
  const int before = duplicates;
  for (int step = 0; step < 60; ++step) {
    File file = create("file.nc", keys("step" + std::to_string(step), "1"));
    define(file);
    put(file, 0);
    EXPECT_OK(ncmpi_close(file.id));
  }
  EXPECT_LE(duplicates, before + 20);
  expect_whole(world.path("file.nc"), 1);
  EXPECT_EQ(bytes_of(waits.path), 0);
  expect_whole(waits.path, 1);
  File next = create("next.nc", keys("untold", "0"));
  EXPECT_ERR(NC_ENO_SPACE, ncmpi_close(next.id));
}

// Left for MPI_Finalize: what comes behind this program looks at it.
TEST(BundleKeys, what_is_left_is_written_when_the_program_ends) {
  File a;
  a.path = world.directory + "/left_" + std::to_string(world.size) + ".nc";
  Info info(keys("end", "0"));
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, a.path.c_str(), NC_64BIT_DATA, info, &a.id));
  define(a);
  put(a, 0);
  EXPECT_OK(ncmpi_close(a.id));
  EXPECT_EQ(bytes_of(a.path), 0);
}

}  // namespace
