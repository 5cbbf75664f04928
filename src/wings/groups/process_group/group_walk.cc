#include "groups/process_group/group_walk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

#include "base/attempt.h"
#include "base/error.h"
#include "base/stale_files.h"
#include "groups/format/bp_cursor.h"
#include "groups/format/bp_group.h"
#include "groups/format/bp_read.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

namespace {

bool is_of_this_machine(File& file) {
  std::array<std::byte, bp::head_bytes> head{};
  bool swapped = false;
  const auto failed = attempt_to([&] {
    if (file.read_at(0, head) < head.size()) bp::damaged("it has no head");
    swapped = bp::parse_head(head);
  });
  if (failed && failed->code() != Errc::ebad_file && failed->code() != Errc::enotsupport)
    throw *failed;
  return !failed && !swapped;
}

std::span<const std::byte> head_at(IndexWindow& window, Offset at, Offset end) {
  return window.bytes(at, std::min(bp::longest_head, end - at), end);
}

/// Returns the place of the next group tag from `at` on, or the end.
Offset next_tag(IndexWindow& window, Offset at) {
  constexpr std::string_view tag = "[PGI";
  const Offset end = window.file_bytes();
  for (at = round_up(at, bp::payload_alignment); at + std::ssize(tag) <= end;
       at += bp::payload_alignment)
    if (std::memcmp(window.bytes(at, std::ssize(tag), end).data(), tag.data(), tag.size()) == 0)
      return at;
  return end;
}

/// Calls f(head, at, whole) for each group from `at` on that has a head.
template <typename F>
void each_group(File& file, IndexWindow& window, Offset at, F&& f) {
  const Offset end = window.file_bytes();
  std::array<std::byte, bp::group_end_bytes> last{};
  while (at < end) {
    bp::GroupHead head;
    const auto failed = attempt_to([&] { head = bp::parse_group_head(head_at(window, at, end)); });
    if (failed && failed->code() != Errc::ebad_file) throw *failed;
    bool whole = !failed && head.bytes <= end - at;
    if (whole) {
      file.read_at(at + head.bytes - std::ssize(last), last);
      whole = bp::ends_group(last);
    }
    if (!failed) f(head, at, whole);
    at = whole ? at + head.bytes : next_tag(window, at + 1);
  }
}

/// Appends the attribute's entry. Throws if its values are invalid.
void append_checked(bp::Bytes& out, const bp::GroupAttribute& parsed, const FoundGroup& group) {
  const auto failed = attempt_to([&] { bp::check(parsed.attribute); });
  if (failed) bp::damaged(failed->message());
  bp::append_attribute(out, parsed.attribute, parsed.member, group.step, group.file);
}

/// Takes a scalar's value or text from the payload, as its entry has it, too.
void take_scalar(bp::GroupBlock& parsed, std::span<const std::byte> payload) {
  bp::Block& block = parsed.block;
  block.has_value = true;
  if (parsed.variable.type != bp::Type::string) {
    std::copy(payload.begin(), payload.end(), block.min.begin());
    block.max = block.min;
    return;
  }
  std::uint16_t length = 0;
  std::memcpy(&length, payload.data(), sizeof length);
  if (std::ssize(payload) != Count{2} + length)
    bp::damaged("a string that is not as long as it says");
  block.text.assign(reinterpret_cast<const char*>(payload.data()) + 2, length);
}

bool lies_behind(const FoundGroup& group, const Places& before) {
  const auto place = before.find(group.file);
  return place == before.end() || group.place > place->second;
}

/// Parses the entry of a variable like a reader. Throws if it is invalid.
void check_entry(std::span<const std::byte> entry, bp::Origin origin) {
  bp::VariableEntry parsed(entry, origin);
  for (bp::Block block; parsed.next(block);) continue;
}

}  // namespace

/// Index entries of a step, by names of variables and numbers of attributes.
struct GroupWalk::Entries {
  struct OfVariable {
    bp::Variable variable;
    std::uint32_t member = bp::unknown_member;
    bp::Bytes bytes;
    std::uint64_t blocks = 0;
  };
  std::map<std::string, OfVariable> variables;
  std::map<std::pair<std::uint64_t, std::uint32_t>, bp::Bytes> attributes;  // by opening, number
  bp::Form form = bp::Form::bp4;
  std::size_t name_bytes = 0;  // length of the groups' names, equal for all
  bool column_major = false;
};

