// The keys of the layout, and what they need to have an effect.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/attempt.h"
#include "method/effect.h"
#include "method/method.h"

namespace forebay {
namespace patches_test {

Method with_hints(const std::string& hints) {
  MethodSources sources;
  sources.forebay_hints = hints;
  return choose_method("x.nc", {}, sources);
}

TEST(PatchKeys, refuse_impossible_values) {
  const auto refused = [](const std::string& key, const char* value) {
    const auto error = attempt_to([&] { with_hints(key + "=" + value); });
    ASSERT_TRUE(error) << key << "=" << value;
    EXPECT_NE(error->message().find("is no value of " + key), std::string::npos) << value;
  };
  for (const char* edge : {"7", "0", "24", "-64", "2048", "64k"}) refused("patch_edge", edge);
  for (const char* levels : {"0", "17", "nan"}) refused("patch_levels", levels);
  for (const char* level : {"-1", "17", "nan"}) refused("read_level", level);
}

TEST(PatchKeys, tell_where_they_have_no_effect) {
  const auto lines = [](const std::string& hints, const FileAsMade& file) {
    return without_effect(with_hints(hints), file).size();
  };
  const FileAsMade plain{false, {{"T", "canonical"}}}, made{false, {{"T", "patches"}}};
  EXPECT_EQ(lines("patch_edge=32", plain), 1u);
  EXPECT_EQ(lines("patch_edge=32", made), 0u);
  EXPECT_EQ(lines("read_level=2", plain), 1u);
  EXPECT_EQ(lines("read_level=2", made), 1u);
  EXPECT_EQ(lines("read_level=2", {true, {{"T", "patches"}}}), 0u);
}

}  // namespace patches_test
}  // namespace forebay
