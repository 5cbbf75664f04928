// Tests schemas and selections at a level, for variables with fewer levels and for runs.
#include "patches/coarse_schema.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace forebay {
namespace coarse_schema_test {

TEST(CoarseSchema, a_variable_with_fewer_levels_is_its_coarsest_one_thinned_out) {
  Schema schema;
  for (const Count n : {100, 30, 9}) schema.add_dim({"d" + std::to_string(n), n});
  const auto add = [&](const char* name, std::vector<DimId> dims, std::vector<Count> chunk) {
    Variable var;
    var.name = name;
    var.dimids = std::move(dims);
    var.type = Type::float32;
    if (!chunk.empty()) var.chunking = Chunking{std::move(chunk), "none", {}};
    schema.add_var(std::move(var));
  };
  add("deep", {0, 1}, {32, 32});
  add("shallow", {0, 1}, {8, 8});
  add("other", {0, 2}, {8, 8});
  add("plain", {1, 2}, {});
  const CoarseSchema coarse = coarse_schema(schema, std::vector<int>{3, 1, 1, 0}, 2);
  EXPECT_EQ(coarse.schema.vars[1].shape, (std::vector<Count>{25, 8}));
  EXPECT_EQ(coarse.vars[1].level, 1);
  EXPECT_EQ(coarse.vars[1].stride, (std::vector<Count>{2, 2}));
  // Its last dimension keeps its length, so that its level 1 has too few elements.
  EXPECT_EQ(coarse.schema.vars[2].shape, (std::vector<Count>{25, 9}));
  EXPECT_EQ(coarse.vars[2].level, 0);
  EXPECT_EQ(coarse.vars[2].stride, (std::vector<Count>{4, 1}));
  EXPECT_EQ(coarse.schema.vars[3].shape, (std::vector<Count>{8, 9}));
  EXPECT_EQ(coarse.schema.vars[1].chunking->shape, (std::vector<Count>{8, 8}));
  EXPECT_EQ(coarse.schema.vars[0].inner_elements, 200);
}

// Returns for each element that runs select its number in the variable.
std::vector<Count> elements_of(const Runs& runs, Count width) {
  std::vector<Count> elements(static_cast<std::size_t>(runs.list->bytes / width), -1);
  Offset position = 0;
  for (std::size_t i = 0; i < runs.list->runs.size(); ++i) {
    const Run& run = runs.list->runs[i];
    if (!runs.list->memory.empty()) position = runs.list->memory[i];
    for (Count at = 0; at < run.length; at += width, position += width)
      elements[static_cast<std::size_t>(position / width)] = (runs.base + run.offset + at) / width;
  }
  return elements;
}

TEST(CoarseSchema, runs_select_the_elements_that_are_left) {
  for (const bool last_is_cut : {true, false}) {
    Schema schema;
    schema.add_dim({"time", 0});
    schema.add_dim({"y", 7});
    schema.add_dim({"x", 9});
    schema.add_dim({"z", 20});
    Variable rho;
    rho.name = "rho";
    rho.type = Type::float32;
    rho.dimids = last_is_cut ? std::vector<DimId>{1, 2} : std::vector<DimId>{1, 3};
    rho.chunking = Chunking{{4, 4}, "none", {}};
    schema.add_var(rho);
    Variable plain;
    plain.name = "plain";
    plain.type = Type::int16;
    plain.dimids = {0, 1, 2};
    schema.add_var(plain);
    const CoarseSchema coarse = coarse_schema(schema, std::vector<int>{1, 0}, 1);
    const Variable& shown = coarse.schema.vars[1];
    const Count width = 2, columns = last_is_cut ? 5 : 9, step = last_is_cut ? 2 : 1;
    EXPECT_EQ(shown.shape, (std::vector<Count>{0, 4, columns}));
    // The runs go across the end of a row, behind one record. Then comes the first element, which
    // is last in memory.
    auto list = std::make_shared<RunList>();
    list->runs = {{0, width}, {3 * width, (columns + 4) * width}};
    list->bytes = (columns + 5) * width;
    list->memory = {(columns + 4) * width, 0};
    const Runs runs{list, 4 * columns * width};
    const Runs there = at_its_level(coarse.vars[1], shown, schema.vars[1], runs);
    std::vector<Count> wanted;
    for (const Count e : elements_of(runs, width)) {
      const Count record = e / (4 * columns), y = e / columns % 4, x = e % columns;
      wanted.push_back(record * 63 + 2 * y * 9 + step * x);
    }
    EXPECT_EQ(elements_of(there, width), wanted);
    EXPECT_EQ(there.list->bytes, list->bytes);
    // Neighbours stay together.
    EXPECT_EQ(std::ssize(there.list->runs), last_is_cut ? columns + 5 : 3);
    // A selection of a whole level does not change.
    EXPECT_EQ(at_its_level(coarse.vars[0], coarse.schema.vars[0], schema.vars[0], runs).list, list);
  }
}

}  // namespace coarse_schema_test
}  // namespace forebay