namespace {

/// Sorts variables by their numbers; variables without a number in any block come last. In BP3,
/// openings may have different numbers; those of the first opening are used.
template <typename Variables>
auto by_number(Variables& variables, bp::Form form) {
  std::map<std::uint32_t, typename Variables::mapped_type*> numbers;
  for (auto& [name, entry] : variables)
    if (entry.member != bp::unknown_member && !numbers.emplace(entry.member, &entry).second) {
      if (form == bp::Form::bp4) bp::damaged("two variables with one number");
      entry.member = bp::unknown_member;
    }
  std::uint32_t next = numbers.empty() ? 0 : std::prev(numbers.end())->first + 1;
  for (auto& [name, entry] : variables)
    if (entry.member == bp::unknown_member) numbers.emplace(next++, &entry);
  return numbers;
}

}  // namespace

Leftover left_behind(File& data, Offset from) {
  IndexWindow window(data);
  Leftover found{window.file_bytes()};
  from = next_tag(window, std::min(from, window.file_bytes()));
  each_group(data, window, from, [&](const auto& head, Offset at, bool) {
    if (!head.mark) return;  // a filler, or another program's group
    found.end = std::max(found.end, at + head.bytes);
    found.opening = std::max(found.opening, head.mark->opening);
  });
  return found;
}

namespace {

std::optional<bp::GroupHead> group_head_at(File& data, Offset place) {
  IndexWindow window(data);
  bp::GroupHead head;
  const auto failed = attempt_to([&] {
    if (place < 0 || place >= window.file_bytes()) bp::damaged("no group");
    head = bp::parse_group_head(head_at(window, place, window.file_bytes()));
  });
  if (failed && failed->code() != Errc::ebad_file) throw *failed;
  if (failed) return std::nullopt;
  return head;
}

}  // namespace

std::optional<bp::GroupMark> mark_at(File& data, Offset place, std::uint64_t step) {
  const auto head = group_head_at(data, place);
  if (!head || head->step != step) return std::nullopt;
  return head->mark;
}

std::optional<WrittenGroup> written_group(File& data, Offset place) {
  const auto head = group_head_at(data, place);
  if (!head || head->bytes > data.size() - place) return std::nullopt;
  WrittenGroup found{place + head->bytes, head->mark ? head->mark->opening : 0};
  const auto next = group_head_at(data, found.end);
  if (next && !next->mark && next->name.empty()) found.end += next->bytes;
  return found;
}

std::vector<std::uint32_t> data_files(const std::string& path) {
  std::vector<std::uint32_t> numbers;
  each_in_folder(path, [&](int, const char* name, bool) {
    constexpr std::string_view begin = "data.";
    const std::string file = name;
    if (!file.starts_with(begin)) return;
    const std::string digits = file.substr(begin.size());
    const bool plain = digits.size() <= 9 && (digits == "0" || !digits.starts_with('0'));
    std::error_code ignored;  // the file may be a link, if it was moved to other disks
    if (plain && is_number(digits) && fs::is_regular_file(path + "/" + file, ignored))
      numbers.push_back(static_cast<std::uint32_t>(std::stoul(digits)));
  });
  std::ranges::sort(numbers);
  return numbers;
}

GroupWalk::GroupWalk(const std::string& path, Rank rank, Report& report)
    : path_(path), one_file_(fs::is_regular_file(path)), rank_(rank), report_(report) {
  if (one_file_)
    walk(0);
  else
    for (const std::uint32_t number : data_files(path)) walk(number);
  std::ranges::stable_sort(groups_, {}, &FoundGroup::step);
}

std::string GroupWalk::data_path(std::uint32_t number) const {
  return one_file_ ? path_ : path_ + "/data." + std::to_string(number);
}

GroupWalk::OpenFile& GroupWalk::data(std::uint32_t number) const {
  if (!open_.contains(number)) {
    open_.clear();
    open_[number] = std::make_unique<OpenFile>(data_path(number), rank_, report_);
  }
  return *open_[number];
}

