#include "codec/pipeline.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "codec/chunks_testing.h"
#include "codec/codec_stage.h"

namespace forebay {

extern const CodecEntry sz3_codec;

namespace pipeline_test {

using namespace codec_test;

std::string problem(const char* text, Errc code = Errc::einval) {
  try {
    const Pipeline accepted = Pipeline::parse(text);
    ADD_FAILURE() << "\"" << text << "\" is accepted as " << accepted.text();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << text << ": " << error.what();
    return error.what();
  }
  return {};
}

TEST(PipelineParse, text_has_every_parameter_and_reads_back_as_itself) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"", "none"},
      {"none", "none"},
      {"none,zstd:1", "zstd:1"},
      {"shuffle, none ,zstd:1", "shuffle,zstd:1"},
      {" zstd ", "zstd:3"},
      {"zstd:0", "zstd:3"},
      {"zstd:level=-5", "zstd:-5"},
      {"deflate", "deflate:6"},
      {"deflate:12", "deflate:12"},
      {"shuffle, zstd:19", "shuffle,zstd:19"},
      {"bitshuffle,deflate,zstd", "bitshuffle,deflate:6,zstd:3"},
      {"float32,shuffle,deflate:6", "float32,shuffle,deflate:6"},
      {"zfp:accuracy=1e-3,zstd", "zfp:accuracy=0.001,zstd:3"},
      {"zfp:accuracy=0.1000000000000000055", "zfp:accuracy=0.1"},
      {"zfp:accuracy=1e-300", "zfp:accuracy=1e-300"},
      {"zfp:precision=16", "zfp:precision=16"},
      {"zfp:rate=7.5", "zfp:rate=7.5"},
      {"float32,zfp:reversible,zstd:1,zstd:1", "float32,zfp:reversible,zstd:1,zstd:1"},
  };
  for (const auto& [text, canonical] : cases) {
    EXPECT_EQ(Pipeline::parse(text).text(), canonical);
    EXPECT_EQ(Pipeline::parse(canonical).text(), canonical);
  }
}

TEST(PipelineParse, a_checksum_changes_nothing_and_stands_alone) {
  const Pipeline pipeline = Pipeline::parse("checksum");
  EXPECT_EQ(pipeline.text(), "checksum");
  EXPECT_EQ(pipeline.for_type(Type::byte).text(), "checksum");
  EXPECT_FALSE(pipeline.lossy());
  const std::vector<std::byte> zeros(8192);
  CodecWorkspace workspace;
  const EncodedChunk encoded = pipeline.encode({Type::int32, {2048}}, zeros, workspace);
  EXPECT_EQ(encoded.bytes.data(), zeros.data());
  std::vector<std::byte> back(zeros.size(), std::byte{1});
  pipeline.decode({Type::int32, {2048}}, encoded.bytes, encoded.skipped, back, workspace);
  EXPECT_EQ(back, zeros);
  for (const char* text :
       {"checksum,zstd:1", "shuffle,checksum", "checksum,checksum", "checksum:1"})
    EXPECT_NE(problem(text), "") << text;
}

