#include "hdf5/connector/errors.h"

#include <new>

#include "hdf5/shared/id.h"

namespace forebay {

void throw_hdf5(std::string_view what) {
  throw Error(Errc::ehdferr, "HDF5: " + std::string(what) + " failed", "its error stack says why");
}

namespace vol {
namespace {

struct ErrorClass {
  hid_t cls = H5I_INVALID_HID;
  hid_t failed = H5I_INVALID_HID;          // major: the connector could not do what was asked
  hid_t input = H5I_INVALID_HID;           // minor: the arguments are at fault
  hid_t storage = H5I_INVALID_HID;         // minor: the file or the system refused
  hid_t implementation = H5I_INVALID_HID;  // minor: everything else
};

ErrorClass& error_class() {
  static ErrorClass instance;
  return instance;
}

hid_t minor_of(Errc code) {
  switch (code) {
    case Errc::eio:
    case Errc::eaccess:
    case Errc::enotnc:
      return error_class().storage;
    case Errc::einternal:
    case Errc::enomem:
      return error_class().implementation;
    default:
      return error_class().input;
  }
}

void push(const Where& where, hid_t minor, const char* text) noexcept {
  H5Epush2(H5E_DEFAULT, where.file, where.function, where.line, error_class().cls,
           error_class().failed, minor, "%s", text);
}

}  // namespace

void register_error_class() {
  ErrorClass& errors = error_class();
  if (errors.cls >= 0 && H5Iis_valid(errors.cls) > 0) return;
  errors.cls = H5Eregister_class("Forebay", "forebay", FOREBAY_VERSION);
  errors.failed = H5Ecreate_msg(errors.cls, H5E_MAJOR, "Forebay's HDF5 connector");
  errors.input = H5Ecreate_msg(errors.cls, H5E_MINOR, "What was asked for cannot be done");
  errors.storage = H5Ecreate_msg(errors.cls, H5E_MINOR, "The file or the file system refused");
  errors.implementation = H5Ecreate_msg(errors.cls, H5E_MINOR, "Something else went wrong");
}

void release_error_class() noexcept {
  ErrorClass& errors = error_class();
  // Unregistering the class closes its messages, too.
  if (errors.cls >= 0 && H5Iis_valid(errors.cls) > 0) H5Eunregister_class(errors.cls);
  errors = ErrorClass{};
}

void push_current_exception(const Where& where) noexcept {
  {
    ErrorStackSaver saver;  // registering clears the stack
    register_error_class();
  }
  try {
    throw;
  } catch (const UnderFailed&) {
    // The connector below has already put its reasons on the stack.
  } catch (const Error& error) {
    push(where, minor_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    push(where, error_class().implementation, "memory ran out");
  } catch (const std::exception& error) {
    push(where, error_class().implementation, error.what());
  } catch (...) {
    push(where, error_class().implementation, "an unknown exception was thrown");
  }
}

}  // namespace vol
}  // namespace forebay
