#include "storage/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "storage/few_descriptors_testing.h"

namespace forebay {
namespace open_files_test {

/// Opens a file that is always there; notes what is opened.
class Opener {
 public:
  Descriptor& get(OpenFiles<int, Descriptor>& files, int key) {
    return files.get(key, [&] {
      Descriptor made(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (made.get() < 0) throw system_error(errno, Errc::eofile, "opening", "/dev/null");
      opened.push_back(key);
      return made;
    });
  }
  std::vector<int> opened;
};

TEST(OpenFiles, those_used_last_stay_open) {
  OpenFiles<int, Descriptor> files(2);
  Opener opener;
  for (const int key : {1, 2, 1, 3, 1, 2, 3}) EXPECT_GE(opener.get(files, key).get(), 0);
  EXPECT_EQ(opener.opened, (std::vector<int>{1, 2, 3, 2, 3}));
  int held = 0;
  files.each([&](const Descriptor&) { ++held; });
  EXPECT_EQ(held, 2);
}

TEST(OpenFiles, without_descriptors_fewer_are_held_and_others_find_some) {
  OpenFiles<int, Descriptor> files(1000);
  Opener opener;
  const FewDescriptors few(40);
  for (int round = 0; round < 5; ++round)
    for (int key = 0; key < 60; ++key) {
      EXPECT_GE(opener.get(files, key).get(), 0);
      if (round == 0) continue;
      EXPECT_GE(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get(), 0) << key;
    }
}

TEST(OpenFiles, where_nothing_can_be_closed_the_error_is_enfile) {
  OpenFiles<int, Descriptor> files;
  Opener opener;
  const FewDescriptors none(4);
  std::deque<Descriptor> others;
  while (others.empty() || others.back().get() >= 0)
    others.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto failed = attempt_to([&] { opener.get(files, 1); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enfile) << failed->message();
  EXPECT_NE(failed->advice().find("ulimit"), std::string::npos);
}

TEST(OpenFiles, a_process_of_few_descriptors_keeps_few_files_open) {
  {
    const FewDescriptors few(30);
    EXPECT_EQ(most_open_files(), 7U);
  }
  const FewDescriptors many(1000);
  EXPECT_EQ(most_open_files(), 64U);
}

}  // namespace open_files_test
}  // namespace forebay
