// What a program says to the connector in its property lists (forebay_vol.h). Each value is a
// property of the list, which HDF5 copies with it. The hints buffer_limit and log_copy mean the
// same.
#pragma once

#include <hdf5.h>

#include <optional>

#include "base/types.h"

namespace forebay::vol {

/// The functions that set them, for messages.
inline constexpr const char* set_buffer = "H5Pset_fapl_forebay_buffer";
inline constexpr const char* set_copy = "H5Pset_dxpl_forebay_copy";

/// Returns the bytes that H5Pset_fapl_forebay_buffer set. Errc::einval: the list has another
/// property of that name.
std::optional<Count> buffer_of(hid_t fapl);

/// Returns whether writes with this list must copy: H5Pset_dxpl_forebay_copy. Errors are the same.
bool must_copy(hid_t dxpl);

}  // namespace forebay::vol