TEST(PipelineParse, refuses_what_makes_no_sense_and_says_what_would) {
  // Each message must contain the words after its text.
  const std::vector<std::pair<const char*, std::vector<const char*>>> cases{
      {"zstdd", {"unknown codec \"zstdd\"", "did you mean \"zstd\"", "bitshuffle", "sz3"}},
      {"gzip:6", {"did you mean \"deflate\""}},
      {"SHUFFLE", {"unknown codec", "deflate"}},
      {"x", {"unknown codec \"x\""}},
      {"zstd,", {"missing between two commas"}},
      {",zstd", {"missing"}},
      {"zstd:", {"level", "-5 to 19"}},
      {"zstd:20", {"\"20\"", "-5 to 19"}},
      {"zstd:-6", {"-5 to 19"}},
      {"zstd:3x", {"\"3x\""}},
      {"zstd:3:4", {"\"3:4\""}},
      {"zstd: 3", {"level"}},
      {"zstd:speed=3", {"no parameter \"speed\"", "level"}},
      {"deflate:0", {"1 to 12"}},
      {"deflate:13", {"1 to 12"}},
      {"deflate:99999999999999999999", {"1 to 12"}},
      {"shuffle:4", {"no parameter"}},
      {"bitshuffle:", {"is no block", "whole number from 8"}},
      {"bitshuffle:block=12", {"no multiple of 8"}},
      {"float32:x", {"no parameter"}},
      {"zfp", {"an error bound must be given", "zfp:accuracy=X"}},
      {"zfp:", {"accuracy=X"}},
      {"zfp:1e-3", {"accuracy=X"}},
      {"zfp:abs=1e-3", {"\"abs\"", "accuracy=X"}},
      {"zfp:accuracy=0", {"accuracy=0", "above 0"}},
      {"zfp:accuracy=-1", {"above 0"}},
      {"zfp:relative=0", {"relative=0", "above 0"}},
      {"zfp:relative=-1e-3", {"above 0"}},
      {"zfp:relative=nan", {"finite"}},
      {"zfp:accuracy=nan", {"finite"}},
      {"zfp:accuracy=inf", {"finite"}},
      {"zfp:accuracy=1e999", {"finite"}},
      {"zfp:accuracy=", {"finite"}},
      {"zfp:accuracy=1e-3 ,zstd:x", {"zstd"}},
      {"zfp:precision=0", {"1 to 64"}},
      {"zfp:precision=65", {"1 to 64"}},
      {"zfp:precision=7.5", {"1 to 64"}},
      {"zfp:rate=0", {"above 0"}},
      {"zfp:rate=65", {"at most 64"}},
      {"zfp:reversible=1", {"\"reversible\""}},
      {"sz3", {"sz3"}},
      {"sz3:abs=0.1:mode=quick", {"\"mode=quick\"", ":mode=speed", ":mode=ratio"}},
      {"sz3:abs=0.1:mode=", {"\"mode=\"", ":mode=speed"}},
      {"sz3:mode=speed", {"\"mode\"", "abs=X"}},
      {"zstd,shuffle", {"shuffle", "compressor", "order"}},
      {"zfp:rate=8,shuffle", {"shuffle", "order"}},
      {"shuffle,zfp:rate=8", {"not shuffled"}},
      {"shuffle,float32", {"not shuffled"}},
      {"shuffle,bitshuffle", {"another shuffle"}},
      {"float32,float32", {"another conversion"}},
      {"zfp:rate=8,zfp:rate=8", {"order"}},
      {"deflate,float32", {"compressor"}},
      {"zstd,zstd,zstd,zstd,zstd,zstd,zstd,zstd,zstd", {"at most 8 stages"}},
  };
  for (const auto& [text, words] : cases) {
    const auto all = codec_descriptions();
    const std::string_view name = text;
    if (std::any_of(all.begin(), all.end(), [&](const CodecDescription& codec) {
          return name == codec.name && !codec.here;
        }))
      continue;
    const std::string message = problem(text);
    for (const char* word : words)
      EXPECT_NE(message.find(word), std::string::npos) << text << ": " << message;
  }
}

TEST(PipelineParse, a_codec_that_this_build_lacks_is_named_with_how_to_get_it) {
  for (const CodecEntry* entry : codec_registry()) {
    EXPECT_EQ(entry->description.here, entry->make != nullptr) << entry->description.name;
    if (entry->make != nullptr) continue;
    const std::string text = std::string(entry->description.name) + ":abs=1e-3";
    const std::string message = problem(text.c_str(), Errc::enotsupport);
    EXPECT_NE(message.find(entry->description.name), std::string::npos);
    EXPECT_NE(message.find(entry->how_to_get), std::string::npos);
    EXPECT_STRNE(entry->how_to_get, "");
  }
}

