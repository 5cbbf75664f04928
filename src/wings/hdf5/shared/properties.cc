#include "hdf5/shared/properties.h"

#include <algorithm>

#include "base/error.h"

namespace forebay {

Extents extents_of(hid_t space) {
  Extents extents;
  extents.null = H5Sget_simple_extent_type(space) == H5S_NULL;
  const int n = H5Sget_simple_extent_ndims(space);
  if (extents.null || n <= 0) return extents;
  std::vector<hsize_t> now(static_cast<std::size_t>(n)), most(now.size());
  checked(H5Sget_simple_extent_dims(space, now.data(), most.data()), "asking for extents");
  static_assert(static_cast<Count>(H5S_UNLIMITED) == -1);
  extents.now.assign(now.begin(), now.end());
  extents.most.assign(most.begin(), most.end());
  if (std::any_of(extents.now.begin(), extents.now.end(), [](Count extent) { return extent < 0; }))
    throw Error(Errc::evarsize, "a dimension is longer than 63 bits can tell");
  return extents;
}

Hdf5Id simple_space(const std::vector<Count>& extents, const std::vector<Count>& most) {
  if (extents.empty()) return owned_space(H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> now(extents.begin(), extents.end()), limits(most.begin(), most.end());
  return owned_space(H5Screate_simple(static_cast<int>(now.size()), now.data(),
                                      limits.empty() ? nullptr : limits.data()));
}

void select(hid_t space, const Subarray& part) {
  if (part.start.empty()) return;
  if (part.elements() == 0) {
    checked(H5Sselect_none(space), "selecting nothing");
    return;
  }
  const std::vector<hsize_t> start(part.start.begin(), part.start.end()),
      count(part.count.begin(), part.count.end()), stride(part.stride.begin(), part.stride.end());
  checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(),
                              stride.empty() ? nullptr : stride.data(), count.data(), nullptr),
          "selecting a part of a dataset");
}

std::vector<Count> chunk_shape_of(hid_t creation, std::size_t rank) {
  if (rank == 0 || H5Pget_layout(creation) != H5D_CHUNKED) return {};
  std::vector<hsize_t> shape(rank);
  checked(H5Pget_chunk(creation, static_cast<int>(rank), shape.data()),
          "asking for the chunk shape");
  return {shape.begin(), shape.end()};
}

H5D_alloc_time_t alloc_time_of(hid_t creation) {
  H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
  checked(H5Pget_alloc_time(creation, &time), "asking for the allocation time");
  return time;
}

FillRule fill_rule_of(hid_t creation) {
  FillRule rule;
  checked(H5Pfill_value_defined(creation, &rule.value), "asking for the fill value");
  checked(H5Pget_fill_time(creation, &rule.time), "asking for the fill time");
  return rule;
}

bool has_varying_parts(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_VLEN:
      return true;
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0;
    case H5T_ARRAY:
      return has_varying_parts(owned_type(H5Tget_super(type)));
    case H5T_COMPOUND:
      for (int i = H5Tget_nmembers(type); i-- > 0;)
        if (has_varying_parts(owned_type(H5Tget_member_type(type, static_cast<unsigned>(i)))))
          return true;
      return false;
    default:
      return false;
  }
}

}  // namespace forebay
