// Decomposed variables with a codec whose ranks hold scattered columns: parts are encoded in the
// array's order, and all readers can read them in every way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "decomposed/data_file.h"
#include "files/classic_file.h"
#include "files/file_check.h"

namespace forebay {
namespace sorted_slabs_ranks_test {

namespace fs = std::filesystem;

constexpr Count levels = 6, columns = 900, records = 2;
constexpr Count cells = levels * columns;
enum Vars : VarId { field, wide, flat, n_vars };

// Smooth along columns: a codec needs neighbours that another rank holds.
std::int32_t value(VarId var, Count record, Count element) {
  const Count column = element % columns, level = element / columns;
  return static_cast<std::int32_t>(100000 * var + 7000 * record + 50 * level +
                                   column * column / 40);
}

struct Elements {
  std::vector<Count> of;  // elements of a record, in order

  Request request(VarId var, Count record, std::vector<std::int32_t>& memory, bool write) const {
    const Count width = var == wide ? 8 : 4, all = var == flat ? columns : cells;
    RunList list;
    for (const Count e : of) {
      const Offset at = (record * all + e) * width;
      if (!list.runs.empty() && list.runs.back().offset + list.runs.back().length == at)
        list.runs.back().length += width;
      else
        list.runs.push_back({at, width});
    }
    list.bytes = std::ssize(of) * width;
    Request r;
    r.var = var;
    r.write = write;
    r.selection = Runs{std::make_shared<const RunList>(std::move(list))};
    r.last_record = record + 1;
    r.elements = std::ssize(of);
    r.memory.data = reinterpret_cast<std::byte*>(memory.data());
    r.memory.type = Type::int32;
    return r;
  }
};

// Returns every `ranks`-th column; the last rank of four has none.
Elements columns_of(int rank, int ranks, Count its_levels) {
  Elements made;
  const int holders = std::max(ranks - 1, 1);
  if (rank >= holders) return made;
  for (Count level = 0; level < its_levels; ++level)
    for (Count c = rank; c < columns; c += holders) made.of.push_back(level * columns + c);
  return made;
}

class SortedFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_sorted_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file.nc";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(int ranks, HintMap hints) const {
    hints.insert({{"layout", "decomposed"}, {"codec", "shuffle,zstd:1"}});
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto ds = Dataset::create(comm, path_, 5, false, hints);
      const DimId time = ds->def_dim("time", 0), lev = ds->def_dim("lev", levels),
                  ncol = ds->def_dim("ncol", columns);
      const std::vector<DimId> dims{time, lev, ncol}, flat_dims{time, ncol};
      ds->def_var("field", Type::int32, dims);
      ds->def_var("wide", Type::float64, dims);
      ds->def_var("flat", Type::int32, flat_dims);
      ds->enddef();
      for (Count record = 0; record < records; ++record) put(*ds, comm, record);
      get(*ds, comm);
      ds->close();
    });
  }
  static void put(Dataset& ds, const Comm& comm, Count record) {
    std::vector<std::vector<std::int32_t>> data(n_vars);
    std::vector<Request> requests;
    for (const VarId var : {field, wide, flat}) {
      const auto its = columns_of(comm.rank(), comm.size(), var == flat ? 1 : levels);
      auto& values = data[static_cast<std::size_t>(var)];
      for (const Count e : its.of) values.push_back(value(var, record, e));
      if (!its.of.empty()) requests.push_back(its.request(var, record, values, true));
    }
    ds.execute(requests, true);
  }
  static void read(Dataset& ds, VarId var, Count record, const Elements& which, bool collective) {
    std::vector<std::int32_t> found(which.of.size(), -1);
    std::vector<Request> requests;
    if (!which.of.empty()) requests.push_back(which.request(var, record, found, false));
    ds.execute(requests, collective);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], value(var, record, which.of[i])) << var << ' ' << record << ' ' << i;
  }
  // Reads what each rank wrote, intervals of the array, and all of it.
  static void get(Dataset& ds, const Comm& comm) {
    for (const VarId var : {field, wide, flat}) {
      const Count all = var == flat ? columns : cells;
      for (Count record = 0; record < records; ++record) {
        read(ds, var, record, columns_of(comm.rank(), comm.size(), all / columns), true);
        Elements some{std::vector<Count>(static_cast<std::size_t>(all / comm.size()))};
        std::iota(some.of.begin(), some.of.end(), all / comm.size() * comm.rank());
        read(ds, var, record, some, true);
        Elements every{std::vector<Count>(static_cast<std::size_t>(all))};
        std::iota(every.of.begin(), every.of.end(), 0);
        read(ds, var, record, every, true);
      }
    }
  }
  struct Stored {
    int sorted = 0, parts = 0;
    Count bytes = 0;
  };
  Stored stored() const {
    Stored all;
    for (std::uint32_t number = 0; fs::exists(decomposed::data_path(path_, number)); ++number) {
      std::ifstream in(decomposed::data_path(path_, number), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      const auto front = decomposed::parse_front(std::as_bytes(std::span(bytes)).first(512));
      Report report;
      decomposed::DataFileReader reader(
          std::make_shared<File>(decomposed::data_path(path_, number), false, 0, report), front);
      reader.load(UINT64_MAX);
      reader.index().for_each_slab([&](const decomposed::Entry& slab) {
        for (const auto& part : slab.parts) {
          all.sorted += part.sorted ? 1 : 0;
          ++all.parts;
          all.bytes += part.bytes;
        }
      });
    }
    return all;
  }

  fs::path folder_;
  std::string path_;
};

