// Recovery makes sure that writes of logs fit the file before it carries them out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "dataset/dataset.h"
#include "format/log_record.h"

namespace forebay {

/// Why a write cannot be one of this schema; nothing if it can. `runs` of a write of pieces, else
/// null. Linear in the runs.
std::optional<std::string> check_write(const Schema& schema, const log::Write& write,
                                       const RunList* runs);

/// Run lists as a dataset wants them: records as far apart as it has them. Equal lists stay one.
class RebasedLists {
 public:
  std::shared_ptr<const RunList> get(const Dataset& dataset, VarId var,
                                     const std::shared_ptr<const RunList>& runs);

 private:
  struct Known {
    std::shared_ptr<const RunList> from, to;
    Count distance = 0, stride = 0;
  };
  std::unordered_map<const RunList*, Known> known_;
};

}  // namespace forebay
