#include "hdf5/connector/chunked_dataset.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/attempt.h"
#include "codec/pipeline.h"
#include "hdf5/connector/native_chunks.h"
#include "hdf5/connector/under_objects.h"
#include "layout/chunked/plugin_filters.h"
#include "plan/chunk_shape.h"

namespace forebay::vol {
namespace {

/// Smaller datasets would take more room in chunks.
constexpr Count least_encoded = 1 << 10;
/// Each rank holds the places of so many chunks at most.
constexpr Count most_places = 1 << 24;

Hdf5Id space_of(const UnderObject& dataset) {
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_SPACE;
  if (H5VLdataset_get(dataset.object, dataset.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
      0)
    throw_hdf5("asking for a dataset's extents");
  return owned_space(args.args.get_space.space_id);
}

/// Returns whether elements are numbers, or text, of a size that ranks encode.
bool has_plain_elements(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
    case H5T_ENUM:
    case H5T_BITFIELD:
    case H5T_OPAQUE:
      return true;
    case H5T_STRING:
      return H5Tis_variable_str(type) == 0;
    default:
      return false;
  }
}

/// Returns the filters of creation properties.
std::vector<chunked::Filter> filters_in(hid_t dcpl) {
  std::vector<chunked::Filter> filters;
  const int n = checked(H5Pget_nfilters(dcpl), "counting filters");
  for (int i = 0; i < n; ++i) {
    constexpr std::size_t most_values = 32;
    std::array<unsigned, most_values> values{};
    std::size_t count = most_values;
    unsigned flags = 0, config = 0;
    const H5Z_filter_t id = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &count,
                                           values.data(), 0, nullptr, &config);
    checked(id, "asking for a filter");
    count = std::min(count, most_values);
    filters.push_back({static_cast<std::uint32_t>(id), {values.begin(), values.begin() + count}});
  }
  return filters;
}

std::vector<std::byte> fill_in(hid_t dcpl, hid_t type) {
  std::vector<std::byte> fill(H5Tget_size(type));
  if (fill_rule_of(dcpl).value != H5D_FILL_VALUE_UNDEFINED)
    checked(H5Pget_fill_value(dcpl, type, fill.data()), "asking for the fill value");
  return fill;
}

/// Returns a variable of these extents, for functions that choose and check shapes.
Variable draft_of(const Extents& extents, std::size_t element_size) {
  Variable draft;
  draft.name = "dataset";
  draft.type = type_as_wide(element_size);
  draft.is_record = extents.most[0] < 0;
  draft.shape = extents.now;
  if (draft.is_record) draft.shape[0] = 0;
  for (std::size_t d = 0; d < draft.shape.size(); ++d) {
    draft.dimids.push_back(static_cast<DimId>(d));
    if (d > 0 || !draft.is_record) draft.inner_elements *= draft.shape[d];
  }
  return draft;
}

/// Returns whether the only dimension without a limit is not the first. HDF5 1.14.5, in the latest
/// format, tells wrong coordinates of the chunks of such datasets (H5Dchunk_iter).
bool grows_elsewhere(const Extents& extents) {
  return extents.most[0] >= 0 && std::count(extents.most.begin(), extents.most.end(), -1) == 1;
}

bool describe_filtered(ChunkedDataset& its, hid_t dcpl, const Extents& extents) {
  unsigned options = 0;
  // Chunks at the end of a dimension may be stored without filters.
  if (H5Pget_chunk_opts(dcpl, &options) < 0 || options != 0) return false;
  if (!has_plain_elements(its.type)) return false;
  its.form.little_endian = false;  // requests have the file's order of bytes already
  its.form.chunk = chunk_shape_of(dcpl, its.ndims);
  its.form.filters = filters_in(dcpl);
  its.form.skips_filters = false;
  its.form.fill = fill_in(dcpl, its.type);
  const auto codec =
      chunked::codec_of(its.form.filters, type_as_wide(its.element_size), its.form.chunk);
  if (!codec) return false;
  its.codec = *codec;
  return !attempt_to(
      [&] { check_chunk_shape(draft_of(extents, its.element_size), its.form.chunk); });
}

bool describe_placed(ChunkedDataset& its, hid_t dcpl, const Extents& extents) {
  const bool contiguous = H5Pget_layout(dcpl) == H5D_CONTIGUOUS && H5Pget_external_count(dcpl) == 0;
  if (!contiguous && !its.is_chunked) return false;
  // Addresses of values in the file's heap, and of objects, are HDF5's.
  if (has_varying_parts(its.type) || has_references(its.type)) return false;
  if (its.element_size > std::numeric_limits<int>::max()) return false;
  its.has_fields = H5Tdetect_class(its.type, H5T_COMPOUND) > 0;
  its.placed.element_size = static_cast<Count>(its.element_size);
  its.placed.chunk = contiguous ? extents.now : chunk_shape_of(dcpl, its.ndims);
  return true;
}

/// Returns the number of chunks of a dataset of these extents; more than most_places if there are
/// too many to keep their places.
Count chunks_of(const PlacedVariable& placed, const std::vector<Count>& extents) {
  Count chunks = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const Count length = (extents[d] + placed.chunk[d] - 1) / placed.chunk[d];
    if (length != 0 && chunks > most_places / length) return most_places + 1;
    chunks *= length;
  }
  return chunks;
}

