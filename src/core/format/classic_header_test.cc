#include "format/classic_header.h"

#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/classic_placement.h"

namespace forebay::classic {
namespace format_classic_test {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

Attribute attribute(std::string name, Type type, Count count) {
  Attribute made;
  made.name = std::move(name);
  made.type = type;
  made.count = count;
  for (Count i = 0; i < count * size_of(type); ++i) made.value.push_back(std::byte(i % 251 + 1));
  return made;
}

Variable variable(std::string name, Type type, std::vector<DimId> dimids) {
  Variable made;
  made.name = std::move(name);
  made.type = type;
  made.dimids = std::move(dimids);
  return made;
}

// Returns record and fixed variables, a scalar, and every type of the version, with attributes.
Schema sample(int version) {
  Schema schema;
  schema.version = version;
  schema.numrecs = 2;
  schema.add_dim({"x", 3});
  schema.add_dim({"time", 0});
  schema.add_dim({"level", 5});
  schema.attributes.put(attribute("title", Type::chr, 5));
  schema.attributes.put(attribute("empty", Type::int16, 0));
  for (int t = 1; t <= 11; ++t) {
    const auto type = static_cast<Type>(t);
    if (!valid_in_version(type, version)) break;
    Variable var = variable("fixed" + std::to_string(t), type, {0, 2});
    var.attributes.put(attribute("_FillValue", type, 1));
    schema.add_var(var);
    schema.add_var(variable("record" + std::to_string(t), type, {1, 0}));
  }
  schema.add_var(variable("scalar", Type::float64, {}));
  place_variables(schema, nullptr, {}, header_size(schema));
  return schema;
}

constexpr Offset large_file = 1 << 20;

Errc code_of(const Bytes& bytes, Offset file_size = large_file) {
  try {
    return parse(bytes, file_size) ? Errc::ok : Errc::enodata;
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return error.code();
  }
}

// Returns the error code for a printed sample header after `damage`.
Errc code_after(int version, const std::function<void(Schema&)>& damage) {
  Schema schema = sample(version);
  damage(schema);
  return code_of(print(schema));
}

void expect_same(const Schema& a, const Schema& b) {
  EXPECT_EQ(a.version, b.version);
  EXPECT_EQ(a.numrecs, b.numrecs);
  EXPECT_EQ(a.header_size, b.header_size);
  EXPECT_EQ(a.header_extent, b.header_extent);
  EXPECT_EQ(a.begin_rec, b.begin_rec);
  EXPECT_EQ(a.recsize, b.recsize);
  ASSERT_EQ(a.dims.size(), b.dims.size());
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    EXPECT_EQ(a.dims[i].name, b.dims[i].name);
    EXPECT_EQ(a.dims[i].length, b.dims[i].length);
  }
  const auto expect_same_attributes = [](const AttributeList& x, const AttributeList& y) {
    ASSERT_EQ(x.size(), y.size());
    for (int i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name, y[i].name);
      EXPECT_EQ(x[i].type, y[i].type);
      EXPECT_EQ(x[i].count, y[i].count);
      EXPECT_EQ(x[i].value, y[i].value);
    }
  };
  expect_same_attributes(a.attributes, b.attributes);
  ASSERT_EQ(a.vars.size(), b.vars.size());
  for (std::size_t i = 0; i < a.vars.size(); ++i) {
    EXPECT_EQ(a.vars[i].name, b.vars[i].name);
    EXPECT_EQ(a.vars[i].type, b.vars[i].type);
    EXPECT_EQ(a.vars[i].dimids, b.vars[i].dimids);
    EXPECT_EQ(a.vars[i].begin, b.vars[i].begin);
    EXPECT_EQ(a.vars[i].vsize, b.vars[i].vsize);
    EXPECT_EQ(a.vars[i].is_record, b.vars[i].is_record);
    expect_same_attributes(a.vars[i].attributes, b.vars[i].attributes);
  }
}

class Versions : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ClassicHeader, Versions, testing::Values(1, 2, 5));

// -- the bytes themselves -------------------------------------------------------------------------

