#include "decomposed/format/decomposed_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "array/decomposition.h"
#include "base/error.h"
#include "format/anchor.h"

namespace forebay::decomposed {
namespace {

constexpr const char* decomposed_dims_name = "__decom_dims";
constexpr const char* map_name = "__decom_map";
constexpr const char* decomposed_filters_name = "__filters";
constexpr const char* id_name = "__decom";
constexpr const char* id_format = "forebay decomposed 2 of %016llx";
constexpr std::string_view id_words = "forebay decomposed 2 of ";

[[noreturn]] void damaged_decomposition(const Variable& anchor, const std::string& what) {
  throw Error(Errc::enotnc, "decomposed variable " + anchor.name + ": " + what,
              "the file's header is damaged, or a tool that does not know maps rewrote it");
}

Variable decomposed_variable_of(const Variable& anchor, const Schema& stored) {
  Variable var = anchors::anchor_of(anchor);
  var.attributes = {};
  for (const Attribute& a : anchor.attributes)
    if (!is_reserved_attribute(a.name)) var.attributes.append(a);
  if (!anchor.dimids.empty())
    damaged_decomposition(anchor, "an anchor has no dimensions of its own");
  const auto dims = anchors::integers_of(anchor.attributes, decomposed_dims_name);
  if (!dims || dims->empty())
    damaged_decomposition(
        anchor, std::string("attribute ") + decomposed_dims_name + " has no numbers of dimensions");
  if (const std::string fault = anchors::fault_of_dims(*dims, stored); !fault.empty())
    damaged_decomposition(anchor, fault);
  var.dimids.assign(dims->begin(), dims->end());
  var.layout = &decomposed_layout;
  if (const Attribute* filters = anchors::find(anchor.attributes, decomposed_filters_name)) {
    if (filters->type != Type::chr)
      damaged_decomposition(anchor,
                            std::string("attribute ") + decomposed_filters_name + " is no text");
    var.slab_codec = text_of(*filters);
  }
  return var;
}

/// Adds the map by which a variable was defined, if any.
void add_decomposition(Schema& schema, Variable& var, const Variable& anchor) {
  if (!anchor.attributes.find(map_name)) return;
  const auto numbers = anchors::integers_of(anchor.attributes, map_name);
  if (!numbers || numbers->size() != 3 || (*numbers)[0] < 0 ||
      (*numbers)[0] >= static_cast<std::int64_t>(most_decompositions) || (*numbers)[1] < 1 ||
      (*numbers)[1] > var.ndims() || (*numbers)[2] < 1)
    damaged_decomposition(anchor,
                          std::string("attribute ") + map_name + " tells of no map that can be");
  const std::vector<DimId> dims(var.dimids.end() - (*numbers)[1], var.dimids.end());
  std::vector<Count> shape;
  for (const DimId d : dims) {
    shape.push_back(schema.dims[static_cast<std::size_t>(d)].length);
    if (shape.back() == 0)
      damaged_decomposition(anchor, "its decomposition map has the unlimited dimension");
  }
  const auto number = static_cast<std::size_t>((*numbers)[0]);
  if (schema.decompositions.size() <= number) schema.decompositions.resize(number + 1);
  auto& known = schema.decompositions[number];
  if (!known)
    known = std::make_shared<const Decomposition>(dims, std::move(shape), (*numbers)[2]);
  else if (known->dims() != dims || known->ranks() != (*numbers)[2])
    damaged_decomposition(anchor, "another variable says otherwise of its decomposition map");
  var.decomposition = (*numbers)[0];
}

}  // namespace

bool is_decomposed(const Variable& var) { return var.layout == &decomposed_layout; }

bool any_decomposed(const Schema& schema) {
  return std::any_of(schema.vars.begin(), schema.vars.end(), is_decomposed);
}

bool is_reserved_attribute(std::string_view name) {
  return name == decomposed_dims_name || name == map_name || name == decomposed_filters_name ||
         name == id_name || name == anchors::note_name;
}

bool is_encoded(const Variable& var) { return var.slab_codec && *var.slab_codec != "none"; }

void set_id(Schema& stored, std::uint64_t id) {
  std::array<char, 64> words{};
  std::snprintf(words.data(), words.size(), id_format, static_cast<unsigned long long>(id));
  stored.attributes.put(text_attribute(id_name, words.data()));
}

Schema to_stored(const Schema& schema, std::uint64_t id) {
  Schema stored = anchors::without_variables(schema, [](std::string_view) { return true; });
  set_id(stored, id);
  stored.attributes.put(anchors::note());
  stored.vars.reserve(schema.vars.size());
  for (const Variable& var : schema.vars) {
    if (is_decomposed(var)) {
      Variable anchor = anchors::anchor_of(var);
      const std::vector<std::int32_t> dims(var.dimids.begin(), var.dimids.end());
      anchor.attributes.append(anchors::integers(decomposed_dims_name, dims));
      if (is_encoded(var))
        anchor.attributes.append(text_attribute(decomposed_filters_name, *var.slab_codec));
      if (var.decomposition >= 0) {
        const Decomposition& map =
            *schema.decompositions[static_cast<std::size_t>(var.decomposition)];
        const std::int32_t numbers[] = {var.decomposition,
                                        static_cast<std::int32_t>(map.dims().size()), map.ranks()};
        anchor.attributes.append(anchors::integers(map_name, numbers));
      }
      stored.vars.push_back(std::move(anchor));
    } else {
      stored.vars.push_back(var);
    }
    stored.derive(stored.vars.back());
    stored.vars.back().begin = var.begin;
  }
  return stored;
}

bool has_anchors(const Schema& stored) { return stored.attributes.find(id_name).has_value(); }

std::optional<std::uint64_t> id_of(const Schema& stored) noexcept {
  const Attribute* a = anchors::find(stored.attributes, id_name);
  const std::string_view words = a && a->type == Type::chr ? text_of(*a) : std::string_view();
  const std::string_view digits =
      words.starts_with(id_words) ? words.substr(id_words.size()) : std::string_view();
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id, 16);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return id;
}

Schema from_stored(const Schema& stored, std::uint64_t& id) {
  const auto found = id_of(stored);
  if (!found)
    throw Error(Errc::enotnc, std::string("attribute ") + id_name + " cannot be read",
                "the file was written by another version, or its header is damaged");
  id = *found;
  Schema schema = anchors::without_variables(
      stored, [](std::string_view name) { return !is_reserved_attribute(name); });
  for (const Variable& var : stored.vars) {
    if (var.attributes.find(decomposed_dims_name)) {
      Variable seen = decomposed_variable_of(var, stored);
      add_decomposition(schema, seen, var);
      schema.add_var(std::move(seen));
    } else {
      schema.add_var(var);
    }
    schema.vars.back().begin = var.begin;
  }
  return schema;
}

}  // namespace forebay::decomposed
