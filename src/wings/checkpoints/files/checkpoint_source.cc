#include "checkpoints/files/checkpoint_source.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "array/names.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "base/report.h"
#include "base/text_table.h"
#include "base/words.h"
#include "checkpoints/coding.h"
#include "checkpoints/coding_threads.h"
#include "checkpoints/inspect.h"
#include "storage/file.h"

namespace forebay {
namespace {

using checkpoint::Inspection;
using checkpoint::Kind;
using checkpoint::Part;
using checkpoint::RankFiles;
using checkpoint::Record;
using checkpoint::StateId;

constexpr std::string_view bool_mark = ".bool.";  ///< Python's, of an array without values

struct StepRange {
  Count first = 0, last = 0;
};

[[noreturn]] void throw_bad_steps(std::string_view text) {
  throw Error(Errc::einval, "\"" + std::string(text) + "\" are no steps of checkpoints",
              "write NAME@3,10-20");
}

std::vector<StepRange> parse_steps(std::string_view text) {
  std::vector<StepRange> steps;
  for (const std::string_view item : items_of(text, ',')) {
    StepRange range;
    const char* end = item.data() + item.size();
    auto [stop, problem] = std::from_chars(item.data(), end, range.first);
    range.last = range.first;
    if (problem == std::errc{} && stop != end && *stop == '-') {
      const auto read = std::from_chars(stop + 1, end, range.last);
      stop = read.ptr;
      problem = read.ec;
    }
    if (problem != std::errc{} || stop != end || range.first < 0 || range.last < range.first)
      throw_bad_steps(text);
    steps.push_back(range);
  }
  if (steps.empty()) throw_bad_steps(text);
  return steps;
}

/// The name of checkpoints, and which of their steps are wanted; none: all.
struct Wanted {
  std::string name, steps;
};

std::optional<Wanted> wanted_of(const std::string& path) {
  if (checkpoint::is_there(path)) return Wanted{path, {}};
  const auto at = path.rfind('@');
  if (at == std::string::npos || !checkpoint::is_there(path.substr(0, at))) return std::nullopt;
  return Wanted{path.substr(0, at), path.substr(at + 1)};
}

/// A variable of the schema.
struct View {
  Kind kind = Kind::state;
  std::string name;          ///< of the part; empty: the coordinate with the steps
  std::optional<Rank> rank;  ///< the values of this rank alone
  bool has_ranks = false;    ///< there is a dimension of ranks
  std::vector<Count> shape;  ///< of one rank's values
};

class CheckpointSource final : public Source {
 public:
  explicit CheckpointSource(const std::string& path) : path_(path) {
    const Wanted wanted = wanted_of(path).value_or(Wanted{path, {}});
    found_ = checkpoint::inspect(wanted.name, false);
    if (!found_.damage.empty())
      throw Error(Errc::ebadlog, found_.damage.front(),
                  "bring all files together, or name the journal of one rank");
    for (const RankFiles& rank : found_.ranks)
      for (const std::string& what : rank.damage)
        leave_out("rank " + std::to_string(rank.header.rank), "damaged: " + what);
    choose_states(wanted.steps);
    schema_.version = 5;
    for (const Kind kind : {Kind::state, Kind::adjoint}) add_variables(kind);
  }

  const std::string& path() const override { return path_; }
  std::string format() const override { return "checkpoints"; }
  const Schema& schema() const override { return schema_; }
  const std::vector<LeftOut>& left_out() const override { return left_out_; }
  std::string codec(VarId var) const override {
    const View& of = view(var);
    for (std::size_t s = 0; !of.name.empty() && s < states(of.kind).size(); ++s)
      for (std::size_t r = 0; r < found_.ranks.size(); ++r)
        if (const Part* part = part_of(of, s, r)) return part->codec;
    return "none";
  }
  std::optional<Count> stored_bytes(VarId var) const override {
    const View& of = view(var);
    if (of.name.empty()) return std::nullopt;
    Count bytes = 0;
    for (std::size_t s = 0; s < states(of.kind).size(); ++s)
      for (std::size_t r = 0; r < found_.ranks.size(); ++r)
        if (const Part* part = part_of(of, s, r)) bytes += part->stored_bytes();
    return bytes;
  }

