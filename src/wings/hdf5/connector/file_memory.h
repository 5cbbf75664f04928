// Memory that stands in a temporary file without a name, where the system moves it when other
// memory is short. For data that waits in any amount.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"
#include "storage/file.h"

namespace forebay::vol {

/// All functions are local.
class FileMemory {
 public:
  /// The file lies beside `beside`. All arguments outlive the object.
  FileMemory(const std::string& beside, Rank rank, Report& report)
      : beside_(beside), rank_(rank), report_(report) {}
  ~FileMemory() { clear(); }
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  /// Returns memory that lives until clear(). The file has the space for it already. Errors are
  /// those of making the file longer, and Errc::enomem.
  std::byte* take(Count bytes);
  void clear();

 private:
  struct Segment {
    std::byte* begin;
    Count bytes;
  };

  const std::string& beside_;
  Rank rank_;
  Report& report_;
  std::unique_ptr<File> file_;
  std::vector<Segment> segments_;
  Offset end_ = 0;  // of the file
  Count used_ = 0;  // of the last segment
};

}  // namespace forebay::vol
