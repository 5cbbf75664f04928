// Transfers between a program's memory and a logged dataset's elements: packing, unpacking, and
// conversion with HDF5's own converters.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::vol {

/// Returns whether a transfer list has arithmetic for values (H5Pset_data_transform).
bool has_transform(hid_t dxpl);

/// The place and types of a transfer's elements.
struct MemoryElements {
  hid_t type;       ///< in memory
  hid_t file_type;  ///< of the dataset
  hid_t space;      ///< selects them; H5S_BLOCK: contiguous
  Count elements;
  hid_t dxpl;
  bool transformed = has_transform(dxpl);
};

/// Copies selected elements of `size` bytes each from the buffer, one after another.
void gather(const void* buffer, hid_t space, std::size_t size, std::span<std::byte> out);
/// Copies them back.
void scatter(std::span<const std::byte> packed, hid_t space, std::size_t size, void* buffer);

/// Returns the elements if memory has them packed and in the file's type; empty otherwise.
std::span<const std::byte> as_they_are(const MemoryElements& memory, const void* buffer);

/// Packs and converts into `out` (elements × the file type's size). `present` has the file's
/// present values, packed, for conversions that change only some fields of a compound type. It is
/// empty if needs_present() is false. Errc::ehdferr: HDF5 cannot convert.
void pack(const MemoryElements& memory, const void* buffer, std::span<const std::byte> present,
          std::span<std::byte> out);
/// Do the same, and the opposite, for transfers with arithmetic. Only HDF5 can do it, so they use a
/// dataset in memory.
void pack_transformed(const MemoryElements& memory, const void* buffer,
                      std::span<const std::byte> present, std::span<std::byte> out);
void unpack_transformed(const MemoryElements& memory, std::span<const std::byte> packed,
                        void* buffer);
/// Returns whether writing needs the present values because only some fields are written.
bool needs_present(hid_t from, hid_t to);

/// Converts packed elements of the file and stores them where memory selects. Overwrites `packed`.
void unpack(const MemoryElements& memory, std::vector<std::byte>& packed, void* buffer);

}  // namespace forebay::vol
