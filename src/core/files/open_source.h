// Files of any format as a Source. Wings bring the formats besides the classic one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "files/source.h"

namespace forebay {

/// A format that a wing brings. It is one file that defines a FormatEntry, which the build finds
/// and lists (cmake/list_parts.cmake).
struct FormatEntry {
  const char* name;  ///< as `forebay convert --to` has it
  bool built;        ///< false: this build can only refuse such files
  /// Returns whether a file begins as those of this format do; false if it cannot be read.
  bool (*recognise)(const std::string& path);
  /// Opens a file, as open_source() does.
  std::unique_ptr<Source> (*open)(const std::string& path, const std::string& group,
                                  Strings strings);
  bool goes_first = false;  ///< it is a view of files that another format may recognise, too
};

/// Returns all formats that wings bring, in no order.
std::span<const FormatEntry* const> built_in_formats();

/// Returns whether this build reads and writes the format of that name.
bool has_format(std::string_view name);

/// Returns the format of a file, or null if no wing recognises it.
const FormatEntry* format_of(const std::string& path);

/// Opens a file of any format that this build reads. `group`: only that group of a netCDF-4 file,
/// as if it were a file of its own ("/": the root without the groups in it). Throws what opening
/// throws: a sentence that begins with the path; Errc::enogrp for a group that is not there.
std::unique_ptr<Source> open_source(const std::string& path, const std::string& group = {},
                                    Strings strings = Strings::left_out);

/// Throws Errc::enogrp if a group is asked for of a file whose format has none.
void refuse_group(const Source& source, const std::string& group);

}  // namespace forebay
