// BP files for `forebay recover`.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "comm/agree.h"
#include "groups/process_group/index_recovery.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/leftovers.h"

namespace forebay::tools {
namespace {

using process_group::BpRecovery;

std::string outcome_of(const BpRecovery& r) {
  if (!r.needed) return "nothing to do";
  if (r.changed) return "recovered";
  return r.lost() > 0 ? "damaged" : r.steps == 0 ? "nothing found" : "can be recovered";
}

bool is_well(const BpRecovery& r) {
  return r.lost() == 0 && !r.unsure && (!r.needed || r.steps > 0 || r.changed);
}

std::string result_text(const BpRecovery& r, const std::string& path) {
  std::string text =
      fmt::format("{}: {} steps in the index, {} are whole", printable(path),
                  grouped(static_cast<Count>(r.before)), grouped(static_cast<Count>(r.steps)));
  if (r.by_index > 0) text += fmt::format(", {} of them by md.0 alone", r.by_index);
  if (r.by_groups > 0) text += fmt::format(", {} of them by their process groups", r.by_groups);
  text += ": " + outcome_of(r) + "\n";
  for (const std::string& note : r.notes) text += "  note: " + printable(note) + "\n";
  for (const std::string& file : r.kept) text += "  " + printable(file) + " is what was there\n";
  if (r.unsure) text += "  there may have been more steps, which cannot be put together\n";
  if (r.lost() > 0 && !r.changed)
    text += "  the index is left as it was: --skip-damaged goes on with the steps that are whole\n";
  return text;
}

Json result_json(const BpRecovery& r, const std::string& path) {
  return {{"path", path},
          {"steps_in_index", r.before},
          {"steps", r.steps},
          {"by_index", r.by_index},
          {"by_groups", r.by_groups},
          {"lost", r.lost()},
          {"unsure", r.unsure},
          {"changed", r.changed},
          {"outcome", outcome_of(r)},
          {"notes", r.notes},
          {"kept", r.kept}};
}

void check_bp_options(const RecoverOptions& options) {
  if (options.partial || options.keep || options.session || !options.file.empty())
    throw Error(Errc::einval, printable(options.path) + " is a BP file, and has no logs",
                "--list, --verify, --skip-damaged and --json are for those");
}

// Collective. Rank 0 does all the work.
int recover_bp_file(const Comm& comm, const RecoverOptions& options) {
  Report report;
  BpRecovery result;
  by_root(comm, [&] {
    check_bp_options(options);
    result = process_group::recover_index(
        options.path, {options.list_only || options.verify_only, options.skip_damaged}, 0, report);
  });
  if (!comm.is_root()) return exit_done;
  if (options.json)
    print_json(result_json(result, options.path));
  else
    fmt::print("{}", result_text(result, options.path));
  std::fflush(stdout);
  return is_well(result) ? exit_done : exit_failed;
}

}  // namespace

extern const RecoveryEntry bp_recovery{1, false, process_group::has_bp_files, recover_bp_file};

}  // namespace forebay::tools
