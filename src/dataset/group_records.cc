// Groups as netCDF files: each step a record, or a file of its own (docs/groups.md, "As netCDF").
//
//     add        the block is noted, and copied unless it was lent                       local
//     end_step   1. ranks agree on the extents of what is in the step                    one
//     maximum
//                2. where blocks follow one another, sums say where this rank's begin    one scan
//                3. what the file does not have yet is defined                           first step
//                4. all blocks go to the file in one collective operation of Dataset, and fill
//                   values for what the step does not have, dealt out to the ranks
//
// A variable comes into the file with the first step that has it, as its extents are known then.
// Every step leaves each of the file's record variables one record more, so that steps and records
// have the same numbers.
//
// Nothing is changed before ranks know that the step fits: what fails behind that is the file
// system's or memory's. Definitions that fail half-way are dropped with the whole of define mode,
// and the file is opened anew.
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "array/names.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/copy_room.h"
#include "comm/agree.h"
#include "dataset/dataset.h"
#include "dataset/group_terms.h"
#include "dataset/group_types.h"
#include "dataset/group_writer.h"
#include "layout/classic_part.h"
#include "method/method_values.h"
#include "storage/file.h"

namespace forebay {
namespace {

namespace terms = group_terms;
namespace fs = std::filesystem;

constexpr Count most_in_cdf2 = (Count{1} << 32) - 4;  // bytes of a variable, or of its record
constexpr Count most_filled = 1 << 20;                // bytes of fill values in a request
constexpr int text_bits = 32;                         // of a text's length, with ranks above them
constexpr std::int64_t unsaid = std::numeric_limits<std::int64_t>::min();

struct Pending {
  std::size_t variable = 0;
  std::vector<Count> start, count;  // in C's order; of what follows others' `start` comes later
  std::span<const std::byte> data;
  RawBytes padded;  // a text, as long as its variable
};

/// What all ranks have of a variable in a step.
struct Said {
  Rank writer = -1;           // the lowest rank that has it; -1: none
  std::vector<Count> shape;   // in C's order; that along which blocks follow is the sum
  Count before = 0, all = 0;  // along it on lower ranks, and on all; else elements that came
};

/// A variable of the group as netCDF has it.
struct Target {
  bp::Type type = bp::Type::int8;
  std::string name;            // netCDF's
  std::size_t dimensions = 0;  // of the group, without those of steps, texts, complex numbers
  std::optional<std::size_t> follow;  // the dimension along which blocks follow one another
  bool once = false;
  std::vector<Attribute> attributes;
  VarId var = -1, counts = -1;  // in the file; -1: not yet
  bool is_text() const { return type == bp::Type::string; }
  Type element() const { return is_text() ? Type::chr : terms::element_of(type); }
  bool is_complex() const { return bp::is_complex(type); }
  /// Numbers that ranks agree on: who has it, the length of a text, two for each dimension.
  std::size_t numbers() const { return 2 + 2 * dimensions; }
};

Subarray whole_of(const std::vector<Count>& extents) {
  return {std::vector<Count>(extents.size(), 0), extents, {}};
}

std::string text_of(const std::vector<Count>& extents) {
  std::string text;
  for (const Count n : extents) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return extents.empty() ? "one value" : text;
}

/// NAME.nc becomes NAME.000012.nc.
std::string file_of_step(const std::string& path, std::uint64_t step) {
  std::string number = std::to_string(step);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  const fs::path whole(path);
  const fs::path name = whole.stem().string() + "." + number + whole.extension().string();
  return (whole.parent_path() / name).string();
}

class Records final : public GroupWriter {
 public:
  Records(const Comm& comm, const std::string& path, const GroupDefinition& group,
          const Method& method)
      : comm_(comm), path_(strip_prefix(path)), group_(group), method_(method) {
    // A step is in the file when it has ended, unless another stage is asked for.
    if (!method_.origin.contains("stage")) method_.stage = "direct";
    for (const GroupVariable& variable : group_.variables) add_target(variable);
    for (const GroupAttribute& attribute : group_.attributes) add_attribute(attribute);
    std::set<std::string> names;
    for (const Target& target : targets_) {
      const auto take = [&](const std::string& name) {
        if (!names.insert(checked_name(name)).second)
          throw Error(Errc::enameinuse, "two variables would be called " + name + " in " + path_,
                      "rename one of them");
      };
      take(target.name);
      if (target.follow) take(target.name + "_count");
    }
  }

