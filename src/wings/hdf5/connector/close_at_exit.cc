#include "hdf5/connector/close_at_exit.h"

#include <cstdio>
#include <vector>

#include "base/attempt.h"
#include "comm/session.h"
#include "hdf5/connector/errors.h"
#include "hdf5/connector/object.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

bool watching = false, ends = false;

enum class Which { all, mpi_io };

/// HDF5 closes its own objects. Objects of any other connector may be above ours.
bool is_one(hid_t id, Which which) {
  const hid_t connector = H5VLget_connector_id(id);
  if (connector < 0) return false;
  const bool native = is_native(connector);
  H5VLclose(connector);
  if (native || which == Which::all) return !native;
  const hid_t file = H5Iget_file_id(id);
  unsigned long number = 0;
  bool mpi_io = false;
  if (H5Fget_fileno(file, &number) >= 0)
    FileState::each_open([&](const FileState& open) {
      return mpi_io = open.number() == number && open.has_mpi_io();
    });
  H5Fclose(file);
  return mpi_io;
}

/// Closes an identifier as often as the program holds it. A file that cannot be saved is named on
/// stderr, because nobody else can be told.
void close(hid_t id) {
  char name[1024] = "";
  if (H5Iget_type(id) == H5I_FILE) H5Fget_name(id, name, sizeof name);
  for (int held = H5Iget_ref(id); held > 0; --held) {
    if (H5Idec_ref(id) >= 0) continue;
    if (name[0] != '\0')
      std::fprintf(stderr, "Forebay: %s was open when the program ended, and cannot be saved: %s\n",
                   name, innermost_error().c_str());
    return;
  }
}

void close_what_is_open(Which which) {
  if (!FileState::any_log()) return;
  const QuietErrors quiet;
  attempt_to([&] {
    for (const unsigned kind :
         {H5F_OBJ_ATTR, H5F_OBJ_DATASET, H5F_OBJ_GROUP, H5F_OBJ_DATATYPE, H5F_OBJ_FILE}) {
      const ssize_t count = H5Fget_obj_count(H5F_OBJ_ALL, kind);
      std::vector<hid_t> open(count > 0 ? static_cast<std::size_t>(count) : 0);
      if (!open.empty()) H5Fget_obj_ids(H5F_OBJ_ALL, kind, open.size(), open.data());
      for (const hid_t id : open)
        if (H5Iis_valid(id) > 0 && is_one(id, which)) close(id);
    }
  });
}

void at_the_end_of_hdf5(void*) {
  watching = false;
  close_what_is_open(Which::all);
  ends = true;
}

}  // namespace

void watch_for_the_end() {
  ends = false;
  if (!watching) watching = H5atclose(at_the_end_of_hdf5, nullptr) >= 0;
}

void watch_for_the_end_of_mpi() {
  at_the_end([](bool ranks_are_there) {
    if (ranks_are_there) close_what_is_open(Which::mpi_io);
  });
}

bool library_ends() noexcept { return ends; }

}  // namespace forebay::vol
