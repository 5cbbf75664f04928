// Writes groups as netCDF files: each step is a record, or a file of its own (docs/groups.md, "As
// netCDF").
//
//     add        the block is noted, and copied unless it was lent                   local
//     end_step   1. ranks agree on the extents of the step's variables               one reduction
//                2. where blocks follow one another, sums give this rank's start     one scan
//                3. new variables are defined in the file                            first step
//                4. all blocks go to the file in one collective operation of Dataset, with fill
//                   values for what the step lacks, distributed over the ranks
//
// A variable is defined in the file by the first step that has it, because its extents are known
// then. Every step adds one record to each record variable of the file, so that steps and records
// have the same numbers.
//
// Nothing is changed before ranks know that the step fits: later failures come from the file system
// or from memory. If definitions fail half-way, the whole define mode is dropped, and the file is
// opened anew.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/copy_room.h"
#include "base/words.h"
#include "comm/agree.h"
#include "dataset/dataset.h"
#include "dataset/fill_requests.h"
#include "groups/records/group_terms.h"
#include "groups/records/group_types.h"
#include "groups/records/group_writer.h"
#include "groups/records/record_targets.h"
#include "groups/records/step_files.h"
#include "layout/classic_part.h"
#include "method/front_end.h"
#include "storage/file.h"

namespace forebay {
namespace {

namespace terms = group_terms;
namespace fs = std::filesystem;

constexpr Count worth_chunks = 64 << 10;  // bytes of a variable in a step that justify chunks
constexpr Count most_in_cdf2 = (Count{1} << 32) - 4;  // bytes of a variable, or of its record
constexpr int text_bits = 32;                         // for a text's length; the rank is above them
constexpr std::int64_t unsaid = std::numeric_limits<std::int64_t>::min();

struct Pending {
  std::size_t variable = 0;
  std::vector<Count> start, count;  // C's order; `start` of following blocks is set later
  std::span<const std::byte> data;
  RawBytes padded;  // a text, padded to its variable's length
};

/// A variable's extents in a step, as all ranks know them.
struct Said {
  Rank writer = -1;           // the lowest rank that has it; -1: none
  std::vector<Count> shape;   // in C's order; a sum along the dimension of following blocks
  Count before = 0, all = 0;  // along it on lower ranks, on all; or elements written
};

/// Returns how many numbers ranks agree on: the writer, a text's length, two for each dimension.
std::size_t numbers_of(const RecordTarget& target) { return 2 + 2 * target.dimensions; }

std::string text_of(const std::vector<Count>& extents) {
  if (extents.empty()) return "one value";
  return joined(extents, " x ");
}

class Records final : public GroupWriter {
 public:
  Records(const Comm& comm, const std::string& path, const GroupDefinition& group,
          const Method& method)
      : comm_(comm), path_(strip_prefix(path)), group_(group), method_(method), fills_(comm) {
    keep_honoured(method_, FrontEnd::group_records);
    // A step is in the file when it has ended, unless another stage is named.
    if (!method_.origin.contains("stage")) method_.stage = "direct";
    if (method_.layout == "auto") {
      method_.layout = "canonical";
      waits_for_size_ = method_.codec != "none";
    }
    targets_ = record_targets(group, is_split());
  }

  void start(bool append) override {
    if (is_split()) return start_files(append);
    if (append) {
      // A run that ended before its first step leaves an empty file.
      const std::int64_t there = told_by_root(comm_, [&]() -> std::int64_t {
        return fs::is_directory(path_) || (fs::exists(path_) && fs::file_size(path_) > 0);
      });
      if (there != 0) return go_on();
    }
    create(path_, targets_.version());
  }

