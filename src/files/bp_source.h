// BP4 directories and BP3 files as files of the classic model: steps are records.
//
//     T            in every step of several      T(step, …)
//     T            in some of them               T(T_step, …), and bp_steps: which
//     T            in one                        T(…)
//     first extent differs between steps         T(T_obs, …) one step behind the other, and
//                                                T_count(step) with sample_dimension, as CF has it
//     joined and local arrays                    blocks one behind the other, in the order of ranks
//     complex numbers                            a last dimension `complex` of 2
//     strings                                    text with a last dimension, or strings (given)
//
// What no rank wrote reads as netCDF's fill value of the type. Dimensions have no names in BP, but
// where attributes tell them (below); else dim_N has N elements. "/" in a name becomes ".", and
// bp_name has the name; the attribute T/units becomes T's units.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/source.h"
#include "layout/process_group/recovery.h"
#include "layout/process_group/search.h"

namespace forebay {

// Attributes by which dimensions have names and a variable of one step is one of records. What they
// say is taken into the schema, where it fits the variables; else they are attributes like others.
namespace bp_attribute {
/// Of a variable: names of its dimensions, without that of steps. adios2's xarray engine has it.
inline constexpr std::string_view dimensions = "__xarray_dimensions__";
/// Of a variable that has a value in each record: the name of the record dimension.
inline constexpr std::string_view step_dimension = "bp_step_dimension";
/// Of the file: all its dimensions, also those that no variable has. Lengths: 0 of records.
inline constexpr std::string_view all_dimensions = "bp_dimensions";
inline constexpr std::string_view all_lengths = "bp_dimension_lengths";
}  // namespace bp_attribute

/// Local. Whether `path` is a BP directory, or a file of BP3.
bool is_bp(const std::string& path);

/// Opens one. What the model has no word for is in left_out(): long double, lists of strings and
/// complex numbers among attributes, blocks that do not follow one another, values behind
/// operators. Errors as process_group::BpReader has them.
std::unique_ptr<Source> open_bp(const std::string& path, Strings strings);

/// What a look at every block of a BP file finds.
struct BpCheck {
  std::string format;
  Count steps = 0, variables = 0, blocks = 0;
  Count bytes = 0;                  ///< of the values that were read
  std::vector<std::string> faults;  ///< sentences
  std::vector<std::string> notes;   ///< of arrays whose blocks overlap, or leave elements out
};
/// Local. Parses all of the index and compares the place of each block with its data file; with
/// `values` reads them, and compares them with the least and largest value that the index has. BP
/// files have no checksums. Throws where the index as a whole cannot be read.
BpCheck check_bp(const std::string& path, bool values);

/// By its name in the file.
using WantedInBp = std::function<bool(const std::string&)>;
/// Local. The same notes on overlapping blocks and holes of these variables, by the index alone,
/// with 8 MiB of memory: of larger arrays that overlap it does not tell holes.
std::vector<std::string> notes_on_blocks(const std::string& path, WantedInBp wanted);

using process_group::BpRecovery, process_group::BpRecoveryOptions, process_group::has_bp_files;
/// Local. As process_group::recover_index.
BpRecovery recover_bp(const std::string& path, const BpRecoveryOptions& options);

using process_group::FoundBlock, process_group::Search, process_group::Searched,
    process_group::parse_search;
/// Local. As process_group::search; a variable has its name in the file, or that of the schema.
Searched find_in_bp(const std::string& path, const Search& what, bool values,
                    const std::function<void(const FoundBlock&)>& f);

/// Calls a function for each block of a variable, by the index alone: `matches` and `certain` say
/// nothing.
using BlocksOf = std::function<void(const std::function<void(const FoundBlock&)>&)>;
/// Local. Calls f(name, its blocks) for each variable. Errors as BpReader has them.
void each_block_in_bp(const std::string& path,
                      const std::function<void(const std::string&, const BlocksOf&)>& f);

}  // namespace forebay
