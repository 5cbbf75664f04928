#include "hdf5/format/log_undo.h"

#include <xxhash.h>

#include "base/number_bytes.h"
#include "hdf5/format/log_section.h"

namespace forebay::logged {
namespace {

constexpr std::uint64_t undo_magic = 0x4642554e444f3031;     // "FBUNDO01"
constexpr std::uint64_t witness_magic = 0x46424c4f47494431;  // "FBLOGID1"
constexpr std::size_t hashed_undo_bytes = undo_front_bytes - 8;

std::uint64_t hash_of(std::span<const std::byte> front, std::span<const std::byte> bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(),
                              XXH3_64bits(front.data(), hashed_undo_bytes));
}

}  // namespace

// magic u64 | opening u64
std::vector<std::byte> print_witness(std::uint64_t opening) {
  Printer out;
  out.fixed(witness_magic);
  out.fixed(opening);
  return std::move(out.bytes());
}

std::vector<std::byte> print_undo_magic() {
  Printer out;
  out.fixed(undo_magic);
  return std::move(out.bytes());
}

// magic u64 | version u32 | bytes u32 | opening u64 | witness u64 | place u64 | hash u64 | the
// bytes
void print_undo_front(std::span<std::byte> record, const Witness& witness, Offset place) {
  const auto bytes = record.subspan(undo_front_bytes);
  std::byte* at = record.data();
  const auto fixed = [&](auto value) {
    store_be(at, value);
    at += sizeof value;
  };
  fixed(undo_magic);
  fixed(std::uint32_t{version});
  fixed(static_cast<std::uint32_t>(bytes.size()));
  fixed(witness.opening);
  fixed(static_cast<std::uint64_t>(witness.place));
  fixed(static_cast<std::uint64_t>(place));
  fixed(hash_of(record, bytes));
}

std::optional<UndoRecord> parse_undo_front(std::span<const std::byte> front) {
  if (front.size() < undo_front_bytes) return std::nullopt;
  Parser in(front);
  if (in.fixed<std::uint64_t>() != undo_magic) return std::nullopt;
  in.fixed<std::uint32_t>();  // the version is checked once the record is known to be whole
  UndoRecord record;
  record.bytes = in.fixed<std::uint32_t>();
  record.witness.opening = in.fixed<std::uint64_t>();
  record.witness.place = static_cast<Offset>(in.fixed<std::uint64_t>());
  record.place = static_cast<Offset>(in.fixed<std::uint64_t>());
  record.hash = in.fixed<std::uint64_t>();
  if (record.bytes > undo_most_bytes || record.place < 0 || record.witness.place < 0)
    return std::nullopt;
  return record;
}

bool is_whole(const UndoRecord& record, std::span<const std::byte> front,
              std::span<const std::byte> bytes) {
  if (std::ssize(bytes) != record.bytes || hash_of(front, bytes) != record.hash) return false;
  Parser in(front.subspan(8));
  check_version(in.fixed<std::uint32_t>(), version, "an undo file");
  return true;
}

}  // namespace forebay::logged
