// The checks of `forebay check` on BP4 directories.
#include <map>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/shortage.h"
#include "groups/files/bp_source.h"
#include "groups/operators/operators.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/group_walk.h"
#include "groups/process_group/range.h"
#include "groups/process_group/visible.h"
#include "storage/file.h"

namespace forebay {
namespace {

using process_group::BpReader;
using process_group::Kind;
using process_group::StoredVariable;

constexpr std::size_t most_compared = 2048;    // blocks, compared pair by pair
constexpr Count most_marked = Count{1} << 30;  // elements, with one bit each
constexpr Count few_marked = Count{1} << 26;   // when the values are about to be converted

bool lies_within(const bp::Shape& at) {
  if (at.start.size() != at.shape.size() || at.count.size() != at.shape.size()) return false;
  for (std::size_t d = 0; d < at.shape.size(); ++d)
    if (at.start[d] < 0 || at.count[d] < 0 || at.start[d] > at.shape[d] ||
        at.count[d] > at.shape[d] - at.start[d])
      return false;
  return true;
}

/// Checks all blocks of a file; with `wanted`, only those of selected global arrays, in the index.
class Checker {
 public:
  Checker(const std::string& path, bool values, WantedInBp wanted = {})
      : file_(Comm(), path, report_), values_(values), wanted_(std::move(wanted)) {}

  BpCheck run() {
    check_.format = file_.format();
    check_.steps = static_cast<Count>(file_.steps());
    check_.variables = std::ssize(file_.variables());
    if (const auto lost = file_.unread_steps(); lost > 0)
      check_.faults.push_back("md.0 lacks the index of " + std::to_string(lost) +
                              " of the steps that md.idx tells of (`forebay recover` finds what is "
                              "whole)");
    for (std::size_t v = 0; v < file_.variables().size(); ++v)
      if (!wanted_ || is_wanted(file_.variables()[v]))
        for (const std::uint32_t step : file_.variables()[v].steps.numbers()) check_step(v, step);
    return std::move(check_);
  }

 private:
  bool is_wanted(const StoredVariable& variable) const {
    return variable.kind == Kind::global && wanted_(variable.variable.name);
  }

  void check_step(std::size_t v, std::size_t step) {
    const StoredVariable& variable = file_.variables()[v];
    const std::string me = variable.variable.name + ", step " + std::to_string(step);
    const auto failed = attempt_to([&] {
      Count elements = 0;
      bool countable = true, comparable = true;
      std::vector<process_group::Overlap> parts;
      std::vector<Count> shape;
      std::string unreadable;
      file_.each_block(v, step, [&](const bp::Block& block) {
        ++check_.blocks;
        Count own = 1;
        for (const Count n : block.at.count) countable &= !__builtin_mul_overflow(own, n, &own);
        countable &= !__builtin_add_overflow(elements, own, &elements);
        if (shape.empty()) shape = block.at.shape;
        if (shape != block.at.shape)
          throw Error(Errc::ebad_file, "its blocks say different shapes", "");
        comparable &= lies_within(block.at);
        if (variable.kind == Kind::global && comparable && own > 0 && parts.size() <= most_compared)
          parts.push_back(
              {std::vector<Count>(block.at.start.size()), block.at.start, block.at.count});
        if (auto why = operators::why_unreadable(block); !why.empty())
          unreadable = std::move(why);
        else if (!block.has_value && !wanted_)
          check_block(v, step, block, me);
      });
      if (!unreadable.empty() && !wanted_)
        check_.notes.push_back(me + ": " + unreadable + " were not looked at");
      if (variable.kind != Kind::global || !countable) return;
      Count whole = 1;
      if (!bp::multiply_all(shape, whole)) return;
      // Limited to a short time. Beyond that limit, overlaps may hide holes.
      bool overlap = elements > whole;
      if (comparable && parts.size() <= most_compared && !all_apart(parts)) {
        overlap = true;
        const bool is_short = whole <= few_marked && elements <= 4 * few_marked;
        if (wanted_ ? is_short : whole <= most_marked)
          elements = process_group::marked(parts, shape);
      }
      if (elements < whole)
        check_.notes.push_back(me + ": " + std::to_string(whole - elements) +
                               " elements or more were written by no rank");
      if (overlap) check_.notes.push_back(me + ": blocks overlap");
    });
    if (failed && is_shortage(*failed)) throw *failed;
    if (failed) check_.faults.push_back(me + ": " + failed->message());
  }

  void check_block(std::size_t v, std::size_t step, const bp::Block& block, const std::string& me) {
    auto known = ends_.find(block.file);
    if (known == ends_.end())
      known = ends_.emplace(block.file, file_.data(block.file).size()).first;
    if (const Count bytes = bp::stored_bytes(block);
        bytes > 0 && bytes > known->second - block.payload)
      throw Error(Errc::etrunc, file_.data_path(block.file) + " ends before a block's values");
    if (!values_ || block.bytes == 0) return;
    const bp::Type type = file_.variables()[v].variable.type;
    process_group::Range found;
    file_.each_part(v, block, [&](std::span<const std::byte> part) {
      check_.bytes += std::ssize(part);
      if (block.has_range && process_group::is_ordered(type))
        found = together(type, found, process_group::range_of(type, part));
    });
    // Compared as numbers, since zeros of either sign are equal and may both be the least.
    const auto same = [&](const bp::Value& one, const bp::Value& other) {
      return bp::number_of<long double>(type, one) == bp::number_of<long double>(type, other);
    };
    if (!found.any || (same(found.min, block.min) && same(found.max, block.max))) return;
    // Other programs write wrong ranges if there are NaNs.
    (is_own(step) ? check_.faults : check_.notes)
        .push_back(me + ": the index has another least or largest value than the block");
  }

  /// Returns whether this library wrote the step.
  bool is_own(std::size_t step) {
    if (!groups_) groups_.emplace(file_.path(), 0, report_);
    return groups_->has(file_.time(step));
  }

  Report report_;
  BpReader file_;
  bool values_;
  WantedInBp wanted_;
  BpCheck check_;
  std::optional<process_group::GroupWalk> groups_;
  std::map<std::uint32_t, Offset> ends_;  // ends of data files
};

}  // namespace

BpCheck check_bp(const std::string& path, bool values) { return Checker(path, values).run(); }

std::vector<std::string> notes_on_blocks(const std::string& path, WantedInBp wanted) {
  return Checker(path, false, std::move(wanted)).run().notes;
}

}  // namespace forebay
