// Fuzz target over journals of checkpoints: what is printed by no build of Forebay must do no harm.
//
// The first byte chooses: a header, one entry, or all that follows a header. Checksums are set
// right first (unless the second byte says no), since no fuzzer finds them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "checkpoints/format/checkpoint.h"
#include "must.h"

namespace {

using namespace forebay;
using namespace forebay::checkpoint;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t session = 4711;
constexpr std::size_t hash_bytes = 8;

/// The hash that an entry ends with (docs/formats.md).
void seal(std::span<std::byte> entry) {
  std::byte front[8];
  store_be(front, session);
  const iovec pieces[] = {{front, sizeof front}, {entry.data(), entry.size() - hash_bytes}};
  store_be(entry.data() + entry.size() - hash_bytes, hash_of(std::span(pieces)));
}

void check_record(const Record& record) {
  must(record.id.step >= 0 && record.place >= 0 && record.bytes >= 0, "numbers are counts");
  Count end = 0, bytes = 0;
  must(add_fits(record.place, record.bytes, end), "a state has an end");
  for (const Part& part : record.parts) {
    must(part.shape.size() <= most_dimensions && part.raw_bytes() >= 0, "a part has a size");
    const Cut cut = cut_of(part);
    const bool in_one = part.codec == "none" && part.pieces.size() == 1;
    must(cut.pieces == std::ssize(part.pieces) || in_one, "a part has its pieces");
    for (Count piece = 0; piece < std::min<Count>(cut.pieces, 100); ++piece)
      must(bytes_of_piece(part, cut, piece) > 0, "a piece has values");
    bytes += part.stored_bytes();
  }
  must(bytes == record.bytes, "sizes add up");
}

/// What is accepted prints to what reads back the same.
void check_entry(Bytes bytes, bool sealed) {
  if (sealed && bytes.size() >= 24) {
    bytes.resize(bytes.size() / 8 * 8);
    store_be(bytes.data() + 4, static_cast<std::uint32_t>(bytes.size()));
    seal(bytes);
  }
  const auto parsed = parse_entry(bytes, session);
  if (!parsed) return;
  must(parsed->bytes <= bytes.size() && parsed->bytes % 8 == 0, "an entry has a length");
  if (const auto* record = std::get_if<Record>(&parsed->entry)) check_record(*record);
  Bytes again, third;
  print_entry(parsed->entry, session, again);
  const auto reread = parse_entry(again, session);
  must(reread && reread->entry.index() == parsed->entry.index(), "what is printed is read back");
  print_entry(reread->entry, session, third);
  must(third == again, "what is read back prints the same");
}

void check_journal(const Bytes& entries, bool sealed) {
  Bytes bytes = print_header({session, 0, 1});
  bytes.insert(bytes.end(), entries.begin(), entries.end());
  for (std::size_t at = static_cast<std::size_t>(header_bytes);
       sealed && at + 24 <= bytes.size();) {
    const std::size_t length = load_be<std::uint32_t>(bytes.data() + at + 4);
    const bool whole = length >= 24 && length % 8 == 0 && length <= bytes.size() - at;
    if (whole) seal(std::span(bytes).subspan(at, length));
    at += whole ? length : 8;
  }
  const Journal journal = parse_journal(bytes, session);
  must(journal.whole <= bytes.size(), "a journal has an end");
  for (const auto& [serial, record] : journal.live) {
    must(record.serial == serial, "serials are those of records");
    check_record(record);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* begin = reinterpret_cast<const std::byte*>(data) + 2;
  Bytes bytes(begin, begin + (size - 2));
  const bool sealed = data[1] % 4 != 0;
  try {
    switch (data[0] % 3) {
      case 0:
        if (sealed && std::ssize(bytes) >= header_bytes)
          store_be(bytes.data() + header_bytes - 8,
                   hash_of(std::span(bytes).first(static_cast<std::size_t>(header_bytes) - 8)));
        parse_header(bytes);
        break;
      case 1:
        check_entry(bytes, sealed);
        break;
      default:
        check_journal(bytes, sealed);
    }
  } catch (const Error& error) {
    must(!error.message().empty(), "an error says what it is");
  }
  return 0;
}
