#include "files/zarr.h"

#include <cmath>

#include "array/convert.h"
#include "base/error.h"
#include "base/words.h"
#include "codec/quantise.h"

namespace forebay::zarr {
namespace {

// Marks for numbers that JSON does not have. printed() replaces them.
constexpr const char* nan_mark = "\x01NaN\x01";
constexpr const char* infinity_mark = "\x01Infinity\x01";
constexpr const char* minus_infinity_mark = "\x01-Infinity\x01";

Json number(double value) {
  if (std::isnan(value)) return nan_mark;
  if (std::isinf(value)) return value > 0 ? infinity_mark : minus_infinity_mark;
  return value;
}

template <typename T>
std::vector<T> values_of(Type type, std::span<const std::byte> external, Count n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  from_external(type, external.data(), type_of<T>(), values.data(), n, nullptr);
  return values;
}

Json numbers(Type type, std::span<const std::byte> external, Count n) {
  Json list = Json::array();
  if (is_floating(type)) {
    for (const double v : values_of<double>(type, external, n)) list.push_back(number(v));
  } else if (type == Type::uint64) {
    for (const auto v : values_of<unsigned long long>(type, external, n)) list.push_back(v);
  } else {
    for (const auto v : values_of<long long>(type, external, n)) list.push_back(v);
  }
  return list;
}

Json attribute_value(const Attribute& attribute) {
  if (attribute.type == Type::chr) return text_of(attribute);
  Json list = numbers(attribute.type, attribute.value, attribute.count);
  return list.size() == 1 ? list[0] : list;
}

Json attributes_json(const AttributeList& attributes) {
  Json json = Json::object();
  for (const Attribute& attribute : attributes) {
    if (attribute.name != "_FillValue") json[attribute.name] = attribute_value(attribute);
  }
  return json;
}

/// Puts an attribute that Zarr's readers need. An attribute of the file with that name gets another
/// name, as in HDF5 files.
void put_own(Json& attributes, const std::string& name, Json value) {
  if (const auto its = attributes.find(name); its != attributes.end()) {
    std::string apart = name;
    do {
      apart.insert(0, "_nc4_att_");
    } while (attributes.contains(apart));
    const Json was = *its;
    attributes[apart] = was;
  }
  attributes[name] = std::move(value);
}

std::vector<std::string> stages_of(const std::string& text) {
  if (text == "none") return {};
  const std::vector<std::string_view> stages = items_of(text, ',');
  return {stages.begin(), stages.end()};
}

std::string name_of_stage(const std::string& stage) { return stage.substr(0, stage.find(':')); }

int level_of(const std::string& stage) {
  const std::size_t colon = stage.find(':');
  return colon == std::string::npos ? 1 : std::atoi(stage.c_str() + colon + 1);
}

void put_little(std::vector<std::byte>& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Prints stored blocks of RFC 1950 and 1951.
std::vector<std::byte> stored_zlib(std::span<const std::byte> in) {
  std::vector<std::byte> out;
  put_little(out, 0x0178, 2);
  std::uint32_t a = 1, b = 0;
  for (const std::byte byte : in) {
    a = (a + static_cast<std::uint32_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(65535, in.size() - at);
    out.push_back(static_cast<std::byte>(at + n == in.size() ? 1 : 0));
    put_little(out, n, 2);
    put_little(out, ~n, 2);
    append(out, in.subspan(at, n));
    at += n;
  } while (at < in.size());
  for (const std::uint32_t part : {b, a}) {
    out.push_back(static_cast<std::byte>(part >> 8));
    out.push_back(static_cast<std::byte>(part & 0xff));
  }
  return out;
}

// Prints one frame of raw blocks (RFC 8878), with the size of its content.
std::vector<std::byte> stored_zstd(std::span<const std::byte> in) {
  std::vector<std::byte> out;
  put_little(out, 0xFD2FB528, 4);
  put_little(out, 0xE0, 1);  // single segment, 8 bytes of size
  put_little(out, in.size(), 8);
  std::size_t at = 0;
  do {
    const std::size_t n = std::min<std::size_t>(128 << 10, in.size() - at);
    put_little(out, n << 3 | (at + n == in.size() ? 1 : 0), 3);
    append(out, in.subspan(at, n));
    at += n;
  } while (at < in.size());
  return out;
}

std::vector<std::byte> shuffled(std::span<const std::byte> in, std::size_t width) {
  std::vector<std::byte> out(in.size());
  const std::size_t n = in.size() / width;
  for (std::size_t b = 0; b < width; ++b)
    for (std::size_t i = 0; i < n; ++i) out[b * n + i] = in[i * width + b];
  return out;
}

}  // namespace

std::string dtype(Type type, char order) {
  const char* kind = "i";
  if (type == Type::chr) return "|S1";
  if (is_floating(type)) kind = "f";
  if (is_integer(type) && !is_signed(type)) kind = "u";
  const int width = size_of(type);
  return std::string(1, width == 1 ? '|' : order) + kind + std::to_string(width);
}

Coding coding_of(const std::string& text, Type type, char order) {
  Coding coding;
  coding.stages = stages_of(text);
  Json all = Json::array();
  int width = size_of(type);
  bool compressed = false;
  for (const std::string& stage : coding.stages) {
    const std::string name = name_of_stage(stage);
    compressed = name == "deflate" || name == "zstd";
    // Only Forebay uses checksums; quantised elements are not decoded.
    if (name == "checksum" || quantisation_of(stage)) continue;
    if (name == "shuffle") {
      all.push_back({{"id", "shuffle"}, {"elementsize", width}});
    } else if (name == "deflate") {
      all.push_back({{"id", "zlib"}, {"level", level_of(stage)}});
    } else if (name == "zstd") {
      all.push_back({{"id", "zstd"}, {"level", level_of(stage)}});
    } else if (name == "float32" && order == '>') {
      all.push_back({{"id", "astype"}, {"encode_dtype", ">f4"}, {"decode_dtype", ">f8"}});
      width = 4;
    } else {
      coding.refused = "Zarr cannot decode " + name;
      return coding;
    }
  }
  if (compressed) {
    coding.compressor = all.back();
    all.erase(all.size() - 1);
  }
  if (!all.empty()) coding.filters = all;
  return coding;
}

Json fill_value(Type type, std::span<const std::byte> external) {
  if (type != Type::chr) {
    const double value = values_of<double>(type, external, 1)[0];
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return numbers(type, external, 1)[0];
  }
  // Base64 of one byte.
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto c = static_cast<unsigned>(external[0]);
  return std::string{digits[c >> 2], digits[(c & 3) << 4], '=', '='};
}

std::string array_text(const Variable& var, const std::vector<Count>& shape,
                       const std::vector<Count>& chunks, const Coding& coding, const Json& fill,
                       char order, char separator) {
  Json json = {{"chunks", chunks},
               {"compressor", coding.compressor},
               {"dtype", dtype(var.type, order)},
               {"fill_value", fill},
               {"filters", coding.filters},
               {"order", "C"},
               {"shape", shape},
               {"zarr_format", 2}};
  if (separator != '.') json["dimension_separator"] = std::string(1, separator);
  return printed(json);
}

std::string attributes_text(const AttributeList& attributes) {
  return printed(attributes_json(attributes));
}

std::string attributes_text(const AttributeList& attributes, const JsonAttribute& more) {
  Json json = attributes_json(attributes);
  put_own(json, more.name, more.value);
  return printed(json);
}

std::string attributes_text(const Schema& schema, const Variable& var) {
  const std::string group = var.name.substr(0, var.name.rfind('/') + 1);
  std::vector<std::string> dims;
  for (const DimId dim : var.dimids) {
    const std::string& name = schema.dims[static_cast<std::size_t>(dim)].name;
    dims.push_back(name.starts_with(group) ? name.substr(group.size()) : name);
  }
  return attributes_text(var.attributes, dims);
}

std::string attributes_text(const AttributeList& attributes, const std::vector<std::string>& dims) {
  Json json = attributes_json(attributes);
  put_own(json, "_ARRAY_DIMENSIONS", dims);
  return printed(json);
}

std::string printed(const Json& json, int indent) {
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  for (const char* word : {"NaN", "Infinity", "-Infinity"}) {
    const std::string mark = std::string("\"\\u0001") + word + "\\u0001\"";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
      text.replace(at, mark.size(), word);
  }
  return text;
}

std::vector<std::byte> encode(const Coding& coding, const Pipeline& pipeline, const ChunkInfo& info,
                              std::span<const std::byte> raw, CodecWorkspace& workspace) {
  ChunkInfo plain = info;
  plain.plain = true;  // other readers do not know masks; elements have been quantised
  const EncodedChunk encoded = pipeline.encode(plain, raw, workspace);
  if (encoded.skipped == 0) return {encoded.bytes.begin(), encoded.bytes.end()};
  std::vector<std::byte> bytes(raw.begin(), raw.end());
  for (const std::string& stage : coding.stages) {
    const std::string name = name_of_stage(stage);
    if (name == "checksum" || quantisation_of(stage)) continue;
    if (name == "shuffle") {
      bytes = shuffled(bytes, static_cast<std::size_t>(size_of(info.type)));
    } else if (name == "deflate") {
      bytes = stored_zlib(bytes);
    } else if (name == "zstd") {
      bytes = stored_zstd(bytes);
    } else {
      throw Error(Errc::enotsupport, name + " cannot hold the values of a chunk");
    }
  }
  return bytes;
}

std::string chunk_key(const std::vector<Count>& coordinates, char separator) {
  std::string key;
  for (const Count c : coordinates) {
    if (!key.empty()) key += separator;
    key += std::to_string(c);
  }
  return key.empty() ? "0" : key;
}

}  // namespace forebay::zarr
