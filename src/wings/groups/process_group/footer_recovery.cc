#include "groups/process_group/footer_recovery.h"

#include <limits>
#include <optional>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/format/bp_write.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/bp_scan.h"
#include "groups/process_group/group_walk.h"
#include "storage/file.h"

namespace forebay::process_group {

namespace {

class FooterRecovery {
 public:
  FooterRecovery(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                 Report& report)
      : path_(path), options_(options), rank_(rank), report_(report), walk_(path, rank, report) {}

  BpRecovery run() {
    const bool has_footer = read_footer();
    find_steps();
    const std::uint64_t found = next_ - 1;
    result_.needed = !has_footer || found > result_.before;
    result_.steps = std::max(found, result_.before);
    if (!result_.needed) return std::move(result_);
    result_.by_groups = found - result_.before;
    look_behind(has_footer);
    if (!options_.look_only && found > 0) write();
    return std::move(result_);
  }

 private:
  // Returns whether there is a footer with a valid index.
  bool read_footer() {
    if (!is_bp_file(path_)) return false;
    std::optional<BpReader> reader;
    const auto failed = attempt_to([&] { reader.emplace(Comm(), path_, report_); });
    if (failed && failed->code() != Errc::ebad_file) throw *failed;
    if (failed) result_.notes.push_back(failed->message());
    if (failed) return false;
    result_.before = reader->steps();
    return true;
  }

  // Steps after a step are of the same or a later opening, and lie behind it.
  void find_steps() {
    constexpr std::uint64_t last = std::numeric_limits<std::uint32_t>::max();
    bp::Bytes index;
    for (; next_ <= last; ++next_) {
      const auto step = walk_.step(static_cast<std::uint32_t>(next_), opening_, places_);
      if (step.empty()) return;
      index.clear();
      const auto failed = attempt_to([&] { walk_.print_index(step, 0, index); });
      if (failed && failed->code() != Errc::ebad_file && failed->code() != Errc::evarsize)
        throw *failed;
      if (failed) {
        result_.notes.push_back("step " + std::to_string(next_) + ": " + failed->message());
        return;
      }
      opening_ = step.front().opening;
      for (const FoundGroup& group : step) {
        places_[group.file] = std::max(places_[group.file], group.place);
        groups_.push_back(group);
      }
    }
  }

  // Examines groups that belong to no step, but may have done so.
  void look_behind(bool has_footer) {
    const Unused unused = walk_.unused(next_, opening_, places_);
    if (unused.next)
      result_.notes.push_back("groups of step " + std::to_string(next_) +
                              " are there, and are no whole step");
    if (unused.later != 0)
      result_.notes.push_back("groups of step " + std::to_string(unused.later) +
                              " are there, and none of those before it");
    result_.unsure = !has_footer && (unused.later != 0 || unused.unmarked);
  }

  void write() {
    File file(path_, true, rank_, report_);
    const Offset end = file.size();
    bp::Bytes index;
    const bp::StepRecord places = walk_.print_index(groups_, end, index);
    const auto footer = bp::print_footer(places);
    index.insert(index.end(), footer.begin(), footer.end());
    file.write_at(end, index);
    file.sync();
    file.close();
    result_.changed = true;
  }

  std::string path_;
  BpRecoveryOptions options_;
  Rank rank_;
  Report& report_;
  GroupWalk walk_;
  std::uint64_t next_ = 1, opening_ = 0;
  Places places_;                   // of the last step's groups
  std::vector<FoundGroup> groups_;  // of all steps
  BpRecovery result_;
};

}  // namespace

BpRecovery recover_footer(const std::string& path, const BpRecoveryOptions& options, Rank rank,
                          Report& report) {
  return FooterRecovery(path, options, rank, report).run();
}

}  // namespace forebay::process_group
