// How the objects of an HDF5 file are shown: which there are, how large datasets are, and what
// their elements are. An ordinary file is shown as HDF5 has it. A file in which datasets stand for
// data elsewhere (a log) is shown as it was written.
//
// All code that reads HDF5 files here uses a view. So listing, printing, comparing and copying need
// not know how a file was written.
#pragma once

#include <memory>
#include <string>

#include "array/selection.h"
#include "hdf5/files/handle.h"

namespace forebay {

/// The view of an ordinary file, and the base of other views. Stateless; one thread at a time.
class Hdf5View {
 public:
  virtual ~Hdf5View() = default;

  /// A name for display if the view is not ordinary: "layout log"; else empty.
  virtual std::string name() const { return {}; }
  /// Returns whether users do not see a link of the group at `path` ("/", "/a/b").
  virtual bool hides_link(const std::string& path, const std::string& link) const;
  /// The same for an attribute of an open object.
  virtual bool hides_attribute(hid_t object, const std::string& attribute) const;
  /// Returns the dataspace that users see, with its maximum extents.
  virtual Hdf5Id space(hid_t dataset) const;
  /// Returns the type that users see; a committed one as HDF5 has it.
  virtual Hdf5Id type(hid_t dataset) const;
  /// Returns the properties for a copy of the dataset: layout, chunks, filters, fill value.
  virtual Hdf5Id creation(hid_t dataset) const;
  /// Returns the bytes of its elements in the file.
  virtual Count stored_bytes(hid_t dataset) const;
  /// Reads a hyperslab, row-major, as elements of `memory_type` into `out`, which has room for
  /// them. `part` must lie within space(). The caller owns memory of varying length.
  virtual void read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const;
};

/// Returns the view that fits an open file. New kinds of files are recognized here.
std::unique_ptr<Hdf5View> make_view(hid_t file);

}  // namespace forebay