  void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data, bool lent) override;
  void make_room(std::size_t bytes) override { copies_.find(bytes); }
  void end_step() override {
    const auto failed = attempt_together(comm_, [&] {
      write_step();
      if (is_split())
        end_file();
      else if (method_.stage == "direct")
        file_->flush();  // some containers show it only then
    });
    pending_.clear();
    said_.clear();
    copies_.clear();
    if (failed && is_split()) drop_file();
    if (failed) throw *failed;
    ++steps_;
  }
  void sync() override {
    // Files of steps are synchronised when they end. Before the first step there is nothing to do.
    if (file_ && !is_split() && !file_->in_define_mode()) file_->sync();
  }
  void close() override {
    if (!file_) return;
    const auto file = std::move(file_);
    if (is_split())
      file->abort();  // it has no step yet
    else
      file->close();
  }
  std::uint64_t steps() const override { return steps_; }

 private:
  bool is_split() const { return method_.split == Split::step; }
  std::string path_of_step() const { return is_split() ? file_of_step(path_, steps_) : path_; }
  void create(const std::string& path, int version);
  void start_files(bool append);
  void go_on();
  void end_file();
  void drop_file();
  void forget_ids();
  void find_ids();
  void open_again();

  std::vector<Count> in_c_order(std::vector<Count> list) const {
    if (group_.column_major) std::ranges::reverse(list);
    return list;
  }
  void write_step();
  void put(std::vector<Request>& requests);
  std::vector<Said> agree();
  void choose_layout(Count largest);
  void note_own(std::vector<std::int64_t>& most, std::vector<std::int64_t>& sums) const;
  Said said_of(std::size_t v, std::span<const std::int64_t> most) const;
  void define(const std::vector<Said>& step, const std::vector<std::size_t>& fresh);
  void define_variable(RecordTarget& target, const Said& said);
  DimId dimension(const std::string& name, Count length);
  void check_extents(const std::vector<Said>& step) const;
  void fill(const std::vector<Said>& step, std::vector<Request>& before,
            std::vector<Request>& beside);
  std::vector<Request> requests(const std::vector<Said>& step);
  Count record() const { return static_cast<Count>(steps_); }

