// Generates the statements with which a program writes a group and reads it back (Lofstead et al.
// 2009, §III.A), as files to include. They follow from the declaration. The program's name of a
// variable is its `gwrite`, else its name.
//
// Scalars come first, in the order of declaration, since dimensions of arrays may name any of them.
// When reading, scalars in dimensions and offsets are not read: the program sets them to say which
// box it wants. A joined array, or a rank's own array, lies behind those of lower ranks. All ranks
// sum up the extents.
#pragma once

#include <string>

#include "method/groups.h"

namespace forebay::tools {

enum class Language { c, fortran };

struct GroupCode {
  std::string write, read;  ///< whole lines
};

/// Local. Errc::einval for control characters, and for a variable without gwrite whose name is not
/// valid in the language.
GroupCode group_code(const GroupDefinition& group, Language language);

}  // namespace forebay::tools
