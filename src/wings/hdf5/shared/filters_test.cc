// Part of the connector's tests and of the command's: each is built with its own HDF5.
#include "hdf5/shared/filters.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay {
namespace filters_test {

constexpr H5Z_filter_t refuses = 300;  // from the numbers for tests

std::size_t refuse(unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*, void**) {
  return 0;
}

class FilterPipelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const H5Z_class2_t filter{H5Z_CLASS_T_VERS, refuses, 1, 1, "refuses", nullptr, nullptr, refuse};
    ASSERT_GE(H5Zregister(&filter), 0);
    std::iota(values_.begin(), values_.end(), 0);
  }
  /// No object stays in memory.
  void TearDown() override { EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0); }

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(values_)); }

  std::array<int, 1000> values_{};
};

Hdf5Id chunked() {
  Hdf5Id list = owned_list(H5Pcreate(H5P_DATASET_CREATE));
  const hsize_t chunk = 10;
  checked(H5Pset_chunk(list, 1, &chunk), "setting a chunk");
  return list;
}

TEST_F(FilterPipelineTest, undoes_what_it_did) {
  const Hdf5Id list = chunked();
  EXPECT_FALSE(FilterPipeline::any(list));
  checked(H5Pset_shuffle(list), "setting a filter");
  checked(H5Pset_deflate(list, 6), "setting a filter");
  EXPECT_TRUE(FilterPipeline::any(list));
  FilterPipeline pipeline(list, H5T_NATIVE_INT);
  const auto filtered = pipeline.apply(bytes());
  EXPECT_EQ(filtered.mask, 0U);
  EXPECT_LT(filtered.bytes.size(), bytes().size() / 2);
  const auto values = std::exchange(values_, {});
  pipeline.undo(filtered.bytes, filtered.mask, bytes());
  EXPECT_EQ(values_, values);
}

TEST_F(FilterPipelineTest, what_a_filter_cannot_decode_is_an_error) {
  const Hdf5Id list = chunked();
  checked(H5Pset_deflate(list, 6), "setting a filter");
  FilterPipeline pipeline(list, H5T_NATIVE_INT);
  const std::array<std::byte, 100> damaged{};
  const auto failed = attempt_to([&] { pipeline.undo(damaged, 0, bytes()); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::efilter);
  EXPECT_NE(failed->message().find("decoding by a filter"), std::string::npos);
}

// Closing the dataset fails too, since its content cannot be written.
TEST_F(FilterPipelineTest, what_a_filter_cannot_encode_is_an_error) {
  const Hdf5Id list = chunked();
  checked(H5Pset_filter(list, refuses, H5Z_FLAG_MANDATORY, 0, nullptr), "setting a filter");
  FilterPipeline pipeline(list, H5T_NATIVE_INT);
  const auto failed = attempt_to([&] { pipeline.apply(bytes()); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::efilter);
}

}  // namespace filters_test
}  // namespace forebay
