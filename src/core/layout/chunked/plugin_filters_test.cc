#include "layout/chunked/plugin_filters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "layout/chunked/filtered_chunks.h"

namespace forebay::chunked {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

Bytes hexadecimal(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// The elements of the streams below, five rows of six.
template <typename T>
std::vector<T> field() {
  std::vector<T> values;
  for (int i = 0; i < 5; ++i)
    for (int k = 0; k < 6; ++k) values.push_back(static_cast<T>(k * k - 3 * i));
  return values;
}

/// A stream that hdf5plugin 6.0.0 made, with the parameters that it wrote to the file.
struct Known {
  Filter filter;
  Type type;
  std::vector<Count> chunk;
  Bytes values, stream;
  const char* codec;
};

std::vector<Known> known_streams() {
  std::vector<std::uint16_t> pairs;
  for (unsigned i = 0; i < 21; ++i) pairs.push_back(static_cast<std::uint16_t>(i * 2309));
  std::vector<std::uint8_t> single;
  for (unsigned i = 0; i < 19; ++i) single.push_back(static_cast<std::uint8_t>(i * 37));
  return {
      {{32008, {0, 4, 2, 8, 0}},
       Type::uint16,
       {21},
       bytes_of(pairs),
       hexadecimal("aacc5a6c70800000aaccf0aaccf00000aacc5a931c1fe000aaccf05566787f80509055995aa25f"
                   "ab64b4"),
       "bitshuffle:block=8"},
      {{32008, {0, 4, 1, 8, 0}},
       Type::uint8,
       {19},
       bytes_of(single),
       hexadecimal("aacc5a6c702a4c70aacc5a931cb5263850759a"),
       "bitshuffle:block=8"},
      {{32013, {0x10105111, 0x0570667a, 0x40000056, 0xcb200000}},
       Type::float32,
       {5, 6},
       bytes_of(field<float>()),
       hexadecimal("0729d7ba000000808496160510100000c0419e485200000070d012015104000000"),
       "zfp:accuracy=0.5"},
      {{32013, {0x10105111, 0x0570667a, 0x40000056, 0x07f00000}},
       Type::float32,
       {5, 1, 6},
       bytes_of(field<float>()),
       hexadecimal("0729d7ba000000000000000000000000092d2d0a20200000000000000000000007792249010000"
                   "000000000000000000072d1110450000000000000000000000"),
       "zfp:rate=8"},
      {{32013, {0x10105111, 0x0570667a, 0x40000057, 0x80900000}},
       Type::float64,
       {5, 6},
       bytes_of(field<double>()),
       hexadecimal("0748b9d605000090809616051010001c204f24290000e0002d111045000000"),
       "zfp:precision=10"},
      {{32013, {0x10105111, 0x0570667a, 0x40000054, 0x88000000}},
       Type::int32,
       {5, 6},
       bytes_of(field<std::int32_t>()),
       hexadecimal("1f000000120b323e0000009e1701591f000080c508123e000000ca144012"),
       "zfp:reversible"},
  };
}

TEST(PluginFilters, streams_of_hdf5plugin_are_read_and_made) {
  for (const Known& known : known_streams()) {
    const auto stage = plugin_stage_of(known.filter, known.type, known.chunk);
    ASSERT_TRUE(stage) << known.codec;
    EXPECT_EQ(stage->text(), known.codec);
    const ChunkInfo info{known.type, known.chunk};
    CodecWorkspace workspace;
    Bytes back(known.values.size());
    stage->decode(info, known.stream, back, workspace.state());
    if (known.codec != std::string("zfp:precision=10"))
      EXPECT_EQ(back, known.values) << known.codec;

    Bytes made = stage->encode_always(known.values, workspace.state());
    ASSERT_GE(made.size(), known.stream.size()) << known.codec;
    EXPECT_LT(made.size(), known.stream.size() + 8) << known.codec;  // a word of zfp
    for (std::size_t i = known.stream.size(); i < made.size(); ++i)
      EXPECT_EQ(made[i], std::byte{0}) << known.codec;
    made.resize(known.stream.size());
    EXPECT_EQ(made, known.stream) << known.codec;
  }
}

TEST(PluginFilters, parameters_are_those_that_the_plugins_write) {
  for (const Known& known : known_streams())
    EXPECT_EQ(plugin_filter_of(known.codec, known.type, known.chunk), known.filter) << known.codec;
  EXPECT_EQ(plugin_filter_of("bitshuffle", Type::float64, {3}), (Filter{32008, {0, 4, 8, 0, 0}}));
}

TEST(PluginFilters, parameters_to_ask_for_are_those_of_programs) {
  const auto asked = [](const char* codec) {
    return values_to_ask(*plugin_filter_of(codec, Type::float32, {40, 50}));
  };
  using Values = std::vector<std::uint32_t>;
  EXPECT_EQ(asked("bitshuffle:block=64"), (Values{64, 0}));
  EXPECT_EQ(asked("zfp:rate=8"), (Values{1, 0, 0, 0x40200000}));
  EXPECT_EQ(asked("zfp:precision=12"), (Values{2, 0, 12}));
  EXPECT_EQ(asked("zfp:accuracy=0.5"), (Values{3, 0, 0, 0x3fe00000}));
  EXPECT_EQ(asked("zfp:reversible"), (Values{5}));
}

TEST(PluginFilters, zfp_merges_dimensions_that_its_header_has_no_room_for) {
  for (const std::vector<Count>& chunk :
       {std::vector<Count>{2, 3, 2, 5, 7}, {2, 2, 2, 5000}, {2, 2, 70000}, {2, 20'000'000}, {1}}) {
    const auto filter = plugin_filter_of("zfp:rate=4", Type::float32, chunk);
    EXPECT_TRUE(plugin_stage_of(*filter, Type::float32, chunk)) << chunk.size();
  }
}

TEST(PluginFilters, what_makes_no_sense_is_left_to_hdf5) {
  const std::vector<Count> chunk{5, 6};
  const auto is_known = [&](std::uint32_t id, std::vector<std::uint32_t> values,
                            Type type = Type::float32) {
    return plugin_stage_of({id, std::move(values)}, type, chunk) != nullptr;
  };
  const std::vector<std::uint32_t> header = known_streams()[2].filter.values;
  EXPECT_TRUE(is_known(32013, header));
  EXPECT_FALSE(is_known(32013, header, Type::float64));
  EXPECT_FALSE(is_known(32013, {}));
  EXPECT_FALSE(is_known(32013, {header[0]}));
  EXPECT_FALSE(is_known(32013, std::vector<std::uint32_t>(32, ~0U)));
  EXPECT_FALSE(plugin_stage_of({32013, header}, Type::float32, {5, 7}));
  // A block of 16 values in 32,000 bits.
  EXPECT_FALSE(
      plugin_stage_of({32013, {0x10105111, 0x0570667a, 0x00000056, 0xfff00000, 0x7cff7cff}},
                      Type::float32, {1024, 1024}));
  EXPECT_FALSE(is_known(32008, {0, 4}));
  EXPECT_FALSE(is_known(32008, {0, 4, 8, 0, 0}));  // bytes of an element
  EXPECT_FALSE(is_known(32008, {0, 4, 0, 0, 0}));
  EXPECT_FALSE(is_known(32008, {0, 4, 4, 12, 0}));  // elements of a block
  EXPECT_FALSE(is_known(32008, {0, 4, 4, 0, 2}));   // LZ4
  EXPECT_TRUE(is_known(32008, {0, 4, 4, 0xfffffff8, 0}));
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    auto values = header;
    values.resize(2 + random() % 5);
    values[1 + random() % (values.size() - 1)] ^= 1U << random() % 32;
    const auto stage = plugin_stage_of({32013, values}, Type::float32, chunk);
    if (!stage) continue;
    CodecWorkspace workspace;
    Bytes stream(1 + random() % 80), back(120);
    for (std::byte& b : stream) b = static_cast<std::byte>(random());
    try {
      stage->decode({Type::float32, chunk}, stream, back, workspace.state());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enotnc);
    }
  }
}

