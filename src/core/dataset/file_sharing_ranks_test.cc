// Files of a build in which no stage is shared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "comm/thread_ranks.h"
#include "dataset/file_sharing.h"
#include "dataset/stage_member.h"

namespace forebay {
namespace file_sharing_ranks_test {

TEST(FileSharing, without_a_wing_a_file_is_made_at_once_and_its_report_says_that_it_is_alone) {
  const std::string folder = ::testing::TempDir() + "/forebay_sharing_by_none";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a.nc", report = folder + "/report";
  const HintMap hints{{"bundle", "b"}, {"bundle_create", "later"}};
  ::setenv("FOREBAY_REPORT", ("json:" + report).c_str(), 1);
  run_as_threads(2, [&](const Comm& comm) {
    OpeningFacts facts = sharing_by_none.look(comm.is_root(), path.c_str(), comm.rank(), true);
    comm.all_reduce(facts, Reduce::max);
    const AgreedOpening agreed = sharing_by_none.agree(comm, path.c_str(), facts);
    EXPECT_EQ(agreed.mode, 0);
    EXPECT_FALSE(agreed.waited);
    // A thread makes only files of a folder whose stripes are known.
    for (const char* file : {"/first.nc", "/a.nc"}) {
      auto ds = Dataset::create(comm, folder + file, 5, false, hints, true);
      if (folder + file == path) EXPECT_TRUE(ds->as_member()->file().is_being_made());
      sharing_by_none.enter()->join(*ds, facts);
      EXPECT_FALSE(ds->as_member()->file().is_being_made());
      EXPECT_TRUE(std::filesystem::exists(folder + file));
      ds->enddef();
      sharing_by_none.close(std::move(ds));
    }
    if (comm.is_root()) sharing_by_none.remove(path);
    comm.barrier();
    EXPECT_FALSE(std::filesystem::exists(path));
  });
  ::unsetenv("FOREBAY_REPORT");
  std::ifstream text(report);
  EXPECT_NE(std::string(std::istreambuf_iterator<char>(text), {})
                .find("bundle b: left out, as this build has no bundles"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace file_sharing_ranks_test
}  // namespace forebay
