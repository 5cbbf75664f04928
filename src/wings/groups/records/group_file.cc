#include "groups/records/group_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "base/attempt.h"
#include "base/words.h"
#include "comm/agree.h"
#include "groups/format/bp_write.h"
#include "groups/records/group_types.h"

namespace forebay {

namespace fs = std::filesystem;

namespace {

/// Local. Returns a writer of one file. `group` must outlive it.
std::unique_ptr<GroupWriter> write_to(const Comm& comm, const GroupDefinition& group,
                                      const GroupTarget& target, GroupFormat format, bool append) {
  if (format == GroupFormat::nothing) return write_nothing();
  const auto make = format == GroupFormat::bp ? write_process_groups : write_records;
  return make(comm, target.path, group, target.method, append);
}

/// Errc::einval: two files are the same one. Errc::enoent: a folder is not there.
void check_paths(const GroupDefinition& group, const std::vector<GroupTarget>& targets) {
  if (targets.size() == 1) return;
  std::set<std::string> paths;
  for (const GroupTarget& target : targets) {
    const fs::path path(target.path),
        folder = path.parent_path().empty() ? "." : path.parent_path();
    std::error_code failed;
    const fs::path real = fs::canonical(folder, failed);
    if (failed) throw system_error(failed.value(), Errc::enoent, "looking for", folder.string());
    if (!paths.insert(real / path.filename()).second)
      throw Error(Errc::einval,
                  "two methods of group " + group.name + " would write " + target.path,
                  "choose formats with different endings, or give one of them a base_path");
  }
}

/// Returns the histogram of one block. NaN is not counted; infinities lie below and above.
std::vector<std::int64_t> counts_of(const GroupVariable& v, std::span<const std::byte> values) {
  const Histogram& wanted = *v.histogram;
  const double width = (wanted.greatest - wanted.least) / wanted.bins;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(wanted.bins) + 2);
  bp::with_number(bp_type(v.type), [&](auto kind) {
    for (std::size_t at = 0; at < values.size(); at += sizeof kind) {
      std::memcpy(&kind, values.data() + at, sizeof kind);
      const auto value = static_cast<double>(kind);
      if (std::isnan(value)) continue;
      const double bin = std::clamp((value - wanted.least) / width, 0.0, wanted.bins - 0.5);
      const std::size_t place = value < wanted.least      ? 0
                                : value > wanted.greatest ? counts.size() - 1
                                                          : 1 + static_cast<std::size_t>(bin);
      ++counts[place];
    }
  });
  return counts;
}

}  // namespace

std::unique_ptr<GroupFile> GroupFile::create(const Comm& comm, std::vector<GroupTarget> targets,
                                             const GroupDefinition& group, bool append) {
  std::unique_ptr<GroupFile> file;
  // All this is checked before an existing file is replaced.
  const auto check = [&] {
    check_group(group);
    std::vector<GroupFormat> formats;
    formats.reserve(targets.size());
    for (GroupTarget& target : targets)
      formats.push_back(settle_format(target.method, target.path));
    if (comm.is_root()) check_paths(group, targets);
    for (const GroupAttribute& attribute : group.attributes)
      if (std::ranges::count(formats, GroupFormat::bp) > 0) bp::check(to_bp_attribute(attribute));
    file.reset(new GroupFile(comm, group));
    file->written_.resize(group.variables.size());
    std::vector<NamedWriter> made;
    for (std::size_t i = 0; i < targets.size(); ++i)
      made.push_back(
          {targets[i].path, write_to(file->comm_, file->group_, targets[i], formats[i], append)});
    file->writer_ = made.size() > 1 ? write_to_all(file->group_, std::move(made))
                                    : std::move(made.front().writer);
  };
  const auto failed = attempt_and_go_on(comm, [&] {
    agree_on_error(comm, attempt_to(check));
    file->writer_->start(append);
  });
  if (failed) throw *failed;
  return file;
}

const GroupVariable& GroupFile::variable(const std::string& name) const {
  if (const GroupVariable* found = group_.find(name)) return *found;
  std::vector<std::string_view> names;
  for (const GroupVariable& v : group_.variables) names.push_back(v.name);
  throw Error(Errc::enotvar, "group " + group_.name + " has no variable " + name,
              did_you_mean(name, names, "declare it in the group"));
}

