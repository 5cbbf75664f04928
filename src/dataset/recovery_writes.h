// Recovery makes sure that writes of logs fit the file before it carries them out.
#pragma once

#include <optional>
#include <string>

#include "dataset/dataset.h"
#include "format/staging_record.h"

namespace forebay {

/// Why a write cannot be one of this schema; nothing if it can. `runs` of a write of pieces, else
/// null. Linear in the runs.
std::optional<std::string> check_write(const Schema& schema, const staging::Write& write,
                                       const RunList* runs);

}  // namespace forebay
