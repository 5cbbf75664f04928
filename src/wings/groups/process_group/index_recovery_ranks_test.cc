// Steps that are found although the index lacks them, and groups that are no step.
// groups/tests/check_bp.py checks that an index of all types is rebuilt as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"
#include "groups/process_group/step_testing.h"

namespace forebay::process_group {
namespace recovery_ranks_test {

namespace fs = std::filesystem;

class RecoveryRanks : public StepFileTest {
 protected:
  void put_bytes(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  void cut(const std::string& name, std::uintmax_t by) const {
    fs::resize_file(path_ / name, fs::file_size(path_ / name) - by);
  }
  void lose_index() const {
    fs::remove(path_ / "md.0");
    fs::remove(path_ / "md.idx");
  }

  /// Element i of a step is 100 * step + i; `base` is added to all of a step.
  void write(int ranks, int steps, bool append = false, double base = 0, int parts = 1) const {
    run_as_threads(ranks, [&](const Comm& comm) {
      Report report;
      const auto file = append ? StepWriter::append(comm, path_, {}, report)
                               : StepWriter::create(comm, path_, {}, report);
      for (int n = 0; n < steps; ++n) {
        const auto step = static_cast<double>(file->steps());
        for (int part = 0; part < parts; ++part) {
          const Count first = 2 * (part * ranks + comm.rank()), all = 2 * Count{ranks} * parts;
          std::vector<double> values;
          for (const Count i : {first, first + 1})
            values.push_back(base + 100 * step + static_cast<double>(i));
          file->add({"v", bp::Type::float64}, {{all}, {first}, {2}},
                    std::as_bytes(std::span(values)), false);
          if (part + 1 < parts) file->flush();
        }
        file->end_step();
      }
      file->close();
    });
  }
  BpRecovery recover(const BpRecoveryOptions& options = {}) const {
    Report report;
    return recover_index(path_, options, 0, report);
  }
  /// First elements of all steps.
  std::vector<double> steps() const {
    Report report;
    const BpReader file(Comm(), path_, report);
    std::vector<double> firsts;
    for (std::size_t step = 0; step < file.steps(); ++step) {
      const Count all = file.array(0, step).shape[0];
      std::vector<double> values(static_cast<std::size_t>(all));
      file.read(0, step, {{0}, {all}, {}}, reinterpret_cast<std::byte*>(values.data()));
      for (Count i = 0; i < all; ++i)
        EXPECT_EQ(values[static_cast<std::size_t>(i)], values[0] + static_cast<double>(i));
      firsts.push_back(values[0]);
    }
    return firsts;
  }
};

using Steps = std::vector<double>;

TEST_F(RecoveryRanks, an_index_of_steps_in_several_parts_is_made_again_as_it_was) {
  write(3, 3, false, 0, 4);
  write(2, 2, true, 0, 2);  // others, later
  const std::string metadata = bytes_of("md.0");
  lose_index();
  const auto found = recover();
  EXPECT_EQ(found.by_groups, 5U);
  EXPECT_TRUE(found.changed);
  EXPECT_EQ(bytes_of("md.0"), metadata);
  EXPECT_EQ(steps(), (Steps{0, 100, 200, 300, 400}));
  EXPECT_FALSE(recover().needed);
}

TEST_F(RecoveryRanks, a_step_with_a_group_less_is_none) {
  write(3, 3);
  const std::string data = bytes_of("data.0");
  const auto last_group = [&](int rank) {
    std::size_t at = std::string::npos;
    for (int n = 3; n > rank; --n) at = data.rfind("\x07\0forebay", at - 1, 9);
    return at - 13;
  };
  for (int rank = 0; rank < 3; ++rank) {
    const std::size_t at = last_group(rank);
    ASSERT_EQ(data.substr(at, 4), "[PGI");
    // A hole, as if another rank was killed before it wrote; then only the group's beginning; then
    // only its heads.
    for (const std::size_t torn : {at, at + 100, data.find("VMD]", at) + 4}) {
      std::string damaged = data;
      const std::size_t end = std::min(at + 4096, data.size());
      std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(torn),
                damaged.begin() + static_cast<std::ptrdiff_t>(end), '\0');
      put_bytes("data.0", damaged);
      lose_index();
      EXPECT_EQ(recover().steps, 2U) << rank << " " << torn - at;
      EXPECT_EQ(steps(), (Steps{0, 100})) << rank << " " << torn - at;
    }
  }
}

// The remains of a kill behind the last step, and steps that were appended behind them.
TEST_F(RecoveryRanks, of_a_step_that_was_written_again_the_later_one_is_taken) {
  write(3, 3);
  // The third step gets no record, and another program appends in its place.
  cut("md.idx", bp::record_bytes);
  write(2, 1, true, 0.5);
  ASSERT_EQ(steps(), (Steps{0, 100, 200.5}));
  const std::string metadata = bytes_of("md.0");
  EXPECT_FALSE(recover().needed);
  lose_index();
  EXPECT_EQ(recover().steps, 3U);
  EXPECT_EQ(bytes_of("md.0"), metadata);
  EXPECT_EQ(steps(), (Steps{0, 100, 200.5}));
}

// The fourth step in the file is of an opening whose third step was replaced by another opening's.
TEST_F(RecoveryRanks, a_step_of_an_opening_before_does_not_follow) {
  write(3, 4);
  cut("md.idx", 2 * bp::record_bytes);
  write(2, 1, true, 0.5);
  EXPECT_FALSE(recover().needed);
  EXPECT_EQ(steps(), (Steps{0, 100, 200.5}));
  lose_index();
  EXPECT_EQ(recover().steps, 3U);
  EXPECT_EQ(steps(), (Steps{0, 100, 200.5}));
}

TEST_F(RecoveryRanks, old_index_files_stay_and_only_the_oldest) {
  write(2, 3);
  const std::string index = bytes_of("md.idx"), metadata = bytes_of("md.0");
  put_bytes("md.idx", index.substr(0, 100));
  put_bytes("md.0", metadata.substr(0, metadata.size() - 1));
  const auto found = recover();
  EXPECT_EQ(found.steps, 3U);
  EXPECT_EQ(found.by_index, 2U);
  EXPECT_EQ(found.by_groups, 1U);
  EXPECT_EQ(found.kept.size(), 2U);
  EXPECT_EQ(bytes_of("md.idx.old"), index.substr(0, 100));
  EXPECT_EQ(bytes_of("md.0.old"), metadata.substr(0, metadata.size() - 1));
  EXPECT_EQ(bytes_of("md.0"), metadata);
  cut("md.idx", 1);
  const auto again = recover();
  EXPECT_TRUE(again.changed);
  EXPECT_TRUE(again.kept.empty());
  EXPECT_EQ(bytes_of("md.idx.old"), index.substr(0, 100));
  EXPECT_EQ(steps(), (Steps{0, 100, 200}));
  write(2, 1);  // a new file removes them
  EXPECT_FALSE(fs::exists(path_ / "md.idx.old"));
}

// md.0 is renamed first.
TEST_F(RecoveryRanks, a_recovery_that_was_killed_is_done_again) {
  write(2, 3);
  const std::string index = bytes_of("md.idx"), metadata = bytes_of("md.0");
  put_bytes("md.idx", index.substr(0, 128));
  put_bytes("md.0.new", "what is left");
  put_bytes("md.idx.new", "of another");
  EXPECT_EQ(recover({true, false}).steps, 3U);
  EXPECT_EQ(bytes_of("md.idx").size(), 128U);
  EXPECT_EQ(recover().steps, 3U);
  EXPECT_FALSE(fs::exists(path_ / "md.0.new") || fs::exists(path_ / "md.idx.new"));
  EXPECT_EQ(steps(), (Steps{0, 100, 200}));
}

TEST_F(RecoveryRanks, steps_are_given_up_only_where_that_is_asked_for) {
  write(2, 4);
  // The end of the third step's values is missing, and everything behind it.
  {
    Report report;
    const BpReader file(Comm(), path_, report);
    const auto blocks = file.blocks(0, 2);
    fs::resize_file(path_ / "data.0", static_cast<std::uintmax_t>(blocks[1].payload + 15));
  }
  const std::string index = bytes_of("md.idx");
  const auto found = recover();
  EXPECT_EQ(found.before, 4U);
  EXPECT_EQ(found.steps, 2U);
  EXPECT_EQ(found.lost(), 2U);
  EXPECT_FALSE(found.changed);
  EXPECT_FALSE(found.notes.empty());
  EXPECT_EQ(bytes_of("md.idx"), index);
  EXPECT_TRUE(recover({false, true}).changed);
  EXPECT_EQ(steps(), (Steps{0, 100}));
  EXPECT_EQ(bytes_of("md.idx.old"), index);
}

// Data files may be on tape.
TEST_F(RecoveryRanks, an_index_without_its_data_files_is_left_alone) {
  write(2, 2);
  const std::string index = bytes_of("md.idx");
  fs::remove(path_ / "data.0");
  EXPECT_EQ(recover().lost(), 2U);
  EXPECT_EQ(bytes_of("md.idx"), index);
  EXPECT_FALSE(fs::exists(path_ / "md.idx.old"));
}

// Appending would overwrite bytes that can be recovered.
TEST_F(RecoveryRanks, a_file_that_lacks_something_is_not_appended_to) {
  write(3, 3);
  const std::string index = bytes_of("md.idx");
  for (const bool metadata : {true, false}) {
    if (metadata) {
      cut("md.0", 1);
    } else {
      fs::rename(path_ / "data.0", path_ / "data.7");
    }
    EXPECT_THROW(write(3, 1, true), Error);
    EXPECT_EQ(bytes_of("md.idx"), index);
    if (!metadata) fs::rename(path_ / "data.7", path_ / "data.0");
    if (metadata) EXPECT_TRUE(recover().changed);
    EXPECT_EQ(steps(), (Steps{0, 100, 200}));
  }
}

TEST_F(RecoveryRanks, a_damaged_step_of_the_index_comes_from_its_groups) {
  write(2, 4);
  const std::string metadata = bytes_of("md.0");
  std::string damaged = metadata;
  for (std::size_t at = metadata.size() / 2; at < metadata.size() / 2 + 8; ++at)
    damaged[at] = '\x7f';
  put_bytes("md.0", damaged);
  const auto found = recover();
  EXPECT_EQ(found.lost(), 0U);
  EXPECT_GT(found.by_groups, 0U);
  EXPECT_EQ(bytes_of("md.0"), metadata);
  EXPECT_EQ(bytes_of("md.0.old"), damaged);
}

TEST_F(RecoveryRanks, others_folders_are_none_of_bp) {
  fs::create_directory(path_);
  EXPECT_FALSE(has_bp_files(path_));
  put_bytes("data.0", "");
  put_bytes("md.idx", "measured in the laboratory");
  EXPECT_FALSE(has_bp_files(path_));
  EXPECT_FALSE(has_bp_files(path_ / "data.0"));
  put_bytes("data.7", "ADIOS-BP v2.9.0 Data");
  EXPECT_TRUE(has_bp_files(path_));
}

// Clocks may go back, on other nodes or when they are set.
TEST_F(RecoveryRanks, openings_follow_one_another_whatever_the_clock_says) {
  write(2, 2);
  std::string data = bytes_of("data.0");
  const auto set_later = [&](char digit) {  // all openings
    for (std::size_t at = data.find("[PGI"); at != std::string::npos;
         at = data.find("[PGI", at + 1))
      if (data.substr(at + 13, 9) == std::string("\x07\0forebay", 9))
        data[data.find('/', at) + 1] = digit;
    put_bytes("data.0", data);
  };
  set_later('2');
  write(2, 1, true);
  EXPECT_FALSE(recover().needed);
  lose_index();
  EXPECT_EQ(recover().steps, 3U);
  // The opening of the last step with a record, and of a step without one.
  data = bytes_of("data.0");
  set_later('3');
  cut("md.idx", bp::record_bytes);
  write(2, 2, true, 0.5);
  lose_index();
  EXPECT_EQ(recover().steps, 4U);
  EXPECT_EQ(steps(), (Steps{0, 100, 200.5, 300.5}));
  data = bytes_of("data.0");
  set_later('f');
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    EXPECT_EQ(code_of(attempt_to([&] { StepWriter::append(comm, path_, {}, report); })),
              Errc::erange);
  });
}

