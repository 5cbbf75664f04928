#include "hdf5/convert/storage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"
#include "dataset/copying.h"
#include "method/method_values.h"

namespace forebay::tools {
namespace {

constexpr Count most_chunk_bytes = Count{1} << 30;  // HDF5 allows less than 4 GiB

void set_chunk(hid_t creation, const std::vector<Count>& shape) {
  const std::vector<hsize_t> chunk(shape.begin(), shape.end());
  checked(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "a chunk shape");
}

// Returns a type with the size of elements, or of one byte, since shapes are chosen by size.
Type type_as_wide(Count width) {
  if (width == 2) return Type::int16;
  if (width == 4) return Type::int32;
  return width == 8 ? Type::int64 : Type::byte;
}

[[noreturn]] void refuse_codec(const std::string& stage, const std::string& name) {
  throw Error(Errc::enotsupport,
              printable(name) + ": HDF5 has no filter \"" + printable(stage) + "\" of its own",
              "give one that every reader has, for example --method codec=shuffle,deflate:4");
}

void add_filter(hid_t creation, const std::string& stage, const std::string& name) {
  const std::string word = stage.substr(0, stage.find(':'));
  if (word == "shuffle") {
    checked(H5Pset_shuffle(creation), "the filter shuffle");
    return;
  }
  if (word != "deflate") refuse_codec(stage, name);
  Count level = 6;
  if (word.size() < stage.size()) {
    const std::string parameter = stage.substr(word.size() + 1);
    level = parse_count(parameter.substr(parameter.find('=') + 1)).value_or(level);
  }
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0)
    throw Error(Errc::enotsupport, "this HDF5 was built without the filter deflate",
                "give --method codec=none");
  checked(H5Pset_deflate(creation, static_cast<unsigned>(std::clamp<Count>(level, 1, 9))),
          "the filter deflate");
}

}  // namespace

Hdf5Storage::Hdf5Storage(const Method& method)
    : method_(method),
      layout_given_(method.origin.contains("layout")),
      codec_given_(method.origin.contains("codec")),
      chunk_bytes_(method.origin.contains("chunk_bytes") ? method.chunk_bytes : 0) {
  for (const VariableRule& rule : method.variables) {
    layout_given_ = layout_given_ || rule.keys.contains("layout");
    codec_given_ = codec_given_ || rule.keys.contains("codec");
  }
}

void Hdf5Storage::apply(hid_t creation, const std::string& name, const Extents& extents,
                        Count width) const {
  if (extents.now.empty()) {
    checked(H5Premove_filter(creation, H5Z_FILTER_ALL), "filters");
    if (H5Pget_layout(creation) == H5D_CHUNKED)
      checked(H5Pset_layout(creation, H5D_CONTIGUOUS), "a layout");
    return;
  }
  const HintMap chosen = variable_method(method_, name);
  const bool grows = extents.now != extents.most;
  const bool plain = layout_given_ && chosen.at("layout") == "canonical";
  const bool coded = codec_given_ && chosen.at("codec") != "none";
  const bool chunked = grows || coded || (layout_given_ && !plain) ||
                       (!plain && H5Pget_layout(creation) == H5D_CHUNKED);
  const std::vector<Count> present = chunk_shape_of(creation, extents.now.size());
  if (codec_given_ || plain || !chunked)
    checked(H5Premove_filter(creation, H5Z_FILTER_ALL), "filters");
  if (chunked) {
    set_chunk(creation, chunk_shape(extents, width, present));
  } else if (plain || H5Pget_layout(creation) == H5D_CHUNKED) {
    checked(H5Pset_layout(creation, H5D_CONTIGUOUS), "a layout");
  }
  if (!coded) return;
  for (const std::string_view stage : items_of(chosen.at("codec"), ','))
    add_filter(creation, std::string(stage), name);
}

std::vector<Count> Hdf5Storage::chunk_shape(const Extents& extents, Count width,
                                            const std::vector<Count>& chunks) const {
  std::vector<Count> shape = chunks;
  if (shape.empty() || chunk_bytes_ > 0) {
    Variable draft;
    draft.name = "dataset";
    draft.type = type_as_wide(width);
    draft.shape = extents.now;
    for (std::size_t d = 0; d < extents.now.size(); ++d)
      draft.dimids.push_back(static_cast<DimId>(d));
    draft.is_record = extents.most[0] < 0;
    for (std::size_t d = draft.is_record ? 1 : 0; d < draft.shape.size(); ++d)
      draft.inner_elements *= std::max<Count>(draft.shape[d], 1);
    const Count scale = std::max<Count>(1, width / size_of(draft.type));
    const Count least = (chunk_bytes_ > 0 ? chunk_bytes_ : Count{1} << 20) / scale;
    shape = copied_chunk_shape(draft, std::max<Count>(least, 16));
  }
  Count bytes = width;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    // In HDF5 a chunk may not exceed a dimension of fixed length.
    const Count most = extents.most[d] < 0 ? shape[d] : extents.most[d];
    shape[d] = std::clamp<Count>(shape[d], 1, std::max<Count>(most, 1));
    if (!multiply_fits(bytes, shape[d], bytes) || bytes > most_chunk_bytes) {
      shape[d] = 1;
      bytes = width;
      for (std::size_t before = 0; before < d; ++before) bytes *= shape[before];
    }
  }
  return shape;
}

Hdf5Id new_file_access() {
  Hdf5Id access = owned(H5Pcreate(H5P_FILE_ACCESS), "file access");
#if H5_VERSION_GE(1, 10, 2)
  checked(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST), "file access");
#endif
  return access;
}

Hdf5Id open_with_cache(hid_t file, const std::string& path, std::size_t cache) {
  const Hdf5Id access = owned(H5Pcreate(H5P_DATASET_ACCESS), "dataset access");
  checked(H5Pset_chunk_cache(access, cache > 0 ? 12289 : 1, cache, 1.0), "dataset access");
  return owned(H5Dopen2(file, path.c_str(), access), "cannot be opened");
}

void sync_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0)
    throw system_error(errno, Errc::ecantwrite, "write", path);
}

}  // namespace forebay::tools
