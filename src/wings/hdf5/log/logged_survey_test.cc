// A log in its own file, without HDF5: counted, verified, damaged. Also the bytes of the hidden
// attributes.
#include "hdf5/log/logged_survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "hdf5/log/logged_store_text.h"

namespace forebay {
namespace logged_survey_test {

namespace fs = std::filesystem;

/// Allots blocks one after another, with gaps.
class Appending : public logged::BlockSpace {
 public:
  Offset allot(Use use, Count bytes) override {
    const Offset place = end_ + 64;
    end_ = place + bytes;
    if (use == Use::metadata) blocks.push_back({place, bytes});
    if (use == Use::index) index = {place, bytes};
    return place;
  }
  std::vector<logged::MetadataBlock> blocks;
  logged::MetadataBlock index;

 private:
  Offset end_ = 0;
};

/// Three flushes of two datasets of 4 × 8 elements of 4 bytes, each with the same selection.
class LoggedSurvey : public testing::Test {
 protected:
  LoggedSurvey() : path_(fs::temp_directory_path() / ("logged_survey_" + name())) {
    std::ofstream(path_).close();
    LoggedFile file(Comm(), options(true), &space_);
    file.start_writing();
    for (int step = 0; step < 3; ++step) {
      for (const std::uint64_t dataset : {3, 7}) {
        std::vector<std::byte> values(64, static_cast<std::byte>(16 * step + 1));
        const std::vector<Count> extents = {4, 8};
        const std::vector<Steps> steps = {{step, 2, 1}, {0, 8, 1}};
        file.writer().write(dataset, box_pattern(extents, steps), values, false);
      }
      file.flush();
    }
    file.finish();
  }
  ~LoggedSurvey() override { fs::remove(path_); }

  static std::string name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  LoggedFileOptions options(bool writable) const {
    LoggedFileOptions options;
    options.path = path_.string();
    options.writable = writable;
    return options;
  }
  std::unique_ptr<LoggedFile> open(bool with_index) {
    auto file = std::make_unique<LoggedFile>(Comm(), options(false), nullptr);
    if (with_index) file->set_index(space_.index);
    for (const auto& block : space_.blocks) file->add_block(block);
    return file;
  }
  void flip(Offset place) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(place);
    const char byte = static_cast<char>(file.get() ^ 0x40);
    file.seekp(place);
    file.put(byte);
  }
  LogCheck check() { return check_log(*open(true), {}); }

  fs::path path_;
  Appending space_;
};

TEST_F(LoggedSurvey, statistics_are_the_same_with_index_and_without) {
  for (const bool with_index : {true, false}) {
    const LogStatistics log = log_statistics(*open(with_index));
    EXPECT_EQ(log.selections.writes, 6U);
    EXPECT_EQ(log.entries, 6);
    EXPECT_EQ(log.datasets, 2);
    EXPECT_EQ(log.selections.blocks, 6U);
    EXPECT_EQ(log.data_bytes, 6 * 64);
    EXPECT_EQ(log.selections.shared, 5U);  // one selection, at other bases
    EXPECT_EQ(log.selections.plain, 6U * 2 * 2 * 8);
    EXPECT_LT(log.selections.stored, log.selections.packed);
    EXPECT_EQ(log.blocks, 3);
    EXPECT_EQ(log.indexed_blocks, with_index ? 3 : 0);
    EXPECT_EQ(log.subfiles, 0);
  }
}

TEST_F(LoggedSurvey, all_is_verified) {
  Count told = 0;
  const LogCheck check = check_log(*open(true), [&](Count done) { told = done; });
  EXPECT_TRUE(check.faults.empty());
  EXPECT_EQ(check.sections, 3);
  EXPECT_EQ(check.entries, 6);
  EXPECT_EQ(check.lists, 2);
  EXPECT_EQ(check.bytes, 6 * 64);
  EXPECT_EQ(told, 6 * 64);
}

TEST_F(LoggedSurvey, damaged_data_names_its_dataset) {
  const auto file = open(true);
  const Offset data = file->reader().from_index(7, 2).entry(1).data;
  flip(data + 63);
  const LogCheck check = this->check();
  ASSERT_EQ(check.faults.size(), 1U);
  EXPECT_EQ(check.faults[0].dataset, 7U);
  EXPECT_EQ(check.bytes, 5 * 64);
}

TEST_F(LoggedSurvey, damaged_section_leaves_the_others) {
  flip(space_.blocks[1].place + space_.blocks[1].bytes - 1);
  const LogCheck check = this->check();
  ASSERT_EQ(check.faults.size(), 1U);
  EXPECT_FALSE(check.faults[0].dataset);
  EXPECT_EQ(check.sections, 2);
}

TEST_F(LoggedSurvey, damaged_list_of_the_index_names_its_dataset) {
  flip(space_.index.place + space_.index.bytes - 1);
  const LogCheck check = this->check();
  ASSERT_EQ(check.faults.size(), 1U);
  EXPECT_EQ(check.faults[0].dataset, 7U);
  EXPECT_EQ(check.lists, 1);
}

TEST_F(LoggedSurvey, every_damaged_byte_of_the_log_is_told_and_none_is_thrown) {
  const Offset end = static_cast<Offset>(fs::file_size(path_));
  // The byte after "B" in a table and in a section is not checked.
  const auto unused = [](Offset at) { return at == 7 || at == 32 + 16 + 7; };
  for (const auto& block : space_.blocks)
    for (Offset at = block.place; at < std::min(end, block.place + block.bytes); ++at) {
      if (unused(at - block.place)) continue;
      flip(at);
      EXPECT_FALSE(this->check().faults.empty()) << "byte " << at;
      flip(at);
    }
}

TEST(LoggedStoreText, gives_back_what_was_printed) {
  const logged::StoredFile file = {0x123456789abcdef0, 5};
  const auto again = logged::parse_stored_file(logged::print_stored_file(file));
  EXPECT_EQ(again.session, file.session);
  EXPECT_EQ(again.index, file.index);
  const logged::StoredDataset dataset = {9, {4, 0}, {UINT64_MAX, 6}, {std::byte{1}, std::byte{2}}};
  const auto same = logged::parse_stored_dataset(logged::print_stored_dataset(dataset));
  EXPECT_EQ(same.id, 9U);
  EXPECT_EQ(same.extents, dataset.extents);
  EXPECT_EQ(same.maximum, dataset.maximum);
  EXPECT_EQ(same.dcpl, dataset.dcpl);
}

TEST(LoggedStoreText, damage_is_refused) {
  const auto good = logged::print_stored_dataset({9, {4, 5}, {4, 5}, {}});
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_THROW(logged::parse_stored_dataset(std::span(good).first(n)), Error) << n;
  const std::size_t version = 0, ndims = 16, extent = 24;
  for (const std::size_t at : {version, ndims, extent}) {
    auto bad = good;
    std::fill_n(bad.begin() + static_cast<long>(at), 8, std::byte{0xff});
    EXPECT_THROW(logged::parse_stored_dataset(bad), Error) << at;
  }
}

}  // namespace logged_survey_test
}  // namespace forebay
