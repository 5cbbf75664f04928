// Writes what fuzzing of journals begins with: fuzz_checkpoint_seeds DIRECTORY
#include <string>
#include <vector>

#include "checkpoints/format/checkpoint.h"
#include "seeds.h"

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
  Seeds seeds(argc, argv);
  Bytes state, dropped;
  print_entry(record(), session, state);
  print_entry(Dropped{3}, session, dropped);
  Bytes journal = state;
  Record adjoint = record();
  adjoint.id = {Kind::adjoint, 12};
  adjoint.serial = 4;
  print_entry(adjoint, session, journal);
  journal.insert(journal.end(), dropped.begin(), dropped.end());
  seeds.save("header", {0, 1}, print_header({session, 2, 4}));
  seeds.save("state", {1, 1}, state);
  seeds.save("dropped", {1, 1}, dropped);
  seeds.save("journal", {2, 1}, journal);
  return seeds.status();
}
