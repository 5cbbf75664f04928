// Every layout × stage × transport × container that is registered, those of toy_layout.cc,
// and toy_transport.cc included: one script of writes and reads, against a plain
// in-memory array.
//
// Ranks are threads, four of them on two nodes; rank 0 comes late to everything, the last rank has
// nothing to write, and buffers are so small that every loop goes at least five times. What cannot
// be written so is skipped, for the reason that the part itself gives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "container/container.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "files/references.h"
#include "folder.h"
#include "layout/classic_part.h"
#include "method/part.h"
#include "stage/stage.h"
#include "transport/transport.h"

namespace forebay {

extern std::atomic<Count> toy_writes;

namespace {

namespace fs = std::filesystem;

struct Combination {
  const Part *container, *layout, *stage, *transport;
  int ranks;

  std::string name() const {
    std::string text = std::string(container->name) + "_" + layout->name + "_" + stage->name + "_" +
                       transport->name + "_" + std::to_string(ranks);
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
  }
  std::string why_not() const {
    const auto* l = static_cast<const LayoutEntry*>(layout);
    const auto* t = static_cast<const TransportEntry*>(transport);
    if (!l->front_ends.contains(FrontEnd::netcdf))
      return std::string("layout ") + l->name + " is not for netCDF files";
    const bool netcdf4 = container->name == std::string("netcdf4");
    if (netcdf4 && layout->name != std::string("canonical") &&
        layout->name != std::string("chunked"))
      return std::string("layout ") + l->name + " is not for netCDF-4 files";
    if (t->needs) return std::string("transport ") + t->name + ": " + t->needs;
    return {};
  }
  HintMap hints(const std::string& folder) const {
    HintMap hints = {{"container", container->name},
                     {"layout", layout->name},
                     {"stage", stage->name},
                     {"transport", transport->name},
                     {"nc_burst_buf_dirname", folder},
                     {"buffer_limit", "4k"},
                     {"window_size", "4k"},
                     {"chunk_bytes", "256"},
                     {"chunk_cache", "512"},
                     {"codec", "shuffle,zstd:1"},
                     {"patch_edge", "16"}};
    if (ranks == 4) hints.insert({{"ranks_per_node", "2"}, {"chunk_read", "owners"}});
    return hints;
  }
};

void PrintTo(const Combination& c, std::ostream* out) { *out << c.name(); }

std::vector<Combination> combinations() {
  std::vector<Combination> all;
  for (const Part* container : parts(PartKind::container))
    for (const Part* layout : parts(PartKind::layout))
      for (const Part* stage : parts(PartKind::stage))
        for (const Part* transport : parts(PartKind::transport))
          for (const int ranks : {2, 4})
            all.push_back({container, layout, stage, transport, ranks});
  return all;
}

/// A two-dimensional variable as it should be; all ranks have the same. T: in file and memory.
template <typename T>
struct Model {
  VarId id = 0;
  Count rows, columns;
  bool records;
  Type memory;
  std::vector<T> values = std::vector<T>(static_cast<std::size_t>(rows * columns));

  T& at(Count row, Count column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }

  Request request(bool write, std::vector<T>& data, Count last_record) const {
    Request r;
    r.var = id;
    r.write = write;
    r.elements = static_cast<Count>(data.size());
    r.last_record = records ? last_record : 0;
    r.memory.data = reinterpret_cast<std::byte*>(data.data());
    r.memory.type = memory;
    return r;
  }
};

/// One rank's view of the script.
class Script {
 public:
  // In every operation at least 20 KiB move, by 4 KiB or less at a time, and 80 chunks.
  static constexpr Count rows = 96, columns = 90, most_records = 10, record_columns = 1021;

  Script(const Comm& comm, std::string path, HintMap hints)
      : comm_(comm), path_(std::move(path)), hints_(std::move(hints)) {}

  void play() {
    create();
    boxes(1);
    pieces(2);
    append_records(0, most_records / 2, 3);
    ds_->flush();
    strided(4);
    append_records(most_records / 2, most_records, 5);
    record_pieces(true, 7);
    record_pieces(false, 7);
    alone(6);
    read(false);
    close();
    hints_.erase("stage");  // readers need not know how the file was written
    hints_.erase("container");
    ds_ = Dataset::open(late(), path_, false, hints_);
    read(true);
    close();
    ds_ = Dataset::open(late(), path_, false, {{"transport", "posix"}});
    read(false);
    close();
  }

