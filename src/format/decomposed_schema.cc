#include "format/decomposed_schema.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "format/anchor.h"

namespace forebay::decomposed {
namespace {

constexpr const char* dims_name = "__decom_dims";
constexpr const char* id_name = "__decom";
constexpr const char* id_format = "forebay decomposed 1 of %016llx";
constexpr std::string_view id_words = "forebay decomposed 1 of ";

[[noreturn]] void damaged(const Variable& anchor, const std::string& what) {
  throw Error(Errc::enotnc, "decomposed variable " + anchor.name + ": " + what,
              "the file's header is damaged, or a tool that does not know maps rewrote it");
}

Variable variable_of(const Variable& anchor, const Schema& stored) {
  Variable var = anchors::anchor_of(anchor);
  var.attributes = {};
  for (const Attribute& a : anchor.attributes)
    if (!is_reserved_attribute(a.name)) var.attributes.append(a);
  if (!anchor.dimids.empty()) damaged(anchor, "an anchor has no dimensions of its own");
  const auto dims = anchors::integers_of(anchor.attributes, dims_name);
  if (!dims || dims->empty())
    damaged(anchor, std::string("attribute ") + dims_name + " has no numbers of dimensions");
  if (const std::string fault = anchors::fault_of_dims(*dims, stored); !fault.empty())
    damaged(anchor, fault);
  var.dimids.assign(dims->begin(), dims->end());
  var.decomposed = true;
  return var;
}

}  // namespace

bool is_reserved_attribute(std::string_view name) { return name == dims_name || name == id_name; }

Schema to_stored(const Schema& schema, std::uint64_t id) {
  Schema stored = anchors::without_variables(schema, [](std::string_view) { return true; });
  std::array<char, 64> words{};
  std::snprintf(words.data(), words.size(), id_format, static_cast<unsigned long long>(id));
  stored.attributes.append(anchors::text(id_name, words.data()));
  for (const Variable& var : schema.vars) {
    if (var.decomposed) {
      Variable anchor = anchors::anchor_of(var);
      const std::vector<std::int32_t> dims(var.dimids.begin(), var.dimids.end());
      anchor.attributes.append(anchors::integers(dims_name, dims));
      stored.add_var(std::move(anchor));
    } else {
      stored.add_var(var);
    }
    stored.vars.back().begin = var.begin;
  }
  return stored;
}

bool has_anchors(const Schema& stored) { return stored.attributes.find(id_name).has_value(); }

std::optional<std::uint64_t> id_of(const Schema& stored) noexcept {
  const Attribute* a = anchors::find(stored.attributes, id_name);
  const std::string_view words =
      a && a->type == Type::chr ? anchors::text_of(*a) : std::string_view();
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
                "the file was written by a newer version, or its header is damaged");
  id = *found;
  Schema schema = anchors::without_variables(
      stored, [](std::string_view name) { return !is_reserved_attribute(name); });
  for (const Variable& var : stored.vars) {
    schema.add_var(var.attributes.find(dims_name) ? variable_of(var, stored) : var);
    schema.vars.back().begin = var.begin;
  }
  return schema;
}

}  // namespace forebay::decomposed
