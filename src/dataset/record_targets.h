// The variables and attributes of a group as a netCDF file has them (docs/groups.md, "As netCDF").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "dataset/group_terms.h"
#include "format/bp.h"
#include "method/groups.h"

namespace forebay {

struct RecordTarget {
  bp::Type type = bp::Type::int8;
  std::string name;            ///< netCDF's
  std::size_t dimensions = 0;  ///< of the group, without those of steps, texts, complex numbers
  std::optional<std::size_t> follow;  ///< the dimension, in C's order, along which blocks follow
  bool once = false;                  ///< no record variable
  std::vector<Attribute> attributes;
  VarId var = -1, counts = -1;  ///< in the file; -1: not yet

  bool is_text() const { return type == bp::Type::string; }
  bool is_complex() const { return bp::is_complex(type); }
  Type element() const { return is_text() ? Type::chr : group_terms::element_of(type); }
  /// What is called so has the number of elements that each rank has along `follow`.
  std::string counts_name() const { return group_terms::counts_of(name); }
};

struct RecordTargets {
  std::vector<RecordTarget> variables;  ///< as the group has them
  std::vector<Attribute> attributes;    ///< of the file

  /// The least version of the format that has all their types.
  int version() const;
};

/// Local. `steps_have_files`: no variable has records. Errc::ebadname, emaxname, enameinuse: names
/// that a netCDF file cannot have; enotsupport: attributes.
RecordTargets record_targets(const GroupDefinition& group, bool steps_have_files);

}  // namespace forebay
