#include "api/hdf5vol/callbacks.h"
#include "api/hdf5vol/info.h"
#include "api/hdf5vol/mpio.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/logged/undo_file.h"
#include "method/method.h"

// hdf5.h first
#include <H5VLnative.h>

namespace forebay::vol {
namespace {

// Wraps a file that the connector below has opened; asks the log layer when it is its first handle.
std::unique_ptr<Object> wrap_file(const OwnedUnder& under, OpenedFile opened) {
  const FileRef file = FileState::of(under.object(), under.connector());
  auto object = std::make_unique<Object>(under.object(), file, H5I_FILE);
  if (!file->looked_into()) {
    opened.file = under.get();
    const std::string name = opened.name;
    file->attach(naming(name, [&] { return make_file_hooks(opened); }), under.object());
  }
  file->make_room_for_wrapping();
  return object;
}

// What is wrong with the hints is told before a file of that name is cut to nothing.
void check_hints(const std::string& hints) {
  Method trial;
  apply_hints(trial, hints, "the connector's string");
}

// A job that was killed within a flush left a file that is neither the one before it nor the one
// after it.
void put_back_flushed(const OpenedFile& opened) {
  if (H5Pget_driver(opened.fapl) == H5FD_STDIO) return;
  if (opened.comm.is_root()) put_back(opened.name, (opened.flags & H5F_ACC_RDWR) != 0);
}

// Files are opened and created without a request: the log layer must see what is in them.
template <class Call>
void* open_below(const char* name, OpenedFile opened, Call&& call) {
  const auto mpi = MpiAccess::of(opened.fapl);
  if (mpi) opened.comm = mpi->ranks(), opened.mpi_io = true;
  const Comm comm = opened.comm;
  const Fapl fapl = Fapl::copy_of(opened.fapl);
  std::optional<ListInfo> info;
  std::optional<UnderConnector> below;
  // The connector below may open files by all ranks together: all come there, or none.
  together(comm, [&] {
    opened.name = name;
    info.emplace(opened.fapl);
    below.emplace(info->under());
    below->put_into(fapl);
    opened.hints = info->hints();
    if (mpi) opened.mpi_hints = mpi->hints();
    if (opened.created) check_hints(opened.hints);
    if (opened.created && is_native(below->id()))
      opened.method = naming(opened.name, [&] { return method_for_new(opened); });
    if (!opened.created && is_native(below->id())) put_back_flushed(opened);
  });
  void* under = call(fapl.id());
  const auto elsewhere = attempt_to([&] { comm.meet(under ? Errc::ok : Errc::ehdferr); });
  if (!under) return nullptr;
  OwnedUnder owned(under, below->id(), H5I_FILE);
  if (elsewhere) throw *elsewhere;
  std::unique_ptr<Object> file;
  together(comm, [&] { file = wrap_file(owned, std::move(opened)); });
  owned.release();
  return file.release();
}

void* create(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
             void**) noexcept {
  return guarded<void*>(nullptr, [&] {
    return open_below(name, {{}, {}, flags, true, fcpl, fapl}, [&](hid_t under_fapl) {
      return H5VLfile_create(name, flags, fcpl, under_fapl, dxpl, nullptr);
    });
  });
}

void* open(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void**) noexcept {
  return guarded<void*>(nullptr, [&] {
    return open_below(name, {{}, {}, flags, false, H5I_INVALID_HID, fapl}, [&](hid_t under_fapl) {
      return H5VLfile_open(name, flags, under_fapl, dxpl, nullptr);
    });
  });
}

// H5Fis_accessible and H5Fdelete: there is no object yet; the list names the connector below.
herr_t specific_by_name(H5VL_file_specific_args_t args, hid_t dxpl) {
  hid_t& fapl =
      args.op_type == H5VL_FILE_DELETE ? args.args.del.fapl_id : args.args.is_accessible.fapl_id;
  const ListInfo info(fapl);
  const UnderConnector below = info.under();
  const Fapl under_fapl = Fapl::copy_of(fapl);
  below.put_into(under_fapl);
  fapl = under_fapl.id();
  return H5VLfile_specific(nullptr, below.id(), &args, dxpl, nullptr);
}

herr_t reopen(Object& object, H5VL_file_specific_args_t& args, hid_t dxpl) {
  const herr_t result = H5VLfile_specific(object.under, object.connector(), &args, dxpl, nullptr);
  void*& file = *args.args.reopen.file;
  if (result >= 0 && file) file = new Object(file, object.file, H5I_FILE);
  return result;
}

herr_t specific(void* obj, H5VL_file_specific_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    switch (args->op_type) {
      case H5VL_FILE_IS_ACCESSIBLE:
      case H5VL_FILE_DELETE:
        return specific_by_name(*args, dxpl);
      case H5VL_FILE_REOPEN:
        return reopen(object_of(obj), *args, dxpl);
      case H5VL_FILE_FLUSH:
        if (args->args.flush.scope == H5F_SCOPE_GLOBAL) object_of(obj).file->flush_mounted();
        if (FileHooks* hooks = object_of(obj).hooks()) {
          hooks->flush(object_of(obj).below(), args->args.flush.scope);
          return 0;
        }
        break;
      default:
        break;
    }
    return forward<H5VLfile_specific>(obj, args, dxpl, req);
  });
}

herr_t optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    if (object_of(obj).hooks() && args->op_type == H5VL_NATIVE_FILE_START_SWMR_WRITE)
      throw Error(Errc::enotsupport,
                  "a log cannot be written for single writer, multiple readers (SWMR)",
                  "set layout=canonical in FOREBAY_HINTS for this file");
    return forward<H5VLfile_optional>(obj, args, dxpl, req);
  });
}

}  // namespace

H5VL_file_class_t file_callbacks() noexcept {
  return {create,   open,     forward<H5VLfile_get, H5VL_file_get_args_t>,
          specific, optional, close<H5VLfile_close>};
}

}  // namespace forebay::vol
