#include "patches/files/refinement.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "base/error.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"

namespace forebay {
namespace refinement_test {

/// rho(z, y, x), float, in patches of 8³ with one coarser level. It is smooth except in one patch.
class RefinementTest : public ::testing::Test {
 protected:
  static constexpr Count nz = 20, ny = 17, nx = 24;

  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_refinement_" + std::to_string(::getpid()) + ".nc";
    auto ds = Dataset::create(
        Comm(), path_, 5, false,
        {{"layout", "patches"}, {"codec", "zfp:accuracy=1e-3"}, {"patch_edge", "8"}});
    const DimId z = ds->def_dim("z", nz), y = ds->def_dim("y", ny), x = ds->def_dim("x", nx);
    const VarId rho = ds->def_var("rho", Type::float32, std::array{z, y, x});
    ds->enddef();
    std::vector<float> values;
    for (Count i = 0; i < nz * ny * nx; ++i) {
      const Count k = i / (ny * nx), j = i / nx % ny, l = i % nx;
      const bool rough = k < 8 && j < 8 && l < 8;
      values.push_back(std::sin(0.05F * static_cast<float>(k + j + l)) +
                       (rough ? static_cast<float>(i * 2654435761 % 1000) / 100 : 0));
    }
    std::vector<Request> one(1);
    one[0].var = rho;
    one[0].write = true;
    one[0].selection = Subarray{{0, 0, 0}, {nz, ny, nx}, {}};
    one[0].elements = nz * ny * nx;
    one[0].memory.data = reinterpret_cast<std::byte*>(values.data());
    one[0].memory.type = Type::float32;
    ds->execute(one, true);
    ds->close();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  static Subarray whole() { return {{0, 0, 0}, {nz, ny, nx}, {}}; }
  static std::vector<float> values_of(const Refinement& its) {
    std::vector<float> values(static_cast<std::size_t>(its.selection().elements()));
    its.values(Type::float32, values.data());
    return values;
  }
  /// Flips a byte in the middle of a part. A second call restores it.
  void flip(Count patch, int part) const {
    const ClassicFile file(path_);
    const FileChunks& chunks = *file.chunks();
    const auto& entry = chunks.table(0).get(chunks.coding(0).entry(patch, part));
    ASSERT_GT(entry.bytes, 0);
    std::fstream bytes(path_, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(entry.offset + entry.bytes / 2);
    const int old = bytes.get();
    bytes.seekp(entry.offset + entry.bytes / 2);
    bytes.put(static_cast<char>(old ^ 0x55));
  }

  std::string path_;
};

TEST_F(RefinementTest, ends_with_what_a_read_gives) {
  const ClassicFile file(path_);
  for (const int threads : {1, 3}) {
    Refinement its(*file.chunks(), 0, whole(), threads);
    ASSERT_EQ(its.level(), 1);
    EXPECT_GT(its.error(), 1);
    its.refine(0);
    EXPECT_EQ(its.level(), 0);
    EXPECT_LE(its.error(), 1e-3);
    const auto all = file.read_doubles(0, whole());
    const auto got = values_of(its);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(got[i], all[i]) << i;
  }
}

// After an error all is as before, and the step may be repeated.
TEST_F(RefinementTest, a_step_that_fails_changes_nothing_and_may_be_taken_again) {
  flip(0, 1);
  const ClassicFile file(path_);
  Refinement its(*file.chunks(), 0, whole());
  const auto before = values_of(its);
  const double error = its.error();
  for (int time = 0; time < 2; ++time) {
    try {
      its.refine(0);
      ADD_FAILURE() << "damage is not told of";
    } catch (const Error& told) {
      EXPECT_EQ(told.code(), Errc::enotnc);
      EXPECT_NE(told.message().find("rho"), std::string::npos) << told.message();
    }
    EXPECT_EQ(its.level(), 1);
    EXPECT_EQ(values_of(its), before);
    EXPECT_EQ(its.error(), error);
  }
  flip(0, 1);
  its.refine(0);
  EXPECT_EQ(its.level(), 0);
  EXPECT_LE(its.error(), 1e-3);
}

}  // namespace refinement_test
}  // namespace forebay
