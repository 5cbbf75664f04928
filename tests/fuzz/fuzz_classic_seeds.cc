// Writes the headers that fuzzing of the classic format begins with: fuzz_classic_seeds DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace {

using forebay::Attribute;
using forebay::Schema;
using forebay::Type;
using forebay::Variable;

Attribute attribute(std::string name, Type type, forebay::Count count) {
  Attribute made{std::move(name), type, count, {}};
  made.value.resize(static_cast<std::size_t>(count * forebay::size_of(type)), std::byte{7});
  return made;
}

// `kind` chooses what the header holds: bit 0 fixed variables, 1 record variables, 2 attributes,
// 3 only one record variable.
Schema schema(int version, int kind) {
  Schema made;
  made.version = version;
  made.add_dim({"time", 0});
  made.add_dim({"x", 3});
  made.add_dim({"yy", 5});
  if ((kind & 4) != 0) made.attributes.put(attribute("title", Type::chr, 6));
  for (int t = 1; t <= 11 && forebay::valid_in_version(static_cast<Type>(t), version); ++t) {
    Variable var;
    var.type = static_cast<Type>(t);
    if ((kind & 4) != 0) var.attributes.put(attribute("_FillValue", var.type, 1));
    if ((kind & 1) != 0) {
      var.name = "f" + std::to_string(t);
      var.dimids = {1, 2};
      made.add_var(var);
    }
    if ((kind & 2) != 0 && ((kind & 8) == 0 || t == 1)) {
      var.name = "r" + std::to_string(t);
      var.dimids = {0, 1};
      made.add_var(var);
    }
  }
  made.numrecs = (kind & 2) != 0 ? 2 : 0;
  forebay::place_variables(made, nullptr, {.header_align = 4}, forebay::classic::header_size(made));
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  std::filesystem::create_directories(directory);
  for (int version : {1, 2, 5}) {
    for (int kind = 0; kind < 16; ++kind) {
      const auto bytes = forebay::classic::print(schema(version, kind));
      const auto name = "cdf" + std::to_string(version) + "-" + std::to_string(kind);
      std::ofstream file(directory / name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      if (!file.flush()) {
        std::fprintf(stderr, "cannot write %s\n", (directory / name).c_str());
        return 1;
      }
    }
  }
  return 0;
}
