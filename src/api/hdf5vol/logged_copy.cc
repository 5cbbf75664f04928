// H5Ocopy of what is in a log: the connector below has copied stand-ins, each with the number of
// its source. The copies get numbers of their own, and the values of the source.
#include "api/hdf5vol/logged_copy.h"

#include <algorithm>

#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay::vol {
namespace {

constexpr Count box_bytes = 8 << 20;
constexpr Count most_aligned_bytes = 8 * box_bytes;

Count divide_up(Count n, Count by) { return (n - 1) / by + 1; }

/// Calls `use` for an object and every one below it, once each, however it is linked.
void for_each_object(const UnderObject& object, std::set<std::vector<std::byte>>& seen,
                     const std::function<void(const UnderObject&)>& use) {
  if (!seen.insert(token_of(object)).second) return;
  use(object);
  if (object.type != H5I_GROUP) return;
  for (const UnderLink& link : links_of(object)) {
    if (!link.hard) continue;
    const OwnedUnder child = open_child(object, name_location(H5I_GROUP, link.name.c_str()));
    for_each_object(child.get(), seen, use);
  }
}

}  // namespace

CopyBoxes::CopyBoxes(std::span<const Count> extents, std::size_t element_size, Count chunk)
    : extents_(extents.begin(), extents.end()) {
  cut_ = extents_.size() - 1;
  auto row = static_cast<Count>(element_size);  // bytes of one index of the dimension that is cut
  while (cut_ > 0 && extents_[cut_] <= box_bytes / row) row *= extents_[cut_--];
  rows_ = std::clamp<Count>(box_bytes / row, 1, extents_[cut_]);
  if (cut_ == 0 && chunk <= most_aligned_bytes / row)
    rows_ = std::min(extents_[0], std::max<Count>(chunk, rows_ / chunk * chunk));
  count_ = divide_up(extents_[cut_], rows_);
  for (std::size_t d = 0; d < cut_; ++d) count_ *= extents_[d];
}

std::vector<Steps> CopyBoxes::box(Count n) const {
  std::vector<Steps> steps;
  for (const Count extent : extents_) steps.push_back({0, extent, 1});
  const Count pieces = divide_up(extents_[cut_], rows_);
  const Count first = n % pieces * rows_;
  steps[cut_] = {first, std::min(rows_, extents_[cut_] - first), 1};
  n /= pieces;
  for (std::size_t d = cut_; d-- > 0; n /= extents_[d]) steps[d] = {n % extents_[d], 1, 1};
  return steps;
}

bool has_data(LoggedFile& file, const DatasetState& dataset) {
  const auto& extents = dataset.extents();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return false;
  if (file.writing())
    for (const logged::Entry& entry : file.writer().pending())
      if (entry.dataset == dataset.id()) return true;
  return file.reader().stored_bytes(dataset.id(), static_cast<std::uint32_t>(extents.size())) > 0;
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
    if (!is_reserved(name)) remove_attribute(object, name);
}

/// Local: this rank's share of the boxes, which every rank takes in turn.
void copy_values(LoggedFile& from, DatasetState& source, LoggedFile& to, DatasetState& copy) {
  if (!has_data(from, source)) return;
  const CopyBoxes boxes(source.extents(), source.element_size());
  for (Count n = to.comm().rank(); n < boxes.count(); n += to.comm().size()) {
    const Placed box = box_pattern(source.extents(), boxes.box(n));
    append_values(to, copy, box, present_values(from, source, box), false);
    to.writer().make_room();
  }
}

void LoggedHooks::object_copied(const ObjectCopy& copy) {
  auto* const source = static_cast<LoggedHooks*>(copy.source_hooks);
  if (source == nullptr) return;  // datasets of an ordinary file stay ordinary
  unsigned flags = 0;
  checked(H5Pget_copy_object(copy.ocpypl, &flags), "asking how to copy");
  if (copy.destination_hooks == nullptr) {
    copy_out(*source, copy, (flags & H5O_COPY_WITHOUT_ATTR_FLAG) != 0);
    return;
  }
  // What other ranks wrote is seen from here on.
  source->flush_from(copy.source);
  const CopyPlace place = place_of(copy);
  const OwnedUnder top = open_child(place.at, place.location);
  std::set<std::vector<std::byte>> seen;
  std::optional<Error> failed;
  for_each_object(top.get(), seen, [&](const UnderObject& dataset) {
    if ((flags & H5O_COPY_WITHOUT_ATTR_FLAG) != 0) remove_visible_attributes(dataset);
    if (dataset.type != H5I_DATASET) return;
    auto stored = read_stored(dataset, copy.dxpl);
    if (!stored) return;
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