bp::Shape GroupFile::shape_of(const GroupVariable& v) const {
  const auto known = [&](std::string_view name) -> std::optional<Count> {
    const auto found = scalars_.find(name);
    if (found != scalars_.end()) return found->second;
    const GroupVariable* const scalar = group_.find(std::string(name));
    if (scalar && written_[number_of(*scalar)])
      throw Error(Errc::erange, std::string(name) + " is beyond 63 bits, which no size is");
    return std::nullopt;
  };
  const auto values = [&](const std::vector<Expression>& list) {
    std::vector<Count> all;
    all.reserve(list.size());
    for (const Expression& e : list) all.push_back(e.value(known));
    return all;
  };
  bp::Shape at;
  if (v.dimensions.empty()) return at;
  naming("variable " + v.name, [&] {
    at.shape = values(v.global), at.start = values(v.offsets), at.count = values(v.dimensions);
  });
  complete(v, at);
  return at;
}

bp::Shape GroupFile::shape_of(const GroupVariable& v, const GroupBox& box) const {
  const auto me = [&] { return "variable " + v.name; };
  const bool global = !v.global.empty();
  if (v.dimensions.empty())
    throw Error(Errc::einval, me() + " is a scalar, which has no box", "write it without one");
  if (!box.count || global != (box.shape != nullptr) || global != (box.start != nullptr))
    throw Error(Errc::einval,
                me() + (global ? " is part of a global array" : " is no global array"),
                global ? "give shape, start and count" : "give count alone");
  bp::Shape at;
  const std::size_t n = v.dimensions.size();
  at.count.assign(box.count, box.count + n);
  if (global) {
    at.shape.assign(box.shape, box.shape + n);
    at.start.assign(box.start, box.start + n);
  }
  complete(v, at);
  return at;
}

/// Checks the extents, and sets the shape of a joined array.
void GroupFile::complete(const GroupVariable& v, bp::Shape& at) const {
  const auto me = [&] { return "variable " + v.name; };
  const bool global = !v.global.empty();
  for (std::size_t d = 0; d < at.count.size(); ++d) {
    const auto dimension = [&] { return me() + ", dimension " + std::to_string(d) + ": "; };
    if (at.count[d] < 0)
      throw Error(Errc::einval, dimension() + std::to_string(at.count[d]) + " elements");
    if (!global) continue;
    if (at.shape[d] < 0 || at.start[d] < 0 || at.start[d] > at.shape[d] ||
        at.count[d] > at.shape[d] - at.start[d]) {
      throw Error(Errc::eedge,
                  dimension() + std::to_string(at.count[d]) + " elements from " +
                      std::to_string(at.start[d]) + " on are not within " +
                      std::to_string(at.shape[d]),
                  "look at the scalars that its dimensions and offsets name");
    }
  }
  if (!bp::any_zero(at.shape)) {
    Count bytes = size_of(v.type);
    if (!bp::multiply_all(at.shape, bytes))
      throw Error(Errc::evarsize, me() + ": all of the array has more than 2^63 bytes",
                  "look at its global dimensions");
  }
  if (v.joined) {
    at.shape = at.count;
    at.shape[static_cast<std::size_t>(*v.joined)] = bp::joined;
  }
}

