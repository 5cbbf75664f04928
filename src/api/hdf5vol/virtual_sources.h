// Sources of virtual datasets. HDF5 opens them past any connector; of a dataset in a log it would
// find what stands for it, which has neither the shape nor the values.
#pragma once

#include <hdf5.h>

#include <set>
#include <string>
#include <utility>

#include "api/hdf5vol/under.h"
#include "hdf5/id.h"

namespace forebay::vol {

/// Whether a dataset of HDF5's own connector is virtual. Takes no memory of ours.
bool is_virtual(const UnderObject& dataset);

class VirtualSources {
 public:
  /// Of a dataset of HDF5's own connector, virtual or not; `depth`: virtual datasets above it.
  explicit VirtualSources(const UnderObject& dataset, int depth = 0);

  /// Local. Errc::enotsupport where a source is in a log. Looks at each source once it is there.
  void check();

 private:
  /// Whether the source is there.
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
