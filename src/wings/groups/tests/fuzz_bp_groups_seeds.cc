// Writes what fuzzing of process groups begins with: fuzz_bp_groups_seeds DIRECTORY
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "groups/format/bp_write.h"

namespace {

namespace bp = forebay::bp;

/// A group of one variable or attribute: its bytes, and where these begin in it.
struct Made {
  bp::Bytes bytes;
  forebay::Offset inner = 0;
};

bp::Bytes bytes_of(const bp::GroupImage& image) {
  bp::Bytes bytes;
  for (const auto piece : image.pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

Made group(const bp::Variable& variable, const bp::Shape& at, std::size_t bytes) {
  static constexpr std::array<std::byte, 64> values{};
  bp::GroupImage image("restart", false, 3, {1, 0x1234, 2});
  bp::Block block;
  block.at = at;
  block.has_value = at.count.empty();
  block.text = "text";
  const auto places = image.add(variable, 4, block, std::span(values).first(bytes));
  image.finish(4096);
  return {bytes_of(image), places.head};
}

Made coded_group() {
  static constexpr std::array<std::byte, 20> payload{};
  bp::GroupImage image("restart", false, 3, {1, 0x1234, 2});
  bp::Block block;
  block.at = {{8, 2}, {4, 0}, {4, 2}};
  block.has_range = true;
  block.operation = "blosc";
  block.bytes = 64;
  block.stored = std::ssize(payload);
  const auto places = image.add({"T", bp::Type::float64}, 4, block, payload);
  image.finish(4096);
  return {bytes_of(image), places.head};
}

Made group(const bp::Attribute& attribute) {
  bp::GroupImage image("restart", true, 3);
  image.add(attribute, 5);
  image.finish(64);
  Made made{bytes_of(image), 0};
  const std::string text(reinterpret_cast<const char*>(made.bytes.data()), made.bytes.size());
  made.inner = static_cast<forebay::Offset>(text.find("[AMD"));
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::filesystem::create_directories(argv[1]);
  int number = 0;
  const auto save = [&](char kind, const bp::Bytes& bytes, forebay::Offset from) {
    std::ofstream file(std::string(argv[1]) + "/" + std::to_string(number++), std::ios::binary);
    file.put(kind);
    file.write(reinterpret_cast<const char*>(bytes.data()) + from,
               static_cast<std::streamsize>(bytes.size()) - from);
  };
  for (const Made& made :
       {coded_group(), group({"T", bp::Type::float64}, {{8, 2}, {4, 0}, {4, 2}}, 64),
        group({"local", bp::Type::int32}, {{}, {}, {3}}, 12),
        group({"joined", bp::Type::complex64}, {{bp::joined}, {}, {2}}, 16),
        group({"scalar", bp::Type::uint8}, {}, 1), group({"text", bp::Type::string}, {}, 5),
        group({"own", bp::Type::int64}, {{bp::local_value}, {}, {}}, 0),
        group({"own_text", bp::Type::string}, {{bp::local_value}, {}, {}}, 0)}) {
    save(0, made.bytes, 0);
    save(1, made.bytes, made.inner);
  }
  for (const Made& made :
       {group(bp::Attribute{"units", bp::Type::string, {}, {"K"}}),
        group(bp::Attribute{"names", bp::Type::string_array, {}, {"one", "", "three"}}),
        group(bp::Attribute{"n", bp::Type::int16, bp::Bytes(6), {}})})
    save(2, made.bytes, made.inner);
  return 0;
}
