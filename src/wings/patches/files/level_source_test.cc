// A file at a level: dimensions, variables in patches, and all others.
#include "patches/files/level_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"
#include "files/classic_file.h"
#include "patches/files/patches_testing.h"

namespace forebay {
namespace level_source_test {

using namespace patches_testing;

class LevelSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_levels_" + std::to_string(::getpid()) + ".nc";
    write(path_);
    source_ = open_classic(path_);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  /// Returns the values as an array of doubles.
  static std::vector<double> values(const Source& source, VarId var, const Subarray& box) {
    std::vector<double> all(static_cast<std::size_t>(box.elements()));
    const Type type = source.schema().vars[static_cast<std::size_t>(var)].type;
    std::vector<std::byte> data(all.size() * static_cast<std::size_t>(size_of(type)));
    source.read(var, box, data.data());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (type == Type::float64) all[i] = reinterpret_cast<const double*>(data.data())[i];
      if (type == Type::float32) all[i] = reinterpret_cast<const float*>(data.data())[i];
      if (type == Type::int32) all[i] = reinterpret_cast<const std::int32_t*>(data.data())[i];
    }
    return all;
  }
  static std::vector<double> all(const Source& source, VarId var) {
    return values(source, var, whole(source.shape(var)));
  }

  std::vector<double> of_level(VarId var, int level) const {
    const ClassicFile& file = *source_->classic();
    const Subarray box = whole(file.shape(var, level));
    std::vector<double> values(static_cast<std::size_t>(box.elements()));
    file.read(var, box, Type::float64, values.data(), 1, level);
    return values;
  }

  std::string path_;
  std::shared_ptr<const Source> source_;
};

TEST_F(LevelSourceTest, every_dimension_and_variable_is_as_long_as_the_level) {
  for (int level = 0; level <= 2; ++level) {
    const LevelSource coarse(source_, level);
    const std::vector<Count> wanted{patch_records, halved(cube[0], level), halved(cube[1], level),
                                    halved(cube[2], level)};
    EXPECT_EQ(coarse.shape(rho), wanted);
    EXPECT_EQ(coarse.shape(mask), (std::vector<Count>{wanted[2], wanted[3]}));
    EXPECT_EQ(coarse.shape(times), std::vector<Count>{patch_records});
    EXPECT_TRUE(coarse.shape(number).empty());
    EXPECT_EQ(coarse.classic_version(), 5);
    EXPECT_EQ(coarse.schema().vars[rho].chunking->codec, "shuffle,zstd:1");
    EXPECT_EQ(coarse.schema().vars[rho].attributes.size(), 1);
  }
}

TEST_F(LevelSourceTest, patches_give_their_level_and_others_every_so_many_th_element) {
  const LevelSource coarse(source_, 2);
  EXPECT_EQ(all(coarse, rho), of_level(rho, 2));
  EXPECT_EQ(all(coarse, flat), of_level(flat, 2));
  const std::vector<double> fine = of_level(mask, 0), thin = all(coarse, mask);
  const Count width = halved(cube[2], 2);
  for (Count i = 0; i < std::ssize(thin); ++i)
    ASSERT_EQ(thin[static_cast<std::size_t>(i)],
              fine[static_cast<std::size_t>(i / width * 4 * cube[2] + i % width * 4)]);
  EXPECT_EQ(all(coarse, z), (std::vector<double>{0, 40, 80, 120, 160, 200}));
  EXPECT_EQ(all(coarse, times), (std::vector<double>{0, 1}));
  EXPECT_EQ(all(coarse, number), std::vector<double>{7});
  // A part of the variable, with a stride.
  EXPECT_EQ(values(coarse, z, {{1}, {2}, {3}}), (std::vector<double>{40, 160}));
}

TEST_F(LevelSourceTest, a_level_that_is_not_there_is_told) {
  for (const int level : {-1, 3}) {
    try {
      const LevelSource coarse(source_, level);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::einval);
      EXPECT_NE(std::string(error.what()).find(path_ + ": no variable has a level"),
                std::string::npos);
      EXPECT_NE(error.advice().find("to 2"), std::string::npos);
    }
  }
}

TEST_F(LevelSourceTest, a_pyramid_has_a_group_for_each_level) {
  const Pyramid pyramid(source_);
  ASSERT_EQ(pyramid.groups().size(), 3u);
  EXPECT_EQ(pyramid.groups()[2].path, "2");
  EXPECT_EQ(pyramid.groups()[2].attributes.size(), 1);
  for (int level = 0; level <= 2; ++level) {
    const auto prefix = std::to_string(level) + "/";
    const LevelSource coarse(source_, level);
    for (std::size_t v = 0; v < source_->schema().vars.size(); ++v) {
      const auto there = pyramid.schema().find_var(prefix + source_->schema().vars[v].name);
      ASSERT_TRUE(there);
      EXPECT_EQ(all(pyramid, *there), all(coarse, static_cast<VarId>(v)));
    }
  }
  EXPECT_EQ(pyramid.steps(flat), (std::vector<std::vector<Count>>{{1, 1}, {2, 2}, {4, 4}}));
  EXPECT_EQ(pyramid.steps(mask).size(), 1u);
}

}  // namespace level_source_test
}  // namespace forebay
