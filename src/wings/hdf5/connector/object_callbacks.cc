#include "hdf5/connector/callbacks.h"
#include "hdf5/connector/under_objects.h"
#include "hdf5/shared/id.h"

namespace forebay::vol {
namespace {

void* open(void* obj, const H5VL_loc_params_t* location, H5I_type_t* opened_type, hid_t dxpl,
           void** req) noexcept {
  return guarded<void*>(nullptr, [&]() -> void* {
    Object& at = object_of(obj);
    const VisibleLocation visible(at, *location, dxpl);
    void* under = pass(at, req, [&](void* object, hid_t connector, void** request) {
      return H5VLobject_open(object, visible, connector, opened_type, dxpl, request);
    });
    return under ? wrap(under, at.file, *opened_type, dxpl) : nullptr;
  });
}

// Runs after an H5Ocopy from or to a log file: does the log layer's part, and removes hidden
// objects from the copy of a root group.
void after_copy(const ObjectCopy& copy, Object& from, Object& to) {
  to.file->links_changed();
  FileHooks* hooks = copy.destination_hooks ? copy.destination_hooks : copy.source_hooks;
  hooks->object_copied(copy);
  if (!copy.source_hooks) return;
  const H5VL_loc_params_t source = name_location(copy.source_location->obj_type, copy.source_name);
  if (!from.file->hidden_links().is_root(from.below(), source, copy.dxpl)) return;
  remove_hidden(to.below(),
                name_location(copy.destination_location->obj_type, copy.destination_name),
                copy.dxpl);
}

// Returns the list without H5O_COPY_WITHOUT_ATTR_FLAG; empty if it does not have that flag.
Hdf5Id with_attributes(hid_t ocpypl) {
  const unsigned flags = copy_flags(ocpypl);
  if ((flags & H5O_COPY_WITHOUT_ATTR_FLAG) == 0) return {};
  Hdf5Id list = owned_list(H5Pcopy(ocpypl));
  checked(H5Pset_copy_object(list, flags & ~H5O_COPY_WITHOUT_ATTR_FLAG), "choosing how to copy");
  return list;
}

// The targets of references are copied below without a link, so they cannot be found again: a
// stand-in would stay one.
void refuse_to_expand_references(const Object& from, const Object& to, hid_t ocpypl) {
  if (!from.log() || &*from.file == &*to.file) return;
  if ((copy_flags(ocpypl) & H5O_COPY_EXPAND_REFERENCE_FLAG) != 0)
    throw Error(Errc::enotsupport, "references out of a log file cannot be followed in a copy",
                "copy without H5O_COPY_EXPAND_REFERENCE_FLAG, or the whole file: forebay convert "
                "IN OUT --to hdf5");
}

// Refuses logged datasets, because a copy would be looked up in the log of another file.
void refuse_logged(const UnderObject& top) {
  for_each_object(top, [](const UnderObject& object) {
    if (object.type == H5I_DATASET && is_logged(object, H5P_DATASET_XFER_DEFAULT))
      throw Error(Errc::enotsupport,
                  "an external link or a mount leads into the log of another file, which is not "
                  "copied that way",
                  "open that file and copy out of it");
  });
}

// Refuses to copy from logs of other files: if `source` lies in one, or an external link below it
// leads to one and the copy follows it.
void refuse_foreign_logs(Object& from, const char* name, hid_t ocpypl) {
  if (!is_native(from.connector())) return;
  const OwnedUnder source = open_quietly(from.below(), name_location(from.type, name));
  if (!source) return;
  const FileRef file = FileState::of_object(source.get(), from.file);
  if (&*file != &*from.file || !file->looked_into()) return refuse_logged(source.get());
  if ((copy_flags(ocpypl) & H5O_COPY_EXPAND_EXT_LINK_FLAG) == 0) return;
  for_each_object(source.get(), [&](const UnderObject& group) {
    if (group.type != H5I_GROUP) return;
    for (const UnderLink& link : links_of(group)) {
      if (!link.external) continue;
      if (const OwnedUnder target =
              open_quietly(group, name_location(H5I_GROUP, link.name.c_str())))
        refuse_logged(target.get());
    }
  });
}

herr_t copy(void* source, const H5VL_loc_params_t* source_location, const char* source_name,
            void* destination, const H5VL_loc_params_t* destination_location,
            const char* destination_name, hid_t ocpypl, hid_t lcpl, hid_t dxpl,
            void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& from = object_of(source);
    Object& to = object_of(destination);
    refuse_hidden(from, source_name);
    refuse_reserved(to, destination_name);
    refuse_to_expand_references(from, to, ocpypl);
    if (source_location->type == H5VL_OBJECT_BY_SELF)
      refuse_foreign_logs(from, source_name, ocpypl);
    for (const Object* each : {&from, &to})
      if (each->hooks()) each->hooks()->before_objects_change(each->below());
    const bool logs = from.log() || to.log();
    // A stand-in copied without attributes would lose its meaning. So the log layer removes the
    // visible attributes afterwards.
    const Hdf5Id whole = from.log() ? with_attributes(ocpypl) : Hdf5Id();
    const hid_t properties = whole >= 0 ? static_cast<hid_t>(whole) : ocpypl;
    const herr_t result =
        pass(from, logs ? nullptr : req, [&](void* under, hid_t connector, void** request) {
          return H5VLobject_copy(under, source_location, source_name, to.under,
                                 destination_location, destination_name, connector, properties,
                                 lcpl, dxpl, request);
        });
    if (result >= 0 && logs) {
      after_copy({from.below(), source_location, source_name, to.below(), destination_location,
                  destination_name, ocpypl, lcpl, dxpl, from.log(), to.log()},
                 from, to);
    }
    return result;
  });
}