void GroupFile::add(const GroupVariable& v, bp::Shape shape, const void* data, bool lent) {
  Count bytes = size_of(v.type);
  if (bp::any_zero(shape.count)) bytes = 0;
  if (!bp::multiply_all(shape.count, bytes))
    throw Error(Errc::evarsize, "variable " + v.name + ": its block has more than 2^63 bytes");
  if (!data && (bytes > 0 || v.type == GroupType::string))
    throw Error(Errc::einval, "variable " + v.name + ": no data", "give the address of its values");
  if (v.type == GroupType::string)
    bytes = static_cast<Count>(std::strlen(static_cast<const char*>(data)));
  const std::span values(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes));
  if (!v.histogram || values.empty()) {
    writer_->add(number_of(v), std::move(shape), values, lent);
    return;
  }
  // A histogram is prepared before its block is added. So a program that repeats a refused write
  // has the values in the step only once.
  const bool follows = std::ranges::count(late_, &v, &LateHistogram::variable) > 0;
  late_.push_back({&v, lent ? values : std::span<const std::byte>(), {}});
  const std::uint64_t before = writer_->adds();
  try {
    if (!lent) late_.back().counts = counts_of(v, values);
    writer_->add(number_of(v), std::move(shape), values, lent);
  } catch (...) {
    if (writer_->adds() == before) late_.pop_back();
    throw;
  }
  // Histograms keep the order of their blocks. If this is refused (a full disk), the histogram
  // waits for the end of the step.
  if (!lent && !follows && !attempt_to([&] { add_histogram(v, late_.back().counts, false); }))
    late_.pop_back();
}

std::size_t GroupFile::number_of(const GroupVariable& v) const {
  return static_cast<std::size_t>(&v - group_.variables.data());
}

void GroupFile::add_histogram(const GroupVariable& v, std::span<const std::int64_t> counts,
                              bool lent) {
  writer_->add(number_of(v) + 1, {{}, {}, {std::ssize(counts)}}, std::as_bytes(counts), lent);
}

// Integers beyond 63 bits are no sizes; a dimension that names one gets an error.
void GroupFile::remember(const GroupVariable& v, const void* data) {
  if (!v.dimensions.empty()) return;
  with_integer(v.type, [&](auto value) {
    std::memcpy(&value, data, sizeof value);
    // The value is a number, not a character. NOLINTNEXTLINE(bugprone-signed-char-misuse)
    if (std::in_range<Count>(value)) scalars_[v.name] = static_cast<Count>(value);
  });
}

void GroupFile::expect_size(std::int64_t bytes) {
  if (bytes < 0)
    throw Error(Errc::einval, "a step of " + std::to_string(bytes) + " bytes",
                "give what this rank writes of the group");
  writer_->make_room(static_cast<std::size_t>(bytes));
}

const GroupVariable& GroupFile::own_variable(const std::string& name) {
  // Programs usually write variables in the order of their declarations.
  const bool follows = next_ < group_.variables.size() && group_.variables[next_].name == name;
  const GroupVariable& v = follows ? group_.variables[next_] : variable(name);
  next_ = number_of(v) + 1;
  if (v.is_histogram)
    throw Error(Errc::einval, name + " is written by the library, with the variable it is of");
  return v;
}

void GroupFile::write(const std::string& name, const void* data, bool lent) {
  const GroupVariable& v = own_variable(name);
  if (written_[number_of(v)])
    throw Error(Errc::einval, "variable " + name + " was written in this step already",
                "end the step, or write further boxes of an array with forebay_write_box");
  if (!is_left_out(v)) {
    const std::uint64_t before = writer_->adds();
    const auto failed = attempt_to([&] { add(v, shape_of(v), data, lent); });
    // If one file of several refused it, the others have it.
    written_[number_of(v)] = !failed || writer_->adds() != before;
    if (failed) throw *failed;
  }
  if (data) remember(v, data);  // others may need the value, even if it is not written again
}

void GroupFile::write_box(const std::string& name, const GroupBox& box, const void* data,
                          bool lent) {
  const GroupVariable& v = own_variable(name);
  bp::Shape shape = shape_of(v, box);
  if (!is_left_out(v)) add(v, std::move(shape), data, lent);
}

void GroupFile::end_step() {
  scalars_.clear();
  written_.assign(group_.variables.size(), false);
  std::optional<Error> failed;
  for (LateHistogram& late : late_)
    attempt_into(failed, [&] {
      const bool copied = !late.counts.empty();
      if (!copied) late.counts = counts_of(*late.variable, late.lent);
      add_histogram(*late.variable, late.counts, copied);
      if (!copied) late.counts = {};
    });
  // The writer keeps lent memory until then, even if it throws.
  const auto ended = attempt_to([&] { writer_->end_step(); });
  late_.clear();
  if (ended) throw *ended;
  if (failed) throw Error(*failed).as_own_matter(true);
}

}  // namespace forebay
