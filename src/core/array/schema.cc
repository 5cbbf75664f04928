#include "array/schema.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <utility>

#include "base/byteorder.h"
#include "base/error.h"

namespace forebay {

std::optional<int> NameIndex::find(std::string_view name) const {
  auto it = map_.find(name);
  if (it == map_.end()) return std::nullopt;
  return it->second;
}

void NameIndex::add(std::string_view name, int id) { map_.emplace(std::string(name), id); }

void NameIndex::rename(std::string_view from, std::string_view to) {
  auto it = map_.find(from);
  if (it == map_.end()) return;
  const int id = it->second;
  map_.erase(it);
  map_.emplace(std::string(to), id);
}

namespace {

constexpr std::size_t few_attributes = 8;

std::size_t hash_of_name(std::string_view name) { return std::hash<std::string_view>{}(name); }

}  // namespace

std::optional<int> AttributeList::find(std::string_view name) const {
  if (places_.empty()) {
    for (std::size_t i = 0; i < list_.size(); ++i)
      if (list_[i].name == name) return static_cast<int>(i);
    return std::nullopt;
  }
  const std::size_t last = places_.size() - 1;
  for (std::size_t at = hash_of_name(name) & last; places_[at] != 0; at = (at + 1) & last)
    if (list_[places_[at] - 1].name == name) return static_cast<int>(places_[at]) - 1;
  return std::nullopt;
}

void AttributeList::note(std::size_t i) {
  const std::size_t last = places_.size() - 1;
  std::size_t at = hash_of_name(list_[i].name) & last;
  while (places_[at] != 0) at = (at + 1) & last;
  places_[at] = static_cast<std::uint32_t>(i + 1);
}

void AttributeList::note_all() {
  if (places_.empty()) return;
  std::fill(places_.begin(), places_.end(), 0);
  for (std::size_t i = 0; i < list_.size(); ++i) note(i);
}

void AttributeList::put(Attribute attribute) {
  if (auto i = find(attribute.name)) {
    list_[static_cast<std::size_t>(*i)] = std::move(attribute);
  } else {
    append(std::move(attribute));
  }
}

void AttributeList::append(Attribute attribute) {
  if (list_.empty()) list_.reserve(4);  // most variables have two to four
  const std::size_t size = list_.size() + 1;
  const bool grows = size > few_attributes && places_.size() < 2 * size;
  std::vector<std::uint32_t> larger(grows ? std::bit_ceil(4 * size) : 0);
  list_.push_back(std::move(attribute));  // from here on nothing fails
  if (grows) {
    places_.swap(larger);
    note_all();
  } else if (!places_.empty()) {
    note(size - 1);
  }
}

void AttributeList::rename(int i, std::string name) {
  list_[static_cast<std::size_t>(i)].name = std::move(name);
  note_all();
}

void AttributeList::remove(int i) {
  list_.erase(list_.begin() + i);
  note_all();
}

std::optional<int> Schema::record_dim() const {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_record()) return static_cast<int>(i);
  }
  return std::nullopt;
}

const Dimension& Schema::dim(int id) const {
  if (id < 0 || id >= std::ssize(dims))
    throw Error(Errc::ebaddim, "there is no dimension " + std::to_string(id));
  return dims[static_cast<std::size_t>(id)];
}

int Schema::add_dim(Dimension dim) {
  const int id = static_cast<int>(dims.size());
  dim_index_.add(dim.name, id);
  dims.push_back(std::move(dim));
  return id;
}

int Schema::add_var(Variable var) {
  derive(var);
  const int id = static_cast<int>(vars.size());
  var_index_.add(var.name, id);
  vars.push_back(std::move(var));
  return id;
}

void Schema::rename_dim(int id, std::string name) {
  auto& dim = dims[static_cast<std::size_t>(id)];
  dim_index_.rename(dim.name, name);
  dim.name = std::move(name);
}

void Schema::rename_var(int id, std::string name) {
  auto& var = vars[static_cast<std::size_t>(id)];
  var_index_.rename(var.name, name);
  var.name = std::move(name);
}

void Schema::derive(Variable& var) const {
  var.shape.clear();
  var.inner_elements = 1;
  var.is_record = !var.dimids.empty() && dims[static_cast<std::size_t>(var.dimids[0])].is_record();
  for (std::size_t d = 0; d < var.dimids.size(); ++d) {
    const Count length = dims[static_cast<std::size_t>(var.dimids[d])].length;
    var.shape.push_back(length);
    if (d == 0 && var.is_record) continue;
    if (!multiply_fits(var.inner_elements, length, var.inner_elements)) {
      throw Error(Errc::evarsize,
                  "variable " + var.name + ": the product of its dimensions exceeds 63 bits");
    }
  }
  Count bytes = 0;
  if (!multiply_fits(var.inner_elements, size_of(var.type), bytes) || !add_fits(bytes, 3, bytes)) {
    throw Error(Errc::evarsize, "variable " + var.name + ": its size in bytes exceeds 63 bits");
  }
  var.vsize = bytes / 4 * 4;
}

bool Schema::any_chunked() const {
  return std::any_of(vars.begin(), vars.end(), [](const Variable& v) { return v.chunking; });
}

Attribute text_attribute(std::string name, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {std::move(name), Type::chr, std::ssize(text), {bytes.begin(), bytes.end()}};
}

std::string_view text_of(const Attribute& attribute) {
  const std::string_view text(reinterpret_cast<const char*>(attribute.value.data()),
                              attribute.value.size());
  return text.substr(0, text.find_last_not_of('\0') + 1);
}

const Attribute* own_fill_value(const Variable& var, Type type) {
  const auto i = var.attributes.find("_FillValue");
  if (!i) return nullptr;
  const Attribute& a = var.attributes[*i];
  return a.type == type && a.count == 1 ? &a : nullptr;
}

std::vector<std::byte> external_fill(const Variable& var) {
  if (const Attribute* own = own_fill_value(var, var.type)) return own->value;
  const auto width = static_cast<std::size_t>(size_of(var.type));
  std::vector<std::byte> value(width);
  std::byte native[8];
  default_fill(var.type, native);
  copy_swapped(value.data(), native, width, static_cast<int>(width));
  return value;
}

}  // namespace forebay
