// The index of a BP4 directory, as the rank that looks through it tells the others: of each step
// and each of its variables where the entry lies, and what its first block says where that is other
// than in the step before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/report.h"
#include "base/types.h"
#include "format/bp.h"

namespace forebay::process_group {

/// Where a variable's entry of a step lies in md.0.
struct EntryPlace {
  Offset offset = 0;
  Count bytes = 0;
};

/// Local. Goes through md.idx and md.0 of a directory. What did not reach its files in whole, as
/// the machine went down, is no step, nor what follows it. Errc::ebad_file, enotsupport, or as the
/// system's, naming file and step. Returns some 21 bytes for each variable and step.
std::vector<std::byte> scan_index(const std::string& path, Rank rank, Report& report);

/// Takes what scan_index() returned, in the order of the file. Variables are numbered as they are
/// told for the first time.
class ScanTaker {
 public:
  virtual ~ScanTaker() = default;
  virtual void order(bool swapped) = 0;
  virtual void step(bool column_major) = 0;
  virtual void variable(const bp::Variable& variable, const bp::Block& first,
                        const EntryPlace& place) = 0;
  /// As in the step before that had it.
  virtual void again(std::size_t number, const EntryPlace& place) = 0;
  virtual void attribute(bp::Attribute attribute) = 0;
};
void take_scan(std::span<const std::byte> told, ScanTaker& taker);

}  // namespace forebay::process_group