// The torn third group ends where a group ends that was appended behind its remains.
TEST_F(RecoveryRanks, a_torn_group_is_none_with_the_end_of_another) {
  for (const bool whole_index : {true, false}) {
    write(1, 3);
    const std::string data = bytes_of("data.0");
    const std::size_t at = data.rfind("\x07\0forebay", data.size(), 9) - 13;
    ASSERT_EQ(data.substr(at, 4), "[PGI");
    // It states 4096 bytes more, so the file ends within it.
    std::string torn = data.substr(0, at + 200);
    std::uint64_t length = 0;
    std::memcpy(&length, torn.data() + at + 4, sizeof length);
    length += 4096;
    std::memcpy(torn.data() + at + 4, &length, sizeof length);
    put_bytes("data.0", torn);
    cut("md.idx", bp::record_bytes);
    write(1, 2, true, 0.5);
    ASSERT_EQ(steps(), (Steps{0, 100, 200.5, 300.5}));
    if (whole_index)
      cut("md.idx", 2 * bp::record_bytes);
    else
      lose_index();
    EXPECT_EQ(recover().steps, 4U) << whole_index;
    EXPECT_EQ(steps(), (Steps{0, 100, 200.5, 300.5})) << whole_index;
  }
}

// Another program's step 3 replaced one whose records are lost.
TEST_F(RecoveryRanks, steps_before_one_without_a_mark_do_not_follow_it) {
  write(2, 4);
  cut("md.idx", 2 * bp::record_bytes);
  write(2, 1, true, 0.5);
  std::string data = bytes_of("data.0");
  const auto unmark = [&](std::size_t at) {
    at = data.find("3/", at);
    ASSERT_NE(at, std::string::npos);
    data[at] = '-';
  };
  for (std::size_t at = data.rfind("\x07\0forebay", data.size(), 9), n = 0; n < 2;
       at = data.rfind("\x07\0forebay", at - 1, 9), ++n)
    unmark(at);
  put_bytes("data.0", data);
  const auto found = recover();
  EXPECT_FALSE(found.needed);
  EXPECT_EQ(found.steps, 3U);
  EXPECT_EQ(steps(), (Steps{0, 100, 200.5}));
}

