// The schema of an HDF5 file in the terms of the classic formats, by the conventions of netCDF-4:
//
//   dimension       a dataset that is a dimension scale (attribute CLASS = "DIMENSION_SCALE"); its
//                   link is the name, _Netcdf4Dimid the order. A scale whose NAME says so is no
//                   variable.
//   variable        any other dataset; _Netcdf4Coordinates (numbers of dimensions) or
//                   DIMENSION_LIST (references to scales) tell its dimensions.
//   phony_dim_N     where neither does: one dimension for each length, as netCDF-C makes them up.
//
// Names of what lies in groups are paths: "group/name". What the classic formats have no word for
// (strings, compound types, ...) is left out and told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "files/hdf5/view.h"
#include "files/source.h"

namespace forebay {

/// Where a variable lies and how.
struct Hdf5Variable {
  std::string path;            ///< "/group/name"
  std::vector<Count> extents;  ///< of the dataset: along an unlimited dimension maybe less than it
  std::string filters;         ///< for people: "shuffle,deflate:4,fletcher32"; "none"
  Count stored_bytes = 0;
  std::optional<Count> string;  ///< an element is a string: of so many bytes; 0: of varying length
};

struct Hdf5Contents {
  Schema schema;                ///< chunking: shapes, and filters that are codecs here
  std::vector<Count> lengths;   ///< of dimensions, at present
  std::vector<bool> unlimited;  ///< of dimensions; schema has one of them as record dimension
  std::vector<Hdf5Variable> variables;
  std::vector<SourceGroup> groups;  ///< without the root
  std::vector<LeftOut> left_out;
  std::vector<StringList> string_lists;
  bool netcdf = false;  ///< the file follows the conventions of netCDF-4
};

/// Reads all but values. With `group` (a path, "/" for the root): that group's own dimensions,
/// variables and attributes, and dimensions of the groups above it that are used there.
/// Errc::enogrp for a group that is not there. `strings`: whether variables and attributes of
/// strings are given or left out.
Hdf5Contents read_contents(hid_t file, const Hdf5View& view, const std::string& group,
                           Strings strings = Strings::left_out);

}  // namespace forebay
