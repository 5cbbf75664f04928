#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "comm/thread_ranks.h"
#include "decomposed/data_file.h"
#include "decomposed/distributed_index.h"
#include "decomposed/format/decomposed_schema.h"
#include "decomposed/part_order.h"
#include "transport/direct_io.h"

namespace forebay::decomposed {
namespace distributed_index_ranks_test {

namespace fs = std::filesystem;

constexpr std::uint64_t id = 78;
constexpr Count columns = 240, records = 3;
constexpr std::int32_t nothing = -2147483647;  // the fill value
constexpr VarId fixed = 0, by_record = 1;

/// Data files of two variables, and the expected values.
class Files {
 public:
  enum class Columns { shared, apart, sorted };
  /// `apart`: each file has its own columns. `sorted`: all have the same columns of four ranks, in
  /// two sorted parts of equal size.
  explicit Files(std::uint32_t files, int maps = 1, Columns kind = Columns::shared)
      : apart_(kind != Columns::shared), sorted_(kind == Columns::sorted), ranks_(sorted_ ? 4 : 2) {
    path_ = fs::path(testing::TempDir()) / ("forebay_dealt_" + std::to_string(::getpid()));
    fs::create_directories(folder_of(path_));
    schema_.version = 5;
    schema_.add_dim({"time", 0});
    schema_.add_dim({"x", columns});
    schema_.numrecs = records;
    Variable var;
    var.name = "v", var.type = Type::int32, var.dimids = {1}, var.layout = &decomposed_layout;
    schema_.add_var(var);
    var.name = "t", var.dimids = {0, 1};
    schema_.add_var(var);
    state_.id = id, state_.epoch = state_.through = 1, state_.files = files;
    values_.assign((1 + records) * columns, nothing);
    std::mt19937 random(files);
    for (std::uint32_t file = 0; file < files; ++file) write(file, maps, random);
  }
  ~Files() { fs::remove_all(folder_of(path_)); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  const Schema& schema() const { return schema_; }
  const std::string& path() const { return path_; }
  const State& state() const { return state_; }
  Count first_of(std::uint32_t file) const {
    return columns * static_cast<Count>(file) / static_cast<Count>(state_.files);
  }
  std::int32_t value(VarId var, Count record, Count x) const {
    return values_[place(var, record, x)];
  }

 private:
  static std::size_t place(VarId var, Count record, Count x) {
    return static_cast<std::size_t>((var == by_record ? 1 + record : 0) * columns + x);
  }
  std::int32_t& cell(VarId var, Count record, Count x) { return values_[place(var, record, x)]; }
  static std::int32_t written(std::uint32_t number, int map, VarId var, Count record, Count x) {
    return static_cast<std::int32_t>(100000 * map + 10000 * static_cast<Count>(number) +
                                     1000 * var + 300 * record + x);
  }
  template <typename F>
  static void for_each_place(F&& f) {
    for (const VarId var : {fixed, by_record})
      for (Count record = 0; record < (var == fixed ? 1 : records); ++record) f(var, record);
  }
  template <typename F>
  static void each_column(const Selected& what, F&& f) {
    for (const PatternRun& run : what.pattern.runs)
      for (Count x = run.offset; x < run.end(); ++x) f(x);
  }

  // Returns the rank of a file's column `x`. Even columns alternate between two ranks, odd ones
  // alternate in pairs.
  static std::uint32_t rank_in_parts(Count x) {
    const Count pair = x / 2;
    return static_cast<std::uint32_t>(x % 2 == 0 ? pair % 2 : 2 + pair / 2 % 2);
  }

  // Each file's two ranks have runs of three scattered columns in each map, with gaps. If several
  // have a column, later files count, since their ranks are higher; within a rank the last map
  // counts.
  void write(std::uint32_t number, int maps, std::mt19937& random) {
    auto file = std::make_shared<File>(data_path(path_, number), true, 0, report_);
    file->create(false);
    DataFileWriter writer(file, {id, number});
    writer.create();
    using Patterns = std::vector<std::shared_ptr<const Selected>>;
    std::vector<Patterns> by_map;
    for (int m = 0; m < maps; ++m) {
      Patterns& patterns = by_map.emplace_back();
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        std::vector<forebay::Run> runs;
        const Count first = apart_ ? first_of(number) : 0;
        const Count last = apart_ ? first_of(number + 1) : columns;
        if (sorted_) {
          for (Count x = 0; x < (last - first) / 8 * 8; ++x)
            if (rank_in_parts(x) == r) runs.push_back({first + x, 1});
        } else {
          for (Count x = first + static_cast<Count>(random() % 9); x + 3 <= last;
               x += 4 + static_cast<Count>(random() % (3 * state_.files)))
            runs.push_back({x, 3});
        }
        patterns.push_back(make_selected(factored(std::vector{columns}, runs), {}));
      }
    }
    for (int m = 0; m < maps; ++m) {
      const Patterns& patterns = by_map[static_cast<std::size_t>(m)];
      std::vector<DataFileWriter::MapMember> members;
      for (std::uint32_t r = 0; r < ranks_; ++r)
        members.push_back({ranks_ * number + r, patterns[r]->key, patterns[r]->elements});
      const std::uint32_t map = writer.number_of(members);
      for (const auto& what : patterns)
        if (writer.wants(what->key)) writer.give(what->key, packer_.pack(what->pattern));
      for_each_place([&](VarId var, Count record) {
        std::vector<std::byte> bytes;
        for (const auto& what : patterns)
          each_column(*what, [&](Count x) {
            bytes.resize(bytes.size() + 4);
            store_be(bytes.data() + bytes.size() - 4, written(number, m, var, record, x));
          });
        const Count size = std::ssize(bytes);
        const Offset at = writer.allocate(size);
        Entry entry{var, record, static_cast<std::uint32_t>(m), map, at, size, 0};
        if (sorted_) {
          const auto ranks_order = bytes;
          const Count half = size / 2;
          for (std::uint32_t p = 0; p < 2; ++p) {
            const std::vector<Pattern> both{patterns[2 * p]->pattern, patterns[2 * p + 1]->pattern};
            const auto part_of = [&](auto& all) {
              return std::span(all).subspan(p * static_cast<std::size_t>(half),
                                            static_cast<std::size_t>(half));
            };
            PartOrder::of(both)->sort(part_of(ranks_order), part_of(bytes), 4);
            entry.parts.push_back(
                {half / 4, at + p * half, half, 0, hash_of(part_of(bytes)), true});
          }
        }
        file->write_at(at, bytes);
        writer.add(entry);
      });
    }
    for (std::uint32_t r = 0; r < ranks_; ++r)
      for (int m = 0; m < maps; ++m)
        for_each_place([&](VarId var, Count record) {
          each_column(*by_map[static_cast<std::size_t>(m)][r],
                      [&](Count x) { cell(var, record, x) = written(number, m, var, record, x); });
        });
    writer.write(1);
    state_.roots += writer.change();
  }

