#include "groups/commands/follow_bp.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <type_traits>

#include "base/attempt.h"
#include "base/error.h"
#include "base/raw_bytes.h"
#include "base/shortage.h"
#include "base/text_table.h"
#include "base/timeline.h"
#include "comm/agree.h"
#include "groups/files/bp_follower.h"
#include "groups/records/group_file.h"
#include "groups/records/group_terms.h"
#include "groups/records/group_types.h"

namespace forebay::tools {
namespace {

/// The values of an attribute as a group's definition has them.
std::string text_of(const bp::Attribute& attribute) {
  std::string text;
  const auto size = static_cast<std::size_t>(bp::size_of(attribute.type));
  bp::with_number(attribute.type, [&](auto value) {
    for (std::size_t at = 0; at < attribute.values.size(); at += size) {
      std::memcpy(&value, attribute.values.data() + at, sizeof value);
      text += (at == 0 ? "" : ",");
      if constexpr (std::is_integral_v<decltype(value)>)
        text += std::to_string(value);
      else
        text += fmt::format("{}", value);
    }
  });
  return text;
}

class FollowingCopy {
 public:
  FollowingCopy(const Comm& comm, const ConvertOptions& options)
      : comm_(comm),
        options_(options),
        method_(options.method),
        in_(comm, options.in, options.timeout),
        group_(define_group("followed", "C")) {
    agree_on_error(comm_, attempt_to([&] { choose_layout(); }));
  }

  ConvertResult run() {
    using StepStatus = BpFollower::StepStatus;
    const auto begin = std::chrono::steady_clock::now();
    StepStatus status = StepStatus::ok;
    const auto failed = attempt_to([&] {
      for (std::size_t step = 0;
           (status = in_.begin_step(options_.timeout, step)) == StepStatus::ok;) {
        copy(step);
        ++steps_;
      }
    });
    std::optional<Error> closed;
    if (file_) closed = attempt_to([&] { file_->close(); });
    if (failed) throw *failed;
    if (closed) throw *closed;
    if (status == StepStatus::not_ready)
      throw Error(Errc::eread,
                  fmt::format("{}: there was no further step for {} s, and its writer has not "
                              "closed it; {} has {}",
                              options_.in, options_.timeout, options_.out,
                              counted(static_cast<Count>(steps_), "step")),
                  "its writer may have been killed; --timeout waits longer");
    if (steps_ == 0)
      throw Error(Errc::enodata, options_.in + " has no steps", "nothing was written");
    result_.variables = std::ssize(group_.variables);
    for (const auto& [name, why] : left_out_) result_.left_out.push_back({name, why});
    std::error_code none;
    if (const auto size = std::filesystem::file_size(options_.out, none); !none)
      result_.out_size = static_cast<Count>(size);
    result_.seconds = seconds_since(begin);
    return std::move(result_);
  }

 private:
  void choose_layout() {
    if (!method_.origin.contains("layout") || method_.layout == "auto") {
      method_.layout = method_.codec == "none" ? "canonical" : "chunked";
      method_.origin["layout"] = "convert --follow";
    }
    if (method_.layout == "process-group" || options_.out.ends_with(".bp"))
      throw Error(Errc::enotsupport, "a file that is followed is copied to netCDF",
                  "give OUT a name that ends in .nc, and no layout of other formats");
  }

  void copy(std::size_t step) {
    std::vector<LeftOut> left_out;
    std::vector<BpFollower::Variable> variables;
    agree_on_error(comm_, attempt_to([&] {
                     variables = in_.variables(step, left_out);
                     fresh_.clear();
                     for (const auto& one : variables)
                       if (define(one, left_out)) fresh_.insert(one.stored.name);
                     for (const LeftOut& one : left_out) left_out_.emplace(one.name, one.what);
                     define_attributes();
                   }));
    if (!fresh_.empty() || !file_) open();
    std::deque<RawBytes> memory;  // until the step ends
    const auto failed = attempt_to([&] {
      for (const auto& one : variables)
        if (group_.find(one.stored.name) != nullptr) copy(one, step, memory);
    });
    agree_on_error(comm_, failed);
    file_->end_step();
  }

