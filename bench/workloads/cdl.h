#pragma once

// The header part of CDL, the text form of a netCDF file that ncdump prints:
//
//     header    = "netcdf" name "{" [ "dimensions:" { dim ";" } ]
//                                   [ "variables:" { var ";" | att ";" } ] { att ";" } [ "data:" …
//                                   ] "}"
//     dim       = name "=" ( integer | "UNLIMITED" ) { "," name "=" … }
//     var       = type name [ "(" name { "," name } ")" ] { "," name [ "(" … ")" ] }
//     att       = [ type ] [ variable ] ":" name "=" value { "," value }
//     value     = string | number [ suffix ]
//     suffix    = b | ub | s | us | l | u | ll | ull | f | d          (either case)
//
// "//" begins a comment. Adjacent strings of one attribute are joined. A "data:" section is
// ignored.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace forebay::bench::cdl {

/// External types in the order of the netCDF type codes (NC_BYTE = 1 … NC_UINT64 = 11).
enum class Type { Byte = 1, Char, Short, Int, Float, Double, UByte, UShort, UInt, Int64, UInt64 };

/// Bytes of one external element.
int size_of(Type type);

struct Dimension {
  std::string name;
  std::int64_t length = 0;  ///< 0 for the unlimited dimension
  bool unlimited = false;
};

struct Attribute {
  std::string name;
  Type type = Type::Char;
  /// Text for Char; integers for the integral types; reals for Float and Double.
  std::variant<std::string, std::vector<std::int64_t>, std::vector<double>> values;
};

struct Variable {
  std::string name;
  Type type = Type::Char;
  std::vector<int> dims;  ///< indices into Header::dims, slowest first
  std::vector<Attribute> atts;
};

struct Header {
  std::string name;
  std::vector<Dimension> dims;
  std::vector<Variable> vars;
  std::vector<Attribute> atts;

  /// Index of the dimension, or -1.
  int find_dim(std::string_view dim_name) const;
  /// True if the slowest dimension of `var` is unlimited.
  bool is_record(const Variable& var) const;
};

/// What is wrong, with the line number.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Parses the text of a CDL header. Throws ParseError.
Header parse(std::string_view text);

/// Reads and parses a file. Throws ParseError, also when the file cannot be read.
Header parse_file(const std::string& path);

}  // namespace forebay::bench::cdl
