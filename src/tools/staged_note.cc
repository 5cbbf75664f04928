#include "tools/staged_note.h"

#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "base/attempt.h"
#include "base/text_table.h"
#include "stage/burst/staging_control.h"

namespace forebay::tools {

void tell_staged_writes(const std::string& path) {
  std::optional<FoundStaging> found;
  const auto damaged =
      attempt_to([&] { found = StagingControl::read(StagingControl::path_of(path)); });
  const std::string name = printable(path);
  if (damaged) return fmt::print(stderr, "{}: {}\n", name, printable(damaged->what()));
  if (!found || found->begun_only || found->info.closed || found->job == Liveness::alive) return;
  fmt::print(stderr, "{}: {}; bring in the rest with: forebay recover {}\n", name,
             found->job == Liveness::dead
                 ? "a job ended before all that it wrote was in the file"
                 : "a job staged writes, and may have ended before all were in the file",
             name);
}

}  // namespace forebay::tools
