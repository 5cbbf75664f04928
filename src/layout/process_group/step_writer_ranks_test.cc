// Steps that ranks write together, where something is wrong on one of them. That what is right
// reads as it was written adios2 tells (tests/foreign/check_bp.py).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "layout/process_group/step_writer.h"

namespace forebay::process_group {
namespace {

namespace fs = std::filesystem;

class StepWriterRanks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / ("forebay_steps_" + std::to_string(::getpid()) + ".bp");
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  std::string bytes_of(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t records() const { return bytes_of("md.idx").size() / 64 - 1; }

  fs::path path_;
};

std::span<const std::byte> bytes(const std::vector<double>& values) {
  return std::as_bytes(std::span(values));
}

/// A block of 4 of this rank.
void add_block(const Comm& comm, StepWriter& file, const std::string& name) {
  const std::vector<double> values(4, comm.rank());
  file.add({name, bp::Type::float64}, {{4 * comm.size()}, {4 * comm.rank()}, {4}}, bytes(values),
           false);
}

Errc code_of(const std::optional<Error>& failed) { return failed ? failed->code() : Errc::ok; }

TEST_F(StepWriterRanks, a_wrong_block_is_the_error_of_its_rank_and_the_step_is_written) {
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, {}, report);
    add_block(comm, *file, "v");
    file->end_step();
    if (comm.rank() == 1) {
      const std::vector<double> two(2);
      const auto add = [&](bp::Variable variable, bp::Shape at) {
        return code_of(attempt_to([&] { file->add(variable, at, bytes(two), false); }));
      };
      const auto real = bp::Type::float64;
      EXPECT_EQ(add({"v", bp::Type::int64}, {{2}, {0}, {2}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"v", real}, {{}, {}, {2}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"v", real}, {{2, 1}, {0, 0}, {2, 1}}), Errc::emultidefine_var_type);
      EXPECT_EQ(add({"w", real}, {{3}, {2}, {2}}), Errc::eedge);
      EXPECT_EQ(add({"w", real}, {{3}, {-1}, {2}}), Errc::enegativecnt);
      EXPECT_EQ(add({"w", real}, {{3}, {}, {2}}), Errc::einval);
      EXPECT_EQ(add({"w", real}, {{3}, {0}, {3}}), Errc::edimsize);
      EXPECT_EQ(add({"w", real}, {{}, {}, {1LL << 40, 1LL << 40}}), Errc::eintoverflow);
      EXPECT_EQ(add({"w", real}, {{bp::joined, 3}, {}, {1, 2}}), Errc::eedge);
    } else {
      add_block(comm, *file, "v");
    }
    file->end_step();
    file->close();
  });
  EXPECT_EQ(records(), 2U);
}

TEST_F(StepWriterRanks, a_name_with_two_types_fails_on_all_and_the_next_step_goes_on) {
  run_as_threads(3, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, {}, report);
    const std::vector<double> one(1);
    const auto type = comm.rank() == 1 ? bp::Type::int64 : bp::Type::float64;
    file->add({"v", type}, {}, bytes(one), false);
    EXPECT_EQ(code_of(attempt_to([&] { file->end_step(); })), Errc::emultidefine_var_type);
    add_block(comm, *file, "v");
    file->end_step();
    EXPECT_EQ(file->steps(), 1U);
    file->close();
  });
  EXPECT_EQ(records(), 1U);
}

// Of the failed step nothing is left: the file is that of one that never had it.
TEST_F(StepWriterRanks, a_disk_that_is_full_for_one_rank_fails_on_all_and_leaves_nothing) {
  std::string expected_data;
  for (const bool fails : {false, true}) {
    SetUp();
    run_as_threads(3, [&](const Comm& comm) {
      Report report;
      const auto file = StepWriter::create(comm, path_, {}, report);
      if (comm.is_root()) add_block(comm, *file, "v");
      file->end_step();
      if (fails) {
        // Rank 1 has not opened it yet; the others go on with the file itself.
        if (comm.is_root()) {
          fs::rename(path_ / "data.0", path_ / "real");
          fs::create_symlink("/dev/full", path_ / "data.0");
        }
        comm.barrier();
        const auto before = fs::file_size(path_ / "real");
        add_block(comm, *file, "failing");
        file->add_attribute({"kept", bp::Type::string, {}, {"text"}});
        EXPECT_EQ(code_of(attempt_to([&] { file->end_step(); })), Errc::eno_space);
        EXPECT_EQ(file->steps(), 1U);
        comm.barrier();
        EXPECT_EQ(fs::file_size(path_ / "real"), before);
        comm.barrier();
        if (comm.is_root()) fs::rename(path_ / "real", path_ / "data.0");
        comm.barrier();
      } else {
        file->add_attribute({"kept", bp::Type::string, {}, {"text"}});
      }
      if (comm.is_root()) add_block(comm, *file, "v");
      file->end_step();
      file->close();
    });
    EXPECT_EQ(records(), 2U);
    const std::string data = bytes_of("data.0"), metadata = bytes_of("md.0");
    EXPECT_NE(metadata.find("kept"), std::string::npos);
    EXPECT_EQ(metadata.find("failing"), std::string::npos);
    EXPECT_EQ(data.find("failing"), std::string::npos);
    if (!fails) expected_data = data;
    EXPECT_EQ(data.size(), expected_data.size());
  }
}

