// The schema of a dataset: dimensions, variables and attributes in definition order, found by name
// in constant time. It knows names and shapes. `begin`, which plan/classic_placement sets, tells
// where a variable lies in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "array/type.h"
#include "base/types.h"

namespace forebay {

struct Dimension {
  std::string name;
  Count length = 0;  ///< 0 marks the record (unlimited) dimension

  bool is_record() const { return length == 0; }
};

struct Attribute {
  std::string name;
  Type type = Type::none;
  Count count = 0;               ///< number of elements
  std::vector<std::byte> value;  ///< count elements in external (big-endian) form, without padding
};

/// Maps names to positions. Its owner keeps it up to date.
class NameIndex {
 public:
  std::optional<int> find(std::string_view name) const;
  void add(std::string_view name, int id);
  void rename(std::string_view from, std::string_view to);
  void clear() { map_.clear(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::unordered_map<std::string, int, Hash, std::equal_to<>> map_;
};

Attribute text_attribute(std::string name, std::string_view text);
/// Returns the text of a chr attribute without NULs at its end: C programs count a closing one.
std::string_view text_of(const Attribute& attribute);

/// The attributes of one owner, in creation order. A few are searched one by one; files of climate
/// models have hundreds.
class AttributeList {
 public:
  int size() const { return static_cast<int>(list_.size()); }
  const Attribute& operator[](int i) const { return list_[static_cast<std::size_t>(i)]; }
  std::optional<int> find(std::string_view name) const;
  /// Replaces the attribute of that name in place, or appends it.
  void put(Attribute attribute);
  /// Appends an attribute whose name the caller knows to be new; takes constant time.
  void append(Attribute attribute);
  void rename(int i, std::string name);
  void remove(int i);
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  void note(std::size_t i);
  void note_all();

  std::vector<Attribute> list_;
  /// Used for many attributes: a table of places in the list, from 1. Each is where its name's hash
  /// says or behind that; 0: free. At most half full.
  std::vector<std::uint32_t> places_;
};

/// How a variable is cut into chunks and encoded (layout chunked; Hou 2023, §5.2).
struct Chunking {
  /// Elements of a chunk per dimension; empty until the first flush chooses them. Along the record
  /// dimension they are records.
  std::vector<Count> shape;
  std::string codec = "none";  ///< the pipeline (codec/pipeline.h)
  std::string reason;          ///< why this shape, for people

  bool operator==(const Chunking&) const = default;
};

struct LayoutEntry;

struct Variable {
  std::string name;
  Type type = Type::none;
  std::vector<DimId> dimids;  ///< slowest first
  AttributeList attributes;
  bool no_fill = true;  ///< PnetCDF's default; a fill value itself is the attribute _FillValue
  std::optional<Chunking> chunking;  ///< nothing: not stored in chunks
  /// The layout that keeps it, which sets this; null: it is canonical, or in chunks (layout_of,
  /// layout/classic_part.h).
  const LayoutEntry* layout = nullptr;
  /// The pipeline for parts of its slabs (codec/pipeline.h), if it has slabs; nothing: not chosen.
  std::optional<std::string> slab_codec;
  int decomposition = -1;  ///< index of the map that defines it, in the schema; -1: none

  // Schema::derive() derives these; the user never sets them.
  std::vector<Count> shape;  ///< lengths; the record dimension's entry is 0
  bool is_record = false;
  Count inner_elements = 1;  ///< elements of one record, or of the whole fixed variable
  Count vsize = 0;  ///< bytes of that, rounded up to 4 (the header's vsize before clamping)

  // Placement (plan/classic_placement).
  Offset begin = 0;  ///< first byte of the variable, or of its slot in record 0

  int ndims() const { return static_cast<int>(dimids.size()); }
  /// Returns the bytes of one record, or of the whole fixed variable, without padding.
  Count inner_bytes() const { return inner_elements * size_of(type); }
};

class Decomposition;

class Schema {
 public:
  int version = 1;    ///< 1, 2, 5: CDF-1, CDF-2, CDF-5; 3, 4: netCDF-4, with its classic model
  Count numrecs = 0;  ///< records in the file
  std::vector<Dimension> dims;
  std::vector<Variable> vars;
  AttributeList attributes;
  /// Maps that variables may be defined by. Each rank has its own pieces of a map; null: nothing is
  /// known of it.
  std::vector<std::shared_ptr<const Decomposition>> decompositions;

  Offset header_size = 0;  ///< bytes of the header itself
  Offset header_extent =
      0;  ///< first byte after the space reserved for the header (PnetCDF's begin_var)
  Offset begin_rec = 0;  ///< first byte of the record section
  Count recsize = 0;     ///< bytes from one record to the next (0: no record variable)

  std::optional<int> find_dim(std::string_view name) const { return dim_index_.find(name); }
  std::optional<int> find_var(std::string_view name) const { return var_index_.find(name); }
  std::optional<int> record_dim() const;
  const Dimension& dim(int id) const;  ///< throws Errc::ebaddim for an unknown number
  int add_dim(Dimension dim);
  int add_var(Variable var);  ///< derives the variable too; the caller has checked dimids
  void rename_dim(int id, std::string name);
  void rename_var(int id, std::string name);

  AttributeList& attributes_of(VarId id) {
    return id == global_id ? attributes : vars[std::size_t(id)].attributes;
  }
  const AttributeList& attributes_of(VarId id) const {
    return id == global_id ? attributes : vars[std::size_t(id)].attributes;
  }

  /// Sets shape, is_record, inner_elements and vsize of a variable from the dimensions.
  /// Throws Errc::evarsize when the size leaves 63 bits.
  void derive(Variable& var) const;

  /// Returns the elements of a variable, which has `numrecs` records.
  Count elements(const Variable& var) const {
    return var.is_record ? numrecs * var.inner_elements : var.inner_elements;
  }

  /// Returns whether any variable is stored in chunks. Such a file has no record section: all its
  /// record variables are chunked (Hou 2023, §5.2.4).
  bool any_chunked() const;

 private:
  NameIndex dim_index_, var_index_;
};

/// Returns the variable's _FillValue if it is one value of the given type, else null.
const Attribute* own_fill_value(const Variable& var, Type type);

/// Returns the external bytes that stand where nothing was written: _FillValue or the default.
std::vector<std::byte> external_fill(const Variable& var);

}  // namespace forebay