  const Comm& comm_;
  std::string path_;
  const GroupDefinition& group_;
  Method method_;
  RecordTargets targets_;
  std::unique_ptr<Dataset> file_;  // null between two steps that have files of their own
  // For each variable: records below this number are known to have all their values.
  std::vector<Count> whole_;
  bool defined_ = false;         // it has left its first define mode
  bool waits_for_size_ = false;  // layout=auto, and the file has no step yet
  std::uint64_t steps_ = 0;
  std::vector<Pending> pending_;
  std::map<std::size_t, std::vector<Count>> said_;  // the extents that this rank added
  FillRequests fills_;
  std::vector<std::int64_t> own_counts_;  // memory of requests
  CopyRoom copies_;
};

// -- files

void Records::create(const std::string& path, int version) {
  defined_ = false;
  whole_.clear();
  file_ = Dataset::create_by(comm_, path, version, false, method_);
  agree_on_error(comm_, attempt_to([&] {
                   for (const Attribute& attribute : targets_.attributes)
                     file_->put_attribute(global_id, attribute);
                 }));
}

// Steps of an earlier run that this run does not overwrite would look like its own. They are
// removed when it is known that new ones can be written.
void Records::start_files(bool append) {
  std::vector<std::uint64_t> there;
  steps_ = static_cast<std::uint64_t>(told_by_root(comm_, [&] {
    there = files_of_steps(path_);
    return append && !there.empty() ? static_cast<std::int64_t>(there.back()) + 1 : 0;
  }));
  create(path_of_step(), targets_.version());
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
  for (RecordTarget& target : targets_.variables) target.var = target.counts = -1;
}

// A failed step leaves nothing behind.
void Records::drop_file() {
  forget_ids();
  if (const auto file = std::move(file_))
    attempt_to([&] { defined_ ? file->close() : file->abort(); });
  by_root(comm_, [&] {
    if (const auto path = file_of_step(path_, steps_); fs::exists(path)) remove_whole(path);
  });
}

// The file may lack variables of the group; those that it has must match the group.
void Records::go_on() {
  file_ = Dataset::open_by(comm_, path_, true, method_);
  defined_ = true;
  waits_for_size_ = false;
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
  for (RecordTarget& target : targets_.variables) {
    const auto found = schema.find_var(target.name);
    if (!found) continue;
    const Variable& var = schema.vars[static_cast<std::size_t>(*found)];
    const std::size_t dims = target.dimensions + (target.once ? 0 : 1) +
                             (target.is_text() || target.is_complex() ? 1 : 0);
    const auto counts = schema.find_var(target.counts_name());
    if (var.type != target.element() || var.dimids.size() != dims || var.is_record == target.once ||
        target.follow.has_value() != counts.has_value())
      throw Error(Errc::emultidefine_var_type,
                  path_ + ": variable " + target.name + " has another type or other dimensions",
                  "append with the definitions that the file was written with");
    target.var = *found;
    if (!target.follow) continue;
    target.counts = *counts;
    const std::vector<Count> extents = record_extents(*file_, target.counts);
    if (extents.size() != 1 || extents[0] != comm_.size())
      throw Error(Errc::einval, path_ + ": variable " + target.name + " has blocks of other ranks",
                  "append with as many ranks, or choose split=step");
  }
}

// Drops a define mode that failed half-way, together with the open file. Until then nothing may
// fail on one rank alone, because the others could not know.
void Records::open_again() {
  forget_ids();
  attempt_to([&] { std::exchange(file_, nullptr)->abort(); });
  if (!defined_) return create(path_, targets_.version());
  file_ = Dataset::open_by(comm_, path_, true, method_);
  agree_on_error(comm_, attempt_to([&] { find_ids(); }));
}

// -- a step

// NOLINTNEXTLINE(performance-unnecessary-value-param)
void Records::add(std::size_t variable, bp::Shape at, std::span<const std::byte> data, bool lent) {
  const RecordTarget& target = targets_.variables[variable];
  Pending pending;
  pending.variable = variable;
  pending.count = in_c_order(at.count);
  pending.start = in_c_order(at.start);
  // A variable without elements is not in the file.
  std::vector<Count> extents = target.follow ? pending.count : in_c_order(at.shape);
  if (bp::any_zero(extents)) return;
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
  const bool nothing = bp::any_zero(pending.count);
  if (!nothing) pending_.push_back(std::move(pending));
  said_[variable] = std::move(extents);
}

void Records::note_own(std::vector<std::int64_t>& most, std::vector<std::int64_t>& sums) const {
  std::vector<std::size_t> places;
  std::size_t size = 0;
  for (const RecordTarget& target : targets_.variables) {
    places.push_back(size);
    size += numbers_of(target);
  }
  most.assign(size, unsaid);
  sums.assign(targets_.variables.size(), 0);
  for (const auto& [v, extents] : said_) {
    const RecordTarget& target = targets_.variables[v];
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
    const RecordTarget& target = targets_.variables[pending.variable];
    // The lowest rank has the greatest of these numbers.
    if (target.is_text())
      most[places[pending.variable] + 1] =
          (std::int64_t{comm_.size() - comm_.rank()} << text_bits) + std::ssize(pending.data);
    if (target.follow) continue;
    Count elements = 1;
    if (!bp::multiply_all(pending.count, elements)) elements = 0;
    sums[pending.variable] += elements;
  }
}

Said Records::said_of(std::size_t v, std::span<const std::int64_t> most) const {
  const RecordTarget& target = targets_.variables[v];
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
    // An empty text is not defined in a file.
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
  for (std::size_t v = 0; v < targets_.variables.size(); ++v) {
    const std::size_t numbers = numbers_of(targets_.variables[v]);
    step.push_back(said_of(v, std::span(most).subspan(at, numbers)));
    at += numbers;
    Said& said = step.back();
    said.before = before[v];
    said.all = all[v];
    if (!targets_.variables[v].follow || said.writer < 0) continue;
    // Each rank has less than 2^63 elements, but their sum may overflow.
    if (said.all < said.before || said.before < 0)
      throw Error(Errc::evarsize, targets_.variables[v].name + " has over 2^63 elements");
    said.shape[*targets_.variables[v].follow] = said.all;
    if (said.all == 0) said.writer = -1;
  }
  return step;
}

/// Returns whether the step has every element. Overlapping blocks may hide gaps.
bool is_whole(const RecordTarget& target, const Said& said) {
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

void Records::define_variable(RecordTarget& target, const Said& said) {
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
  lead.push_back(dimension(terms::rank, comm_.size()));
  target.counts = file_->def_var(target.counts_name(), Type::int64, lead);
  file_->def_var_fill(target.counts, fixed, nullptr);
  file_->put_attribute(
      target.counts, text_attribute("long_name", terms::counts_title(target.name, *target.follow)));
}

// Every reader knows canonical files. A codec needs chunks, which do not help small variables.
void Records::choose_layout(Count largest) {
  if (!std::exchange(waits_for_size_, false)) return;
  const bool chunked = largest >= worth_chunks;
  method_.layout = chunked ? "chunked" : "canonical";
  attempt_to([&] {
    method_.origin["layout"] = "layout=auto, as the largest variable of the first step has " +
                               std::to_string(largest) + " bytes";
  });
  if (!chunked || !file_) return;
  std::exchange(file_, nullptr)->abort();
  create(path_of_step(), targets_.version());
}

void Records::define(const std::vector<Said>& step, const std::vector<std::size_t>& fresh) {
  Count largest = 0;
  for (const std::size_t v : fresh) {
    Count bytes = size_of(targets_.variables[v].element());
    if (!bp::multiply_all(step[v].shape, bytes))
      throw Error(Errc::evarsize, targets_.variables[v].name + " has more than 2^63 bytes");
    largest = std::max(largest, bytes);
  }
  if (fresh.empty() && defined_) return;
  if (!fresh.empty()) choose_layout(largest);
  if (!defined_ && largest > most_in_cdf2 && file_->schema().version < 5) {
    std::exchange(file_, nullptr)->abort();
    create(path_of_step(), 5);
  }
  const auto failed = attempt_together(comm_, [&] {
    if (defined_) file_->redef();
    for (const std::size_t v : fresh) define_variable(targets_.variables[v], step[v]);
    file_->enddef();
  });
  if (failed) {
    if (!is_split()) open_again();
    throw *failed;
  }
  defined_ = true;
  // Records that exist already have been filled.
  whole_.resize(file_->schema().vars.size());
  for (const std::size_t v : fresh)
    for (const VarId id : {targets_.variables[v].var, targets_.variables[v].counts})
      if (id >= 0) whole_[static_cast<std::size_t>(id)] = file_->schema().numrecs;
}

void Records::check_extents(const std::vector<Said>& step) const {
  for (std::size_t v = 0; v < step.size(); ++v) {
    const RecordTarget& target = targets_.variables[v];
    if (step[v].writer < 0 || target.var < 0) continue;
    const std::vector<Count> there = record_extents(*file_, target.var);
    if (there == step[v].shape) continue;
    if (target.is_text() && step[v].shape.back() <= there.back()) continue;
    throw Error(Errc::eedge,
                path_ + ": variable " + group_.variables[v].name + " has " +
                    text_of(step[v].shape) + " elements in this step, and " + text_of(there) +
                    " in the file",
                "choose split=step, which gives each step a file, or layout=process-group");
  }
}

// A variable written in part is filled before its values are written. A variable not written at all
// is filled together with the rest, in earlier records, too, if they lack it.
void Records::fill(const std::vector<Said>& step, std::vector<Request>& before,
                   std::vector<Request>& beside) {
  std::map<VarId, bool> whole;  // the step's variables
  for (std::size_t v = 0; v < step.size(); ++v) {
    if (targets_.variables[v].var < 0 || step[v].writer < 0) continue;
    whole[targets_.variables[v].var] = is_whole(targets_.variables[v], step[v]);
    if (targets_.variables[v].counts >= 0) whole[targets_.variables[v].counts] = true;
  }
  const Schema& schema = file_->schema();
  whole_.resize(schema.vars.size());
  for (std::size_t n = 0; n < schema.vars.size(); ++n) {
    const auto id = static_cast<VarId>(n);
    if (!schema.vars[n].is_record) continue;
    for (Count r = whole_[n]; r < record(); ++r) fills_.add(*file_, id, r, beside);
    const auto written = whole.find(id);
    if (written == whole.end()) fills_.add(*file_, id, record(), beside);
    if (written != whole.end() && !written->second) fills_.add(*file_, id, record(), before);
  }
}

std::vector<Request> Records::requests(const std::vector<Said>& step) {
  std::vector<Request> all;
  std::vector<Count> next(targets_.variables.size());
  for (std::size_t v = 0; v < step.size(); ++v) next[v] = step[v].before;
  for (Pending& pending : pending_) {
    const RecordTarget& target = targets_.variables[pending.variable];
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
      const auto length = static_cast<std::size_t>(record_extents(*file_, target.var).back());
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
    all.push_back(
        put_request(*file_, target.var, record(), std::move(start), std::move(count), data));
  }
  own_counts_.assign(targets_.variables.size(), 0);
  for (std::size_t v = 0; v < step.size(); ++v) {
    if (targets_.variables[v].counts < 0 || step[v].writer < 0) continue;
    own_counts_[v] = next[v] - step[v].before;
    all.push_back(put_request(*file_, targets_.variables[v].counts, record(), {comm_.rank()}, {1},
                              reinterpret_cast<const std::byte*>(&own_counts_[v])));
  }
  return all;
}

// Makes an error of one rank an error on all ranks.
void Records::put(std::vector<Request>& requests) {
  if (auto failed = attempt_to([&] { file_->execute(requests, true); }))
    throw Error(*failed).as_own_matter(false);
}

void Records::write_step() {
  const std::vector<Said> step = agree();
  std::vector<std::size_t> fresh;  // variables that the file lacks
  const auto look = [&] {
    if (!file_ && defined_ && !is_split())
      throw Error(Errc::ebadid, path_ + " could not be opened again behind an earlier error",
                  "close it, and append to it");
    if (file_) check_extents(step);
    for (std::size_t v = 0; v < step.size(); ++v)
      if (targets_.variables[v].var < 0 && step[v].writer >= 0) fresh.push_back(v);
  };
  // After it all ranks define, or none does.
  agree_on_error(comm_, attempt_to(look));
  if (!file_) create(path_of_step(), targets_.version());
  define(step, fresh);
  std::vector<Request> all, before;
  const auto failed = attempt_to([&] {
    all = requests(step);
    fill(step, before, all);
  });
  // No rank writes if another cannot. Ranks agree on whether anything is filled first, because one
  // rank may have no part of it.
  std::int64_t parts = std::ssize(before);
  agree_on_error(comm_, failed, std::span(&parts, 1), Reduce::max);
  if (parts > 0) {
    put(before);
    file_->flush();  // a stage may keep no order between ranks
  }
  put(all);
  if (!is_split()) std::ranges::fill(whole_, record() + 1);
}

}  // namespace

std::unique_ptr<GroupWriter> write_records(const Comm& comm, const std::string& path,
                                           const GroupDefinition& group, const Method& method,
                                           bool /*append*/) {
  return std::make_unique<Records>(comm, path, group, method);
}

}  // namespace forebay
