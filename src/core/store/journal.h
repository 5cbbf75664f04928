// A journal on fast storage (Hou 2023, §3.2.3): one rank appends entries, which survive it, until
// what they say is where it belongs. Users know it as a staging log. The record log has the
// entries, and the data log the bytes that they refer to. docs/formats.md has the grammar.
//
//     record log   header | state slot, state slot | entry, entry, …
//     data log     identification | the data of entry 1 | the data of entry 2 | …
//
// What an entry says is up to whoever writes it: stage burst writes to variables, process groups
// pieces of files. Entries are in the writer's native byte order, which the header records. A
// journal of another order is refused.
//
// An entry has its length, a sequence number that counts entries without a gap since the journal
// began, and its xxh3-64, seeded with the session. So a torn or stale tail is found and cut. A
// failed commit's sequence numbers are used again. An entry therefore also has the number of failed
// commits before it, so that entries of a failed commit are never taken for a continuation.
// Positions are logical: if ranks of a node share files, Share maps positions to places in the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "store/slots.h"

namespace forebay::journal {

constexpr std::uint32_t version = 1;
constexpr Count header_bytes = 8192;  ///< of a rank's record log: header and state slots
constexpr Count data_begin = 4096;    ///< of a rank's data log; the identification precedes it
/// A header lies within one block, whatever the block size is.
constexpr Count least_block = header_bytes;

/// How the ranks of a node share a pair of files: blocks are distributed to them in turn (Hou 2023,
/// §3.2.1). parts == 1: the files belong to one rank, and positions are places.
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

/// Decides which entries count, and says what the user has to know of them. Two slots are written
/// in turn. The current state is the whole one with the higher serial.
struct State {
  std::uint64_t serial = 0;
  std::uint64_t epoch = 0;            ///< number of collective flushes that were complete before
  std::uint64_t schema = 0;           ///< fingerprint of the definitions that the writes refer to
  std::uint64_t first_sequence = 0;   ///< of the first entry that counts
  Offset first_entry = header_bytes;  ///< its position in the record log
  Count least_records = 0;            ///< number of records that dropped writes gave the file
  bool closed = false;                ///< the dataset was closed; nothing in the log is needed

  std::uint64_t number() const { return serial; }
  bool operator==(const State&) const = default;
};

/// The bytes of the data log that an entry refers to.
struct Data {
  Offset data = 0;  ///< their position
  Count bytes = 0;
  std::uint64_t hash = 0;  ///< their xxh3-64
};

// -- places in shared files

/// The place in the file of a logical position, and the number of contiguous bytes from there on.
struct Place {
  Offset offset;
  Count together;
};
Place place_of(Offset position, const Share& share, Count block);
/// Returns how many logical bytes of this part lie within the first `size` bytes of the file.
Count bytes_within(Offset size, const Share& share, Count block);

// -- printing and parsing. There is no I/O, and parsing throws nothing but Errc::ebadlog.

/// Returns header_bytes bytes with empty state slots. Errc::einval for a path of over 4096 bytes.
std::vector<std::byte> print_header(const Header& header);
/// Errc::ebadlog, with the reason and advice, for anything but a whole header of this version and
/// byte order.
Header parse_header(std::span<const std::byte> bytes);

/// Returns the offset in the record log of the slot for a state of that serial (store/slots.h).
constexpr int state_slots = 2;
Offset slot_of(std::uint64_t serial);
std::vector<std::byte> print_state(const State& state, std::uint64_t session);
/// Reads the slots from the header's bytes. Errc::ebadlog for an impossible state.
store::Slots<State> parse_states(std::span<const std::byte> header, std::uint64_t session);
/// Returns the current state; nothing if neither slot is whole.
std::optional<State> parse_state(std::span<const std::byte> header, std::uint64_t session);

std::vector<std::byte> print_identification(const Header& header);
void check_identification(std::span<const std::byte> bytes, const Header& header);  ///< ebadlog

constexpr Count least_entry = 32;  ///< bytes of the front of every entry
/// What an entry's first least_entry bytes contain. They may still be damaged.
struct Beginning {
  std::uint64_t sequence = 0;
  std::uint32_t failed = 0;          ///< number of failed commits before this one
  std::uint8_t kind = 0, flags = 0;  ///< of the writer; kind 0 is none
  Count length = 0;                  ///< of the whole entry
};
/// Appends an entry to `out` whose body is zeros: `body_bytes` of them, rounded up to a multiple of
/// 8. Returns the entry, whose body begins at least_entry. `front.length` is not used.
std::span<std::byte> append_entry(const Beginning& front, std::size_t body_bytes,
                                  std::vector<std::byte>& out);
/// Writes the checksum of an entry whose other bytes are complete.
void seal_entry(std::span<std::byte> entry, std::uint64_t session);

/// Returns nothing if the bytes are not the beginning of an entry.
std::optional<Beginning> entry_beginning(std::span<const std::byte> bytes);
std::optional<Count> entry_length(std::span<const std::byte> beginning);  ///< its length
/// Returns whether the bytes are one entry with the right checksum.
bool is_whole(std::span<const std::byte> entry, std::uint64_t session);

/// The error for an entry whose checksum is right and whose contents cannot be.
[[noreturn]] void throw_impossible(std::uint64_t sequence, const std::string& what);

}  // namespace forebay::journal
