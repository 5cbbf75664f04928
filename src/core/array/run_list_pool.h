// Keeps the run lists of a dataset, so that equal selections are flattened and stored once: codes
// write hundreds of variables, record after record, by a few decompositions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/types.h"

namespace forebay {

/// Only one thread may use it at a time.
class RunListPool {
 public:
  /// Does what flatten_varn does. A hash of 128 bits recognises the same starts and counts, except
  /// for the record, of variables of equal shape and element size; nothing is flattened then.
  Runs flatten(const Variable& var, const VarnPieces& pieces, SelectionLimits limits,
               bool resolve_overlaps, FlattenedVarn& found);

  /// Returns the stored list that equals `list`. Stores a copy if no recent list does.
  std::shared_ptr<const RunList> share(const RunList& list);

 private:
  struct Key {
    std::uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    std::shared_ptr<const RunList> list;
    FlattenedVarn found;  // last_record counts from the first piece's record
    Count lowest;         // record touched, counted likewise
  };
  static constexpr int fewest = 8;  // pieces; of fewer, flattening costs less than hashing
  static constexpr std::size_t kept = 16;
  static constexpr Count most_bytes = Count{16} << 20;  // of known lists

  static std::optional<Key> key_of(const Variable& var, const VarnPieces& pieces,
                                   bool resolve_overlaps);
  void remember(Known&& known);

  RunList scratch_;  // keeps its capacity from use to use
  std::vector<std::weak_ptr<const RunList>> recent_;
  std::size_t next_ = 0;
  std::vector<Known> known_;  // the most recent one is last
};

}  // namespace forebay