/// Asks for the places of all chunks. Returns whether each has one.
bool has_all_chunks(PlacedVariable& placed, const UnderObject& dataset) {
  std::vector<Offset> places(static_cast<std::size_t>(chunks_of(placed, placed.extents)), -1);
  for_each_chunk(dataset, [&](const hsize_t* offset, unsigned, Offset place, Count) {
    Count id = 0;
    for (std::size_t d = 0; d < placed.chunk.size(); ++d) {
      const Count at = static_cast<Count>(offset[d]) / placed.chunk[d];
      if (at >= placed.grid_length(d)) return;
      id = id * placed.grid_length(d) + at;
    }
    places[static_cast<std::size_t>(id)] = place;
  });
  placed.places = std::move(places);
  return std::find(placed.places.begin(), placed.places.end(), -1) == placed.places.end();
}

bool are_available(const std::vector<chunked::Filter>& filters) {
  return std::all_of(filters.begin(), filters.end(), [](const chunked::Filter& filter) {
    return H5Zfilter_avail(static_cast<H5Z_filter_t>(filter.id)) > 0;
  });
}

}  // namespace

Extents present_extents(const UnderObject& dataset) { return extents_of(space_of(dataset)); }

Type type_as_wide(std::size_t element_size) {
  switch (element_size) {
    case 1:
      return Type::byte;
    case 2:
      return Type::int16;
    case 4:
      return Type::int32;
    default:
      return Type::int64;
  }
}

namespace {

/// Returns the type of elements for codecs of values.
Type element_type(hid_t type, std::size_t size) {
  if (H5Tget_class(type) != H5T_FLOAT || size < 4) return type_as_wide(size);
  return size == 4 ? Type::float32 : Type::float64;
}

}  // namespace

std::shared_ptr<ChunkedDataset> chunked_dataset(const UnderObject& dataset) {
  const Hdf5Id dcpl = creation_list(dataset);
  const Extents extents = present_extents(dataset);
  if (extents.now.empty() || grows_elsewhere(extents)) return nullptr;
  auto state = std::make_shared<ChunkedDataset>();
  // A named type would stay open.
  state->type = owned_type(H5Tcopy(type_of(dataset)));
  state->element_size = H5Tget_size(state->type);
  state->ndims = extents.now.size();
  state->grows = extents.most[0] < 0;
  state->is_chunked = H5Pget_layout(dcpl) == H5D_CHUNKED;
  const bool filtered = state->is_chunked && H5Pget_nfilters(dcpl) != 0;
  if (!(filtered ? describe_filtered(*state, dcpl, extents)
                 : describe_placed(*state, dcpl, extents)))
    return nullptr;
  state->token = token_of(dataset);
  return state;
}

