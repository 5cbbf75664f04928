#include "groups/files/bp_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "comm/agree.h"
#include "dataset/print_report.h"
#include "groups/files/bp_source.h"
#include "groups/format/bp_read.h"
#include "groups/records/group_terms.h"
#include "groups/records/group_writer.h"

namespace forebay {
namespace {

constexpr std::size_t longest_string = 65535;

bool without_elements(const Source& source, VarId var) {
  const std::vector<Count> shape = source.shape(var);
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

bool has_no_word(const Attribute& attribute) {
  return attribute.type != Type::chr && attribute.count == 0;
}

bool is_own(const std::string& name, bool of_variable) {
  return of_variable ? name == bp_attribute::dimensions || name == bp_attribute::step_dimension
                     : name == bp_attribute::all_dimensions || name == bp_attribute::all_lengths;
}

bp::Attribute to_bp(std::string name, const Attribute& from) {
  const bool is_text = from.type == Type::chr && from.value.size() <= longest_string;
  if (is_text) {  // the whole value: text_of() would drop NULs at its end
    std::string text(reinterpret_cast<const char*>(from.value.data()), from.value.size());
    return {std::move(name), bp::Type::string, {}, {std::move(text)}};
  }
  bp::Attribute to{std::move(name), bp::from_engine(from.type), from.value, {}};
  if (!native_is_big_endian) bp::swap_values(to.type, to.values);
  return to;
}

bp::Attribute names_attribute(std::string name, std::vector<std::string> names) {
  return {std::move(name), bp::Type::string_array, {}, std::move(names)};
}

}  // namespace

std::vector<LeftOut> no_word_in_bp(const Source& source) {
  std::vector<LeftOut> found;
  const auto look = [&](const std::string& owner, const AttributeList& list) {
    for (const Attribute& attribute : list) {
      if (has_no_word(attribute))
        found.push_back({owner + attribute.name, "a list of no numbers"});
      else if (is_own(attribute.name, !owner.empty()))
        found.push_back({owner + attribute.name, "an attribute with a name that tells dimensions"});
    }
  };
  const Schema& schema = source.schema();
  look("", schema.attributes);
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const std::string& name = schema.vars[v].name;
    if (without_elements(source, static_cast<VarId>(v)))
      found.push_back({name, "an array without elements"});
    else
      look(name + ":", schema.vars[v].attributes);
  }
  return found;
}

BpWriter::BpWriter(const Comm& comm, const std::string& path, const Source& source,
                   const Method& method)
    : comm_(comm), path_(path), method_(method) {
  process_group::WriteOptions options;
  agree_on_error(comm_, attempt_to([&] {
                   options = group_write_options(method_);
                   if (options.drop_all)
                     throw Error(Errc::enotsupport, "transport null writes nothing",
                                 "leave it out where there is to be a file");
                   if (method_.stage == "burst")
                     throw Error(Errc::enotsupport, "what is converted is not staged in logs",
                                 "leave stage out, or choose async");
                 }));
  start_timeline(comm_, method_, report_, opened_);
  writer_ = process_group::StepWriter::create(comm_, path_, options, report_);
  write_index_in_windows(*writer_, comm_, method_, report_);
  agree_on_error(comm_, attempt_to([&] { define(source); }));
}

void BpWriter::define(const Source& source) {
  const Schema& schema = source.schema();
  for (std::size_t v = 0; v < schema.vars.size(); ++v)
    define_variable(source, static_cast<VarId>(v));
  if (!comm_.is_root()) return;
  put_attributes("", schema.attributes);
  define_dimensions(schema);
}

void BpWriter::define_dimensions(const Schema& schema) {
  std::vector<std::string> names;
  std::vector<std::byte> lengths;
  for (const Dimension& dim : schema.dims) {
    // Other dimensions of length 0 belong to arrays without elements.
    if (dim.is_record() && schema.record_dim() != schema.find_dim(dim.name)) continue;
    names.push_back(dim.name);
    const auto bytes = std::as_bytes(std::span(&dim.length, 1));
    lengths.insert(lengths.end(), bytes.begin(), bytes.end());
  }
  if (names.empty()) return;
  writer_->add_attribute(names_attribute(std::string(bp_attribute::all_dimensions), names));
  writer_->add_attribute(
      {std::string(bp_attribute::all_lengths), bp::Type::int64, std::move(lengths), {}});
}

void BpWriter::define_variable(const Source& source, VarId id) {
  const Schema& schema = source.schema();
  const Variable& from = schema.vars[static_cast<std::size_t>(id)];
  Stored made{{group_terms::name_as_it_is(from), bp::from_engine(from.type)},
              source.shape(id),
              from.is_record};
  std::vector<std::string> names;
  for (const DimId dim : from.dimids)
    names.push_back(schema.dims[static_cast<std::size_t>(dim)].name);
  const std::string owner = made.variable.name + "/";
  const bool is_left_out = without_elements(source, id), tells = comm_.is_root() && !is_left_out;
  if (made.is_record) {
    if (tells)
      writer_->add_attribute({owner + std::string(bp_attribute::step_dimension),
                              bp::Type::string,
                              {},
                              {names.front()}});
    names.erase(names.begin());
    made.shape.erase(made.shape.begin());
  }
  using process_group::Kind;
  if (!is_left_out)
    writer_->announce(made.variable, made.shape.empty() ? Kind::scalar : Kind::global,
                      made.shape.size());
  if (tells && !names.empty())
    writer_->add_attribute(
        names_attribute(owner + std::string(bp_attribute::dimensions), std::move(names)));
  if (tells) put_attributes(made.variable.name, from.attributes);
  stored_.push_back(std::move(made));
}

void BpWriter::put_attributes(const std::string& owner, const AttributeList& list) {
  for (const Attribute& attribute : list) {
    // Only a variable whose name bp_name holds can have a slash.
    const bool is_name =
        attribute.name == group_terms::as_it_is && owner.find('/') != std::string::npos;
    if (is_name || has_no_word(attribute) || is_own(attribute.name, !owner.empty())) continue;
    writer_->add_attribute(
        to_bp(owner.empty() ? attribute.name : owner + "/" + attribute.name, attribute));
  }
}

void BpWriter::add(VarId var, const Subarray& box, std::span<const std::byte> values) {
  const Stored& stored = stored_[static_cast<std::size_t>(var)];
  const std::ptrdiff_t lead = stored.is_record ? 1 : 0;
  bp::Shape at{stored.shape,
               {box.start.begin() + lead, box.start.end()},
               {box.count.begin() + lead, box.count.end()}};
  writer_->add(stored.variable, at, values, true);
}

void BpWriter::close() {
  writer_->sync();
  const auto failed = attempt_to([&] { writer_->close(); });
  end_with_report(
      comm_, path_, report_, method_, opened_, [] { return std::vector<std::string>(); }, failed);
}

}  // namespace forebay