  void read(VarId var, const Subarray& selection, void* out) const override {
    const View& from = view(var);
    const Variable& variable = schema_.vars[static_cast<std::size_t>(var)];
    check_selection(variable, SelectionLimits(schema_.numrecs), selection.start.data(),
                    selection.count.data(),
                    selection.stride.empty() ? nullptr : selection.stride.data());
    if (selection.elements() == 0) return;
    const auto index = [&](std::size_t d, Count n) {
      return selection.start[d] + n * (selection.stride.empty() ? 1 : selection.stride[d]);
    };
    auto* to = static_cast<std::byte*>(out);
    const std::size_t lead = from.has_ranks ? 2 : 1;
    const Count ranks = from.has_ranks ? selection.count[1] : 1;
    for (Count s = 0; s < selection.count[0]; ++s) {
      const auto state = static_cast<std::size_t>(index(0, s));
      if (from.name.empty()) {
        put_step(states(from.kind)[state], variable.type, to);
        to += size_of(variable.type);
        continue;
      }
      for (Count r = 0; r < ranks; ++r) {
        const auto rank = static_cast<std::size_t>(from.rank        ? *from.rank
                                                   : from.has_ranks ? index(1, r)
                                                                    : 0);
        to = put_box(from, variable.type, state, rank, selection, lead, to);
      }
    }
  }

 private:
  const View& view(VarId var) const { return views_[static_cast<std::size_t>(var)]; }
  void leave_out(const std::string& name, const std::string& why) {
    left_out_.push_back({name, why});
  }
  const std::vector<Count>& states(Kind kind) const {
    return steps_[static_cast<std::size_t>(kind)];
  }

  // Takes the states that all ranks have, and of these the wanted steps.
  void choose_states(const std::string& wanted) {
    std::map<StateId, std::size_t> ranks;
    for (const RankFiles& rank : found_.ranks)
      for (const Record& record : rank.states) ++ranks[record.id];
    const auto ranges = wanted.empty() ? std::vector<StepRange>{} : parse_steps(wanted);
    std::vector<bool> seen(ranges.size());
    for (const auto& [id, has] : ranks) {
      if (is_parity(id.kind)) continue;
      bool is_wanted = ranges.empty();
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (id.step >= ranges[i].first && id.step <= ranges[i].last) is_wanted = seen[i] = true;
      if (!is_wanted) continue;
      if (has == found_.ranks.size())
        steps_[static_cast<std::size_t>(id.kind)].push_back(id.step);
      else
        leave_out(words_for(id), "not there on all ranks");
    }
    for (std::size_t i = 0; i < ranges.size(); ++i)
      if (!seen[i])
        throw Error(Errc::enodata,
                    path_ + ": there is no state of step " + std::to_string(ranges[i].first) +
                        (ranges[i].last > ranges[i].first ? " or the next ones" : ""),
                    "forebay checkpoint ls lists them");
  }

  const Record& record_of(Kind kind, std::size_t state, std::size_t rank) const {
    const std::vector<Record>& all = found_.ranks[rank].states;
    const StateId id{kind, states(kind)[state]};
    return *std::lower_bound(all.begin(), all.end(), id,
                             [](const Record& r, const StateId& i) { return r.id < i; });
  }

  // Returns null if the state has no such part. States mostly have their parts in one order.
  const Part* part_of(const View& of, std::size_t state, std::size_t rank) const {
    const std::vector<Part>& parts = record_of(of.kind, state, rank).parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t at = (hint_ + i) % parts.size();
      if (parts[at].name != of.name) continue;
      hint_ = at;
      return &parts[at];
    }
    return nullptr;
  }

  /// What all states have of one name.
  struct Common {
    Type type = Type::none;
    std::vector<std::optional<std::vector<Count>>> shapes;  ///< of each rank; none: it has none
    Count times = 0;
    bool differs = false;
  };