TEST_F(RecoveryRanks, steps_that_md_0_is_too_short_for_are_counted) {
  write(2, 4);
  const std::string index = bytes_of("md.idx");
  fs::resize_file(path_ / "md.0", bp::head_bytes + 8);
  fs::resize_file(path_ / "data.0", fs::file_size(path_ / "data.0") / 2);
  const auto found = recover();
  EXPECT_EQ(found.before, 4U);
  EXPECT_GT(found.steps, 0U);
  EXPECT_EQ(found.lost(), 4 - found.steps);
  EXPECT_FALSE(found.changed);
  EXPECT_EQ(bytes_of("md.idx"), index);
  // Records behind a damaged one count, too.
  std::string damaged = index;
  damaged[bp::head_bytes + bp::record_bytes + 8 * 2 + 7] = '\x7f';
  put_bytes("md.idx", damaged);
  EXPECT_EQ(recover().before, 3U);
  // Records that were never written do not count.
  write(2, 3);
  put_bytes("md.idx", bytes_of("md.idx") + std::string(bp::record_bytes, '\0'));
  EXPECT_EQ(recover().before, 3U);
}

// A hole within the values of the first group, which neither md.0 nor block heads show.
TEST_F(RecoveryRanks, a_step_by_md_0_has_all_its_groups) {
  write(2, 3);
  std::string data = bytes_of("data.0");
  std::size_t at = data.rfind("\x07\0forebay", data.size(), 9);
  at = data.rfind("\x07\0forebay", at - 1, 9);
  std::size_t end = data.find("PGI]", at);
  data.replace(end, 4, 4, '\0');
  put_bytes("data.0", data);
  cut("md.idx", 2 * bp::record_bytes);
  const auto found = recover();
  EXPECT_EQ(found.steps, 2U);
  EXPECT_EQ(found.by_index, 1U);
  EXPECT_EQ(steps(), (Steps{0, 100}));
  EXPECT_FALSE(found.notes.empty());
}

