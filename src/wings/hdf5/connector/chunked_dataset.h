// A dataset of an ordinary HDF5 file that the ranks write, in place of HDF5 (chunked_hooks.h): one
// with filters, whose chunks they encode, or one without, whose elements they write to where HDF5
// has placed them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "hdf5/connector/chunked_places.h"
#include "hdf5/connector/under.h"
#include "hdf5/shared/id.h"
#include "hdf5/shared/properties.h"
#include "layout/chunked/filtered_chunks.h"
#include "method/method.h"

namespace forebay::vol {

/// The state that all handles of a dataset share.
struct ChunkedDataset {
  std::vector<std::byte> token;  ///< no other object of the file has it
  std::string name;              ///< for people
  Hdf5Id type;
  std::size_t element_size = 0;
  std::size_t ndims = 0;
  bool grows = false;  ///< along the first dimension, without a limit
  // What follows is equal on all ranks.
  bool stale = true;  ///< the file's chunks are to be asked for

  // With filters.
  chunked::StoredForm form;
  std::string codec;           ///< that encodes as its filters do; empty: it has none
  VarId var = -1;              ///< set when the first writes leave for the file (chunked_file.h)
  std::vector<Count> extents;  ///< by which chunks are numbered

  // Without filters.
  bool is_placed() const { return codec.empty(); }
  bool is_chunked = false;
  bool has_fields = false;  ///< a write may leave parts of elements as they are
  PlacedVariable placed;
  bool has_places = false;  ///< all chunks are in the file
};

/// Local, equal on all ranks. Returns nothing if HDF5 itself has to write the dataset: it has
/// filters that only HDF5 knows, filtered elements that are no numbers of 1, 2, 4 or 8 bytes,
/// elements whose values lie elsewhere, or another kind of storage.
std::shared_ptr<ChunkedDataset> chunked_dataset(const UnderObject& dataset);

/// Local, equal on all ranks. Returns whether all elements of a dataset of these extents have a
/// place in the file, so that ranks can write any. Asks HDF5 unless it is known.
bool find_places(ChunkedDataset& its, const UnderObject& dataset,
                 const std::vector<Count>& extents);

/// Local. Asks HDF5 for the places that are not known, before something is written there.
void complete_places(ChunkedDataset& its, const UnderObject& dataset);

/// Returns the present extents of a dataset.
Extents present_extents(const UnderObject& dataset);

/// Returns the type of a variable that stands for elements of that size.
Type type_as_wide(std::size_t element_size);

/// Returns the filters of a codec, in chunks of this shape. Errc::enotsupport: HDF5 has none for
/// one of its stages.
std::vector<chunked::Filter> hdf5_filters_of(const std::string& codec, Type type,
                                             const std::vector<Count>& chunk);

/// Returns creation properties with chunks and the filters of a codec; nothing if the dataset stays
/// as the program wants it: it has filters, its elements are no numbers, or it is small.
std::optional<Hdf5Id> encoding_properties(hid_t dcpl, hid_t type, hid_t space,
                                          const std::string& codec, const Method& method);

}  // namespace forebay::vol
