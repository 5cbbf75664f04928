// Dataspaces and creation properties of HDF5, in the engine's types.
#pragma once

#include <hdf5.h>

#include <vector>

#include "array/selection.h"
#include "base/types.h"
#include "hdf5/shared/id.h"

namespace forebay {

/// Extents of a dataspace; empty for a scalar and for a null dataspace (which sets `null`).
struct Extents {
  std::vector<Count> now, most;  ///< most: -1 means unlimited
  bool null = false;
};
/// Errc::evarsize: an extent has more than 63 bits.
Extents extents_of(hid_t space);

/// Makes a dataspace of these extents; a scalar one if there are none. It can grow to `most`, whose
/// -1 means unlimited; empty: it cannot grow.
Hdf5Id simple_space(const std::vector<Count>& extents, const std::vector<Count>& most = {});

/// Selects a hyperslab.
void select(hid_t space, const Subarray& part);

/// Returns the chunk shape of creation properties; empty if there are no chunks.
std::vector<Count> chunk_shape_of(hid_t creation, std::size_t rank);

H5D_alloc_time_t alloc_time_of(hid_t creation);

/// What creation properties say about elements that nobody writes.
struct FillRule {
  H5D_fill_value_t value = H5D_FILL_VALUE_DEFAULT;
  H5D_fill_time_t time = H5D_FILL_TIME_IFSET;
};
FillRule fill_rule_of(hid_t creation);

/// Returns whether elements of a type own memory outside of themselves.
bool has_varying_parts(hid_t type);
/// Returns whether they contain references to objects or regions.
inline bool has_references(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

}  // namespace forebay
