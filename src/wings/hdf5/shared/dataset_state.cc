#include "hdf5/shared/dataset_state.h"

#include "base/fill_elements.h"
#include "hdf5/shared/properties.h"

namespace forebay {

DatasetState::DatasetState(logged::StoredDataset stored, hid_t type, Hdf5Id dcpl)
    : stored_(std::move(stored)),
      type_(owned_type(H5Tcopy(type))),
      dcpl_(std::move(dcpl)),
      chunked_(H5Pget_layout(dcpl_) == H5D_CHUNKED),
      filtered_(FilterPipeline::any(dcpl_)),
      allocated_(alloc_time_of(dcpl_) == H5D_ALLOC_TIME_EARLY),
      fill_(H5Tget_size(type)) {
  const FillRule rule = fill_rule_of(dcpl_);
  has_fill_ = rule.value != H5D_FILL_VALUE_UNDEFINED && rule.time != H5D_FILL_TIME_NEVER;
  default_fill_ = rule.value == H5D_FILL_VALUE_DEFAULT;
  if (rule.value == H5D_FILL_VALUE_USER_DEFINED)
    checked(H5Pget_fill_value(dcpl_, type_, fill_.data()), "asking for the fill value");
  unfilter_ = [this](std::span<const std::byte> bytes, std::uint32_t mask,
                     std::span<std::byte> values) { filters()->undo(bytes, mask, values); };
}

FilterPipeline* DatasetState::filters() {
  if (!filtered_) return nullptr;
  if (!filters_) filters_ = std::make_unique<FilterPipeline>(dcpl_, type_);
  return filters_.get();
}

Hdf5Id DatasetState::make_space() const {
  return simple_space(stored_.extents, {stored_.maximum.begin(), stored_.maximum.end()});
}

void DatasetState::fill(std::span<std::byte> out) const {
  if (has_fill_) fill_elements(out, fill_);
}

logged::DatasetShape DatasetState::shape() {
  return {stored_.id, ndims(), static_cast<Count>(fill_.size()), fill_,
          filtered_ ? &unfilter_ : nullptr};
}

}  // namespace forebay
