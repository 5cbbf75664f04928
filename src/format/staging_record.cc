#include "format/staging_record.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay::staging {
namespace {

constexpr char header_magic[9] = "FBSTLOG1", data_magic[9] = "FBSTDAT1";
constexpr std::uint32_t order_mark = 0x01020304, other_order = 0x04030201;
constexpr std::uint64_t state_magic = 0x4642535453544154;  // "FBSTSTAT"
constexpr std::size_t most_path = 4096;
constexpr Count sector = 512;
constexpr Offset first_slot = header_bytes - 2 * sector;

[[noreturn]] void refuse(const std::string& what, const std::string& advice) {
  throw Error(Errc::ebadlog, what, advice);
}

const char* const look = "run forebay log DIR to see what is whole";

template <typename T>
void put(std::byte* at, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(at, &value, sizeof value);
}

std::string number(std::uint64_t n) { return std::to_string(n); }

// -- header and state: the structures are written as they lie in memory ---------------------------

struct HeaderFront {
  char magic[8];
  std::uint32_t order, version;
  std::uint64_t session;
  std::int32_t rank, ranks, part, parts;
  std::int64_t record_block, data_block;
  std::uint32_t path_bytes, zero;
};
static_assert(sizeof(HeaderFront) == 64);
static_assert(sizeof(HeaderFront) + most_path + 8 <= first_slot);

struct StateSlot {
  std::uint64_t magic, serial, epoch, schema, first_sequence;
  std::int64_t first_entry, least_records;
  std::uint32_t closed, zero;
  std::uint64_t unused[7];
  std::uint64_t hash;  ///< of all before it
};
static_assert(sizeof(StateSlot) == slot_bytes);

struct DataFront {
  char magic[8];
  std::uint64_t session;
  std::int32_t rank, part;
  std::uint64_t hash;  ///< of all before it
};
static_assert(sizeof(DataFront) == 32);

template <typename T>
std::uint64_t hash_of_front(const T& value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(&value, offsetof(T, hash), seed);
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
  HeaderFront front{};
  std::memcpy(front.magic, header_magic, sizeof front.magic);
  front.order = order_mark;
  front.version = version;
  front.session = header.session;
  front.rank = header.rank;
  front.ranks = header.ranks;
  front.part = header.share.part;
  front.parts = header.share.parts;
  front.record_block = header.share.record_block;
  front.data_block = header.share.data_block;
  front.path_bytes = static_cast<std::uint32_t>(header.path.size());
  std::vector<std::byte> bytes(header_bytes);
  put(bytes.data(), front);
  std::memcpy(bytes.data() + sizeof front, header.path.data(), header.path.size());
  const std::size_t hashed = sizeof front + header.path.size();
  put(bytes.data() + hashed, XXH3_64bits(bytes.data(), hashed));
  return bytes;
}

Header parse_header(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(HeaderFront))
    refuse("no staging log: it has " + number(bytes.size()) + " bytes, fewer than a header",
           "it may have been killed while it was created; then nothing was staged in it");
  const auto front = load_native<HeaderFront>(bytes.data());
  if (std::memcmp(front.magic, header_magic, sizeof front.magic) != 0)
    refuse("no staging log: it begins with something else",
           "name the .records file of a log, or its DIR");
  if (front.order == other_order)
    refuse("the staging log was written on a machine of the other byte order",
           "recover it on a machine like the one that wrote it");
  if (front.order == order_mark && front.version != version)
    refuse("the staging log has version " + number(front.version),
           "this build reads version " + number(version) + "; use the one that wrote it");
  const std::size_t hashed = sizeof front + front.path_bytes;
  if (front.order != order_mark || front.path_bytes > most_path || bytes.size() < hashed + 8 ||
      load_native<std::uint64_t>(bytes.data() + hashed) != XXH3_64bits(bytes.data(), hashed))
    refuse("the staging log's header is damaged", look);
  Header header;
  header.session = front.session;
  header.rank = front.rank;
  header.ranks = front.ranks;
  header.share = {front.part, front.parts, front.record_block, front.data_block};
  header.path.assign(reinterpret_cast<const char*>(bytes.data()) + sizeof front, front.path_bytes);
  if (!is_possible(header.share) || header.rank < 0 || header.rank >= header.ranks)
    refuse("the staging log's header says what cannot be: rank " + std::to_string(header.rank) +
               " of " + std::to_string(header.ranks) + ", part " +
               std::to_string(header.share.part) + " of " + std::to_string(header.share.parts) +
               ", blocks of " + std::to_string(header.share.record_block) + " and " +
               std::to_string(header.share.data_block) + " bytes",
           look);
  return header;
}

Offset slot_of(std::uint64_t serial) { return first_slot + (serial % 2 != 0 ? sector : 0); }

std::vector<std::byte> print_state(const State& state, std::uint64_t session) {
  StateSlot slot{};
  slot.magic = state_magic;
  slot.serial = state.serial;
  slot.epoch = state.epoch;
  slot.schema = state.schema;
  slot.first_sequence = state.first_sequence;
  slot.first_entry = state.first_entry;
  slot.least_records = state.least_records;
  slot.closed = state.closed ? 1 : 0;
  slot.hash = hash_of_front(slot, session);
  std::vector<std::byte> bytes(slot_bytes);
  put(bytes.data(), slot);
  return bytes;
}

std::optional<State> parse_state(std::span<const std::byte> header, std::uint64_t session) {
  std::optional<State> newest;
  for (const std::uint64_t i : {0, 1}) {
    const auto at = static_cast<std::size_t>(slot_of(i));
    if (at + sizeof(StateSlot) > header.size()) continue;
    const auto slot = load_native<StateSlot>(header.data() + at);
    if (slot.magic != state_magic || slot.hash != hash_of_front(slot, session)) continue;
    if (slot.serial % 2 != i || (newest && newest->serial > slot.serial)) continue;
    if (slot.first_entry < header_bytes || slot.first_entry % 8 != 0 || slot.least_records < 0)
      refuse("the staging log's state says what cannot be: its first entry is at byte " +
                 std::to_string(slot.first_entry),
             look);
    newest = State{slot.serial,      slot.epoch,         slot.schema,     slot.first_sequence,
                   slot.first_entry, slot.least_records, slot.closed != 0};
  }
  return newest;
}

std::vector<std::byte> print_identification(const Header& header) {
  DataFront front{};
  std::memcpy(front.magic, data_magic, sizeof front.magic);
  front.session = header.session;
  front.rank = header.rank;
  front.part = header.share.part;
  front.hash = hash_of_front(front, 0);
  std::vector<std::byte> bytes(sizeof front);
  put(bytes.data(), front);
  return bytes;
}

void check_identification(std::span<const std::byte> bytes, const Header& header) {
  DataFront front{};
  if (bytes.size() >= sizeof front) front = load_native<DataFront>(bytes.data());
  if (std::memcmp(front.magic, data_magic, sizeof front.magic) != 0 ||
      front.hash != hash_of_front(front, 0))
    refuse("no data log: its identification is missing or damaged", look);
  if (front.session != header.session || front.rank != header.rank ||
      front.part != header.share.part)
    refuse("the data log belongs to another record log: that of rank " +
               std::to_string(front.rank) + " of another session, or of another rank",
           "the two files of a log have the same name but for .records and .data");
}

}  // namespace forebay::staging
