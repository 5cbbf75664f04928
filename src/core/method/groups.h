// Groups: variables that a program writes together, declared once (Lofstead et al. 2009, §III.A),
// in the file of FOREBAY_CONFIG or by calls.
//
//   group     ::= <group name="NAME" [language="C"|"Fortran"]> (var | global | attribute)* </group>
//   global    ::= <global dimensions="LIST" offsets="LIST"> var* </global>
//   var       ::= <var name="NAME" type="TYPE" [dimensions="LIST"] [joined="D"]
//                      [steps="every"|"once"] [gwrite="EXPRESSION OF THE PROGRAM"]
//                      [characteristics="minmax,mean,histogram:LEAST,GREATEST,BINS"]/>
//   attribute ::= <attribute name="NAME" value="VALUE" [type="TYPE"]/>
//   method    ::= <method group="NAME" [method="NAME OF ADIOS"] KEY="VALUE".../>
//
// LIST: expressions (array/expression.h) of scalars of the group, separated by commas. A variable
// without dimensions is a scalar. A variable within <global> is this rank's box of an array that
// all ranks share. Any other array belongs to this rank alone, or is joined with those of other
// ranks along dimension D. A group may have several methods: each writes a file.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "array/expression.h"
#include "array/group_type.h"
#include "base/types.h"

namespace forebay {

/// A variable as a user writes it; empty members were not given.
struct GroupVariableText {
  std::string name, type, dimensions, global, offsets, joined, steps, gwrite, characteristics;
};

/// `bins` equal parts of the range [least, greatest], both ends included.
struct Histogram {
  double least = 0, greatest = 0;
  int bins = 0;
  static constexpr int most_bins = 1 << 20;
};

struct GroupVariable {
  std::string name;
  GroupType type = GroupType::int32;
  std::vector<Expression> dimensions;  ///< of this rank's block; none: a scalar
  std::vector<Expression> global,
      offsets;                         ///< of the array that it is part of; none: a local array
  std::optional<int> joined;           ///< the dimension along which ranks' blocks are joined
  bool once = false;                   ///< in the first step only
  bool moments = false;                ///< the index has sums of its values and their squares
  std::optional<Histogram> histogram;  ///< the next variable holds how often values occur
  bool is_histogram = false;           ///< it holds a histogram, and the library writes it
  std::string gwrite;                  ///< the program's expression, for generated code
};

struct GroupAttribute {
  std::string name;
  GroupType type = GroupType::string;
  std::string value;  ///< several numbers are separated by commas
};

struct GroupDefinition {
  std::string name;
  bool column_major = false;  ///< dimensions are listed in Fortran's order
  std::vector<GroupVariable> variables;
  std::unordered_map<std::string, std::size_t> places;  ///< of variables, by name
  std::vector<GroupAttribute> attributes;
  int line = 0;  ///< in the configuration; 0: defined by calls

  const GroupVariable* find(const std::string& variable) const;
};

/// Local. Errc::einval, with what would be accepted, for an invalid name, type or language, a
/// second variable or attribute of the same name, or a global array whose lists differ in length.
GroupDefinition define_group(const std::string& name, const std::string& language);
void define_variable(GroupDefinition& group, const GroupVariableText& text);
void define_attribute(GroupDefinition& group, const std::string& name, const std::string& value,
                      const std::string& type);

/// Local; to be called when all is defined. Errc::einval if dimensions use a name that is not an
/// integer scalar of the group.
void check_group(const GroupDefinition& group);

}  // namespace forebay
