// Finds the blocks with values that meet a condition, by the least and largest value of each block
// in the index (Lofstead et al. 2009, §III.D.5). The data files may be missing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "groups/format/bp.h"
#include "groups/process_group/bp_reader.h"

namespace forebay::process_group {

/// A condition on elements of a variable: all bounds must hold.
struct Search {
  enum class Is { below, at_most, above, at_least, equal, not_equal };
  struct Bound {
    Is is;
    long double than;
    double as_double = 0;  ///< `than` rounded to the types of variables
    float as_float = 0;
  };
  std::string variable;
  std::vector<Bound> bounds;  ///< at least one
};

/// Parses a condition like "T > 300" or "a/b >= -1.5e3 and a/b < 0". Operators: <, <=, >, >=, ==
/// (or =), !=. Errc::einval.
Search parse_search(std::string_view text);

struct FoundBlock {
  std::size_t step = 0;
  std::int64_t block = 0;    ///< number as for forebay_inq_block
  std::vector<Count> start;  ///< of a global array; else empty
  std::vector<Count> count;  ///< empty for a scalar
  bool known = false;        ///< the index has `least` and `greatest`
  long double least = 0, greatest = 0;
  bool certain = false;            ///< it has such an element; otherwise it may have one
  std::optional<Count> matches{};  ///< number of such elements, if values were read
};

/// How many steps and blocks were searched.
struct Searched {
  Count steps = 0, blocks = 0;
  std::uint64_t unread = 0;  ///< BpReader::unread_steps(), if a path was searched
};

/// Local. Calls f for each block that has, or may have, elements that meet the condition; only
/// finite ones count. With `values`, reads those blocks, except blocks behind an operator, and
/// leaves out blocks without such elements. Errc::enotvar; echar if the type has no order; as for
/// BpReader.
Searched search(const BpReader& file, const Search& what, bool values,
                const std::function<void(const FoundBlock&)>& f);

/// Local. Calls f for each block of a variable, in all steps, from the index alone. `matches` and
/// `certain` mean nothing.
void each_block(const BpReader& file, std::size_t variable,
                const std::function<void(const FoundBlock&)>& f);

}  // namespace forebay::process_group
