// ncmpi_inq_put_size and ncmpi_inq_get_size: what this rank's requests moved, whichever rank
// carried it to the file, in whatever method.
#include <pnetcdf.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

using Hints = std::vector<std::pair<const char*, std::string>>;

struct Amounts {
  MPI_Offset put = 0, got = 0;

  bool operator==(const Amounts&) const = default;
};

Amounts amounts(int ncid) {
  Amounts a;
  EXPECT_OK(ncmpi_inq_put_size(ncid, &a.put));
  EXPECT_OK(ncmpi_inq_get_size(ncid, &a.got));
  return a;
}

// Rank r moves r rows of 100 short integers, as int, so rank 0 nothing.
void check_amounts(const Hints& hints) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : hints) MPI_Info_set(info, key, value.c_str());
  int id = -1, dims[2] = {}, var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
  MPI_Info_free(&info);
  EXPECT_OK(ncmpi_def_dim(id, "y", world.size * world.size, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", 100, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_SHORT, 2, dims, &var));
  EXPECT_OK(ncmpi_enddef(id));
  const Index start{world.rank * world.size, 0}, count{world.rank, 100};
  std::vector<int> buffer(static_cast<std::size_t>(100 * world.size), world.rank);
  const MPI_Offset bytes = world.rank * 200;
  Amounts before = amounts(id);
  auto moved = [&](MPI_Offset put, MPI_Offset got) {
    const Amounts now = amounts(id);
    EXPECT_EQ(put, now.put - before.put);
    EXPECT_EQ(got, now.got - before.got);
    before = now;
  };
  auto* data = buffer.data();
  EXPECT_OK(ncmpi_put_vara_int_all(id, var, start.data(), count.data(), data));
  moved(bytes, 0);
  EXPECT_OK(ncmpi_iput_vara_int(id, var, start.data(), count.data(), data, nullptr));
  EXPECT_OK(ncmpi_wait_all(id, NC_REQ_ALL, nullptr, nullptr));
  moved(bytes, 0);
  EXPECT_OK(ncmpi_flush(id));
  moved(0, 0);
  EXPECT_OK(ncmpi_get_vara_int_all(id, var, start.data(), count.data(), data));
  moved(0, bytes);
  EXPECT_OK(ncmpi_begin_indep_data(id));
  if (world.rank == world.size - 1) {
    const Index one{1, 1};
    EXPECT_OK(ncmpi_put_vara_int(id, var, start.data(), one.data(), data));
    moved(2, 0);
    EXPECT_OK(ncmpi_get_vara_int(id, var, start.data(), one.data(), data));
    moved(0, 2);
  }
  EXPECT_OK(ncmpi_end_indep_data(id));
  moved(0, 0);
  EXPECT_OK(ncmpi_close(id));
}

}  // namespace

TEST(Amounts, amounts_by_default) { check_amounts({}); }

TEST(Amounts, amounts_of_every_transport) {
  for (const char* transport : {"posix", "independent", "collective", "aggregated"}) {
    if (is_forebay()) check_amounts({{"transport", transport}});
  }
}

TEST(Amounts, amounts_by_messages) {
  if (is_forebay()) check_amounts({{"transport", "aggregated"}, {"exchange", "message"}});
}

TEST(Amounts, amounts_of_chunks) {
  if (!is_forebay()) return;
  check_amounts({{"layout", "chunked"}});
  check_amounts({{"layout", "chunked"}, {"codec", "shuffle,deflate:1"}});
}

TEST(Amounts, amounts_of_staged_writes) {
  if (!is_forebay() || !has_wing("burst")) return;  // the peer counts the data of a flush again
  const std::string logs = world.path("logs");
  if (world.rank == 0) std::filesystem::create_directory(logs);
  MPI_Barrier(MPI_COMM_WORLD);
  check_amounts({{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", logs}});
  check_amounts(
      {{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", logs}, {"layout", "chunked"}});
}
