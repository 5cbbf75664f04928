// What differs between the definitions of two ranks, as PnetCDF's family of "multidefine" codes
// names it.
#pragma once

#include "base/errc.h"
#include "data/schema.h"

namespace forebay {

/// Errc::ok when the two define the same; otherwise the code of the first difference, dimensions
/// before global attributes before variables. Placement and fill modes are not compared.
Errc first_difference(const Schema& root, const Schema& other);

}  // namespace forebay
