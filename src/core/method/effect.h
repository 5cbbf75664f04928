// Finds settings that are valid, and that the front end honours, but that change nothing in a file:
// a codec if no variable is chunked, the memory of a stage that the file does not use. They are no
// errors, since methods are often general; the report lists them when the file is closed. The table
// of a key says what it needs (KeySpec::needs): values of keys, with "layout" for the layout of
// some variable, and facts about the file: file=opened, file=in windows, file=in a bundle.
#pragma once

#include <string>
#include <vector>

#include "method/method.h"

namespace forebay {

/// The facts about a netCDF file that keys may need.
struct FileAsMade {
  bool opened = false;  ///< it existed before
  HintMap layouts;      ///< variable: its layout
  HintMap found = {};   ///< the same for variables that existed at opening for writing
  /// An operation may have used windows of transport aggregated; false: none did.
  bool in_windows = false;
  bool in_bundle = false;  ///< it was written together with others, or waited for that
};

/// Local. Returns a line for each setting without effect on that file: who made it, and what it
/// needs; and a line for each requested layout that existing variables do not have.
std::vector<std::string> without_effect(const Method& method, const FileAsMade& file);

}  // namespace forebay
