#include "format/anchor.h"

#include <algorithm>

#include "base/byteorder.h"

namespace forebay::anchors {

namespace {
constexpr std::string_view front = "__", end = "_dims";
}  // namespace

Attribute note() {
  return text_attribute(
      note_name,
      "Variables with the attribute __chunk_dims or __decom_dims are stand-ins: scalars that hold "
      "one fill value. Their values are stored apart; Forebay reads them, and forebay convert "
      "makes "
      "an ordinary file. A copy by other tools has lost them.");
}

Attribute integers(const char* name, std::span<const std::int32_t> values) {
  Attribute a{name, Type::int32, static_cast<Count>(values.size()), {}};
  a.value.resize(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i) store_be(a.value.data() + 4 * i, values[i]);
  return a;
}

const Attribute* find(const AttributeList& list, const char* name) {
  const auto i = list.find(name);
  return i ? &list[*i] : nullptr;
}

std::optional<std::vector<std::int32_t>> integers_of(const AttributeList& list, const char* name) {
  const Attribute* a = find(list, name);
  if (a == nullptr || a->type != Type::int32) return std::nullopt;
  std::vector<std::int32_t> values(static_cast<std::size_t>(a->count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_be<std::int32_t>(a->value.data() + 4 * i);
  return values;
}

std::string fault_of_dims(std::span<const std::int32_t> dims, const Schema& stored) {
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 0 || static_cast<std::size_t>(dims[d]) >= stored.dims.size())
      return "there is no dimension " + std::to_string(dims[d]);
    if (d > 0 && stored.dims[static_cast<std::size_t>(dims[d])].is_record())
      return "only its first dimension may be unlimited";
  }
  return {};
}

UnknownAnchors::UnknownAnchors(const Schema& schema) {
  for (const Attribute& a : schema.attributes)
    if (a.name.starts_with(front)) names_.push_back(a.name);
  std::sort(names_.begin(), names_.end());
}

const Attribute* UnknownAnchors::mark_of(const Variable& var) const {
  if (var.ndims() > 0 || names_.empty()) return nullptr;
  for (const Attribute& a : var.attributes) {
    if (a.name.size() <= front.size() + end.size()) continue;
    if (!a.name.starts_with(front) || !a.name.ends_with(end)) continue;
    const std::string name = a.name.substr(0, a.name.size() - end.size());
    if (std::binary_search(names_.begin(), names_.end(), name)) return &a;
    const auto longer = std::lower_bound(names_.begin(), names_.end(), name + "_");
    if (longer != names_.end() && longer->starts_with(name + "_")) return &a;
  }
  return nullptr;
}

std::optional<Error> UnknownAnchors::refusal(const Variable& var) const {
  const Attribute* const mark = mark_of(var);
  if (mark == nullptr) return std::nullopt;
  return Error(Errc::enotbuilt,
               "variable " + var.name + " stands for values that lie elsewhere, in a layout " +
                   "that this build lacks (attribute " + mark->name + ")",
               "use a build with all wings");
}

Variable anchor_of(const Variable& var) {
  Variable anchor;
  anchor.name = var.name;
  anchor.type = var.type;
  anchor.attributes = var.attributes;
  anchor.no_fill = var.no_fill;
  anchor.begin = var.begin;
  return anchor;
}

Schema without_variables(const Schema& from, bool (*keep)(std::string_view attribute)) {
  Schema schema;
  schema.version = from.version;
  schema.numrecs = from.numrecs;
  for (const Dimension& dim : from.dims) schema.add_dim(dim);
  for (const Attribute& a : from.attributes)
    if (keep(a.name)) schema.attributes.append(a);
  schema.header_size = from.header_size;
  schema.header_extent = from.header_extent;
  schema.begin_rec = from.begin_rec;
  schema.recsize = from.recsize;
  return schema;
}

}  // namespace forebay::anchors
