// The statements of a program that write a group, and read it back (A §III.A), for it to include.
// They follow from the declaration: what the program calls a variable is its `gwrite`, else its
// name.
//
// Scalars come first, in the order in which they are declared, as dimensions of arrays may name
// any. Reading, the program says with those that dimensions and offsets name which box it wants:
// they are not read. A joined array, or a rank's own, lies behind those of the ranks below: their
// extents are summed up by all ranks.
#pragma once

#include <string>

#include "method/groups.h"

namespace forebay::tools {

enum class Language { c, fortran };

struct GroupCode {
  std::string write, read;  ///< whole lines
};

/// Local. Errc::einval: a variable whose name is none in the language, and which has no gwrite;
/// control characters.
GroupCode group_code(const GroupDefinition& group, Language language);

}  // namespace forebay::tools
