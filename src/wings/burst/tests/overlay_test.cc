// Reading, with recover=overlay, what a running job has staged, through the C interface.
#include <fcntl.h>
#include <pnetcdf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "mpi/sample.h"
#include "support/harness.h"
#include "support/info.h"

using namespace forebay_test;

namespace {

const std::vector<Hints> ways = {
    {},
    {{"nc_burst_buf_shared_logs", "enable"}},
    {{"nc_burst_buf_flush_buffer_size", "1"}, {"transport", "posix"}},
    {{"layout", "chunked"}, {"codec", "shuffle,zstd:1"}, {"chunk_bytes", "64"}},
    {{"layout", "decomposed"}},
};

Hints staged(const Hints& more) {
  const std::string directory = world.path("logs");
  if (world.rank == 0) std::filesystem::create_directory(directory);
  MPI_Barrier(MPI_COMM_WORLD);
  Hints hints{{"stage", "burst"}, {"nc_burst_buf_dirname", directory}, {"buffer_limit", "64k"}};
  hints.insert(hints.end(), more.begin(), more.end());
  return hints;
}

int open_reader(MPI_Comm comm, int* ncid) {
  return ncmpi_open(comm, world.path().c_str(), NC_NOWRITE, Info(Hints{{"recover", "overlay"}}),
                    ncid);
}

int value(int round, int row, int column) { return 10000 * round + 100 * row + column; }

// Rows are dealt to ranks in turn; the last of several ranks writes none.
void put_rows(const Sample& s, int var, int first_row, int rows, int round) {
  const int writers = std::max(1, world.size - 1);
  for (int first = 0; first < rows; first += writers) {
    const int row = first_row + first + world.rank;
    const bool mine = world.rank < writers && first + world.rank < rows;
    const Index start{mine ? row : 0, 0};
    const Index count{mine ? 1 : 0, mine ? Sample::columns : 0};
    std::vector<int> data;
    for (int c = 0; c < Sample::columns; ++c) data.push_back(value(round, row, c));
    EXPECT_OK(ncmpi_put_vara_int_all(s.ncid, var, start.data(), count.data(), data.data()));
  }
}

std::vector<int> rows_of(int round, int rows) {
  std::vector<int> all;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < Sample::columns; ++c) all.push_back(value(round, r, c));
  return all;
}

std::vector<int> get_rows(int ncid, int var, int rows, bool collective = true) {
  const Index start{0, 0};
  const Index count{rows, Sample::columns};
  std::vector<int> data(static_cast<size_t>(rows * Sample::columns), -7);
  EXPECT_OK(collective ? ncmpi_get_vara_int_all(ncid, var, start.data(), count.data(), data.data())
                       : ncmpi_get_vara_int(ncid, var, start.data(), count.data(), data.data()));
  return data;
}

void check_all(const Sample& s, int ncid, int round) {
  EXPECT_TRUE(get_rows(ncid, s.grid, Sample::rows) == rows_of(round, Sample::rows));
  MPI_Offset records = -1;  // of the snapshot that was taken for the read
  EXPECT_OK(ncmpi_inq_dimlen(ncid, s.time, &records));
  EXPECT_EQ(2 * (round + 1), records);
  const auto series = get_rows(ncid, s.series, 2 * (round + 1));
  for (int r = 0; r < 2 * (round + 1); ++r)
    EXPECT_EQ(value(r / 2, r, 3), series[static_cast<size_t>(r * Sample::columns + 3)]);
  // Every other column, as another type, by a request that waits.
  const Index start{0, 0};
  const Index count{Sample::rows, Sample::columns / 2};
  const Index stride{1, 2};
  std::vector<double> some(Sample::rows * Sample::columns / 2);
  int request = NC_REQ_NULL;
  EXPECT_OK(ncmpi_iget_vars_double(ncid, s.grid, start.data(), count.data(), stride.data(),
                                   some.data(), &request));
  EXPECT_OK(ncmpi_wait_all(ncid, 1, &request, nullptr));
  for (int i = 0; i < Sample::rows * Sample::columns / 2; ++i)
    EXPECT_EQ(value(round, i / 3, 2 * (i % 3)), some[static_cast<size_t>(i)]);
}

}  // namespace

