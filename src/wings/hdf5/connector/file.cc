#include "base/attempt.h"
#include "base/path.h"
#include "comm/agree.h"
#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/info.h"
#include "hdf5/connector/mpio.h"
#include "hdf5/log/masked_signature.h"
#include "hdf5/log/undo_file.h"
#include "hdf5/shared/driver_table.h"
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
// Returns the place of a masked signature in the present file; -1: there is none.
Offset put_back_flushed(const OpenedFile& opened) {
  if (!opened.comm.is_root()) return -1;
  if (H5Pget_driver(opened.fapl) != H5FD_STDIO)
    put_back(opened.name, (opened.flags & H5F_ACC_RDWR) != 0);
  return logged::find_masked_signature(opened.name).value_or(-1);
}

// Returns a list with the same driver for this process alone.
Hdf5Id alone(hid_t fapl, bool mpi_io) {
  Hdf5Id list = owned_list(H5Pcopy(mpi_io ? H5P_FILE_ACCESS_DEFAULT : fapl));
  if (mpi_io) use_mpio_alone(list);
  return list;
}

// Files are opened and created without a request, because the log layer must look into them.
template <class Call>
void* open_below(const char* name, OpenedFile opened, Call&& call) {
  const auto mpi = MpiAccess::of(opened.fapl);
  if (mpi) opened.comm = mpi->ranks(), opened.mpi_io = true;
  const Comm comm = opened.comm;
  const Fapl fapl(opened.fapl);
  std::optional<ListInfo> info;
  std::int64_t masked = 0;  // place + 1
  // The connector below may open files collectively, so all ranks call it, or none.
  const auto prepare = [&] {
    opened.name = name;
    // HDF5's other drivers know no prefixes.
    const bool plain = opened.mpi_io || strip_prefix(name) == name;
    opened.path = plain ? absolute_path(name) : current_folder() + "/" + name;
    info.emplace(opened.fapl);
    info->put_under_into(fapl);
    opened.hints = info->hints();
    if (mpi) opened.mpi_hints = mpi->hints();
    if (opened.created) check_hints(opened.hints);
    if (opened.created && is_native(info->under().id))
      opened.method = naming(opened.name, [&] { return method_for_new(opened); });
    if (!opened.created && is_native(info->under().id)) masked = put_back_flushed(opened) + 1;
  };
  together(comm, prepare, std::span(&masked, 1), Reduce::max);
  std::optional<UnmaskedReading> unmasked;
  if (masked > 0) {
    opened.masked = masked - 1;
    together(comm, [&] { unmasked.emplace(alone(fapl.id(), mpi.has_value()), *opened.masked); });
  }
  void* under = call(fapl.id());
  const auto elsewhere = attempt_to([&] { comm.meet(under ? Errc::ok : Errc::ehdferr); });
  unmasked.reset();
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
  const char* const name = removes ? args.args.del.filename : args.args.is_accessible.filename;
  const ListInfo info(fapl);
  const hid_t below = info.under().id;
  const Fapl under_fapl(fapl);
  info.put_under_into(under_fapl);
  fapl = under_fapl.id();
  std::optional<UnmaskedReading> unmasked;
  if (const auto place = logged::find_masked_signature(name); place && is_native(below))
    unmasked.emplace(alone(fapl, MpiAccess::of(fapl).has_value()), *place);
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
    return forward<H5VLfile_optional>(obj, args, dxpl, req);
  });
}

}  // namespace

H5VL_file_class_t file_callbacks() noexcept {
  return {create, open, forward<H5VLfile_get>, specific, optional, close<H5VLfile_close>};
}

}  // namespace forebay::vol
