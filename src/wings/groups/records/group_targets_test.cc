#include "groups/records/group_targets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/attempt.h"
#include "method/group_methods.h"
#include "method/parts_testing.h"

namespace forebay {
namespace group_targets_test {

/// Returns the paths of methods that are said by one text of hints each.
std::vector<std::string> paths(const std::string& path, const std::vector<std::string>& methods) {
  std::vector<std::string> made;
  const auto choose = [&](const std::string&, std::size_t which) {
    Method method;
    if (which < methods.size()) apply_hints(method, methods[which], "the test");
    return method;
  };
  for (const GroupTarget& target : group_targets(path, methods.size(), choose))
    made.push_back(target.path);
  return made;
}

using Paths = std::vector<std::string>;
constexpr const char* bp = "layout=process-group";
constexpr const char* classic = "layout=canonical;container=classic";
constexpr const char* hdf5 = "container=netcdf4";
constexpr const char* nothing = "layout=null";

TEST(GroupTargets, one_file_has_the_name_that_the_program_gives) {
  EXPECT_EQ(paths("run.bp", {}), Paths{"run.bp"});
  for (const char* method : {bp, classic, nothing, "layout=auto"})
    for (const char* name : {"run.bp", "run.nc", "run", "a.b/run.dat"})
      EXPECT_EQ(paths(name, {method}), Paths{name}) << method;
}

TEST(GroupTargets, several_files_have_their_own_endings) {
  EXPECT_EQ(paths("a.nc/run.bp", {bp, classic}), (Paths{"a.nc/run.bp", "a.nc/run.nc"}));
  EXPECT_EQ(paths("run.nc", {bp, classic}), (Paths{"run.bp", "run.nc"}));
  EXPECT_EQ(paths("run", {bp, classic}), (Paths{"run", "run.nc"}));
  EXPECT_EQ(paths("run.dat", {classic, bp}), (Paths{"run.dat.nc", "run.dat"}));
  EXPECT_EQ(paths("run.bp", {nothing, classic}), Paths{"run.bp"}) << "one of them writes";
  EXPECT_EQ(paths("run.bp", {nothing, nothing}), Paths{"run.bp"});
  if (!is_built(hdf5)) GTEST_SKIP() << "it is of another wing";
  EXPECT_EQ(paths("run.bp", {"", hdf5, classic, nothing}), (Paths{"run.bp", "run.h5", "run.nc"}));
  for (const char* name : {"run.h5", "run.hdf5", "run.nc4"})
    EXPECT_EQ(paths(name, {bp, "", classic}), (Paths{"run.bp", name, "run.nc"}));
}

TEST(GroupTargets, a_base_path_goes_before_them) {
  const std::string base = ";base_path=/fast";
  EXPECT_EQ(paths("out/run.bp", {bp + base}), Paths{"/fast/out/run.bp"});
  EXPECT_EQ(paths("/scratch/run.bp", {bp + base}), Paths{"/fast/run.bp"});
  EXPECT_EQ(paths("run.bp", {classic + base, bp}), (Paths{"/fast/run.nc", "run.bp"}));
  EXPECT_EQ(paths("ufs:run.bp", {bp + std::string(";base_path=fast")}), Paths{"fast/run.bp"});
}

// A rule of the configuration may match the new name alone.
TEST(GroupTargets, the_rules_of_the_new_name_hold) {
  const auto targets = [](const std::string& rule) {
    return group_targets("run.bp", 2, [&](const std::string& path, std::size_t which) {
      Method method;
      if (which == 0) apply_hints(method, "layout=canonical", "the test");
      if (path == "run.nc") apply_hints(method, rule, "the test");
      return method;
    });
  };
  const auto made = targets("buffer_limit=8k");
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].path, "run.nc");
  EXPECT_EQ(made[0].method.buffer_limit, 8 << 10);
  EXPECT_EQ(made[1].method.buffer_limit, Method{}.buffer_limit);
  const auto failed = attempt_to([&] { targets("layout=process-group"); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::einval);
}

TEST(GroupTargets, what_is_named_goes_before_the_ending) {
  const auto format = [](const std::string& hints, const char* path, bool names_file = true) {
    Method method;
    apply_hints(method, hints, Origin("the test", SaidBy::config, names_file));
    return settle_format(method, path);
  };
  EXPECT_EQ(format("", "run.nc"), GroupFormat::netcdf);
  EXPECT_EQ(format("", "run"), GroupFormat::bp);
  EXPECT_EQ(format("layout=process-group", "run.nc"), GroupFormat::bp);
  EXPECT_EQ(format("layout=null", "run.zarr"), GroupFormat::nothing);
  EXPECT_EQ(format("container=directory", "run.bp"), GroupFormat::bp) << "which refuses it";
  EXPECT_TRUE(attempt_to([&] { format("", "run.zarr"); }));
  if (!is_built(hdf5)) {
    const auto failed = attempt_to([&] { format("", "run.h5"); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enotbuilt);
    return;
  }
  EXPECT_EQ(format("", "run.h5"), GroupFormat::netcdf4);
  EXPECT_EQ(format("layout=chunked", "run.h5"), GroupFormat::netcdf4);
  EXPECT_EQ(format("container=classic", "run.h5"), GroupFormat::netcdf);
  EXPECT_EQ(format("container=netcdf4", "run.bp"), GroupFormat::netcdf4);
  EXPECT_EQ(format("container=netcdf4", "run.bp", false), GroupFormat::bp) << "a general rule";
}

TEST(GroupTargets, a_method_of_adios_stands_for_keys_that_others_change) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text = R"(<forebay>
    <method group="g" method="posix" subfile_ranks="4"/>
  </forebay>)";
  const Method method = choose_group_method("out", sources, "g", 0);
  EXPECT_EQ(method.layout, "process-group");
  EXPECT_EQ(method.subfiling, Subfiling::ranks);
  EXPECT_EQ(method.subfile_ranks, 4);
  EXPECT_EQ(method.origin.at("subfile_ranks"), "run.xml:2");
  EXPECT_EQ(method.origin.at("transport"), "run.xml:2, method=posix");
}

}  // namespace group_targets_test
}  // namespace forebay
