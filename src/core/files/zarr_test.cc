#include "files/zarr.h"

#include <gtest/gtest.h>

#include <cstring>

namespace forebay::zarr {
namespace zarr_test {

Attribute text_attribute(const std::string& name, const std::string& text) {
  Attribute attribute{name, Type::chr, static_cast<Count>(text.size()), {}};
  attribute.value.resize(text.size());
  std::memcpy(attribute.value.data(), text.data(), text.size());
  return attribute;
}

TEST(Zarr, an_attribute_of_the_file_by_a_name_of_its_own_is_kept_apart) {
  AttributeList attributes;
  attributes.put(text_attribute("_ARRAY_DIMENSIONS", "mine"));
  attributes.put(text_attribute("units", "m"));
  EXPECT_EQ(Json::parse(attributes_text(attributes, std::vector<std::string>{"y", "x"})),
            Json::parse(R"({"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m",
                            "_nc4_att__ARRAY_DIMENSIONS": "mine"})"));
  attributes.put(text_attribute("_nc4_att__ARRAY_DIMENSIONS", "mine, too"));
  EXPECT_EQ(Json::parse(attributes_text(attributes, std::vector<std::string>{"y"})),
            Json::parse(R"({"_ARRAY_DIMENSIONS": ["y"], "units": "m",
                            "_nc4_att__ARRAY_DIMENSIONS": "mine, too",
                            "_nc4_att__nc4_att__ARRAY_DIMENSIONS": "mine"})"));
  // A group has no dimensions.
  EXPECT_EQ(Json::parse(attributes_text(attributes))["_ARRAY_DIMENSIONS"], "mine");
}

TEST(Zarr, so_it_is_where_pyramids_are_listed) {
  AttributeList attributes;
  attributes.put(text_attribute("multiscales", "mine"));
  EXPECT_EQ(Json::parse(attributes_text(attributes, JsonAttribute{"multiscales", {1, 2}})),
            Json::parse(R"({"multiscales": [1, 2], "_nc4_att_multiscales": "mine"})"));
}

}  // namespace zarr_test
}  // namespace forebay::zarr