 private:
  const Comm& late() const {
    if (comm_.is_root()) std::this_thread::sleep_for(std::chrono::microseconds(300));
    return comm_;
  }
  bool idle(Rank rank) const { return rank == comm_.size() - 1; }
  Rank writers() const { return comm_.size() - 1; }

  void create() {
    ds_ = Dataset::create(late(), path_, 5, false, hints_);
    define(box_, "box", Type::float32);
    define(pieces_, "pieces", Type::int32);
    define(records_, "records", Type::int16);
    ds_->enddef();
  }

  template <typename T>
  void define(Model<T>& m, const std::string& name, Type type) {
    const DimId row = m.records && record_dim_ >= 0
                          ? record_dim_
                          : ds_->def_dim(name + "_rows", m.records ? 0 : m.rows);
    if (m.records) record_dim_ = row;
    const DimId column = ds_->def_dim(name + "_columns", m.columns);
    m.id = ds_->def_var(name, type, std::array{row, column});
  }

  template <typename T>
  static T value(int step, Count row, Count column) {
    return static_cast<T>(step * 4000 + row * 37 % 1000 + column * 3 % 1000);
  }

  /// Every writer its strip of the columns of some rows.
  template <typename T>
  void strips(Model<T>& m, Count first, Count last, int step, Count stride = 1) {
    std::vector<T> mine;
    std::vector<Request> requests;
    for (Rank r = 0; r < writers(); ++r) {
      const Count begin = stride > 1 ? r : m.columns * r / writers();
      const Count end = stride > 1 ? m.columns : m.columns * (r + 1) / writers();
      Subarray part{{first, begin}, {last - first, 0}, {1, stride}};
      part.count[1] = (end - begin + stride - 1) / stride;
      std::vector<T> data;
      for (Count i = first; i < last; ++i)
        for (Count j = 0; j < part.count[1]; ++j) {
          const Count column = begin + j * stride;
          data.push_back(m.at(i, column) = value<T>(step, i, column));
        }
      if (r != comm_.rank()) continue;
      mine = std::move(data);
      requests.push_back(m.request(true, mine, last));
      requests.back().selection = part;
    }
    late();
    ds_->execute(requests, true);
  }

  void boxes(int step) { strips(box_, 0, rows, step); }
  void strided(int step) { strips(box_, 10, 70, step, writers()); }
  void append_records(Count first, Count last, int step) { strips(records_, first, last, step); }

  /// Pieces of up to seven columns, dealt to the writers in turn: two varn requests in a queue.
  void pieces(int step) {
    std::array<std::vector<Count>, 2> starts, counts;
    std::array<std::vector<std::int32_t>, 2> data;
    Rank writer = 0;
    for (Count i = 0; i < rows; ++i)
      for (Count j = 0, length = 0; j < columns; j += length) {
        length = std::min<Count>(1 + (i + j) % 7, columns - j);
        const std::size_t half = i < rows / 2 ? 0 : 1;
        const bool mine = writer == comm_.rank();
        writer = (writer + 1) % writers();
        if (mine) starts[half].insert(starts[half].end(), {i, j});
        if (mine) counts[half].insert(counts[half].end(), {1, length});
        for (Count k = j; k < j + length; ++k) {
          pieces_.at(i, k) = value<std::int32_t>(step, i, k);
          if (mine) data[half].push_back(pieces_.at(i, k));
        }
      }
    for (std::size_t half = 0; half < 2 && !idle(comm_.rank()); ++half) {
      std::vector<const Count*> s, c;
      for (std::size_t n = 0; n < starts[half].size(); n += 2) {
        s.push_back(&starts[half][n]);
        c.push_back(&counts[half][n]);
      }
      Request r = pieces_.request(true, data[half], 0);
      FlattenedVarn found;
      r.selection = ds_->run_lists().flatten(ds_->variable(pieces_.id),
                                             {static_cast<int>(s.size()), s.data(), c.data()},
                                             SelectionLimits(0), true, found);
      ds_->post(std::move(r));
    }
    late();
    ds_->wait(Which::all, {}, {}, true);
  }

