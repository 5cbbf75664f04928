// The undo file of a log file: bytes as they were at the last flush, each saved before it is
// overwritten. The newest record comes last. Written back from the last to the first, the records
// restore the file of that flush (docs/formats.md, "The undo file").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::logged {

constexpr std::size_t undo_front_bytes = 48;
constexpr Count undo_most_bytes = 1 << 20;  ///< most bytes of one record, without its front
constexpr Count witness_bytes = 16;

/// Identifies the file in each record: the place of the witness in the file, and its value.
struct Witness {
  std::uint64_t opening = 0;  ///< random, new for each opening for writing
  Offset place = 0;

  bool operator==(const Witness&) const = default;
};

/// Returns the bytes of the witness in the file. Only the next opening overwrites it, so a file
/// that has it belongs to that opening.
std::vector<std::byte> print_witness(std::uint64_t opening);

struct UndoRecord {
  Witness witness;
  Offset place = 0;
  Count bytes = 0;
  std::uint64_t hash = 0;  ///< over the front and the bytes
};

/// Writes the front of a record. The record's bytes behind the front must be there already.
void print_undo_front(std::span<std::byte> record, const Witness& witness, Offset place);
/// Returns the first bytes of each record.
std::vector<std::byte> print_undo_magic();
/// Returns nothing if no record begins here.
std::optional<UndoRecord> parse_undo_front(std::span<const std::byte> front);
/// Returns whether these are the bytes of the record with this front. Errc::ebadlog for a newer
/// version.
bool is_whole(const UndoRecord& record, std::span<const std::byte> front,
              std::span<const std::byte> bytes);

}  // namespace forebay::logged
