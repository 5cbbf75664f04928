#include "format/chunk_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/byteorder.h"
#include "base/error.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace forebay::chunked {
namespace chunk_schema_test {

/// Returns t (unlimited), y = 30, x = 40; T(t, y, x) and P(y, x) are chunked, m(y, x) is not.
Schema sample() {
  Schema schema;
  schema.version = 5;
  schema.numrecs = 3;
  schema.add_dim({"t", 0});
  schema.add_dim({"y", 30});
  schema.add_dim({"x", 40});
  const auto add = [&](const char* name, Type type, std::vector<DimId> dims) -> Variable& {
    Variable var;
    var.name = name;
    var.type = type;
    var.dimids = std::move(dims);
    const int id = schema.add_var(std::move(var));
    return schema.vars[static_cast<std::size_t>(id)];
  };
  add("T", Type::float32, {0, 1, 2}).chunking = Chunking{{1, 15, 40}, "shuffle,zstd:3", "why"};
  add("m", Type::int16, {1, 2});
  add("P", Type::float64, {1, 2}).chunking = Chunking{{}, "none", ""};
  schema.vars[0].attributes.put({"units", Type::chr, 1, {std::byte{'K'}}});
  schema.attributes.put({"title", Type::chr, 2, {std::byte{'h'}, std::byte{'i'}}});
  return schema;
}

Attribute integers(const char* name, std::vector<std::int32_t> values) {
  Attribute a{name, Type::int32, static_cast<Count>(values.size()), {}};
  a.value.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) store_be(a.value.data() + 4 * i, values[i]);
  return a;
}

Attribute text(const char* name, const std::string& value) {
  Attribute a{name, Type::chr, static_cast<Count>(value.size()), {}};
  a.value.resize(value.size());
  std::transform(value.begin(), value.end(), a.value.begin(), [](char c) { return std::byte(c); });
  return a;
}

/// Returns the error of from_stored after a change of the stored header; "" if there is none.
std::string refused(const std::function<void(Schema&)>& change) {
  Schema stored = to_stored(sample(), 8192);
  change(stored);
  Offset root = 0;
  try {
    from_stored(stored, root);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::enotnc);
    EXPECT_FALSE(error.advice().empty());
    return error.message();
  }
  return "";
}

TEST(ChunkSchema, a_note_tells_other_readers_what_they_see) {
  const Schema stored = to_stored(sample(), 8192);
  const auto note = stored.attributes.find("__anchors");
  ASSERT_TRUE(note);
  EXPECT_NE(text_of(stored.attributes[*note]).find("stand-ins"), std::string::npos);
  EXPECT_TRUE(is_reserved_attribute("__anchors"));
  Offset root = 0;
  EXPECT_FALSE(from_stored(stored, root).attributes.find("__anchors"));
  // Older files have no note.
  Schema older = stored;
  older.attributes = {};
  for (const Attribute& a : stored.attributes)
    if (a.name != "__anchors") older.attributes.append(a);
  EXPECT_EQ(from_stored(older, root).vars.size(), 3u);
}

TEST(ChunkSchema, is_read_back_through_a_header) {
  const Schema want = sample();
  Schema stored = to_stored(want, 123456789012);
  place_variables(stored, nullptr, {}, classic::header_size(stored));
  const auto bytes = classic::print(stored);
  const auto parsed = classic::parse(bytes, 1 << 20);
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(has_anchors(*parsed));
  EXPECT_EQ(root_of(*parsed), 123456789012);
  Offset root = 0;
  const Schema got = from_stored(*parsed, root);
  EXPECT_EQ(root, 123456789012);
  EXPECT_EQ(got.numrecs, 3);
  ASSERT_EQ(got.vars.size(), want.vars.size());
  for (std::size_t v = 0; v < want.vars.size(); ++v) {
    const Variable &a = got.vars[v], &b = want.vars[v];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.dimids, b.dimids);
    EXPECT_EQ(a.shape, b.shape);
    EXPECT_EQ(a.is_record, b.is_record);
    EXPECT_EQ(a.inner_elements, b.inner_elements);
    EXPECT_EQ(a.begin, stored.vars[v].begin);
    EXPECT_EQ(a.attributes.size(), b.attributes.size());
    ASSERT_EQ(a.chunking.has_value(), b.chunking.has_value());
    if (!b.chunking) continue;
    EXPECT_EQ(a.chunking->shape, b.chunking->shape);
    EXPECT_EQ(a.chunking->codec, b.chunking->codec);
  }
  EXPECT_EQ(got.attributes.size(), 1);
}

TEST(ChunkSchema, anchors_are_scalars_that_describe_the_variable) {
  const Schema stored = to_stored(sample(), 0);
  ASSERT_EQ(stored.vars.size(), 3u);
  EXPECT_TRUE(stored.vars[0].dimids.empty());
  EXPECT_FALSE(stored.vars[0].is_record);
  EXPECT_EQ(stored.vars[0].type, Type::float32);
  for (const char* name : {"units", "__chunk_dims", "__chunk_shape", "__filters"})
    EXPECT_TRUE(stored.vars[0].attributes.find(name)) << name;
  EXPECT_EQ(stored.vars[1].attributes.size(), 0);
  EXPECT_EQ(stored.vars[1].dimids.size(), 2u);
}

