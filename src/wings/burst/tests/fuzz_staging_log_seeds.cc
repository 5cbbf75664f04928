// Writes what fuzzing of logs begins with: fuzz_staging_log_seeds DIRECTORY
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "burst/format/staging_entry.h"
#include "seeds.h"

namespace {

namespace journal = forebay::journal;
namespace staging = forebay::staging;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t session = 4711;

staging::Write write_of(forebay::VarId var, bool continues, bool continued) {
  staging::Write write;
  write.var = var;
  write.type = forebay::Type::float32;
  write.continues = continues;
  write.continued = continued;
  write.data = staging::data_begin;
  return write;
}

/// Writes of a request, writes by pieces, and one of a scalar.
Bytes entries() {
  Bytes out;
  std::uint64_t next = 0;
  staging::Write box = write_of(1, true, false);
  box.selection = forebay::Subarray{{0, 3}, {2, 5}, {}};
  box.bytes = 40;
  staging::print_entry(box, next++, session, out);
  box.continues = false;
  box.continued = true;
  std::get<0>(box.selection).stride = {1, 2};
  staging::print_entry(box, next++, session, out);
  staging::print_entry(staging::Pieces{{{0, 8}, {24, 4}, {4000, 28}}, 40}, next++, session, out);
  for (const bool continues : {true, false}) {
    staging::Write pieces = write_of(2, continues, !continues);
    pieces.selection = std::uint64_t{2};
    pieces.bytes = 40;
    staging::print_entry(pieces, next++, session, out, 1);
  }
  staging::Write scalar = write_of(3, false, false);
  scalar.selection = forebay::Subarray{};
  scalar.bytes = 4;
  staging::print_entry(scalar, next++, session, out, 1);
  return out;
}

Bytes header() {
  Bytes out = journal::print_header({session, 2, 4, {1, 2, 65536, 1 << 20}, "/data/out.nc"});
  for (const std::uint64_t serial : {6, 7}) {
    staging::State state;
    state.serial = serial;
    const auto slot = journal::print_state(state, session);
    std::copy(slot.begin(), slot.end(), out.begin() + journal::slot_of(serial));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Seeds seeds(argc, argv);
  const Bytes log = entries();
  seeds.save("header", {1, 1}, header());
  seeds.save("log", {2, 1}, log);
  const std::span<const std::byte> rest(log);
  for (std::size_t at = 0, i = 0; at < log.size(); ++i) {
    const auto length = static_cast<std::size_t>(*journal::entry_length(rest.subspan(at)));
    seeds.save("entry-" + std::to_string(i), {0, 1}, rest.subspan(at, length));
    at += length;
  }
  return seeds.status();
}
