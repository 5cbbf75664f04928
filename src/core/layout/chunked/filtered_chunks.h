// Chunks as HDF5 stores them: all of one shape, in the file's order of bytes, through a list of
// filters. Codecs of a pipeline stand for filters, and filters for codecs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array/schema.h"
#include "codec/pipeline.h"
#include "layout/chunked/coder.h"
#include "layout/chunked/filter_ids.h"

namespace forebay::chunked {

/// How HDF5 stores the elements of a variable in chunks.
struct StoredForm {
  bool little_endian = true;
  std::vector<Count> chunk;     ///< elements of a chunk per dimension; empty: not chosen yet
  std::vector<Filter> filters;  ///< in the order in which they encode
  std::vector<std::byte> fill;  ///< one element in the order of bytes that the file has
  /// Whether chunks that filters do not make smaller are stored without them.
  bool skips_filters = true;

  bool operator==(const StoredForm&) const = default;
};

/// Returns the filters of a pipeline's text, for a type that has passed Pipeline::for_type, in
/// chunks of this shape. If that is not chosen yet (empty), the filters are some that may need
/// other parameters. Errc::enotsupport, naming the variable, for a codec without a filter.
std::vector<Filter> filters_of(const std::string& codec, const Variable& var,
                               const std::vector<Count>& chunk);

/// Sets the shape of the chunks of a new variable, and parameters of filters that depend on it.
void take_shape(StoredForm& stored, const Variable& var, const std::vector<Count>& chunk);

/// Returns the pipeline's text that encodes as filters do; nothing if ranks cannot decode them.
std::optional<std::string> codec_of(const std::vector<Filter>& filters, Type type,
                                    const std::vector<Count>& chunk);

/// Returns the plug-in that readers need for a filter; nothing: HDF5 has the filter.
std::optional<std::string> plugin_for(const Filter& filter);

/// Returns the form of a variable's chunks. `stored` has their filters and shape. If the variable's
/// codec quantises, values are quantised before the filters.
std::shared_ptr<const ChunkForm> form_of(const StoredForm& stored, const Variable& var);

/// Fletcher's checksum of 32 bits, as HDF5 has it, over words of two bytes.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace forebay::chunked
