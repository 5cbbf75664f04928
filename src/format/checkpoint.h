// The journal of a rank's checkpoints: which states its data file holds, and where (D4 ch. 4).
// docs/formats.md has the grammar.
//
//     journal   header | entry, entry, …
//     data      the stored pieces of one state after another, anywhere
//
// An entry is a state that was kept, with all that is needed to read it, or says that one was
// dropped. It has the xxh3-64 of itself and of the journal's session: a torn tail is found and cut,
// a damaged entry is left out. A state is a number of parts, variables as a rule; a part that is
// encoded is cut into pieces along its slowest dimensions, each of which goes through its codec by
// itself; one that is not, into pieces of equal size. Numbers of the journal are big-endian. Values
// that no codec has changed are in the writer's byte order, which the header tells.
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
/// Of values in a piece: about the one, and at most the other, with a multiple of so many indices
/// of the dimension that is cut, as codecs that transform blocks fill up what is missing.
constexpr Count piece_bytes = 1 << 20, most_piece_bytes = 4 << 20, block_rows = 4;
/// Values as they are: so few that they stay in the cache of a processor that reads or writes a
/// piece, and then looks at its checksum, or the other way round.
constexpr Count raw_piece_bytes = 256 << 10;
constexpr std::size_t most_dimensions = 32;

struct Header {
  std::uint64_t session = 0;  ///< random; of one journal
  std::int32_t rank = 0, ranks = 1;
};

/// What a state is to the program: a state of its model, or one of its adjoint.
enum class Kind : std::uint8_t { state = 0, adjoint = 1 };

struct StateId {
  Kind kind = Kind::state;
  Count step = 0;
  auto operator<=>(const StateId&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "state 12", "adjoint state 12".
std::string words_for(const StateId& id);

struct Piece {
  Count bytes = 0;            ///< as stored
  std::uint32_t skipped = 0;  ///< stages of the codec that were not applied
  std::uint64_t hash = 0;     ///< xxh3-64 of the stored bytes
};

/// `type` none: bytes that mean nothing to us, of which shape[0] tells the number.
struct Part {
  std::string name;
  Type type = Type::none;
  std::vector<Count> shape;  ///< slowest first
  std::string codec = "none";
  std::vector<Piece> pieces;

  Count raw_bytes() const;
  Count stored_bytes() const;
};

/// How an array that is encoded is cut into pieces that are contiguous in memory: `rows` indices of
/// dimension `axis` each, with one index of those before it and all of those behind. It is the
/// slowest dimension of which block_rows indices are no more than most_piece_bytes.
struct Cut {
  Count pieces = 0;
  std::size_t axis = 0;
  Count rows = 1;
};
Cut cut_of(const Part& part);  ///< of one that is not encoded only the number of pieces
/// The shape of one of them, of what is encoded.
std::vector<Count> shape_of_piece(const Part& part, const Cut& cut, Count piece);
/// Of the values in a piece.
Count bytes_of_piece(const Part& part, const Cut& cut, Count piece);

struct Record {
  StateId id;
  std::uint64_t serial = 0;  ///< grows; of two records of one state the later one holds
  Offset place = 0;          ///< in the data file
  Count bytes = 0;           ///< of all parts, one after another
  std::vector<Part> parts;
};

struct Dropped {
  std::uint64_t serial = 0;
};

using Entry = std::variant<Record, Dropped>;

std::vector<std::byte> print_header(const Header& header);
/// Nothing where the bytes are fewer than a header. Errc::ebadlog for what is no header of this
/// version and byte order.
std::optional<Header> parse_header(std::span<const std::byte> bytes);

/// Appends an entry, a multiple of 8 bytes.
void print_entry(const Entry& entry, std::uint64_t session, std::vector<std::byte>& out);

/// How long the entry says that it is that `bytes` begin with, where there is so much; else 0. One
/// that is not whole then is not torn, but damaged.
std::size_t told_bytes(std::span<const std::byte> bytes);

struct ParsedEntry {
  Entry entry;
  std::size_t bytes = 0;
};
/// The entry that `bytes` begin with, or nothing where that is none, or none that is whole: what a
/// record says can be taken at its word, but for the place in the data file.
std::optional<ParsedEntry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session);

struct Journal {
  std::map<std::uint64_t, Record> live;  ///< states that are there, by serial
  std::size_t whole = 0;                 ///< one past the last entry that is whole
  std::vector<std::size_t> damaged;      ///< where something else lies, but for a torn end
};
/// What all the bytes of a journal tell, whose header was parsed.
Journal parse_journal(std::span<const std::byte> bytes, std::uint64_t session);

}  // namespace forebay::checkpoint
