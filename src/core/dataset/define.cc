// The definitions of a Dataset: dimensions, variables, attributes and their names.
#include <limits>
#include <string>
#include <utility>

#include "array/convert.h"
#include "array/names.h"
#include "dataset/dataset.h"
#include "dataset/decompositions.h"
#include "method/part.h"

namespace forebay {

namespace {

constexpr const char* fill_value_name = "_FillValue";

/// Returns the longest dimension of a format. Four-byte fields leave room for the rounding to four
/// bytes. CDF-5 checks the sizes of variables but not the lengths.
Count max_dim_length(int version) {
  switch (version) {
    case 1:
      return std::numeric_limits<std::int32_t>::max() - 3;
    case 2:
      return Count{std::numeric_limits<std::uint32_t>::max()} - 3;
    default:
      return std::numeric_limits<Count>::max();
  }
}

[[noreturn]] void name_in_use(const std::string& name) {
  throw Error(Errc::enameinuse, "the name \"" + name + "\" is in use");
}

/// Returns the bytes of an attribute's value in the header.
Count padded_bytes(const Attribute& a) { return round_up(a.count * size_of(a.type), 4); }

/// Outside define mode the header keeps its place, so a name or value cannot grow.
void require_no_growth(Count before, Count after, const std::string& what) {
  if (after <= before) return;
  throw Error(Errc::enotindefine,
              what + " would grow from " + std::to_string(before) + " to " + std::to_string(after) +
                  " bytes",
              "call redef first");
}

void check_owner(const Schema& schema, VarId owner) {
  if (owner == global_id) return;
  if (owner < 0 || owner >= static_cast<int>(schema.vars.size())) {
    throw Error(Errc::enotvar, "there is no variable " + std::to_string(owner));
  }
}

/// Readers rely on one value of the variable's own type.
void check_fill_value(const Variable& var, Type type, Count count) {
  if (type != var.type) {
    throw Error(Errc::ebadtype,
                "_FillValue of " + var.name + " must have type " + name_of(var.type));
  }
  if (count != 1) throw Error(Errc::einval, "_FillValue of " + var.name + " must be one value");
}

int find_attribute(const AttributeList& list, const std::string& name) {
  if (const auto i = list.find(normalized_name(name))) return *i;
  throw Error(Errc::enotatt, "there is no attribute \"" + name + "\"");
}

}  // namespace

void Dataset::agree_on_call(std::string_view function, const std::optional<Error>& mine,
                            const SharedArguments& arguments, bool always) {
  if ((method_.safe_mode || always) && !parted_)
    parted_ = !forebay::agree_on_call(comm_, function, mine, arguments);
  if (parted_)
    throw Error(Errc::emultidefine, "ranks call different functions where all must call the same");
  if (mine) throw *mine;
}

void Dataset::check_dim(const std::string& name, Count length) const {
  require_define();
  const std::string checked = checked_name(name);
  if (length < 0 || length > max_dim_length(schema_.version)) {
    throw Error(Errc::edimsize, "dimension " + checked + " cannot be " + std::to_string(length) +
                                    " long in this file format");
  }
  if (length == 0 && schema_.record_dim()) {
    throw Error(Errc::eunlimit, "there is an unlimited dimension already");
  }
  if (schema_.find_dim(checked)) name_in_use(checked);
}

DimId Dataset::def_dim(const std::string& name, Count length) {
  check_dim(name, length);
  header_changed();
  return schema_.add_dim({checked_name(name), length});
}

VarId Dataset::def_var(const std::string& name, Type type, std::span<const DimId> dimids) {
  require_define();
  const std::string checked = checked_name(name);
  check_type(type, schema_.version);
  for (std::size_t i = 0; i < dimids.size(); ++i) {
    if (schema_.dim(dimids[i]).is_record() && i > 0) {
      throw Error(Errc::eunlimpos, "only the first dimension of " + checked + " may be unlimited");
    }
  }
  if (schema_.find_var(checked)) name_in_use(checked);
  Variable var;
  var.name = checked;
  var.type = type;
  var.dimids.assign(dimids.begin(), dimids.end());
  var.no_fill = !fill_;
  header_changed();
  return schema_.add_var(std::move(var));
}

int Dataset::def_decomposition(std::shared_ptr<const Decomposition> map) {
  require_define();
  schema_.decompositions.push_back(std::move(map));
  return static_cast<int>(schema_.decompositions.size()) - 1;
}

namespace {

// A decomposition makes a variable decomposed unless another layout is named.
void note_other_layout(Method& method, const std::string& variable) {
  const std::string& layout = variable_value(method, variable, "layout");
  if (layout == "decomposed") return;
  const std::string what = "the decomposition of variable " + variable;
  if (const auto said = said_outside(method, variable, "layout"))
    note_overruled(method, what, *said);
  else if (method.origin.contains("layout"))
    note_overruled(method, what, "layout=" + layout + " (" + method.origin_of("layout") + ")");
  else if (const auto error = absent("layout", "decomposed", what))
    method.notes.emplace_back(error->what());
}

}  // namespace

VarId Dataset::def_var_by(const std::string& name, Type type, std::span<const DimId> leading,
                          int map) {
  std::vector<DimId> dims(leading.begin(), leading.end());
  const auto& last = decomposition_in(schema_, map).dims();
  dims.insert(dims.end(), last.begin(), last.end());
  const VarId id = def_var(name, type, dims);
  schema_.vars[static_cast<std::size_t>(id)].decomposition = map;
  note_other_layout(method_, name);
  return id;
}

const Decomposition& Dataset::own_decomposition(int id) {
  const std::string name = "decomposition map " + std::to_string(id);
  const int ranks = decomposition_in(schema_, id).ranks();
  if (ranks != comm_.size())
    throw Error(Errc::einval,
                name + " was defined by " + std::to_string(ranks) + " ranks, not by " +
                    std::to_string(comm_.size()),
                "use get_vara and the like, which any number of ranks may call");
  if (!decomposition_in(schema_, id).has_pieces())
    if (auto stored = container_->stored_decomposition(id))
      schema_.decompositions[static_cast<std::size_t>(id)] = std::move(stored);
  if (!decomposition_in(schema_, id).has_pieces())
    throw Error(Errc::einval,
                "the file does not tell the pieces of " + name +
                    ": some rank had them in another order than the array's",
                "use get_varn, or get_vara and the like");
  return decomposition_in(schema_, id);
}

void Dataset::rename_dim(DimId id, const std::string& name) {
  require_writable();
  const std::string& old = schema_.dim(id).name;
  const std::string checked = checked_name(name);
  if (checked == old) return;
  if (schema_.find_dim(checked)) name_in_use(checked);
  if (!in_define_mode()) {
    require_no_growth(static_cast<Count>(old.size()), static_cast<Count>(checked.size()),
                      "the name of dimension " + old);
  }
  schema_.rename_dim(id, checked);
  header_changed();
}

void Dataset::rename_var(VarId id, const std::string& name) {
  require_writable();
  const std::string old = variable(id).name;
  const std::string checked = checked_name(name);
  if (schema_.find_var(checked)) name_in_use(checked);
  if (!in_define_mode()) {
    require_no_growth(static_cast<Count>(old.size()), static_cast<Count>(checked.size()),
                      "the name of variable " + old);
  }
  schema_.rename_var(id, checked);
  header_changed();
}

void Dataset::rename_attribute(VarId owner, const std::string& name, const std::string& new_name) {
  require_writable();
  check_owner(schema_, owner);
  AttributeList& list = schema_.attributes_of(owner);
  const int i = find_attribute(list, name);
  const std::string checked = checked_name(new_name);
  container_->check_attribute(checked);
  if (list.find(checked)) name_in_use(checked);
  if (owner != global_id && checked == fill_value_name) {
    check_fill_value(variable(owner), list[i].type, list[i].count);
  }
  if (!in_define_mode()) {
    require_no_growth(static_cast<Count>(list[i].name.size()), static_cast<Count>(checked.size()),
                      "the name of attribute " + list[i].name);
  }
  list.rename(i, checked);
  header_changed();
}

void Dataset::put_attribute(VarId owner, Attribute attribute, bool copied) {
  require_writable();
  check_owner(schema_, owner);
  attribute.name = checked_name(attribute.name);
  container_->check_attribute(attribute.name);
  check_type(attribute.type, schema_.version);
  if (owner != global_id && attribute.name == fill_value_name) {
    check_fill_value(variable(owner), attribute.type, attribute.count);
    const bool late = before_redef_ && owner < static_cast<int>(before_redef_->vars.size());
    if (late && !copied) {
      throw Error(Errc::elatefill, "variable " + variable(owner).name + " may hold data already");
    }
  }
  AttributeList& list = schema_.attributes_of(owner);
  if (!in_define_mode()) {
    const auto old = list.find(attribute.name);
    if (!old) {
      throw Error(Errc::enotindefine, "attribute " + attribute.name + " is new",
                  "call redef before adding attributes");
    }
    require_no_growth(padded_bytes(list[*old]), padded_bytes(attribute),
                      "attribute " + attribute.name);
  }
  list.put(std::move(attribute));
  header_changed();
}

void Dataset::delete_attribute(VarId owner, const std::string& name) {
  require_writable();
  require_define();
  check_owner(schema_, owner);
  AttributeList& list = schema_.attributes_of(owner);
  list.remove(find_attribute(list, name));
  header_changed();
}

bool Dataset::set_fill(bool fill) {
  require_writable();
  require_define();
  // As in PnetCDF, the file's mode overrides what was set for single variables before.
  for (Variable& var : schema_.vars) var.no_fill = !fill;
  return std::exchange(fill_, fill);
}

void Dataset::def_var_fill(VarId var, bool no_fill, const void* fill_value) {
  require_define();
  static_cast<void>(variable(var));
  Variable& v = schema_.vars[static_cast<std::size_t>(var)];
  v.no_fill = no_fill;
  if (no_fill || fill_value == nullptr) return;
  Attribute attribute{fill_value_name, v.type, 1, {}};
  attribute.value.resize(static_cast<std::size_t>(size_of(v.type)));
  to_external(v.type, attribute.value.data(), v.type, fill_value, 1, nullptr);
  put_attribute(var, std::move(attribute));
}

// Existing data was cut and encoded in one way, so its layout may not change.
Variable& Dataset::variable_to_store(VarId id) {
  require_writable();
  require_define();
  const Variable& var = variable(id);
  if (var.ndims() == 0)
    throw Error(Errc::einval, "variable " + var.name + " is a scalar and cannot be chunked");
  if (before_redef_ && static_cast<std::size_t>(id) < before_redef_->vars.size()) {
    throw Error(Errc::einval, "variable " + var.name + " has its layout already",
                "set chunks and filters before the enddef that follows its definition");
  }
  return schema_.vars[static_cast<std::size_t>(id)];
}

void Dataset::set_chunk(VarId id, std::span<const Count> shape) {
  container_->set_chunk(variable_to_store(id), shape);
  header_changed();
}

void Dataset::set_filter(VarId id, const std::string& text) {
  container_->set_filter(variable_to_store(id), text);
  header_changed();
}

Offset Dataset::header_size() const {
  return in_define_mode() ? container_->definitions_bytes() : schema_.header_size;
}

void Dataset::header_changed() {
  if (in_define_mode()) return;
  if (mode_ == Mode::collective) stage_->before_header();
  container_->write_definitions();
}

}  // namespace forebay
