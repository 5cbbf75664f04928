#include "format/chunk_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <string>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay::chunked {
namespace {

constexpr const char* dims_name = "__chunk_dims";
constexpr const char* shape_name = "__chunk_shape";
constexpr const char* filters_name = "__filters";
constexpr const char* root_name = "__chunk_root";
constexpr const char* root_format = "forebay chunk index 1 at byte %020lld";

Attribute text(const char* name, std::string_view value) {
  Attribute a{name, Type::chr, static_cast<Count>(value.size()), {}};
  const auto bytes = std::as_bytes(std::span(value));
  a.value.assign(bytes.begin(), bytes.end());
  return a;
}

Attribute integers(const char* name, std::span<const std::int32_t> values) {
  Attribute a{name, Type::int32, static_cast<Count>(values.size()), {}};
  a.value.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) store_be(a.value.data() + 4 * i, values[i]);
  return a;
}

std::string_view text_of(const Attribute& a) {
  return {reinterpret_cast<const char*>(a.value.data()), a.value.size()};
}

const Attribute* find(const AttributeList& list, const char* name) {
  const auto i = list.find(name);
  return i ? &list[*i] : nullptr;
}

[[noreturn]] void damaged(const Variable& anchor, const std::string& what) {
  throw Error(Errc::enotnc, "chunked variable " + anchor.name + ": " + what,
              "the file's header is damaged, or a tool that does not know chunks rewrote it");
}

std::vector<std::int32_t> integers_of(const Variable& anchor, const char* name) {
  const Attribute* a = find(anchor.attributes, name);
  if (a == nullptr || a->type != Type::int32)
    damaged(anchor, std::string("attribute ") + name + " is missing or has another type");
  std::vector<std::int32_t> values(static_cast<std::size_t>(a->count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_be<std::int32_t>(a->value.data() + 4 * i);
  return values;
}

Variable anchor_of(const Variable& var) {
  Variable anchor;
  anchor.name = var.name;
  anchor.type = var.type;
  anchor.attributes = var.attributes;
  anchor.no_fill = var.no_fill;
  anchor.begin = var.begin;
  std::vector<std::int32_t> dims(var.dimids.begin(), var.dimids.end());
  std::vector<std::int32_t> shape(dims.size(), 0);
  for (std::size_t d = 0; d < var.chunking->shape.size(); ++d)
    shape[d] = static_cast<std::int32_t>(var.chunking->shape[d]);
  anchor.attributes.append(integers(dims_name, dims));
  anchor.attributes.append(integers(shape_name, shape));
  anchor.attributes.append(text(filters_name, var.chunking->codec));
  return anchor;
}

Variable variable_of(const Variable& anchor, const Schema& stored) {
  Variable var;
  var.name = anchor.name;
  var.type = anchor.type;
  var.no_fill = anchor.no_fill;
  var.begin = anchor.begin;
  for (const Attribute& a : anchor.attributes) {
    if (!is_reserved_attribute(a.name)) var.attributes.append(a);
  }
  if (!anchor.dimids.empty()) damaged(anchor, "an anchor has no dimensions of its own");
  const auto dims = integers_of(anchor, dims_name);
  const auto shape = integers_of(anchor, shape_name);
  if (dims.empty() || shape.size() != dims.size())
    damaged(anchor, "its chunks have another number of dimensions than it has");
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0 || static_cast<std::size_t>(dims[d]) >= stored.dims.size())
      damaged(anchor, "there is no dimension " + std::to_string(dims[d]));
    if (d > 0 && stored.dims[static_cast<std::size_t>(dims[d])].is_record())
      damaged(anchor, "only its first dimension may be unlimited");
    var.dimids.push_back(dims[d]);
  }
  const Attribute* filters = find(anchor.attributes, filters_name);
  if (filters == nullptr || filters->type != Type::chr)
    damaged(anchor, std::string("attribute ") + filters_name + " is missing");
  Chunking chunking;
  chunking.codec = text_of(*filters);
  if (std::all_of(shape.begin(), shape.end(), [](std::int32_t n) { return n > 0; })) {
    chunking.shape.assign(shape.begin(), shape.end());
  } else if (std::any_of(shape.begin(), shape.end(), [](std::int32_t n) { return n != 0; })) {
    damaged(anchor, "a chunk cannot have a length of 0 or less");
  }
  var.chunking = std::move(chunking);
  return var;
}

}  // namespace

bool is_reserved_attribute(std::string_view name) {
  return name == dims_name || name == shape_name || name == filters_name || name == root_name;
}

Schema to_stored(const Schema& schema, Offset root) {
  Schema stored;
  stored.version = schema.version;
  stored.numrecs = schema.numrecs;
  for (const Dimension& dim : schema.dims) stored.add_dim(dim);
  stored.attributes = schema.attributes;
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), root_format, static_cast<long long>(root));
  stored.attributes.append(text(root_name, place.data()));
  for (const Variable& var : schema.vars) {
    stored.add_var(var.chunking ? anchor_of(var) : var);
    stored.vars.back().begin = var.begin;
  }
  stored.header_size = schema.header_size;
  stored.header_extent = schema.header_extent;
  stored.begin_rec = schema.begin_rec;
  return stored;
}

bool has_anchors(const Schema& stored) { return stored.attributes.find(root_name).has_value(); }

std::optional<Offset> root_of(const Schema& stored) {
  const Attribute* a = find(stored.attributes, root_name);
  if (a == nullptr || a->type != Type::chr) return std::nullopt;
  constexpr std::string_view words = "forebay chunk index 1 at byte ";
  const std::string_view value = text_of(*a);
  if (!value.starts_with(words)) return std::nullopt;
  const std::string_view digits = value.substr(words.size());
  Offset root = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), root);
  if (error != std::errc{} || end != digits.data() + digits.size() || root < 0) return std::nullopt;
  return root;
}

Schema from_stored(const Schema& stored, Offset& root) {
  const auto place = root_of(stored);
  if (!place) {
    throw Error(Errc::enotnc, std::string("attribute ") + root_name + " cannot be read",
                "the file was written by a newer version, or its header is damaged");
  }
  root = *place;
  Schema schema;
  schema.version = stored.version;
  schema.numrecs = stored.numrecs;
  for (const Dimension& dim : stored.dims) schema.add_dim(dim);
  for (const Attribute& a : stored.attributes) {
    if (!is_reserved_attribute(a.name)) schema.attributes.append(a);
  }
  for (const Variable& var : stored.vars) {
    const bool anchor =
        std::any_of(var.attributes.begin(), var.attributes.end(),
                    [](const Attribute& a) { return is_reserved_attribute(a.name); });
    if (!anchor && var.is_record)
      damaged(var, "a file with chunked variables cannot have others with records");
    schema.add_var(anchor ? variable_of(var, stored) : var);
    schema.vars.back().begin = var.begin;
  }
  schema.header_size = stored.header_size;
  schema.header_extent = stored.header_extent;
  schema.begin_rec = stored.begin_rec;
  return schema;
}

}  // namespace forebay::chunked
