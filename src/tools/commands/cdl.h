// CDL, the text form of netCDF files, as ncdump prints it: names, attributes, values.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "files/source.h"

namespace forebay::tools {

/// Returns a name with a backslash before each character that CDL would misread.
std::string cdl_name(const std::string& name);

/// Returns text in quotes: `"say \"hi\""`. With `indent`, each line of the text gets a line of its
/// own, as in ncdump.
std::string cdl_text(std::string_view text, const std::string& indent = {});

/// Returns the values of an attribute, with suffixes for their types: "1b, 2b", "0.5f", "\"text\"".
/// `lines`: each line of a text gets a line of its own, as ncdump does for classic files.
std::string cdl_attribute(const Attribute& attribute, bool lines = true);

/// Returns one native element as data of a variable: "1e-10", "NaNf", "-3". Not for text.
std::string cdl_value(Type type, const std::byte* value);

/// Returns the name after "netcdf": the file's, without folder and extension.
std::string cdl_file_name(const std::string& path);

/// "a/b/c" → "a/b", "c": the group of a netCDF-4 dimension or variable, and its own name.
std::string cdl_group_of(const std::string& name);
std::string cdl_name_in_group(const std::string& name);

/// Returns "\ttime = UNLIMITED ; // (2 currently)\n" and so on: dimensions, variables and
/// attributes of one group (empty: the root), with `indent` before each line.
std::string cdl_header(const Source& source, const std::string& group = {},
                       const std::string& indent = {});

/// Returns "time, lat", for display; empty for a scalar.
std::string dimension_names(const Schema& schema, const Variable& var);

/// Prints the values of one variable, in blocks, as " name =\n  1, 2,\n  3, 4 ;\n" after an empty
/// line. Throws what reading throws.
void print_cdl_data(const Source& source, VarId var, std::FILE* out,
                    const std::string& indent = {});

}  // namespace forebay::tools