void GroupWalk::walk(std::uint32_t number) {
  File& file = data(number).file;
  IndexWindow& window = data(number).window;
  if (!one_file_ && !is_of_this_machine(file)) return;
  each_group(file, window, one_file_ ? 0 : bp::head_bytes,
             [&](const auto& head, Offset at, bool whole) {
               if (!head.mark && head.blocks > 0 && !head.name.empty()) unmarked_[number] = at;
               if (head.mark)
                 groups_.push_back({head.mark->opening, at, head.step, number, head.mark->groups,
                                    head.mark->rank, whole});
             });
}

std::vector<FoundGroup> GroupWalk::step(std::uint32_t number, std::uint64_t opening,
                                        const Places& before) const {
  auto at = std::ranges::lower_bound(groups_, number, {}, &FoundGroup::step);
  std::map<std::uint64_t, std::vector<FoundGroup>, std::greater<>> openings;
  for (; at != groups_.end() && at->step == number; ++at)
    if (at->whole && at->opening >= opening) openings[at->opening].push_back(*at);
  for (auto& [time, found] : openings) {
    std::uint32_t groups = 0;
    bool agree = true;
    for (const FoundGroup& group : found) {
      agree &= group.groups == 0 || groups == 0 || group.groups == groups;
      agree &= lies_behind(group, before);
      groups = std::max(groups, group.groups);
    }
    if (!agree || groups != found.size()) continue;
    // A rank's last group of a step has the number of groups.
    std::ranges::sort(found, [](const FoundGroup& a, const FoundGroup& b) {
      const bool a_is_last = a.groups != 0, b_is_last = b.groups != 0;
      return std::tie(a.rank, a_is_last, a.file, a.place) <
             std::tie(b.rank, b_is_last, b.file, b.place);
    });
    return std::move(found);
  }
  return {};
}

bool GroupWalk::has(std::uint32_t step) const {
  return std::ranges::any_of(groups_, [&](const FoundGroup& group) { return group.step == step; });
}

std::optional<std::uint64_t> GroupWalk::opening_of(std::uint32_t step, Rank rank,
                                                   Offset place) const {
  const auto found = std::ranges::find_if(groups_, [&](const FoundGroup& group) {
    return group.step == step && group.rank == rank && group.place == place;
  });
  if (found == groups_.end()) return std::nullopt;
  return found->opening;
}

bool GroupWalk::may_be_whole(std::uint32_t step,
                             std::span<const std::pair<Rank, Offset>> groups) const {
  // Two data files may have a group of one rank at the same place.
  std::multiset<std::pair<Rank, Offset>> whole, torn;
  for (const FoundGroup& group : groups_)
    if (group.step == step) (group.whole ? whole : torn).emplace(group.rank, group.place);
  const auto has_mark = [&](const auto& group) {
    return whole.contains(group) || torn.contains(group);
  };
  if (std::ranges::none_of(groups, has_mark)) return true;
  return std::ranges::all_of(groups, [&](const auto& group) {
    const auto found = whole.find(group);
    if (found == whole.end()) return false;
    whole.erase(found);
    return true;
  });
}

Unused GroupWalk::unused(std::uint64_t next, std::uint64_t opening, const Places& before) const {
  Unused found;
  for (const FoundGroup& group : groups_) {
    if (group.step < next || group.opening < opening || !lies_behind(group, before)) continue;
    found.next |= group.step == next;
    if (group.step > next && found.later == 0) found.later = group.step;
  }
  for (const auto& [file, place] : unmarked_)
    found.unmarked |= lies_behind({.place = place, .file = file}, before);
  return found;
}

