// The journal of a rank's checkpoints: which states its data file holds, and where (Hou 2023,
// chapter 4). docs/formats.md has the grammar.
//
//     journal   header | entry, entry, …
//     data      the stored pieces of one state after another, anywhere
//
// An entry describes a kept state, with all that is needed to read it, or says that one was
// dropped. It has the xxh3-64 of itself and of the journal's session: a torn tail is found and cut,
// a damaged entry is left out. A state has a number of parts, usually variables. An encoded part is
// cut into pieces along its slowest dimensions, and each piece goes through the codec by itself.
// Another part is cut into pieces of equal size. Numbers of the journal are big-endian. Values that
// no codec has changed are in the writer's byte order, which the header names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "array/type.h"
#include "base/types.h"

namespace forebay::checkpoint {

constexpr Count header_bytes = 64;
/// Bytes of values in a piece: about piece_bytes, at most most_piece_bytes. The cut dimension has a
/// multiple of block_rows indices in a piece, since codecs that transform blocks fill up incomplete
/// ones.
constexpr Count piece_bytes = 1 << 20, most_piece_bytes = 4 << 20, block_rows = 4;
/// Bytes of a piece that is not encoded: so few that they stay in the processor's cache between the
/// read or write and the checksum.
constexpr Count raw_piece_bytes = 256 << 10;
constexpr std::size_t most_dimensions = 32;

struct Header {
  std::uint64_t session = 0;  ///< random, new for each journal
  std::int32_t rank = 0, ranks = 1;
};

/// The kind of a state: one of the program's model, or one of its adjoint. What the other ranks of
/// a set need to make a lost one again is kept like a state, too (checkpoints/parity.h).
enum class Kind : std::uint8_t { state = 0, adjoint = 1, parity = 2, adjoint_parity = 3 };

constexpr bool is_parity(Kind kind) { return kind >= Kind::parity; }
/// Returns the kind of the parity of a state, or of the states that a parity is of.
constexpr Kind parity_of(Kind kind) {
  return kind == Kind::adjoint ? Kind::adjoint_parity : Kind::parity;
}
constexpr Kind covered_by(Kind kind) {
  return kind == Kind::adjoint_parity ? Kind::adjoint : Kind::state;
}
/// "state", "adjoint", "parity", "adjoint parity".
const char* name_of(Kind kind);

struct StateId {
  Kind kind = Kind::state;
  Count step = 0;
  auto operator<=>(const StateId&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "state 12", "adjoint state 12".
std::string words_for(const StateId& id);

struct Piece {
  Count bytes = 0;            ///< as stored
  std::uint32_t skipped = 0;  ///< bits of the codec stages that were not applied
  std::uint64_t hash = 0;     ///< xxh3-64 of the stored bytes
};

/// If `type` is none, the part has opaque bytes, and shape[0] is their number.
struct Part {
  std::string name;
  Type type = Type::none;
  std::vector<Count> shape;  ///< slowest first
  std::string codec = "none";
  std::vector<Piece> pieces;

  Count raw_bytes() const;
  Count stored_bytes() const;
};

/// How an encoded array is cut into pieces that are contiguous in memory. A piece has `rows`
/// indices of dimension `axis`, one index of each slower dimension and all indices of the faster
/// ones. `axis` is the slowest dimension of which block_rows indices take at most most_piece_bytes.
struct Cut {
  Count pieces = 0;
  std::size_t axis = 0;
  Count rows = 1;
};
Cut cut_of(const Part& part);  ///< only the number of pieces if the part is not encoded
/// Returns the shape of one piece of an encoded part.
std::vector<Count> shape_of_piece(const Part& part, const Cut& cut, Count piece);
/// Returns the bytes of the values in a piece.
Count bytes_of_piece(const Part& part, const Cut& cut, Count piece);

struct Record {
  StateId id;
  std::uint64_t serial = 0;  ///< ascending; the later of two records of one state is valid
  Offset place = 0;          ///< in the data file
  Count bytes = 0;           ///< of all parts, one after another
  std::vector<Part> parts;
};

struct Dropped {
  std::uint64_t serial = 0;
};

using Entry = std::variant<Record, Dropped>;

std::vector<std::byte> print_header(const Header& header);
/// Returns nothing if there are fewer bytes than a header has. Errc::ebadlog if they are not a
/// header of this version and byte order.
std::optional<Header> parse_header(std::span<const std::byte> bytes);

/// Appends an entry, a multiple of 8 bytes.
void print_entry(const Entry& entry, std::uint64_t session, std::vector<std::byte>& out);

/// Returns the length that the entry at the start of `bytes` states, if so many bytes exist;
/// otherwise 0. Such an entry that does not parse is not torn but damaged.
std::size_t told_bytes(std::span<const std::byte> bytes);

struct ParsedEntry {
  Entry entry;
  std::size_t bytes = 0;
};
/// Parses the entry at the start of `bytes`. Returns nothing if there is no entry, or an incomplete
/// one. All that a returned record says is checked, but not its place in the data file.
std::optional<ParsedEntry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session);

struct Journal {
  std::map<std::uint64_t, Record> live;  ///< states that are not dropped, by serial
  std::size_t whole = 0;                 ///< the end of the last whole entry
  std::vector<std::size_t> damaged;      ///< places of other bytes, without a torn tail
};
/// Parses all bytes of a journal, whose header was parsed before.
Journal parse_journal(std::span<const std::byte> bytes, std::uint64_t session);

}  // namespace forebay::checkpoint
