// Groups: what a program writes together, declared once (A §III.A), in the file of FOREBAY_CONFIG
// or by calls.
//
//   group     ::= <group name="NAME" [language="C"|"Fortran"]> (var | global | attribute)* </group>
//   global    ::= <global dimensions="LIST" offsets="LIST"> var* </global>
//   var       ::= <var name="NAME" type="TYPE" [dimensions="LIST"] [joined="D"]
//                      [steps="every"|"once"] [gwrite="EXPRESSION OF THE PROGRAM"]
//                      [characteristics="minmax,mean,histogram:LEAST,GREATEST,BINS"]/>
//   attribute ::= <attribute name="NAME" value="VALUE" [type="TYPE"]/>
//   method    ::= <method group="NAME" KEY="VALUE".../>
//
// LIST: expressions (array/expression.h) of scalars of the group, with commas between them. A
// variable without dimensions is a scalar; one within <global> is this rank's box of an array that
// all ranks share; any other array is this rank's own, or joined with the others' along dimension
// D.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "array/expression.h"
#include "array/group_type.h"
#include "base/types.h"

namespace forebay {

/// As a user writes it; what is empty was not given.
struct GroupVariableText {
  std::string name, type, dimensions, global, offsets, joined, steps, gwrite, characteristics;
};

/// `bins` equal parts of the values from `least` to `greatest`, with this one.
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
      offsets;                         ///< of the array it is part of; none: of this rank alone
  std::optional<int> joined;           ///< the dimension along which ranks' blocks follow
  bool once = false;                   ///< in the first step only
  bool moments = false;                ///< the index has sums of its values, and of their squares
  std::optional<Histogram> histogram;  ///< another variable, behind it, has how often values occur
  bool is_histogram = false;           ///< it is that one, which the library writes
  std::string gwrite;                  ///< what the program writes, for generated code
};

struct GroupAttribute {
  std::string name;
  GroupType type = GroupType::string;
  std::string value;  ///< numbers: with commas between them
};

struct GroupDefinition {
  std::string name;
  bool column_major = false;  ///< dimensions are listed as Fortran has them
  std::vector<GroupVariable> variables;
  std::unordered_map<std::string, std::size_t> places;  ///< of variables, by name
  std::vector<GroupAttribute> attributes;
  int line = 0;  ///< in the configuration; 0: defined by calls

  const GroupVariable* find(const std::string& variable) const;
};

/// Local. Errc::einval, with what would be accepted: a name, type or language that makes no sense,
/// a second variable or attribute of that name, dimensions of a global array that differ in number.
GroupDefinition define_group(const std::string& name, const std::string& language);
void define_variable(GroupDefinition& group, const GroupVariableText& text);
void define_attribute(GroupDefinition& group, const std::string& name, const std::string& value,
                      const std::string& type);

/// Local, when all is defined. Errc::einval: dimensions name what is no integer scalar of the
/// group.
void check_group(const GroupDefinition& group);

}  // namespace forebay