TEST(Overlay, shows_what_a_running_job_has_staged) {
  for (const Hints& way : ways) {
    const Sample s = create_sample(NC_64BIT_DATA, true, Info(staged(way)));
    const bool flushes_early = &way == &ways[2];  // its buffer is full sooner
    int old = -1;
    for (int round = 0; round < 7; ++round) {
      if (world.rank == 0) ::usleep(2000);
      put_rows(s, s.grid, 0, Sample::rows, round);
      put_rows(s, s.series, 2 * round, 2, round);
      MPI_Barrier(MPI_COMM_WORLD);
      int ncid = -1;
      EXPECT_OK(open_reader(round % 2 == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, &ncid));
      check_all(s, ncid, round);
      if (round % 2 == 0) {
        EXPECT_OK(ncmpi_begin_indep_data(ncid));
        EXPECT_TRUE(get_rows(ncid, s.grid, Sample::rows, false) == rows_of(round, Sample::rows));
        EXPECT_OK(ncmpi_end_indep_data(ncid));
      }
      EXPECT_OK(ncmpi_close(ncid));
      // A reader that stays: its snapshot holds until it syncs, or logs are dropped.
      if (round == 0) {
        EXPECT_OK(open_reader(MPI_COMM_WORLD, &old));
      }
      if (round == 1 && !flushes_early) {
        EXPECT_TRUE(get_rows(old, s.grid, Sample::rows) == rows_of(0, Sample::rows));
      }
      if (round == 1 || round == 5) {
        EXPECT_OK(ncmpi_sync(old));
      }
      if (round == 1 || round == 5 || (round > 0 && (round - 1) % 3 != 0)) check_all(s, old, round);
      MPI_Barrier(MPI_COMM_WORLD);
      if (round % 3 != 0) {
        EXPECT_OK(ncmpi_flush(s.ncid));
      }
      if (round == 5) {
        EXPECT_OK(ncmpi_sync(s.ncid));
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    EXPECT_OK(ncmpi_close(s.ncid));
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(s, old, 6);
    EXPECT_OK(ncmpi_close(old));
  }
}

TEST(Overlay, a_rank_alone_is_told_to_sync_when_logs_were_dropped) {
  const Sample s = create_sample(NC_64BIT_DATA, true, Info(staged({})));
  int ncid = -1;
  put_rows(s, s.grid, 0, Sample::rows, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_OK(open_reader(MPI_COMM_WORLD, &ncid));
  for (int round = 1; round < 6; ++round) {
    EXPECT_OK(ncmpi_flush(s.ncid));
    put_rows(s, s.grid, 0, Sample::rows, round);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_OK(ncmpi_begin_indep_data(ncid));
    const Index start{0, 0};
    const Index count{1, Sample::columns};
    std::vector<int> data(Sample::columns);
    const int code = ncmpi_get_vara_int(ncid, s.grid, start.data(), count.data(), data.data());
    EXPECT_ERR(world.size > 1 ? NC_EBADLOG : NC_NOERR, code);
    EXPECT_OK(ncmpi_end_indep_data(ncid));
    EXPECT_OK(ncmpi_sync(ncid));
    EXPECT_TRUE(get_rows(ncid, s.grid, Sample::rows) == rows_of(round, Sample::rows));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

TEST(Overlay, a_reader_sees_new_definitions_only_in_a_file_that_it_opens_anew) {
  const Sample s = create_sample(NC_64BIT_DATA, true, Info(staged({})));
  put_rows(s, s.grid, 0, Sample::rows, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  int ncid = -1, more = -1;
  EXPECT_OK(open_reader(MPI_COMM_WORLD, &ncid));
  EXPECT_OK(ncmpi_redef(s.ncid));
  EXPECT_OK(ncmpi_def_var(s.ncid, "more", NC_INT, 1, &s.x, &more));
  EXPECT_OK(ncmpi_enddef(s.ncid));
  put_rows(s, s.grid, 0, Sample::rows, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(ncmpi_sync(ncid) != NC_NOERR);
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_OK(open_reader(MPI_COMM_WORLD, &ncid));
  EXPECT_TRUE(get_rows(ncid, s.grid, Sample::rows) == rows_of(2, Sample::rows));
  EXPECT_OK(ncmpi_close(ncid));
  EXPECT_OK(ncmpi_close(s.ncid));
}

namespace {

constexpr int most_ranks = 64;
constexpr int width = 3000;

// What the writers have begun and done, in memory that all processes share.
struct Shared {
  std::atomic<int> stop;
  std::array<std::atomic<int>, most_ranks> begun, done;
};

Shared* share() {
  const std::string path = world.path("progress");
  if (world.rank == 0) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0666);
    EXPECT_EQ(0, ::ftruncate(fd, sizeof(Shared)));
    ::close(fd);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int fd = ::open(path.c_str(), O_RDWR);
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return static_cast<Shared*>(memory);
}

// Each writer writes its row of v, and a record now and then, until it is told to stop. All values
// of a round are its number.
void write_on(MPI_Comm comm, const Hints& hints, Shared& shared) {
  int rank = 0, size = 0, ncid = -1, dims[3], vars[2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  EXPECT_OK(
      ncmpi_create(comm, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, Info(hints), &ncid));
  EXPECT_OK(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(ncid, "row", size, &dims[1]));
  EXPECT_OK(ncmpi_def_dim(ncid, "x", width, &dims[2]));
  EXPECT_OK(ncmpi_def_var(ncid, "v", NC_INT, 2, dims + 1, &vars[0]));
  EXPECT_OK(ncmpi_def_var(ncid, "r", NC_INT, 2, dims, &vars[1]));
  EXPECT_OK(ncmpi_enddef(ncid));
  const auto mine = static_cast<size_t>(rank);
  int stop = 0;
  for (int round = 1; stop == 0; ++round) {
    const std::vector<int> data(width, round);
    const Index start{rank, 0};
    const Index count{1, width};
    shared.begun[mine] = round;
    EXPECT_OK(ncmpi_put_vara_int_all(ncid, vars[0], start.data(), count.data(), data.data()));
    if (round % 5 == 0) {
      const Index at{round / 5 - 1, rank};
      const Index one{1, 1};
      EXPECT_OK(ncmpi_put_vara_int_all(ncid, vars[1], at.data(), one.data(), data.data()));
    }
    shared.done[mine] = round;
    if (round % 9 == 0) {
      EXPECT_OK(ncmpi_flush(ncid));
    }
    if (round % 40 == 0) {
      EXPECT_OK(ncmpi_sync(ncid));
    }
    ::usleep(3000);
    stop = shared.stop;
    MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, comm);
  }
  EXPECT_OK(ncmpi_close(ncid));
}

// Every value is of a round that its writer had not done before the snapshot, or the last one that
// it had; and none goes back.
class Watcher {
 public:
  explicit Watcher(Shared& shared, int writers) : shared_(shared), writers_(writers) {
    last_.resize(static_cast<size_t>(writers * width), 0);
  }
  std::vector<int> done() const { return look(shared_.done); }

  // Returns false if the job flushed more often than could be read.
  bool read(int ncid, const std::vector<int>& least) {
    const Index start{0, 0};
    const Index count{writers_, width};
    std::vector<int> data(last_.size(), -1);
    const int code = ncmpi_get_vara_int_all(ncid, 0, start.data(), count.data(), data.data());
    if (code == NC_EBADLOG) return false;
    EXPECT_OK(code);
    const std::vector<int> most = look(shared_.begun);
    int wrong = 0;
    for (int w = 0; w < writers_; ++w) {
      for (int x = 0; x < width; ++x) {
        const auto i = static_cast<size_t>(w * width + x);
        const auto writer = static_cast<size_t>(w);
        wrong += data[i] < std::max(least[writer], last_[i]) || data[i] > most[writer];
      }
    }
    EXPECT_EQ(0, wrong);
    last_ = data;
    return true;
  }
  void read_records(int ncid, const std::vector<int>& least) const {
    MPI_Offset records = -1;
    EXPECT_OK(ncmpi_inq_dimlen(ncid, 0, &records));
    const int all = *std::min_element(least.begin(), least.end()) / 5;
    EXPECT_GE(records, all);
    if (all == 0) return;
    const Index start{0, 0};
    const Index count{all, writers_};
    std::vector<int> data(static_cast<size_t>(all * writers_), -1);
    const int code = ncmpi_get_vara_int_all(ncid, 1, start.data(), count.data(), data.data());
    if (code == NC_EBADLOG) return;
    EXPECT_OK(code);
    int wrong = 0;
    for (int i = 0; i < all * writers_; ++i)
      wrong += data[static_cast<size_t>(i)] != 5 * (i / writers_ + 1);
    EXPECT_EQ(0, wrong);
  }

 private:
  std::vector<int> look(const std::array<std::atomic<int>, most_ranks>& counts) const {
    return {counts.begin(), counts.begin() + writers_};
  }
  Shared& shared_;
  int writers_;
  std::vector<int> last_;
};

void watch(Shared& shared, int writers) {
  Watcher watcher(shared, writers), staying(shared, writers);
  while (watcher.done()[0] < 3) ::usleep(1000);
  int old = -1, reads = 0;
  const std::vector<int> at_first = watcher.done();
  while (open_reader(MPI_COMM_SELF, &old) != NC_NOERR) ::usleep(1000);
  for (int attempts = 0; reads < 12 && attempts < 1000; ++attempts) {
    const std::vector<int> least = watcher.done();
    int ncid = -1;
    const int code = open_reader(MPI_COMM_SELF, &ncid);
    if (code == NC_EBADLOG) continue;
    EXPECT_OK(code);
    reads += watcher.read(ncid, least);
    watcher.read_records(ncid, least);
    EXPECT_OK(ncmpi_close(ncid));
    staying.read(old, at_first);
    ::usleep(5000);
  }
  EXPECT_EQ(12, reads);
  EXPECT_OK(ncmpi_close(old));
  shared.stop = 1;
}

}  // namespace

TEST(Overlay, a_job_that_goes_on_is_never_read_wrong) {
  if (world.size < 2) return;  // somebody must write
  for (const Hints& way : ways) {
    const Hints hints = staged(way);
    Shared* shared = share();
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world.rank == 0, world.rank, &part);
    world.rank == 0 ? watch(*shared, world.size - 1) : write_on(part, hints, *shared);
    MPI_Comm_free(&part);
    ::munmap(shared, sizeof(Shared));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
