#include "container/classic/classic.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dataset/dataset.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace forebay {
namespace classic_classic_test {

class ClassicContainerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "forebayXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = name + "/file.nc";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const Schema& schema) {
    const auto bytes = classic::print(schema);
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  std::string folder_, path_;
};

// A tool that copies some variables of a file also copies the file's attributes.
TEST_F(ClassicContainerTest, an_attribute_that_tells_of_chunks_without_chunked_variables) {
  Schema schema;
  schema.version = 5;
  schema.add_dim({"x", 4});
  Variable var;
  var.name = "plain";
  var.type = Type::int32;
  var.dimids = {0};
  schema.add_var(std::move(var));
  const std::string root = "forebay chunk index 1 at byte 00000000000000004096";
  Attribute attribute{"__chunk_root", Type::chr, std::ssize(root), {}};
  for (const char c : root) attribute.value.push_back(static_cast<std::byte>(c));
  schema.attributes.append(std::move(attribute));
  place_variables(schema, nullptr, {}, classic::header_size(schema));
  write(schema);

  const auto dataset = Dataset::open(Comm(), path_, true, {});
  EXPECT_TRUE(dataset->has_fixed_places());
  std::int32_t values[4] = {1, 2, 3, 4}, got[4] = {};
  for (const bool writes : {true, false}) {
    std::vector<Request> requests(1);
    requests[0].write = writes;
    requests[0].elements = 4;
    requests[0].selection = Subarray{{0}, {4}, {}};
    requests[0].memory = {reinterpret_cast<std::byte*>(writes ? values : got), Type::int32};
    dataset->execute(requests, true);
  }
  dataset->close();
  EXPECT_EQ(got[3], 4);
}

}  // namespace classic_classic_test
}  // namespace forebay
