// A file of any format: a schema in the classic model, and values. Used by `ls`, `dump`, `diff` and
// `convert`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/blocks.h"
#include "files/classic_file.h"

namespace forebay {

/// A group below the root, as in netCDF-4. The names in it begin with its path.
struct SourceGroup {
  std::string path;  ///< "a/b"
  AttributeList attributes;
};

/// Something in a file that the classic model cannot express.
struct LeftOut {
  std::string name;  ///< "group/variable", "variable:attribute"
  std::string what;  ///< "a compound type"
};

/// How strings are treated, since the classic model has none. They are left out, or given as
/// variables of type chr with wider elements, and as lists among the attributes.
enum class Strings { left_out, given };

/// An attribute that is a list of strings.
struct StringList {
  int owner = global_id;     ///< a variable; global_id: the root; group_owner(g): a group
  std::size_t position = 0;  ///< number of the owner's other attributes before it
  std::string name;
  std::vector<std::string> values;
};

/// Returns the owner of a group's attributes, from its index in Source::groups().
constexpr int group_owner(std::size_t group) { return global_id - 1 - static_cast<int>(group); }

/// An open file. Reading is const; one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& path() const = 0;
  /// A name for display: "CDF-5", "netCDF-4".
  virtual std::string format() const = 0;
  /// Dimensions, variables and attributes. Chunked variables have their `chunking`.
  virtual const Schema& schema() const = 0;
  /// Like ClassicFile::read, in the variable's own type: native values, row-major. Throws
  /// forebay::Error for what cannot be read.
  virtual void read(VarId var, const Subarray& selection, void* out) const = 0;
  /// Returns the reader of a classic file; else null.
  virtual const ClassicFile* classic() const { return nullptr; }
  /// Returns the file's version of the classic formats, if it has one.
  virtual std::optional<int> classic_version() const { return std::nullopt; }
  virtual bool is_hdf5() const { return false; }
  /// Returns whether it is a netCDF-4 file of the classic model (NC_CLASSIC_MODEL).
  virtual bool has_classic_model() const { return false; }
  /// ClassicFile::zero_beyond_end() of a classic file.
  virtual Count zero_beyond_end() { return 0; }

  /// The present length of a dimension.
  virtual Count length(DimId dim) const;
  /// Returns whether a dimension can grow. A netCDF-4 file may have several such dimensions, at any
  /// place of a variable. At most one of them is the schema's record dimension.
  virtual bool unlimited(DimId dim) const;
  /// Returns the groups below the root, each before those in it.
  virtual const std::vector<SourceGroup>& groups() const;
  /// What is in the file but not in the schema.
  virtual const std::vector<LeftOut>& left_out() const;
  /// Returns the codec for display, or all filters of an HDF5 dataset.
  virtual std::string codec(VarId var) const;
  /// Returns the bytes of an element in memory. That is the type's size, but for strings
  /// (Strings::given) the size of a fixed-length string, or 0 for strings of varying length.
  virtual Count width(VarId var) const;
  /// Reads a variable of width 0, which read() refuses. What was never written is empty.
  virtual std::vector<std::string> read_strings(VarId var, const Subarray& selection) const;
  /// Returns attributes that are lists of strings, with Strings::given. Those of one owner are in
  /// the order of the file.
  virtual const std::vector<StringList>& string_lists() const;
  /// Returns the bytes of the values in the file, if known.
  virtual std::optional<Count> stored_bytes(VarId var) const;

  /// Visits every stored chunk of a variable, in any order. Errc::einval for a variable without
  /// chunks.
  virtual void each_stored_chunk(VarId var,
                                 const std::function<void(const ChunkPlace&)>& visit) const;

  /// Returns the shape of a variable, with the present lengths of unlimited dimensions.
  std::vector<Count> shape(VarId var) const;
};

/// Opens a classic file, with or without chunks. Throws what opening throws; each message begins
/// with the path.
std::unique_ptr<Source> open_classic(const std::string& path);

/// Returns whether a file begins like HDF5 files; false if it cannot be read.
bool is_hdf5_file(const std::string& path);

/// Returns one sentence about left_out() for standard error; empty if nothing was left out.
std::string left_out_text(const Source& source);

/// Returns the id of a variable. Errc::enotvar with the existing names, or the likely one.
VarId find_variable(const Schema& schema, const std::string& path, const std::string& name);

/// Returns the selection of a whole variable.
Subarray whole(const std::vector<Count>& shape);

}  // namespace forebay
