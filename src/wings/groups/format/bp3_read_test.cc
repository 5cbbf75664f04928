#include "groups/format/bp3_read.h"

#include <gtest/gtest.h>

#include <string>

#include "base/attempt.h"
#include "groups/format/bp3_testing.h"
#include "groups/format/bp_cursor.h"

namespace forebay::bp {
namespace bp3_read_test {

constexpr Origin of_adios1{false, false, Form::adios1};

std::span<const std::byte, footer_bytes> footer_of(const Bytes& file) {
  return std::span(file).last<footer_bytes>();
}

std::optional<Error> error_of(const Bytes& file) {
  return attempt_to([&] { parse_footer(footer_of(file), std::ssize(file)); });
}

Block only_block(Variable variable, const Bp3Printer& characteristics, Origin origin) {
  Bp3Printer set(false);
  set.put(std::uint8_t{1}).put(static_cast<std::uint32_t>(characteristics.bytes().size()));
  set.put_bytes(characteristics.bytes());
  VariableEntry parsed(std::move(variable), set.bytes(), origin);
  Block block;
  EXPECT_TRUE(parsed.next(block));
  EXPECT_FALSE(parsed.next(block));
  return block;
}

TEST(Bp3Read, the_footer_tells_order_and_places) {
  for (const bool big : {false, true}) {
    Bp3File made(big);
    made.group(1);
    const Bytes values(7);
    Bytes file = made.print(values, 3);
    for (const std::uint8_t order : {file.end()[-4] == std::byte{0} ? 0 : 1, 0x80}) {
      if (big) file.end()[-4] = std::byte{order};
      const Footer footer = parse_footer(footer_of(file), std::ssize(file));
      EXPECT_EQ(footer.swapped, big != native_is_big_endian);
      EXPECT_TRUE(footer.subfiles);
      EXPECT_EQ(footer.groups, 7);
      EXPECT_EQ(footer.variables, 7 + 16 + 34);
      EXPECT_EQ(footer.attributes, footer.variables + 12);
      EXPECT_EQ(footer.end, std::ssize(file) - 28);
      EXPECT_EQ(parse_groups_head(std::span(file).subspan(7), footer.swapped), 1U);
      EXPECT_EQ(parse_elements(std::span(file).subspan(57), footer.swapped), 0U);
    }
    file.end()[-2] = std::byte{2};
    EXPECT_FALSE(parse_footer(footer_of(file), std::ssize(file)).subfiles);
  }
}

TEST(Bp3Read, what_does_not_end_so_is_no_file_of_it) {
  const Bytes good = Bp3File().print({});
  ASSERT_FALSE(error_of(good));
  // Wrong order, its other byte, flags, version; then a place beyond the file, and one after the
  // next.
  for (const auto& [at, value] : std::vector<std::pair<std::size_t, int>>{
           {4, 2}, {3, 1}, {2, 4}, {1, 0}, {21, 1}, {28, 17}, {12, 200}}) {
    Bytes file = good;
    file[file.size() - at] = static_cast<std::byte>(value);
    const auto failed = error_of(file);
    ASSERT_TRUE(failed) << at;
    EXPECT_EQ(failed->code(), Errc::ebad_file) << at;
  }
  for (const int version : {1, 4}) {
    Bytes file = good;
    file.back() = static_cast<std::byte>(version);
    EXPECT_EQ(error_of(file)->code(), Errc::enotsupport);
  }
  Bytes disordered = good;  // this is reported before the version
  disordered.end()[-28] = std::byte{40};
  disordered.back() = std::byte{1};
  EXPECT_EQ(error_of(disordered)->code(), Errc::ebad_file);
  const Bytes zeros(100);
  EXPECT_EQ(error_of(zeros)->code(), Errc::ebad_file);
  Bytes shorter(good.end() - 28, good.end());  // its places lie before its beginning
  EXPECT_EQ(error_of(shorter)->code(), Errc::ebad_file);
}

TEST(Bp3Read, groups_tell_step_and_order_of_dimensions) {
  for (const bool fortran : {false, true}) {
    Bp3File made;
    made.group(5, fortran);
    const Bytes file = made.print({});
    const auto entry = std::span(file).subspan(16, 34);
    EXPECT_EQ(parse_group_bytes(entry, false), 34);
    Cursor from(entry, false);
    const Group group = parse_group(from);
    EXPECT_EQ(group.name, "restart");
    EXPECT_EQ(group.step, 5U);
    EXPECT_EQ(group.column_major, fortran);
    for (std::size_t n = 0; n < entry.size(); ++n)
      EXPECT_TRUE(attempt_to([&] {
        Cursor some(entry.first(n), false);
        parse_group(some);
      })) << n;
  }
}

TEST(Bp3Read, names_have_their_path) {
  const auto name_of = [](const char* path, const char* name, Form form) {
    Bp3File made;
    made.variable({"restart", path, name, 7}, Type::int8, {});
    const Bytes file = made.print({});
    const auto head = std::span(file).subspan(16 + 12);
    const VariableEntry entry(head, {false, false, form});
    EXPECT_EQ(entry.member(), 7U);
    EXPECT_EQ(entry.group(), "restart");
    return entry.variable().name;
  };
  EXPECT_EQ(name_of("/grid", "T", Form::adios1), "grid/T");
  EXPECT_EQ(name_of("", "T", Form::adios1), "T");
  EXPECT_EQ(name_of("/", "T", Form::adios1), "T");
  EXPECT_EQ(name_of("", "/grid/T", Form::adios1), "grid/T");
  EXPECT_EQ(name_of("", "/grid/T", Form::bp3), "/grid/T");
  EXPECT_THROW(name_of("/grid", "", Form::adios1), Error);
  EXPECT_THROW(name_of("", "/", Form::adios1), Error);
}

// They begin with the minimum and maximum of absolute values, as floats of 8 bytes.
TEST(Bp3Read, statistics_of_complex_numbers_and_histograms_are_passed_over) {
  Bp3Printer complex(false);
  complex.dimensions({{2, 0, 0}}).what(9).put(std::uint32_t{0x5f}).what(10);
  for (int set = 0; set < 3; ++set)
    complex.put(1.0).put(2.0).put(std::uint32_t{2}).put(3.0).put(5.0).put(std::uint8_t{1});
  complex.payload(77);
  Block block = only_block({"c", Type::complex64}, complex, of_adios1);
  EXPECT_EQ(block.payload, 77);
  EXPECT_FALSE(block.has_range);

  Bp3Printer histogram(false);
  histogram.dimensions({{2, 0, 0}}).what(9).put(std::uint32_t{0x23}).what(10);
  histogram.put(1.5F).put(2.5F);
  histogram.put(std::uint32_t{2}).put(0.0).put(9.0);
  for (std::uint32_t n = 0; n < 3; ++n) histogram.put(n);
  histogram.put(1.0).put(2.0).payload(88);
  block = only_block({"h", Type::float32}, histogram, of_adios1);
  EXPECT_EQ(block.payload, 88);
  EXPECT_TRUE(block.has_range);
  EXPECT_EQ(number_of<float>(Type::float32, block.max), 2.5F);

  Bp3Printer endless(false);
  endless.what(9).put(std::uint32_t{32}).what(10).put(std::uint32_t{0xffffffff}).put(0.0);
  EXPECT_THROW(only_block({"h", Type::float32}, endless, of_adios1), Error);
}

// The minimum and maximum are arbitrary memory then.
TEST(Bp3Read, where_no_value_counts_there_is_no_range) {
  for (const std::uint32_t count : {0, 1}) {
    Bp3Printer some(false);
    some.dimensions({{2, 0, 0}}).payload(64).what(9).put(std::uint32_t{0x47}).what(10);
    some.put(4.0).put(5.0).put(count).put(std::uint8_t{0});
    EXPECT_EQ(only_block({"n", Type::float64}, some, of_adios1).has_range, count > 0);
  }
}

TEST(Bp3Read, time_among_the_dimensions_is_left_out) {
  const auto at_of = [](const std::vector<std::array<std::uint64_t, 3>>& dimensions, bool fortran,
                        Form form) {
    Bp3Printer printed(false);
    printed.dimensions(dimensions).payload(64);
    return only_block({"t", Type::float64}, printed, {false, fortran, form}).at;
  };
  const Shape plain{{9, 3}, {2, 0}, {4, 3}};
  EXPECT_EQ(at_of({{1, 9, 2}, {4, 3, 0}, {3, 0, 0}}, false, Form::adios1), plain);
  EXPECT_EQ(at_of({{3, 3, 0}, {4, 9, 2}, {1, 0, 0}}, true, Form::adios1), plain);
  EXPECT_EQ(at_of({{4, 9, 2}, {3, 3, 0}}, false, Form::adios1), plain);
  // Local arrays do not say which extent is time.
  EXPECT_EQ(at_of({{1, 0, 0}, {4, 0, 0}}, false, Form::adios1), (Shape{{}, {}, {1, 4}}));
  // adios2 has no time dimension, so it is an array without elements.
  EXPECT_EQ(at_of({{1, 9, 2}, {0, 0, 0}}, false, Form::bp3), (Shape{{9, 0}, {2, 0}, {1, 0}}));
}

TEST(Bp3Read, behind_a_transform_is_a_variable_of_its_own_type) {
  Bp3Printer printed(false);
  printed.dimensions({{25, 0, 0}}).what(11);
  printed.put(std::uint8_t{4}).put_bytes(std::as_bytes(std::span("zlib", 4)));
  printed.put(std::uint8_t{6}).extents({{3, 9, 3}, {2, 2, 0}});
  printed.put(std::uint16_t{1}).put(std::uint8_t{1});
  printed.what(9).put(std::uint32_t{3}).what(10).put(-1.0).put(1.0).payload(99);
  Bp3Printer set(false);
  set.put(std::uint8_t{1}).put(static_cast<std::uint32_t>(printed.bytes().size()));
  set.put_bytes(printed.bytes());
  for (const Type told : {Type::int8, Type::float64}) {
    VariableEntry parsed({"z", told}, set.bytes(), of_adios1);
    Block block;
    parsed.next(block);
    EXPECT_EQ(parsed.variable().type, Type::float64);
    EXPECT_EQ(block.operation, "zlib");
    EXPECT_EQ(block.at, (Shape{{9, 2}, {3, 0}, {3, 2}}));
    EXPECT_EQ(number_of<double>(Type::float64, block.max), 1.0);
    EXPECT_EQ(block.payload, 99);
  }
}

TEST(Bp3Read, attributes_have_a_value_or_that_of_a_variable) {
  const auto parse = [](Type type, const Bp3Printer& set) {
    Bp3File made;
    made.attribute({"restart", "/grid/T", "nx", 3}, type, {set, set});
    const Bytes file = made.print({});
    return parse_attribute(std::span(file).subspan(16 + 12 + 12).first(file.size() - 40 - 56),
                           of_adios1);
  };
  const AttributeEntry one = parse(Type::int32, Bp3Printer(false).value(std::int32_t{4}));
  EXPECT_EQ(one.attribute.name, "grid/T/nx");
  EXPECT_EQ(one.attribute.values.size(), 4U);
  EXPECT_FALSE(one.variable);
  const AttributeEntry other = parse(Type::reference, Bp3Printer(false).variable(12));
  EXPECT_EQ(other.attribute.type, Type::reference);
  EXPECT_EQ(other.group, "restart");
  EXPECT_EQ(other.variable, 12U);
  EXPECT_THROW(parse(Type::reference, Bp3Printer(false).time(1)), Error);
  EXPECT_THROW(parse(Type::reference, Bp3Printer(false).value(std::int32_t{4})), Error);
  EXPECT_THROW(parse(Type::int32, Bp3Printer(false).variable(12)), Error);
}

}  // namespace bp3_read_test
}  // namespace forebay::bp
