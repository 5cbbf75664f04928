#include "tools/removed_on_signal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace forebay::tools {
namespace removed_on_signal_test {

namespace fs = std::filesystem;

void make_file(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "values";
}

// More names than one system call tells of, with nothing that Forebay would know.
TEST(RemovedOnSignal, files_and_whole_folders_go_and_others_stay) {
  std::string name = fs::temp_directory_path() / "forebay-removed-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const fs::path folder = name;
  make_file(folder / "file");
  for (int i = 0; i < 500; ++i)
    make_file(folder / "store" / ("group" + std::to_string(i % 3)) /
              ("chunk." + std::to_string(i)));
  make_file(folder / "other");
  fs::create_directory_symlink(folder, folder / "store" / "link");

  const pid_t child = ::fork();
  if (child == 0) {
    const RemovedOnSignal removed({folder / "file", folder / "store", folder / "never made"});
    ::kill(::getpid(), SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_FALSE(fs::exists(folder / "file"));
  EXPECT_FALSE(fs::exists(folder / "store"));
  EXPECT_TRUE(fs::exists(folder / "other"));
  fs::remove_all(folder);
}

}  // namespace removed_on_signal_test
}  // namespace forebay::tools