TEST(ClassicHeader, prints_cdf1_byte_for_byte) {
  Schema schema;
  schema.numrecs = 3;
  schema.add_dim({"t", 0});
  schema.add_dim({"width", 2});
  schema.attributes.put(attribute("a", Type::chr, 2));
  schema.add_var(variable("v", Type::int16, {0, 1}));
  schema.vars[0].begin = 0x01020304;
  const Bytes expected = bytes_of({
      'C', 'D', 'F', 1,  0,   0,   0,   3,                                          // numrecs
      0,   0,   0,   10, 0,   0,   0,   2,                                          // dimensions
      0,   0,   0,   1,  't', 0,   0,   0,   0,   0, 0, 0,                          //
      0,   0,   0,   5,  'w', 'i', 'd', 't', 'h', 0, 0, 0, 0, 0, 0, 2,              //
      0,   0,   0,   12, 0,   0,   0,   1,                                          // attributes
      0,   0,   0,   1,  'a', 0,   0,   0,   0,   0, 0, 2, 0, 0, 0, 2, 1, 2, 0, 0,  //
      0,   0,   0,   11, 0,   0,   0,   1,                                          // variables
      0,   0,   0,   1,  'v', 0,   0,   0,                                          //
      0,   0,   0,   2,  0,   0,   0,   0,   0,   0, 0, 1,                          // dimids
      0,   0,   0,   0,  0,   0,   0,   0,                                          // no attributes
      0,   0,   0,   3,  0,   0,   0,   4,   1,   2, 3, 4,                          // vsize, begin
  });
  EXPECT_EQ(print(schema), expected);
}

TEST(ClassicHeader, empty_headers_have_32_or_48_bytes) {
  for (const auto& [version, size] : {std::pair{1, 32}, {2, 32}, {5, 48}}) {
    Schema schema;
    schema.version = version;
    const Bytes bytes = print(schema);
    EXPECT_EQ(std::ssize(bytes), size);
    const auto read = parse(bytes, size);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->header_extent, size);
    EXPECT_TRUE(read->vars.empty());
  }
}

TEST(ClassicHeader, widths_of_offsets_and_counts_follow_the_version) {
  Schema schema;
  schema.add_var(variable("v", Type::byte, {}));
  schema.version = 1;
  const Offset cdf1 = header_size(schema);
  schema.version = 2;
  EXPECT_EQ(header_size(schema), cdf1 + 4);  // one begin
  schema.version = 5;
  EXPECT_EQ(header_size(schema), cdf1 + 4 + 4 * 8);  // one begin and eight counts
}

TEST(ClassicHeader, sizes_of_4_gib_and_more_are_stored_as_all_ones_before_cdf5) {
  Schema schema;
  schema.version = 2;
  schema.add_dim({"x", (Count{1} << 32) - 4});
  schema.add_dim({"y", (Count{1} << 32) - 3});
  schema.add_var(variable("v", Type::byte, {0}));
  const auto vsize = [&] {
    const Bytes bytes = print(schema);
    Bytes field(bytes.end() - 12, bytes.end() - 8);
    return field;
  };
  EXPECT_EQ(vsize(), bytes_of({255, 255, 255, 252}));
  schema.vars[0].dimids = {1};
  schema.derive(schema.vars[0]);
  EXPECT_EQ(vsize(), bytes_of({255, 255, 255, 255}));
  // When the header is read, the size comes from the shape.
  schema.vars[0].begin = 512;
  EXPECT_EQ(parse(print(schema), large_file)->vars[0].vsize, Count{1} << 32);
}

TEST(ClassicHeader, numbers_that_do_not_fit_are_not_printed) {
  Schema schema = sample(1);
  schema.numrecs = Count{1} << 32;
  EXPECT_THROW(print(schema), Error);
  EXPECT_THROW(print_numrecs(schema), Error);
  schema = sample(1);
  schema.vars[0].begin = Count{1} << 32;
  EXPECT_THROW(print(schema), Error);
  schema = sample(2);
  schema.dims[0].length = Count{1} << 32;
  EXPECT_THROW(print(schema), Error);
}

TEST(ClassicHeader, numrecs_alone_is_printed_as_it_stands_in_the_header) {
  for (int version : {1, 2, 5}) {
    Schema schema = sample(version);
    schema.numrecs = 0x01020304;
    const Bytes all = print(schema);
    const Bytes alone = print_numrecs(schema);
    EXPECT_EQ(alone.size(), version == 5 ? 8u : 4u);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + numrecs_offset));
  }
}