  bool apart_, sorted_;
  std::uint32_t ranks_;  // of a file
  std::string path_;
  Schema schema_;
  State state_;
  Report report_;
  logged::PatternPacker packer_;
  std::vector<std::int32_t> values_;
};

/// A rank's read of a variable: records [first, first + count), every `stride`-th column.
struct Question {
  VarId var;
  Count first, count, stride;
};

/// One rank's reads, and a check of their values.
class Asker {
 public:
  Asker(const Files& files, const std::vector<Question>& asked) : files_(files), asked_(asked) {
    for (const Question& a : asked) {
      const Count n = (columns - 1) / a.stride + 1;
      Request& r = requests_.emplace_back();
      auto& values = values_.emplace_back(static_cast<std::size_t>(a.count * n), -1);
      r.var = a.var;
      r.selection = a.var == fixed ? Subarray{{0}, {n}, {a.stride}}
                                   : Subarray{{a.first, 0}, {a.count, n}, {1, a.stride}};
      r.elements = a.count * n;
      r.element_size = r.swap = 4;
      r.packed = reinterpret_cast<std::byte*>(values.data());
    }
    for (const Request& r : requests_)
      for (const Part& part :
           selector_.parts_of(r, files.schema().vars[static_cast<std::size_t>(r.var)]))
        wanted_.push_back({&r, part});
  }
  const std::vector<Wanted>& wanted() const { return wanted_; }
  Count wrong() const {
    Count wrong = 0;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      std::size_t at = 0;
      for (Count record = asked_[i].first; record < asked_[i].first + asked_[i].count; ++record)
        for (Count x = 0; x < columns; x += asked_[i].stride)
          wrong += values_[i][at++] != files_.value(asked_[i].var, record, x);
    }
    return wrong;
  }

