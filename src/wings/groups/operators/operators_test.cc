// Blocks behind adios2's operators, whole and damaged (groups/operators/operators.h). What adios2
// itself wrote is read by tests/check_operators.py.
#include "groups/operators/operators.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/operators/blosc.h"
#include "groups/operators/lz.h"
#include "groups/operators/operators_testing.h"

namespace forebay::operators {
namespace operators_test {

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bp::Block block_of(const std::string& operation, std::size_t values, const Bytes& payload) {
  bp::Block block;
  block.operation = operation;
  block.bytes = static_cast<Count>(values);
  block.stored = std::ssize(payload);
  return block;
}

Bytes decoded(const std::string& operation, bp::Type type, std::size_t bytes,
              const Bytes& payload) {
  CodecWorkspace workspace;
  Bytes out(bytes);
  decode(type, block_of(operation, bytes, payload), payload, out, workspace);
  return out;
}

// ---- the LZ77 formats

TEST(Lz, lz4_has_literals_and_matches) {
  const Bytes in =
      bytes_of(std::string_view("\x55"
                                "abcde\x05\x00\x20xy",
                                11));
  Bytes out(16);
  decode_lz4(in, out);
  EXPECT_EQ(text_of(out), "abcdeabcdeabcdxy");
}

TEST(Lz, lz4_lengths_go_on) {
  Bytes in{std::byte{0x1f}, std::byte{'a'}, std::byte{1},    std::byte{0},
           std::byte{255},  std::byte{10},  std::byte{0x10}, std::byte{'b'}};
  Bytes out(1 + 15 + 255 + 10 + 4 + 1);
  decode_lz4(in, out);
  EXPECT_EQ(text_of(out), std::string(out.size() - 1, 'a') + "b");
}

TEST(Lz, blosclz_has_literals_and_matches) {
  const Bytes in =
      bytes_of(std::string_view("\x04"
                                "abcde\xe0\x00\x04\x01xy",
                                12));
  Bytes out(16);
  decode_blosclz(in, out);
  EXPECT_EQ(text_of(out), "abcdeabcdeabcdxy");
}

TEST(Lz, blosclz_reaches_far_back) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += static_cast<char>('a' + i * 7 % 23);
  Bytes in;
  for (std::size_t at = 0; at < text.size(); at += 30) {
    put(in, std::uint8_t{29});
    put_bytes(in, bytes_of(std::string_view(text).substr(at, 30)));
  }
  // A distance of 8192 + 800, and a length of 3.
  for (const int byte : {1 << 5 | 31, 255, 800 >> 8, 800 & 255})
    put(in, static_cast<std::uint8_t>(byte));
  Bytes out(9003);
  decode_blosclz(in, out);
  EXPECT_EQ(text_of(out), text + text.substr(9000 - 8992, 3));
}

TEST(Lz, whatever_the_bytes_nothing_lies_outside) {
  int refused = 0;
  for (const auto decode_one : {decode_lz4, decode_blosclz})
    for (unsigned seed = 0; seed < 2000; ++seed) {
      Bytes in(seed % 40), out(seed % 70);
      unsigned state = seed * 2654435761U + 1;
      for (std::byte& byte : in)
        byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
      const auto failed = attempt_to([&] { decode_one(in, out); });
      refused += failed.has_value();
      if (failed) {
        EXPECT_EQ(failed->code(), Errc::enotnc);
      }
    }
  EXPECT_GT(refused, 3000);
}

// ---- operators

TEST(Operators, blosc_with_zstd_and_shuffle) {
  const std::vector<double> values = ramp(500);
  const Bytes raw = memory_of(values);
  EXPECT_EQ(decoded("blosc", bp::Type::float64, raw.size(),
                    blosc_payload(raw.size(), {zstd_chunk(values)})),
            raw);
}

TEST(Operators, blosc_chunks_follow_one_another) {
  Bytes both = memory_of(ramp(500));
  const Bytes one = both;
  put_bytes(both, one);
  EXPECT_EQ(decoded("blosc", bp::Type::float64, both.size(),
                    blosc_payload(both.size(), {zstd_chunk(ramp(500)), zstd_chunk(ramp(500))})),
            both);
}

TEST(Operators, blosc_values_as_they_are) {
  const Bytes raw = bytes_of("some values");
  Bytes payload = blosc_payload(raw.size(), {});
  put_bytes(payload, raw);
  EXPECT_EQ(decoded("blosc", bp::Type::uint8, raw.size(), payload), raw);
  const Bytes copied = blosc_payload(raw.size(), {chunk_of(2, 1, raw.size(), raw.size(), raw)});
  EXPECT_EQ(decoded("blosc", bp::Type::uint8, raw.size(), copied), raw);
}

TEST(Operators, blosc_runs_of_one_byte) {
  Bytes body;
  for (const int number : {16 + 8, 16 + 8 + 5, -7}) put(body, static_cast<std::uint32_t>(number));
  put(body, std::uint8_t{1});
  put(body, std::uint32_t{0});
  const Bytes out =
      decoded("blosc", bp::Type::uint8, 12, blosc_payload(12, {chunk_of(16, 1, 12, 8, body)}));
  EXPECT_EQ(text_of(out), std::string(8, '\7') + std::string(4, '\0'));
}

TEST(Operators, zfp_decodes_what_zfp_does) {
  const ZfpMade made = zfp_payload();
  EXPECT_EQ(decoded("zfp", bp::Type::float64, made.values.size(), made.payload), made.values);
}

TEST(Operators, a_block_of_another_size_is_refused) {
  const ZfpMade zfp = zfp_payload();
  const std::vector<double> values = ramp(500);
  for (const std::size_t bytes : {8, 488, 4008})
    for (const auto& [name, payload] :
         {std::pair("zfp", zfp.payload),
          std::pair("blosc", blosc_payload(4000, {zstd_chunk(values)}))}) {
      const auto failed = attempt_to([&] { decoded(name, bp::Type::float64, bytes, payload); });
      ASSERT_TRUE(failed) << name << bytes;
      EXPECT_EQ(failed->code(), Errc::ebad_file);
    }
}

TEST(Operators, damaged_blocks_are_refused_or_decoded) {
  const ZfpMade zfp = zfp_payload();
  const std::vector<double> values = ramp(500);
  struct Case {
    const char* name;
    std::size_t bytes;
    Bytes payload;
  };
  for (const Case& one : {Case{"zfp", zfp.values.size(), zfp.payload},
                          Case{"blosc", 4000, blosc_payload(4000, {zstd_chunk(values)})}}) {
    int refused = 0;
    const auto try_one = [&](const Bytes& payload) {
      const auto failed =
          attempt_to([&] { decoded(one.name, bp::Type::float64, one.bytes, payload); });
      if (!failed) return;
      ++refused;
      EXPECT_TRUE(failed->code() == Errc::ebad_file || failed->code() == Errc::enotsupport)
          << failed->message();
    };
    for (std::size_t n = 0; n < one.payload.size(); ++n) {
      refused = 0;
      try_one({one.payload.begin(), one.payload.begin() + static_cast<std::ptrdiff_t>(n)});
      EXPECT_EQ(refused, 1) << one.name << " cut at " << n;
      for (const unsigned bits : {1U, 0x80U, 0xffU}) {
        Bytes spoiled = one.payload;
        spoiled[n] ^= static_cast<std::byte>(bits);
        try_one(spoiled);
      }
    }
  }
}

TEST(Operators, those_that_are_not_known_say_so) {
  bp::Block block;
  EXPECT_EQ(why_unreadable(block), "");
  block.operation = "mgard";
  block.stored = 10;
  EXPECT_NE(why_unreadable(block).find("operator mgard"), std::string::npos);
  block.operation = "zfp";
  EXPECT_EQ(why_unreadable(block), "");
  block.stored = 0;
  EXPECT_NE(why_unreadable(block).find("old or foreign form"), std::string::npos);
}

TEST(Operators, filters_that_are_not_known_are_named) {
  const Bytes chunk = chunk_of(8, 1, 12, 12, Bytes(20));
  const auto failed =
      attempt_to([&] { decoded("blosc", bp::Type::uint8, 12, blosc_payload(12, {chunk})); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotsupport);
  EXPECT_NE(failed->message().find("delta"), std::string::npos) << failed->message();
}

}  // namespace operators_test
}  // namespace forebay::operators