TEST_F(StepWriterRanks, lent_bytes_are_taken_when_the_step_ends_and_others_when_they_are_added) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path_, {}, report);
    std::string copied = "copied", lent = "lent..";
    const auto add = [&](const std::string& name, const std::string& text, bool is_lent) {
      const bp::Shape at{{2, 6}, {comm.rank(), 0}, {1, 6}};
      file->add({name, bp::Type::chr}, at, std::as_bytes(std::span(text)), is_lent);
    };
    add("a", copied, false);
    add("b", lent, true);
    copied = "CHANGE";
    lent = "change";
    file->end_step();
    file->close();
  });
  const std::string data = bytes_of("data.0"), metadata = bytes_of("md.0");
  EXPECT_NE(data.find("copied"), std::string::npos);
  EXPECT_NE(data.find("change"), std::string::npos);
  EXPECT_EQ(data.find("CHANGE"), std::string::npos);
  // The range is that of what was written: id 12, one part, least, largest.
  EXPECT_NE(metadata.find(std::string("\x0c\x01\0an", 5)), std::string::npos);
}

TEST_F(StepWriterRanks, only_bp_files_are_replaced) {
  fs::create_directory(path_);
  std::ofstream(path_ / "thesis.tex") << "text";
  const auto create = [&] {
    std::optional<Error> failed;
    run_as_threads(2, [&](const Comm& comm) {
      Report report;
      const auto mine = attempt_to([&] { StepWriter::create(comm, path_, {}, report)->close(); });
      if (comm.is_root()) failed = mine;
    });
    return code_of(failed);
  };
  EXPECT_EQ(create(), Errc::eexist);
  EXPECT_TRUE(fs::exists(path_ / "thesis.tex"));
  fs::remove(path_ / "thesis.tex");
  EXPECT_EQ(create(), Errc::ok);
  EXPECT_EQ(create(), Errc::ok);
  EXPECT_EQ(records(), 0U);
}

TEST_F(StepWriterRanks, what_cannot_be_appended_to_is_refused_and_left_alone) {
  run_as_threads(2, [&](const Comm& comm) {
    Report report;
    StepWriter::create(comm, path_, {}, report)->close();
    const auto append = [&] {
      comm.barrier();
      const auto code =
          code_of(attempt_to([&] { StepWriter::append(comm, path_, {}, report)->close(); }));
      comm.barrier();
      return code;
    };
    EXPECT_EQ(append(), Errc::ok);
    const auto overwrite = [&](std::streamoff at, char byte) {
      if (!comm.is_root()) return;
      std::fstream file(path_ / "md.idx", std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put(byte);
    };
    overwrite(36, 1);  // big-endian
    EXPECT_EQ(append(), Errc::ebad_file);
    overwrite(36, 0);
    overwrite(37, 3);
    EXPECT_EQ(append(), Errc::ebad_file);
    overwrite(37, 4);
    if (comm.is_root()) std::ofstream(path_ / "mmd.0") << "BP5";
    EXPECT_EQ(append(), Errc::ebad_file);
  });
}

TEST_F(StepWriterRanks, options_that_no_file_can_have_are_refused) {
  const Comm alone;
  Report report;
  for (const Count alignment : {0, 32, 100}) {
    WriteOptions options;
    options.alignment = alignment;
    const auto failed = attempt_to([&] { StepWriter::create(alone, path_, options, report); });
    EXPECT_EQ(code_of(failed), Errc::einval) << alignment;
  }
}

}  // namespace
}  // namespace forebay::process_group
