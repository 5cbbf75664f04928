// Variables in the form of Zarr (version 2): metadata, and chunks that Zarr's codecs read. For
// references (files/references.h), and for stores that tools write.
//
// All chunks of a Zarr array have one shape: those at the end of a dimension are padded. Every
// chunk goes through every codec of its array; no stage can be skipped.
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

/// A pipeline as Zarr describes it.
struct Coding {
  Json filters;                     ///< a list, or null
  Json compressor;                  ///< an object, or null
  std::vector<std::string> stages;  ///< as in Pipeline::text()
  std::string refused;              ///< why Zarr cannot decode it; empty if it can
};

/// `text` is a pipeline for `type`; `order`, '>' or '<', is the byte order of elements.
Coding coding_of(const std::string& text, Type type, char order);

/// "<f4", "|i1", "|S1"
std::string dtype(Type type, char order);

/// Returns an element in external form as Zarr writes fill values.
Json fill_value(Type type, std::span<const std::byte> external);

/// Returns the text of .zarray. `fill` comes from fill_value(), or is null. `separator` is that of
/// chunk keys.
std::string array_text(const Variable& var, const std::vector<Count>& shape,
                       const std::vector<Count>& chunks, const Coding& coding, const Json& fill,
                       char order, char separator = '.');

/// Returns the text of .zattrs: the attributes except _FillValue. A variable also gets
/// _ARRAY_DIMENSIONS, with names that lack the variable's group. An attribute of the file with that
/// name is called _nc4_att__ARRAY_DIMENSIONS there.
std::string attributes_text(const AttributeList& attributes);
std::string attributes_text(const Schema& schema, const Variable& var);
std::string attributes_text(const AttributeList& attributes, const std::vector<std::string>& dims);

/// Prints JSON as Python's json module reads it: NaN and infinities are bare words. `indent` -1:
/// one line.
std::string printed(const Json& json, int indent = -1);

/// Encodes one whole chunk so that Zarr decodes it with `coding`. If the pipeline would skip a
/// stage, the stage's format is used without compression. `raw` has info.bytes() bytes.
/// Errc::enotsupport for a stage that changes values and cannot hold these.
std::vector<std::byte> encode(const Coding& coding, const Pipeline& pipeline, const ChunkInfo& info,
                              std::span<const std::byte> raw, CodecWorkspace& workspace);

/// "0.3.1"; "0" for a scalar.
std::string chunk_key(const std::vector<Count>& coordinates, char separator = '.');

/// An attribute of any JSON type, added to the text of .zattrs.
struct JsonAttribute {
  std::string name;
  Json value;
};
std::string attributes_text(const AttributeList& attributes, const JsonAttribute& more);

}  // namespace forebay::zarr
