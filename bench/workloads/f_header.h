#pragma once

#include <cstdint>

#include "workloads/cdl.h"

namespace forebay::bench {

/// Header of an atmosphere history file of the shape of E3SM's F case, for runs without the
/// recorded one: dimensions time (unlimited), nbnd, chars, lev, ilev, ncol; 27 small variables
/// (coordinates, dates, gas concentrations), `area` (ncol), `lat` and `lon` (ncol), 321 fields
/// (time, ncol) and 63 fields (time, lev, ncol), with the attributes that such files carry.
cdl::Header make_f_header(std::int64_t columns, std::int64_t levels);

}  // namespace forebay::bench
