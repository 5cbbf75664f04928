// Between a program's memory and a logged dataset's elements: packing, unpacking, and conversion by
// HDF5's own converters.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <span>
#include <vector>

#include "base/types.h"

namespace forebay::vol {

/// Whether a transfer list has arithmetic for values (H5Pset_data_transform).
bool has_transform(hid_t dxpl);

/// Where the elements of a transfer are in memory, and as what.
struct MemoryElements {
  hid_t type;       ///< in memory
  hid_t file_type;  ///< of the dataset
  hid_t space;      ///< selects them; H5S_BLOCK: one after another
  Count elements;
  hid_t dxpl;
  bool transformed = has_transform(dxpl);
};

/// Copies selected elements, of `size` bytes each, out of the buffer, one after another.
void gather(const void* buffer, hid_t space, std::size_t size, std::span<std::byte> out);
/// The opposite.
void scatter(std::span<const std::byte> packed, hid_t space, std::size_t size, void* buffer);

/// The elements, packed and in the file's type, if they lie so in memory; empty otherwise.
std::span<const std::byte> as_they_are(const MemoryElements& memory, const void* buffer);

/// Packs and converts into `out` (elements × the file type's size). `present`: the values that the
/// file has now, packed, for conversions that change only some fields of a compound type; empty
/// where needs_present() is false. Errc::ehdferr where HDF5 cannot convert.
void pack(const MemoryElements& memory, const void* buffer, std::span<const std::byte> present,
          std::span<std::byte> out);
/// The same, and the opposite, for transfers with arithmetic, which only HDF5 itself can do: by way
/// of a dataset in memory.
void pack_transformed(const MemoryElements& memory, const void* buffer,
                      std::span<const std::byte> present, std::span<std::byte> out);
void unpack_transformed(const MemoryElements& memory, std::span<const std::byte> packed,
                        void* buffer);
/// Whether writing needs the present values: only some fields are written.
bool needs_present(hid_t from, hid_t to);

/// Converts packed elements of the file and puts them where the memory selects. Overwrites
/// `packed`.
void unpack(const MemoryElements& memory, std::vector<std::byte>& packed, void* buffer);

}  // namespace forebay::vol