TEST(ChunkSchema, the_size_of_the_header_depends_on_neither_root_nor_shapes) {
  Schema schema = sample();
  const auto size = classic::header_size(to_stored(schema, 0));
  EXPECT_EQ(classic::header_size(to_stored(schema, INT64_MAX)), size);
  schema.vars[2].chunking->shape = {30, 40};
  EXPECT_EQ(classic::header_size(to_stored(schema, 5)), size);
}

TEST(ChunkSchema, chunks_beside_the_file_leave_room_for_records) {
  Schema schema = sample();
  Variable record;
  record.name = "classic";
  record.type = Type::int32;
  record.dimids = schema.vars[0].dimids;
  schema.add_var(record);
  const Schema stored = to_stored(schema, 0, 0x00abcdef12345678);
  EXPECT_EQ(files_of(stored), 0x00abcdef12345678u);
  EXPECT_FALSE(files_of(to_stored(schema, 4096)));
  EXPECT_FALSE(root_of(stored));
  EXPECT_EQ(classic::header_size(to_stored(schema, 0, UINT64_MAX)), classic::header_size(stored));
  Offset root = -1;
  const Schema got = from_stored(stored, root);
  EXPECT_EQ(root, root_beside);
  EXPECT_FALSE(got.vars.back().chunking);
  EXPECT_EQ(got.vars.back().dimids, record.dimids);
  EXPECT_EQ(got.vars[0].chunking->shape, schema.vars[0].chunking->shape);
  // In the same file, chunks and records would be in each other's way.
  EXPECT_THROW(from_stored(to_stored(schema, 4096), root), Error);
}

TEST(ChunkSchema, other_headers_have_no_anchors) {
  Schema schema = sample();
  for (Variable& var : schema.vars) var.chunking.reset();
  EXPECT_FALSE(has_anchors(schema));
}

TEST(ChunkSchema, names_of_anchor_attributes_are_reserved) {
  for (const char* name : {"__chunk_dims", "__chunk_shape", "__filters", "__chunk_root"})
    EXPECT_TRUE(is_reserved_attribute(name));
  EXPECT_FALSE(is_reserved_attribute("units"));
  EXPECT_FALSE(is_reserved_attribute("__chunk_dim"));
}

TEST(ChunkSchema, contradictions_are_refused_by_name) {
  EXPECT_EQ(refused([](Schema&) {}), "");
  const auto put = [](std::size_t var, Attribute a) {
    return [var, a](Schema& s) { s.vars[var].attributes.put(a); };
  };
  const auto drop = [](std::size_t var, const char* name) {
    return [var, name](Schema& s) {
      s.vars[var].attributes.remove(*s.vars[var].attributes.find(name));
    };
  };
  for (const auto& change : std::vector<std::function<void(Schema&)>>{
           put(0, integers("__chunk_dims", {0, 1, 3})),
           put(0, integers("__chunk_dims", {0, 1, -1})),
           put(0, integers("__chunk_dims", {0, 1})),
           put(0, integers("__chunk_dims", {1, 0, 2})),
           put(0, integers("__chunk_dims", {})),
           put(0, text("__chunk_dims", "abc")),
           put(0, integers("__chunk_shape", {1, 15, 0})),
           put(0, integers("__chunk_shape", {1, 15, -40})),
           put(0, integers("__chunk_shape", {1, 15})),
           put(0, integers("__filters", {1})),
           drop(0, "__chunk_shape"),
           drop(0, "__filters"),
           [](Schema& s) { s.vars[0].dimids = {1}; },
       }) {
    const std::string message = refused(change);
    EXPECT_NE(message.find("chunked variable T: "), std::string::npos) << message;
  }
}

TEST(ChunkSchema, a_damaged_root_is_refused) {
  for (const char* value : {"", "forebay", "forebay chunk index 2 at byte 00000000000000008192",
                            "forebay chunk index 1 at byte -0000000000000008192",
                            "forebay chunk index 1 at byte xyz"}) {
    EXPECT_NE(refused([&](Schema& s) { s.attributes.put(text("__chunk_root", value)); }), "")
        << value;
  }
  EXPECT_NE(refused([&](Schema& s) { s.attributes.put(integers("__chunk_root", {1})); }), "");
}

TEST(ChunkSchema, record_variables_that_are_not_chunked_are_refused) {
  const std::string message = refused([](Schema& s) {
    Variable var;
    var.name = "r";
    var.type = Type::float32;
    var.dimids = {0};
    s.add_var(std::move(var));
  });
  EXPECT_NE(message.find("r"), std::string::npos);
}

// Sizes are multiplied when the variable gets its dimensions back.
TEST(ChunkSchema, dimensions_whose_product_overflows_are_refused) {
  Schema stored = to_stored(sample(), 8192);
  stored.add_dim({"huge", Count{1} << 62});
  stored.vars[2].attributes.put(integers("__chunk_dims", {3, 3}));
  Offset root = 0;
  EXPECT_THROW(from_stored(stored, root), Error);
}

TEST(ChunkSchema, flipped_bits_in_a_header_never_crash) {
  Schema stored = to_stored(sample(), 8192);
  place_variables(stored, nullptr, {}, classic::header_size(stored));
  const auto good = classic::print(stored);
  int accepted = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto bytes = good;
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      try {
        const auto parsed = classic::parse(bytes, 1 << 20);
        if (!parsed || !has_anchors(*parsed)) continue;
        Offset root = 0;
        const Schema schema = from_stored(*parsed, root);
        EXPECT_GE(root, 0);
        ++accepted;
      } catch (const Error& error) {
        EXPECT_FALSE(error.message().empty());
      }
    }
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace chunk_schema_test
}  // namespace forebay::chunked
