// Sources of virtual datasets. HDF5 opens them without any connector. In place of a logged dataset
// it would find the stand-in, which has neither the shape nor the values.
#pragma once

#include <hdf5.h>

#include <set>
#include <string>
#include <utility>

#include "hdf5/connector/under.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {

/// Returns whether a dataset of HDF5's own connector is virtual. Allocates no memory of ours.
bool is_virtual(const UnderObject& dataset);

class VirtualSources {
 public:
  /// Takes a dataset of HDF5's own connector, virtual or not. `depth` counts virtual datasets above
  /// it.
  explicit VirtualSources(const UnderObject& dataset, int depth = 0);

  /// Local. Errc::enotsupport: a source is in a log. Checks each existing source only once.
  void check();

 private:
  /// Returns whether the source exists.
  bool check_source(const std::string& file, const std::string& name);
  void check_numbered(const std::string& file, const std::string& name);
  void check_opened(const UnderObject& source, const std::string& file, const std::string& name);

  UnderObject dataset_;
  int depth_;
  Hdf5Id dcpl_;
  bool virtual_ = false;
  std::string main_, prefix_;
  std::set<std::pair<std::string, std::string>> fine_;  // in no log
};

}  // namespace forebay::vol
