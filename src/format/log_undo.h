// The undo file of a log file: bytes as they were at the last flush, each written before it is
// overwritten. The newest record comes last; put back from the last to the first, they give the
// file of that flush (docs/formats.md, "The undo file").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::logged {

constexpr std::size_t undo_front_bytes = 48;
constexpr Count undo_most_bytes = 1 << 20;  ///< of one record, after its front
constexpr Count witness_bytes = 16;

/// What every record says of its file: where the witness lies, and what it says.
struct Witness {
  std::uint64_t opening = 0;  ///< random, of each opening for writing
  Offset place = 0;

  bool operator==(const Witness&) const = default;
};

/// The witness itself, which only the next opening overwrites: a file that has it is the one of
/// that opening.
std::vector<std::byte> print_witness(std::uint64_t opening);

struct UndoRecord {
  Witness witness;
  Offset place = 0;
  Count bytes = 0;
  std::uint64_t hash = 0;  ///< of the front and of the bytes
};

/// Writes the front of a record, whose bytes stand in it already, behind the front.
void print_undo_front(std::span<std::byte> record, const Witness& witness, Offset place);
/// The first bytes of every record.
std::vector<std::byte> print_undo_magic();
/// Nothing where no record begins.
std::optional<UndoRecord> parse_undo_front(std::span<const std::byte> front);
/// Whether these are the bytes of the record with this front. Errc::ebadlog for a newer version.
bool is_whole(const UndoRecord& record, std::span<const std::byte> front,
              std::span<const std::byte> bytes);

}  // namespace forebay::logged
