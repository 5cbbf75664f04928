// What `forebay check` finds in BP4 directories.
#include <map>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "files/bp_source.h"
#include "layout/process_group/bp_reader.h"
#include "layout/process_group/range.h"
#include "storage/file.h"

namespace forebay {
namespace {

using process_group::BpReader;
using process_group::Kind;
using process_group::StoredVariable;

/// Looks at all blocks of a file.
class Checker {
 public:
  Checker(const std::string& path, bool values) : file_(Comm(), path, report_), values_(values) {}

  BpCheck run() {
    check_.format = file_.format();
    check_.steps = static_cast<Count>(file_.steps());
    check_.variables = std::ssize(file_.variables());
    for (std::size_t v = 0; v < file_.variables().size(); ++v)
      for (const std::uint32_t step : file_.variables()[v].steps) check_step(v, step);
    return std::move(check_);
  }

 private:
  void check_step(std::size_t v, std::size_t step) {
    const StoredVariable& variable = file_.variables()[v];
    const std::string me = variable.variable.name + ", step " + std::to_string(step);
    const auto failed = attempt_to([&] {
      Count elements = 0;
      bool countable = true;
      std::vector<Count> shape;
      std::string operation;
      file_.each_block(v, step, [&](const bp::Block& block) {
        ++check_.blocks;
        Count own = 1;
        for (const Count n : block.at.count) countable &= !__builtin_mul_overflow(own, n, &own);
        countable &= !__builtin_add_overflow(elements, own, &elements);
        if (shape.empty()) shape = block.at.shape;
        if (shape != block.at.shape)
          throw Error(Errc::ebad_file, "its blocks say different shapes", "");
        if (!block.operation.empty())
          operation = block.operation;
        else if (!block.has_value)
          check_block(v, block, me);
      });
      if (!operation.empty())
        check_.notes.push_back(me + ": values behind ADIOS's operator " + operation +
                               " were not looked at");
      if (variable.kind != Kind::global || !countable) return;
      Count whole = 1;
      for (const Count n : shape)
        if (__builtin_mul_overflow(whole, n, &whole)) return;
      if (elements < whole)
        check_.notes.push_back(me + ": " + std::to_string(whole - elements) +
                               " elements or more were written by no rank");
      if (elements > whole) check_.notes.push_back(me + ": blocks overlap");
    });
    if (failed) check_.faults.push_back(me + ": " + failed->message());
  }

  void check_block(std::size_t v, const bp::Block& block, const std::string& me) {
    const std::string data = file_.data_path(block.file);
    const auto [known, is_new] = ends_.emplace(data, 0);
    if (is_new) known->second = File(data, false, 0, report_).size();
    if (block.bytes > 0 && block.bytes > known->second - block.payload)
      throw Error(Errc::etrunc, data + " ends before a block's values");
    if (!values_ || block.bytes == 0) return;
    const bp::Type type = file_.variables()[v].variable.type;
    process_group::Range found;
    file_.each_part(v, block, [&](std::span<const std::byte> part) {
      check_.bytes += std::ssize(part);
      if (block.has_range && process_group::is_ordered(type))
        found = together(type, found, process_group::range_of(type, part));
    });
    if (found.any && (found.min != block.min || found.max != block.max))
      check_.notes.push_back(me + ": the index has another least or largest value than the block");
  }

  Report report_;
  BpReader file_;
  bool values_;
  BpCheck check_;
  std::map<std::string, Offset> ends_;  // of data files
};

}  // namespace

BpCheck check_bp(const std::string& path, bool values) { return Checker(path, values).run(); }

}  // namespace forebay
