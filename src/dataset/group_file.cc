#include "dataset/group_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/group_types.h"
#include "dataset/print_report.h"
#include "method/method_values.h"

namespace forebay {
namespace {

// Calls f(T{}) with the C++ type of an integer.
template <typename F>
void with_integer(GroupType type, F&& f) {
  if (is_integer(type))
    bp::with_number(bp_type(type), [&](auto kind) {
      if constexpr (std::is_integral_v<decltype(kind)> && !std::is_same_v<decltype(kind), char>)
        f(kind);
    });
}

// What a group is written by is one of these, or was not chosen.
void check_method(const Method& method) {
  const auto require = [&](const char* key, const std::string& value,
                           std::initializer_list<const char*> accepted) {
    const auto origin = method.origin.find(key);
    if (origin == method.origin.end()) return;
    std::string list;
    for (const char* word : accepted) {
      if (value == word) return;
      list += (list.empty() ? "" : ", ") + std::string(word);
    }
    throw Error(Errc::enotsupport,
                origin->second + ": groups are not written with " + key + "=" + value,
                "accepted for groups: " + list);
  };
  if (const auto origin = method.origin.find("container"); origin != method.origin.end())
    throw Error(Errc::enotsupport,
                origin->second + ": groups have no container " + method.container,
                "leave it out: a group's file is a BP4 directory");
  require("layout", method.layout, {"process-group"});
  require("codec", method.codec, {"none"});
  require("stage", method.stage, {"auto", "direct"});
  require("transport", method.transport, {"auto", "posix"});
}

process_group::WriteOptions options_of(const GroupDefinition& group, const Method& method) {
  process_group::WriteOptions options = group_write_options(method);
  options.group = group.name;
  options.column_major = group.column_major;
  return options;
}

template <typename T>
T number_of(std::string_view text) {
  T value{};
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);  // was looked at when defined
  return value;
}

bp::Attribute attribute_of(const GroupAttribute& from) {
  bp::Attribute to{from.name, bp_type(from.type), {}, {}};
  if (from.type == GroupType::string) {
    to.texts.push_back(from.value);
    return to;
  }
  const auto append = [&](auto value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.values.insert(to.values.end(), bytes.begin(), bytes.end());
  };
  const std::string_view list = from.value;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view text = list.substr(at, end - at);
    if (from.type == GroupType::float32) append(number_of<float>(text));
    if (from.type == GroupType::float64) append(number_of<double>(text));
    with_integer(from.type, [&](auto kind) { append(number_of<decltype(kind)>(text)); });
    at = end + 1;
  }
  return to;
}

}  // namespace

process_group::WriteOptions group_write_options(const Method& method) {
  check_method(method);
  process_group::WriteOptions options;
  if (method.subfiling == "node") options.ranks_per_file = options.ranks_of_node;
  if (method.subfiling == "ranks") options.ranks_per_file = method.subfile_ranks;
  constexpr Count beyond = Count{1} << 40;  // which the writer refuses
  if (method.striping_unit > 0)
    options.alignment = (std::min(method.striping_unit, beyond) + 63) / 64 * 64;
  return options;
}

GroupFile::GroupFile(const Comm& comm, const std::string& path, const GroupDefinition& group,
                     const Method& method)
    : comm_(comm), path_(path), group_(group), method_(method) {
  start_timeline(comm_, method_, report_, opened_);
}

std::unique_ptr<GroupFile> GroupFile::create(const Comm& comm, const std::string& path,
                                             const GroupDefinition& group, const Method& method,
                                             bool append) {
  std::unique_ptr<GroupFile> file;
  std::vector<bp::Attribute> attributes;
  // Before a file is replaced that is there.
  const auto check = [&] {
    check_group(group);
    check_method(method);
    for (const GroupAttribute& attribute : group.attributes) {
      attributes.push_back(attribute_of(attribute));
      bp::check(attributes.back());
    }
    file.reset(new GroupFile(comm, path, group, method));
  };
  together(comm, [&] {
    agree_on_error(comm, attempt_to(check));
    using process_group::StepWriter;
    const auto options = options_of(group, method);
    file->writer_ = append ? StepWriter::append(file->comm_, path, options, file->report_)
                           : StepWriter::create(file->comm_, path, options, file->report_);
    for (const bp::Attribute& attribute : attributes) file->writer_->add_attribute(attribute);
  });
  return file;
}

