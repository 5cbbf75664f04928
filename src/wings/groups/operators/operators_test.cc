// Blocks behind adios2's operators, whole and damaged (groups/operators/operators.h). What adios2
// itself wrote is read by tests/check_operators.py.
#include "groups/operators/operators.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/operators/blosc.h"
#include "groups/operators/encoder.h"
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

// c-blosc 1 leaves a block alone whose elements are no multiple of 8. Version 2 shuffles the first
// ones, by eights.
TEST(Operators, blosc_shuffles_bits_as_its_version_does) {
  constexpr std::size_t elements = 100, whole = 96 * 8;
  const Bytes raw = memory_of(ramp(elements));
  Bytes body;
  put(body, std::uint32_t{16 + 4});
  put(body, static_cast<std::uint32_t>(raw.size()));
  put_bytes(body, raw);
  constexpr unsigned bit_shuffle = 4, one_stream = 16;
  Bytes chunk = chunk_of(bit_shuffle | one_stream, 8, raw.size(), raw.size(), body);
  const auto values = [&] {
    return decoded("blosc", bp::Type::float64, raw.size(), blosc_payload(raw.size(), {chunk}));
  };
  EXPECT_EQ(values(), raw);
  chunk[0] = std::byte{3};
  const Bytes shuffled = values();
  EXPECT_FALSE(std::equal(raw.begin(), raw.begin() + whole, shuffled.begin()));
  EXPECT_TRUE(std::equal(raw.begin() + whole, raw.end(), shuffled.begin() + whole));
}

TEST(Operators, blosc_has_nan_for_whole_elements_alone) {
  constexpr std::size_t long_head = 32, flags_at = 31;
  const auto refused = [](std::size_t bytes) {
    Bytes chunk = chunk_of(1 | 4, 8, bytes, bytes, Bytes(long_head - 16));
    chunk[0] = std::byte{5};
    chunk[flags_at] = std::byte{2 << 4};
    return attempt_to(
        [&] { decoded("blosc", bp::Type::uint8, bytes, blosc_payload(bytes, {chunk})); });
  };
  EXPECT_FALSE(refused(16));
  const auto failed = refused(20);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::ebad_file);
}

// adios2 tells zfp of three dimensions before version 2.11, of four since.
TEST(Operators, zfp_of_four_dimensions_and_of_three_of_them_are_told_apart) {
  std::vector<double> values;
  for (int i = 0; i < 3 * 5 * 6 * 7; ++i) values.push_back(100 * std::sin(i / 20.0));
  const std::vector<std::size_t> extents{3, 5, 6, 7}, four{7, 6, 5, 3}, three{7, 6, 15};
  for (const auto& [kind, number, name, text] :
       {std::tuple(ZfpMode::Kind::accuracy, 1e-2, "accuracy", "0.01"),
        std::tuple(ZfpMode::Kind::precision, 20.0, "precision", "20"),
        std::tuple(ZfpMode::Kind::rate, 16.0, "rate", "16")})
    for (const auto& shape : {three, four}) {
      const ZfpMade made = zfp_payload(values, extents, shape, {kind, number}, name, text);
      EXPECT_EQ(decoded("zfp", bp::Type::float64, made.values.size(), made.payload), made.values)
          << name << shape.size();
    }
}

