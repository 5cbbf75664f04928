#include "base/attempt.h"
#include "base/path.h"
#include "comm/agree.h"
#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/info.h"
#include "hdf5/connector/list_properties.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/log/undo_file.h"
#include "hdf5/shared/id.h"
#include "method/method.h"

// after hdf5.h
#include <H5VLnative.h>

namespace forebay::vol {
namespace {

// Wraps a file that the connector below has opened. Asks the log layer for the first handle.
std::unique_ptr<Object> wrap_file(const OwnedUnder& under, OpenedFile opened) {
  const FileRef file = FileState::of(under.object(), under.connector());
  auto object = std::make_unique<Object>(under.object(), file, H5I_FILE);
  if (!file->looked_into()) {
    opened.file = under.get();
    const std::string name = opened.name;
    H5F_close_degree_t degree = H5F_CLOSE_DEFAULT;
    if (H5Pget_fclose_degree(opened.fapl, &degree) >= 0 && degree == H5F_CLOSE_STRONG)
      file->close_strongly();
    if (opened.mpi_io) file->note_mpi_io();
    auto hooks = naming(name, [&] { return make_file_hooks(opened); });
    if (!hooks && opened.method) report_ordinary(opened);
    file->attach(std::move(hooks), under.object());
  }
  file->make_room_for_wrapping();
  return object;
}

// Hints are checked before an existing file of that name is truncated.
void check_hints(const std::string& hints) {
  Method trial;
  apply_hints(trial, hints, "the connector's string");
}

// A job that was killed within a flush left a file between two states: restores the earlier one.
void put_back_flushed(const OpenedFile& opened) {
  if (opened.comm.is_root() && H5Pget_driver(opened.fapl) != H5FD_STDIO)
    put_back(opened.name, (opened.flags & H5F_ACC_RDWR) != 0);
}

// Files are opened and created without a request, because the log layer must look into them.
template <class Call>
void* open_below(const char* name, OpenedFile opened, Call&& call) {
  const auto mpi = MpiAccess::of(opened.fapl);
  if (mpi) opened.comm = mpi->ranks(), opened.mpi_io = true;
  const Comm comm = opened.comm;
  const Fapl fapl(opened.fapl);
  std::optional<ListInfo> info;
  std::int64_t buffers[2] = {};  // the largest, and the least with a minus sign
  // The connector below may open files collectively, so all ranks call it, or none.
  const auto prepare = [&] {
    opened.name = name;
    // HDF5's other drivers know no prefixes.
    const bool plain = opened.mpi_io || strip_prefix(name) == name;
    opened.path = plain ? absolute_path(name) : current_folder() + "/" + name;
    info.emplace(opened.fapl);
    info->put_under_into(fapl);
    opened.hints = info->hints();
    opened.buffer = buffer_of(opened.fapl);
    buffers[0] = opened.buffer.value_or(0), buffers[1] = -buffers[0];
    if (mpi) opened.mpi_hints = mpi->hints();
    if (opened.created) check_hints(opened.hints);
    if (opened.created && is_native(info->under().id))
      opened.method = naming(opened.name, [&] { return method_for_new(opened); });
    // A chunk that HDF5 keeps on one rank is encoded anew there where an object is copied, to
    // another size than the one that other ranks copy.
    if (opened.method && opened.method->layout == "chunked")
      checked(H5Pset_cache(fapl.id(), 0, 521, 0, 1.0), "choosing a cache");
    if (!opened.created && is_native(info->under().id)) put_back_flushed(opened);
  };
  together(comm, prepare, buffers, Reduce::max);
  if (buffers[0] != -buffers[1])
    throw Error(Errc::einval,
                std::string(set_buffer) + ": ranks give different sizes, between " +
                    std::to_string(-buffers[1]) + " (0: none) and " + std::to_string(buffers[0]),
                "give the same on all ranks that open the file");
  void* under = call(fapl.id());
  const auto elsewhere = attempt_to([&] { comm.meet(under ? Errc::ok : Errc::ehdferr); });
  if (!under) return nullptr;
  OwnedUnder owned(under, info->under().id, H5I_FILE);
  if (elsewhere) throw *elsewhere;
  std::unique_ptr<Object> file;
  together(comm, [&] { file = wrap_file(owned, std::move(opened)); });
  if (mpi) attempt_to([] { watch_for_the_end_of_mpi(); });
  owned.release();
  return file.release();
}

void* create(const char* name, unsigned flags, hid_t fcpl, hid_t fapl, hid_t dxpl,
             void**) noexcept {
  return guarded<void*>(nullptr, [&] {
    return open_below(name, {{}, {}, {}, flags, true, fcpl, fapl}, [&](hid_t under_fapl) {
      return H5VLfile_create(name, flags, fcpl, under_fapl, dxpl, nullptr);
    });
  });
}

void* open(const char* name, unsigned flags, hid_t fapl, hid_t dxpl, void**) noexcept {
  return guarded<void*>(nullptr, [&] {
    return open_below(
        name, {{}, {}, {}, flags, false, H5I_INVALID_HID, fapl},
        [&](hid_t under_fapl) { return H5VLfile_open(name, flags, under_fapl, dxpl, nullptr); });
  });
}

// H5Fis_accessible and H5Fdelete. There is no object yet; the list names the connector below.
herr_t specific_by_name(H5VL_file_specific_args_t args, hid_t dxpl) {
  const bool removes = args.op_type == H5VL_FILE_DELETE;
  hid_t& fapl = removes ? args.args.del.fapl_id : args.args.is_accessible.fapl_id;
  const ListInfo info(fapl);
  const hid_t below = info.under().id;
  const Fapl under_fapl(fapl);
  info.put_under_into(under_fapl);
  fapl = under_fapl.id();
  return H5VLfile_specific(nullptr, below, &args, dxpl, nullptr);
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
    FileHooks* const hooks = object_of(obj).hooks();
    if (hooks && args->op_type == H5VL_NATIVE_FILE_START_SWMR_WRITE)
      hooks->refuse_swmr(object_of(obj).below());
    const herr_t done = forward<H5VLfile_optional>(obj, args, dxpl, req);
    if (hooks && done >= 0 && args->op_type == H5VL_NATIVE_FILE_SET_MPI_ATOMICITY)
      hooks->set_atomic(
          static_cast<const H5VL_native_file_optional_args_t*>(args->args)->set_mpi_atomicity.flag);
    return done;
  });
}

}  // namespace

H5VL_file_class_t file_callbacks() noexcept {
  return {create, open, forward<H5VLfile_get>, specific, optional, close<H5VLfile_close>};
}

}  // namespace forebay::vol