  /// One decomposition, from the last column to the first, of all records but the outer ones: a
  /// request for each record, all in one queue. The lists of runs are one.
  void record_pieces(bool write, int step) {
    std::vector<Count> first, lengths;
    Rank writer = 0;
    for (Count j = record_columns, length = 0; j > 0; j -= length) {
      length = std::min<Count>(1 + j % 6, j);
      if (writer == comm_.rank()) first.push_back(j - length);
      if (writer == comm_.rank()) lengths.push_back(length);
      writer = (writer + 1) % writers();
    }
    std::vector<std::vector<float>> data;
    std::set<const RunList*> lists;
    for (Count r = 1; r < most_records - 1; ++r) {
      if (write) {
        for (Count j = 0; j < record_columns; ++j) records_.at(r, j) = value<float>(step, r, j);
      }
      std::vector<Count> starts, counts;
      std::vector<const Count*> s, c;
      std::vector<float>& mine = data.emplace_back();
      for (std::size_t n = 0; n < first.size(); ++n) {
        starts.insert(starts.end(), {r, first[n]});
        counts.insert(counts.end(), {1, lengths[n]});
        for (Count k = 0; k < lengths[n]; ++k)
          mine.push_back(write ? records_.at(r, first[n] + k) : -1);
      }
      for (std::size_t n = 0; n < first.size(); ++n) {
        s.push_back(&starts[2 * n]);
        c.push_back(&counts[2 * n]);
      }
      if (first.empty()) continue;
      FlattenedVarn found;
      Runs runs = ds_->run_lists().flatten(ds_->variable(records_.id),
                                           {static_cast<int>(s.size()), s.data(), c.data()},
                                           SelectionLimits(most_records), write, found);
      EXPECT_EQ(found.last_record, r + 1);
      lists.insert(runs.list.get());
      Request request = records_.request(write, mine, found.last_record);
      request.selection = std::move(runs);
      ds_->post(std::move(request));
    }
    EXPECT_EQ(lists.size(), first.empty() ? 0u : 1u);
    late();
    ds_->wait(Which::all, {}, {}, true);
    for (Count r = 1; !write && r < most_records - 1; ++r) {
      std::size_t wrong = 0, k = 0;
      for (std::size_t n = 0; n < first.size(); ++n)
        for (Count i = 0; i < lengths[n]; ++i)
          wrong += data[static_cast<std::size_t>(r - 1)][k++] != records_.at(r, first[n] + i);
      EXPECT_EQ(wrong, 0u) << "record " << r << " on rank " << comm_.rank();
    }
  }

  /// Rows that each writer writes alone.
  void alone(int step) {
    ds_->flush();
    ds_->begin_independent();
    for (Count row = 0; row < rows; row += 5) {
      std::vector<std::int32_t> data;
      for (Count j = 0; j < columns; ++j)
        data.push_back(pieces_.at(row, j) = value<std::int32_t>(step, row, j));
      if (row % writers() != comm_.rank()) continue;
      std::vector<Request> one;
      one.push_back(pieces_.request(true, data, 0));
      one.back().selection = Subarray{{row, 0}, {1, columns}, {}};
      ds_->execute(one, false);
    }
    ds_->end_independent();
    ds_->sync();
  }

  void read(bool by_itself) {
    if (by_itself) ds_->begin_independent();
    read_all(box_, by_itself);
    read_all(pieces_, by_itself);
    read_all(records_, by_itself);
    if (by_itself) ds_->end_independent();
  }

  /// All of it on each rank; and columns in another order than in the file.
  template <typename T>
  void read_all(Model<T>& m, bool by_itself) {
    EXPECT_TRUE(!m.records || ds_->schema().numrecs == m.rows);
    std::vector<T> all(m.values.size(), T{-1});
    std::vector<T> odd(static_cast<std::size_t>(m.rows * (m.columns / 2)), T{-1});
    std::vector<Request> both;
    both.push_back(m.request(false, all, m.rows));
    both.back().selection = Subarray{{0, 0}, {m.rows, m.columns}, {}};
    both.push_back(m.request(false, odd, m.rows));
    both.back().selection = Subarray{{0, 1}, {m.rows, m.columns / 2}, {1, 2}};
    late();
    ds_->execute(both, !by_itself);
    EXPECT_EQ(all, m.values) << "variable " << m.id << " on rank " << comm_.rank();
    std::size_t wrong = 0, k = 0;
    for (Count i = 0; i < m.rows; ++i)
      for (Count j = 0; j < m.columns / 2; ++j) wrong += odd[k++] != m.at(i, 2 * j + 1);
    EXPECT_EQ(wrong, 0u) << "variable " << m.id << " on rank " << comm_.rank();
  }

  void close() {
    late();
    ds_->close();
    ds_.reset();
  }

