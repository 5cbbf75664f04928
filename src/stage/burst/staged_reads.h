// Reads that touch what this rank has staged: served from the log, without a flush (D3 §3.2.3
// leaves this to future work).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "staging_log/table.h"

namespace forebay::burst {

/// A table with a look-up of its writes by variable, built when a read first asks for it.
class StagedWrites {
 public:
  staging::Table table;

  void clear();
  /// The writes of `read`'s variable whose bytes meet [first, last), in program order. Bytes count
  /// from the variable's first element, with records as far apart as in run lists.
  std::vector<std::uint32_t> meeting(const Schema& schema, VarId var, Offset first, Offset last);

 private:
  struct Range {
    Offset first, last;
    std::uint32_t index;
  };
  /// The writes of one variable. Programs write from front to back, so that the ranges of
  /// neighbours lie together: a read skips most blocks.
  struct OfVariable {
    std::vector<Range> ranges;
    std::vector<Range> blocks;  // what 64 of them span
  };
  std::vector<OfVariable> of_var_;
  std::size_t looked_up_ = 0;  // so many writes of the table are in of_var_
};

/// Whether staged writes hold every byte of the read. `staged`: the earlier first.
bool covers(std::span<StagedWrites* const> staged, const Schema& schema, const Request& read);

/// Copies what is staged of the read's bytes over its memory; later writes win. Returns whether
/// there was anything. Errc::ebadlog when the log does not hold what was written.
bool overlay(std::span<StagedWrites* const> staged, const Schema& schema, Request& read,
             const staging::ReadData& data);

}  // namespace forebay::burst
