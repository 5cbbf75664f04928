// The schema of an HDF5 file in the classic model, by the conventions of netCDF-4:
//
//   dimension       a dataset that is a dimension scale (attribute CLASS = "DIMENSION_SCALE"). Its
//                   link is the name, _Netcdf4Dimid the order. Its attribute NAME may say that it
//                   is not a variable.
//   variable        any other dataset. _Netcdf4Coordinates (numbers of dimensions) or
//                   DIMENSION_LIST (references to scales) name its dimensions.
//   phony_dim_N     if there are neither: one dimension for each length, as netCDF-C makes them.
//
// Names in groups are paths: "group/name". What the classic formats cannot express (compound types,
// ...) is left out and reported.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "files/source.h"
#include "hdf5/files/view.h"

namespace forebay {

/// Where a variable lies, and how it is stored.
struct Hdf5Variable {
  std::string path;            ///< "/group/name"
  std::vector<Count> extents;  ///< of the dataset; may be shorter than an unlimited dimension
  std::string filters;         ///< for display: "shuffle,deflate:4,fletcher32"; "none"
  Count stored_bytes = 0;
  std::optional<Count> string;  ///< if elements are strings: their bytes; 0: varying length
};

struct Hdf5Contents {
  Schema schema;                ///< chunking has shapes, and filters that are codecs here
  std::vector<Count> lengths;   ///< present lengths of dimensions
  std::vector<bool> unlimited;  ///< dimensions; one of them is the schema's record dimension
  std::vector<Hdf5Variable> variables;
  std::vector<SourceGroup> groups;  ///< without the root
  std::vector<LeftOut> left_out;
  std::vector<StringList> string_lists;
  bool netcdf = false;         ///< the file follows the conventions of netCDF-4
  bool classic_model = false;  ///< and its classic model
};

/// Reads all but values. With `group` (a path, "/" for the root), reads that group's own
/// dimensions, variables and attributes, and dimensions of the groups above that it uses.
/// Errc::enogrp for a missing group. `strings` says whether variables and attributes of strings are
/// given or left out.
Hdf5Contents read_contents(hid_t file, const Hdf5View& view, const std::string& group,
                           Strings strings = Strings::left_out);

}  // namespace forebay