  void start(bool append) {
    if (is_split()) return start_files(append);
    if (append) {
      std::int64_t there = 0;
      // An empty file is what a run left that ended before its first step.
      by_root(comm_, [&] {
        there = fs::is_directory(path_) || (fs::exists(path_) && fs::file_size(path_) > 0) ? 1 : 0;
      });
      if (comm_.all_reduce(there, Reduce::max) != 0) return go_on();
    }
    create(path_, version());
  }

  void add(std::size_t variable, const bp::Shape& at, std::span<const std::byte> data,
           bool lent) override;
  void make_room(std::size_t bytes) override { copies_.find(bytes); }
  void end_step() override {
    const auto failed = attempt_together(comm_, [&] {
      write_step();
      if (is_split()) end_file();
    });
    pending_.clear();
    said_.clear();
    copies_.clear();
    if (failed && is_split()) drop_file();
    if (failed) throw *failed;
    ++steps_;
  }
  void sync() override {
    // Files of steps are synchronised when they end; before the first step there is nothing.
    if (file_ && !is_split() && !file_->in_define_mode()) file_->sync();
  }
  void close() override {
    if (!file_) return;
    const auto file = std::move(file_);
    if (is_split())
      file->abort();  // no step has come to it
    else
      file->close();
  }
  std::uint64_t steps() const override { return steps_; }

 private:
  bool is_split() const { return method_.split == "step"; }
  std::string path_of_step() const { return is_split() ? file_of_step(path_, steps_) : path_; }
  void add_target(const GroupVariable& variable);
  void add_attribute(const GroupAttribute& attribute);
  void create(const std::string& path, int version);
  void start_files(bool append);
  void go_on();
  void end_file();
  void drop_file();
  void forget_ids();
  void find_ids();
  void open_again();
  int version() const;

  std::vector<Count> in_c_order(std::vector<Count> list) const {
    if (group_.column_major) std::reverse(list.begin(), list.end());
    return list;
  }
  void write_step();
  void put(std::vector<Request>& requests);
  std::vector<Said> agree();
  void note_own(std::vector<std::int64_t>& most, std::vector<std::int64_t>& sums) const;
  Said said_of(std::size_t v, std::span<const std::int64_t> most) const;
  void define(const std::vector<Said>& step, const std::vector<std::size_t>& fresh);
  void define_variable(Target& target, const Said& said);
  DimId dimension(const std::string& name, Count length);
  std::vector<Count> extents_in_file(VarId id) const;
  void check_extents(const std::vector<Said>& step) const;
  const std::byte* fill_values(const Variable& var);
  void fill_record(VarId id, Count record, std::vector<Request>& to);
  void fill(const std::vector<Said>& step, std::vector<Request>& before,
            std::vector<Request>& beside);
  std::vector<Request> requests(const std::vector<Said>& step);
  Request request(VarId var, Count record, std::vector<Count> start, std::vector<Count> count,
                  Type type, const std::byte* data) const;
  Count record() const { return static_cast<Count>(steps_); }

