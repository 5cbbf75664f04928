// What the entries of stage burst's journals say (store/journal.h; Hou 2023, §3.2.3).
//
// There is one kind of write: a strided subarray of a variable. Any other selection (varn, vard) is
// a list of pieces. It is stored once, as an entry of its own, and each write that selects it
// refers to it, because codes write hundreds of variables by one decomposition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "array/selection.h"
#include "array/type.h"
#include "base/types.h"
#include "store/journal_reader.h"

namespace forebay::staging {

// A staging log is a journal with these entries.
using journal::Data, journal::Header, journal::Reader, journal::Share, journal::State;
using journal::header_bytes, journal::data_begin, journal::least_entry;

/// All facts of a write except its selection. The data are the selected elements in selection order
/// (row-major; pieces one after another).
struct WriteFacts : Data {
  VarId var = 0;
  Type type = Type::none;  ///< external type; its size is an element's
  bool external = false;   ///< data is in the file's byte order, not in the writer's
  bool continues = false;  ///< the next write is of the same request; only whole requests count
  bool continued = false;  ///< the previous write has `continues` (Writer::add sets this)
  Count last_record = 0;   ///< one past the highest record touched; 0: fixed variable
};

struct Write : WriteFacts {
  /// A subarray, or the sequence number of an earlier `Pieces` entry.
  std::variant<Subarray, std::uint64_t> selection;
};

/// Byte runs of a variable in increasing order, relative to its first element, with records packed
/// densely (one record is Variable::inner_bytes long). They are stored as differences, in
/// variable-length integers.
struct Pieces {
  std::vector<Run> runs;
  Count bytes = 0;  ///< sum of lengths
};

struct Entry {
  std::uint64_t sequence = 0;
  std::uint32_t failed = 0;  ///< number of failed commits before this one
  std::variant<Write, Pieces> what;
};

// There is no I/O, and parsing throws nothing but Errc::ebadlog.

/// Appends an entry to `out`, a multiple of 8 bytes. Errc::einternal for anything that parse_entry
/// refuses, so that no write is lost because it cannot be read back.
void print_entry(const Write& write, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed = 0);
void print_entry(const Pieces& pieces, std::uint64_t sequence, std::uint64_t session,
                 std::vector<std::byte>& out, std::uint32_t failed = 0);

/// Parses an entry whose checksum is right, and reuses the memory of `into`. Errc::ebadlog if the
/// contents are impossible (no build of Forebay wrote them).
void parse_whole_entry(std::span<const std::byte> bytes, Entry& into);
/// Parses an entry. Returns false if its checksum is wrong.
bool parse_entry(std::span<const std::byte> bytes, std::uint64_t session, Entry& into);
std::optional<Entry> parse_entry(std::span<const std::byte> bytes, std::uint64_t session);

}  // namespace forebay::staging
