// A file that a command reads, whatever its format: a schema in the terms of the classic formats,
// and values. What `ls`, `dump`, `diff` and `convert` have in common.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/classic_file.h"

namespace forebay {

class Pyramid;

/// A group below the root, as netCDF-4 has them. Names of what lies in it begin with its path.
struct SourceGroup {
  std::string path;  ///< "a/b"
  AttributeList attributes;
};

/// Something in a file that the classic model has no word for.
struct LeftOut {
  std::string name;  ///< "group/variable", "variable:attribute"
  std::string what;  ///< "a compound type"
};

/// What becomes of strings, which the classic model has no word for: they are left out, or given as
/// variables of type chr whose elements are wider, and as lists among the attributes.
enum class Strings { left_out, given };

/// An attribute that is a list of strings.
struct StringList {
  int owner = global_id;     ///< a variable; global_id: the root; group_owner(g): a group
  std::size_t position = 0;  ///< how many other attributes of the owner stand before it
  std::string name;
  std::vector<std::string> values;
};

/// The owner of a group's attributes, for its place in Source::groups().
constexpr int group_owner(std::size_t group) { return global_id - 1 - static_cast<int>(group); }

/// An open file. Reading is const; one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  virtual const std::string& path() const = 0;
  /// "CDF-5", "netCDF-4": for people.
  virtual std::string format() const = 0;
  /// Dimensions, variables and attributes; chunked variables have their `chunking`.
  virtual const Schema& schema() const = 0;
  /// As ClassicFile::read, in the variable's own type: native values, row-major. Throws
  /// forebay::Error for what cannot be read.
  virtual void read(VarId var, const Subarray& selection, void* out) const = 0;
  /// The reader behind it, where the file is a classic one; else null.
  virtual const ClassicFile* classic() const { return nullptr; }
  /// The levels behind it, where its groups are those of one file; else null.
  virtual const Pyramid* pyramid() const { return nullptr; }
  /// The version of the classic formats that the file has, if it has one.
  virtual std::optional<int> classic_version() const { return std::nullopt; }
  virtual bool is_hdf5() const { return false; }
  /// ClassicFile::zero_beyond_end(), where the file is a classic one.
  virtual Count zero_beyond_end() { return 0; }

  /// The present length of a dimension.
  virtual Count length(DimId dim) const;
  /// Whether it can grow. A netCDF-4 file may have several such dimensions, at any place of a
  /// variable; the schema has one of them at most as its record dimension.
  virtual bool unlimited(DimId dim) const;
  /// Groups below the root, each before those in it.
  virtual const std::vector<SourceGroup>& groups() const;
  /// What is in the file but not in the schema.
  virtual const std::vector<LeftOut>& left_out() const;
  /// What makes chunks smaller, for people: the codec, or all filters of an HDF5 dataset.
  virtual std::string codec(VarId var) const;
  /// Bytes of an element in memory: those of its type, but for strings (Strings::given): those of
  /// a string of fixed length, 0 for strings of varying length.
  virtual Count width(VarId var) const;
  /// The elements of a variable of width 0; what was never written is empty. read() refuses it.
  virtual std::vector<std::string> read_strings(VarId var, const Subarray& selection) const;
  /// Attributes that are lists of strings, with Strings::given, those of one owner in the order of
  /// the file.
  virtual const std::vector<StringList>& string_lists() const;
  /// Bytes that the values take in the file, where that is known.
  virtual std::optional<Count> stored_bytes(VarId var) const;

  /// Every chunk of a variable that is in the file, in any order. Errc::einval for a variable
  /// without chunks.
  virtual void each_stored_chunk(VarId var,
                                 const std::function<void(const ChunkPlace&)>& visit) const;

  /// The shape of a variable with unlimited dimensions at their present lengths.
  std::vector<Count> shape(VarId var) const;
};

/// Opens a classic file, with chunks or without. Throws what opening throws: a sentence that begins
/// with the path.
std::unique_ptr<Source> open_classic(const std::string& path);

/// Whether this build reads and writes netCDF-4 (HDF5) files.
bool has_hdf5();

/// Whether a file begins as HDF5 files do; false for what cannot be read.
bool is_hdf5_file(const std::string& path);

/// One sentence about left_out(), for a line on standard error; empty where there is nothing.
std::string left_out_text(const Source& source);

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

}  // namespace forebay