  const Comm& comm_;
  std::string path_;
  const GroupDefinition& group_;
  Method method_;
  std::vector<Target> targets_;        // as the group has its variables
  std::vector<Attribute> attributes_;  // of the file
  std::unique_ptr<Dataset> file_;      // none: where steps have files, between two of them
  // Of each variable the records that are known to have all their values, at least.
  std::vector<Count> whole_;
  bool defined_ = false;  // it has left its first define mode
  std::uint64_t steps_ = 0;
  std::vector<Pending> pending_;
  std::map<std::size_t, std::vector<Count>> said_;  // this rank's extents of what it added
  std::map<std::vector<std::byte>, std::vector<std::byte>> fills_;  // by their value
  std::vector<std::int64_t> own_counts_;                            // behind requests
  CopyRoom copies_;
};

void Records::add_target(const GroupVariable& variable) {
  Target target;
  target.type = bp_type(variable.type);
  target.name = terms::name_of(variable.name);
  target.dimensions = variable.dimensions.size();
  target.once = variable.once && !is_split();
  const bool alone = variable.global.empty() && !variable.dimensions.empty();
  if (variable.joined) {
    const auto d = static_cast<std::size_t>(*variable.joined);
    target.follow = group_.column_major ? target.dimensions - 1 - d : d;
  } else if (alone) {
    target.follow = 0;
  }
  if (target.name != variable.name)
    target.attributes.push_back(terms::text_attribute(terms::as_it_is, variable.name));
  targets_.push_back(std::move(target));
}

void Records::add_attribute(const GroupAttribute& attribute) {
  const auto [owner, rest] = terms::owner_of(
      attribute.name, [&](const std::string& name) { return group_.find(name) != nullptr; });
  auto made = terms::attribute(checked_name(terms::name_of(rest)), bp_attribute(attribute));
  if (!made)
    throw Error(Errc::enotsupport, "attribute " + attribute.name + " has no type of netCDF",
                "give it a real type, or choose layout=process-group");
  const GroupVariable* variable = group_.find(owner);
  auto& list =
      variable ? targets_[static_cast<std::size_t>(variable - group_.variables.data())].attributes
               : attributes_;
  for (const Attribute& other : list)
    if (other.name == made->name)
      throw Error(Errc::enameinuse, "two attributes would be called " + made->name,
                  "rename " + attribute.name);
  list.push_back(std::move(*made));
}

// -- files

int Records::version() const {
  const auto is_new = [](Type type) { return !valid_in_version(type, 2); };
  const auto any = [&](const std::vector<Attribute>& list) {
    return std::any_of(list.begin(), list.end(), [&](auto& a) { return is_new(a.type); });
  };
  for (const Target& target : targets_) {
    const Type element = target.element();
    if (target.follow || is_new(element) || any(target.attributes)) return 5;
  }
  return any(attributes_) ? 5 : 2;
}

void Records::create(const std::string& path, int version) {
  defined_ = false;
  whole_.clear();
  file_ = Dataset::create_by(comm_, path, version, false, method_);
  agree_on_error(comm_, attempt_to([&] {
                   for (const Attribute& attribute : attributes_)
                     file_->put_attribute(global_id, attribute);
                 }));
}

/// The numbers of a group's files of steps that there are, in order.
std::vector<std::uint64_t> files_of_steps(const std::string& path) {
  std::vector<std::uint64_t> numbers;
  const fs::path whole(path);
  const std::string begin = whole.stem().string() + ".", end = whole.extension().string();
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  std::error_code none;  // where there is no such folder, creating the file says so
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < begin.size() + 6 + end.size() || !name.starts_with(begin)) continue;
    const auto number = parse_count(
        std::string_view(name).substr(begin.size(), name.size() - begin.size() - end.size()));
    if (!number || *number < 0) continue;
    const auto step = static_cast<std::uint64_t>(*number);
    if (name == fs::path(file_of_step(path, step)).filename()) numbers.push_back(step);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Steps of an earlier run that this one would not write again would be taken for its own. They go
// once it is known that there can be new ones.
void Records::start_files(bool append) {
  std::vector<std::uint64_t> there;
  std::int64_t next = 0;
  by_root(comm_, [&] {
    there = files_of_steps(path_);
    if (append && !there.empty()) next = static_cast<std::int64_t>(there.back()) + 1;
  });
  steps_ = static_cast<std::uint64_t>(comm_.all_reduce(next, Reduce::max));
  create(path_of_step(), version());
  if (append) return;
  const auto remove = [&] {
    for (const std::uint64_t step : there)
      if (step > 0) remove_whole(file_of_step(path_, step));
  };
  const auto failed = worst_of_all(comm_, comm_.is_root() ? attempt_to(remove) : std::nullopt);
  if (!failed) return;
  attempt_to([&] { std::exchange(file_, nullptr)->abort(); });
  throw *failed;
}

void Records::end_file() {
  file_->sync();
  const auto file = std::move(file_);
  forget_ids();
  file->close();
}

void Records::forget_ids() {
  for (Target& target : targets_) target.var = target.counts = -1;
}

// Of a step that failed nothing stays.
void Records::drop_file() {
  forget_ids();
  if (const auto file = std::move(file_))
    attempt_to([&] { defined_ ? file->close() : file->abort(); });
  by_root(comm_, [&] {
    if (const auto path = file_of_step(path_, steps_); fs::exists(path)) remove_whole(path);
  });
}

// The file has some of the group's variables, or none, and they are as the group says.
void Records::go_on() {
  file_ = Dataset::open_by(comm_, path_, true, method_);
  defined_ = true;
  const auto failed = worst_of_all(comm_, attempt_to([&] {
                                     find_ids();
                                     steps_ = static_cast<std::uint64_t>(file_->schema().numrecs);
                                     whole_.assign(file_->schema().vars.size(), record());
                                   }));
  if (!failed) return;
  attempt_to([&] { std::exchange(file_, nullptr)->close(); });
  throw *failed;
}

void Records::find_ids() {
  forget_ids();
  const Schema& schema = file_->schema();
  const auto records = schema.record_dim();
  if (records && schema.dims[static_cast<std::size_t>(*records)].name != terms::step)
    throw Error(Errc::einval, path_ + ": its record dimension is not called " + terms::step,
                "append to files that groups were written to");
  for (Target& target : targets_) {
    const auto found = schema.find_var(target.name);
    if (!found) continue;
    const Variable& var = schema.vars[static_cast<std::size_t>(*found)];
    const std::size_t dims = target.dimensions + (target.once ? 0 : 1) +
                             (target.is_text() || target.is_complex() ? 1 : 0);
    const auto counts = schema.find_var(target.name + "_count");
    if (var.type != target.element() || var.dimids.size() != dims || var.is_record == target.once ||
        target.follow.has_value() != counts.has_value())
      throw Error(Errc::emultidefine_var_type,
                  path_ + ": variable " + target.name + " has another type or other dimensions",
                  "append with the definitions that the file was written with");
    target.var = *found;
    if (!target.follow) continue;
    target.counts = *counts;
    const std::vector<Count> extents = extents_in_file(target.counts);
    if (extents.size() != 1 || extents[0] != comm_.size())
      throw Error(Errc::einval, path_ + ": variable " + target.name + " has blocks of other ranks",
                  "append with as many ranks, or choose split=step");
  }
}

// Drops what define mode has half done, with the file as it is open. Up to there nothing fails on
// one rank alone: the others could not know.
void Records::open_again() {
  forget_ids();
  attempt_to([&] { std::exchange(file_, nullptr)->abort(); });
  if (!defined_) return create(path_, version());
  file_ = Dataset::open_by(comm_, path_, true, method_);
  agree_on_error(comm_, attempt_to([&] { find_ids(); }));
}

// -- a step

void Records::add(std::size_t variable, const bp::Shape& at, std::span<const std::byte> data,
                  bool lent) {
  const Target& target = targets_[variable];
  Pending pending;
  pending.variable = variable;
  pending.count = in_c_order(at.count);
  pending.start = in_c_order(at.start);
  // What has no elements at all is not in the file.
  std::vector<Count> extents = target.follow ? pending.count : in_c_order(at.shape);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  const auto known = said_.find(variable);
  const auto describe = [&] { return "variable " + group_.variables[variable].name; };
  if (target.follow) {
    const std::size_t d = *target.follow;
    if (known != said_.end()) {
      std::vector<Count> same = known->second;
      same[d] = extents[d];
      if (same != extents)
        throw Error(Errc::einval,
                    describe() + ": its blocks have " + text_of(known->second) + " and " +
                        text_of(extents) + " elements, which cannot follow one another",
                    "give further dimensions equal lengths, or choose layout=process-group");
      extents[d] = known->second[d];
      if (__builtin_add_overflow(extents[d], pending.count[d], &extents[d]))
        throw Error(Errc::evarsize, describe() + " has over 2^63 elements");
    }
  } else if (known != said_.end() && known->second != extents) {
    throw Error(Errc::einval, describe() + " has two shapes in a step",
                "give all its blocks the same one");
  }
  if (!lent && !data.empty()) {
    std::byte* const room = copies_.find(data.size());
    std::copy(data.begin(), data.end(), room);
    copies_.take(data.size());
    data = {room, data.size()};
  }
  pending.data = data;
  const bool nothing =
      std::find(pending.count.begin(), pending.count.end(), 0) != pending.count.end();
  if (!nothing) pending_.push_back(std::move(pending));
  said_[variable] = std::move(extents);
}

void Records::note_own(std::vector<std::int64_t>& most, std::vector<std::int64_t>& sums) const {
  std::vector<std::size_t> places;
  std::size_t size = 0;
  for (const Target& target : targets_) {
    places.push_back(size);
    size += target.numbers();
  }
  most.assign(size, unsaid);
  sums.assign(targets_.size(), 0);
  for (const auto& [v, extents] : said_) {
    const Target& target = targets_[v];
    std::int64_t* const mine = most.data() + places[v];
    mine[0] = comm_.size() - comm_.rank();
    for (std::size_t d = 0; d < target.dimensions; ++d) {
      if (target.follow == d) continue;
      mine[2 + 2 * d] = extents[d];
      mine[3 + 2 * d] = -extents[d];
    }
    if (target.follow) sums[v] = extents[*target.follow];
  }
  for (const Pending& pending : pending_) {
    const Target& target = targets_[pending.variable];
    // The lowest rank's is the greatest of these numbers.
    if (target.is_text())
      most[places[pending.variable] + 1] =
          (std::int64_t{comm_.size() - comm_.rank()} << text_bits) + std::ssize(pending.data);
    if (target.follow) continue;
    Count elements = 1;
    for (const Count n : pending.count)
      if (__builtin_mul_overflow(elements, n, &elements)) elements = 0;
    sums[pending.variable] += elements;
  }
}

Said Records::said_of(std::size_t v, std::span<const std::int64_t> most) const {
  const Target& target = targets_[v];
  Said said;
  if (most[0] == unsaid) return said;
  said.writer = comm_.size() - static_cast<int>(most[0]);
  said.shape.assign(target.dimensions, 0);
  for (std::size_t d = 0; d < target.dimensions; ++d) {
    if (target.follow == d) continue;
    said.shape[d] = most[2 + 2 * d];
    if (most[2 + 2 * d] == -most[3 + 2 * d]) continue;
    throw Error(Errc::einval,
                "variable " + group_.variables[v].name + ": ranks have " +
                    std::to_string(-most[3 + 2 * d]) + " to " + std::to_string(most[2 + 2 * d]) +
                    " elements along a dimension",
                target.follow ? "give it equal lengths on all ranks, or choose layout=process-group"
                              : "give all ranks the same global dimensions");
  }
  if (target.is_text()) {
    said.shape.push_back(most[1] & ((std::int64_t{1} << text_bits) - 1));
    // A text without a character comes into no file.
    if (said.shape.back() == 0 && target.var < 0) said.writer = -1;
  }
  if (target.is_complex()) said.shape.push_back(2);
  return said;
}

std::vector<Said> Records::agree() {
  std::vector<std::int64_t> most, before;
  note_own(most, before);
  std::vector<std::int64_t> all(before.size());
  comm_.all_reduce(most, Reduce::max);
  comm_.exclusive_scan(before, all);
  std::vector<Said> step;
  std::size_t at = 0;
  for (std::size_t v = 0; v < targets_.size(); ++v) {
    const std::size_t numbers = targets_[v].numbers();
    step.push_back(said_of(v, std::span(most).subspan(at, numbers)));
    at += numbers;
    Said& said = step.back();
    said.before = before[v];
    said.all = all[v];
    if (!targets_[v].follow || said.writer < 0) continue;
    // Each rank has less than 2^63, and all of them might not.
    if (said.all < said.before || said.before < 0)
      throw Error(Errc::evarsize, targets_[v].name + " has over 2^63 elements");
    said.shape[*targets_[v].follow] = said.all;
    if (said.all == 0) said.writer = -1;
  }
  return step;
}

/// Whether the step has every element. Where blocks overlap that may be said of one that has not.
bool is_whole(const Target& target, const Said& said) {
  if (said.writer < 0) return false;
  if (target.follow || target.dimensions == 0) return true;
  Count whole = 1;
  for (std::size_t d = 0; d < target.dimensions; ++d) whole *= said.shape[d];
  return said.all >= whole;
}

DimId Records::dimension(const std::string& name, Count length) {
  const auto found = file_->schema().find_dim(name);
  if (!found) return file_->def_dim(name, length);
  if (file_->schema().dims[static_cast<std::size_t>(*found)].length == length) return *found;
  throw Error(Errc::enameinuse,
              path_ + ": dimension " + name + " is there, with another length than " +
                  std::to_string(length),
              "write to a file of its own");
}

void Records::define_variable(Target& target, const Said& said) {
  std::vector<DimId> lead, dims;
  if (!target.once && !is_split()) lead.push_back(dimension(terms::step, 0));
  dims = lead;
  for (std::size_t d = 0; d < target.dimensions; ++d)
    dims.push_back(dimension(terms::dimension(said.shape[d]), said.shape[d]));
  if (target.is_text())
    dims.push_back(dimension(terms::text_dimension(said.shape.back()), said.shape.back()));
  if (target.is_complex()) dims.push_back(dimension(terms::complex, 2));
  target.var = file_->def_var(target.name, target.element(), dims);
  const bool fixed = lead.empty();
  file_->def_var_fill(target.var, fixed && is_whole(target, said), nullptr);
  for (const Attribute& attribute : target.attributes) file_->put_attribute(target.var, attribute);
  if (!target.follow) return;
  lead.push_back(dimension("rank", comm_.size()));
  target.counts = file_->def_var(target.name + "_count", Type::int64, lead);
  file_->def_var_fill(target.counts, fixed, nullptr);
  file_->put_attribute(target.counts,
                       terms::text_attribute("long_name", "elements of each rank along dimension " +
                                                              std::to_string(*target.follow) +
                                                              " of " + target.name));
}

void Records::define(const std::vector<Said>& step, const std::vector<std::size_t>& fresh) {
  bool large = false;
  for (const std::size_t v : fresh) {
    Count bytes = size_of(targets_[v].element());
    for (const Count n : step[v].shape)
      if (__builtin_mul_overflow(bytes, n, &bytes))
        throw Error(Errc::evarsize, targets_[v].name + " has more than 2^63 bytes");
    large |= bytes > most_in_cdf2;
  }
  if (fresh.empty() && defined_) return;
  if (!defined_ && large && file_->schema().version < 5) {
    std::exchange(file_, nullptr)->abort();
    create(path_of_step(), 5);
  }
  const auto failed = attempt_together(comm_, [&] {
    if (defined_) file_->redef();
    for (const std::size_t v : fresh) define_variable(targets_[v], step[v]);
    file_->enddef();
  });
  if (failed) {
    if (!is_split()) open_again();
    throw *failed;
  }
  defined_ = true;
  // What was there already has been filled.
  whole_.resize(file_->schema().vars.size());
  for (const std::size_t v : fresh)
    for (const VarId id : {targets_[v].var, targets_[v].counts})
      if (id >= 0) whole_[static_cast<std::size_t>(id)] = file_->schema().numrecs;
}

// Without the one of records.
std::vector<Count> Records::extents_in_file(VarId id) const {
  const Variable& var = file_->variable(id);
  std::vector<Count> extents = var.shape;
  if (var.is_record) extents.erase(extents.begin());
  return extents;
}

void Records::check_extents(const std::vector<Said>& step) const {
  for (std::size_t v = 0; v < step.size(); ++v) {
    const Target& target = targets_[v];
    if (step[v].writer < 0 || target.var < 0) continue;
    const std::vector<Count> there = extents_in_file(target.var);
    if (there == step[v].shape) continue;
    if (target.is_text() && step[v].shape.back() <= there.back()) continue;
    throw Error(Errc::eedge,
                path_ + ": variable " + group_.variables[v].name + " has " +
                    text_of(step[v].shape) + " elements in this step, and " + text_of(there) +
                    " in the file",
                "choose split=step, which gives each step a file, or layout=process-group");
  }
}

/// As many fill values of the variable as go into a request. They stay where they are.
const std::byte* Records::fill_values(const Variable& var) {
  std::vector<std::byte> one = external_fill(var);
  if (!native_is_big_endian) std::reverse(one.begin(), one.end());
  auto& values = fills_[one];
  if (values.empty()) {
    values.reserve(static_cast<std::size_t>(most_filled) + one.size());
    while (std::ssize(values) < most_filled) values.insert(values.end(), one.begin(), one.end());
  }
  return values.data();
}

// This rank's part of a record, in pieces that are dealt out.
void Records::fill_record(VarId id, Count record, std::vector<Request>& to) {
  const Variable& var = file_->variable(id);
  const Count width = size_of(var.type);
  Rank next = id % comm_.size();
  std::vector<Subarray> left{whole_of(extents_in_file(id))};
  while (!left.empty()) {
    const Subarray box = std::move(left.back());
    left.pop_back();
    const Count bytes = box.elements() * width;
    if (bytes > most_filled) {
      auto [first, second] = halves_of(box);
      left.push_back(std::move(second));
      left.push_back(std::move(first));
      continue;
    }
    if (next == comm_.rank())
      to.push_back(request(id, record, box.start, box.count, var.type, fill_values(var)));
    next = (next + 1) % comm_.size();
  }
}

// What is written in part gets fill values before it is, what is not written at all along with the
// rest, also in records of earlier steps that had no record variable.
void Records::fill(const std::vector<Said>& step, std::vector<Request>& before,
                   std::vector<Request>& beside) {
  std::map<VarId, bool> whole;  // those of the step
  for (std::size_t v = 0; v < step.size(); ++v) {
    if (targets_[v].var < 0 || step[v].writer < 0) continue;
    whole[targets_[v].var] = is_whole(targets_[v], step[v]);
    if (targets_[v].counts >= 0) whole[targets_[v].counts] = true;
  }
  const Schema& schema = file_->schema();
  whole_.resize(schema.vars.size());
  for (std::size_t n = 0; n < schema.vars.size(); ++n) {
    const auto id = static_cast<VarId>(n);
    if (!schema.vars[n].is_record) continue;
    for (Count r = whole_[n]; r < record(); ++r) fill_record(id, r, beside);
    const auto written = whole.find(id);
    if (written == whole.end()) fill_record(id, record(), beside);
    if (written != whole.end() && !written->second) fill_record(id, record(), before);
  }
}

Request Records::request(VarId var, Count record, std::vector<Count> start,
                         std::vector<Count> count, Type type, const std::byte* data) const {
  Request made;
  made.var = var;
  made.write = true;
  if (file_->variable(var).is_record) {
    start.insert(start.begin(), record);
    count.insert(count.begin(), 1);
    made.last_record = record + 1;
  }
  Subarray box{std::move(start), std::move(count), {}};
  made.elements = box.elements();
  made.selection = std::move(box);
  // Writes do not change it. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  made.memory.data = const_cast<std::byte*>(data);
  made.memory.type = type;
  return made;
}

std::vector<Request> Records::requests(const std::vector<Said>& step) {
  std::vector<Request> all;
  std::vector<Count> next(targets_.size());
  for (std::size_t v = 0; v < step.size(); ++v) next[v] = step[v].before;
  for (Pending& pending : pending_) {
    const Target& target = targets_[pending.variable];
    const Said& said = step[pending.variable];
    if (target.var < 0) continue;
    std::vector<Count> start = pending.start, count = pending.count;
    const std::byte* data = pending.data.data();
    if (target.dimensions == 0 && said.writer != comm_.rank()) continue;
    if (target.follow) {
      start.assign(target.dimensions, 0);
      start[*target.follow] = next[pending.variable];
      next[pending.variable] += count[*target.follow];
    }
    if (target.is_text()) {
      const auto length = static_cast<std::size_t>(extents_in_file(target.var).back());
      pending.padded.assign(length, std::byte{0});
      std::copy(pending.data.begin(), pending.data.end(), pending.padded.begin());
      data = pending.padded.data();
      start = {0};
      count = {static_cast<Count>(length)};
    }
    if (target.is_complex()) {
      start.push_back(0);
      count.push_back(2);
    }
    const Type type = target.element();
    all.push_back(request(target.var, record(), std::move(start), std::move(count), type, data));
  }
  own_counts_.assign(targets_.size(), 0);
  for (std::size_t v = 0; v < step.size(); ++v) {
    if (targets_[v].counts < 0 || step[v].writer < 0) continue;
    own_counts_[v] = next[v] - step[v].before;
    all.push_back(request(targets_[v].counts, record(), {comm_.rank()}, {1}, Type::int64,
                          reinterpret_cast<const std::byte*>(&own_counts_[v])));
  }
  return all;
}

// An error of one rank is one on all.
void Records::put(std::vector<Request>& requests) {
  if (auto failed = attempt_to([&] { file_->execute(requests, true); }))
    throw Error(*failed).as_own_matter(false);
}

void Records::write_step() {
  const std::vector<Said> step = agree();
  std::vector<std::size_t> fresh;  // variables that the file does not have yet
  const auto look = [&] {
    if (!file_ && defined_ && !is_split())
      throw Error(Errc::ebadid, path_ + " could not be opened again behind an earlier error",
                  "close it, and append to it");
    if (file_) check_extents(step);
    for (std::size_t v = 0; v < step.size(); ++v)
      if (targets_[v].var < 0 && step[v].writer >= 0) fresh.push_back(v);
  };
  // Behind it all ranks define, or none does.
  agree_on_error(comm_, attempt_to(look));
  if (!file_) create(path_of_step(), version());
  define(step, fresh);
  std::vector<Request> all, before;
  const auto failed = attempt_to([&] {
    all = requests(step);
    fill(step, before, all);
  });
  // No rank writes where another one cannot. Whether there is something to write before all of
  // them know: each has a part of it, or another one.
  std::int64_t parts = std::ssize(before);
  agree_on_error(comm_, failed, std::span(&parts, 1), Reduce::max);
  if (parts > 0) {
    put(before);
    file_->flush();  // stages may keep no order between ranks
  }
  put(all);
  if (!is_split()) std::fill(whole_.begin(), whole_.end(), record() + 1);
}

}  // namespace

std::unique_ptr<GroupWriter> write_records(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool append) {
  std::unique_ptr<Records> made;
  agree_on_error(comm,
                 attempt_to([&] { made = std::make_unique<Records>(comm, path, group, method); }));
  made->start(append);
  return made;
}

}  // namespace forebay
