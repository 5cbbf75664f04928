// Values as pictures need them: physical, as doubles, without what stands for "no data"; and which
// variables are latitudes and longitudes, by the CF conventions.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/source.h"

namespace forebay::tools {

/// Turns stored values into physical ones (scale_factor, add_offset), and those that stand for "no
/// data" (_FillValue, missing_value, the type's default) into NaN.
class Decoder {
 public:
  Decoder(const Schema& schema, VarId id);
  void decode(std::vector<double>& values) const;

 private:
  static double default_fill_of(Type type);

  std::vector<double> absent_;
  double scale_ = 1, offset_ = 0;
};

bool one_of(std::string_view text, std::initializer_list<std::string_view> words);

/// By units, or by name where there are none.
bool says_latitude(const Schema& schema, VarId id);
bool says_longitude(const Schema& schema, VarId id);

/// A selection as doubles, as stored, whatever the format of the file. Throws what reading throws.
std::vector<double> doubles_of(const Source& file, VarId id, const Subarray& selection);

/// Turns stored values of a coordinate into degrees: decodes them; radians are multiplied.
void make_degrees(const Schema& schema, VarId id, std::vector<double>& values);

/// The least and the greatest value that is no NaN; two NaN if there is none.
std::pair<double, double> range_of(const std::vector<double>& values);

/// Why latitudes and longitudes cannot be used; nothing if they can.
std::optional<std::string> fault_of(const std::vector<double>& latitude,
                                    const std::vector<double>& longitude);

}  // namespace forebay::tools
