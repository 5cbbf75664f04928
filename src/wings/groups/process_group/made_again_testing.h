// Lets tests read steps twice: by their index, and by an index that was rebuilt from the groups.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "groups/process_group/bp_reader.h"
#include "groups/process_group/index_recovery.h"

namespace forebay::process_group {

/// Makes all descriptors of the file in this process read-only: it can no longer be written or
/// truncated.
inline void make_read_only(const std::filesystem::path& path) {
  const auto real = std::filesystem::canonical(path);
  for (int fd = 3; fd < 1024; ++fd) {
    std::error_code none;
    const auto of = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none);
    if (none || of != real) continue;
    const int other = ::open(real.c_str(), O_RDONLY);
    ::dup2(other, fd);
    ::close(other);
  }
}

/// Removes the index of a BP4 directory, and rebuilds it.
inline BpRecovery make_index_again(const std::filesystem::path& path) {
  std::filesystem::remove(path / "md.0");
  std::filesystem::remove(path / "md.idx");
  Report report;
  return recover_index(path, {}, 0, report);
}

/// Calls check(file) for both. `steps`: how many steps the groups have.
template <typename F>
void with_index_and_without(const std::filesystem::path& path, std::uint64_t steps, F&& check) {
  for (const bool again : {false, true}) {
    if (again) EXPECT_EQ(make_index_again(path).by_groups, steps);
    Report report;
    check(BpReader(Comm(), path, report));
  }
}

}  // namespace forebay::process_group