TEST(Pipeline, for_type_leaves_out_what_a_type_cannot_go_through) {
  const Pipeline all = Pipeline::parse("float32,zfp:accuracy=0.5,zstd");
  EXPECT_EQ(all.for_type(Type::float64).text(), "float32,zfp:accuracy=0.5,zstd:3");
  EXPECT_EQ(all.for_type(Type::float32).text(), "zfp:accuracy=0.5,zstd:3");
  EXPECT_EQ(all.for_type(Type::int32).text(), "zstd:3");
  EXPECT_EQ(all.lossless().text(), "zstd:3");
  EXPECT_TRUE(all.lossy());
  EXPECT_FALSE(all.for_type(Type::int64).lossy());
  EXPECT_EQ(Pipeline::parse("shuffle,zstd:1").for_type(Type::chr).text(), "zstd:1");
  EXPECT_EQ(Pipeline::parse("bitshuffle").for_type(Type::uint8).text(), "none");
  EXPECT_TRUE(Pipeline::parse("float32").for_type(Type::chr).empty());
  EXPECT_FALSE(Pipeline::parse("zfp:reversible").lossy());
}

TEST(Pipeline, work_is_relative_to_deflate_6) {
  EXPECT_DOUBLE_EQ(Pipeline().encode_work(), 0.02);
  EXPECT_DOUBLE_EQ(Pipeline().decode_work(), 0.02);
  EXPECT_DOUBLE_EQ(Pipeline::parse("deflate:6").encode_work(), 1.0);
  EXPECT_LT(Pipeline::parse("zstd:1").encode_work(), 0.5);
  EXPECT_GT(Pipeline::parse("zstd:19").encode_work(), 5);
  EXPECT_LT(Pipeline::parse("deflate:6").decode_work(), 0.5);
}

TEST(PipelineEncode, small_chunks_stay_as_they_are_without_a_copy) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("shuffle,zstd");
  const Chunk small = make_chunk(Type::int32, {255}, Values::zeros);
  const EncodedChunk encoded = pipeline.encode(small.info, small.raw, workspace);
  EXPECT_EQ(encoded.skipped, 3U);
  EXPECT_EQ(encoded.bytes.data(), small.raw.data());
  EXPECT_EQ(encoded.bytes.size(), small.raw.size());
  const Chunk enough = make_chunk(Type::int32, {256}, Values::zeros);
  EXPECT_EQ(pipeline.encode(enough.info, enough.raw, workspace).skipped, 0U);
  const Chunk scalar = make_chunk(Type::float64, {}, Values::constant);
  EXPECT_EQ(scalar.info.elements(), 1);
  EXPECT_EQ(round_trip(pipeline, scalar, workspace).raw, scalar.raw);
}

TEST(PipelineEncode, what_does_not_become_smaller_is_the_chunk_itself) {
  CodecWorkspace workspace;
  const Chunk chunk = make_chunk(Type::uint64, {4096}, Values::bits);
  for (const char* text : {"zstd:3", "deflate:6", "shuffle,zstd", "bitshuffle", "shuffle",
                           "zstd:1,deflate:1", "shuffle,deflate,zstd"}) {
    const Pipeline pipeline = Pipeline::parse(text);
    const EncodedChunk encoded = pipeline.encode(chunk.info, chunk.raw, workspace);
    EXPECT_EQ(encoded.skipped, (1U << pipeline.size()) - 1) << text;
    EXPECT_EQ(encoded.bytes.data(), chunk.raw.data()) << text;
  }
}

TEST(PipelineEncode, a_stage_that_gains_nothing_is_skipped_and_the_others_stay) {
  CodecWorkspace workspace;
  const Chunk noise = make_chunk(Type::float64, {50, 50}, Values::noise);
  const Pipeline pipeline = Pipeline::parse("float32,zstd,deflate");
  const EncodedChunk encoded = pipeline.encode(noise.info, noise.raw, workspace);
  EXPECT_EQ(encoded.skipped & 1U, 0U);
  EXPECT_LE(encoded.bytes.size(), noise.raw.size() / 2);

  // Too large: the lossy stage is skipped, and later stages get the original elements.
  const Chunk large = make_chunk(Type::float64, {50, 50}, Values::largest);
  for (const char* text : {"float32,shuffle,zstd", "zfp:accuracy=1,zstd"}) {
    const Pipeline lossy = Pipeline::parse(text);
    const Trip trip = round_trip(lossy, large, workspace);
    EXPECT_EQ(trip.skipped, 1U) << text;
    EXPECT_LT(trip.stored.size(), large.raw.size()) << text;
    EXPECT_EQ(trip.raw, large.raw) << text;
  }
}

