// The log layout with ranks as threads: what a rank has written others find without a flush, by
// memory that is shared and by files, while everybody writes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "comm/thread_ranks.h"
#include "hdf5/log/logged_file.h"

namespace forebay {
namespace {

constexpr Count columns = 60;
constexpr int rounds = 24, flush_every = 8;

/// Blocks one behind the other. Every rank has one of these, and all are asked the same.
class Behind : public logged::BlockSpace {
 public:
  Offset allot(Use, Count bytes) override {
    const Offset place = end_;
    end_ += bytes;
    return place;
  }

 private:
  Offset end_ = 4096;
};

struct Case {
  const char* name;
  int ranks, ranks_per_node;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class LoggedRanks : public testing::TestWithParam<Case> {};

/// Each rank has a row of a dataset, and writes a part of it again and again; the others read it.
class Writer {
 public:
  Writer(const Comm& comm, const std::string& path, int ranks_per_node, std::uint64_t seed)
      : comm_(comm), rng_(seed * 100 + static_cast<std::uint64_t>(comm.rank())) {
    LoggedFileOptions options;
    options.path = path;
    options.writable = true;
    options.method.buffer_limit = 4096;  // most data waits in a temporary file
    options.method.ranks_per_node = ranks_per_node;
    file_.emplace(comm, options, &space_);
    comm.barrier();  // behind it all have opened it
    file_->start_writing();
    if (ranks_per_node > 0) EXPECT_TRUE(file_->copies_pending()) << "by files";
  }

  void run() {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 5; ++i) write_some(round);
      read_one(static_cast<int>(rng_() % static_cast<std::uint64_t>(comm_.size())), round, false);
      comm_.barrier();  // what was written before it is there for all
      for (int r = 0; r < comm_.size(); ++r) read_one(r, round, true);
      comm_.barrier();
      if ((round + 1) % flush_every == 0) file_->flush();
    }
    file_->finish();
  }

 private:
  /// Row r in round n holds n everywhere, or what it held before.
  Placed part(int row, Count first, Count count) const {
    return box_pattern(std::vector<Count>{comm_.size(), columns},
                       std::vector<Steps>{{row, 1, 1}, {first, count, 1}});
  }
  logged::DatasetShape shape() const {
    return {7, 2, sizeof(std::int32_t), std::as_bytes(std::span(&fill_, 1)), nullptr};
  }

  void write_some(int round) {
    const Count first = static_cast<Count>(rng_() % (columns - 20));
    Count count = 20;
    // The whole row at the end of a round, so that readers know what has to be there.
    const bool whole = ++written_ % 5 == 0;
    if (whole) count = columns;
    const std::vector<std::int32_t> values(static_cast<std::size_t>(count), round);
    auto& writer = file_->writer();
    writer.begin(false);
    writer.write(7, part(comm_.rank(), whole ? 0 : first, count), std::as_bytes(std::span(values)),
                 false);
    writer.make_room();
    writer.publish();
  }

  void read_one(int row, int round, bool complete) {
    std::vector<std::int32_t> values(columns, -2);
    file_->read(shape(), part(row, 0, columns), std::as_writable_bytes(std::span(values)));
    for (const std::int32_t v : values) {
      if (complete ? v == round : v == round || v == round - 1 || (round == 0 && v == -2)) continue;
      ADD_FAILURE() << "rank " << comm_.rank() << " reads " << v << " in row " << row
                    << " of round " << round;
      return;
    }
  }

  Comm comm_;
  std::mt19937_64 rng_;
  Behind space_;
  std::optional<LoggedFile> file_;
  std::int32_t fill_ = -1;
  int written_ = 0;
};

TEST_P(LoggedRanks, find_what_others_have_written) {
  const char* given = std::getenv("FOREBAY_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const auto folder = std::filesystem::temp_directory_path() /
                      ("forebay_logged_ranks_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "log";
  { std::ofstream(path) << "a file"; }
  run_as_threads(GetParam().ranks, [&](const Comm& comm) {
    Writer(comm, path, GetParam().ranks_per_node, seed).run();
  });
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(, LoggedRanks,
                         testing::Values(Case{"by_memory", 4, 0}, Case{"by_files", 4, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace forebay