TEST(Operators, zfp_of_one_length_for_three_and_four_dimensions_is_refused) {
  std::vector<double> values;
  for (int i = 0; i < 4 * 4 * 4 * 8; ++i) values.push_back(100 * std::sin(i / 20.0));
  const ZfpMade made =
      zfp_payload(values, {4, 4, 4, 8}, {8, 4, 4, 4}, {ZfpMode::Kind::rate, 16}, "rate", "16");
  const auto failed =
      attempt_to([&] { decoded("zfp", bp::Type::float64, made.values.size(), made.payload); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::enotsupport) << failed->message();
  // Zeros are zeros either way.
  const ZfpMade zeros = zfp_payload(std::vector<double>(512), {4, 4, 4, 8}, {8, 4, 4, 4},
                                    {ZfpMode::Kind::rate, 16}, "rate", "16");
  EXPECT_EQ(decoded("zfp", bp::Type::float64, 4096, zeros.payload), Bytes(4096));
}

TEST(Operators, zfp_has_a_bit_for_each_block) {
  constexpr std::size_t elements = 1 << 20;
  Bytes payload = head_of(7);
  put(payload, std::uint64_t{1});
  put(payload, std::uint64_t{elements});
  for (const int n : {10, 0, 0, 0, 1, 0, 0, 0}) put(payload, static_cast<std::uint8_t>(n));
  payload.resize(payload.size() + 16);
  const auto failed = attempt_to([&] { decoded("zfp", bp::Type::float64, 8 * elements, payload); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), Errc::ebad_file);
  EXPECT_NE(failed->message().find("fewer bits than blocks"), std::string::npos)
      << failed->message();
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

// ---- encoders

std::optional<Bytes> coded_and_back(const std::string& codec, bp::Type type,
                                    const std::vector<Count>& extents, const Bytes& values,
                                    bool column_major = false) {
  CodecWorkspace workspace;
  CodedBlock coded;
  if (!make_encoder(codec)->encode(type, extents, column_major, values, workspace, coded))
    return std::nullopt;
  EXPECT_LT(coded.payload.size(), values.size());
  const Bytes payload(coded.payload.begin(), coded.payload.end());
  const Bytes back = decoded(coded.operation, type, values.size(), payload);
  if (!coded.lossy.empty()) {
    EXPECT_EQ(Bytes(coded.lossy.begin(), coded.lossy.end()), back);
  }
  return back;
}

TEST(Encoder, lossless_codecs_give_back_each_type) {
  // Several blocks of a chunk, the last one shorter.
  const Bytes values = memory_of(ramp(100000));
  for (const char* codec : {"zstd", "shuffle,zstd:3", "deflate:6", "shuffle,deflate:1"})
    for (const auto type : {bp::Type::float64, bp::Type::int32, bp::Type::int16, bp::Type::uint8,
                            bp::Type::complex64, bp::Type::complex128})
      EXPECT_EQ(coded_and_back(codec, type, {std::ssize(values) / bp::size_of(type)}, values),
                values)
          << codec;
}

TEST(Encoder, zfp_keeps_its_bound_in_either_order_of_dimensions) {
  std::vector<double> values;
  for (int i = 0; i < 3840; ++i) values.push_back(100 * std::sin(i / 200.0));
  const Bytes raw = memory_of(values);
  for (const std::vector<Count>& extents : {std::vector<Count>{3840},
                                            {48, 80},
                                            {16, 1, 240},
                                            {8, 8, 60},
                                            {4, 4, 8, 30},
                                            {4, 4, 4, 6, 10}})
    for (const bool column_major : {false, true}) {
      const auto back =
          coded_and_back("zfp:accuracy=1e-2", bp::Type::float64, extents, raw, column_major);
      ASSERT_TRUE(back);
      for (std::size_t i = 0; i < values.size(); ++i) {
        double value;
        std::memcpy(&value, back->data() + 8 * i, sizeof value);
        EXPECT_NEAR(value, values[i], 1e-2);
      }
    }
  EXPECT_TRUE(coded_and_back("zfp:rate=20", bp::Type::float64, {48, 80}, raw));
  EXPECT_TRUE(coded_and_back("zfp:precision=24", bp::Type::float64, {48, 80}, raw));
}

// Versions of adios2 before 2.11 decode no more, and go by the extents in the header.
TEST(Encoder, zfp_says_three_dimensions_at_most) {
  std::vector<double> values;
  for (int i = 0; i < 3840; ++i) values.push_back(100 * std::sin(i / 200.0));
  for (const bool column_major : {false, true}) {
    CodecWorkspace workspace;
    CodedBlock coded;
    ASSERT_TRUE(make_encoder("zfp:rate=16")
                    ->encode(bp::Type::float64, {4, 1, 4, 4, 6, 10}, column_major,
                             memory_of(values), workspace, coded));
    Bytes expected = head_of(7);
    put(expected, std::uint64_t{3});
    // The fastest one comes first, and the slowest ones are merged.
    const auto extents = column_major ? std::vector<std::uint64_t>{4, 4, 240}
                                      : std::vector<std::uint64_t>{10, 6, 64};
    for (const std::uint64_t n : extents) put(expected, n);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), coded.payload.begin()));
  }
}

TEST(Encoder, zfp_takes_values_that_stand_anywhere) {
  std::vector<double> values;
  for (int i = 0; i < 480; ++i) values.push_back(100 * std::sin(i / 200.0));
  const Bytes raw = memory_of(values);
  Bytes shifted(raw.size() + 1);
  std::copy(raw.begin(), raw.end(), shifted.begin() + 1);
  const auto payload = [](std::span<const std::byte> of) {
    CodecWorkspace workspace;
    CodedBlock coded;
    EXPECT_TRUE(make_encoder("zfp:accuracy=1e-2")
                    ->encode(bp::Type::float64, {480}, false, of, workspace, coded));
    return coded.payload;
  };
  EXPECT_EQ(payload(std::span(shifted).subspan(1)), payload(raw));
}

TEST(Encoder, what_no_codec_helps_stays_as_it_is) {
  std::vector<double> values = ramp(480);
  EXPECT_FALSE(coded_and_back("zstd", bp::Type::float64, {100}, memory_of(ramp(100))));  // few
  EXPECT_FALSE(coded_and_back("zfp:rate=8", bp::Type::int64, {480}, memory_of(values)));
  values[7] = std::numeric_limits<double>::quiet_NaN();
  for (const char* codec : {"zfp:accuracy=1e-2", "zfp:rate=20", "zfp:precision=24"})
    EXPECT_FALSE(coded_and_back(codec, bp::Type::float64, {480}, memory_of(values))) << codec;
  values = ramp(480);
  values[301] = 1e300;
  EXPECT_FALSE(coded_and_back("zfp:accuracy=1e-2", bp::Type::float64, {480}, memory_of(values)));
  Bytes noise(8000);
  std::uint64_t state = 1;
  for (std::byte& byte : noise)
    byte = static_cast<std::byte>((state = state * 6364136223846793005U + 1) >> 56);
  EXPECT_FALSE(coded_and_back("shuffle,zstd:3", bp::Type::float64, {1000}, noise));
}

TEST(Encoder, codecs_without_an_operator_are_refused) {
  EXPECT_EQ(make_encoder("none"), nullptr);
  for (const char* codec : {"zfp:reversible", "zfp:relative=1e-3", "shuffle", "float32,zstd:3",
                            "zfp:accuracy=1e-3,zstd"}) {
    const auto failed = attempt_to([&] { make_encoder(codec); });
    ASSERT_TRUE(failed) << codec;
    EXPECT_EQ(failed->code(), Errc::enotsupport) << codec;
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
