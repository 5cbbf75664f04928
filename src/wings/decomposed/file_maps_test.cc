// Files with decomposed variables that were damaged after they were written, as no kill leaves
// them. Readers show no older values, writers are refused, and check names the file.
#include "decomposed/file_maps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "decomposed/data_file.h"
#include "decomposed/format/decomposed_files.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "storage/file.h"

namespace forebay {
namespace file_maps_test {

namespace fs = std::filesystem;
using decomposed::StoredInverse, decomposed::root_place, decomposed::slot_bytes, decomposed::slots,
    decomposed::state_place;

constexpr int ranks = 4;
constexpr Count columns = 200, most_records = 8, synced_records = 3;
constexpr VarId series = 0;

std::int32_t value(Count record, Count column) {
  return static_cast<std::int32_t>(1000 * record + column);
}

class DamagedMaps : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_maps_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file.nc";
    write(ranks, 0, 5);
    keep("older");
    write(ranks, 5, most_records);
    keep("whole");
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Writes with a data file for each rank. In each record another rank has nothing. The commit of
  /// the third record is synced.
  void write(int writers, Count first, Count last, const HintMap& more = {}) const {
    HintMap hints = more;
    hints.insert({{"layout", "decomposed"}, {"subfiling", "ranks"}, {"subfile_ranks", "1"}});
    run_as_threads(writers, [&](const Comm& comm) {
      if (comm.is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto ds = first == 0 ? Dataset::create(comm, path_, 5, false, hints)
                                 : Dataset::open(comm, path_, true, hints);
      if (first == 0) {
        const DimId dims[] = {ds->def_dim("t", 0), ds->def_dim("x", columns)};
        ds->def_var("series", Type::int32, dims);
        ds->enddef();
      }
      for (Count r = first; r < last; ++r) {
        put(*ds, comm, r);
        if (r + 1 == synced_records) ds->sync();
      }
      ds->close();
    });
  }
  static void put(Dataset& ds, const Comm& comm, Count record) {
    const Count width = columns / comm.size(), begin = width * comm.rank();
    std::vector<std::int32_t> data;
    for (Count i = begin; i < begin + width; ++i) data.push_back(value(record, i));
    std::vector<Request> requests;
    if (comm.rank() != record % ranks) {
      Request& r = requests.emplace_back();
      r.var = series;
      r.write = true;
      r.elements = width;
      r.last_record = record + 1;
      r.memory.data = reinterpret_cast<std::byte*>(data.data());
      r.memory.type = Type::int32;
      r.selection = Subarray{{record, begin}, {1, width}, {}};
    }
    ds.execute(requests, true);
  }

  void keep(const std::string& name) const {
    fs::copy(path_ + ".subfiles", folder_ / name, fs::copy_options::recursive);
  }
  void restore() const {
    fs::remove_all(path_ + ".subfiles");
    fs::copy(folder_ / "whole", path_ + ".subfiles", fs::copy_options::recursive);
  }
  std::string data_path(std::uint32_t n) const { return decomposed::data_path(path_, n); }
  std::string state_path() const { return decomposed::state_path(path_); }

  static std::vector<std::byte> read_all(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  static void change(const std::string& path, Offset at, const std::vector<std::byte>& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(at);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  static void flip(const std::string& path, Offset at) {
    change(path, at, {read_all(path)[static_cast<std::size_t>(at)] ^ std::byte{4}});
  }
  /// Returns the slots, newest first.
  template <typename Parse>
  static std::vector<int> by_epoch(const std::string& path, Offset (*place)(int), Parse&& parse) {
    const auto bytes = read_all(path);
    std::vector<std::pair<std::uint64_t, int>> found;
    for (int slot = 0; slot < slots; ++slot) {
      const auto sector = std::span(bytes).subspan(static_cast<std::size_t>(place(slot)),
                                                   static_cast<std::size_t>(slot_bytes));
      if (const auto parsed = parse(sector)) found.emplace_back(parsed->epoch, slot);
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<int> order(found.size());
    std::transform(found.begin(), found.end(), order.begin(),
                   [](const auto& f) { return f.second; });
    return order;
  }
  Offset newest_root(std::uint32_t n) const {
    return root_place(by_epoch(data_path(n), root_place, decomposed::parse_root).front());
  }
  std::vector<int> states() const {
    return by_epoch(state_path(), state_place, decomposed::parse_state);
  }

  std::optional<Error> reading(chunked::OpenState state, Count records) const {
    return attempt_to([&] {
      const ClassicFile file(path_, state);
      std::vector<std::int32_t> got(static_cast<std::size_t>(file.schema().numrecs * columns));
      file.read(series, {{0, 0}, {file.schema().numrecs, columns}, {}}, Type::int32, got.data());
      EXPECT_EQ(file.schema().numrecs, records);
      const Count width = columns / ranks;
      for (Count i = 0; i < std::ssize(got); ++i) {
        const Count record = i / columns, column = i % columns;
        const std::int32_t expected =
            column / width == record % ranks ? fill_int : value(record, column);
        ASSERT_EQ(got[static_cast<std::size_t>(i)], expected) << record << "," << column;
      }
    });
  }
  void expect_told(const std::string& name, bool synced_is_whole = true) const {
    const auto failed = reading(chunked::OpenState::newest, most_records);
    ASSERT_TRUE(failed) << name;
    EXPECT_EQ(failed->code(), Errc::enotnc);
    EXPECT_NE(failed->message().find(name), std::string::npos) << failed->message();
    const FileCheck check = check_file(path_, {});
    EXPECT_EQ(check.status, CheckStatus::damaged);
    EXPECT_TRUE(std::any_of(check.damages.begin(), check.damages.end(), [&](const Damage& d) {
      return d.problem.find(name) != std::string::npos;
    })) << name;
    for (const int openers : {1, ranks, 7}) expect_refused(openers, name);
    if (!synced_is_whole) return;
    EXPECT_FALSE(reading(chunked::OpenState::synced, synced_records));
  }
  // Expects an error on all ranks, and no writes.
  void expect_refused(int openers, const std::string& name) const {
    std::vector<std::vector<std::byte>> before;
    for (std::uint32_t n = 0; n < ranks; ++n) before.push_back(read_all(data_path(n)));
    std::atomic<int> refused = 0, named = 0;
    run_as_threads(openers, [&](const Comm& comm) {
      const auto failed = attempt_to([&] { Dataset::open(comm, path_, true, hints_)->close(); });
      if (!failed) return;
      ++refused;
      if (failed->message().find(name) != std::string::npos) ++named;
    });
    EXPECT_EQ(refused, openers) << name;
    EXPECT_GT(named, 0) << name;
    for (std::uint32_t n = 0; n < ranks; ++n) EXPECT_EQ(read_all(data_path(n)), before[n]);
    EXPECT_FALSE(fs::exists(data_path(ranks)));
  }
  bool is_whole() const { return check_file(path_, {}).status == CheckStatus::good; }

  static constexpr std::int32_t fill_int = -2147483647;
  const HintMap hints_ = {{"subfiling", "ranks"}, {"subfile_ranks", "1"}};
  fs::path folder_;
  std::string path_;
};

TEST_F(DamagedMaps, undamaged_files_show_their_newest_commit) {
  EXPECT_FALSE(reading(chunked::OpenState::newest, most_records));
  EXPECT_FALSE(reading(chunked::OpenState::synced, synced_records));
  EXPECT_TRUE(is_whole());
}

TEST_F(DamagedMaps, a_root_that_is_damaged_or_gone_is_told_of) {
  for (std::uint32_t n = 0; n < ranks; ++n) {
    flip(data_path(n), newest_root(n) + 20);
    expect_told(data_path(n));
    restore();
    change(data_path(n), newest_root(n), std::vector<std::byte>(slot_bytes));
    expect_told(data_path(n));
    restore();
  }
}

TEST_F(DamagedMaps, all_roots_gone_are_told_of) {
  change(data_path(1), root_place(0), std::vector<std::byte>(slots * slot_bytes));
  expect_told(data_path(1), false);
}

TEST_F(DamagedMaps, an_older_copy_of_a_data_file_is_told_of) {
  for (std::uint32_t n = 0; n < ranks; ++n) {
    fs::copy_file(folder_ / "older" / std::to_string(n), data_path(n),
                  fs::copy_options::overwrite_existing);
    expect_told(data_path(n));
    restore();
  }
  for (const std::uint32_t n : {1U, 3U})
    fs::copy_file(folder_ / "older" / std::to_string(n), data_path(n),
                  fs::copy_options::overwrite_existing);
  expect_told("several data files");
}

// Fewer ranks than files, as many, or more, ask each file's keeper, also about a file that has
// nothing of what they read.
TEST_F(DamagedMaps, an_older_copy_of_any_data_file_is_told_to_all_who_read_together) {
  const auto failures = [&](int readers) {
    std::atomic<int> failed = 0, named = 0;
    run_as_threads(readers, [&](const Comm& comm) {
      const auto ds = Dataset::open(comm, path_, false, {});
      std::vector<std::int32_t> data(1);
      Request r;
      r.var = series;
      r.elements = 1;
      r.memory.data = reinterpret_cast<std::byte*>(data.data());
      r.memory.type = Type::int32;
      r.selection = Subarray{{0, columns / ranks}, {1, 1}, {}};
      const auto error = attempt_to([&] { ds->execute(std::span(&r, 1), true); });
      if (error) ++failed;
      if (error && error->message().find(path_ + ".subfiles") != std::string::npos) ++named;
      if (!error) {
        EXPECT_EQ(data[0], value(0, columns / ranks));
      }
      ds->close();
    });
    EXPECT_EQ(named > 0, failed > 0);
    return failed.load();
  };
  for (const int readers : {1, 2, 3, 4, 5, 7, 9}) {
    EXPECT_EQ(failures(readers), 0);
    for (std::uint32_t n = 0; n < ranks; ++n) {
      fs::copy_file(folder_ / "older" / std::to_string(n), data_path(n),
                    fs::copy_options::overwrite_existing);
      EXPECT_EQ(failures(readers), readers) << "file " << n << ", " << readers << " ranks";
      restore();
    }
  }
}

TEST_F(DamagedMaps, a_damaged_front_is_told_of) {
  flip(data_path(2), 9);
  expect_told(data_path(2), false);
}

TEST_F(DamagedMaps, a_state_that_was_the_newest_is_told_of) {
  ASSERT_EQ(states().size(), 3U);
  flip(state_path(), state_place(states()[0]) + 30);
  expect_told("state");
}

TEST_F(DamagedMaps, an_old_state_that_is_damaged_does_no_harm_and_goes_with_the_next_session) {
  flip(state_path(), state_place(states()[1]) + 30);
  EXPECT_FALSE(reading(chunked::OpenState::newest, most_records));
  EXPECT_FALSE(is_whole());
  run_as_threads(3, [&](const Comm& comm) { Dataset::open(comm, path_, true, hints_)->close(); });
  EXPECT_FALSE(reading(chunked::OpenState::newest, most_records));
  EXPECT_TRUE(is_whole());
}

// Even with the largest number of files in a state, check only opens existing ones.
TEST_F(DamagedMaps, missing_data_files_are_told_of_however_many) {
  fs::remove(data_path(2));
  ASSERT_EQ(check_file(path_, {}).status, CheckStatus::damaged);
  EXPECT_NE(check_file(path_, {}).damages[0].problem.find(data_path(2)), std::string::npos);
  restore();
  const auto bytes = read_all(state_path());
  const int slot = states()[0];
  auto state = *decomposed::parse_state(std::span(bytes).subspan(
      static_cast<std::size_t>(state_place(slot)), static_cast<std::size_t>(slot_bytes)));
  state.files = UINT32_MAX;
  change(state_path(), state_place(slot), decomposed::print_state(state));
  const FileCheck check = check_file(path_, {});
  EXPECT_EQ(check.status, CheckStatus::damaged);
  EXPECT_LE(check.damages.size(), 5U);
  EXPECT_TRUE(reading(chunked::OpenState::newest, most_records));
}

// The hint works as for programs. Keys that only programs can honour do not keep a reader from
// reading.
TEST_F(DamagedMaps, readers_take_the_hint_that_asks_for_the_synced_commit) {
  const auto records = [&](const char* hints) {
    ::setenv("FOREBAY_HINTS", hints, 1);
    const Count found = ClassicFile(path_).schema().numrecs;
    ::unsetenv("FOREBAY_HINTS");
    return found;
  };
  EXPECT_EQ(records("chunk_state=synced"), synced_records);
  EXPECT_EQ(records("transport=unknown"), most_records);
  EXPECT_EQ(records("transport=unknown; chunk_state=synced"), synced_records);
}

TEST_F(DamagedMaps, a_check_says_that_it_looked_at_the_synced_commit) {
  const auto notes = [&] {
    std::string all;
    for (const std::string& note : check_file(path_, {}).notes) all += note + "\n";
    return all;
  };
  EXPECT_EQ(notes(), "");
  ::setenv("FOREBAY_HINTS", "chunk_state=synced", 1);
  EXPECT_EQ(notes().rfind("chunk_state=synced: checked is commit ", 0), 0U) << notes();
  ::unsetenv("FOREBAY_HINTS");
}

// Later commits are given up, whatever is wrong with them.
TEST_F(DamagedMaps, the_synced_commit_can_be_opened_to_write_where_the_newest_is_damaged) {
  for (const bool state : {false, true}) {
    for (const int writers : {1, ranks}) {
      if (state)
        flip(state_path(), state_place(states()[0]) + 30);
      else
        flip(data_path(3), newest_root(3) + 20);
      run_as_threads(writers, [&](const Comm& comm) {
        HintMap hints = hints_;
        hints["chunk_state"] = "synced";
        Dataset::open(comm, path_, true, hints)->close();
      });
      EXPECT_FALSE(reading(chunked::OpenState::newest, synced_records));
      EXPECT_TRUE(is_whole());
      if (writers == ranks) {
        write(ranks, synced_records, most_records);
        EXPECT_FALSE(reading(chunked::OpenState::newest, most_records));
        EXPECT_FALSE(reading(chunked::OpenState::synced, synced_records));
      }
      restore();
    }
  }
}

// The next commit would have a lower number, and nobody would find it.
TEST_F(DamagedMaps, after_the_highest_epoch_nothing_is_written) {
  const auto bytes = read_all(state_path());
  const int slot = states()[0];
  auto state = *decomposed::parse_state(std::span(bytes).subspan(
      static_cast<std::size_t>(state_place(slot)), static_cast<std::size_t>(slot_bytes)));
  state.epoch = UINT64_MAX;
  change(state_path(), state_place(slot), decomposed::print_state(state));
  std::atomic<int> refused = 0;
  run_as_threads(ranks, [&](const Comm& comm) {
    const auto ds = Dataset::open(comm, path_, true, hints_);
    const auto failed = attempt_to([&] { put(*ds, comm, most_records); });
    refused += failed && failed->code() == Errc::enotnc;
  });
  EXPECT_EQ(refused, ranks);
  EXPECT_FALSE(reading(chunked::OpenState::newest, most_records));
}

// Ranks have scattered columns, in one data file.
class DamagedInverses : public DamagedMaps {
 protected:
  static constexpr Count wide = 400, levels = 6;
  static int owner(Count column) {
    return static_cast<int>((column * column / 3 + column) % ranks);
  }
  static std::int32_t cell(Count level, Count column) {
    return static_cast<std::int32_t>(level * 1000 + column);
  }

  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("forebay_inverse_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "file.nc";
    run_as_threads(ranks, [&](const Comm& comm) {
      const auto ds = Dataset::create(
          comm, path_, 5, false,
          {{"layout", "decomposed"}, {"subfiling", "none"}, {"buffer_limit", "8k"}});
      const DimId dims[] = {ds->def_dim("z", levels), ds->def_dim("x", wide)};
      ds->def_var("field", Type::int32, dims);
      ds->enddef();
      RunList list;
      std::vector<std::int32_t> data;
      for (Count z = 0; z < levels; ++z) {
        for (Count x = 0; x < wide; ++x) {
          if (owner(x) != comm.rank()) continue;
          list.runs.push_back({4 * (z * wide + x), 4});
          list.bytes += 4;
          data.push_back(cell(z, x));
        }
      }
      Request r;
      r.var = 0;
      r.write = true;
      r.elements = std::ssize(data);
      r.memory.data = reinterpret_cast<std::byte*>(data.data());
      r.memory.type = Type::int32;
      r.selection = Runs{std::make_shared<const RunList>(std::move(list))};
      ds->execute(std::span(&r, 1), true);
      ds->close();
    });
    keep("whole");
  }
  std::vector<StoredInverse> inverses() const {
    Report report;
    const auto bytes = read_all(data_path(0));
    const auto front = decomposed::parse_front(std::span(bytes).first(slot_bytes));
    decomposed::DataFileReader reader(std::make_shared<File>(data_path(0), false, 0, report),
                                      front);
    reader.load(UINT64_MAX);
    std::vector<StoredInverse> found;
    reader.index().for_each_inverse(
        [&](const StoredInverse& inverse) { found.push_back(inverse); });
    return found;
  }
  void expect_values() const {
    const ClassicFile file(path_, chunked::OpenState::newest);
    for (const auto& [start, count] :
         std::vector<std::pair<std::vector<Count>, std::vector<Count>>>{{{0, 0}, {levels, wide}},
                                                                        {{2, 0}, {1, wide}},
                                                                        {{1, 37}, {4, 100}},
                                                                        {{5, 399}, {1, 1}}}) {
      std::vector<std::int32_t> got(static_cast<std::size_t>(count[0] * count[1]));
      file.read(0, {start, count, {}}, Type::int32, got.data());
      for (Count z = 0; z < count[0]; ++z)
        for (Count x = 0; x < count[1]; ++x)
          ASSERT_EQ(got[static_cast<std::size_t>(z * count[1] + x)],
                    cell(start[0] + z, start[1] + x));
    }
  }
};

TEST_F(DamagedInverses, values_are_read_without_them_and_a_check_tells) {
  const auto inverse = inverses();
  ASSERT_EQ(inverse.size(), 1U);
  EXPECT_TRUE(is_whole());
  expect_values();
  for (const auto& block : inverse[0].blocks) {
    for (const Offset at :
         {block.offset, block.offset + block.bytes / 2, block.offset + block.bytes - 1}) {
      flip(data_path(0), at);
      expect_values();
      const FileCheck check = check_file(path_, {});
      EXPECT_EQ(check.status, CheckStatus::damaged);
      EXPECT_TRUE(std::any_of(check.damages.begin(), check.damages.end(), [&](const Damage& d) {
        return d.problem.find("inverse map") != std::string::npos;
      }));
      restore();
    }
  }
}

}  // namespace file_maps_test
}  // namespace forebay
