// What Zarr (version 2) needs to be told of a variable: its metadata, and chunks in the form that
// Zarr's codecs read. For references (files/references.h) and for stores that tools write.
//
// Zarr chunks are all of one shape: those at the end of a dimension are padded. Every chunk goes
// through every codec of its array; there is no leaving a stage out for one chunk.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/types.h"
#include "codec/pipeline.h"

namespace forebay::zarr {

using Json = nlohmann::ordered_json;

/// A pipeline in Zarr's terms.
struct Coding {
  Json filters;                     ///< a list, or null
  Json compressor;                  ///< an object, or null
  std::vector<std::string> stages;  ///< as in Pipeline::text()
  std::string refused;              ///< why Zarr cannot decode it; empty if it can
};

/// `text` is a pipeline for `type`; `order` '>' or '<' is the byte order of elements.
Coding coding_of(const std::string& text, Type type, char order);

/// "<f4", "|i1", "|S1"
std::string dtype(Type type, char order);

/// An element in external form as Zarr writes fill values; null for none.
Json fill_value(Type type, std::span<const std::byte> external);

/// The text of .zarray. `fill` as fill_value() gives it; `separator` stands in keys of chunks.
std::string array_text(const Variable& var, const std::vector<Count>& shape,
                       const std::vector<Count>& chunks, const Coding& coding, const Json& fill,
                       char order, char separator = '.');

/// The text of .zattrs: attributes but _FillValue; of a variable also _ARRAY_DIMENSIONS, whose
/// names are without that of the variable's group.
std::string attributes_text(const AttributeList& attributes);
std::string attributes_text(const Schema& schema, const Variable& var);
std::string attributes_text(const AttributeList& attributes, const std::vector<std::string>& dims);

/// JSON as Python's json module reads it: NaN and infinities are bare words. `indent` -1: one line.
std::string printed(const Json& json, int indent = -1);

/// One whole chunk in the form that Zarr decodes with `coding`: where the pipeline would leave the
/// chunk as it is, stages store it in their format without compression. `raw` has info.bytes()
/// bytes. Errc::enotsupport for a stage that changes values and cannot hold these.
std::vector<std::byte> encode(const Coding& coding, const Pipeline& pipeline, const ChunkInfo& info,
                              std::span<const std::byte> raw, CodecWorkspace& workspace);

/// "0.3.1"; "0" for a scalar.
std::string chunk_key(const std::vector<Count>& coordinates, char separator = '.');

/// An attribute of JSON's own kind, put into the text of .zattrs.
struct JsonAttribute {
  std::string name;
  Json value;
};
std::string attributes_text(const AttributeList& attributes, const JsonAttribute& more);

}  // namespace forebay::zarr
