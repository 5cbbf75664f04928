#include "groups/files/bp_source.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "array/names.h"
#include "base/attempt.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "base/text_table.h"
#include "groups/format/bp_read.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/bp_scan.h"
#include "groups/records/group_terms.h"
#include "storage/file.h"

namespace forebay {
namespace {

namespace terms = group_terms;
using process_group::BpReader;
using process_group::Kind;
using process_group::StoredVariable;

/// Returns how many of start, start + stride, … (`count` of them) are below `end`.
Count before(Count start, Count stride, Count count, Count end) {
  if (end <= start) return 0;
  return std::min(count, (end - 1 - start) / stride + 1);
}

Subarray without_first(const Subarray& from) {
  Subarray rest = from;
  for (auto* list : {&rest.start, &rest.count, &rest.stride})
    if (!list->empty()) list->erase(list->begin());
  return rest;
}

bool is_name(const std::string& name) {
  return !attempt_to([&] {
    if (checked_name(name) != name) throw Error(Errc::ebadname, "it is in no normal form", "");
  });
}

/// Where the values of a variable of the schema come from.
struct View {
  std::size_t stored = 0;  // index in BpReader::variables()
  enum Lead { none, steps, observations, counts } lead = none;
  enum Trail { nothing, complex, text } trail = nothing;
  std::vector<Count> begins;  // of each step's observations, then their end
};

class BpSource final : public Source {
 public:
  BpSource(const std::string& path, Strings strings)
      : reader_(Comm(), path, report_), strings_(strings) {
    schema_.version = 5;
    for (const bp::Attribute& attribute : reader_.attributes())
      stored_attributes_.emplace(attribute.name, &attribute);
    declare_dimensions();
    if (const auto lost = reader_.unread_steps(); lost > 0)
      leave_out("md.idx",
                std::to_string(lost) + " steps whose index md.0 lacks (`forebay recover`)");
    for (std::size_t v = 0; v < reader_.variables().size(); ++v) add_variable(v);
    for (const bp::Attribute& attribute : reader_.attributes())
      if (!taken_.contains(attribute.name)) add_attribute(attribute);
  }

  const std::string& path() const override { return reader_.path(); }
  std::string format() const override { return reader_.format(); }
  const Schema& schema() const override { return schema_; }
  const std::vector<LeftOut>& left_out() const override { return left_out_; }
  const std::vector<StringList>& string_lists() const override { return lists_; }
  Count width(VarId var) const override {
    return is_string(view(var)) && strings_ == Strings::given ? 0 : Source::width(var);
  }

  void read(VarId var, const Subarray& selection, void* out) const override {
    const View& from = view(var);
    const Variable& variable = schema_.vars[static_cast<std::size_t>(var)];
    if (width(var) == 0)
      throw Error(Errc::echar, printable(path()) + ": variable " + printable(variable.name) +
                                   " has strings of varying length");
    check_selection(variable, SelectionLimits(schema_.numrecs), selection.start.data(),
                    selection.count.data(),
                    selection.stride.empty() ? nullptr : selection.stride.data());
    if (selection.elements() == 0) return;
    auto* const to = static_cast<std::byte*>(out);
    if (from.lead == View::counts) {
      const Count stride = selection.stride.empty() ? 1 : selection.stride[0];
      for (Count n = 0; n < selection.count[0]; ++n) {
        const auto step = static_cast<std::size_t>(selection.start[0] + n * stride);
        const std::int64_t count = from.begins[step + 1] - from.begins[step];
        std::memcpy(to + static_cast<std::size_t>(n) * sizeof count, &count, sizeof count);
      }
      return;
    }
    if (from.lead == View::observations) return read_observations(from, selection, to);
    each_step(from, selection, [&](std::size_t step, const Subarray& part, Count elements) {
      read_step(from, step, part, to + elements * size_of(variable.type));
    });
  }

  std::vector<std::string> read_strings(VarId var, const Subarray& selection) const override {
    if (width(var) != 0) return Source::read_strings(var, selection);
    std::vector<std::string> values;
    each_step(view(var), selection, [&](std::size_t step, const Subarray&, Count) {
      values.push_back(reader_.text(view(var).stored, step));
    });
    return values;
  }
  std::optional<Count> stored_bytes(VarId var) const override {
    return whole(shape(var)).elements() * Source::width(var);
  }

 private:
  const View& view(VarId var) const { return views_[static_cast<std::size_t>(var)]; }
  const StoredVariable& stored(const View& of) const { return reader_.variables()[of.stored]; }
  bool is_string(const View& of) const {
    return of.lead != View::counts && stored(of).variable.type == bp::Type::string;
  }
  void leave_out(const std::string& name, const std::string& why) {
    left_out_.push_back({name, why});
  }

