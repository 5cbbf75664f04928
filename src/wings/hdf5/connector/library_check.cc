#include "hdf5/connector/library_check.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <hdf5.h>
// after hdf5.h
#include <H5VLconnector_passthru.h>

#include <memory>

namespace forebay::vol {
namespace {

const char* name_of(const Dl_info& library) {
  return library.dli_fname != nullptr ? library.dli_fname : "?";
}

}  // namespace

std::string other_library(const void* caller) {
  Dl_info theirs{}, ours{};
  // Programs do not take this function's address. If they did, it could lie in the program.
  const auto* own = reinterpret_cast<const void*>(&H5VLintrospect_get_conn_cls);
  if (dladdr(caller, &theirs) == 0 || dladdr(own, &ours) == 0) return {};
  if (theirs.dli_fbase == ours.dli_fbase) return {};
  return fmt::format(
      "the program has the HDF5 in {}, but this connector calls the one in {}: two cannot share "
      "files (build the connector with the program's HDF5, cmake -DFOREBAY_HDF5_ROOT=PREFIX, or "
      "the "
      "program with the connector's)",
      name_of(theirs), name_of(ours));
}

void push_on_stack_of(const void* caller, const std::string& text) noexcept {
  Dl_info library{};
  if (dladdr(caller, &library) == 0) return;
  const std::unique_ptr<void, int (*)(void*)> handle(
      dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD), dlclose);
  if (!handle) return;
  const auto find = [&](const char* name) { return dlsym(handle.get(), name); };
  const auto push = reinterpret_cast<decltype(&H5Epush2)>(find("H5Epush2"));
  const auto* cls = static_cast<const hid_t*>(find("H5E_ERR_CLS_g"));
  const auto* major = static_cast<const hid_t*>(find("H5E_VOL_g"));
  const auto* minor = static_cast<const hid_t*>(find("H5E_CANTINIT_g"));
  if (push == nullptr || cls == nullptr || major == nullptr || minor == nullptr) return;
  push(H5E_DEFAULT, __FILE__, "initialize", __LINE__, *cls, *major, *minor, "%s", text.c_str());
}

}  // namespace forebay::vol
