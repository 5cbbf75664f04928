// Helpers for tests of steps: a file that is removed with the test, and ranks that write it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/step_writer.h"

namespace forebay::process_group {

class StepFileTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(path_); }
  void TearDown() override { std::filesystem::remove_all(path_); }
  /// Returns the bytes of a file in the directory.
  std::string bytes_of(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path path_ = std::filesystem::path(testing::TempDir()) /
                                ("forebay_steps_" + std::to_string(::getpid()) + ".bp");
};

/// Calls f(comm, file) on each rank, which is a thread. Then closes the new file.
template <typename F>
void ranks_write(int ranks, const std::filesystem::path& path, const WriteOptions& options, F&& f) {
  run_as_threads(ranks, [&](const Comm& comm) {
    Report report;
    const auto file = StepWriter::create(comm, path, options, report);
    f(comm, *file);
    file->close();
  });
}

inline std::span<const std::byte> bytes(const std::vector<double>& values) {
  return std::as_bytes(std::span(values));
}

inline Errc code_of(const std::optional<Error>& failed) {
  return failed ? failed->code() : Errc::ok;
}

}  // namespace forebay::process_group