  void add_variable(std::size_t v) {
    const StoredVariable& variable = reader_.variables()[v];
    const std::string& name = variable.variable.name;
    const bp::Type type = variable.variable.type;
    if (!variable.unreadable.empty()) return leave_out(name, variable.unreadable);
    if (!variable.fault.empty()) return leave_out(name, variable.fault);
    if (type == bp::Type::long_double) return leave_out(name, "long double");
    if (type == bp::Type::string && variable.kind != Kind::scalar)
      return leave_out(name, "a string of each rank's own");
    View view;
    view.stored = v;
    const bool is_record =
        reader_.steps() == 1 && stored_attribute(name, bp_attribute::step_dimension) != nullptr;
    if (variable.steps.size() > 1 || is_record) view.lead = View::steps;
    std::optional<std::vector<Count>> shape;
    try {
      shape = shape_of(v, view);
    } catch (const Error& error) {
      if (error.code() == Errc::ebad_file) return leave_out(name, error.message());
      if (error.code() != Errc::enotsupport) throw;
      return leave_out(name, "local blocks that differ in more than one extent");
    }
    if (!shape) return leave_out(name, "its shape differs between steps in more than one extent");
    if (bp::any_zero(*shape)) return leave_out(name, "an array without elements");
    Count bytes = std::max<Count>(bp::size_of(type), 1);
    if (view.lead == View::steps) bytes *= static_cast<Count>(variable.steps.size());
    if (!bp::multiply_all(*shape, bytes))
      return leave_out(name, "an array of more than 2^63 bytes");
    std::vector<DimId> dims;
    std::vector<Attribute> attributes;
    if (view.lead == View::steps) dims.push_back(step_dimension(variable, attributes));
    if (view.lead == View::observations) {
      dims.push_back(dimension_of(terms::name_of(name) + "_obs", shape->front()));
      for (std::size_t d = 1; d < shape->size(); ++d)
        dims.push_back(dimension_of(terms::dimension((*shape)[d]), (*shape)[d]));
    } else {
      for (const DimId dim : dimensions(name, *shape)) dims.push_back(dim);
    }
    Type element = terms::element_of(type);
    if (is_complex(type)) {
      view.trail = View::complex;
      dims.push_back(dimension_of(terms::complex, 2));
    }
    if (type == bp::Type::string) {
      element = Type::chr;
      if (strings_ == Strings::left_out) {
        const auto most = static_cast<Count>(std::max<std::size_t>(variable.longest_text, 1));
        view.trail = View::text;
        dims.push_back(dimension_of(terms::text_dimension(most), most));
      }
    }
    add(name, element, dims, view, attributes);
    if (view.lead != View::observations) return;
    View counts = view;
    counts.lead = View::counts;
    counts.trail = View::nothing;
    attributes = {text_attribute("sample_dimension",
                                 schema_.dims[static_cast<std::size_t>(dims.front())].name)};
    const DimId steps = step_dimension(variable, attributes);
    add(name + "_count", Type::int64, {steps}, counts, std::move(attributes));
  }

  // Returns the shape that the variable has in all steps. If only the first extent differs, it is
  // the sum over steps, and the view becomes one of observations. Returns nothing if the variable
  // is left out.
  std::optional<std::vector<Count>> shape_of(std::size_t v, View& view) {
    const StoredVariable& variable = reader_.variables()[v];
    if (variable.kind == Kind::global && !variable.varies) return variable.shape;
    if (variable.kind == Kind::scalar) return std::vector<Count>{};
    std::optional<std::vector<Count>> whole;
    bool varies = false, fits = true;
    view.begins = {0};
    for (const std::uint32_t step : variable.steps.numbers()) {
      std::vector<Count> shape = reader_.array(v, step).shape;
      view.begins.push_back(view.begins.back());
      if (bp::any_zero(shape)) {
        varies = true;
        continue;
      }
      if (!whole) whole = shape;
      varies |= shape != *whole;
      fits &= !__builtin_add_overflow(view.begins.back(), shape[0], &view.begins.back());
      shape[0] = (*whole)[0];
      fits &= shape == *whole;
    }
    if (!whole) return std::vector<Count>{0};
    if (!varies) return whole;
    if (!fits) return std::nullopt;
    view.lead = View::observations;
    (*whole)[0] = view.begins.back();
    return whole;
  }

  void add(const std::string& name, Type type, std::vector<DimId> dims, const View& view,
           std::vector<Attribute> attributes = {}) {
    Variable made;
    made.name = terms::name_of(name);
    if (schema_.find_var(made.name))
      return leave_out(name, "called " + made.name + " there, as another variable is");
    made.type = type;
    made.dimids = std::move(dims);
    if (made.name != name) attributes.push_back(text_attribute(terms::as_it_is, name));
    const auto number = static_cast<int>(views_.size());
    for (Attribute& attribute : attributes) {
      attribute_names_.emplace(number, attribute.name);
      made.attributes.append(std::move(attribute));
    }
    if (view.lead != View::counts) owners_.emplace(name, number);
    schema_.add_var(std::move(made));
    views_.push_back(view);
  }

