// Writes what fuzzing of BP begins with: fuzz_bp_seeds DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "groups/format/bp3_read.h"
#include "groups/format/bp3_testing.h"
#include "groups/format/bp_write.h"
#include "groups/operators/operators_testing.h"

namespace {

namespace bp = forebay::bp;

bp::Bytes entry(const bp::Variable& variable, const std::vector<bp::Block>& blocks) {
  bp::Bytes printed, made;
  for (const bp::Block& block : blocks) bp::append_block(printed, variable, block);
  bp::append_variable_head(made, variable, 1, blocks.size(),
                           static_cast<forebay::Count>(printed.size()));
  made.insert(made.end(), printed.begin(), printed.end());
  return made;
}

bp::Block block(bp::Shape at, bool has_value = false) {
  bp::Block made;
  made.at = std::move(at);
  made.step = 1;
  made.payload = 4160;
  made.has_value = has_value;
  made.has_range = !has_value;
  made.text = "text";
  return made;
}

bp::Bytes attribute(const bp::Attribute& from) {
  bp::Bytes made;
  bp::append_attribute(made, from, 2, 1, 0);
  return made;
}

bp::Bytes index() {
  const auto head = bp::print_head("Index Table");
  bp::Bytes made(head.begin(), head.end());
  for (std::uint64_t step = 1; step < 4; ++step) {
    const auto record = bp::print_record({step, 0, 64, 100, 200, 300, 1});
    made.insert(made.end(), record.begin(), record.end());
  }
  return made;
}

bp::Bytes groups() {
  bp::Bytes made;
  bp::append_groups_head(made, 1, 40);
  bp::append_group(made, {"restart", true, 0, 1, 4096});
  return made;
}

/// What ADIOS 1 writes: time among dimensions, statistics, a transform, a reference.
class Bp3 {
 public:
  explicit Bp3(bool big) : made_(big) {
    made_.group(1);
    auto block = made_.print().time(1).payload(64).dimensions({{1, 9, 2}, {4, 3, 0}, {3, 0, 0}});
    block.what(9).put(std::uint32_t{0x7f}).what(10).put(1.0).put(2.0).put(std::uint32_t{4});
    block.put(6.0).put(9.0).put(std::uint32_t{1}).put(0.0).put(9.0).put(std::uint64_t{3}).put(1.0);
    auto packed = made_.print().time(2).payload(99).dimensions({{25, 0, 0}}).what(11);
    packed.put(std::uint8_t{1}).put('z').put(std::uint8_t{6}).extents({{3, 9, 3}});
    packed.put(std::uint16_t{0});
    made_.variable({"restart", "/grid", "T", 1}, bp::Type::float64, {block, packed});
    made_.attribute({"restart", "/grid/T", "n", 2}, bp::Type::reference,
                    {made_.print().variable(1)});
  }
  bp::Bytes file() const { return made_.print({}); }
  // One entry each.
  bp::Bytes variable() const { return part(1); }
  bp::Bytes attribute() const { return part(2); }

 private:
  bp::Bytes part(int number) const {
    const bp::Bytes all = file();
    const auto footer = bp::parse_footer(std::span(all).last<bp::footer_bytes>(), std::ssize(all));
    const auto begin = (number == 1 ? footer.variables : footer.attributes) + 12;
    const auto end = number == 1 ? footer.attributes : footer.end - 28;
    return {all.begin() + begin, all.begin() + end};
  }

  bp::Bp3File made_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path directory(argv[1]);
  std::filesystem::create_directories(directory);
  int number = 0;
  const auto write = [&](unsigned char kind, const bp::Bytes& bytes) {
    std::ofstream file(directory / std::to_string(number++), std::ios::binary);
    file.put(static_cast<char>(kind));
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  };
  const bp::Variable real{"T", bp::Type::float64}, text{"title", bp::Type::string};
  write(0, entry(real, {block({{8, 4}, {0, 0}, {4, 4}}), block({{8, 4}, {4, 0}, {4, 4}})}));
  write(16, entry(real, {block({{bp::joined, 2}, {}, {4, 2}})}));
  write(0, entry(real, {block({{}, {}, {7}})}));
  write(0, entry(real, {block({}, true)}));
  write(0, entry(text, {block({}, true)}));
  write(1, attribute({"units", bp::Type::string, {}, {"K"}}));
  write(1, attribute({"words", bp::Type::string_array, {}, {"a", "", "ccc"}}));
  write(1, attribute({"n", bp::Type::int32, bp::Bytes(12), {}}));
  write(2, index());
  write(5, groups());
  // Of 500 and 60 real numbers.
  const auto coded = [&](int which, int elements, const bp::Bytes& payload) {
    bp::Bytes all;
    for (const int byte : {0, which, (elements - 1) & 0xff, (elements - 1) >> 8})
      all.push_back(static_cast<std::byte>(byte));
    all.insert(all.end(), payload.begin(), payload.end());
    write(4, all);
  };
  namespace operators = forebay::operators;
  coded(0, 60, operators::zfp_payload().payload);
  coded(2, 500, operators::blosc_payload(4000, {operators::zstd_chunk(operators::ramp(500))}));
  constexpr unsigned char adios1 = 2 << 5;
  for (const bool big : {false, true}) {
    const Bp3 made(big);
    write(3, made.file());
    write(static_cast<unsigned char>(adios1 | (big ? 8 : 0)), made.variable());
    write(static_cast<unsigned char>(adios1 | 1 | (big ? 8 : 0)), made.attribute());
  }
  return 0;
}
