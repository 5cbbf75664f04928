#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

#include "base/companion.h"
#include "base/error.h"
#include "netcdf4/structure.h"

namespace forebay::netcdf4 {

namespace {

constexpr const char* library = "libforebay_netcdf4.so";

// A program may use another HDF5 than the plug-in, and its functions have the same names. Then the
// plug-in must look for its own first. Elsewhere it must not: an allocator that replaces malloc
// would not be seen by it.
void* open_library(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__)
  constexpr const char* function = "H5get_libversion";
  const void* const of_program = ::dlsym(RTLD_DEFAULT, function);
  if (handle != nullptr && of_program != nullptr && of_program != ::dlsym(handle, function)) {
    ::dlclose(handle);
    handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
  }
#endif
  // What it has made is used until the process ends.
  if (handle != nullptr) ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  return handle;
}

Hdf5Side* load(std::string& why) {
  for (const std::string& folder : plugin_folders()) {
    void* const handle = open_library(folder + library);
    if (handle == nullptr) {
      const char* const said = ::dlerror();
      if (said != nullptr) why = said;
      // The first is taken, or none: another would not be the one that is meant.
      if (::access((folder + library).c_str(), F_OK) == 0) return nullptr;
      continue;
    }
    const auto make = reinterpret_cast<MakeHdf5Side>(::dlsym(handle, "forebay_netcdf4_hdf5"));
    if (make != nullptr)
      if (Hdf5Side* const side = make(interface_version, interface_bytes)) return side;
    why = folder + library + " belongs to another version of Forebay";
  }
  return nullptr;
}

}  // namespace

Hdf5Side& hdf5_side() {
  static std::mutex mutex;
  static Hdf5Side* side = nullptr;
  const std::lock_guard lock(mutex);
  std::string why;
  if (side == nullptr) side = load(why);
  if (side == nullptr)
    throw Error(Errc::enotbuilt,
                std::string("netCDF-4 files need the plug-in ") + library + ": " + why,
                "build Forebay where there is an HDF5 of at least 1.10.8, or name the plug-in's "
                "folder in FOREBAY_PLUGIN_PATH");
  return *side;
}

}  // namespace forebay::netcdf4