bool find_places(ChunkedDataset& its, const UnderObject& dataset,
                 const std::vector<Count>& extents) {
  PlacedVariable& placed = its.placed;
  if (!its.stale && placed.extents == extents) return its.has_places;
  // With MPI-IO HDF5 gives all chunks their space when a dataset grows. Asking for one chunk takes
  // as long as asking for all, so that waits until the places are needed.
  const bool has_grown = !its.stale && its.has_places && its.is_chunked &&
                         extents[0] > placed.extents[0] &&
                         std::equal(extents.begin() + 1, extents.end(), placed.extents.begin() + 1);
  if (has_grown && chunks_of(placed, extents) <= most_places) {
    placed.extents = extents;
    return true;
  }
  its.stale = true;
  its.has_places = false;
  placed.extents = extents;
  placed.places.clear();
  if (!its.is_chunked) {
    placed.chunk = extents;
    if (const auto place = offset_of(dataset)) placed.places.push_back(*place);
    its.has_places = !placed.places.empty();
  } else if (chunks_of(placed, extents) <= most_places) {
    its.has_places = has_all_chunks(placed, dataset);
  }
  its.stale = false;
  return its.has_places;
}

void complete_places(ChunkedDataset& its, const UnderObject& dataset) {
  PlacedVariable& placed = its.placed;
  bool known = find_places(its, dataset, placed.extents);
  if (known && its.is_chunked && std::ssize(placed.places) != chunks_of(placed, placed.extents))
    known = has_all_chunks(placed, dataset);
  if (!known) throw Error(Errc::einternal, "HDF5 has no place for a chunk of " + its.name);
}

std::vector<chunked::Filter> hdf5_filters_of(const std::string& codec, Type type,
                                             const std::vector<Count>& chunk) {
  Variable draft;
  draft.name = "dataset";
  draft.type = type;
  try {
    return chunked::filters_of(codec, draft, chunk);
  } catch (const Error& error) {
    if (error.code() != Errc::enotsupport) throw;
    throw Error(Errc::enotsupport, "HDF5 has no filters for codec " + codec,
                "use shuffle, bitshuffle, deflate, fletcher32, zstd or zfp");
  }
}

std::optional<Hdf5Id> encoding_properties(hid_t dcpl, hid_t type, hid_t space,
                                          const std::string& codec, const Method& method) {
  const std::size_t size = H5Tget_size(type);
  const std::string its = Pipeline::parse(codec).for_type(element_type(type, size)).text();
  if (its == "none" || H5Sget_simple_extent_type(space) != H5S_SIMPLE) return std::nullopt;
  const H5D_layout_t layout = H5Pget_layout(dcpl);
  if (H5Pget_nfilters(dcpl) != 0 || !has_plain_elements(type)) return std::nullopt;
  if (layout != H5D_CHUNKED && (layout != H5D_CONTIGUOUS || H5Pget_external_count(dcpl) > 0))
    return std::nullopt;
  const Extents extents = extents_of(space);
  if (extents.now.empty() || grows_elsewhere(extents)) return std::nullopt;
  Hdf5Id changed = owned_list(H5Pcopy(dcpl));
  if (layout == H5D_CONTIGUOUS) {
    if (extents.now != extents.most) return std::nullopt;
    const Variable draft = draft_of(extents, size);
    if (draft.inner_bytes() < least_encoded) return std::nullopt;
    const auto shape = default_chunk_shape(draft, "", method.chunk_bytes).shape;
    const std::vector<hsize_t> chunk(shape.begin(), shape.end());
    checked(H5Pset_chunk(changed, static_cast<int>(chunk.size()), chunk.data()), "a chunk shape");
  }
  const auto filters =
      hdf5_filters_of(its, element_type(type, size), chunk_shape_of(changed, extents.now.size()));
  if (!are_available(filters))
    throw Error(Errc::enotsupport, "this HDF5 cannot find the filters of codec " + codec,
                "put the plug-in of the filter into HDF5_PLUGIN_PATH, or use shuffle,deflate:4");
  for (const chunked::Filter& filter : filters) {
    const auto asked = chunked::values_to_ask(filter);
    const std::vector<unsigned> values(asked.begin(), asked.end());
    checked(H5Pset_filter(changed, static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_MANDATORY,
                          values.size(), values.data()),
            "a filter");
  }
  return changed;
}

}  // namespace forebay::vol
