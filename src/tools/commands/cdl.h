// CDL, the text form of netCDF files, as ncdump prints it: names, attributes, values.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "files/source.h"

namespace forebay::tools {

/// A name with a backslash before each character that CDL would misread.
std::string cdl_name(const std::string& name);

/// `"say \"hi\""`: text in quotes. With `indent`, each line begins on a line of its own, as ncdump
/// has it.
std::string cdl_text(std::string_view text, const std::string& indent = {});

/// The values of an attribute, typed by their suffixes: "1b, 2b", "0.5f", "\"text\"".
/// `lines`: each line of a text on a line of its own, as ncdump has it for classic files.
std::string cdl_attribute(const Attribute& attribute, bool lines = true);

/// One native element as data of a variable: "1e-10", "NaNf", "-3". Not for text.
std::string cdl_value(Type type, const std::byte* value);

/// The name that stands behind "netcdf": the file's, without folder and extension.
std::string cdl_file_name(const std::string& path);

/// "a/b/c" → "a/b", "c": where a dimension or variable of a netCDF-4 file stands, and its own name.
std::string cdl_group_of(const std::string& name);
std::string cdl_name_in_group(const std::string& name);

/// "\ttime = UNLIMITED ; // (2 currently)\n": dimensions, variables and attributes of one group
/// (empty: the root), each line behind `indent`.
std::string cdl_header(const Source& source, const std::string& group = {},
                       const std::string& indent = {});

/// "time, lat", for people; empty for a scalar.
std::string dimension_names(const Schema& schema, const Variable& var);

/// Writes the values of one variable, in blocks, as " name =\n  1, 2,\n  3, 4 ;\n" after an empty
/// line. Throws what reading throws.
void print_cdl_data(const Source& source, VarId var, std::FILE* out,
                    const std::string& indent = {});

}  // namespace forebay::tools
