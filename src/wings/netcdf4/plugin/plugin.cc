// The plug-in: HDF5's side of the wing netcdf4 (structure.h).
#include <cstring>

#include "netcdf4/plugin/handles.h"
#include "netcdf4/plugin/read_structure.h"
#include "netcdf4/plugin/write_structure.h"

namespace forebay::netcdf4 {

namespace {

// Nothing may be thrown out of this library.
template <typename F>
std::optional<Error> attempt(F&& f) {
  const InHdf5 alone;
  try {
    f();
  } catch (...) {
    return current_error();
  }
  return std::nullopt;
}

class Side final : public Hdf5Side {
 public:
  std::optional<Error> write(const NewStructure& structure, WrittenStructure& written) override {
    return attempt([&] { written = write_structure(structure); });
  }
  std::optional<Error> read(const std::string& path, ReadStructure& structure) override {
    return attempt([&] { structure = read_structure(path); });
  }
  std::optional<Error> open(const std::string& path, std::unique_ptr<Hdf5Values>& values) override {
    std::unique_ptr<Hdf5Values> opened;  // the old ones close outside of attempt()
    auto failed = attempt([&] { opened = open_values(path); });
    values = std::move(opened);
    return failed;
  }
  std::string version() const override {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  }
};

}  // namespace

}  // namespace forebay::netcdf4

extern "C" __attribute__((visibility("default"))) forebay::netcdf4::Hdf5Side* forebay_netcdf4_hdf5(
    const char* version, std::size_t bytes) {
  using namespace forebay;
  if (std::strcmp(version, netcdf4::interface_version) != 0 || bytes != netcdf4::interface_bytes)
    return nullptr;
  static netcdf4::Side side;
  return &side;
}
