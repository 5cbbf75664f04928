// Reads of data that this rank has staged: served from the log without a flush (future work in Hou
// 2023, §3.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "burst/log/table.h"

namespace forebay::burst {

/// A table with an index of its writes by variable, built when a read first needs it.
class StagedWrites {
 public:
  staging::Table table;

  void clear();
  /// The writes of `var` whose bytes meet [first, last), in program order. Bytes count from the
  /// variable's first element, with records as far apart as in run lists.
  std::vector<std::uint32_t> meeting(const Schema& schema, VarId var, Offset first, Offset last);

 private:
  struct Range {
    Offset first, last;
    std::uint32_t index;
  };
  /// The writes of one variable. Programs mostly write from front to back, so neighbours have close
  /// ranges, and a read skips most blocks.
  struct OfVariable {
    std::vector<Range> ranges;
    std::vector<Range> blocks;  // the ranges of 64 writes each
  };
  std::vector<OfVariable> of_var_;
  std::size_t looked_up_ = 0;  // number of the table's writes that are in of_var_
};

/// Returns whether staged writes contain every byte of the read. `staged` has earlier writes first.
bool covers(std::span<StagedWrites* const> staged, const Schema& schema, const Request& read);

/// Copies the staged bytes of the read to its memory; later writes win. Returns whether there were
/// any. Errc::ebadlog if the log does not contain what was written.
bool overlay(std::span<StagedWrites* const> staged, const Schema& schema, Request& read,
             const staging::ReadData& data);

}  // namespace forebay::burst
