// What plot draws: slices, chunk maps, reports, looked at pixel by pixel.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/report.h"
#include "dataset/dataset.h"
#include "files/hdf5/open.h"
#include "tools/plot_parts.h"

namespace forebay::tools {
namespace {

namespace fs = std::filesystem;

class PlotTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_plot_" + std::to_string(::getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  // T(t, y, x): 1000 t + 100 y + x. With chunks: 1 × 4 × 5, of which the second record's first
  // half was never written.
  std::string file(bool chunked) {
    auto ds = Dataset::create(Comm(), at("a.nc"), 5, false,
                              {{"layout", chunked ? "chunked" : "canonical"}, {"codec", "none"}});
    const DimId t = ds->def_dim("t", 0), y = ds->def_dim("y", 8), x = ds->def_dim("x", 10);
    const VarId T = ds->def_var("T", Type::float32, std::array{t, y, x});
    if (chunked) ds->set_chunk(T, std::array<Count, 3>{1, 4, 5});
    ds->enddef();
    put(*ds, T, {{0, 0, 0}, {1, 8, 10}, {}});
    put(*ds, T, {{1, 4, 0}, {1, 4, 10}, {}});
    ds->close();
    return at("a.nc");
  }

  static void put(Dataset& ds, VarId var, Subarray part) {
    std::vector<float> values;
    for (Count y = 0; y < part.count[1]; ++y)
      for (Count x = 0; x < part.count[2]; ++x)
        values.push_back(static_cast<float>(1000 * part.start[0] + 100 * (part.start[1] + y) + x));
    Access access;
    access.var = var;
    access.write = true;
    access.elements = part.elements();
    access.last_record = part.start[0] + part.count[0];
    access.selection = std::move(part);
    access.memory.data = reinterpret_cast<std::byte*>(values.data());
    access.memory.type = Type::float32;
    std::vector<Access> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }

  std::string report(const std::string& text) {
    std::ofstream(at("r.json")) << text;
    return at("r.json");
  }