// -- chunks of variables

struct Encoded {
  Bytes bytes;
  std::uint32_t skipped = 0;
};

Variable variable(const std::string& codec) {
  Variable var;
  var.name = "v";
  var.type = Type::float32;
  var.chunking = Chunking{{}, codec, {}};
  return var;
}

/// Encodes a chunk of 40 x 50 cut to `rows` x `columns`, and decodes it into `back`.
Encoded encoded(const std::string& codec, Count rows, Count columns,
                const std::vector<float>& values, std::vector<float>& back) {
  const Variable var = variable(codec);
  StoredForm stored;
  stored.fill.resize(4);
  take_shape(stored, var, {40, 50});
  const auto form = form_of(stored, var);
  const ChunkInfo info{Type::float32, {rows, columns}};
  CodecWorkspace workspace, other;
  const EncodedChunk chunk = form->encode(info, std::as_bytes(std::span(values)), workspace);
  Encoded result{{chunk.bytes.begin(), chunk.bytes.end()}, chunk.skipped};
  back.assign(values.size(), -1);
  form->decode(info, {result.bytes, result.skipped}, std::as_writable_bytes(std::span(back)),
               other);
  return result;
}

std::vector<float> waves(Count rows, Count columns) {
  std::vector<float> values;
  for (Count i = 0; i < rows; ++i)
    for (Count k = 0; k < columns; ++k)
      values.push_back(static_cast<float>(100 + std::sin(0.1 * static_cast<double>(i * 2 + k))));
  return values;
}

double largest_difference(const std::vector<float>& one, const std::vector<float>& two) {
  double largest = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    largest = std::max(largest, std::fabs(double{one[i]} - double{two[i]}));
  return largest;
}