TEST(PipelineEncode, a_stage_that_the_type_cannot_go_through_is_skipped) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("float32,zfp:accuracy=1,zstd");
  const Chunk chunk = make_chunk(Type::int32, {2000}, Values::smooth);
  const Trip trip = round_trip(pipeline, chunk, workspace);
  EXPECT_EQ(trip.skipped, 3U);
  EXPECT_EQ(trip.raw, chunk.raw);
}

void expect_damaged(const Pipeline& pipeline, const ChunkInfo& info,
                    std::span<const std::byte> stored, std::uint32_t skipped,
                    CodecWorkspace& workspace, const char* what) {
  std::vector<std::byte> raw(static_cast<std::size_t>(info.bytes()));
  try {
    pipeline.decode(info, stored, skipped, raw, workspace);
    ADD_FAILURE() << pipeline.text() << ": " << what << " is accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::enotnc) << what << ": " << error.what();
  }
}

TEST(PipelineEncode, elements_in_native_order_are_stored_as_others_are) {
  CodecWorkspace workspace;
  std::vector<const char*> texts{
      "none",       "zstd:1",           "shuffle,deflate:1",
      "float32",    "zfp:accuracy=0.1", "float32,zfp:accuracy=0.1,zstd:1",
      "bitshuffle", "zfp:reversible"};
  if (sz3_codec.make != nullptr) texts.push_back("sz3:abs=0.1");
  for (const char* text : texts)
    for (const Type type : {Type::float32, Type::float64, Type::int16})
      for (const Values kind : {Values::smooth, Values::bits, Values::some_nan})
        for (const Count length : {40, 3000})
          for (const std::size_t off : {0, 3}) {  // distance from alignment in memory
            const Pipeline pipeline = Pipeline::parse(text).for_type(type);
            const Chunk chunk = make_chunk(type, {length}, kind);
            const Trip trip = round_trip(pipeline, chunk, workspace);
            const int width = static_cast<int>(size_of(type));
            std::vector<std::byte> memory(chunk.raw.size() + 8), wanted(chunk.raw.size());
            const auto native = std::span(memory).subspan(off, chunk.raw.size());
            copy_swapped(native.data(), chunk.raw.data(), native.size(), width);
            ChunkInfo info = chunk.info;
            info.native = true;
            const EncodedChunk encoded = pipeline.encode(info, native, workspace);
            const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
            ASSERT_EQ(stored, trip.stored) << text << describe(chunk.info, kind);
            ASSERT_EQ(encoded.skipped, trip.skipped);
            std::fill(memory.begin(), memory.end(), std::byte{0xA5});
            pipeline.decode(info, stored, encoded.skipped, native, workspace);
            copy_swapped(wanted.data(), native.data(), wanted.size(), width);
            ASSERT_EQ(wanted, trip.raw) << text << describe(chunk.info, kind);
          }
}