  const Comm& comm_;
  std::string path_;
  HintMap hints_;
  std::unique_ptr<Dataset> ds_;
  DimId record_dim_ = -1;
  Model<float> box_{0, rows, columns, false, Type::float32};
  Model<std::int32_t> pieces_{0, rows, columns, false, Type::int32};
  Model<float> records_{0, most_records, record_columns, true, Type::float32};  // converted
};

class Parts : public testing::TestWithParam<Combination> {};

TEST_P(Parts, write_and_read) {
  const Combination& chosen = GetParam();
  if (const std::string why = chosen.why_not(); !why.empty()) GTEST_SKIP() << why;
  const Folder folder;
  const std::string path = folder.file("file.nc");
  run_as_threads(chosen.ranks, [&](const Comm& comm) {
    Script(comm, path, chosen.hints(folder.string())).play();
  });
  EXPECT_EQ(fs::is_directory(path), std::string(chosen.container->name) == "directory");
}

INSTANTIATE_TEST_SUITE_P(, Parts, testing::ValuesIn(combinations()),
                         [](const auto& info) { return info.param.name(); });

// -- what the toys do, so that the walk above does not take another part for them

/// The bytes of a variable of `n` int32 that count from 0, as a file with such hints has them.
std::vector<int> stored_numbers(const HintMap& hints, int n) {
  const Folder folder;
  const std::string path = folder.file("numbers.nc");
  Offset begin = 0;
  run_as_threads(2, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, hints);
    const VarId var = ds->def_var("x", Type::int32, std::array{ds->def_dim("n", n)});
    ds->enddef();
    std::vector<std::int32_t> data;
    for (int i = 0; i < n; ++i) data.push_back(i);
    std::vector<Request> all(1);
    all[0].var = var;
    all[0].write = true;
    all[0].elements = n;
    all[0].selection = Subarray{{0}, {n}, {}};
    all[0].memory = {reinterpret_cast<std::byte*>(data.data()), Type::int32};
    if (!comm.is_root()) all.clear();
    ds->execute(all, true);
    if (comm.is_root()) begin = ds->schema().vars[0].begin;
    ds->close();
  });
  std::ifstream file(path, std::ios::binary);
  file.seekg(begin);
  std::vector<int> numbers;
  for (int i = 0; i < n; ++i) {
    std::array<char, 4> bytes{};
    file.read(bytes.data(), 4);
    numbers.push_back(bytes[3]);
  }
  return numbers;
}

