// Which blocks have values that a condition asks for, by the least and greatest value that the
// index has of each (A §III.D.5): data files need not be there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/bp.h"
#include "layout/process_group/bp_reader.h"

namespace forebay::process_group {

/// What elements of a variable are to be, all of it.
struct Search {
  enum class Is { below, at_most, above, at_least, equal, not_equal };
  struct Bound {
    Is is;
    long double than;
    double as_double = 0;  ///< the same number, as variables of these types have it
    float as_float = 0;
  };
  std::string variable;
  std::vector<Bound> bounds;  ///< at least one
};

/// "T > 300", "a/b >= -1.5e3 and a/b < 0"; the operators: <, <=, >, >=, == (or =), !=.
/// Errc::einval.
Search parse_search(std::string_view text);

struct FoundBlock {
  std::size_t step = 0;
  std::int64_t block = 0;    ///< as forebay_inq_block counts
  std::vector<Count> start;  ///< of a global array; else empty
  std::vector<Count> count;  ///< of a scalar empty
  bool known = false;        ///< the index has its least and greatest value
  long double least = 0, greatest = 0;
  bool certain = false;            ///< it does have such an element; else it may
  std::optional<Count> matches{};  ///< so many, where values were read
};

/// How many there were to look at.
struct Searched {
  Count steps = 0, blocks = 0;
  std::uint64_t unread = 0;  ///< BpReader::unread_steps(), where who searches a path asked for them
};

/// Local. Calls f for each block that has, or may have, elements with such a value; only finite
/// ones count. With `values` reads those blocks, but for what lies behind an operator, and leaves
/// out those that have none. Errc::enotvar; echar where the type has no order; as BpReader.
Searched search(const BpReader& file, const Search& what, bool values,
                const std::function<void(const FoundBlock&)>& f);

/// Local. Calls f for each block of a variable, in all steps.
void each_block(const BpReader& file, std::size_t variable,
                const std::function<void(const FoundBlock&)>& f);

}  // namespace forebay::process_group
