#include <cstddef>
#include <new>
#include <string>

#include "base/attempt.h"
#include "base/small_list.h"
#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/under_objects.h"

namespace forebay::vol {
namespace {

// Returns whether a path leads out of the file of `at`, by an external link or a mount. Only the
// existing part of the path counts, because links may be made on the way.
bool leads_out(Object& at, const char* name) {
  std::string path = name == nullptr ? "" : name;
  for (auto end = path.rfind('/'); end != std::string::npos && end > 0; end = path.rfind('/')) {
    path.resize(end);
    if (const OwnedUnder group = open_quietly(at.below(), name_location(at.type, path.c_str())))
      return &*FileState::of_object(group.get(), at.file) != &*at.file;
  }
  return false;
}

void* create(void* obj, const H5VL_loc_params_t* location, const char* name, hid_t lcpl, hid_t type,
             hid_t space, hid_t dcpl, hid_t dapl, hid_t dxpl, void** req) noexcept {
  return guarded<void*>(nullptr, [&]() -> void* {
    Object& at = object_of(obj);
    refuse_reserved(at, name);
    const VisibleLocation visible(at, *location, dxpl);
    FileHooks* const hooks = at.hooks();
    if (hooks) at.file->links_changed();
    // A dataset in another file does not belong to this log.
    if (hooks && !leads_out(at, name)) {
      CreatedDataset made =
          hooks->create_dataset({at.below(), visible, name, lcpl, type, space, dcpl, dapl, dxpl});
      if (made.under) {
        auto object = std::make_unique<Object>(made.under.object(), at.file, H5I_DATASET);
        object->logged = std::move(made.logged);
        made.under.release();
        return object.release();
      }
    }
    return pass_open(at, H5I_DATASET, dxpl, req, [&](void* under, hid_t connector, void** request) {
      return H5VLdataset_create(under, visible, connector, name, lcpl, type, space, dcpl, dapl,
                                dxpl, request);
    });
  });
}

// The arrays of an H5Dread_multi or H5Dwrite_multi. Buffer is void* or const void*.
template <class Buffer>
struct Transfer {
  std::size_t count;
  void** datasets;
  hid_t *memory_types, *memory_spaces, *file_spaces;
  Buffer* buffers;
  hid_t dxpl;
};

herr_t transfer_below(const Transfer<void*>& t, void** under, hid_t connector, void** req) {
  return H5VLdataset_read(t.count, under, connector, t.memory_types, t.memory_spaces, t.file_spaces,
                          t.dxpl, t.buffers, req);
}

herr_t transfer_below(const Transfer<const void*>& t, void** under, hid_t connector, void** req) {
  return H5VLdataset_write(t.count, under, connector, t.memory_types, t.memory_spaces,
                           t.file_spaces, t.dxpl, t.buffers, req);
}

// Lists of up to 16 datasets need no memory from the heap. A rank that cannot prepare its part of a
// collective call would leave the others waiting in HDF5.
template <class T>
using Datasets = SmallList<T, 16>;

// Unwraps all datasets, which must have the same connector below, and calls below.
template <class Buffer>
herr_t pass_transfer(const Transfer<Buffer>& t, void** req) {
  Object& first = object_of(t.datasets[0]);
  Datasets<void*> unwrapped;
  for (std::size_t i = 0; i < t.count; ++i) {
    const Object& dataset = object_of(t.datasets[i]);
    if (!same_connector(dataset.connector(), first.connector())) {
      throw Error(Errc::einval,
                  "the datasets of one call are of files with different connectors below Forebay's",
                  "read or write those of each file in a call of their own");
    }
    unwrapped.push_back(dataset.under);
  }
  return pass(first, req, [&](void*, hid_t connector, void** request) {
    return transfer_below(t, unwrapped.begin(), connector, request);
  });
}

// Refuses datasets whose sources are in logs, because HDF5 reads them without the connector.
void check_reach(Object& dataset) {
  if (!is_native(dataset.connector())) return;
  // Otherwise HDF5 would keep what these calls read from their property list for the program's
  // transfer.
  const LibraryContext context;
  if (!dataset.is_virtual) dataset.is_virtual = is_virtual(dataset.below());
  if (!*dataset.is_virtual) return;
  if (!dataset.sources) dataset.sources = std::make_unique<VirtualSources>(dataset.below());
  dataset.sources->check();
}

// A read is complete when the call returns, also with an event set: ranks may have to read
// together, and HDF5 converts and decodes.
void transfer_logged(FileHooks& hooks, const UnderObject& at, std::span<const DatasetRead> some,
                     hid_t dxpl, void**) {
  hooks.read(at, some, dxpl);
}
void transfer_logged(FileHooks& hooks, const UnderObject& at, std::span<const DatasetWrite> some,
                     hid_t dxpl, void** req) {
  // Without memory this rank still takes part in the call.
  std::unique_ptr<Request> request;
  if (req != nullptr && !Request::failure_told)
    request.reset(new (std::nothrow) Request{{nullptr, H5I_EVENTSET}, {}, {}});
  if (!request) return hooks.write(at, some, dxpl);
  request->write = hooks.begin_write(at, some, dxpl);
  if (request->write) *req = request.release();
}

// Logged datasets go to the hooks of their file, all of one file in one call; the rest goes below.
// Each part may be collective, so all parts run even if one fails: other ranks wait in the next.
// Only a call to one log gets a request.
template <class Buffer>
herr_t split_transfer(const Transfer<Buffer>& t, void** req) {
  std::optional<Error> failed;
  const auto hooks_of = [&](std::size_t i) {
    const Object& dataset = object_of(t.datasets[i]);
    return dataset.logged ? dataset.hooks() : nullptr;
  };
  for (std::size_t first = 0; first < t.count; ++first) {
    FileHooks* const hooks = hooks_of(first);
    bool done = hooks == nullptr;
    for (std::size_t i = 0; i < first && !done; ++i) done = hooks_of(i) == hooks;
    if (done) continue;
    Datasets<DatasetTransfer<Buffer>> part;
    const auto no_room = attempt_to([&] {
      for (std::size_t i = first; i < t.count; ++i) {
        if (hooks_of(i) == hooks)
          part.push_back({object_of(t.datasets[i]).logged.get(), t.memory_types[i],
                          t.memory_spaces[i], t.file_spaces[i], t.buffers[i]});
      }
    });
    const std::span<const DatasetTransfer<Buffer>> some(part.data(), no_room ? 0 : part.size());
    void** const request = part.size() == t.count && !no_room ? req : nullptr;
    const auto problem = attempt_to([&] {
      transfer_logged(*hooks, object_of(t.datasets[first]).below(), some, t.dxpl, request);
    });
    if (!failed) failed = no_room ? no_room : problem;
  }
  Datasets<void*> datasets;
  Datasets<hid_t> memory_types, memory_spaces, file_spaces;
  Datasets<Buffer> buffers;
  for (std::size_t i = 0; i < t.count; ++i) {
    if (object_of(t.datasets[i]).logged) continue;
    datasets.push_back(t.datasets[i]);
    memory_types.push_back(t.memory_types[i]);
    memory_spaces.push_back(t.memory_spaces[i]);
    file_spaces.push_back(t.file_spaces[i]);
    buffers.push_back(t.buffers[i]);
  }
  herr_t result = 0;
  if (!datasets.empty())
    result = pass_transfer(
        Transfer<Buffer>{datasets.size(), datasets.begin(), memory_types.begin(),
                         memory_spaces.begin(), file_spaces.begin(), buffers.begin(), t.dxpl},
        nullptr);
  if (failed) throw *failed;
  return result;
}

template <class Buffer>
herr_t transfer(const Transfer<Buffer>& t, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    bool logged = false;
    for (std::size_t i = 0; i < t.count; ++i) {
      Object& dataset = object_of(t.datasets[i]);
      if (dataset.logged)
        logged = true;
      else
        check_reach(dataset);
    }
    if (logged) return split_transfer(t, req);
    return t.count == 0 ? 0 : pass_transfer(t, req);
  });
}