// -- round trip -----------------------------------------------------------------------------------

TEST_P(Versions, what_is_printed_is_read_back) {
  const Schema schema = sample(GetParam());
  const Bytes bytes = print(schema);
  EXPECT_EQ(std::ssize(bytes), header_size(schema));
  const auto read = parse(bytes, large_file);
  ASSERT_TRUE(read);
  expect_same(*read, schema);
  EXPECT_EQ(read->find_var("scalar"), schema.find_var("scalar"));
  EXPECT_EQ(print(*read), bytes);
}

TEST_P(Versions, asks_for_more_at_every_byte_before_the_end_and_fails_where_the_file_ends) {
  const Bytes bytes = print(sample(GetParam()));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(code_of(part), Errc::enodata) << n;
    EXPECT_EQ(code_of(part, static_cast<Offset>(n)), Errc::enotnc) << n;
  }
}

TEST_P(Versions, a_header_is_read_by_twice_as_many_bytes_each_time) {
  const Bytes bytes = print(sample(GetParam()));
  std::vector<Offset> asked;
  Offset there = std::ssize(bytes);
  const ReadUpTo read = [&](Bytes& part, Offset wanted) {
    asked.push_back(wanted);
    part.assign(bytes.begin(), bytes.begin() + std::min(wanted, there));
    return there;
  };
  expect_same(read_header("a.nc", read, 10), sample(GetParam()));
  ASSERT_GT(asked.size(), 3u);
  EXPECT_EQ(asked.front(), 10);
  for (std::size_t i = 1; i < asked.size(); ++i) EXPECT_EQ(asked[i], 2 * asked[i - 1]);
  EXPECT_LT(asked[asked.size() - 2], there) << "asked for more than there is";
  const auto message = [](const ReadUpTo& some) {
    try {
      read_header("a.nc", some, 10);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enotnc);
      return error.message();
    }
    return std::string("none");
  };
  --there;
  EXPECT_EQ(message(read).find("a.nc: header damaged at byte "), 0u);
  // The file became shorter after its size was read.
  EXPECT_EQ(message([&](Bytes& part, Offset) {
              part.assign(bytes.begin(), bytes.begin() + 9);
              return std::ssize(bytes);
            }),
            "a.nc: the file ends in its header");
}

TEST_P(Versions, data_may_be_missing_at_the_end_of_the_file) {
  const Bytes bytes = print(sample(GetParam()));
  EXPECT_EQ(code_of(bytes, std::ssize(bytes)), Errc::ok);
}

TEST_P(Versions, records_of_a_streamed_file_are_counted_from_its_size) {
  Schema schema = sample(GetParam());
  Bytes bytes = print(schema);
  for (int i = 0; i < (GetParam() == 5 ? 8 : 4); ++i) {
    bytes[static_cast<std::size_t>(numrecs_offset + i)] = std::byte{255};
  }
  const Offset end = schema.begin_rec + 7 * schema.recsize;
  EXPECT_EQ(parse(bytes, end)->numrecs, 7);
  EXPECT_EQ(parse(bytes, end + schema.recsize - 9)->numrecs, 7);
  EXPECT_EQ(parse(bytes, schema.begin_rec)->numrecs, 0);
}

TEST_P(Versions, padding_and_absent_tags_may_hold_anything) {
  const int version = GetParam();
  Schema schema;
  schema.version = version;
  Bytes bytes = print(schema);
  bytes[version == 5 ? 15 : 11] = std::byte{99};  // the tag of the empty list of dimensions
  EXPECT_EQ(code_of(bytes, std::ssize(bytes)), Errc::ok);
  schema.add_dim({"x", 7});
  bytes = print(schema);
  const std::size_t name = version == 5 ? 32 : 20;
  ASSERT_EQ(bytes[name], std::byte{'x'});
  bytes[name + 1] = bytes[name + 3] = std::byte{99};
  EXPECT_EQ(parse(bytes, std::ssize(bytes))->dims[0].name, "x");
}

TEST_P(Versions, names_may_have_256_bytes_of_any_kind_but_nul) {
  Schema schema = sample(GetParam());
  schema.vars[0].name = std::string(254, '\xff') + "/ ";
  place_variables(schema, nullptr, {}, header_size(schema));
  EXPECT_EQ(code_of(print(schema)), Errc::ok);
}

