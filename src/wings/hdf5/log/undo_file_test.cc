#include "hdf5/log/undo_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "base/error.h"
#include "comm/thread_ranks.h"

namespace forebay {
namespace undo_file_test {

// The library looks up only once whether system calls may be made to fail (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 0);

constexpr Offset witness_place = 40;

class UndoFileTest : public testing::Test {
 protected:
  void SetUp() override {
    file_.write_at(0, text(std::string(1000, 'a')));
    file_.write_at(witness_place, logged::print_witness(7));
    old_ = content();
  }
  void TearDown() override { std::filesystem::remove(undo_path(path_)); }
  UndoFile undo() { return {Comm(), path_, {7, witness_place}, 1000}; }
  void overwrite(UndoFile& undo, Offset place, const std::string& with) {
    undo.save(place, std::ssize(with));
    file_.write_at(place, text(with));
  }
  static std::span<const std::byte> text(const std::string& s) {
    return std::as_bytes(std::span(s));
  }
  std::string content() {
    std::string all(2000, ' ');
    all.resize(file_.read_at(0, std::as_writable_bytes(std::span(all))));
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
    EXPECT_FALSE(put_back(path_, false)) << "its job lives";
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
  EXPECT_FALSE(has_undo());
  EXPECT_FALSE(put_back(path_, false));
}

TEST_F(UndoFileTest, what_was_committed_stays) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
    undo.commit(1000);
    old_ = content();
    overwrite(undo, 102, "second");
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

// Whether the undo file was truncated nonetheless is unknown. Here it was.
TEST_F(UndoFileTest, after_a_commit_that_failed_either_file_is_restored) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
    file_.write_at(1000, text("the new file is longer"));
    ::setenv("FOREBAY_FAULT", "ftruncate:call=1:errno=EIO", 1);
    EXPECT_THROW(undo.commit(1022), Error);
    ::setenv("FOREBAY_FAULT", "none", 1);
    old_ = content();
    overwrite(undo, 100, "second");
    overwrite(undo, 990, "behind the end of the old one");
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, of_ranges_saved_by_two_ranks_the_oldest_is_put_back) {
  {
    UndoFile one = undo(), other = undo();
    overwrite(one, 100, "one rank");
    overwrite(other, 104, "the other");
    overwrite(one, 90, std::string(50, 'x'));
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, record_that_is_not_whole_is_passed_over) {
  {
    UndoFile one = undo(), other = undo();
    overwrite(one, 100, "first");
    const auto torn = std::filesystem::file_size(undo_path(path_));
    one.save(200, 100);  // killed before anything was overwritten
    std::filesystem::resize_file(undo_path(path_), torn + 60);
    overwrite(other, 300, "of a rank that lived a little longer");
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, another_file_of_the_name_stays_as_it_is) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
  }
  file_.write_at(0, text(std::string(1000, 'z')));
  EXPECT_FALSE(put_back(path_, false));
  EXPECT_EQ(content(), std::string(1000, 'z'));
}

TEST_F(UndoFileTest, failed_write_keeps_the_old_file) {
  {
    UndoFile undo = this->undo();
    undo.begin();
    overwrite(undo, 100, "half of what was to be written");
    undo.fail(Error(Errc::ewrite, "no room"));
    EXPECT_THROW(undo.close(1000), Error);
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, what_an_earlier_opening_left_is_nothing_to_the_file) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
  }
  file_.write_at(witness_place,
                 logged::print_witness(8));  // opened again elsewhere, and moved back
  old_ = content();
  EXPECT_FALSE(put_back(path_, true));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, torn_record_of_a_newer_version_is_passed_over) {
  {
    UndoFile undo = this->undo();
    overwrite(undo, 100, "first");
  }
  {
    std::ofstream more(undo_path(path_), std::ios::app);
    const std::string front = std::string("FBUNDO01\0\0\0\x63", 12) + std::string(40, '\0');
    more << front;
  }
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
}

// A process that the job has started holds the job's locks while it lives.
TEST_F(UndoFileTest, file_whose_writer_lingers_is_refused) {
  pid_t lingers = 0;
  {
    UndoFile undo = this->undo();
    if ((lingers = ::fork()) == 0) {
      for (;;) ::pause();
    }
    EXPECT_FALSE(put_back(path_, true)) << "its own";
    overwrite(undo, 100, "first");
  }
  const std::string torn = content();
  EXPECT_THROW(put_back(path_, false), Error);
  EXPECT_THROW(put_back(path_, true), Error);
  EXPECT_EQ(content(), torn);
  ::kill(lingers, SIGKILL);
  ::waitpid(lingers, nullptr, 0);
  EXPECT_TRUE(put_back(path_, true));
  EXPECT_EQ(content(), old_);
}

TEST_F(UndoFileTest, writer_that_lingers_after_a_flush_refuses_writers_alone) {
  pid_t lingers = 0;
  {
    UndoFile undo = this->undo();
    if ((lingers = ::fork()) == 0) {
      for (;;) ::pause();
    }
  }
  EXPECT_FALSE(put_back(path_, false));
  EXPECT_THROW(put_back(path_, true), Error);
  ::kill(lingers, SIGKILL);
  ::waitpid(lingers, nullptr, 0);
  EXPECT_FALSE(put_back(path_, true));
}

TEST_F(UndoFileTest, it_lies_beside_the_file_with_its_mode) {
  const std::string link = path_ + ".link";
  std::filesystem::create_symlink(path_, link);
  ::chmod(path_.c_str(), 0660);
  {
    UndoFile undo(Comm(), link, {7, witness_place}, 1000);
    overwrite(undo, 100, "first");
  }
  EXPECT_FALSE(std::filesystem::exists(link + ".undo"));
  struct stat status {};
  ASSERT_EQ(::stat((path_ + ".undo").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660u);
  EXPECT_TRUE(put_back(path_, false));
  EXPECT_EQ(content(), old_);
  std::filesystem::remove(link);
}

TEST_F(UndoFileTest, other_files_of_that_name_stay_as_they_are) {
  std::filesystem::create_symlink(path_, path_ + ".undo");
  EXPECT_THROW(undo(), Error);
  EXPECT_THROW(put_back(path_, true), Error);
  std::filesystem::remove(path_ + ".undo");
  EXPECT_EQ(content(), old_);

  std::ofstream(path_ + ".undo") << "the user's";
  EXPECT_FALSE(put_back(path_, true));
  {
    UndoFile undo = this->undo();
    EXPECT_FALSE(undo.active());
    overwrite(undo, 100, "first");
    undo.close(1000);
  }
  EXPECT_EQ(std::filesystem::file_size(path_ + ".undo"), 10u);
}

// If HDF5 gets a success for a failed write, it does not repeat the write.
TEST_F(UndoFileTest, write_that_was_left_out_fails_every_flush_on_all_ranks) {
  int failed = 0;
  run_as_threads(3, [&](const Comm& comm) {
    UndoFile undo(comm, path_, {7, witness_place}, 1000);
    EXPECT_TRUE(undo.active());
    if (comm.rank() == 1) undo.lose(Error(Errc::eno_space, "no room"));
    for (int i = 0; i < 2; ++i) {
      undo.begin();
      try {
        undo.commit(1000);
      } catch (const Error& error) {
        std::atomic_ref(failed)++;
        EXPECT_EQ(comm.rank() == 1, error.message().find("no room") != std::string::npos);
      }
    }
  });
  EXPECT_EQ(failed, 6);
}

TEST_F(UndoFileTest, closed_file_has_nothing_beside_it) {
  UndoFile undo = this->undo();
  overwrite(undo, 100, "first");
  overwrite(undo, 2000, "beyond the old file");
  EXPECT_TRUE(has_undo());
  undo.close(3000);
  EXPECT_FALSE(has_undo());
}

}  // namespace undo_file_test
}  // namespace forebay
