// Recovery checks that the writes of logs fit the file before it carries them out.
#pragma once

#include <optional>
#include <string>

#include "burst/format/staging_entry.h"
#include "dataset/dataset.h"

namespace forebay {

/// Returns why a write does not fit this schema; nullopt if it does. `runs` belongs to a write of
/// pieces, else null. The cost is linear in the runs.
std::optional<std::string> check_write(const Schema& schema, const staging::Write& write,
                                       const RunList* runs);

}  // namespace forebay