  std::string folder_;
};

TEST(Slice, is_read_as_numpy_reads_it) {
  const std::vector<std::string> names = {"t", "y", "x"};
  const std::vector<Count> lengths = {4, 20, 30};
  const auto parse = [&](const std::string& text) { return parse_slice(text, names, lengths); };
  auto slice = parse("[-1, 2:10:3]");
  EXPECT_TRUE(slice[0].fixed);
  EXPECT_EQ(slice[0].start, 3);
  EXPECT_EQ(slice[1].start, 2);
  EXPECT_EQ(slice[1].count, 3);
  EXPECT_EQ(slice[1].step, 3);
  EXPECT_EQ(slice[2].count, 30);
  slice = parse("..., 5");
  EXPECT_EQ(slice[0].count, 4);
  EXPECT_TRUE(slice[2].fixed);
  slice = parse("x=-5:, t=1");
  EXPECT_EQ(slice[2].start, 25);
  EXPECT_EQ(slice[2].count, 5);
  EXPECT_EQ(slice[0].start, 1);
  EXPECT_EQ(parse("::100")[0].count, 1);
  EXPECT_EQ(parse(":99")[0].count, 4);
  for (const char* wrong :
       {"4", "-5", "a", "1,2,3,4", "z=1", "2:2", "::0", "::-1", "1:2:3:4", ",", "...,..."})
    EXPECT_THROW(parse(wrong), Error) << wrong;
}

TEST_F(PlotTest, a_slice_shows_its_elements_alone) {
  const auto source = open_source(file(false));
  FieldOptions options;
  options.variable = "T";
  options.slice = "0, 2:4, ::3";
  const Field field = read_field(*source, options);
  EXPECT_EQ(field.min, 200);
  EXPECT_EQ(field.max, 309);
  EXPECT_EQ(field.grid.x.length, 4);
  EXPECT_EQ(field.grid.y.length, 2);
  const Canvas canvas = draw_field(field, "a.nc", {field.min, field.max});
  // Row 0 is below: y grows upwards.
  EXPECT_EQ(canvas.pixel(left_margin + 5, top_margin + 300), colour_of(0));
  EXPECT_EQ(canvas.pixel(left_margin + picture_width - 5, top_margin + 5), colour_of(1));
  options.slice = "0, 2, 3";
  EXPECT_THROW(read_field(*source, options), Error);
}

TEST_F(PlotTest, chunk_map_tells_absent_chunks_and_owners) {
  const auto source = open_source(file(true));
  const std::string owners =
      report(R"({"path":"a.nc","ranks":2,"steps":{},"chunk_owners":{"T":[0,1,1,0,-1,-1,0,1]}})");
  std::string summary;
  const Canvas canvas = draw_chunks(*source, "T", owners, summary);
  EXPECT_EQ(summary.substr(0, 25), "T: 6 of 8 chunks stored, ");
  // Two columns, four rows (t × y); the third row was never written.
  const int row = 120 / 4, x = left_margin + 100, far = left_margin + picture_width - 100;
  EXPECT_NE(canvas.pixel(x, top_margin + row / 2), no_data);
  EXPECT_EQ(canvas.pixel(x, top_margin + 2 * row + row / 2), no_data);
  EXPECT_NE(canvas.pixel(x, top_margin + 3 * row + row / 2), no_data);
  const int lower = top_margin + 120 + 128;
  EXPECT_EQ(canvas.pixel(x, lower + row / 2), colour_of_kind(0));
  EXPECT_EQ(canvas.pixel(far, lower + row / 2), colour_of_kind(1));
  EXPECT_EQ(canvas.pixel(far, lower + 2 * row + row / 2), no_data);
  EXPECT_EQ(canvas.pixel(far, lower + 3 * row + row / 2), colour_of_kind(1));
  EXPECT_NO_THROW(draw_chunks(*source, "T", "", summary));
  EXPECT_THROW(draw_chunks(*source, "T", report(R"({"steps":{}})"), summary), Error);
}

TEST_F(PlotTest, variables_without_chunks_are_refused) {
  const auto source = open_source(file(false));
  std::string summary;
  EXPECT_THROW(draw_chunks(*source, "T", "", summary), Error);
}

TEST_F(PlotTest, report_draws_each_rank_to_scale) {
  const std::string path = report(
      R"({"path":"o.nc","ranks":2,"steps":{},"per_rank":{"write":[1.0,3.0],"encode":[1.0,0.5],"total":[4,4]}})");
  std::string summary;
  const Canvas canvas = draw_report(path, -1, summary);
  EXPECT_EQ(summary, "o.nc: 4 s on 2 ranks");
  const int quarter = picture_width / 4, first = top_margin + 20, second = top_margin + 70;
  const auto colour = [](Step step) { return colour_of_kind(static_cast<std::size_t>(step)); };
  EXPECT_EQ(canvas.pixel(left_margin + quarter / 2, first), colour(Step::write));
  EXPECT_EQ(canvas.pixel(left_margin + quarter + quarter / 2, first), colour(Step::encode));
  const Colour rest = canvas.pixel(left_margin + 3 * quarter, first);
  EXPECT_EQ(rest, (Colour{226, 228, 231}));
  EXPECT_EQ(canvas.pixel(left_margin + 3 * quarter - 5, second), colour(Step::write));
  EXPECT_EQ(canvas.pixel(left_margin + 3 * quarter + 5, second), colour(Step::encode));
  EXPECT_EQ(canvas.pixel(left_margin + picture_width - 5, second), rest);
}

// Rank 0 writes, then encodes; rank 1 encodes half of the time and writes at the end.
TEST_F(PlotTest, report_with_a_timeline_draws_when_each_rank_did_what) {
  const std::string path = report(
      R"({"path":"o.nc","ranks":2,"steps":{},"per_rank":{"write":[1,1],"encode":[2,1],"total":[4,4]},)"
      R"("timeline":{"columns":["step","begin","end","busy","bytes","times"],"every":1,"ranks":)"
      R"([[["write",0,1,1,9,1],["encode",1,3,2,0,1]],[["encode",0,2,1,0,7],["write",3,4,1,9,1]]]}})");
  std::string summary;
  const Canvas canvas = draw_report(path, -1, summary);
  EXPECT_EQ(summary, "o.nc: 4 s on 2 ranks");
  const auto at = [&](double second, int rank, double down) {
    const int lane = 90 / 2;
    return canvas.pixel(left_margin + static_cast<int>(second / 4 * picture_width),
                        top_margin + rank * lane + 2 + static_cast<int>(down * (lane - 4)));
  };
  const auto colour = [](Step step) { return colour_of_kind(static_cast<std::size_t>(step)); };
  const Colour rest = {226, 228, 231};
  for (const double down : {0.1, 0.9}) {
    EXPECT_EQ(at(0.5, 0, down), colour(Step::write));
    EXPECT_EQ(at(1.5, 0, down), colour(Step::encode));
    EXPECT_EQ(at(2.9, 0, down), colour(Step::encode));
    EXPECT_EQ(at(3.5, 0, down), rest);
    EXPECT_EQ(at(2.5, 1, down), rest);
    EXPECT_EQ(at(3.5, 1, down), colour(Step::write));
  }
  EXPECT_EQ(at(1, 1, 0.2), colour(Step::encode));
  EXPECT_EQ(at(1, 1, 0.8), rest);
}

TEST_F(PlotTest, a_timeline_that_makes_no_sense_is_left_out) {
  std::string summary;
  for (
      const char* timeline :
      {"3", "{}", R"({"columns":["step"],"ranks":[[["write"]]]})",
       R"({"columns":["step","begin","end","busy"],"ranks":{}})",
       R"({"columns":["step","begin","end","busy"],"ranks":[[["write",2,1,1]],7,[[]]],"every":"x"})",
       R"({"columns":["step","begin","end","busy"],"ranks":[[["write",0,"1",1],[1,0,1,1]]]})"}) {
    const std::string text =
        R"({"steps":{"write":{"min":1,"mean":2,"max":3}},"ranks":2,"timeline":)" +
        std::string(timeline) + "}";
    EXPECT_NO_THROW(draw_report(report(text), 0, summary)) << timeline;
    EXPECT_EQ(summary, "?: 3 s on 2 ranks");
  }
}

TEST_F(PlotTest, what_is_no_report_is_refused) {
  std::string summary;
  EXPECT_THROW(draw_report(at("missing"), -1, summary), Error);
  for (const char* text : {"", "[1]\n", "{}\n", "{\"steps\":{}}\n", "not json",
                           R"({"steps":{"write":{"max":"x"}},"ranks":3,"per_rank":{"write":[1]}})"})
    EXPECT_THROW(draw_report(report(text), -1, summary), Error) << text;
  const std::string good = R"({"steps":{"write":{"min":1,"mean":2,"max":3}},"ranks":9999})";
  EXPECT_NO_THROW(draw_report(report(good), 0, summary));
  EXPECT_THROW(draw_report(report(good), 1, summary), Error);
}

}  // namespace
}  // namespace forebay::tools
