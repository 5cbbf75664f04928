#include "dataset/print_report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

namespace forebay {
namespace print_report_test {

Report sample() {
  Report report;
  report[Step::define] = 0.25;
  report[Step::total] = 1.5;
  report[Counter::requests] = 12;
  report[Counter::pieces] = 3456;
  report[Counter::bytes_asked_write] = 1 << 20;
  report[Counter::bytes_written] = 2 << 20;
  report[Counter::write_calls] = 1;
  return report;
}

Method sample_method() {
  Method method;
  set_method_key(method, "transport", "aggregated", "test", "run.xml:4");
  set_method_key(method, "window_size", "8MiB", "test", "FOREBAY_HINTS");
  return method;
}

TEST(PrintReport, table_shows_steps_traffic_method_and_reasons) {
  const auto summary = summarize(Comm(), sample());
  EXPECT_EQ(report_table("out.nc", summary, sample_method(), {"pieces are small", "one node"}),
            "forebay: out.nc, 1 rank\n"
            "  seconds           min       mean        max\n"
            "  define       0.250000   0.250000   0.250000\n"
            "  total        1.500000   1.500000   1.500000\n"
            "  12 requests in 3456 pieces\n"
            "  write       1 MiB asked,      2 MiB moved in 1 system call, ratio 0.5\n"
            "  method transport=aggregated             run.xml:4\n"
            "         layout=canonical                 default\n"
            "         stage=auto                       default\n"
            "         codec=none                       default\n"
            "         window_size=8MiB                 FOREBAY_HINTS\n"
            "  why    pieces are small\n"
            "         one node\n");
}

TEST(PrintReport, mean_is_over_ranks) {
  ReportSummary summary{4, sample(), sample(), sample(), {}, {}};
  const auto json = nlohmann::json::parse(report_json("o", summary, sample_method(), {}));
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["steps"]["define"]["mean"], 0.0625);
  EXPECT_EQ(json["counters"]["requests"]["mean"], 3.0);
  EXPECT_EQ(json["ratio"]["write"], 0.5);
  EXPECT_TRUE(json["ratio"]["read"].is_null());
  EXPECT_EQ(json["method"]["transport"]["origin"], "run.xml:4");
  EXPECT_EQ(json["method"]["layout"]["origin"], "default");
}

TEST(PrintReport, json_tells_ranks_and_owners_apart) {
  const auto summary = summarize(Comm(), sample(), true);
  const auto json =
      nlohmann::json::parse(report_json("o", summary, sample_method(), {}, {{"T", {1, 0, -1}}}));
  EXPECT_EQ(json["per_rank"]["define"], nlohmann::json::array({0.25}));
  EXPECT_FALSE(json["per_rank"].contains("write"));
  EXPECT_EQ(json["chunk_owners"]["T"], nlohmann::json::array({1, 0, -1}));
  const auto without = summarize(Comm(), sample());
  EXPECT_FALSE(
      nlohmann::json::parse(report_json("o", without, sample_method(), {})).contains("per_rank"));
}

TEST(PrintReport, json_tells_when_each_rank_did_what) {
  Report report = sample();
  Method method = sample_method();
  start_timeline(Comm(), method, report);
  EXPECT_EQ(report.timeline, nullptr) << "nobody asked for it";
  method.report = "json:somewhere";
  start_timeline(Comm(), method, report);
  report.timeline->add({0.5, 0.75, 0.25, 4096, 1, Step::write});
  report.timeline->add({1, 1.25, 0.125, 0, 3, Step::plan});
  const auto json = nlohmann::json::parse(
      report_json("o", summarize(Comm(), report, true), method, {}))["timeline"];
  EXPECT_EQ(json["every"], 1);
  EXPECT_EQ(json["columns"].size(), json["ranks"][0][0].size());
  EXPECT_EQ(json["ranks"].dump(),
            R"([[["write",0.5,0.75,0.25,4096,1],["plan",1.0,1.25,0.125,0,3]]])");
  report.timeline.reset();
  EXPECT_FALSE(nlohmann::json::parse(report_json("o", summarize(Comm(), report, true), method, {}))
                   .contains("timeline"));
}

TEST(PrintReport, timelines_of_many_ranks_are_a_choice_of_them) {
  EXPECT_EQ(timeline_stride(1), 1);
  EXPECT_EQ(timeline_stride(1024), 1);
  EXPECT_EQ(timeline_stride(1025), 2);
  EXPECT_EQ(timeline_stride(1 << 20), 1024);
}

TEST(PrintReport, json_reports_are_appended_one_a_line) {
  const std::string path = ::testing::TempDir() + "forebay_report_test.json";
  std::remove(path.c_str());
  Method method = sample_method();
  method.report = "json:" + path;
  print_report(Comm(), "a.nc", sample(), method, {"because"});
  print_report(Comm(), "b.nc", sample(), method, {});
  std::ifstream file(path);
  std::vector<std::string> paths;
  for (std::string line; std::getline(file, line);) {
    paths.push_back(nlohmann::json::parse(line)["path"]);
  }
  EXPECT_EQ(paths, (std::vector<std::string>{"a.nc", "b.nc"}));
  std::remove(path.c_str());
}

TEST(PrintReport, nothing_is_printed_unless_asked) {
  ::testing::internal::CaptureStderr();
  print_report(Comm(), "a.nc", sample(), sample_method(), {});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(PrintReport, report_that_cannot_be_written_does_not_fail_the_close) {
  Method method = sample_method();
  method.report = "json:/nonexistent-directory/report.json";
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(print_report(Comm(), "a.nc", sample(), method, {}));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot append the report"),
            std::string::npos);
}

}  // namespace print_report_test
}  // namespace forebay
