// forebay recover: finishes what a job left that ended, as wings know it.
#include <algorithm>
#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "comm/session.h"
#include "tools/commands.h"
#include "tools/leftovers.h"

namespace forebay::tools {
namespace {

// Local. Returns the place of the entry that applies, or of the one that runs otherwise.
const RecoveryEntry& recovery_for(const std::string& path) {
  std::vector<const RecoveryEntry*> entries(built_in_recoveries().begin(),
                                            built_in_recoveries().end());
  std::sort(entries.begin(), entries.end(),
            [](const RecoveryEntry* a, const RecoveryEntry* b) { return a->place < b->place; });
  const RecoveryEntry* otherwise = nullptr;
  for (const RecoveryEntry* entry : entries) {
    if (entry->applies(path)) return *entry;
    if (entry->otherwise) otherwise = entry;
  }
  if (otherwise != nullptr) return *otherwise;
  throw Error(Errc::enotsupport, "this build recovers nothing", "build it with all wings");
}

// Collective. Rank 0 chooses.
int run_recover(const RecoverOptions& options) {
  const Session ranks;
  try {
    std::int64_t place = 0;
    agree_on_error(ranks.world(), attempt_to([&] { place = recovery_for(options.path).place; }));
    ranks.world().broadcast(&place, sizeof place);
    for (const RecoveryEntry* entry : built_in_recoveries())
      if (entry->place == place) return entry->run(ranks.world(), options);
    return exit_failed;
  } catch (const Error& error) {
    // All ranks have the same error.
    if (ranks.world().is_root()) print_error(error);
    return exit_failed;
  }
}

}  // namespace

static void add_recover_command(CLI::App& app, int& status) {
  auto options = std::make_shared<RecoverOptions>();
  auto session = std::make_shared<std::string>();
  Command command(app, "recover",
                  "Finish what a job left that ended: writes in staging logs, steps of BP files");
  command
      .add_option(
          "PATH", options->path,
          "the dataset, a directory with logs of any number, or a BP4 directory or BP3 file")
      .required();
  command.add_flag("--list", options->list_only, "only tell what there is");
  command.add_flag("--verify", options->verify_only, "read and check everything, change nothing");
  command.add_flag(
      "--skip-damaged", options->skip_damaged,
      "replay what is whole though other writes are damaged; of a BP file go on with fewer steps "
      "than its index tells of");
  command.add_flag("--partial", options->partial,
                   "go on though the logs of some ranks are missing");
  command.add_option("--file", options->file,
                     "replay into this file instead of the one that the logs name");
  command.add_option("--session", *session, "of a directory's logs, only those of this session")
      .check([](const std::string& text) {
        return !text.empty() && text.size() <= 16 &&
                       text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos
                   ? std::string()
                   : "a session is up to 16 hexadecimal digits";
      });
  command.add_flag("--keep", options->keep, "leave logs and control file where they are");
  command.add_flag("--json", options->json, "print one JSON object");
  command.footer(
      "Of a BP4 directory (docs/groups.md) whole steps that md.idx does not tell of get their "
      "records, also where md.idx or md.0 is lost: from md.0, else from the process groups in "
      "data.K. These are never changed, and the old index stays as md.idx.old and md.0.old. A BP3 "
      "file that does not end with its footer, or has whole steps beyond it, gets a new index and "
      "footer behind all that is there, and nothing else of it is changed. Nobody may write the "
      "file meanwhile. Rank 0 does all of it. Steps in staging logs go to their BP4 directory "
      "first, and that is all then: run it again where the index is damaged, too.\n"
      "Under mpiexec the ranks share the logs out; a rank on each node finds logs on local "
      "disks.\nExit codes: 0 all is in the file, or there was nothing to do; 1 something is "
      "damaged, "
      "missing, or could not be done.");
  command.callback([options, session, &status] {
    if (!session->empty()) options->session = std::stoull(*session, nullptr, 16);
    status = run_recover(*options);
  });
}

extern const CommandEntry recover_command{7, add_recover_command};

}  // namespace forebay::tools
