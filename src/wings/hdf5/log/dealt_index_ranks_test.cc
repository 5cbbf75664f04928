// Look-ups in an index whose pages are dealt to the ranks, with ranks as threads: they find what
// each rank finds by itself.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "hdf5/log/logged_file.h"

namespace forebay {
namespace dealt_index_ranks_test {

constexpr Count side = 96;                 // of arrays of 96 x 96 numbers
constexpr int pieces = 1500, rounds = 12;  // pieces of each rank and dataset
constexpr std::uint64_t datasets[] = {7, 8};

/// Blocks one behind the other. Every rank has one of these, and all are asked the same.
class BlocksInTurn : public logged::BlockSpace {
 public:
  Offset allot(Use, Count bytes) override {
    const Offset place = end_;
    end_ += bytes;
    return place;
  }

 private:
  Offset end_ = 4096;
};

Placed box_of(Count row, Count column, Count rows, Count columns) {
  return box_pattern(std::vector<Count>{side, side},
                     std::vector<Steps>{{row, rows, 1}, {column, columns, 1}});
}

class DealtIndexRanks {
 public:
  DealtIndexRanks(const Comm& comm, std::string path) : comm_(comm), path_(std::move(path)) {}

  void write() {
    auto file = open(true);
    comm_.barrier();  // behind it all have opened it
    file->start_writing();
    std::mt19937_64 random(static_cast<std::uint64_t>(comm_.rank()));
    for (int i = 0; i < pieces; ++i) {
      for (const std::uint64_t dataset : datasets) {
        const auto row = static_cast<Count>(random() % (side - 2));
        const auto column = static_cast<Count>(random() % (side - 3));
        const std::vector<std::int32_t> values(6, i * 1000 + comm_.rank());
        file->writer().begin(false);
        file->writer().write(dataset, box_of(row, column, 2, 3), std::as_bytes(std::span(values)),
                             false);
        file->writer().publish();
      }
      if (i % 400 == 399) {
        file->writer().cut(8, std::vector<Count>{side - i / 400, side});
        file->flush();
      }
    }
    index_ = file->finish()->place;
    blocks_ = file->reader().blocks();
    comm_.barrier();
  }

  /// `memory`: of a rank. With little of it a look-up has several rounds.
  void read(Count memory) {
    auto file = open(false, memory);
    file->open_index(index_);
    for (const auto& block : blocks_) file->add_block(block);
    EXPECT_TRUE(file->index_is_dealt());
    std::mt19937_64 random(100 + static_cast<std::uint64_t>(comm_.rank()));
    for (int round = 0; round < rounds; ++round) {
      std::vector<logged::WantedEntries> wanted;
      std::vector<Placed> boxes;
      // In one of two rounds a rank wants nothing, in one of three one wants what cannot be.
      const bool nothing = round % 2 == 0 && comm_.rank() == round / 2 % comm_.size();
      const bool wrong = round % 3 == 0 && comm_.rank() == (round / 3 + 1) % comm_.size();
      for (int n = 0; n < 3 && !nothing; ++n) {
        const auto rows = static_cast<Count>(1 + random() % side);
        const auto columns = static_cast<Count>(1 + random() % side);
        boxes.push_back(
            box_of(static_cast<Count>(random() % static_cast<std::uint64_t>(side - rows + 1)),
                   static_cast<Count>(random() % static_cast<std::uint64_t>(side - columns + 1)),
                   rows, columns));
        // There is no dataset 9.
        wanted.push_back({7 + static_cast<std::uint64_t>(n), 2,
                          bounds_of(boxes.back().pattern, boxes.back().base)});
      }
      if (wrong && !wanted.empty()) wanted.back() = {8, 3, wanted.back().bounds};
      std::vector<std::vector<logged::NumberedEntry>> found;
      const auto failed = attempt_to([&] { found = file->find_together(wanted); });
      EXPECT_EQ(failed.has_value(), wrong && !nothing);
      if (failed) {
        EXPECT_EQ(failed->code(), Errc::ebadlog) << failed->message();
        continue;
      }
      for (std::size_t n = 0; n < wanted.size(); ++n) compare(*file, wanted[n], boxes[n], found[n]);
      compared_ += nothing ? 0 : 1;
    }
    EXPECT_GE(compared_, 5);
    comm_.barrier();
  }

  /// Every rank meets the damage of its own look-up, and none waits for another.
  void read_damaged() {
    if (comm_.is_root()) {
      std::fstream disk(path_, std::ios::in | std::ios::out | std::ios::binary);
      disk.seekg(index_.place + index_.bytes - 5);
      const int byte = disk.get();
      disk.seekp(index_.place + index_.bytes - 5);
      disk.put(static_cast<char>(byte ^ 1));
    }
    comm_.barrier();
    auto file = open(false, 1 << 14);
    file->open_index(index_);
    const Placed all = box_of(0, 0, side, side);
    for (const std::uint64_t dataset : datasets) {
      const logged::WantedEntries wanted{dataset, 2, bounds_of(all.pattern, all.base)};
      const auto failed =
          attempt_to([&] { file->find_together(std::span(&wanted, comm_.rank() == 0 ? 0 : 1)); });
      // The index ends with one of the two lists.
      if (failed) EXPECT_EQ(failed->code(), Errc::ebadlog) << failed->message();
      if (failed) EXPECT_NE(comm_.rank(), 0);
      damaged_ += failed ? 1 : 0;
    }
    EXPECT_EQ(damaged_, comm_.rank() == 0 ? 0 : 1);
  }

 private:
  std::unique_ptr<LoggedFile> open(bool writable, Count memory = 64 << 20) {
    LoggedFileOptions options;
    options.path = path_;
    options.writable = writable;
    options.method.log_memory = memory;
    return std::make_unique<LoggedFile>(comm_, options, &space_);
  }

  void compare(LoggedFile& file, const logged::WantedEntries& wanted, const Placed& box,
               std::vector<logged::NumberedEntry>& found) {
    const auto alone = file.reader().find(wanted.dataset, wanted.ndims, wanted.bounds);
    ASSERT_EQ(found.size(), alone.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].number, alone[i].number);
      ASSERT_EQ(found[i].entry.data, alone[i].entry.data);
      ASSERT_EQ(found[i].ref, alone[i].ref);
    }
    const std::int32_t fill = -1;
    const logged::DatasetShape shape{wanted.dataset, 2, sizeof fill,
                                     std::as_bytes(std::span(&fill, 1)), nullptr};
    std::vector<std::int32_t> together(static_cast<std::size_t>(box.pattern.elements()), -2);
    auto by_itself = together;
    file.read(shape, box, std::as_writable_bytes(std::span(together)), &found);
    file.read(shape, box, std::as_writable_bytes(std::span(by_itself)));
    ASSERT_EQ(together, by_itself);
  }

  Comm comm_;
  std::string path_;
  BlocksInTurn space_;
  logged::MetadataBlock index_;
  std::vector<logged::MetadataBlock> blocks_;
  int damaged_ = 0, compared_ = 0;
};

TEST(DealtIndex, ranks_find_together_what_each_finds_alone) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("forebay_dealt_index_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "log";
  for (const int ranks : {2, 5}) {
    { std::ofstream(path) << "a file"; }
    run_as_threads(ranks, [&](const Comm& comm) {
      DealtIndexRanks test(comm, path);
      test.write();
      for (const Count memory : {1 << 14, 1 << 18}) test.read(memory);
      test.read_damaged();
    });
  }
  std::filesystem::remove_all(folder);
}

}  // namespace dealt_index_ranks_test
}  // namespace forebay
