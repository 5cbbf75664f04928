// Fuzz target over the classic header parser, the placement rules and relocation.
//
// Whatever the bytes, parse returns, asks for more or throws forebay::Error; and a header that it
// accepts prints to one that means the same, can be placed again, and moves only towards the end.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "array/placement.h"
#include "base/error.h"
#include "format/classic_header.h"
#include "must.h"
#include "plan/classic_placement.h"

namespace {

using forebay::Error;
using forebay::Offset;
using forebay::Schema;
namespace classic = forebay::classic;

std::optional<Schema> parse_or_nothing(std::span<const std::byte> bytes, Offset file_size) {
  try {
    return classic::parse(bytes, file_size);
  } catch (const Error& error) {
    must(error.code() != forebay::Errc::ok && !error.message().empty(), "an error says what it is");
    return std::nullopt;
  }
}

void check_round_trip(const Schema& schema, Offset file_size) {
  const std::vector<std::byte> printed = classic::print(schema);
  must(std::ssize(printed) == schema.header_size, "as many bytes are printed as were read");
  must(classic::header_size(schema) == schema.header_size, "header_size is the printed size");
  const auto again = classic::parse(printed, file_size);
  must(again.has_value(), "what is printed is a header");
  must(classic::print(*again) == printed, "what is printed is read back");
  must(again->numrecs == schema.numrecs && again->recsize == schema.recsize &&
           again->begin_rec == schema.begin_rec && again->header_extent == schema.header_extent,
       "what is derived is the same");
}

void check_placement(const Schema& old) {
  Schema now = old;
  try {
    forebay::place_variables(now, &old, {.h_minfree = 700}, old.header_size);
  } catch (const Error& error) {
    must(error.code() == forebay::Errc::evarsize, "placement fails for sizes only");
    return;
  }
  Schema adopted = now;
  forebay::adopt_placement(adopted);  // throws, and so fails, if what was placed is not valid
  must(adopted.recsize == now.recsize, "what was placed is read back");
  Offset last = std::numeric_limits<Offset>::max();
  forebay::for_each_move(old, now, [&](const forebay::Move& move) {
    must(move.from < move.to && move.bytes > 0, "data move towards the end");
    must(move.from + move.bytes <= last, "what lies last moves first");
    last = move.from;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file_size = static_cast<Offset>(size);
  constexpr Offset far_away = Offset{1} << 40;

  const auto in_part = parse_or_nothing(bytes.first(size / 2), file_size);
  const auto whole = parse_or_nothing(bytes, file_size);
  must(!in_part || (whole && whole->header_size == in_part->header_size),
       "more bytes do not change a header");
  if (whole) {
    must(whole->header_size <= file_size, "a header ends inside its file");
    check_round_trip(*whole, file_size);
    check_placement(*whole);
  }
  parse_or_nothing(bytes, far_away);
  return 0;
}
