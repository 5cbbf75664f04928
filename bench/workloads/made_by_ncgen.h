#pragma once

// CDL, the text form of a header that ncdump prints, as a netCDF file.

#include <string>

namespace forebay::bench::cdl {

/// A temporary file, which netCDF's ncgen makes.
class MadeByNcgen {
 public:
  /// Throws std::runtime_error where ncgen, which then says why on standard error, makes none.
  explicit MadeByNcgen(const std::string& cdl_path);
  ~MadeByNcgen();
  MadeByNcgen(const MadeByNcgen&) = delete;
  MadeByNcgen& operator=(const MadeByNcgen&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace forebay::bench::cdl
