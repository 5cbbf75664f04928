// How the objects of an HDF5 file are seen: which there are, how large datasets are, what their
// elements are. An ordinary file is seen as HDF5 tells it; a file in which datasets stand for data
// that lies elsewhere (a log) is seen as what was written to it.
//
// Everything that reads HDF5 files here goes through a view: listing, printing, comparing and
// copying need not know how a file was written.
#pragma once

#include <memory>
#include <string>

#include "array/selection.h"
#include "files/hdf5/handle.h"

namespace forebay {

/// The view of an ordinary file, and what other views begin with. Stateless; one thread at a time.
class Hdf5View {
 public:
  virtual ~Hdf5View() = default;

  /// For people, where it is not ordinary: "layout log"; else empty.
  virtual std::string name() const { return {}; }
  /// Whether a link of the group at `path` ("/", "/a/b") is no part of what users stored.
  virtual bool hides_link(const std::string& path, const std::string& link) const;
  /// The same of an attribute of an open object.
  virtual bool hides_attribute(hid_t object, const std::string& attribute) const;
  /// The dataspace that users see, with its greatest extents.
  virtual Hdf5Id space(hid_t dataset) const;
  /// The type that users see; a committed one as HDF5 gives it.
  virtual Hdf5Id type(hid_t dataset) const;
  /// How a copy of the dataset is to be created: its layout, chunks, filters, fill value.
  virtual Hdf5Id creation(hid_t dataset) const;
  /// Bytes that its elements take in the file.
  virtual Count stored_bytes(hid_t dataset) const;
  /// Reads a hyperslab, row-major, as elements of `memory_type` into `out`, which has room for
  /// them. `part` lies within space(). Memory of varying length is owned by the caller.
  virtual void read(hid_t dataset, hid_t memory_type, const Subarray& part, void* out) const;
};

/// The view that fits an open file. New kinds of files are recognised here.
std::unique_ptr<Hdf5View> make_view(hid_t file);

}  // namespace forebay
