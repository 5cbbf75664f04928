#include "tools/attribute_json.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "array/convert.h"
#include "tools/json.h"

namespace forebay::tools {

namespace {

template <typename T>
std::vector<T> values_of(const Attribute& attribute) {
  std::vector<T> values(static_cast<std::size_t>(attribute.count));
  from_external(attribute.type, attribute.value.data(), type_of<T>(), values.data(),
                attribute.count, nullptr);
  return values;
}

}  // namespace

Json json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json attribute_json(const Attribute& attribute) {
  Json json = {{"name", attribute.name}, {"type", name_of(attribute.type)}};
  if (attribute.type == Type::chr) {
    json["value"] = text_of(attribute);
    return json;
  }
  Json values = Json::array();
  if (is_floating(attribute.type)) {
    for (const double value : values_of<double>(attribute)) values.push_back(json_number(value));
  } else if (attribute.type == Type::uint64) {
    for (const auto value : values_of<unsigned long long>(attribute)) values.push_back(value);
  } else {
    for (const auto value : values_of<long long>(attribute)) values.push_back(value);
  }
  json["value"] = std::move(values);
  return json;
}

Json attributes_json(const AttributeList& attributes) {
  Json json = Json::array();
  for (const Attribute& attribute : attributes) json.push_back(attribute_json(attribute));
  return json;
}

Json source_json(const Source& source, const std::vector<VarId>& vars,
                 const std::function<void(Json& var, VarId id)>& add) {
  const Schema& schema = source.schema();
  Json json = {{"path", source.path()}, {"format", source.format()}};
  json["dimensions"] = json["variables"] = Json::array();
  for (std::size_t d = 0; d < schema.dims.size(); ++d) {
    const auto id = static_cast<DimId>(d);
    json["dimensions"].push_back({{"name", schema.dims[d].name},
                                  {"length", source.length(id)},
                                  {"unlimited", source.unlimited(id)}});
  }
  for (const VarId id : vars) {
    const Variable& var = schema.vars[static_cast<std::size_t>(id)];
    Json item = {{"name", var.name}, {"type", name_of(var.type)}};
    item["dimensions"] = Json::array();
    for (const DimId dim : var.dimids)
      item["dimensions"].push_back(schema.dims[static_cast<std::size_t>(dim)].name);
    item["shape"] = source.shape(id);
    add(item, id);
    item["attributes"] = attributes_json(var.attributes);
    json["variables"].push_back(std::move(item));
  }
  json["attributes"] = attributes_json(schema.attributes);
  for (const SourceGroup& group : source.groups())
    json["groups"].push_back(
        {{"path", group.path}, {"attributes", attributes_json(group.attributes)}});
  for (const LeftOut& item : source.left_out())
    json["left_out"].push_back({{"name", item.name}, {"what", item.what}});
  return json;
}

std::vector<VarId> all_variables(const Source& source) {
  std::vector<VarId> ids(source.schema().vars.size());
  std::iota(ids.begin(), ids.end(), VarId{0});
  return ids;
}

}  // namespace forebay::tools
