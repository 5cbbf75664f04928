// Writes the patches that fuzzing of hierarchies begins with: fuzz_hierarchy_seeds DIRECTORY
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "base/byteorder.h"
#include "fuzz_hierarchy_cases.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  forebay::CodecWorkspace workspace;
  for (std::uint8_t p = 0; p < fuzz_hierarchy::texts.size(); ++p) {
    for (std::uint8_t c = 0; c < 12; ++c) {
      const auto pipeline = fuzz_hierarchy::pipeline(p);
      const auto chunk = fuzz_hierarchy::chunk(c);
      std::vector<std::byte> raw(static_cast<std::size_t>(chunk.bytes()));
      const auto width = static_cast<std::size_t>(forebay::size_of(chunk.type));
      for (std::size_t i = 0; i * width < raw.size(); ++i) {
        double value = 5 * std::sin(static_cast<double>(i) / 9);
        if (c % 4 == 3 && i % 50 < 8) value = std::numeric_limits<double>::quiet_NaN();
        std::byte* const to = raw.data() + i * width;
        width == 4 ? forebay::store_be(to, static_cast<float>(value))
                   : forebay::store_be(to, value);
      }
      std::vector<forebay::EncodedChunk> parts(static_cast<std::size_t>(pipeline.parts()));
      pipeline.encode(chunk, raw, parts, workspace);
      std::ofstream file(directory / (std::to_string(p) + "-" + std::to_string(c)),
                         std::ios::binary);
      file.put(static_cast<char>(p)).put(static_cast<char>(c));
      for (const auto& part : parts) {
        file.put(static_cast<char>(part.bytes.size() >> 8U));
        file.put(static_cast<char>(part.bytes.size() & 0xffU));
        file.write(reinterpret_cast<const char*>(part.bytes.data()), std::ssize(part.bytes));
      }
      if (!file.flush()) {
        std::fprintf(stderr, "cannot write to %s\n", directory.c_str());
        return 1;
      }
    }
  }
  return 0;
}
