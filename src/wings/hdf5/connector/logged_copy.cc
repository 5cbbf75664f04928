// H5Ocopy of logged datasets. The connector below has copied stand-ins, each with the number of its
// source. The copies get numbers of their own, and the values of the source.
#include "hdf5/connector/logged_copy.h"

#include <algorithm>

#include "array/blocks.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "hdf5/shared/properties.h"

namespace forebay::vol {
bool has_data(LoggedFile& file, const DatasetState& dataset) {
  const auto& extents = dataset.extents();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return false;
  if (file.writing())
    for (const logged::Entry& entry : file.writer().pending())
      if (entry.dataset == dataset.id()) return true;
  return file.reader().stored_bytes(dataset.id(), dataset.ndims()) > 0;
}

NativeDataset native_dataset(DatasetState& dataset, const UnderObject& to) {
  NativeDataset native{
      to, dataset.type(), dataset.extents(), {}, static_cast<Count>(dataset.element_size())};
  if (!dataset.chunked()) return native;
  native.chunk = chunk_shape_of(dataset.dcpl(), dataset.ndims());
  native.filtered = dataset.filters() != nullptr;
  return native;
}

CopyPlace place_of(const ObjectCopy& copy) {
  CopyPlace place{{}, copy.destination, {}};
  if (copy.destination_location->type != H5VL_OBJECT_BY_SELF) {
    place.parent = open_child(copy.destination, *copy.destination_location);
    place.at = place.parent.get();
  }
  place.location = name_location(place.at.type, copy.destination_name);
  return place;
}

void remove_visible_attributes(const UnderObject& object) {
  for (const std::string& name : attribute_names(object))
    if (!is_reserved(name)) remove_attribute(object, name.c_str());
}

/// Local. Copies this rank's boxes, which are distributed round-robin over the ranks.
void copy_values(LoggedFile& from, DatasetState& source, LoggedFile& to, DatasetState& copy) {
  to.writer().begin(true);  // on all ranks, even if this one sees no data
  if (!has_data(from, source)) return;
  const Blocks boxes(source.extents(), {}, static_cast<Count>(source.element_size()),
                     native_box_bytes);
  for (Count n = to.comm().rank(); n < boxes.size(); n += to.comm().size()) {
    const Placed box = box_pattern(source.extents(), boxes[n]);
    append_values(to, copy, box, present_values(from, source, box), false);
    to.writer().make_room();
  }
  to.writer().publish();
}

void LoggedHooks::object_copied(const ObjectCopy& copy) {
  auto* const source = static_cast<LoggedHooks*>(copy.source_hooks);
  if (source == nullptr) return;  // datasets of an ordinary file stay ordinary
  const bool without_attributes = (copy_flags(copy.ocpypl) & H5O_COPY_WITHOUT_ATTR_FLAG) != 0;
  if (copy.destination_hooks == nullptr) {
    copy_out(*source, copy, without_attributes);
    return;
  }
  // This makes the writes of other ranks visible.
  source->flush_from(copy.source);
  const CopyPlace place = place_of(copy);
  const OwnedUnder top = open_child(place.at, place.location);
  std::optional<Error> failed;
  for_each_object(top.get(), [&](const UnderObject& dataset) {
    if (without_attributes) remove_visible_attributes(dataset);
    if (dataset.type != H5I_DATASET) return;
    auto stored = read_stored(dataset, copy.dxpl);
    if (!stored) return;
    const Hdf5Id type = type_of(dataset);
    const auto original = source->adopt(*stored, type);
    stored->id = new_id();
    stored->extents = original->extents();
    write_stored(dataset, *stored, false, copy.dxpl);
    const auto state = adopt(*stored, type);
    if (!failed)
      failed = attempt_to([&] { copy_values(*source->file_, *original, *file_, *state); });
  });
  agree_on_error(comm_, failed);
}

}  // namespace forebay::vol
