// Which data files a reader of a region needs (Fan et al. 2021, §III-B). The directory of the index
// has a box for each data file (format/file_boxes.h). So neither the index's pages nor the data
// files are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/report.h"
#include "store/slots.h"

namespace forebay::chunked {

/// A data file whose box meets a region.
struct RegionFile {
  std::uint32_t number = 0;  ///< as in its name
  Subarray box;  ///< its box in elements of the variable; records may exceed those there are
};

/// Local. Returns the data files that may have a part of a region of a chunked variable, by number.
/// No other data file has one. `path` is the classic file whose header is `stored`, which names
/// files beside it. Errors are those of opening the index, and of a selection outside the
/// variable. Counts what it reads in `report`.
std::vector<RegionFile> region_files(const std::string& path, const Schema& stored, VarId var,
                                     const Subarray& region, store::OpenState state,
                                     Report& report);

}  // namespace forebay::chunked
