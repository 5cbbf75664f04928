// Decodes MPI datatypes: which bytes they select, and what their elements are. So data moves
// between derived datatypes and plain arrays without the 31-bit limits of MPI_Pack, and a datatype
// can say where to access a file.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "base/types.h"

namespace forebay {

/// The basic type of a datatype's elements. `DatatypeMap::element_size` gives the width.
enum class Element { none, text, signed_integer, unsigned_integer, floating, raw };

/// A run of consecutive bytes, relative to the address that the datatype is applied to.
struct DatatypeRun {
  Offset offset;  ///< may be negative
  Count length;   ///< more than zero
};

/// The type map of one instance of a datatype: its runs in MPI's order. A run that follows the one
/// before it without a gap is joined to it.
struct DatatypeMap {
  Element element = Element::none;  ///< none for an empty type whose element is unknown
  int element_size = 0;             ///< bytes
  std::vector<DatatypeRun> runs;
  Count size = 0;     ///< bytes selected by one instance
  Offset extent = 0;  ///< from one instance to the next

  Count elements() const { return element_size == 0 ? 0 : size / element_size; }
  /// Returns whether instances are plain arrays that follow each other without gaps.
  bool contiguous() const {
    return runs.empty() || (runs.size() == 1 && runs[0].offset == 0 && runs[0].length == extent);
  }
};

/// Returns whether MPI predefines a datatype; false for MPI_DATATYPE_NULL.
bool is_predefined(MPI_Datatype type);

/// Local. Decodes a datatype. Throws Errc::eunsptetype for elements that are not numbers or text of
/// C or Fortran, Errc::emultitypes if they have several types, Errc::etype_mismatch for null. Costs
/// time and memory linear in the number of runs.
DatatypeMap describe(MPI_Datatype type);

/// pack() copies `instances` of a type at `from` to consecutive bytes; unpack() copies back.
void pack(const DatatypeMap& type, Count instances, const std::byte* from, std::byte* to);
void unpack(const DatatypeMap& type, Count instances, const std::byte* from, std::byte* to);

}  // namespace forebay