// -- damage ---------------------------------------------------------------------------------------

TEST(ClassicHeader, other_files_are_told_apart) {
  EXPECT_EQ(code_of(bytes_of({'C', 'D', 'F', 3, 0, 0, 0, 0})), Errc::enotnc);
  EXPECT_EQ(code_of(bytes_of({'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u'})), Errc::enotnc);
  const Bytes hdf5 = bytes_of({0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n', 0});
  EXPECT_EQ(code_of(hdf5), Errc::enotbuilt);
  EXPECT_EQ(detect(hdf5), 3);
  EXPECT_EQ(detect(bytes_of({'C', 'D', 'F', 5})), 5);
  EXPECT_EQ(detect(bytes_of({'C', 'D', 'F'})), std::nullopt);
  EXPECT_EQ(detect({}), std::nullopt);
}

TEST_P(Versions, wrong_definitions_give_the_codes_of_pnetcdf) {
  const int version = GetParam();
  const auto code = [&](const std::function<void(Schema&)>& damage) {
    return code_after(version, damage);
  };
  EXPECT_EQ(code([](Schema&) {}), Errc::ok);
  EXPECT_EQ(code([](Schema& s) { s.dims[0].length = 0; }), Errc::eunlimit);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].dimids = {0, 1}; }), Errc::eunlimpos);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].dimids = {1, 1}; }), Errc::eunlimpos);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].dimids[0] = 3; }), Errc::ebaddim);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].type = Type::none; }), Errc::ebadtype);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].type = static_cast<Type>(12); }), Errc::ebadtype);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].type = static_cast<Type>(0x104); }), Errc::ebadtype);
  EXPECT_EQ(code([](Schema& s) { s.vars[4].name = std::string(257, 'n'); }), Errc::emaxname);
  EXPECT_EQ(code([](Schema& s) { s.vars[4].name = ""; }), Errc::ebadname);
  EXPECT_EQ(code([](Schema& s) { s.dims[0].name = std::string(1, '\0'); }), Errc::ebadname);
  if (version < 5) {
    EXPECT_EQ(code([](Schema& s) { s.vars[0].type = Type::uint8; }), Errc::ebadtype);
  }
}

TEST_P(Versions, names_used_twice_are_damage) {
  const int version = GetParam();
  EXPECT_EQ(code_after(version, [](Schema& s) { s.dims[0].name = "time"; }), Errc::enotnc);
  EXPECT_EQ(code_after(version, [](Schema& s) { s.vars[1].name = "fixed1"; }), Errc::enotnc);
  EXPECT_EQ(code_after(version, [](Schema& s) { s.attributes.rename(1, "title"); }), Errc::enotnc);
}

TEST_P(Versions, offsets_that_cannot_be_are_damage) {
  const int version = GetParam();
  const auto code = [&](const std::function<void(Schema&)>& damage) {
    return code_after(version, damage);
  };
  EXPECT_EQ(code([](Schema& s) { s.vars[0].begin = 0; }), Errc::enotnc);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].begin = s.header_size - 1; }), Errc::enotnc);
  EXPECT_EQ(code([](Schema& s) { s.vars[0].begin = s.header_size; }), Errc::ok);
  EXPECT_EQ(code([](Schema& s) { s.vars[2].begin -= 4; }), Errc::enotnc);
  EXPECT_EQ(code([](Schema& s) { s.vars[1].begin -= 4; }), Errc::enotnc);
  EXPECT_EQ(code([](Schema& s) { s.vars[3].begin += 4; }), Errc::enotnc);
  EXPECT_EQ(code([](Schema& s) { std::swap(s.vars[0].begin, s.vars[2].begin); }), Errc::enotnc);
  if (version == 1) return;
  constexpr Offset end = std::numeric_limits<Offset>::max();
  EXPECT_EQ(code([](Schema& s) { s.vars.back().begin = end - 4; }), Errc::enotnc);
  if (version == 2) return;
  EXPECT_EQ(code([](Schema& s) { s.numrecs = end / 8; }), Errc::enotnc);
}

