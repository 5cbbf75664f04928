// Filters that are plug-ins of HDF5 and have parameters of their own kind: bitshuffle (32008), and
// H5Z-ZFP (32013). A file keeps the parameters that the plug-in has made of a program's:
//
//     bitshuffle   {major, minor version, bytes of an element, block, inner compressor, its level}
//     H5Z-ZFP      {versions, words of zfp's header: type, shape without lengths of 1, mode}
//
// A block of bitshuffle is a number of elements; 0 stands for 8 KiB. Ranks know bitshuffle without
// an inner compressor. A chunk of H5Z-ZFP is zfp's stream, without the header.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/codec_stage.h"
#include "layout/chunked/filter_ids.h"

namespace forebay::chunked {

/// Encodes and decodes as a plug-in does. Elements are little-endian where their values count.
class PluginStage : public CodecStage {
 public:
  /// The stream that the plug-in makes, whether or not it is smaller.
  virtual std::vector<std::byte> encode_always(std::span<const std::byte> raw,
                                               CodecWorkspace::State& state) const = 0;
  /// Upper limit for the bytes of a stream of so many bytes.
  virtual Count most_bytes(Count bytes) const { return bytes; }
};

/// Returns the filter that one stage of a pipeline's text stands for, in chunks of this shape;
/// nothing if it is none of these. Errc::enotsupport for a mode that the filter does not have.
std::optional<Filter> plugin_filter_of(const std::string& stage, Type type,
                                       const std::vector<Count>& chunk);

/// Returns what encodes and decodes chunks of this shape, with elements as wide as `type`; null if
/// the filter is none of these, or only HDF5 decodes it. The parameters may be any.
std::shared_ptr<const PluginStage> plugin_stage_of(const Filter& filter, Type type,
                                                   const std::vector<Count>& chunk);

/// Returns the parameters with which a program asks HDF5 for a filter that is not built into it.
std::vector<std::uint32_t> values_to_ask(const Filter& filter);

/// Returns a filter's number, with the name of its plug-in where that is known: "sz3 (32024)".
std::string filter_name(std::uint32_t id);

}  // namespace forebay::chunked
