#include "array/type.h"

#include <gtest/gtest.h>

#include <cstring>

namespace forebay {
namespace type_test {

constexpr Type all[] = {Type::byte,    Type::chr,     Type::int16, Type::int32,
                        Type::float32, Type::float64, Type::uint8, Type::uint16,
                        Type::uint32,  Type::int64,   Type::uint64};

template <typename T>
T fill_of(Type type) {
  std::byte bytes[8];
  std::memset(bytes, 0xEE, sizeof bytes);
  default_fill(type, bytes);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  for (std::size_t i = sizeof value; i < 8; ++i) EXPECT_EQ(bytes[i], std::byte{0});
  return value;
}

TEST(Type, values_are_those_of_nc_type) {
  for (int i = 0; i < 11; ++i) EXPECT_EQ(static_cast<int>(all[i]), i + 1);
}

TEST(Type, sizes_follow_the_classic_format) {
  constexpr int sizes[] = {1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  for (int i = 0; i < 11; ++i) EXPECT_EQ(size_of(all[i]), sizes[i]);
  EXPECT_EQ(size_of(Type::none), 0);
  EXPECT_EQ(size_of(static_cast<Type>(12)), 0);
  EXPECT_EQ(size_of(static_cast<Type>(-1)), 0);
}

TEST(Type, names_are_cdl) {
  EXPECT_STREQ(name_of(Type::chr), "char");
  EXPECT_STREQ(name_of(Type::uint16), "ushort");
  EXPECT_STREQ(name_of(static_cast<Type>(99)), "none");
}

TEST(Type, the_last_five_need_cdf5) {
  for (const Type type : all) {
    EXPECT_TRUE(valid_in_version(type, 5));
    EXPECT_EQ(valid_in_version(type, 1), static_cast<int>(type) <= 6);
    EXPECT_EQ(valid_in_version(type, 2), static_cast<int>(type) <= 6);
  }
  for (const int version : {1, 2, 5}) {
    EXPECT_FALSE(valid_in_version(Type::none, version));
    EXPECT_FALSE(valid_in_version(static_cast<Type>(12), version));
  }
}

TEST(Type, kinds) {
  for (const Type type : all) {
    EXPECT_EQ(is_numeric(type), type != Type::chr);
    EXPECT_EQ(is_floating(type), type == Type::float32 || type == Type::float64);
    EXPECT_EQ(is_integer(type), is_numeric(type) && !is_floating(type));
  }
  EXPECT_TRUE(is_signed(Type::byte) && is_signed(Type::float32));
  EXPECT_FALSE(is_signed(Type::uint8) || is_signed(Type::uint64) || is_signed(Type::chr));
  EXPECT_FALSE(is_numeric(Type::none));
}

TEST(Type, default_fill_values_are_netcdfs) {
  EXPECT_EQ(fill_of<signed char>(Type::byte), -127);
  EXPECT_EQ(fill_of<char>(Type::chr), 0);
  EXPECT_EQ(fill_of<std::int16_t>(Type::int16), -32767);
  EXPECT_EQ(fill_of<std::int32_t>(Type::int32), -2147483647);
  EXPECT_EQ(fill_of<float>(Type::float32), 9.9692099683868690e+36F);
  EXPECT_EQ(fill_of<double>(Type::float64), 9.9692099683868690e+36);
  EXPECT_EQ(fill_of<std::uint8_t>(Type::uint8), 255);
  EXPECT_EQ(fill_of<std::uint16_t>(Type::uint16), 65535);
  EXPECT_EQ(fill_of<std::uint32_t>(Type::uint32), 4294967295U);
  EXPECT_EQ(fill_of<std::int64_t>(Type::int64), -9223372036854775806);
  EXPECT_EQ(fill_of<std::uint64_t>(Type::uint64), 18446744073709551614U);
}

TEST(Type, memory_kinds_of_c_map_by_representation) {
  EXPECT_EQ(type_of<char>(), Type::chr);
  EXPECT_EQ(type_of<signed char>(), Type::byte);
  EXPECT_EQ(type_of<unsigned char>(), Type::uint8);
  EXPECT_EQ(size_of(type_of<long>()), static_cast<int>(sizeof(long)));
  EXPECT_EQ(size_of(type_of<unsigned long long>()), 8);
}

}  // namespace type_test
}  // namespace forebay