  const bp::Attribute* stored_attribute(const std::string& owner, std::string_view name) const {
    const auto found = stored_attributes_.find(owner.empty() ? std::string(name)
                                                             : owner + "/" + std::string(name));
    return found == stored_attributes_.end() ? nullptr : found->second;
  }

  // Takes all dimensions that a converted file lists, or none.
  void declare_dimensions() {
    const auto* names = stored_attribute({}, bp_attribute::all_dimensions);
    const auto* lengths = stored_attribute({}, bp_attribute::all_lengths);
    if (names == nullptr || lengths == nullptr || lengths->type != bp::Type::int64) return;
    std::vector<Count> numbers(lengths->values.size() / sizeof(Count));
    std::memcpy(numbers.data(), lengths->values.data(), numbers.size() * sizeof(Count));
    const auto& texts = names->texts;
    if (texts.size() != numbers.size() || !std::ranges::all_of(texts, is_name) ||
        std::set(texts.begin(), texts.end()).size() != texts.size() ||
        std::ranges::count(numbers, 0) > 1 ||
        std::ranges::any_of(numbers, [](Count n) { return n < 0; }))
      return;
    for (std::size_t d = 0; d < texts.size(); ++d) schema_.add_dim({texts[d], numbers[d]});
    taken_.insert({names->name, lengths->name});
  }

  // Returns a dimension with that length. If another one has the name, the name gets longer.
  DimId dimension_of(std::string name, Count length) {
    for (;; name += '_') {
      const auto found = schema_.find_dim(name);
      if (!found) return schema_.add_dim({name, length});
      if (schema_.dims[static_cast<std::size_t>(*found)].length == length) return *found;
    }
  }

  std::vector<DimId> dimensions(const std::string& variable, const std::vector<Count>& shape) {
    const auto* told = stored_attribute(variable, bp_attribute::dimensions);
    if (told != nullptr && told->texts.size() != shape.size()) told = nullptr;
    std::vector<DimId> dims;
    bool all = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::string name = told == nullptr ? std::string() : terms::name_of(told->texts[d]);
      const auto found = schema_.find_dim(name);
      const bool fits =
          !name.empty() && is_name(name) &&
          (!found || schema_.dims[static_cast<std::size_t>(*found)].length == shape[d]);
      all &= fits;
      dims.push_back(dimension_of(fits ? name : terms::dimension(shape[d]), shape[d]));
    }
    if (told != nullptr && all) taken_.insert(told->name);
    return dims;
  }

  // If not all steps have the variable, an attribute says which have it.
  DimId step_dimension(const StoredVariable& variable, std::vector<Attribute>& attributes) {
    if (variable.steps.size() < reader_.steps()) {
      std::vector<std::int64_t> numbers;
      std::ranges::copy(variable.steps.numbers(), std::back_inserter(numbers));
      attributes.push_back(terms::number_attribute("bp_steps", numbers));
      return dimension_of(terms::name_of(variable.variable.name) + "_step",
                          std::ssize(variable.steps));
    }
    schema_.numrecs = static_cast<Count>(reader_.steps());
    const auto* told = stored_attribute(variable.variable.name, bp_attribute::step_dimension);
    std::string name =
        told != nullptr && told->texts.size() == 1 && is_name(told->texts[0]) ? told->texts[0] : "";
    if (const auto records = schema_.record_dim()) {
      if (name == schema_.dims[static_cast<std::size_t>(*records)].name) taken_.insert(told->name);
      return *records;
    }
    if (name.empty() || schema_.find_dim(name)) return dimension_of(terms::step, 0);
    taken_.insert(told->name);
    return dimension_of(name, 0);
  }

  void add_attribute(const bp::Attribute& attribute) {
    auto [variable, name] =
        terms::owner_of(attribute.name, [&](const std::string& v) { return owners_.contains(v); });
    const int owner = variable.empty() ? global_id : owners_.at(variable);
    if (attribute.type == bp::Type::reference)
      return leave_out(attribute.name, "the value of an array");
    AttributeList& list = schema_.attributes_of(owner);
    name = terms::name_of(name);
    if (!attribute_names_.emplace(owner, name).second)
      return leave_out(attribute.name, "called " + name + " there, as another attribute is");
    if (attribute.type == bp::Type::string_array) {
      if (strings_ == Strings::left_out) return leave_out(attribute.name, "a list of strings");
      lists_.push_back({owner, static_cast<std::size_t>(list.size()), name, attribute.texts});
      return;
    }
    auto made = terms::attribute(name, attribute);
    if (!made) return leave_out(attribute.name, "complex numbers");
    list.append(std::move(*made));
  }

