// From a log to a layout (D3 §3.2.4): the writes of one rank's logs in batches within a buffer
// limit, each handed over as one operation, while a thread reads the next batch from the log.
//
// Where the layout knows which bytes a write touches, whole writes are sorted by their first byte,
// and writes whose ranges meet form a group (the high level of two-level reordering; the low level,
// within a group, is the layout's: plan/order.h). Batches are made of whole groups in file order,
// so that they cover the file from front to back. A group that is larger than a batch is cut in
// program order. Both ways later writes win over earlier ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "comm/comm.h"
#include "staging_log/table.h"

namespace forebay {
class Layout;
}

namespace forebay::burst {

/// How staged writes are ordered. `replay` (one by one, as recorded) is there to compare with.
enum class Order { two_level, replay };

/// One log: what it holds, and how its data is read.
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
  /// Later sources win over earlier ones. Tables and layout outlive the flush.
  Flush(std::vector<Source> sources, Layout& layout, const FlushOptions& options, Report& report);

  Count batches() const { return static_cast<Count>(ends_.size()); }
  /// Carries out `rounds` batches, empty ones where there are no more. Collective if `collective`:
  /// then all ranks pass the same number. Writes whose data is damaged are left out and listed;
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
  Count filled_ = 0;               // of the batch that is being made
  Count limit_;                    // of one batch
};

/// Collective. Flushes the sources of all ranks in as many rounds as the longest needs. A rank that
/// cannot make batches takes part without any, and throws at the end.
FlushResult flush_together(const Comm& comm, std::vector<Source> sources, Layout& layout,
                           const FlushOptions& options, Report& report);

}  // namespace forebay::burst