  void add_variables(Kind kind) {
    if (states(kind).empty()) return;
    const std::string prefix = kind == Kind::adjoint ? "adjoint_" : "";
    const DimId steps = add_coordinate(kind, prefix + "step");
    std::vector<std::string> names;  // in the order in which they come first
    std::map<std::string, Common> all;
    std::set<std::string> bools;
    for (std::size_t s = 0; s < states(kind).size(); ++s)
      for (std::size_t r = 0; r < found_.ranks.size(); ++r)
        for (const Part& part : record_of(kind, s, r).parts) {
          if (part.name.starts_with(bool_mark) && part.raw_bytes() == 0) {
            bools.insert(part.name.substr(bool_mark.size()));
            continue;
          }
          const auto [it, is_new] = all.try_emplace(part.name);
          Common& common = it->second;
          if (is_new) {
            names.push_back(part.name);
            common.type = part.type;
            common.shapes.resize(found_.ranks.size());
          }
          ++common.times;
          std::optional<std::vector<Count>>& shape = common.shapes[r];
          common.differs |= part.type != common.type || (shape && *shape != part.shape);
          shape = part.shape;
        }
    for (const std::string& name : names)
      add_variable(kind, prefix, name, all.at(name), bools.contains(name), steps);
  }

  void add_variable(Kind kind, const std::string& prefix, const std::string& name,
                    const Common& common, bool is_bool, DimId steps) {
    if (common.differs) return leave_out(name, "of another type or shape in some states");
    const std::vector<Count>* first = nullptr;
    bool one_shape = true;
    for (const auto& shape : common.shapes) {
      if (!shape) continue;
      if (!first) first = &*shape;
      one_shape &= *shape == *first;
    }
    const Count ranks = std::ssize(common.shapes);
    const bool lacks = common.times < ranks * std::ssize(states(kind));
    View view{kind, name, {}, ranks > 1 && one_shape, *first};
    if (one_shape) return add(view, prefix + name, common.type, is_bool, lacks, steps);
    for (Rank r = 0; r < ranks; ++r) {
      const auto& shape = common.shapes[static_cast<std::size_t>(r)];
      if (!shape) continue;
      view.rank = r;
      view.shape = *shape;
      add(view, prefix + name + "_rank" + std::to_string(r), common.type, is_bool, lacks, steps);
    }
  }

  void add(const View& view, const std::string& name, Type type, bool is_bool, bool lacks,
           DimId steps) {
    if (std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end())
      return leave_out(name, "an array without elements");
    Variable made;
    made.name = name;
    std::replace(made.name.begin(), made.name.end(), '/', '.');
    while (schema_.find_var(made.name)) made.name += '_';
    if (attempt_to([&] { made.name = checked_name(made.name); }))
      return leave_out(printable(name), "a name that netCDF does not allow");
    made.type = type == Type::none ? Type::byte : type;
    made.dimids.push_back(steps);
    if (view.has_ranks) made.dimids.push_back(dimension_of("rank", std::ssize(found_.ranks)));
    for (const Count length : view.shape)
      made.dimids.push_back(dimension_of("dim_" + std::to_string(length), length));
    if (is_bool) made.attributes.append(text_attribute("dtype", "bool"));
    if (lacks) {
      Attribute fill{"_FillValue", made.type, 1, {}};
      std::array<std::byte, 8> native{};
      default_fill(made.type, native.data());
      const auto width = static_cast<std::size_t>(size_of(made.type));
      fill.value.resize(width);
      copy_swapped(fill.value.data(), native.data(), width, width);
      made.attributes.append(std::move(fill));
    }
    schema_.add_var(std::move(made));
    views_.push_back(view);
  }

  /// Steps are int where all fit: readers of the oldest formats know no longer integers.
  DimId add_coordinate(Kind kind, const std::string& name) {
    const Count n = std::ssize(states(kind));
    const bool is_record = kind == Kind::state;
    if (is_record) schema_.numrecs = n;
    const DimId dim = schema_.add_dim({name, is_record ? 0 : n});
    Variable made;
    made.name = name;
    made.type = states(kind).back() <= INT32_MAX ? Type::int32 : Type::int64;
    made.dimids = {dim};
    made.attributes.append(text_attribute("long_name", "steps of the model before the state"));
    schema_.add_var(std::move(made));
    views_.push_back({kind, {}, {}, false, {}});
    return dim;
  }

  static void put_step(Count step, Type type, std::byte* to) {
    const auto narrow = static_cast<std::int32_t>(step);
    if (type == Type::int32)
      std::memcpy(to, &narrow, sizeof narrow);
    else
      std::memcpy(to, &step, sizeof step);
  }