  void read_step(const View& view, std::size_t step, const Subarray& selection,
                 std::byte* out) const {
    // For elements that no rank wrote.
    const bool complex = view.trail == View::complex;
    const bp::Type type = stored(view).variable.type;
    const Type element = terms::element_of(type);
    const auto fill = terms::fill_of(type);
    const std::span of_one(fill.data(), static_cast<std::size_t>(bp::size_of(type)));
    if (view.trail == View::nothing) return reader_.read(view.stored, step, selection, out, of_one);
    // The variable has one dimension more than in the file, and a part of it may be selected.
    const auto width = static_cast<std::size_t>(complex ? size_of(element) : 1);
    Subarray whole = selection;
    const Count first = whole.start.back(), many = whole.count.back();
    const Count stride = whole.stride.empty() ? 1 : whole.stride.back();
    for (auto* list : {&whole.start, &whole.count, &whole.stride})
      if (!list->empty()) list->pop_back();
    const auto elements = static_cast<std::size_t>(whole.elements());
    RawBytes all;
    std::size_t each = 2;
    if (view.trail == View::text) {
      const std::string text = reader_.text(view.stored, step);
      each = std::max<std::size_t>(stored(view).longest_text, 1);
      all.resize(each, std::byte{0});
      std::ranges::fill(all, std::byte{0});
      std::memcpy(all.data(), text.data(), std::min(text.size(), each));
    } else {
      all.resize(elements * each * width);
      reader_.read(view.stored, step, whole, all.data(), of_one);
    }
    for (std::size_t e = 0; e < elements; ++e)
      for (Count n = 0; n < many; ++n, out += width)
        std::memcpy(out,
                    all.data() + (e * each + static_cast<std::size_t>(first + n * stride)) * width,
                    width);
  }

  void read_observations(const View& view, const Subarray& selection, std::byte* out) const {
    const Count stride = selection.stride.empty() ? 1 : selection.stride[0];
    const Subarray rest = without_first(selection);
    const StoredVariable& variable = stored(view);
    const Count row = rest.elements() * size_of(terms::element_of(variable.variable.type));
    const auto up_to = [&](std::size_t step) {
      return before(selection.start[0], stride, selection.count[0], view.begins[step]);
    };
    for (std::size_t n = 0; n < variable.steps.size(); ++n) {
      const Count done = up_to(n), upto = up_to(n + 1);
      if (done == upto) continue;
      Subarray part = selection;
      part.start[0] = selection.start[0] + done * stride - view.begins[n];
      part.count[0] = upto - done;
      read_step(view, variable.steps[n], part, out + done * row);
    }
  }

  /// Calls f(step of the file, selection in it, number of elements of `selection` before it).
  template <typename F>
  void each_step(const View& view, const Subarray& selection, F&& f) const {
    const StoredVariable& variable = stored(view);
    if (view.lead == View::none) return f(variable.steps[0], selection, Count{0});
    const Subarray rest = without_first(selection);
    const Count stride = selection.stride.empty() ? 1 : selection.stride[0];
    for (Count n = 0; n < selection.count[0]; ++n)
      f(variable.steps[static_cast<std::size_t>(selection.start[0] + n * stride)], rest,
        n * rest.elements());
  }

  Report report_;
  BpReader reader_;
  Strings strings_;
  std::unordered_map<std::string, const bp::Attribute*> stored_attributes_;
  std::set<std::string> taken_;  // those that are not shown as attributes
  Schema schema_;
  std::vector<View> views_;
  std::vector<LeftOut> left_out_;
  std::vector<StringList> lists_;
  std::unordered_map<std::string, int> owners_;  // of attributes, by their names in the file
  std::set<std::pair<int, std::string>> attribute_names_;  // by owner
};

}  // namespace

// Returns the name in the file. `name` may also be that of the schema, which ls shows.
static std::string stored_name(const BpReader& file, const std::string& name) {
  if (!attempt_to([&] { file.find(name); })) return name;
  const std::string shown = name.starts_with('/') ? name.substr(1) : name;
  for (const StoredVariable& variable : file.variables())
    if (terms::name_of(variable.variable.name) == shown) return variable.variable.name;
  return name;
}

Searched find_in_bp(const std::string& path, const Search& what, bool values,
                    const std::function<void(const FoundBlock&)>& f) {
  Report report;
  const BpReader file(Comm(), path, report);
  Search stored = what;
  stored.variable = stored_name(file, what.variable);
  Searched searched = search(file, stored, values, f);
  searched.unread = file.unread_steps();
  return searched;
}

std::unique_ptr<Source> open_bp(const std::string& path, Strings strings) {
  return std::make_unique<BpSource>(path, strings);
}

}  // namespace forebay
