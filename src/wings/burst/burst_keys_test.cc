// The keys of the stage, PnetCDF's hints among them.
#include <gtest/gtest.h>

#include "base/attempt.h"
#include "method/method.h"

namespace forebay {
namespace burst_keys_test {

Method with_forebay_hints(const std::string& hints) {
  MethodSources sources;
  sources.forebay_hints = hints;
  return choose_method("out.nc", {}, sources);
}

TEST(BurstKeys, words_mean_what_their_enumerations_say) {
  const Method method = with_forebay_hints("burst_order=flatten;recover=ignore");
  EXPECT_EQ(method.burst_order, FlushOrder::flatten);
  EXPECT_EQ(method.recover, Recover::ignore);
  const Method other = with_forebay_hints("burst_order=replay;recover=auto");
  EXPECT_EQ(other.burst_order, FlushOrder::replay);
  EXPECT_EQ(other.recover, Recover::automatic);
}

TEST(BurstKeys, pnetcdf_s_burst_buffer_is_stage_burst) {
  const auto method_of = [](const HintMap& hints) {
    return choose_method("x.nc", hints, MethodSources{});
  };
  EXPECT_EQ(method_of({{"nc_burst_buf", "Enable"}}).stage, "burst");
  EXPECT_EQ(method_of({{"nc_burst_buf", "perhaps"}}).stage, "auto");
  EXPECT_EQ(method_value(method_of({{"stage", "burst"}}), "nc_burst_buf"), "enable");
  EXPECT_EQ(method_value(method_of({}), "nc_burst_buf"), "disable");
  const Method method = method_of({{"nc_burst_buf_dirname", "/Fast"},
                                   {"nc_burst_buf_shared_logs", "enable"},
                                   {"nc_burst_buf_del_on_close", "disable"},
                                   {"nc_burst_buf_overwrite", "disable"},
                                   {"nc_burst_buf_flush_buffer_size", "5000000"}});
  EXPECT_EQ(method.burst_directory, "/Fast");
  EXPECT_EQ(method.burst_shared, Switch::enable);
  EXPECT_EQ(method.burst_delete, Switch::disable);
  EXPECT_EQ(method.burst_overwrite, Switch::disable);
  EXPECT_EQ(method.burst_buffer, 5000000);
  // A stronger source disables what a weaker one enabled.
  MethodSources sources;
  sources.pnetcdf_hints = "nc_burst_buf=disable";
  const Method off = choose_method("x.nc", {{"stage", "burst"}}, sources);
  EXPECT_EQ(off.stage, "auto");
  EXPECT_EQ(off.notes,
            (std::vector<std::string>{"stage=burst (MPI_Info) is overruled by stage=auto "
                                      "(nc_burst_buf of PNETCDF_HINTS)"}));
  const auto refused = attempt_to([] { with_forebay_hints("nc_burst_buf=perhaps"); });
  ASSERT_TRUE(refused);
  EXPECT_STREQ(refused->what(),
               "FOREBAY_HINTS: \"perhaps\" is no value of nc_burst_buf (accepted: enable|disable)");
}

}  // namespace burst_keys_test
}  // namespace forebay