TEST(ToyLayout, reverses_elements) {
  EXPECT_EQ(stored_numbers({{"layout", "toy"}}, 5), (std::vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(stored_numbers({}, 5), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(ToyLayout, keeps_a_variable_that_is_renamed) {
  const Folder folder;
  const std::string path = folder.file("renamed.nc");
  run_as_threads(2, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, {{"layout", "toy"}});
    ds->def_var("before", Type::int32, std::array{ds->def_dim("n", 4)});
    ds->enddef();
    ds->redef();
    ds->rename_var(0, "after");
    ds->enddef();
    ds->close();
    ds = Dataset::open(comm, path, false, {});
    EXPECT_EQ(ds->schema().vars[0].name, "after");
    EXPECT_STREQ(layout_of(ds->schema().vars[0]).name, "toy");
    ds->close();
  });
}

TEST(ToyTransport, makes_the_system_calls_and_has_a_key_of_its_own) {
  const auto calls = [](const HintMap& hints) {
    const Count before = toy_writes;
    stored_numbers(hints, 100);
    return toy_writes - before;
  };
  EXPECT_EQ(calls({}), 0);
  EXPECT_EQ(calls({{"transport", "toy"}}), 7);  // 400 bytes by 64
  EXPECT_EQ(calls({{"transport", "toy"}, {"toy_piece", "100"}}), 4);
  EXPECT_EQ(choose_method("x.nc", {{"toy_piece", "2k"}}, {}).of_parts.at("toy_piece"), "2048");
  EXPECT_THROW(choose_method("x.nc", {{"toy_piece", "0"}}, {}), Error);
}

TEST(Toys, are_told_of_where_people_are_told_of_parts) {
  std::map<std::string, MethodKey> keys;
  for (const MethodKey& key : method_keys()) keys.emplace(key.name, key);
  EXPECT_EQ(keys.at("layout").accepted, "auto|" + part_names(PartKind::layout, "|"));
  EXPECT_TRUE(std::string(keys.at("layout").accepted).ends_with("|toy"));
  const std::string transports = part_names(PartKind::transport, "|");
  EXPECT_EQ(keys.at("transport").accepted, transports);
  EXPECT_TRUE(transports.ends_with("|toy"));
  EXPECT_EQ(keys.at("container").accepted, part_names(PartKind::container, "|"));
  EXPECT_STREQ(keys.at("toy_piece").standard, "64");
  EXPECT_EQ(to_hints(Method{}).at("toy_piece"), "64");
  try {
    choose_method("x.nc", {{"transport", "posics"}}, {});
    FAIL() << "there is no such transport";
  } catch (const Error& error) {
    EXPECT_NE(error.advice().find(transports), std::string::npos) << error.advice();
  }
}

// A variable each to three layouts in one file, and definitions that come later.
TEST(Layouts, live_together_in_one_file) {
  const Folder folder;
  const std::string path = folder.file("mixed.nc"), config = folder.file("rules.xml");
  std::ofstream(config) << "<forebay><file match='mixed.nc'><variable match='t*' layout='toy'/>"
                           "<variable match='c*' layout='chunked'/></file></forebay>";
  ::setenv("FOREBAY_CONFIG", config.c_str(), 1);
  constexpr int n = 3000;
  const std::vector<std::string> names = {"t1", "c1", "p1", "t2", "c2", "p2"};
  const std::map<char, const char*> layouts = {{'t', "toy"}, {'c', "chunked"}, {'p', "canonical"}};
  run_as_threads(3, [&](const Comm& comm) {
    std::vector<std::vector<std::int32_t>> data;
    for (std::size_t v = 0; v < names.size(); ++v)
      for (int i = 0; i < n / 3; ++i)
        (i == 0 ? data.emplace_back() : data.back())
            .push_back(static_cast<int>(v) * 10000 + comm.rank() * n / 3 + i);
    const auto access = [&](std::size_t v, std::vector<std::int32_t>& memory, bool write) {
      Request r;
      r.var = static_cast<VarId>(v);
      r.write = write;
      r.elements = n / 3;
      r.selection = Subarray{{comm.rank() * n / 3}, {n / 3}, {}};
      r.memory = {reinterpret_cast<std::byte*>(memory.data()), Type::int32};
      return r;
    };
    auto ds = Dataset::create(comm, path, 5, false, {{"chunk_bytes", "1k"}});
    const DimId dim = ds->def_dim("n", n);
    const auto define_and_write = [&](std::size_t from, std::size_t to) {
      std::vector<Request> writes;
      for (std::size_t v = from; v < to; ++v) {
        ds->def_var(names[v], Type::int32, std::array{dim});
        writes.push_back(access(v, data[v], true));
      }
      ds->enddef();
      ds->execute(writes, true);
    };
    define_and_write(0, 3);
    ds->redef();
    define_and_write(3, 6);
    ds->close();
    ds = Dataset::open(comm, path, false, {});
    for (std::size_t v = 0; v < names.size(); ++v) {
      EXPECT_EQ(ds->schema().vars[v].attributes.size(), 0) << names[v];
      EXPECT_STREQ(layout_of(ds->schema().vars[v]).name, layouts.at(names[v][0])) << names[v];
      std::vector<std::int32_t> got(n / 3);
      std::vector<Request> reads;
      reads.push_back(access(v, got, false));
      ds->execute(reads, true);
      EXPECT_EQ(got, data[v]) << names[v];
    }
    ds->close();
  });
  ::unsetenv("FOREBAY_CONFIG");

  // Readers of one process know `chunked`, whose entry has a reader, and never take the toy, which
  // has none, for plain values.
  const ClassicFile file(path);
  for (std::size_t v = 0; v < names.size(); ++v) {
    const auto var = static_cast<VarId>(v);
    std::vector<std::int32_t> got(n);
    const auto failed = attempt_to([&] {
      file.read(var, Subarray{{0}, {n}, {}}, Type::int32, got.data());
    });
    ASSERT_EQ(failed.has_value(), names[v][0] == 't') << names[v];
    if (!failed) {
      EXPECT_EQ(got[n - 1], static_cast<int>(v) * 10000 + n - 1) << names[v];
      continue;
    }
    EXPECT_EQ(failed->code(), Errc::enotbuilt);
    EXPECT_EQ(failed->message(),
              path + ": variable " + names[v] + " has the layout toy, which only programs read");
  }
  const FileCheck check = check_file(path, {});
  EXPECT_EQ(check.status, CheckStatus::good);
  EXPECT_EQ(std::count_if(check.notes.begin(), check.notes.end(),
                          [](const auto& note) { return note.find("toy") != std::string::npos; }),
            2);
  for (const VariableCheck& var : check.vars)
    EXPECT_EQ(var.readable, check.names[static_cast<std::size_t>(var.var)][0] != 't');
  const References references = make_references(file, {.skip = true});
  EXPECT_EQ(references.variables, 4);
  EXPECT_EQ(references.left_out.size(), 2);
}

}  // namespace
}  // namespace forebay
