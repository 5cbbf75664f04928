// Writes logs to a layout (Hou 2023, §3.2.4). The writes of one rank's logs are carried out in
// batches within a buffer limit, each as one operation, while a thread reads the next batch from
// the log.
//
// If the layout knows which bytes a write touches, whole writes are sorted by their first byte, and
// writes whose ranges meet form a group. (This is the high level of two-level reordering; the
// layout does the low level, within a group: plan/order.h.) Batches are whole groups in file order,
// so that they cover the file from front to back. A group larger than a batch is split in program
// order. In both cases later writes win over earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "burst/log/table.h"
#include "comm/comm.h"

namespace forebay {
class Layout;
}

namespace forebay::burst {

/// The order of staged writes. `replay` (one by one, as recorded) is for comparison.
enum class Order { two_level, replay };

/// One log: its table, and a function that reads its data.
struct Source {
  const staging::Table* table;
  staging::ReadData read;
};

struct FlushOptions {
  Count buffer = 64 << 20;  ///< bytes of memory for data and requests
  Order order = Order::two_level;
};

/// A write whose data could not be read back as it was written.
struct LostWrite {
  std::size_t source, index;
  Error error;
};

struct FlushResult {
  Count writes = 0, bytes = 0, batches = 0;  ///< carried out
  std::vector<LostWrite> lost;               ///< left out
};

class Flush {
 public:
  /// Later sources win over earlier ones. Tables and layout must outlive the flush.
  Flush(std::vector<Source> sources, Layout& layout, const FlushOptions& options, Report& report);

  Count batches() const { return static_cast<Count>(ends_.size()); }
  /// Carries out `rounds` batches; those beyond batches() are empty. Collective if `collective`:
  /// all ranks must then pass the same number. Writes with damaged data are omitted and listed;
  /// other errors are thrown.
  FlushResult run(Count rounds, bool collective);

 private:
  struct Pick {
    std::uint32_t source, index;
  };
  struct Batch;

  void order_by_file();
  void add(Pick pick);
  void end_batch();
  void load(std::size_t number, Batch& batch) const;

  std::vector<Source> sources_;
  Layout& layout_;
  FlushOptions options_;
  Report& report_;
  std::vector<Pick> picks_;        // all writes, batch by batch
  std::vector<std::size_t> ends_;  // of batches, in picks_
  Count filled_ = 0;               // bytes of the batch that is being made
  Count limit_;                    // of one batch
};

/// Collective. Flushes the sources of all ranks, in as many rounds as the longest needs. A rank
/// that cannot make batches takes part without any, and throws at the end.
FlushResult flush_together(const Comm& comm, std::vector<Source> sources, Layout& layout,
                           const FlushOptions& options, Report& report);

}  // namespace forebay::burst
