#include "hdf5/files/view.h"

#include "hdf5/files/log_view.h"

namespace forebay {

bool Hdf5View::hides_link(const std::string&, const std::string&) const { return false; }

bool Hdf5View::hides_attribute(hid_t, const std::string&) const { return false; }

Hdf5Id Hdf5View::space(hid_t dataset) const {
  return owned(H5Dget_space(dataset), "the dataspace of a dataset");
}

Hdf5Id Hdf5View::type(hid_t dataset) const {
  return owned(H5Dget_type(dataset), "the type of a dataset");
}

Hdf5Id Hdf5View::creation(hid_t dataset) const {
  return owned(H5Dget_create_plist(dataset), "the properties of a dataset");
}

Count Hdf5View::stored_bytes(hid_t dataset) const {
  return static_cast<Count>(H5Dget_storage_size(dataset));
}

void Hdf5View::read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const {
  if (part.elements() == 0) return;
  const Hdf5Id file_space = owned(H5Dget_space(dataset), "the dataspace of a dataset");
  select(file_space, part);
  const Hdf5Id memory_space = simple_space(part.count);
  checked(H5Dread(dataset, memory_type, memory_space, file_space, H5P_DEFAULT, out),
          "cannot be read");
}

std::unique_ptr<Hdf5View> make_view(hid_t file) {
  if (has_hdf5_log(file)) return std::make_unique<Hdf5LogView>(file);
  return std::make_unique<Hdf5View>();
}

}  // namespace forebay