class SortedSlabs : public SortedFiles, public testing::WithParamInterface<HintMap> {};

TEST_P(SortedSlabs, scattered_columns_come_back_on_any_number_of_ranks) {
  for (const int ranks : {2, 3, 4, 7}) {
    write(ranks, GetParam());
    const auto [sorted, parts, bytes] = stored();
    EXPECT_GT(parts, 0);
    if (ranks > 2) EXPECT_GT(sorted, 0) << ranks;
    if (ranks > 2 && !GetParam().contains("subfile_ranks") && !GetParam().contains("chunk_bytes"))
      EXPECT_EQ(sorted, parts) << ranks;
    if (ranks == 2) EXPECT_EQ(sorted, 0);  // one rank has all
    EXPECT_EQ(check_file(path_, {true, {}}).status, CheckStatus::good);
    for (const int readers : {1, 2, 5}) {
      run_as_threads(readers, [&](const Comm& comm) {
        const auto ds = Dataset::open(comm, path_, false, {});
        get(*ds, comm);
        ds->close();
      });
    }
    const ClassicFile file(path_);
    std::vector<std::int32_t> got(static_cast<std::size_t>(cells));
    file.read(wide, {{1, 0, 0}, {1, levels, columns}, {}}, Type::int32, got.data());
    for (Count e = 0; e < cells; ++e)
      ASSERT_EQ(got[static_cast<std::size_t>(e)], value(wide, 1, e));
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, SortedSlabs,
                         testing::Values(HintMap{},
                                         HintMap{{"ranks_per_node", "1"}, {"subfiling", "none"}},
                                         HintMap{{"subfiling", "ranks"}, {"subfile_ranks", "2"}},
                                         HintMap{{"stage", "async"}},
                                         HintMap{{"chunk_bytes", "8k"}},
                                         HintMap{{"codec_threads", "2"}}));

// Three ranks' interleaved columns take hardly more room than one rank's whole array.
TEST_F(SortedFiles, scattered_columns_take_no_more_room_than_the_array) {
  write(2, {});
  const Count of_one = stored().bytes;
  write(4, {});
  EXPECT_GT(stored().sorted, 0);
  EXPECT_LE(stored().bytes, of_one * 102 / 100);
  write(4, {{"codec", "checksum"}});
  EXPECT_EQ(stored().sorted, 0);
}

// Other ranks append by the maps of an earlier job, and by new ones.
TEST_F(SortedFiles, files_are_gone_on_with_by_other_ranks) {
  write(3, {});
  run_as_threads(4, [&](const Comm& comm) {
    const auto ds = Dataset::open(comm, path_, true, {});
    for (Count record = 0; record < records; ++record) put(*ds, comm, record);
    get(*ds, comm);
    put(*ds, comm, 1);
    get(*ds, comm);
    ds->close();
  });
  run_as_threads(2, [&](const Comm& comm) {
    const auto ds = Dataset::open(comm, path_, false, {});
    get(*ds, comm);
    ds->close();
  });
  EXPECT_EQ(check_file(path_, {true, {}}).status, CheckStatus::good);
}

}  // namespace sorted_slabs_ranks_test
}  // namespace forebay
