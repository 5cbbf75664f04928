#include "format/chunk_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "format/anchor.h"

namespace forebay::chunked {
namespace {

constexpr const char* dims_name = "__chunk_dims";
constexpr const char* shape_name = "__chunk_shape";
constexpr const char* filters_name = "__filters";
constexpr const char* root_name = "__chunk_root";
constexpr const char* root_format = "forebay chunk index 1 at byte %020lld";
constexpr const char* files_format = "forebay chunk index 2 beside it, id %016llx";

using anchors::find, anchors::integers;

[[noreturn]] void damaged(const Variable& anchor, const std::string& what) {
  throw Error(Errc::enotnc, "chunked variable " + anchor.name + ": " + what,
              "the file's header is damaged, or a tool that does not know chunks rewrote it");
}

std::vector<std::int32_t> integers_of(const Variable& anchor, const char* name) {
  auto values = anchors::integers_of(anchor.attributes, name);
  if (!values)
    damaged(anchor, std::string("attribute ") + name + " is missing or has another type");
  return std::move(*values);
}

Variable anchor_of(const Variable& var) {
  Variable anchor = anchors::anchor_of(var);
  std::vector<std::int32_t> dims(var.dimids.begin(), var.dimids.end());
  std::vector<std::int32_t> shape(dims.size(), 0);
  for (std::size_t d = 0; d < var.chunking->shape.size(); ++d)
    shape[d] = static_cast<std::int32_t>(var.chunking->shape[d]);
  anchor.attributes.append(integers(dims_name, dims));
  anchor.attributes.append(integers(shape_name, shape));
  anchor.attributes.append(text_attribute(filters_name, var.chunking->codec));
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
  if (const std::string fault = anchors::fault_of_dims(dims, stored); !fault.empty())
    damaged(anchor, fault);
  var.dimids.assign(dims.begin(), dims.end());
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
  return name == dims_name || name == shape_name || name == filters_name || name == root_name ||
         name == anchors::note_name;
}

Schema to_stored(const Schema& schema, Offset root, std::optional<std::uint64_t> files) {
  Schema stored = anchors::without_variables(schema, [](std::string_view) { return true; });
  std::array<char, 64> place{};
  if (files) {
    std::snprintf(place.data(), place.size(), files_format,
                  static_cast<unsigned long long>(*files));
  } else {
    std::snprintf(place.data(), place.size(), root_format, static_cast<long long>(root));
  }
  stored.attributes.append(text_attribute(root_name, place.data()));
  stored.attributes.put(anchors::note());
  for (const Variable& var : schema.vars) {
    stored.add_var(var.chunking ? anchor_of(var) : var);
    stored.vars.back().begin = var.begin;
  }
  return stored;
}

bool has_anchors(const Schema& stored) { return stored.attributes.find(root_name).has_value(); }

namespace {

/// Returns the number behind `words` in the attribute; nothing if something else is there.
template <typename T>
std::optional<T> number_in_root(const Schema& stored, std::string_view words, int base) {
  const Attribute* a = find(stored.attributes, root_name);
  if (a == nullptr || a->type != Type::chr) return std::nullopt;
  const std::string_view value = text_of(*a);
  if (!value.starts_with(words)) return std::nullopt;
  const std::string_view digits = value.substr(words.size());
  T number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Offset> root_of(const Schema& stored) {
  const auto root = number_in_root<Offset>(stored, "forebay chunk index 1 at byte ", 10);
  return root && *root >= 0 ? root : std::nullopt;
}

std::optional<std::uint64_t> files_of(const Schema& stored) {
  return number_in_root<std::uint64_t>(stored, "forebay chunk index 2 beside it, id ", 16);
}

Schema from_stored(const Schema& stored, Offset& root) {
  const bool in_files = files_of(stored).has_value();
  const auto place = in_files ? std::optional(root_beside) : root_of(stored);
  if (!place) {
    throw Error(Errc::enotnc, std::string("attribute ") + root_name + " cannot be read",
                "the file was written by a newer version, or its header is damaged");
  }
  root = *place;
  Schema schema = anchors::without_variables(
      stored, [](std::string_view name) { return !is_reserved_attribute(name); });
  for (const Variable& var : stored.vars) {
    const bool anchor =
        std::any_of(var.attributes.begin(), var.attributes.end(),
                    [](const Attribute& a) { return is_reserved_attribute(a.name); });
    if (!anchor && var.is_record && !in_files)
      damaged(var, "a file with chunked variables cannot have others with records");
    schema.add_var(anchor ? variable_of(var, stored) : var);
    schema.vars.back().begin = var.begin;
  }
  return schema;
}

}  // namespace forebay::chunked
