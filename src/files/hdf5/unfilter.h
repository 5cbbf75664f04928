// Filters of an HDF5 dataset undone for a piece of data that was stored elsewhere.
#pragma once

#include <cstdint>
#include <span>

#include "files/hdf5/handle.h"

namespace forebay {

/// `stored` went through the filters of `creation` as one chunk of one dimension, without those
/// that `mask` names; `values` gets its elements, of `type`, as many as there is room for. HDF5 has
/// no call for it: a dataset of one chunk in a file that exists only in memory does it.
/// Errc::efilter.
void undo_hdf5_filters(hid_t creation, hid_t type, std::span<const std::byte> stored,
                       std::uint32_t mask, std::span<std::byte> values);

}  // namespace forebay
