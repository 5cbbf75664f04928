#include "store/journal.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::journal {
namespace {

using logged::Parser;
using logged::Printer;

constexpr std::uint32_t header_magic = 0x4642'534c, data_magic = 0x4642'5344;  // FBSL, FBSD
constexpr std::uint32_t earlier_magic = 0x4642'5354;  // FBST: logs before version 1 was fixed
constexpr std::uint8_t native = native_is_big_endian ? 'B' : 'L';
constexpr std::uint32_t entry_magic = 0x4642'4c45;  // FBLE
constexpr std::size_t most_path = 4096, hash_bytes = 8;
constexpr Offset first_slot = header_bytes - state_slots * store::slot_bytes;
static_assert(most_path + 100 <= first_slot);

/// The front of an entry, as it lies in memory.
struct Front {
  std::uint64_t hash;  ///< of all after it
  std::uint32_t magic;
  std::uint8_t kind, flags;
  std::uint16_t zero;
  std::uint32_t words;  ///< length in units of 8 bytes
  std::uint32_t failed;
  std::uint64_t sequence;
};
static_assert(sizeof(Front) == least_entry);

std::uint64_t entry_hash(std::span<const std::byte> entry, std::uint64_t session) {
  return XXH3_64bits_withSeed(entry.data() + hash_bytes, entry.size() - hash_bytes, session);
}

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(Errc::ebadlog, what, advice);
}

const char* const look = "run forebay log DIR to see what is whole";

std::string number(std::uint64_t n) { return std::to_string(n); }

/// Appends the hash of everything printed so far.
std::vector<std::byte> hashed(Printer& out) {
  out.fixed(hash_of(out.bytes()));
  return std::move(out.bytes());
}

/// Returns whether the first `n` bytes are followed by their hash.
bool hash_holds(std::span<const std::byte> bytes, std::size_t n) {
  return n + hash_bytes <= bytes.size() &&
         load_be<std::uint64_t>(bytes.data() + n) == hash_of(bytes.first(n));
}

bool is_possible(const Share& share) {
  Count together = 0;
  return share.parts >= 1 && share.part >= 0 && share.part < share.parts &&
         share.record_block >= least_block && share.data_block >= data_begin &&
         multiply_fits(share.parts, share.record_block, together) &&
         multiply_fits(share.parts, share.data_block, together);
}

}  // namespace

Place place_of(Offset position, const Share& share, Count block) {
  if (share.parts == 1) return {position, std::numeric_limits<Count>::max() - position};
  const Offset index = position / block, within = position % block;
  return {(index * share.parts + share.part) * block + within, block - within};
}

Count bytes_within(Offset size, const Share& share, Count block) {
  if (share.parts == 1) return size;
  const Count round = share.parts * block;
  return size / round * block + std::clamp<Count>(size % round - share.part * block, 0, block);
}

std::vector<std::byte> print_header(const Header& header) {
  if (header.path.size() > most_path)
    throw Error(Errc::einval, "the path of the dataset has " + number(header.path.size()) +
                                  " bytes; a log takes " + number(most_path));
  if (!is_possible(header.share))
    throw Error(Errc::einternal, "a log whose blocks are too small, or dealt to no rank");
  Printer out;
  out.fixed(header_magic);
  out.fixed(std::uint16_t{version});
  out.fixed(native);
  out.fixed(std::uint8_t{0});
  out.fixed(header.session);
  for (const std::int32_t n : {header.rank, header.ranks, header.share.part, header.share.parts})
    out.fixed(n);
  out.fixed(header.share.record_block);
  out.fixed(header.share.data_block);
  out.fixed(static_cast<std::uint32_t>(header.path.size()));
  out.raw(std::as_bytes(std::span(header.path)));
  auto bytes = hashed(out);
  bytes.resize(header_bytes);
  return bytes;
}

Header parse_header(std::span<const std::byte> bytes) {
  constexpr std::size_t front_bytes = 52;
  if (bytes.size() < front_bytes)
    refuse("no staging log: it has " + number(bytes.size()) + " bytes, fewer than a header",
           "it may have been killed while it was created; then nothing was staged in it");
  Parser in(bytes);
  const auto magic = in.fixed<std::uint32_t>();
  // These logs are whole, so their code is not that of damage, which a recovery may skip.
  if (magic == earlier_magic)
    throw Error(Errc::enotsupport, "the staging log was written by an earlier version of Forebay",
                "recover it with that version");
  if (magic != header_magic)
    refuse("no staging log: it begins with something else",
           "name the .records file of a log, or its DIR");
  const auto its_version = in.fixed<std::uint16_t>();
  if (its_version > version)
    throw Error(Errc::enotsupport,
                "the staging log has version " + number(its_version) +
                    ", and this build reads up to " + number(version),
                "recover it with the newer version of Forebay that wrote it");
  if (in.fixed<std::uint8_t>() != native)
    throw Error(Errc::enotsupport,
                "the staging log was written on a machine of the other byte order",
                "recover it on a machine like the one that wrote it");
  in.take(1);
  Header header;
  header.session = in.fixed<std::uint64_t>();
  for (std::int32_t* n : {&header.rank, &header.ranks, &header.share.part, &header.share.parts})
    *n = in.fixed<std::int32_t>();
  header.share.record_block = in.fixed<Count>();
  header.share.data_block = in.fixed<Count>();
  const auto path_bytes = in.fixed<std::uint32_t>();
  if (path_bytes > most_path || !hash_holds(bytes, front_bytes + path_bytes))
    refuse("the staging log's header is damaged", look);
  const auto path = in.take(path_bytes);
  header.path.assign(reinterpret_cast<const char*>(path.data()), path.size());
  if (!is_possible(header.share) || header.rank < 0 || header.rank >= header.ranks)
    refuse("the staging log's header says what cannot be: rank " + std::to_string(header.rank) +
               " of " + std::to_string(header.ranks) + ", part " +
               std::to_string(header.share.part) + " of " + std::to_string(header.share.parts) +
               ", blocks of " + std::to_string(header.share.record_block) + " and " +
               std::to_string(header.share.data_block) + " bytes",
           look);
  return header;
}

