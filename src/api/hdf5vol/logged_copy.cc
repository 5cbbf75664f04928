// H5Ocopy of what is in a log: the connector below has copied stand-ins, each with the number of
// its source. The copies get numbers of their own, and the values of the source.
#include <algorithm>

#include "api/hdf5vol/logged_file.h"
#include "api/hdf5vol/under_walk.h"
#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay::vol {
namespace {

constexpr Count rows_bytes = 8 << 20;

std::string attribute_name(const UnderObject& object, hsize_t n) {
  H5VL_loc_params_t location = index_location(n);
  location.obj_type = object.type;
  char name[256];
  std::size_t length = 0;
  H5VL_attr_get_args_t args{};
  args.op_type = H5VL_ATTR_GET_NAME;
  args.args.get_name = {location, sizeof name, name, &length};
  if (H5VLattr_get(object.object, object.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    throw Error(Errc::ehdferr, "HDF5: asking for a copied attribute failed");
  return {name, std::min(length, sizeof name - 1)};
}

/// What H5O_COPY_WITHOUT_ATTR_FLAG asks for, but for what is Forebay's.
void remove_visible_attributes(const UnderObject& object) {
  for (hsize_t n = info_of(object).num_attrs; n-- > 0;) {
    const std::string name = attribute_name(object, n);
    if (!is_reserved(name)) remove_attribute(object, name.c_str());
  }
}

}  // namespace

/// Local: this rank's share of the rows, which every rank takes in turn.
void copy_values(LoggedFile& from, DatasetState& source, LoggedFile& to, DatasetState& copy) {
  const auto& extents = source.extents();
  const auto dims = static_cast<std::uint32_t>(extents.size());
  if (std::find(extents.begin(), extents.end(), 0) != extents.end() ||
      from.reader().stored_bytes(source.id(), dims) == 0)
    return;
  Count row = static_cast<Count>(source.element_size());
  for (std::size_t d = 1; d < extents.size(); ++d) row *= extents[d];
  const Count rows = std::clamp<Count>(rows_bytes / row, 1, extents[0]);
  Count turn = 0;
  for (Count first = 0; first < extents[0]; first += rows) {
    if (turn++ % to.comm().size() != to.comm().rank()) continue;
    std::vector<Steps> steps{{first, std::min(rows, extents[0] - first), 1}};
    for (std::size_t d = 1; d < extents.size(); ++d) steps.push_back({0, extents[d], 1});
    const Placed box = box_pattern(extents, steps);
    append_values(to, copy, box, present_values(from, source, box), false);
    to.writer().make_room();
  }
}

void LoggedHooks::object_copied(const ObjectCopy& copy) {
  auto* const source = static_cast<LoggedHooks*>(copy.source_hooks);
  if (source == nullptr) return;  // datasets of an ordinary file stay ordinary
  // What other ranks wrote is seen from here on.
  if (source->file_->writing()) {
    source->store_.move_to(copy.source);
    source->flush();
  }
  auto at = copy.destination;
  H5VL_loc_params_t location = name_location(at.type, copy.destination_name);
  const OwnedUnder parent = copy.destination_location->type == H5VL_OBJECT_BY_SELF
                                ? OwnedUnder()
                                : open_child(copy.destination, *copy.destination_location);
  if (parent) at = parent.get(), location.obj_type = at.type;
  const OwnedUnder top = open_child(at, location);
  SeenObjects seen;
  std::optional<Error> failed;
  unsigned flags = 0;
  checked(H5Pget_copy_object(copy.ocpypl, &flags), "asking how to copy");
  for_each_object(top.get(), seen, [&](const UnderObject& dataset) {
    if ((flags & H5O_COPY_WITHOUT_ATTR_FLAG) != 0) remove_visible_attributes(dataset);
    if (dataset.type != H5I_DATASET) return;
    auto stored = read_stored(dataset, copy.dxpl);
    if (!stored) return;
    if (copy.destination_hooks == nullptr)
      throw Error(Errc::enotsupport, "a dataset in a log cannot be copied into an ordinary file",
                  "forebay convert IN OUT --to hdf5 makes an ordinary file of the whole");
    const Hid type = type_of(dataset);
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