 private:
  const Files& files_;
  std::vector<Question> asked_;
  std::vector<Request> requests_;
  std::vector<std::vector<std::int32_t>> values_;
  Selector selector_{1 << 20};
  std::vector<Wanted> wanted_;
};

/// The last of several ranks reads nothing. The first one is late.
std::vector<Question> asked_by(Rank rank, int ranks, int read) {
  if (rank == ranks - 1) return {};
  if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Count drawn = (rank * 3 + read) % 4;
  return {{by_record, 0, records, 1 + drawn},
          {fixed, 0, 1, 1 + drawn},
          {by_record, drawn % records, 1, 1},
          {by_record, 0, 2, 7}};
}

TEST(DistributedIndex, keepers_share_files_and_askers) {
  for (const std::uint32_t files : {1U, 2U, 3U, 7U, 64U})
    for (const int ranks : {1, 2, 3, 4, 7, 50}) {
      std::vector<int> askers(static_cast<std::size_t>(ranks), 0);
      for (std::uint32_t file = 0; file < files; ++file) {
        std::vector<int> of_file(static_cast<std::size_t>(ranks), 0);
        for (Rank asker = 0; asker < ranks; ++asker) {
          const Rank keeper = DistributedIndex::keeper_of(file, asker, files, ranks);
          ASSERT_LT(keeper, ranks);
          const auto kept = DistributedIndex::files_of(keeper, files, ranks);
          EXPECT_TRUE(std::find(kept.begin(), kept.end(), file) != kept.end());
          ++of_file[static_cast<std::size_t>(keeper)];
        }
        for (Rank r = 0; r < ranks; ++r)
          askers[static_cast<std::size_t>(r)] =
              std::max(askers[static_cast<std::size_t>(r)], of_file[static_cast<std::size_t>(r)]);
      }
      // The memory for questions relies on this limit.
      for (const int n : askers)
        EXPECT_LE(n, static_cast<int>(files) >= ranks ? ranks : 2 * static_cast<int>(files));
    }
}

// If each file has its own part of the array, a rank that reads a part asks one keeper, whatever
// the number of files.
TEST(DistributedIndex, only_who_may_have_what_is_wanted_is_asked) {
  const std::uint32_t files = 12;
  const Files all(files, 1, Files::Columns::apart);
  for (const std::uint32_t few : {0U, 100U}) {
    run_as_threads(4, [&](const Comm& comm) {
      Report report;
      Reader reader(all.schema(), all.path(), read_directly, {}, comm.rank(), report);
      reader.use(all.state());
      DistributedIndex dealt(comm, all.schema(), reader, 1 << 20, few);
      Selector selector(1 << 20);
      std::int64_t asked = 0;
      for (std::uint32_t file = static_cast<std::uint32_t>(comm.rank()); file < files; file += 4) {
        const Count first = all.first_of(file), n = all.first_of(file + 1) - first;
        std::vector<std::int32_t> values(static_cast<std::size_t>(n), -1);
        Request r;
        r.var = fixed;
        r.selection = Subarray{{first}, {n}, {}};
        r.elements = n;
        r.element_size = r.swap = 4;
        r.packed = reinterpret_cast<std::byte*>(values.data());
        std::vector<Wanted> wanted;
        for (const Part& part : selector.parts_of(r, all.schema().vars[fixed]))
          wanted.push_back({&r, part});
        dealt.read(wanted);
        ++asked;
        for (Count x = 0; x < n; ++x)
          EXPECT_EQ(values[static_cast<std::size_t>(x)], all.value(fixed, 0, first + x));
      }
      EXPECT_EQ(dealt.questions(), few == 0 ? asked : 4 * asked);
    });
  }
}

TEST(DistributedIndex, reads_what_was_written_and_each_rank_loads_its_share) {
  for (const std::uint32_t files : {2U, 3U, 7U})
    for (const int ranks : {2, 3, 5, 7})
      for (const Count memory : {Count{1} << 10, Count{1} << 20}) {
        const Files all(files);
        run_as_threads(ranks, [&](const Comm& comm) {
          Report report;
          ReaderOptions options;
          options.index_memory = 64 * memory;
          Reader reader(all.schema(), all.path(), read_directly, options, comm.rank(), report);
          reader.use(all.state());
          // Either all keepers are asked, or those that may have data. A rank may have no file to
          // ask for.
          DistributedIndex dealt(comm, all.schema(), reader, memory, ranks % 2 == 0 ? 8 : 0);
          for (int read = 0; read < 4; ++read) {
            const Asker asker(all, asked_by(comm.rank(), ranks, read));
            dealt.read(asker.wanted());
            EXPECT_EQ(asker.wrong(), 0)
                << files << " files, rank " << comm.rank() << " of " << ranks << ", read " << read;
          }
          const auto kept = DistributedIndex::files_of(comm.rank(), files, ranks);
          EXPECT_EQ(reader.indexes_loaded(), std::ssize(kept));
          if (memory < 1 << 20) EXPECT_GE(dealt.rounds(), 4 * 5);
          if (memory >= 1 << 20) EXPECT_EQ(dealt.rounds(), 4);
        });
      }
}

// Whatever the number of slabs in a record, messages and held slabs stay within the memory, except
// for the slabs of one record.
TEST(DistributedIndex, slabs_and_plans_come_in_messages_that_there_is_room_for) {
  constexpr int maps = 40;
  for (const std::uint32_t files : {2U, 7U})
    for (const int ranks : {2, 3, 7}) {
      const Files all(files, maps);
      for (const Count memory : {Count{64} << 10, Count{16} << 20}) {
        run_as_threads(ranks, [&](const Comm& comm) {
          Report report;
          ReaderOptions options;
          options.index_memory = 64 << 20;
          Reader reader(all.schema(), all.path(), read_directly, options, comm.rank(), report);
          reader.use(all.state());
          DistributedIndex dealt(comm, all.schema(), reader, memory);
          const Asker asker(all, asked_by(comm.rank(), ranks, 1));
          dealt.read(asker.wanted());
          EXPECT_EQ(asker.wrong(), 0) << files << " files, rank " << comm.rank() << " of " << ranks;
          constexpr Count one_slab = 256, pattern = 1024, few_pieces = 16 * 48;
          const Count of_a_record = one_slab * maps * files;
          if (memory > 1 << 20) {
            EXPECT_EQ(dealt.askings(), 1);
            EXPECT_EQ(dealt.rounds(), 1);
            return;
          }
          EXPECT_GE(dealt.askings(), 5);
          EXPECT_GE(dealt.rounds(), 5);
          const Count share = memory / 8 / (static_cast<int>(files) >= ranks ? ranks : 2 * files);
          EXPECT_LE(dealt.longest_message(), std::max(share, pattern) + pattern + few_pieces);
          EXPECT_LE(dealt.most_held(), 2 * (memory / 8) + of_a_record);
        });
      }
    }
}

// Memory is enough for one file's index. The first slab tells how a map's parts are sorted. If
// memory is too small for all files' orders, each index is loaded once for many slabs.
TEST(DistributedIndex, who_reads_sorted_parts_loads_each_index_once_for_many_slabs) {
  const std::uint32_t files = 3;
  const Files all(files, 1, Files::Columns::sorted);
  const std::vector<Question> dense(5, {by_record, 0, records, 1}),
      sparse(5, {by_record, 0, records, 60});
  for (const bool much : {false, true})
    for (const int ranks : {1, 2, 3}) {
      run_as_threads(ranks, [&](const Comm& comm) {
        Report report;
        ReaderOptions options;
        options.index_memory = much ? 1 << 20 : 16 << 10;
        options.most_files = 1;
        options.parts.cache_bytes = 0;
        Reader reader(all.schema(), all.path(), read_directly, options, comm.rank(), report);
        reader.use(all.state());
        DistributedIndex dealt(comm, all.schema(), reader, 1 << 20);
        const auto loads = [&](const std::vector<Question>& asked) {
          const Asker asker(all, asked);
          const std::int64_t before = reader.indexes_loaded();
          ranks > 1 ? dealt.read(asker.wanted()) : reader.read(asker.wanted());
          EXPECT_EQ(asker.wrong(), 0) << "rank " << comm.rank() << " of " << ranks;
          return reader.indexes_loaded() - before;
        };
        const std::int64_t first = loads(dense), second = loads(sparse);
        if (ranks == 2) return;  // the first rank keeps two files
        if (much) EXPECT_LE(first, ranks == 1 ? 3 * files : 1 + files);  // slabs, plans, orders
        if (much) EXPECT_LE(second, ranks == 1 ? 2 * files : 1);
        EXPECT_LE(second, 8 * files);  // 15 slabs in each, loaded as memory allows
      });
    }
}

TEST(DistributedIndex, damage_is_told_to_those_who_read_and_nobody_waits) {
  const std::uint32_t files = 3;
  const Files all(files);
  fs::resize_file(data_path(all.path(), 1), 700);
  for (const int ranks : {2, 3, 7})
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      Reader reader(all.schema(), all.path(), read_directly, {}, comm.rank(), report);
      reader.use(all.state());
      DistributedIndex dealt(comm, all.schema(), reader, 1 << 12);
      for (int read = 0; read < 2; ++read) {
        const Asker asker(all, asked_by(comm.rank(), ranks, read));
        try {
          dealt.read(asker.wanted());
          EXPECT_TRUE(asker.wanted().empty()) << "rank " << comm.rank();
        } catch (const Error& error) {
          EXPECT_FALSE(asker.wanted().empty());
          EXPECT_EQ(error.code(), Errc::enotnc);
          EXPECT_NE(error.message().find("variable "), std::string::npos) << error.message();
          EXPECT_NE(error.message().find(data_path(all.path(), 1)), std::string::npos);
        }
      }
    });
}

}  // namespace distributed_index_ranks_test
}  // namespace forebay::decomposed
