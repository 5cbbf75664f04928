// Writes what fuzzing of decomposed files begins with: fuzz_decomposed_seeds DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "array/pattern.h"
#include "decomposed/format/decomposed_files.h"
#include "decomposed/format/inverse_map.h"
#include "layout/packed_pattern.h"

namespace {

namespace decomposed = forebay::decomposed;
using Bytes = std::vector<std::byte>;

// `first`: a file's only section; else one that follows another. `sorted`: of a part of it.
Bytes section(bool first, bool sorted = false) {
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
  made.entries.push_back({4,
                          3,
                          0,
                          made.first_map,
                          4576,
                          120,
                          7,
                          {{20, 4576, 31, 1, 5, sorted}, {10, 4608, 40, 3, 6}}});
  made.inverses.push_back({made.first_map, {{5000, 70}, {5072, 30}}, 9});
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
  save("section-sorted", 0, section(false, true));
  save("file-sorted", 3, section(false, true));
  decomposed::InverseDirectory directory;
  directory.inner = {3, 20};
  directory.factors = {{{0, 1, 1}, {0, 3, 1}}, {}};
  directory.pages = {{{0, 4}, {0, 9}, 4096, 30, 2, 5}, {{0, 9}, {1, 60}, 4128, 40, 7, 6}};
  save("directory", 4, decomposed::print_inverse_directory(directory));
  const std::vector<decomposed::InverseRun> runs = {
      {0, 0, 4, 2, 0}, {0, 1, 6, 3, 2}, {1, 0, 9, 1, 8}};
  Bytes page = {std::byte{3}, std::byte{4}, std::byte{1}, std::byte{10}};
  const auto printed = decomposed::print_inverse_page(runs);
  page.insert(page.end(), printed.begin(), printed.end());
  save("page", 5, page);
  save("state", 1, decomposed::print_state({1, 2, 2, 3, 4, {5, 6}, true}));
  save("root", 2, decomposed::print_root({7, 4096, 90}));
  return 0;
}
