#include "core/undo_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/error.h"

namespace forebay {
namespace {

constexpr Offset witness_place = 40;

class UndoFileTest : public testing::Test {
 protected:
  void SetUp() override {
    file_.write_at(0, text(std::string(1000, 'a')));
    file_.write_at(witness_place, logged::print_witness(7));
    old_ = content();
  }
  UndoFile undo(std::uint64_t session = 7) {
    return {Comm(), path_, {session, witness_place}, 1000, report_};
  }
  void overwrite(UndoFile& undo, Offset place, const std::string& with) {
    undo.save(place, std::ssize(with));
    file_.write_at(place, text(with));
  }
  static std::span<const std::byte> text(const std::string& s) {
    return std::as_bytes(std::span(s));
  }
  std::string content() {
    std::string all(1000, ' ');
    file_.read_at(0, std::as_writable_bytes(std::span(all)));
    return all;
  }
  bool has_undo() { return std::filesystem::exists(undo_path(path_)); }

  const std::string path_ = testing::TempDir() + "undo_test." + std::to_string(::getpid());
  Report report_;
  File file_{[this] {
               std::ofstream make(path_, std::ios::trunc);
               return path_;
             }(),
             true, 0, report_};
  std::string old_;
};

TEST_F(UndoFileTest, what_was_not_committed_is_put_back) {
  {
    UndoFile undo = this->undo();
    std::mt19937 rng(3);
    for (int i = 0; i < 200; ++i)
      overwrite(undo, 60 + rng() % 800,
                std::string(1 + rng() % 90, static_cast<char>('b' + i % 9)));
    EXPECT_NE(content(), old_);
    EXPECT_FALSE(put_back(path_)) << "its job lives";
  }
  EXPECT_TRUE(put_back(path_));
  EXPECT_EQ(content(), old_);
  EXPECT_FALSE(has_undo());
  EXPECT_FALSE(put_back(path_));
}

TEST_F(UndoFileTest, what_was_committed_stays) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
    undo.commit(1000);
    old_ = content();
    overwrite(undo, 102, "second");
  }
  EXPECT_TRUE(put_back(path_));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, of_ranges_saved_by_two_ranks_the_oldest_is_put_back) {
  {
    UndoFile one = undo(), other = undo();
    overwrite(one, 100, "one rank");
    overwrite(other, 104, "the other");
    overwrite(one, 90, std::string(50, 'x'));
  }
  EXPECT_TRUE(put_back(path_));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, record_that_is_not_whole_is_passed_over) {
  Offset torn = 0;
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
    torn = static_cast<Offset>(std::filesystem::file_size(undo_path(path_)));
    undo.save(200, 100);  // and killed in it, before anything was overwritten
  }
  std::filesystem::resize_file(undo_path(path_), static_cast<std::uintmax_t>(torn) + 60);
  {
    UndoFile undo = this->undo();
    overwrite(undo, 300, "of a rank that lived a little longer");
  }
  EXPECT_TRUE(put_back(path_));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, another_file_of_the_name_stays_as_it_is) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
  }
  file_.write_at(0, text(std::string(1000, 'z')));
  EXPECT_FALSE(put_back(path_));
  EXPECT_EQ(content(), std::string(1000, 'z'));
}

TEST_F(UndoFileTest, failed_write_keeps_the_old_file) {
  {
    UndoFile undo = this->undo();
    undo.begin();
    overwrite(undo, 100, "half of what was to be written");
    undo.fail();
    EXPECT_THROW(undo.close(1000), Error);
  }
  EXPECT_TRUE(put_back(path_));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, closed_file_has_nothing_beside_it) {
  UndoFile undo = this->undo();
  overwrite(undo, 100, "first");
  overwrite(undo, 2000, "beyond the old file");
  EXPECT_TRUE(has_undo());
  undo.close(3000);
  EXPECT_FALSE(has_undo());
}

}  // namespace
}  // namespace forebay
