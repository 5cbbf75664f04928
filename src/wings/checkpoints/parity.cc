#include "checkpoints/parity.h"

#include <algorithm>
#include <cstring>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number_bytes.h"

namespace forebay::checkpoint {

namespace {

constexpr std::uint8_t version = 1;
constexpr std::size_t length_bytes = sizeof(std::uint64_t);

[[noreturn]] void throw_other(const StateId& id) {
  throw Error(Errc::ebadlog, "parity does not give back " + words_for(id) + " of a lost rank",
              "begin from another checkpoint");
}

}  // namespace

void add_xor(std::span<std::byte> to, std::span<const std::byte> from) {
  // Words at a time, which compilers make vectors of.
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= from.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, to.data() + i, sizeof a);
    std::memcpy(&b, from.data() + i, sizeof b);
    a ^= b;
    std::memcpy(to.data() + i, &a, sizeof a);
  }
  for (; i < from.size(); ++i) to[i] ^= from[i];
}

const Member* ParityTable::find(Rank rank) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.rank == rank; });
  return found == members.end() ? nullptr : &*found;
}

std::size_t ParityTable::place_of(Rank rank) const {
  return static_cast<std::size_t>(find(rank) - members.data());
}

Count ParityTable::chunk() const {
  Count most = 0;
  for (const Member& member : members) most = std::max(most, member.bytes);
  return chunk_bytes(most, members.size());
}

std::vector<std::byte> print_table(const ParityTable& table) {
  logged::Printer to;
  to.fixed(version);
  to.fixed(table.group);
  to.count(std::ssize(table.members));
  for (const Member& member : table.members) {
    to.count(member.rank);
    to.number(member.serial);
    to.count(member.bytes);
    for (const std::uint64_t session : member.sessions) to.fixed(session);
  }
  return std::move(to.bytes());
}

ParityTable parse_table(std::span<const std::byte> bytes) {
  logged::Parser from(bytes);
  if (from.fixed<std::uint8_t>() != version) logged::damaged("a table of parity of no version");
  ParityTable table;
  table.group = from.fixed<std::uint64_t>();
  if (table.group == 0) logged::damaged("parity of no group");
  table.members.resize(from.items(3 + 2 * sizeof(std::uint64_t)));
  if (table.members.size() < 2 || table.members.size() > most_in_set)
    logged::damaged("parity of too few or too many ranks");
  for (Member& member : table.members) {
    const Count rank = from.count();
    const bool ascends = &member == table.members.data() || rank > (&member)[-1].rank;
    if (rank > INT32_MAX || !ascends) logged::damaged("parity of a rank that there is not");
    member.rank = static_cast<Rank>(rank);
    member.serial = from.number();
    member.bytes = from.count();
    if (member.bytes > Count{1} << 60) logged::damaged("parity of too large a state");
    for (std::uint64_t& session : member.sessions) session = from.fixed<std::uint64_t>();
  }
  return table;
}

std::vector<std::byte> front_of_blob(const Record& record, std::uint64_t group) {
  std::vector<std::byte> front(length_bytes);
  Record anywhere = record;
  anywhere.place = 0;  // a state may move
  print_entry(anywhere, group, front);
  store_be(front.data(), static_cast<std::uint64_t>(front.size() - length_bytes));
  return front;
}

Record parse_blob(std::span<const std::byte> blob, std::uint64_t group, StateId id,
                  std::uint64_t serial, std::size_t& front) {
  if (blob.size() < length_bytes) throw_other(id);
  const auto length = load_be<std::uint64_t>(blob.data());
  if (length > blob.size() - length_bytes) throw_other(id);
  auto parsed = parse_entry(blob.subspan(length_bytes, static_cast<std::size_t>(length)), group);
  Record* const record = parsed ? std::get_if<Record>(&parsed->entry) : nullptr;
  if (!record || parsed->bytes != length || record->id != id || record->serial != serial)
    throw_other(id);
  front = length_bytes + static_cast<std::size_t>(length);
  if (static_cast<Count>(blob.size() - front) != record->bytes) throw_other(id);
  std::size_t at = front;
  for (const Part& part : record->parts)
    for (const Piece& piece : part.pieces) {
      const auto bytes = static_cast<std::size_t>(piece.bytes);
      if (hash_of(blob.subspan(at, bytes)) != piece.hash) throw_other(id);
      at += bytes;
    }
  return std::move(*record);
}

}  // namespace forebay::checkpoint