herr_t read(std::size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[],
            hid_t file_spaces[], hid_t dxpl, void* buffers[], void** req) noexcept {
  return transfer(
      Transfer<void*>{count, datasets, memory_types, memory_spaces, file_spaces, buffers, dxpl},
      req);
}

herr_t write(std::size_t count, void* datasets[], hid_t memory_types[], hid_t memory_spaces[],
             hid_t file_spaces[], hid_t dxpl, const void* buffers[], void** req) noexcept {
  return transfer(Transfer<const void*>{count, datasets, memory_types, memory_spaces, file_spaces,
                                        buffers, dxpl},
                  req);
}

// Asks a logged dataset first, by `ask`. What it does not do, and other datasets, go below.
template <auto below, auto ask, class Args>
herr_t logged_or_forward(void* obj, Args* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    LoggedDataset* logged = object_of(obj).logged.get();
    if (logged && (logged->*ask)(*args, dxpl)) return 0;
    return forward<below>(obj, args, dxpl, req);
  });
}

herr_t get(void* obj, H5VL_dataset_get_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    // An unlimited virtual dataset gets its extents from its sources.
    if (args->op_type == H5VL_DATASET_GET_SPACE && !object_of(obj).logged)
      check_reach(object_of(obj));
    return logged_or_forward<H5VLdataset_get, &LoggedDataset::get>(obj, args, dxpl, req);
  });
}

herr_t specific(void* obj, H5VL_dataset_specific_args_t* args, hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    if (args->op_type == H5VL_DATASET_FLUSH) before_flush(object_of(obj));
    return logged_or_forward<H5VLdataset_specific, &LoggedDataset::specific>(obj, args, dxpl, req);
  });
}

}  // namespace

H5VL_dataset_class_t dataset_callbacks() noexcept {
  return {create,
          open_named<H5VLdataset_open, H5I_DATASET>,
          read,
          write,
          get,
          specific,
          logged_or_forward<H5VLdataset_optional, &LoggedDataset::optional>,
          close<H5VLdataset_close>};
}

}  // namespace forebay::vol
