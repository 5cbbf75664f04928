// Which keys a front end honours. No setting is silent: a setting that a front end cannot honour is
// an error if it was made for this very file, else a line of the report. The files of keys and
// parts say who honours them; docs/methods.md shows the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

struct KeySpec;
struct Method;

/// What writes a file, which determines what a key can mean. Bits of a set.
enum class FrontEnd : unsigned {
  netcdf = 1,           ///< the PnetCDF interface, Python's writers
  group_records = 2,    ///< groups as netCDF
  groups = 4,           ///< groups as BP
  hdf5 = 8,             ///< HDF5 programs through the connector
  checkpoints = 16,     ///< checkpoints of adjoint computations
  bundles = 32,         ///< forebay_bundle_open; the files themselves are netcdf's
  convert_netcdf = 64,  ///< forebay convert --to netcdf, bp, hdf5, zarr
  convert_bp = 128,
  convert_hdf5 = 256,
  convert_zarr = 512
};

class FrontEnds {
 public:
  constexpr FrontEnds() = default;
  constexpr FrontEnds(FrontEnd one)  // NOLINT(google-explicit-constructor): a set of one
      : bits_(static_cast<unsigned>(one)) {}
  constexpr bool contains(FrontEnd one) const { return (bits_ & static_cast<unsigned>(one)) != 0; }
  friend constexpr FrontEnds operator|(FrontEnds a, FrontEnds b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  unsigned bits_ = 0;
};
constexpr FrontEnds operator|(FrontEnd a, FrontEnd b) { return FrontEnds(a) | FrontEnds(b); }

// Sets that many keys use.
inline constexpr FrontEnds written_as_netcdf = FrontEnd::netcdf | FrontEnd::group_records;
inline constexpr FrontEnds netcdf_files = written_as_netcdf | FrontEnd::convert_netcdf;
inline constexpr FrontEnds bp_files = FrontEnd::groups | FrontEnd::convert_bp;
inline constexpr FrontEnds conversions = FrontEnd::convert_netcdf | FrontEnd::convert_bp |
                                         FrontEnd::convert_hdf5 | FrontEnd::convert_zarr;

struct FrontEndInfo {
  FrontEnd id;
  const char* title;  ///< of its column in docs/methods.md
  const char* files;  ///< what it writes: "BP files of groups"
  const char* page;   ///< of the documentation
};
/// In the order for users.
std::span<const FrontEndInfo> front_ends();
const FrontEndInfo& info_of(FrontEnd front_end);

/// Returns whether the front end does what this value of the key says. It always does for the
/// default.
bool honours(FrontEnd front_end, const KeySpec& key, std::string_view value);

/// The honoured values of a key whose values are parts of methods, with "|" between them.
std::string honoured_values(FrontEnd front_end, const KeySpec& key);

/// Reduces a newly chosen method to what this front end honours. If it does not honour the value of
/// the strongest source for a key, `method.notes` gets a line, and the next weaker source applies,
/// at last the default. Errc::enotsupport, with the origin, if the value was set for this very
/// file; the method is then unchanged. Keys of an MPI_Info that other libraries also have
/// (PnetCDF's, MPI-IO's) are never refused. Local, deterministic.
void keep_honoured(Method& method, FrontEnd front_end);

}  // namespace forebay
