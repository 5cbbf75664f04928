// Writes what fuzzing of journals begins with: fuzz_checkpoint_seeds DIRECTORY
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "format/checkpoint.h"

namespace {

using namespace forebay;
using namespace forebay::checkpoint;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t session = 4711;

Record record() {
  Record made{{Kind::state, 12}, 3, 4096, 0, {}};
  made.parts.push_back({"theta", Type::float64, {40, 100, 100}, "zfp:accuracy=1e-3", {}});
  for (Count piece = 0; piece < cut_of(made.parts[0]).pieces; ++piece)
    made.parts[0].pieces.push_back({1000 + piece, 1, 77});
  made.parts.push_back({"k", Type::int32, {}, "none", {{4, 0, 99}}});
  made.parts.push_back({"tape", Type::none, {5}, "none", {{5, 0, 98}}});
  for (const Part& part : made.parts) made.bytes += part.stored_bytes();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::filesystem::path target = argv[1];
  std::filesystem::create_directories(target);
  const auto save = [&](const std::string& name, char parser, std::span<const std::byte> bytes) {
    std::ofstream file(target / name, std::ios::binary);
    file.put(parser);
    file.put(1);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    if (!file.flush()) std::fprintf(stderr, "cannot write %s\n", (target / name).c_str());
    return static_cast<bool>(file);
  };
  Bytes state, dropped;
  print_entry(record(), session, state);
  print_entry(Dropped{3}, session, dropped);
  Bytes journal = state;
  Record adjoint = record();
  adjoint.id = {Kind::adjoint, 12};
  adjoint.serial = 4;
  print_entry(adjoint, session, journal);
  journal.insert(journal.end(), dropped.begin(), dropped.end());
  const bool all = save("header", 0, print_header({session, 2, 4})) && save("state", 1, state) &&
                   save("dropped", 1, dropped) && save("journal", 2, journal);
  return all ? 0 : 1;
}