TEST(PipelineDecode, refuses_masks_and_sizes_that_encode_does_not_make) {
  CodecWorkspace workspace;
  const Pipeline pipeline = Pipeline::parse("shuffle,zstd");
  const Chunk chunk = make_chunk(Type::float32, {30, 40}, Values::smooth);
  const EncodedChunk encoded = pipeline.encode(chunk.info, chunk.raw, workspace);
  const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
  const auto refused = [&](std::span<const std::byte> bytes, std::uint32_t mask, const char* what) {
    expect_damaged(pipeline, chunk.info, bytes, mask, workspace, what);
  };
  refused(stored, 4, "a mask of a stage that is not there");
  refused(stored, 0x80000000U, "the highest bit");
  refused(stored, 3, "an encoded chunk as raw");
  refused(stored, 2, "a compressed chunk as shuffled");
  refused(chunk.raw, 0, "a raw chunk as compressed");
  refused(std::span(chunk.raw).first(100), 3, "a raw chunk cut short");
  refused({}, 0, "no byte");
  refused({}, 3, "no raw byte");
  refused(std::span(stored).first(stored.size() - 1), 0, "a stream cut short");
  auto longer = stored;
  longer.push_back(std::byte{0});
  refused(longer, 0, "a byte after the stream");
  const ChunkInfo more{Type::float32, {31, 40}}, fewer{Type::float32, {29, 40}};
  expect_damaged(pipeline, more, stored, 0, workspace, "a larger chunk");
  expect_damaged(pipeline, fewer, stored, 0, workspace, "a smaller chunk");
  expect_damaged(Pipeline::parse("float32,zstd"), chunk.info, stored, 0, workspace,
                 "float32 of float32");

  Pipeline::parse("deflate").encode(chunk.info, chunk.raw, workspace);
  const EncodedChunk deflated = Pipeline::parse("deflate").encode(chunk.info, chunk.raw, workspace);
  std::vector<std::byte> zlib(deflated.bytes.begin(), deflated.bytes.end());
  const Pipeline deflate = Pipeline::parse("deflate");
  expect_damaged(deflate, more, zlib, 0, workspace, "deflate: a larger chunk");
  expect_damaged(deflate, fewer, zlib, 0, workspace, "deflate: a smaller chunk");
  zlib.push_back(std::byte{0});
  expect_damaged(deflate, chunk.info, zlib, 0, workspace, "deflate: a byte after the stream");
}

