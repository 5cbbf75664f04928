// The parts of pictures and tables: colours, text, the search on the sphere.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "base/text_table.h"
#include "tools/canvas.h"
#include "tools/sphere_index.h"

namespace forebay::tools {
namespace {

double luminance(Colour c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue; }

TEST(Colours, lightness_grows_evenly) {
  double last = luminance(colour_of(0));
  EXPECT_LT(last, 60);
  for (int i = 1; i <= 100; ++i) {
    const double now = luminance(colour_of(i / 100.0));
    EXPECT_GE(now, last) << i;
    EXPECT_LT(now - last, 6) << i;
    last = now;
  }
  EXPECT_GT(last, 190);
  EXPECT_EQ(colour_of(-3), colour_of(0));
  EXPECT_EQ(colour_of(7), colour_of(1));
}

TEST(Text, is_drawn_where_asked_and_as_wide_as_told) {
  Canvas canvas(200, 40, {255, 255, 255});
  canvas.text(20, 10, "Min 3.5°", {0, 0, 0}, 2);
  int left = 1000, right = -1, top = 1000;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      if (canvas.pixel(x, y) == Colour{255, 255, 255}) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
    }
  }
  EXPECT_EQ(left, 20);
  EXPECT_EQ(top, 10);
  EXPECT_NEAR(right, 20 + Canvas::text_width("Min 3.5°", 2) - 1, 1);
}

TEST(Text, beyond_the_edge_is_cut_off) {
  Canvas canvas(10, 10, {255, 255, 255});
  canvas.text(-20, -3, "WWWWWWWWWW", {0, 0, 0}, 3);
  canvas.fill(-5, -5, 100, 100, {1, 2, 3});
  EXPECT_EQ(canvas.pixel(9, 9), (Colour{1, 2, 3}));
}

TEST(SphereIndex, finds_what_a_search_of_all_points_finds) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> lat(-90, 90), lon(-180, 360);
  std::vector<double> latitudes, longitudes;
  for (int i = 0; i < 500; ++i) {
    latitudes.push_back(lat(random));
    longitudes.push_back(lon(random));
  }
  latitudes[7] = std::nan("");
  const SphereIndex index(latitudes, longitudes);
  const auto distance = [&](std::size_t i, double phi, double lambda) {
    const double r = std::numbers::pi / 180;
    const double cosine =
        std::sin(phi * r) * std::sin(latitudes[i] * r) +
        std::cos(phi * r) * std::cos(latitudes[i] * r) * std::cos((lambda - longitudes[i]) * r);
    return std::sqrt(std::max(0.0, 2 - 2 * cosine));
  };
  for (int round = 0; round < 300; ++round) {
    const double phi = lat(random), lambda = lon(random);
    double best = 9;
    for (std::size_t i = 0; i < latitudes.size(); ++i) {
      if (i != 7 && i != 9) best = std::min(best, distance(i, phi, lambda));
    }
    const auto found = index.nearest(phi, lambda, 9);
    EXPECT_NEAR(found.distance, best, 1e-5);
    EXPECT_NEAR(distance(found.point, phi, lambda), best, 1e-5);
    EXPECT_NE(found.point, 9u);
  }
}

TEST(TextTable, columns_line_up_and_lines_end_early) {
  TextTable table("lrl");
  table.add({"a", "1", "x"});
  table.add({"°°°", "22"});
  EXPECT_EQ(table.text(), "  a     1  x\n  °°°  22\n");
}

TEST(Printable, control_characters_are_shown_not_sent) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\tc\x7f"), "a\\x1b[2Jb\\n\\tc\\x7f");
  EXPECT_EQ(printable("°°°°", 2), "°°…");
  EXPECT_EQ(printable("°°", 2), "°°");
}

TEST(Grouped, digits_by_threes) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace forebay::tools
