// Transfers with arithmetic (H5Pset_data_transform). HDF5 computes in the type of memory, and only
// in H5Dwrite and H5Dread. So they are applied to a dataset in memory.
#include <string>

#include "hdf5/connector/errors.h"
#include "hdf5/connector/logged_memory.h"
#include "hdf5/shared/filters.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
namespace {

/// A dataset of the file's type, as long as the transfer.
struct Scratch {
  explicit Scratch(const MemoryElements& memory) : file(file_in_memory()) {
    type = uncommitted(memory.file_type);
    const Hdf5Id space = simple_space({memory.elements});
    dataset = owned(H5Dcreate2(file, "values", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                    "making a dataset in memory");
  }
  Hdf5Id file, type, dataset;
};

/// Returns a list with the arithmetic alone, because other settings may not fit a file in memory.
Hdf5Id transform_of(hid_t dxpl) {
  const std::string text =
      hdf5_text([&](char* to, std::size_t size) { return H5Pget_data_transform(dxpl, to, size); },
                "asking for a data transform");
  Hdf5Id list = owned_list(H5Pcreate(H5P_DATASET_XFER));
  checked(H5Pset_data_transform(list, text.c_str()), "setting a data transform");
  return list;
}

}  // namespace

bool has_transform(hid_t dxpl) {
  if (dxpl == H5P_DATASET_XFER_DEFAULT) return false;
  const QuietErrors quiet;  // a missing transform is no error
  return H5Pget_data_transform(dxpl, nullptr, 0) > 0;
}

void pack_transformed(const MemoryElements& memory, const void* buffer,
                      std::span<const std::byte> present, std::span<std::byte> out) {
  const Scratch scratch(memory);
  if (!present.empty())
    checked(H5Dwrite(scratch.dataset, scratch.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, present.data()),
            "transforming values");
  const Hdf5Id transform = transform_of(memory.dxpl);
  checked(H5Dwrite(scratch.dataset, memory.type, memory.space, H5S_ALL, transform, buffer),
          "transforming values");
  checked(H5Dread(scratch.dataset, scratch.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()),
          "transforming values");
}

void unpack_transformed(const MemoryElements& memory, std::span<const std::byte> packed,
                        void* buffer) {
  const Scratch scratch(memory);
  checked(H5Dwrite(scratch.dataset, scratch.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, packed.data()),
          "transforming values");
  const Hdf5Id transform = transform_of(memory.dxpl);
  checked(H5Dread(scratch.dataset, memory.type, memory.space, H5S_ALL, transform, buffer),
          "transforming values");
}

}  // namespace forebay::vol
