// What is removed where a command is told to end: output that is not whole yet.
#pragma once

#include <string>
#include <vector>

namespace forebay::tools {

/// While it lives, SIGINT, SIGTERM and SIGHUP remove these files, and folders with all that they
/// hold, and end the process. There is one at a time.
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(std::vector<std::string> paths);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;
};

}  // namespace forebay::tools