// Without a checksum a damaged stream may be decoded to something, but only inside its memory.
TEST(PipelineDecode, damaged_streams_give_an_error_or_some_bytes) {
  std::vector<std::string> pipelines{
      "zstd:3",         "deflate:6",
      "shuffle,zstd",   "bitshuffle,deflate",
      "float32,zstd",   "zfp:accuracy=1e-3",
      "zfp:rate=6",     "zfp:precision=20",
      "zfp:reversible", "zfp:accuracy=0.1,zstd",
      "zstd,deflate",   "float32,zfp:reversible",
  };
  if (sz3_codec.make != nullptr)
    for (const char* text : {"sz3:abs=1e-3", "sz3:rel=1e-2", "float32,sz3:abs=0.1,deflate"})
      pipelines.emplace_back(text);
  CodecWorkspace workspace;
  std::mt19937 random(5);
  std::size_t refused = 0, decoded = 0;
  for (const auto& text : pipelines) {
    for (const auto& shape : {std::vector<Count>{1201}, {33, 34}, {9, 10, 11}, {5, 5, 5, 9}}) {
      const Chunk chunk = make_chunk(Type::float64, shape, Values::smooth);
      const Pipeline pipeline = Pipeline::parse(text);
      const EncodedChunk encoded = pipeline.encode(chunk.info, chunk.raw, workspace);
      const std::vector<std::byte> stored(encoded.bytes.begin(), encoded.bytes.end());
      for (int attempt = 0; attempt < 60; ++attempt) {
        auto damaged = stored;
        if (attempt % 3 == 0) damaged.resize(random() % (damaged.size() + 1));
        if (attempt % 3 == 1)
          for (auto& byte : damaged) byte = static_cast<std::byte>(random());
        for (int flip = 0; flip < attempt % 5 && !damaged.empty(); ++flip)
          damaged[random() % damaged.size()] ^= static_cast<std::byte>(1U << random() % 8);
        damaged.shrink_to_fit();
        std::vector<std::byte> raw(chunk.raw.size());
        try {
          pipeline.decode(chunk.info, damaged, encoded.skipped, raw, workspace);
          ++decoded;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Errc::enotnc) << error.what();
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(decoded, 100U);
}

TEST(PipelineDecode, refuses_streams_that_are_whole_but_not_what_encode_makes) {
  CodecWorkspace workspace;
  const Chunk chunk = make_chunk(Type::float64, {20, 60}, Values::smooth);
  const auto encoded = [&](const char* text) {
    const EncodedChunk made = Pipeline::parse(text).encode(chunk.info, chunk.raw, workspace);
    EXPECT_EQ(made.skipped, 0U) << text;
    return std::vector<std::byte>(made.bytes.begin(), made.bytes.end());
  };
  // An empty skippable frame, which zstd's own decoder ignores.
  auto frames = encoded("zstd");
  for (const int value : {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0})
    frames.push_back(static_cast<std::byte>(value));
  expect_damaged(Pipeline::parse("zstd"), chunk.info, frames, 0, workspace, "two frames");

  for (const char* text : {"zfp:accuracy=1e-3", "zfp:rate=8", "zfp:reversible"}) {
    auto stream = encoded(text);
    const Pipeline zfp = Pipeline::parse(text);
    expect_damaged(zfp, chunk.info, std::span(stream).first(stream.size() - 8), 0, workspace,
                   "zfp: a word less");
    stream.resize(stream.size() + 8);
    expect_damaged(zfp, chunk.info, stream, 0, workspace, "zfp: a word more");
  }
}

TEST(PipelineDecode, sz3_refuses_codes_that_ask_for_outliers_which_are_not_there) {
  if (sz3_codec.make == nullptr) GTEST_SKIP() << "this build lacks SZ3";
  CodecWorkspace workspace;
  const ChunkInfo info{Type::float32, {30, 40}};
  const Pipeline pipeline = Pipeline::parse("sz3:abs=0.5");
  const auto stored = [](int predictor, int direction, double bound, std::size_t content) {
    const std::vector<std::byte> zeros(content);
    std::vector<std::byte> bytes(10 + ZSTD_compressBound(content));
    bytes[0] = static_cast<std::byte>(predictor);
    bytes[1] = static_cast<std::byte>(direction);
    store_be(bytes.data() + 2, bound);
    bytes.resize(10 +
                 ZSTD_compress(bytes.data() + 10, bytes.size() - 10, zeros.data(), content, 1));
    return bytes;
  };
  constexpr std::size_t n = 1200;
  std::vector<std::byte> raw(4 * n);
  // A code of zero for each element, and as many outliers: a chunk of zeros.
  pipeline.decode(info, stored(2, 0, 0.5, 2 * n + 4 * n), 0, raw, workspace);
  EXPECT_EQ(raw, std::vector<std::byte>(4 * n));
  for (const int predictor : {0, 1, 2}) {
    const auto refused = [&](const std::vector<std::byte>& bytes, const char* what) {
      expect_damaged(pipeline, info, bytes, 0, workspace, what);
    };
    refused(stored(predictor, 0, 0.5, 2 * n), "no outlier");
    refused(stored(predictor, 0, 0.5, 2 * n + 4 * n - 4), "an outlier too few");
    refused(stored(predictor, 0, 0.5, 2 * n + 4 * n + 4), "an outlier too many");
    refused(stored(predictor, 0, 0.25, 6 * n), "another bound");
    refused(stored(predictor, 0, std::nan(""), 6 * n), "no bound");
    refused(stored(predictor, 2, 0.5, 6 * n), "an unknown direction");
    refused(stored(predictor + 3, 0, 0.5, 6 * n), "an unknown predictor");
  }
}

TEST(PipelineDecode, a_zstd_frame_without_its_size_is_refused) {
  CodecWorkspace workspace;
  // A frame header without content size, then one empty last block.
  const std::vector<int> values{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x01, 0x00, 0x00};
  std::vector<std::byte> frame;
  for (const int value : values) frame.push_back(static_cast<std::byte>(value));
  expect_damaged(Pipeline::parse("zstd"), {Type::int32, {512}}, frame, 0, workspace,
                 "such a frame");
}

TEST(ChunkInfo, a_shape_that_overflows_has_a_size_that_does_not) {
  const ChunkInfo huge{Type::float64, {Count{1} << 40, Count{1} << 40}};
  EXPECT_GT(huge.bytes(), Count{1} << 60);
  EXPECT_EQ((ChunkInfo{Type::float64, {4, 0}}.bytes()), 0);
  EXPECT_EQ((ChunkInfo{Type::float64, {}}.bytes()), 8);
}

}  // namespace pipeline_test
}  // namespace forebay
