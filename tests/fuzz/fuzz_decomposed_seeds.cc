// Writes what fuzzing of decomposed files begins with: fuzz_decomposed_seeds DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "array/pattern.h"
#include "format/decomposed.h"
#include "layout/packed_pattern.h"

namespace {

namespace decomposed = forebay::decomposed;
using Bytes = std::vector<std::byte>;

// `first`: a file's only section; else one that follows another.
Bytes section(bool first) {
  const std::vector<forebay::Count> extents = {1, 3, 20};
  const auto pattern =
      forebay::box_pattern(extents, std::vector<forebay::Steps>{{0, 1, 1}, {0, 3, 1}, {4, 5, 1}})
          .pattern;
  decomposed::Section made;
  made.epoch = 7;
  if (!first) {
    made.previous = 4096;
    made.previous_bytes = 80;
    made.first_pattern = 2;
    made.first_map = 1;
  }
  made.patterns.push_back({{1, 2}, 15, forebay::logged::PatternPacker().pack(pattern)});
  made.maps.push_back({{0, made.first_pattern}, {5, made.first_pattern}});
  if (first) return decomposed::print_section(made);
  for (int i = 0; i < 4; ++i)
    made.entries.push_back({i, 3, 0, made.first_map, 4096 + 120 * i, 120, 7});
  return decomposed::print_section(made);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto save = [&](const std::string& name, char kind, const Bytes& bytes) {
    std::ofstream out(folder / name, std::ios::binary);
    out.put(kind);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  };
  for (const bool first : {false, true}) {
    save(std::string("section-") + (first ? "first" : "next"), 0, section(first));
    save(std::string("file-") + (first ? "first" : "next"), 3, section(first));
  }
  save("state", 1, decomposed::print_state({1, 2, 2, 3, 4, {5, 6}, true}));
  save("root", 2, decomposed::print_root({7, 4096, 90}));
  return 0;
}
