// Writes the stored chunks that fuzzing of the codecs begins with: fuzz_codec_seeds DIRECTORY
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "fuzz_codec_cases.h"

namespace {

std::vector<std::byte> smooth(const forebay::ChunkInfo& chunk) {
  std::vector<std::byte> raw(static_cast<std::size_t>(chunk.bytes()));
  const auto width = static_cast<std::size_t>(forebay::size_of(chunk.type));
  for (std::size_t at = 0; at < raw.size(); at += width) {
    const double value = 100 + 40 * std::sin(static_cast<double>(at) / 300);
    std::byte* to = raw.data() + at;
    if (chunk.type == forebay::Type::float64) forebay::store_be(to, value);
    if (chunk.type == forebay::Type::float32) forebay::store_be(to, static_cast<float>(value));
    if (chunk.type == forebay::Type::int16) forebay::store_be(to, static_cast<std::int16_t>(value));
    if (chunk.type == forebay::Type::uint64)
      forebay::store_be(to, static_cast<std::uint64_t>(value));
  }
  return raw;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  forebay::CodecWorkspace workspace;
  for (std::uint8_t p = 0; p < fuzz_codec::texts.size(); ++p) {
    for (std::uint8_t c = 0; c < 24; ++c) {
      const auto chunk = fuzz_codec::chunk(c);
      const auto raw = smooth(chunk);
      const auto encoded =
          fuzz_codec::pipeline(p).for_type(chunk.type).encode(chunk, raw, workspace);
      const std::string name = std::to_string(p) + "-" + std::to_string(c);
      std::ofstream file(directory / name, std::ios::binary);
      file.put(static_cast<char>(p)).put(static_cast<char>(c));
      file.put(static_cast<char>(encoded.skipped));
      file.write(reinterpret_cast<const char*>(encoded.bytes.data()), std::ssize(encoded.bytes));
      if (!file.flush()) {
        std::fprintf(stderr, "cannot write %s\n", (directory / name).c_str());
        return 1;
      }
    }
  }
  return 0;
}