Offset slot_of(std::uint64_t serial) {
  return first_slot + static_cast<Offset>(serial % state_slots) * store::slot_bytes;
}

std::vector<std::byte> print_state(const State& state, std::uint64_t session) {
  Printer out;
  for (const std::uint64_t n : {state.serial, state.epoch, state.schema, state.first_sequence})
    out.fixed(n);
  out.fixed(state.first_entry);
  out.fixed(state.least_records);
  out.fixed(std::uint8_t{state.closed});
  return store::print_slot(out.bytes(), {.seed = session});
}

store::Slots<State> parse_states(std::span<const std::byte> header, std::uint64_t session) {
  const auto parse = [&](std::span<const std::byte> slot) -> std::optional<State> {
    const auto contents = store::parse_slot(slot, {.seed = session});
    if (!contents) return std::nullopt;
    Parser in(*contents);
    State state;
    for (std::uint64_t* n : {&state.serial, &state.epoch, &state.schema, &state.first_sequence})
      *n = in.fixed<std::uint64_t>();
    state.first_entry = in.fixed<Offset>();
    state.least_records = in.fixed<Count>();
    state.closed = in.fixed<std::uint8_t>() != 0;
    if (state.first_entry < header_bytes || state.first_entry % 8 != 0 || state.least_records < 0)
      refuse("the staging log's state says what cannot be: its first entry is at byte " +
                 std::to_string(state.first_entry),
             look);
    // A log counts from 0, so that no number overflows.
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    for (const std::uint64_t n : {state.serial, state.epoch, state.first_sequence})
      if (n > most)
        refuse("the staging log's state says what cannot be: it is number " + number(state.serial) +
                   ", of epoch " + number(state.epoch) + ", and its first entry number " +
                   number(state.first_sequence),
               look);
    return state;
  };
  const auto begin = std::min(header.size(), static_cast<std::size_t>(first_slot));
  return store::read_slots<State>(header.subspan(begin), parse, state_slots);
}

std::optional<State> parse_state(std::span<const std::byte> header, std::uint64_t session) {
  const auto found = parse_states(header, session);
  if (found.newest() < 0) return std::nullopt;
  return found.at(found.newest());
}

std::vector<std::byte> print_identification(const Header& header) {
  Printer out;
  out.fixed(data_magic);
  out.fixed(header.session);
  out.fixed(header.rank);
  out.fixed(std::int32_t{header.share.part});
  return hashed(out);
}

void check_identification(std::span<const std::byte> bytes, const Header& header) {
  constexpr std::size_t identification_bytes = 20;
  if (!hash_holds(bytes, identification_bytes) ||
      load_be<std::uint32_t>(bytes.data()) != data_magic)
    refuse("no data log: its identification is missing or damaged", look);
  Parser in(bytes.subspan(sizeof data_magic));
  const auto session = in.fixed<std::uint64_t>();
  const auto rank = in.fixed<std::int32_t>(), part = in.fixed<std::int32_t>();
  if (session != header.session || rank != header.rank || part != header.share.part)
    refuse("the data log belongs to another record log: that of rank " + std::to_string(rank) +
               " of another session, or of another rank",
           "the two files of a log have the same name but for .records and .data");
}

std::span<std::byte> append_entry(const Beginning& front, std::size_t body_bytes,
                                  std::vector<std::byte>& out) {
  const std::size_t begin = out.size(), words = (sizeof(Front) + body_bytes + 7) / 8;
  if (words > std::numeric_limits<std::uint32_t>::max())
    throw Error(Errc::einternal, "a log's entry of " + number(8 * words) + " bytes");
  out.resize(begin + 8 * words);
  const auto entry = std::span(out).subspan(begin);
  const Front printed{0,
                      entry_magic,
                      front.kind,
                      front.flags,
                      0,
                      static_cast<std::uint32_t>(words),
                      front.failed,
                      front.sequence};
  std::memcpy(entry.data(), &printed, sizeof printed);
  return entry;
}

void seal_entry(std::span<std::byte> entry, std::uint64_t session) {
  const std::uint64_t hash = entry_hash(entry, session);
  std::memcpy(entry.data(), &hash, sizeof hash);
}

std::optional<Beginning> entry_beginning(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(Front)) return std::nullopt;
  const auto front = load_native<Front>(bytes.data());
  const Count length = static_cast<Count>(front.words) * 8;
  if (front.magic != entry_magic || front.kind == 0 || front.zero != 0 || length < least_entry)
    return std::nullopt;
  return Beginning{front.sequence, front.failed, front.kind, front.flags, length};
}

std::optional<Count> entry_length(std::span<const std::byte> beginning) {
  const auto begins = entry_beginning(beginning);
  return begins ? std::optional(begins->length) : std::nullopt;
}

bool is_whole(std::span<const std::byte> entry, std::uint64_t session) {
  return entry_length(entry) == std::ssize(entry) &&
         load_native<std::uint64_t>(entry.data()) == entry_hash(entry, session);
}

void throw_impossible(std::uint64_t sequence, const std::string& what) {
  throw Error(Errc::ebadlog,
              "entry " + number(sequence) + " of the staging log is impossible: " + what,
              "its checksum holds, so it was written like this, but not by Forebay");
}

}  // namespace forebay::journal