/// Adds the entries of the group, its blocks and its attributes.
void GroupWalk::take(const FoundGroup& group, Entries& all, bp::Bytes& of_groups) const {
  IndexWindow& window = data(group.file).window;
  const Offset file_end = window.file_bytes();
  const bp::GroupHead head = bp::parse_group_head(head_at(window, group.place, file_end));
  const Offset end = group.place + head.bytes - bp::group_end_bytes;
  if (of_groups.empty()) {
    all.name_bytes = head.name.size();
    all.column_major = head.column_major;
  } else if ((head.name.size() != all.name_bytes && !one_file_) ||
             head.column_major != all.column_major) {
    bp::damaged("groups of different programs");
  }
  bp::append_group(of_groups, {head.name, head.column_major, static_cast<std::uint32_t>(group.rank),
                               group.step, group.place});
  const Offset attributes = group.place + head.attributes;
  Offset at = group.place + head.first_block;
  for (std::uint32_t n = 0; n < head.blocks; ++n) {
    bp::GroupBlock parsed = bp::parse_group_block(head_at(window, at, attributes));
    if (parsed.bytes > attributes - at) bp::damaged("a block that is longer than its group");
    bp::Block& block = parsed.block;
    block.step = group.step;
    block.file = group.file;
    block.place = at;
    block.payload = at + parsed.payload;
    if (block.at.count.empty() && !block.has_value)
      take_scalar(parsed, window.bytes(block.payload, parsed.bytes - parsed.payload, attributes));
    auto& entry = all.variables[parsed.variable.name];
    if (entry.blocks++ == 0) entry.variable = parsed.variable;
    if (entry.variable != parsed.variable) bp::damaged("one variable with two types");
    if (entry.member == bp::unknown_member) entry.member = parsed.member;
    if (parsed.member != entry.member && parsed.member != bp::unknown_member && !one_file_)
      bp::damaged("one variable with two numbers");
    bp::append_block(entry.bytes, parsed.variable, block, all.form);
    at += parsed.bytes;
  }
  if (at != attributes) bp::damaged("a group whose blocks do not fill it");
  std::uint32_t number = 0;
  std::memcpy(&number, window.bytes(at, bp::attributes_head_bytes, end).data(), sizeof number);
  at += bp::attributes_head_bytes;
  for (std::uint32_t n = 0; n < number; ++n) {
    const Count bytes = bp::parse_group_attribute_bytes(window.bytes(at, 8, end));
    const auto parsed = bp::parse_group_attribute(window.bytes(at, bytes, end));
    append_checked(all.attributes[{group.opening, parsed.member}], parsed, group);
    at += bytes;
  }
  if (at != end) bp::damaged("a group whose attributes do not fill it");
}

bp::StepRecord GroupWalk::print_index(std::span<const FoundGroup> groups, Offset at,
                                      bp::Bytes& out) const {
  Entries all;
  all.form = one_file_ ? bp::Form::bp3 : bp::Form::bp4;
  bp::Bytes of_groups, of_variables, of_attributes;
  for (const FoundGroup& group : groups)
    naming(data(group.file).file.path() + ", group at " + std::to_string(group.place),
           [&] { take(group, all, of_groups); });
  for (const auto& [member, variable] : by_number(all.variables, all.form)) {
    auto& entry = *variable;
    const std::size_t from = of_variables.size();
    bp::append_variable_head(of_variables, entry.variable, member, entry.blocks,
                             std::ssize(entry.bytes), all.form);
    of_variables.insert(of_variables.end(), entry.bytes.begin(), entry.bytes.end());
    entry.bytes = {};
    naming(entry.variable.name, [&] {
      check_entry(std::span(of_variables).subspan(from), {false, all.column_major, all.form});
    });
  }
  for (const auto& [member, entry] : all.attributes)
    of_attributes.insert(of_attributes.end(), entry.begin(), entry.end());
  bp::StepRecord record;
  record.step = groups.front().step;
  const std::size_t begin = out.size();
  const auto here = [&] { return at + static_cast<Offset>(out.size() - begin); };
  const auto append = [&](const bp::Bytes& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  record.groups = here();
  bp::append_groups_head(out, groups.size(), std::ssize(of_groups));
  append(of_groups);
  record.variables = here();
  bp::append_elements_head(out, static_cast<std::uint32_t>(all.variables.size()),
                           std::ssize(of_variables));
  append(of_variables);
  record.attributes = here();
  bp::append_elements_head(out, static_cast<std::uint32_t>(all.attributes.size()),
                           std::ssize(of_attributes));
  append(of_attributes);
  record.end = here();
  return record;
}

}  // namespace forebay::process_group
