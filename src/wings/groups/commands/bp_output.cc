#include "groups/commands/bp_output.h"

#include <algorithm>
#include <chrono>
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

namespace forebay::tools {
namespace {

constexpr std::size_t longest_string = 65535;

bool without_elements(const Source& source, VarId var) { return bp::any_zero(source.shape(var)); }

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

class BpOutput final : public Output {
 public:
  BpOutput(const Comm& comm, const Source& source, const std::string& path, const Method& method)
      : comm_(comm), source_(source), path_(path), method_(method) {
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
    agree_on_error(comm_, attempt_to([&] { define(); }));
  }

  const Variable& variable(VarId var) const override {
    return schema().vars[static_cast<std::size_t>(var)];
  }
  bool exact(VarId) const override { return true; }
  Count steps() const override {
    const bool any = std::ranges::any_of(schema().vars, [](auto& var) { return var.is_record; });
    return any ? std::max<Count>(schema().numrecs, 1) : 1;
  }

  void write(std::span<Piece> pieces, const std::optional<Error>& failed_before,
             bool last) override {
    auto failed = failed_before;
    for (const Piece& piece : pieces) attempt_into(failed, [&] { add(piece); });
    if (last)
      agree_on_error(comm_, failed);  // end_step() writes the pieces
    else
      writer_->flush(failed);
  }

  void end_step() override { writer_->end_step(); }
  void close() override {
    writer_->sync();
    const auto failed = attempt_to([&] { writer_->close(); });
    end_with_report(
        comm_, path_, report_, method_, opened_, [] { return std::vector<std::string>(); }, failed);
  }

 private:
  struct Stored {
    bp::Variable variable;
    std::vector<Count> shape;  // of a record
    bool is_record = false;
  };
  const Schema& schema() const { return source_.schema(); }

  void define() {
    for (std::size_t v = 0; v < schema().vars.size(); ++v) define_variable(static_cast<VarId>(v));
    if (!comm_.is_root()) return;
    put_attributes("", schema().attributes);
    define_dimensions();
  }

  void define_dimensions() {
    std::vector<std::string> names;
    std::vector<std::byte> lengths;
    for (const Dimension& dim : schema().dims) {
      // Other dimensions of length 0 belong to arrays without elements.
      if (dim.is_record() && schema().record_dim() != schema().find_dim(dim.name)) continue;
      names.push_back(dim.name);
      const auto bytes = std::as_bytes(std::span(&dim.length, 1));
      lengths.insert(lengths.end(), bytes.begin(), bytes.end());
    }
    if (names.empty()) return;
    writer_->add_attribute(names_attribute(std::string(bp_attribute::all_dimensions), names));
    writer_->add_attribute(
        {std::string(bp_attribute::all_lengths), bp::Type::int64, std::move(lengths), {}});
  }

  void define_variable(VarId id) {
    const Variable& from = variable(id);
    Stored made{{group_terms::name_as_it_is(from), bp::from_engine(from.type)},
                source_.shape(id),
                from.is_record};
    std::vector<std::string> names;
    for (const DimId dim : from.dimids)
      names.push_back(schema().dims[static_cast<std::size_t>(dim)].name);
    const std::string owner = made.variable.name + "/";
    const bool is_left_out = without_elements(source_, id), tells = comm_.is_root() && !is_left_out;
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

  void put_attributes(const std::string& owner, const AttributeList& list) {
    for (const Attribute& attribute : list) {
      // Only a variable whose name bp_name holds can have a slash.
      const bool is_name =
          attribute.name == group_terms::as_it_is && owner.find('/') != std::string::npos;
      if (is_name || has_no_word(attribute) || is_own(attribute.name, !owner.empty())) continue;
      writer_->add_attribute(
          to_bp(owner.empty() ? attribute.name : owner + "/" + attribute.name, attribute));
    }
  }

  void add(const Piece& piece) {
    const Stored& stored = stored_[static_cast<std::size_t>(piece.var)];
    const std::ptrdiff_t lead = stored.is_record ? 1 : 0;
    const Subarray& box = piece.box();
    bp::Shape at{stored.shape,
                 {box.start.begin() + lead, box.start.end()},
                 {box.count.begin() + lead, box.count.end()}};
    writer_->add(stored.variable, at, piece.data, true);
  }

  Comm comm_;
  const Source& source_;
  std::string path_;
  Method method_;
  Report report_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::unique_ptr<process_group::StepWriter> writer_;
  std::vector<Stored> stored_;
};

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

std::unique_ptr<Output> create_bp(const Comm& comm, const Source& source, const std::string& path,
                                  const ConvertOptions& options) {
  return std::make_unique<BpOutput>(comm, source, path, options.method);
}

}  // namespace forebay::tools