  // Variables that come later are defined by whoever appends.
  void open() {
    const bool appends = file_ != nullptr;
    if (appends) file_->close();
    file_.reset();
    file_ = GroupFile::create(comm_, options_.out, group_, method_, appends);
    // A netCDF file without record variables does not count steps.
    while (appends && file_->steps() < steps_) file_->end_step();
  }

  /// Returns whether the variable is new.
  bool define(const BpFollower::Variable& one, std::vector<LeftOut>& left_out) {
    const std::string& name = one.stored.name;
    if (group_.find(name) != nullptr || left_out_.contains(name)) return false;
    std::string extents, starts;
    for (std::size_t d = 0; d < one.shape.size(); ++d) {
      extents += d == 0 ? "1" : ",1";  // each box says its own
      starts += d == 0 ? "0" : ",0";
    }
    const auto failed = attempt_to([&] {
      GroupVariableText text;
      text.name = name;
      text.type = name_of(group_type(one.stored.type));
      text.dimensions = text.global = extents;
      text.offsets = starts;
      define_variable(group_, text);
    });
    if (failed && is_shortage(*failed)) throw *failed;
    if (failed) left_out.push_back({name, failed->message()});
    return !failed;
  }

  /// Defines attributes that are new. Those of a variable wait until the variable is there.
  void define_attributes() {
    const auto is_variable = [&](const std::string& name) {
      return std::ranges::any_of(in_.reader().variables(),
                                 [&](const auto& its) { return its.variable.name == name; });
    };
    for (const bp::Attribute& attribute : in_.reader().attributes()) {
      if (attributes_.contains(attribute.name)) continue;
      const std::string owner = group_terms::owner_of(attribute.name, is_variable).first;
      if (!owner.empty() && group_.find(owner) == nullptr) continue;
      attributes_.insert(attribute.name);
      if (file_ && !fresh_.contains(owner)) {
        left_out_.emplace(attribute.name, "it came later than what it describes");
        continue;
      }
      const bool is_string = attribute.type == bp::Type::string;
      const auto failed = attempt_to([&] {
        define_attribute(group_, attribute.name,
                         is_string ? attribute.texts.at(0) : text_of(attribute),
                         name_of(group_type(attribute.type)));
      });
      if (failed && is_shortage(*failed)) throw *failed;
      if (failed) left_out_.emplace(attribute.name, failed->message());
    }
  }

  void copy(const BpFollower::Variable& one, std::size_t step, std::deque<RawBytes>& memory) {
    if (one.stored.type == bp::Type::string) {
      if (comm_.is_root())
        file_->write(one.stored.name, in_.reader().text(one.number, step).c_str(), false);
      return;
    }
    if (one.shape.empty() && !comm_.is_root()) return;
    Subarray box{std::vector<Count>(one.shape.size(), 0), one.shape, {}};
    if (!one.shape.empty()) {
      const Count rows = one.shape[0], ranks = comm_.size(), me = comm_.rank();
      const Count each = rows / ranks, more = rows % ranks;
      box.start[0] = me * each + std::min(me, more);
      box.count[0] = each + (me < more ? 1 : 0);
    }
    if (bp::any_zero(box.count)) return;
    const Count bytes = box.elements() * bp::size_of(one.stored.type);
    RawBytes& values = memory.emplace_back(static_cast<std::size_t>(bytes));
    in_.read(one, step, box, values.data());
    result_.bytes += bytes;
    if (one.shape.empty())
      file_->write(one.stored.name, values.data(), true);
    else
      file_->write_box(one.stored.name, {one.shape.data(), box.start.data(), box.count.data()},
                       values.data(), true);
  }

  const Comm& comm_;
  const ConvertOptions& options_;
  Method method_;
  BpFollower in_;
  GroupDefinition group_;
  std::unique_ptr<GroupFile> file_;
  std::map<std::string, std::string> left_out_;  // and why
  std::set<std::string> fresh_;                  // variables that the current step has first
  std::set<std::string> attributes_;             // that were looked at
  std::uint64_t steps_ = 0;
  ConvertResult result_;
};

}  // namespace

ConvertResult follow_bp(const Comm& comm, const ConvertOptions& options) {
  return FollowingCopy(comm, options).run();
}

}  // namespace forebay::tools
