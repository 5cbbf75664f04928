// How many records a file can have, and how far apart they lie in file types.
#pragma once

#include <algorithm>

#include "array/selection.h"
#include "dataset/dataset.h"

namespace forebay {

/// Returns the distance between records in file types (vard): ncmpi_inq_recsize, in every layout.
inline Count file_type_stride(const Dataset& file, const Variable& var) {
  return file.in_define_mode() ? std::max<Count>(var.vsize, 1) : file.record_stride();
}

/// Returns the largest number of records that a write may reach. One bound holds for all variables
/// and layouts, and for recovery, because all record variables have equally many records.
inline Count most_records(const Dataset& file, const Variable& var) {
  return max_records(file.schema().version,
                     std::max(file_type_stride(file, var), var.inner_bytes()));
}

}  // namespace forebay
