// Where the header ends and each variable begins: the placement rules of the classic formats as
// PnetCDF applies them, so that equal calls give equal files. docs/formats.md states the rules.
// Pure functions of a schema; no MPI, no I/O. Cost: linear in the number of variables.
#pragma once

#include <functional>
#include <vector>

#include "array/schema.h"
#include "base/types.h"

namespace forebay {

/// Requests for free space and alignment, in bytes. 0 or less: no request.
///
/// The first three are the hints of create or open; settle() fills them in once, and they stay
/// fixed. The last four are the arguments of one _enddef.
struct Alignment {
  Count header_align = 0;   ///< nc_header_align_size: the data section begins at a multiple of it
  Count var_align = 0;      ///< nc_var_align_size: the same for each fixed variable
  Count record_align = 0;   ///< nc_record_align_size: the same for the record section
  Count striping_unit = 0;  ///< stripe size of the file, 0 if unknown

  Count h_minfree = 0;  ///< free bytes after the header
  Count v_align = 0;    ///< alignment of the data section; the hint header_align takes precedence
  Count v_minfree = 0;  ///< free bytes after the fixed variables
  Count r_align = 0;    ///< alignment of the record section; the hint record_align takes precedence
  bool moves_header = false;  ///< v_align exceeds that of an earlier _enddef: all moves
};

/// Returns the alignments in force: the three hints filled in from arguments and defaults, and
/// rounded up to multiples of 4. They are chosen at the first _enddef after create or open and hold
/// until the file is closed. So keep the result for the next _enddef, and set its own four
/// arguments in it. A second call changes nothing.
Alignment settle(Alignment alignment, const Schema& schema);

/// Sets header_size, header_extent, begin_rec and recsize of `schema`, and begin of every variable.
/// `old` is the placement before redef, or null for a new file. Nothing ever moves towards the
/// front of the file, and variables keep their order. `header_size` is the printed size.
/// `alignment` is settled here if it was not. Errc::evarsize if the format cannot hold a size
/// (check_variable_sizes), an offset or the end of the records; `schema` is then unchanged.
void place_variables(Schema& schema, const Schema* old, const Alignment& alignment,
                     Offset header_size);

/// Places the variables of a file in which other data (chunks, and no record section) follows the
/// fixed variables up to byte `end`. `old` is the current placement: its variables keep their
/// places, and new ones are placed after `end`. If the header has outgrown its space, everything
/// after it moves. Returns by how much (a multiple of 4096, mostly 0); the begins include it. The
/// header then gets `room` bytes for later growth. Errors as for place_variables.
Count place_behind(Schema& schema, const Schema& old, const Alignment& alignment,
                   Offset header_size, Offset end, Count room);

/// A block of bytes that redefinition moves towards the end of the file.
struct Move {
  Offset from, to;
  Count bytes;

  bool operator==(const Move&) const = default;
};

/// Calls `move` for each block that must move from `old`'s placement to `now`'s, with old.numrecs
/// records. The order is from the end of the file to its front, so that no move overwrites the
/// source of a later one. A block may overlap its own destination. Neighbours that move equally far
/// are one block. If the size of a record changes, each record moves on its own. Memory does not
/// grow with the number of records.
void for_each_move(const Schema& old, const Schema& now,
                   const std::function<void(const Move&)>& move);

}  // namespace forebay
