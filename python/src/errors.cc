// forebay::Error as Python's exceptions: the kind is decided here, the class in forebay/_errors.py.
#include "base/error.h"
#include "support.h"

namespace forebay::python {
namespace {

const char* kind_of(Errc code) {
  switch (code) {
    case Errc::enoent:
      return "not found";
    case Errc::eexist:
      return "exists";
    case Errc::eaccess:
    case Errc::eperm:
      return "permission";
    case Errc::eno_space:
    case Errc::equota:
      return "no space";
    case Errc::enomem:
      return "memory";
    case Errc::enotnc:
    case Errc::ebad_file:
    case Errc::enotnc3:
    case Errc::etrunc:
    case Errc::ebadlog:
    case Errc::ehdferr:
      return "format";
    case Errc::enotsupport:
    case Errc::enotbuilt:
      return "unsupported";
    case Errc::einvalcoords:
    case Errc::eedge:
    case Errc::estride:
    case Errc::enegativecnt:
      return "index";
    case Errc::enotvar:
    case Errc::enotatt:
    case Errc::ebaddim:
      return "key";
    case Errc::echar:
    case Errc::ebadtype:
    case Errc::estrictcdf2:
      return "type";
    case Errc::erange:
      return "overflow";
    case Errc::efile:
    case Errc::eread:
    case Errc::ewrite:
    case Errc::eio:
      return "system";
    case Errc::empi:
    case Errc::einternal:
      return "runtime";
    default:
      return "value";
  }
}

// Called with the interpreter's lock.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    try {
      const nb::object made = nb::module_::import_("forebay._errors")
                                  .attr("exception")(kind_of(error.code()), to_text(error.what()));
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

}  // namespace

Error damage_of(const Error& error) {
  switch (error.code()) {
    case Errc::ebadtype:
    case Errc::ebadname:
    case Errc::ebaddim:
    case Errc::enotvar:
    case Errc::enotatt:
    case Errc::enameinuse:
    case Errc::estrictcdf2:
    case Errc::echar:
    case Errc::evarsize:
    case Errc::einval:
    case Errc::einvalcoords:
    case Errc::eintoverflow:
      return Error(Errc::enotnc, error.message(), error.advice());
    default:
      return error;
  }
}

void register_errors() { nb::register_exception_translator(translate, nullptr); }

}  // namespace forebay::python