TEST_F(RecoveryRanks, what_lies_behind_the_last_step_is_told) {
  write(2, 4);
  EXPECT_TRUE(recover().notes.empty());
  cut("md.0", 1);
  cut("md.idx", bp::record_bytes);
  EXPECT_TRUE(recover().notes.empty());  // its groups are whole
  // A group of the second step is torn, and the groups behind it are whole.
  std::string data = bytes_of("data.0");
  std::size_t at = 0;
  for (int n = 0; n < 4; ++n) at = data.find("\x07\0forebay", at + 1, 9);
  data.replace(data.find("PGI]", at), 4, 4, '\0');
  put_bytes("data.0", data);
  lose_index();
  const auto found = recover();
  EXPECT_EQ(found.steps, 1U);
  EXPECT_TRUE(found.unsure);
  EXPECT_EQ(found.notes.size(), 2U);
  // Now there is an index, so recovery is sure.
  EXPECT_FALSE(recover().unsure);
  EXPECT_EQ(recover().notes.size(), 2U);
}

TEST_F(RecoveryRanks, groups_of_other_programs_behind_are_told) {
  write(2, 3);
  std::string data = bytes_of("data.0");
  for (std::size_t n = 0, at = data.size(); n < 2; ++n) {
    at = data.rfind("\x07\0forebay", at - 1, 9);
    data[data.find("3/", at)] = '-';
  }
  put_bytes("data.0", data);
  EXPECT_TRUE(recover().notes.empty());
  lose_index();
  const auto found = recover();
  EXPECT_EQ(found.steps, 2U);
  EXPECT_TRUE(found.unsure);
  EXPECT_EQ(found.notes.size(), 1U);
}

