#pragma once

// Headers of netCDF files as workloads define them again, and how they are read from CDL, the text
// form that ncdump prints: by way of a file that ncgen makes.

#include <cstdint>
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
  std::vector<Dimension> dims;
  std::vector<Variable> vars;
  std::vector<Attribute> atts;

  /// Index of the dimension, or -1.
  int find_dim(std::string_view dim_name) const;
  /// True if the slowest dimension of `var` is unlimited.
  bool is_record(const Variable& var) const;
};

/// The header of a CDL file. Needs MPI and netCDF's ncgen. Throws std::runtime_error where ncgen,
/// which then says why on standard error, makes no file of it.
Header parse_file(const std::string& path);

}  // namespace forebay::bench::cdl