  DimId dimension_of(std::string name, Count length) {
    for (;; name += '_') {
      const auto found = schema_.find_dim(name);
      if (!found) return schema_.add_dim({name, length});
      if (schema_.dims[static_cast<std::size_t>(*found)].length == length) return *found;
    }
  }

  /// Copies the selected elements of one rank's values in one state. Returns the end of them.
  std::byte* put_box(const View& from, Type type, std::size_t state, std::size_t rank,
                     const Subarray& selection, std::size_t lead, std::byte* to) const {
    const auto width = static_cast<std::size_t>(size_of(type));
    const std::vector<Count> count(selection.count.begin() + static_cast<std::ptrdiff_t>(lead),
                                   selection.count.end());
    Count elements = 1;
    for (const Count n : count) elements *= n;
    std::byte* const end = to + static_cast<std::size_t>(elements) * width;
    if (!load(from, state, rank)) {
      std::array<std::byte, 8> fill{};
      default_fill(type, fill.data());
      for (; to != end; to += width) std::memcpy(to, fill.data(), width);
      return end;
    }
    std::vector<Count> rows = count;
    const bool in_rows = !rows.empty() && (selection.stride.empty() ||
                                           selection.stride[lead + rows.size() - 1] == 1);
    const std::size_t row = in_rows ? static_cast<std::size_t>(rows.back()) * width : width;
    if (in_rows) rows.back() = 1;
    each_index(rows, [&](const std::vector<Count>& index) {
      Count at = 0;
      for (std::size_t d = 0; d < index.size(); ++d) {
        const Count stride = selection.stride.empty() ? 1 : selection.stride[lead + d];
        at = at * from.shape[d] + selection.start[lead + d] + index[d] * stride;
      }
      std::memcpy(to, values_.data() + static_cast<std::size_t>(at) * width, row);
      to += row;
    });
    return end;
  }

  /// Decodes one part, unless it is the one that was decoded last: tools read a variable in boxes,
  /// one after another. Returns false if the state lacks the part.
  bool load(const View& from, std::size_t state, std::size_t rank) const {
    const Part* part = part_of(from, state, rank);
    if (!part) return false;
    if (part == loaded_) return true;
    loaded_ = nullptr;
    const Record& record = record_of(from.kind, state, rank);
    File& data = file_of(rank);
    Offset begin = record.place;
    for (const Part* p = record.parts.data(); p != part; ++p) begin += p->stored_bytes();
    values_.resize(static_cast<std::size_t>(part->raw_bytes()));
    const auto fetch = [&](Count offset, std::span<std::byte> into) {
      if (data.read_at(begin + offset, into) != into.size())
        throw Error(Errc::ebadlog, data.path() + " ends within " + words_for(record.id));
    };
    decode(*part, fetch, values_, team_,
           words_for(record.id) + ", " + part->name + " (" + data.path() + ")");
    loaded_ = part;
    return true;
  }

  /// Few files are open at a time, as there may be thousands of ranks.
  File& file_of(std::size_t rank) const {
    constexpr std::size_t most_open = 64;
    if (const auto open = files_.find(rank); open != files_.end()) return *open->second;
    if (files_.size() >= most_open) files_.clear();
    auto file = std::make_unique<File>(found_.ranks[rank].prefix + ".data", false, 0, report_);
    return *files_.emplace(rank, std::move(file)).first->second;
  }

  std::string path_;
  Inspection found_;
  std::array<std::vector<Count>, 2> steps_;  ///< of each kind, ascending
  Schema schema_;
  std::vector<View> views_;
  std::vector<LeftOut> left_out_;
  mutable std::size_t hint_ = 0;
  mutable Report report_;
  mutable std::map<std::size_t, std::unique_ptr<File>> files_;
  mutable checkpoint::Team team_{1};
  mutable RawBytes values_;  ///< of the part loaded_
  mutable const Part* loaded_ = nullptr;
};

bool is_checkpoints(const std::string& path) { return wanted_of(path).has_value(); }

std::unique_ptr<Source> open_checkpoints(const std::string& path, const std::string& group,
                                         Strings) {
  auto source = std::make_unique<CheckpointSource>(path);
  refuse_group(*source, group);
  return source;
}

}  // namespace

extern const FormatEntry checkpoint_format{"checkpoints", true, is_checkpoints, open_checkpoints};

}  // namespace forebay