TEST(PluginFilters, chunks_at_the_edge_keep_the_bound_and_cost_no_more) {
  std::vector<float> back;
  for (const char* codec : {"zfp:accuracy=1e-3", "zfp:precision=24", "zfp:rate=20"}) {
    const auto whole = encoded(codec, 40, 50, waves(40, 50), back);
    EXPECT_EQ(whole.skipped, 0U) << codec;
    for (const auto& [rows, columns] : {std::pair{40, 50}, {39, 50}, {40, 1}, {1, 1}, {13, 47}}) {
      const auto values = waves(rows, columns);
      const auto chunk = encoded(codec, rows, columns, values, back);
      EXPECT_EQ(chunk.skipped, 0U) << codec;
      EXPECT_LE(chunk.bytes.size(), whole.bytes.size() + 64) << codec << rows << ' ' << columns;
      EXPECT_LE(largest_difference(values, back), 1e-3) << codec;
    }
  }
}

TEST(PluginFilters, exact_codecs_are_exact) {
  std::vector<float> back;
  for (const char* codec : {"zfp:reversible", "bitshuffle,zstd:1", "bitshuffle:block=24,deflate:4",
                            "bitshuffle,deflate:1,fletcher32", "bitshuffle"})
    for (const auto& [rows, columns] : {std::pair{40, 50}, {39, 7}}) {
      const auto values = waves(rows, columns);
      encoded(codec, rows, columns, values, back);
      EXPECT_EQ(back, values) << codec;
    }
}

// A block of 1e30 and 100 has one exponent, so 100 would become nothing.
TEST(PluginFilters, chunks_that_zfp_would_spoil_skip_it) {
  const float fill = 9.96920996838687e+36F;
  for (const char* codec : {"zfp:accuracy=1e-3", "zfp:precision=24", "zfp:rate=20"})
    for (const float odd : {fill, std::nanf(""), std::numeric_limits<float>::infinity(), 1e30F}) {
      auto values = waves(40, 50);
      values[777] = odd;
      std::vector<float> back;
      EXPECT_EQ(encoded(codec, 40, 50, values, back).skipped, 1U) << codec << ' ' << odd;
      EXPECT_EQ(std::memcmp(back.data(), values.data(), values.size() * sizeof(float)), 0);
    }
}

TEST(PluginFilters, chunks_that_must_not_skip_zfp_do_not) {
  const Variable var = variable("zfp:accuracy=1e-3");
  StoredForm stored;
  stored.fill.resize(4);
  stored.skips_filters = false;
  take_shape(stored, var, {40, 50});
  auto values = waves(40, 50);
  values[777] = 1e30F;
  CodecWorkspace workspace;
  const ChunkInfo info{Type::float32, {40, 50}};
  const auto chunk =
      form_of(stored, var)->encode(info, std::as_bytes(std::span(values)), workspace);
  EXPECT_EQ(chunk.skipped, 0U);
  EXPECT_EQ(Bytes(chunk.bytes.begin(), chunk.bytes.end()),
            plugin_stage_of(stored.filters[0], Type::float32, {40, 50})
                ->encode_always(std::as_bytes(std::span(values)), workspace.state()));
}

TEST(PluginFilters, codecs_without_a_filter_are_refused_with_a_reason) {
  for (const auto& [codec, reason] : {std::pair{"zfp:relative=1e-3", "no mode relative"},
                                      {"sz3:abs=0.1", "sz3 (32024)"},
                                      {"zfp:rate=8,zstd:3", "do not go together"},
                                      {"float32", "no filter for codec float32"}}) {
    try {
      filters_of(codec, variable(codec), {40, 50});
      ADD_FAILURE() << codec;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enotsupport);
      EXPECT_NE(error.message().find("variable v"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find(reason), std::string::npos) << error.message();
      EXPECT_FALSE(error.advice().empty());
    }
  }
}

TEST(PluginFilters, of_files_have_a_codec_only_where_ranks_decode_them) {
  const auto codec = [](std::vector<Filter> filters) {
    return codec_of(filters, Type::float32, {5, 6});
  };
  const Filter zfp = known_streams()[2].filter, bits{32008, {0, 4, 4, 0, 0}};
  EXPECT_EQ(codec({zfp}), "zfp:accuracy=0.5");
  EXPECT_EQ(codec({zfp, {3, {}}}), "zfp:accuracy=0.5");
  EXPECT_EQ(codec({bits, {1, {4}}}), "bitshuffle,deflate:4");
  EXPECT_EQ(codec({bits, {32015, {5}}, {3, {}}}), "bitshuffle,zstd:5");
  EXPECT_EQ(codec({{2, {4}}, bits}), std::nullopt);
  EXPECT_EQ(codec({{1, {4}}, bits}), std::nullopt);
  EXPECT_EQ(codec({{3, {}}, bits, {1, {4}}}), std::nullopt);
  EXPECT_EQ(codec({bits, zfp}), std::nullopt);
  EXPECT_EQ(codec({zfp, {1, {4}}}), std::nullopt);
  EXPECT_EQ(codec({{32024, {2, 0}}}), std::nullopt);
  EXPECT_EQ(codec({{32026, {1, 0}}}), std::nullopt);
}

}  // namespace
}  // namespace forebay::chunked
