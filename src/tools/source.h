// A file that a command reads, whatever its format: a schema in the terms of the classic formats,
// and values. What `ls`, `dump`, `diff` and `convert` have in common.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/reader.h"

namespace forebay::tools {

/// An open file. Reading is const; one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& path() const = 0;
  /// "CDF-5", "netCDF-4": for people.
  virtual std::string format() const = 0;
  /// Dimensions, variables and attributes; chunked variables have their `chunking`.
  virtual const Schema& schema() const = 0;
  /// As SerialReader::read, in the variable's own type: native values, row-major. Throws
  /// forebay::Error for what cannot be read.
  virtual void read(VarId var, const Subarray& selection, void* out) const = 0;
  /// The reader behind it, where the file is a classic one; else null.
  virtual const SerialReader* classic() const { return nullptr; }

  /// The shape of a variable with the record dimension at its present length.
  std::vector<Count> shape(VarId var) const;
};

/// Opens a classic file, with chunks or without, or a netCDF-4 file, if this build has HDF5. Throws
/// what opening throws: a sentence that begins with the path.
std::unique_ptr<Source> open_source(const std::string& path);

/// Whether this build reads and writes netCDF-4 (HDF5) files.
bool has_hdf5();

/// The id of a variable. Errc::enotvar with the names that there are, or the one that was meant.
VarId find_variable(const Schema& schema, const std::string& path, const std::string& name);

/// The selection of a whole variable.
Subarray whole(const std::vector<Count>& shape);

/// Cuts a variable into boxes of at most `most_bytes` (but at least one chunk), which follow each
/// other in row-major order. Boxes consist of whole chunks where the variable is chunked, so that
/// no chunk is decoded twice. `in_order`: boxes are runs of the variable's row-major order.
class Blocks {
 public:
  Blocks(const Variable& var, const std::vector<Count>& shape, Count most_bytes,
         bool in_order = false);

  Count size() const { return boxes_; }
  Subarray operator[](Count box) const;

 private:
  std::vector<Count> shape_, extent_, grid_;
  Count boxes_ = 1;
};

}  // namespace forebay::tools
