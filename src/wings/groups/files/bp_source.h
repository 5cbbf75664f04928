// BP4 directories and BP3 files as files of the classic model. Steps become records.
//
//     T            in all steps, of several      T(step, …)
//     T            in some of them               T(T_step, …), and bp_steps: which
//     T            in one                        T(…)
//     first extent differs between steps         T(T_obs, …) with all steps' parts in a row, and
//                                                T_count(step) with sample_dimension, as CF has it
//     joined and local arrays                    blocks in a row, in the order of ranks
//     complex numbers                            a last dimension `complex` of 2
//     strings                                    text with a last dimension, or strings (given)
//
// Elements that no rank wrote read as netCDF's fill value of the type. Dimensions have names only
// if attributes name them (below); else dim_N has N elements. "/" in a name becomes ".", and
// bp_name has the original name. The attribute T/units becomes T's units.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/open_source.h"
#include "groups/process_group/search.h"

namespace forebay {

// Attributes that give dimensions names, and that say that a variable of one step has records. If
// they fit the variables, the schema uses them; else they are ordinary attributes.
namespace bp_attribute {
/// Of a variable: the names of its dimensions, without that of steps. adios2's xarray engine has
/// it.
inline constexpr std::string_view dimensions = "__xarray_dimensions__";
/// Of a variable with a value in each record: the name of the record dimension.
inline constexpr std::string_view step_dimension = "bp_step_dimension";
/// Of the file: all its dimensions, also those without variables. The length of records is 0.
inline constexpr std::string_view all_dimensions = "bp_dimensions";
inline constexpr std::string_view all_lengths = "bp_dimension_lengths";
}  // namespace bp_attribute

using process_group::is_bp;

extern const FormatEntry bp_format;

/// Opens a BP file. left_out() has what the model cannot express: long double, lists of strings and
/// complex numbers among attributes, blocks that do not follow one another, values behind
/// operators. Errors are those of process_group::BpReader.
std::unique_ptr<Source> open_bp(const std::string& path, Strings strings);

/// The result of checking every block of a BP file.
struct BpCheck {
  std::string format;
  Count steps = 0, variables = 0, blocks = 0;
  Count bytes = 0;                  ///< of the values read
  std::vector<std::string> faults;  ///< sentences
  std::vector<std::string> notes;   ///< about arrays whose blocks overlap or leave elements out
};
/// Local. Parses all of the index, and compares the place of each block with its data file. With
/// `values` it also reads the values and compares them with the ranges in the index. BP files have
/// no checksums. Throws if the index as a whole cannot be read.
BpCheck check_bp(const std::string& path, bool values);

/// Selects variables by their names in the file.
using WantedInBp = std::function<bool(const std::string&)>;
/// Local. Returns the same notes on overlapping blocks and holes of these variables, from the index
/// alone, with 8 MiB of memory. It does not find holes in larger arrays with overlaps.
std::vector<std::string> notes_on_blocks(const std::string& path, WantedInBp wanted);

using process_group::FoundBlock, process_group::Search, process_group::Searched,
    process_group::parse_search;
/// Local. Like process_group::search. A variable has its name in the file, or that of the schema.
Searched find_in_bp(const std::string& path, const Search& what, bool values,
                    const std::function<void(const FoundBlock&)>& f);

}  // namespace forebay
