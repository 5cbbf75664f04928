// The encoding of a log (D3 §3.2.3): a record log, which tells what was written, and a data log,
// which holds the bytes. docs/formats.md has the grammar.
//
//     record log   header | state slot, state slot | entry, entry, …
//     data log     identification | the data of write 1 | the data of write 2 | …
//
// There is one kind of write: a strided subarray of a variable. What is no subarray (varn, vard) is
// a list of pieces, stored once as an entry of its own and named by the writes that select it:
// codes write hundreds of variables by one decomposition. Everything is in the writer's native byte
// order, which the header tells; a log of another order is refused.
//
// An entry carries its length, a sequence number that counts entries without a gap since the log
// began, and the xxh3-64 of itself, seeded with the session: a torn or stale tail is found and cut.
// After a commit that failed its sequence numbers are used again, so an entry also tells how many
// had failed before: what a failed one left behind is never taken for a continuation of the log.
// Positions are logical: where ranks of a node share files, Share maps them to places in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "array/selection.h"
#include "array/type.h"
#include "base/types.h"

namespace forebay::staging {

constexpr std::uint32_t version = 1;
constexpr Count header_bytes = 8192;  ///< of a rank's record log: header and state slots
constexpr Count data_begin = 4096;    ///< of a rank's data log: before it only the identification
/// A header lies within one block, whatever the block size.
constexpr Count least_block = header_bytes;

/// How the ranks of a node share a pair of files: blocks are dealt to them in turn (D3 §3.2.1).
/// parts == 1: a pair of files for one rank, positions are places.
struct Share {
  int part = 0, parts = 1;
  Count record_block = 64 << 10, data_block = 1 << 20;

  bool operator==(const Share&) const = default;
};

/// Written once, when the log is created.
struct Header {
  std::uint64_t session = 0;  ///< random; the same for all logs of one opening of a dataset
  std::int32_t rank = 0, ranks = 1;
  Share share;
  std::string path;  ///< of the dataset, absolute

  bool operator==(const Header&) const = default;
};

/// Which entries count. Two slots are written in turn; the whole one with the higher serial holds.
struct State {
  std::uint64_t serial = 0;
  std::uint64_t epoch = 0;            ///< collective flushes that were complete when this began
  std::uint64_t schema = 0;           ///< fingerprint of the definitions that the writes refer to
  std::uint64_t first_sequence = 0;   ///< of the first entry that counts
  Offset first_entry = header_bytes;  ///< its position in the record log
  Count least_records = 0;  ///< the file has so many records by writes that are no longer here
  bool closed = false;      ///< the dataset was closed; nothing in the log is needed

  bool operator==(const State&) const = default;
};

/// What there is to know of a write besides its selection. The data are `bytes` bytes at position
/// `data` of the data log: the selected elements in selection order (row-major; for pieces one
/// after another).
struct WriteFacts {
  VarId var = 0;
  Type type = Type::none;  ///< external type; its size is an element's
  bool external = false;   ///< data is in the file's byte order, not in the writer's
  bool continues = false;  ///< the next write belongs to the same request: all of them or none
  bool continued = false;  ///< the write before does (Writer::add knows)
  Count last_record = 0;   ///< one past the highest record touched; 0: fixed variable
  Offset data = 0;
  Count bytes = 0;
  std::uint64_t hash = 0;  ///< xxh3-64 of the data
};

struct Write : WriteFacts {
  /// A subarray, or the sequence number of an earlier `Pieces` entry.
  std::variant<Subarray, std::uint64_t> selection;
};

/// Byte runs of a variable, in increasing order, relative to its first element, with records as
/// dense as they can be (the distance from one to the next is Variable::inner_bytes). Stored as
/// differences in variable-length integers.
struct Pieces {
  std::vector<Run> runs;
  Count bytes = 0;  ///< sum of lengths
};

struct Entry {
  std::uint64_t sequence = 0;
  std::uint32_t failed = 0;  ///< commits that had failed before this one
  std::variant<Write, Pieces> what;
};

// -- places in shared files
// ------------------------------------------------------------------------------------------

/// The place in the file of a logical position, and how many bytes from there on lie together.
struct Place {
  Offset offset;
  Count together;
};
Place place_of(Offset position, const Share& share, Count block);
/// How many logical bytes of this part lie within the first `size` bytes of the file.
Count bytes_within(Offset size, const Share& share, Count block);

// -- printing and parsing: no I/O, no throw from parse but Errc::ebadlog
// ---------------------------------------------------------------------------

/// header_bytes, with both state slots empty. Errc::einval for a path of more than 4096 bytes.
std::vector<std::byte> print_header(const Header& header);
/// Errc::ebadlog, with the reason and what to do, for anything that is no whole header of this
/// version and byte order.
Header parse_header(std::span<const std::byte> bytes);

constexpr Count slot_bytes = 128;
/// Where in the record log a state of that serial is written.
Offset slot_of(std::uint64_t serial);
std::vector<std::byte> print_state(const State& state, std::uint64_t session);
/// From the header's bytes: the state that holds; nothing if neither slot is whole.
std::optional<State> parse_state(std::span<const std::byte> header, std::uint64_t session);

/// data_begin bytes at most.
std::vector<std::byte> print_identification(const Header& header);
void check_identification(std::span<const std::byte> bytes, const Header& header);  ///< ebadlog

/// Appends an entry to `out`, a multiple of 8 bytes. Errc::einternal for what parse_entry refuses:
/// no write is lost because it cannot be read back.
void print_entry(const Write& write, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed = 0);
void print_entry(const Pieces& pieces, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed = 0);
/// Writes the checksum of an entry of which all other bytes are there.
void seal_entry(std::span<std::byte> entry, std::uint64_t session);

constexpr Count least_entry = 32;  ///< bytes of the part that every entry begins with
/// What an entry's first least_entry bytes tell. They may be damaged all the same.
struct Beginning {
  Count length = 0;  ///< of the whole entry
  std::uint64_t sequence = 0;
  std::uint32_t failed = 0;
};
/// Nothing if the bytes are not the beginning of an entry.
std::optional<Beginning> entry_beginning(std::span<const std::byte> bytes);
std::optional<Count> entry_length(std::span<const std::byte> beginning);  ///< of that its length
/// A whole entry. Nothing if its checksum does not hold. Errc::ebadlog if it holds and the contents
/// are impossible (written by no build of Forebay).
std::optional<Entry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session);
/// The same into an entry whose memory is used again; false if the checksum does not hold.
bool parse_entry(std::span<const std::byte> bytes, std::uint64_t session, Entry& into);

}  // namespace forebay::staging