const GroupVariable& GroupFile::variable(const std::string& name) const {
  if (const GroupVariable* found = group_.find(name)) return *found;
  std::vector<std::string_view> names;
  for (const GroupVariable& v : group_.variables) names.push_back(v.name);
  const auto meant = nearest_word(name, names);
  throw Error(Errc::enotvar, "group " + group_.name + " has no variable " + name,
              meant ? "did you mean \"" + *meant + "\"?" : "declare it in the group");
}

bp::Shape GroupFile::shape_of(const GroupVariable& v) const {
  const auto known = [&](std::string_view name) -> std::optional<Count> {
    const auto found = scalars_.find(name);
    if (found != scalars_.end()) return found->second;
    if (written_.contains(name))
      throw Error(Errc::erange, std::string(name) + " is beyond 63 bits, which no size is");
    return std::nullopt;
  };
  const auto values = [&](const std::vector<Expression>& list) {
    std::vector<Count> all;
    all.reserve(list.size());
    for (const Expression& e : list) all.push_back(e.value(known));
    return all;
  };
  if (v.dimensions.empty()) return {};
  std::vector<Count> shape, start, count;
  naming("variable " + v.name, [&] {
    shape = values(v.global), start = values(v.offsets), count = values(v.dimensions);
  });
  return shape_of(v, {shape.empty() ? nullptr : shape.data(),
                      start.empty() ? nullptr : start.data(), count.data()});
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
  for (std::size_t d = 0; d < n; ++d) {
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
  if (v.joined) {
    at.shape = at.count;
    at.shape[static_cast<std::size_t>(*v.joined)] = bp::joined;
  }
  return at;
}

void GroupFile::add(const GroupVariable& v, const bp::Shape& shape, const void* data, bool lent) {
  Count bytes = size_of(v.type);
  if (std::find(shape.count.begin(), shape.count.end(), 0) != shape.count.end()) bytes = 0;
  for (const Count count : shape.count)
    if (__builtin_mul_overflow(bytes, count, &bytes))
      throw Error(Errc::evarsize, "variable " + v.name + ": its block has more than 2^63 bytes");
  if (!data && (bytes > 0 || v.type == GroupType::string))
    throw Error(Errc::einval, "variable " + v.name + ": no data", "give the address of its values");
  if (v.type == GroupType::string)
    bytes = static_cast<Count>(std::strlen(static_cast<const char*>(data)));
  writer_->add({v.name, bp_type(v.type)}, shape,
               {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)}, lent);
}

// Integers beyond 63 bits are no sizes: who names one is told that it has no value.
void GroupFile::remember(const GroupVariable& v, const void* data) {
  if (!v.dimensions.empty()) return;
  with_integer(v.type, [&](auto value) {
    std::memcpy(&value, data, sizeof value);
    // A number, not a character. NOLINTNEXTLINE(bugprone-signed-char-misuse)
    if (std::in_range<Count>(value)) scalars_[v.name] = static_cast<Count>(value);
  });
}

void GroupFile::write(const std::string& name, const void* data, bool lent) {
  const GroupVariable& v = variable(name);
  if (written_.contains(name))
    throw Error(Errc::einval, "variable " + name + " was written in this step already",
                "end the step, or write further boxes of an array with forebay_write_box");
  if (!is_left_out(v)) {
    add(v, shape_of(v), data, lent);
    written_.insert(name);
  }
  if (data) remember(v, data);  // others may need it, also where it is not written again
}

void GroupFile::write_box(const std::string& name, const GroupBox& box, const void* data,
                          bool lent) {
  const GroupVariable& v = variable(name);
  const bp::Shape shape = shape_of(v, box);
  if (!is_left_out(v)) add(v, shape, data, lent);
}

void GroupFile::end_step() {
  scalars_.clear();
  written_.clear();
  if (const auto failed = up_to_meeting(comm_, [&] { writer_->end_step(); })) throw *failed;
}

void GroupFile::sync() {
  if (const auto failed = up_to_meeting(comm_, [&] { writer_->sync(); })) throw *failed;
}

void GroupFile::close() {
  auto failed = attempt_to([&] { writer_->close(); });
  report_[Step::total] =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - opened_).count();
  keep_first(failed, attempt_to([&] {
               print_report(comm_, path_, report_, method_,
                            {std::to_string(writer_->steps()) + " steps are in the file"});
             }));
  agree_on_error(comm_, failed);
}

}  // namespace forebay
