#include "layout/codec_choice.h"

#include <gtest/gtest.h>

#include "format/anchor.h"

namespace forebay {
namespace {

std::vector<std::int32_t> number(const Variable& var, const char* name) {
  return anchors::integers_of(var.attributes, name).value_or(std::vector<std::int32_t>{});
}

constexpr const char* digits = "_QuantizeBitGroomNumberOfSignificantDigits";

TEST(CodecChoice, what_is_quantised_says_so) {
  Variable var;
  add_quantisation(var);
  EXPECT_EQ(var.attributes.size(), 0);
  var.chunking = Chunking{{}, "shuffle,zstd:3", {}};
  add_quantisation(var);
  EXPECT_EQ(var.attributes.size(), 0);
  var.chunking->codec = "bitgroom:digits=4,shuffle,zstd:3";
  add_quantisation(var);
  EXPECT_EQ(var.attributes.size(), 2);
  EXPECT_EQ(number(var, digits), std::vector<std::int32_t>{4});
  EXPECT_EQ(number(var, "quantization_nsd"), std::vector<std::int32_t>{4});
  Variable slabs;
  slabs.slab_codec = "bitround:bits=7";
  add_quantisation(slabs);
  EXPECT_EQ(number(slabs, "_QuantizeBitRoundNumberOfSignificantBits"),
            std::vector<std::int32_t>{7});
  EXPECT_EQ(number(slabs, "quantization_nsb"), std::vector<std::int32_t>{7});
}

TEST(CodecChoice, of_a_copied_variable_the_fewest_digits_stay) {
  for (const int known : {2, 6}) {
    Variable var;
    var.attributes.put(anchors::integers(digits, std::vector<std::int32_t>{known}));
    var.attributes.put(text_attribute("quantization_nsd", "four"));
    var.chunking = Chunking{{}, "bitgroom:digits=4", {}};
    add_quantisation(var);
    EXPECT_EQ(number(var, digits), std::vector<std::int32_t>{std::min(known, 4)});
    EXPECT_EQ(number(var, "quantization_nsd"), std::vector<std::int32_t>{4});
    EXPECT_EQ(var.attributes.size(), 2);
  }
}

}  // namespace
}  // namespace forebay