TEST(ClassicHeader, negative_numbers_of_cdf5_are_damage) {
  const Bytes good = print(sample(5));
  for (std::size_t field : {4u, 16u, 24u, 36u}) {  // numrecs, dimensions, a name, its dimension
    Bytes bytes = good;
    bytes[field] = std::byte{0x80};
    EXPECT_EQ(code_of(bytes), Errc::enotnc) << field;
  }
  Schema empty;
  empty.version = 5;
  Bytes bytes = print(empty);
  bytes[4] = std::byte{0x80};
  EXPECT_EQ(code_of(bytes), Errc::enotnc);
}

TEST_P(Versions, a_wrong_tag_is_damage) {
  Bytes bytes = print(sample(GetParam()));
  bytes[GetParam() == 5 ? 15 : 11] = std::byte{11};
  EXPECT_EQ(code_of(bytes), Errc::enotnc);
}

TEST_P(Versions, enormous_counts_fail_before_anything_is_read_or_allocated) {
  const int version = GetParam();
  Bytes bytes = print(sample(version));
  const std::size_t low = version == 5 ? 20 : 12;  // the low four bytes of the dimensions' number
  for (int i = 0; i < 4; ++i) bytes[low + static_cast<std::size_t>(i)] = std::byte{0x7f};
  EXPECT_EQ(code_of(bytes), Errc::enotnc);
  bytes[low] = std::byte{0x80};
  EXPECT_EQ(code_of(bytes), Errc::emaxdims);
  const auto attribute_of = [&](Type type, Count count) {
    return code_after(version, [&](Schema& s) {
      Attribute wrong = s.attributes[0];
      wrong.type = type;
      wrong.count = count;
      s.attributes.put(wrong);
    });
  };
  EXPECT_EQ(attribute_of(Type::chr, large_file), Errc::enotnc);
  EXPECT_EQ(attribute_of(Type::float64, Count{1} << 31), Errc::enotnc);
  if (version < 5) return;
  EXPECT_EQ(attribute_of(Type::float64, Count{1} << 61), Errc::enotnc);
}

// Writers make such headers. Only the file's size limits a header.
TEST(ClassicHeader, headers_of_more_than_2_gib_are_read_on) {
  Schema schema;
  schema.version = 5;
  Attribute huge = attribute("a", Type::chr, 1);
  for (const Count bytes : {Count{1} << 30, (Count{1} << 31) - 1, Count{1} << 34}) {
    huge.count = bytes;
    schema.attributes.put(huge);
    EXPECT_EQ(code_of(print(schema), Count{1} << 40), Errc::enodata);
    EXPECT_EQ(code_of(print(schema), bytes), Errc::enotnc);
  }
}

TEST(ClassicHeader, sizes_beyond_the_version_are_refused) {
  const auto enlarge = [](Schema& s) { s.dims[2].length = 0xffffffff; };
  EXPECT_EQ(code_after(1, enlarge), Errc::evarsize);
  EXPECT_EQ(code_after(2, enlarge), Errc::evarsize);
  EXPECT_EQ(code_after(5, enlarge), Errc::enotnc);  // legal, but variables overlap then
  const auto overflow = [](Schema& s) { s.dims[0].length = s.dims[2].length = 0x7fffffff; };
  EXPECT_EQ(code_after(5, overflow), Errc::evarsize);
}

// Returns the processor seconds to print and parse `count` variables and as many attributes. Other
// processes do not count.
double seconds_for(int version, int count) {
  Schema schema;
  schema.version = version;
  schema.add_dim({"x", 2});
  for (int i = 0; i < count; ++i) {
    schema.add_var(variable("v" + std::to_string(i), Type::int32, {0}));
    schema.attributes.append(attribute("a" + std::to_string(i), Type::byte, 1));
  }
  place_variables(schema, nullptr, {}, header_size(schema));
  const std::clock_t start = std::clock();
  const auto read = parse(print(schema), Count{1} << 30);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(read && read->vars.size() == static_cast<std::size_t>(count));
  return seconds;
}

TEST_P(Versions, time_is_linear_in_the_number_of_variables_and_attributes) {
  const double few = seconds_for(GetParam(), 4000);
  const double many = seconds_for(GetParam(), 64000);
  EXPECT_LT(many, 64 * few) << few << " s for 4000";  // 16 times as many: quadratic work takes 256
                                                      // times as long
}

}  // namespace format_classic_test
}  // namespace forebay::classic