herr_t get(void* obj, const H5VL_loc_params_t* location, H5VL_object_get_args_t* args, hid_t dxpl,
           void** req) noexcept {
  return guarded<herr_t>(-1, [&]() -> herr_t {
    Object& at = object_of(obj);
    const VisibleLocation visible(at, *location, dxpl);
    const herr_t result = pass(at, req, [&](void* under, hid_t connector, void** request) {
      return H5VLobject_get(under, visible, connector, args, dxpl, request);
    });
    if (result >= 0 && args->op_type == H5VL_OBJECT_GET_FILE) {
      at.file->note_handed_out(*args->args.get_file.file);
    }
    if (result >= 0 && at.log() && args->op_type == H5VL_OBJECT_GET_INFO &&
        (args->args.get_info.fields & H5O_INFO_NUM_ATTRS) &&
        args->args.get_info.oinfo->num_attrs > 0) {
      args->args.get_info.oinfo->num_attrs -= count_hidden_attributes(at, *visible, dxpl);
    }
    return result;
  });
}

herr_t specific(void* obj, const H5VL_loc_params_t* location, H5VL_object_specific_args_t* args,
                hid_t dxpl, void** req) noexcept {
  return guarded<herr_t>(-1, [&] {
    Object& at = object_of(obj);
    if (args->op_type == H5VL_OBJECT_FLUSH) before_flush(at);
    if (at.log()) {
      if (args->op_type == H5VL_OBJECT_EXISTS && is_hidden(at, *location)) {
        *args->args.exists.exists = false;
        return 0;
      }
      if (args->op_type == H5VL_OBJECT_VISIT) {
        const VisibleLocation visible(at, *location, dxpl);
        return visit_objects(at, *visible, args->args.visit, dxpl);
      }
    }
    return forward_at<H5VLobject_specific>(obj, location, args, dxpl, req);
  });
}

}  // namespace

H5VL_object_class_t object_callbacks() noexcept {
  return {open, copy, get, specific, forward_at<H5VLobject_optional>};
}

}  // namespace forebay::vol