TEST_F(RecoveryRanks, data_files_may_be_links) {
  write(2, 3);
  const fs::path elsewhere = path_.string() + ".elsewhere";
  fs::rename(path_ / "data.0", elsewhere);
  fs::create_symlink(elsewhere, path_ / "data.0");
  lose_index();
  EXPECT_EQ(recover().steps, 3U);
  fs::remove(elsewhere);
}

// Any byte of the groups is changed. The result is readable steps or an error, and data.0 is
// unchanged.
TEST_F(RecoveryRanks, damaged_groups_do_no_harm) {
  write(2, 2, false, 0, 2);
  const std::string data = bytes_of("data.0");
  std::mt19937 random(5);
  std::vector<std::size_t> places;
  for (std::size_t at = 64; at < data.size(); ++at)
    if (data[at] != '\0') places.push_back(at);
  int whole = 0, fewer = 0;
  for (const std::size_t at : places) {
    std::string damaged = data;
    damaged[at] = static_cast<char>(random());
    put_bytes("data.0", damaged);
    lose_index();
    const auto failed = attempt_to([&] {
      const auto found = recover();
      (found.steps == 2 ? whole : fewer)++;
      if (!found.changed) return;
      Report report;
      const BpReader file(Comm(), path_, report);
      for (std::size_t v = 0; v < file.variables().size(); ++v)
        for (const std::uint32_t step : file.variables()[v].steps.numbers())
          (void)file.blocks(v, step);
    });
    if (failed) EXPECT_EQ(failed->code(), Errc::ebad_file) << at << failed->message();
    EXPECT_EQ(bytes_of("data.0"), damaged);
    fs::remove(path_ / "md.0.old");
  }
  EXPECT_GT(whole, 100);
  EXPECT_GT(fewer, 100);
}

}  // namespace recovery_ranks_test
}  // namespace forebay::process_group
