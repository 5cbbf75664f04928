// The variables and attributes of a group as a netCDF file has them (docs/groups.md, "As netCDF").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "groups/format/bp.h"
#include "groups/records/group_terms.h"
#include "method/groups.h"

namespace forebay {

struct RecordTarget {
  bp::Type type = bp::Type::int8;
  std::string name;            ///< the name in netCDF
  std::size_t dimensions = 0;  ///< of the group, without those of steps, texts, complex parts
  std::optional<std::size_t> follow;  ///< the dimension, in C's order, along which blocks follow
  bool once = false;                  ///< not a record variable
  std::vector<Attribute> attributes;
  VarId var = -1, counts = -1;  ///< in the file; -1: not yet

  bool is_text() const { return type == bp::Type::string; }
  bool is_complex() const { return bp::is_complex(type); }
  Type element() const { return is_text() ? Type::chr : group_terms::element_of(type); }
  /// Returns the name of the variable with each rank's number of elements along `follow`.
  std::string counts_name() const { return group_terms::counts_of(name); }
};

struct RecordTargets {
  std::vector<RecordTarget> variables;  ///< in the group's order
  std::vector<Attribute> attributes;    ///< of the file

  /// Returns the least version of the format that has all their types.
  int version() const;
};

/// Local. `steps_have_files`: no variable has records. Errc::ebadname, emaxname, enameinuse: a
/// netCDF file cannot have a name. Errc::enotsupport: it cannot have an attribute.
RecordTargets record_targets(const GroupDefinition& group, bool steps_have_files);

}  // namespace forebay
