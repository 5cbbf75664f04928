// A layout decides where the elements of a variable lie in the file(s): it turns requests into
// extents and hands them to a transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "plan/chunk_read.h"

namespace forebay {

struct ByteRange {
  Offset first, last;  ///< first byte and one past the last
};

class Layout {
 public:
  virtual ~Layout() = default;
  /// Carries out all requests of one direction. If `collective`, every rank calls, with an empty
  /// span if need be.
  /// The order of `requests` may change, except among those of one variable.
  virtual void carry_out(std::span<Request> requests, bool write, bool collective) = 0;
  /// Collective. What was put off reaches the file.
  virtual void flush() {}
  /// Collective. Says that several writes follow each other, and when they are over: see
  /// ExtentIo::expect_more.
  virtual void expect_more(bool /*more*/) {}
  /// Local. The bytes of the file that a write touches, where that is known before it is carried
  /// out: writes whose ranges do not meet may be carried out in any order.
  virtual std::optional<ByteRange> range_of(const Request& /*request*/) const {
    return std::nullopt;
  }
  /// Whether what one rank wrote by itself is in the file when carry_out() returns.
  virtual bool writes_alone() const { return false; }
  /// How operations were carried out and why, for the report: sentences; may be empty.
  virtual std::string reasons() const { return {}; }
};

/// The classic netCDF layout: every variable contiguous, or interleaved record by record (CDF-1, 2,
/// 5). `schema`, `io` and `report` outlive the layout. `flatten`: order writes by sorting all their
/// extents (layout/canonical/flattened.h), to compare.
std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report,
                                              bool flatten = false);

namespace chunked {
class ChunkStore;
}

/// Which rank encoded each chunk last, for reports: by variable, then by chunk. -1: none, or beyond
/// what is kept.
struct ChunkOwners {
  static constexpr Count most = 1 << 20;  ///< chunks of one variable
  std::vector<std::vector<std::int32_t>> of_variable;

  void note(VarId var, Count chunk, Rank owner) {
    if (chunk >= most) return;
    const auto v = static_cast<std::size_t>(var), c = static_cast<std::size_t>(chunk);
    if (of_variable.size() <= v) of_variable.resize(v + 1);
    if (of_variable[v].size() <= c) of_variable[v].resize(c + 1, -1);
    of_variable[v][c] = owner;
  }
};

struct ChunkOptions {
  Count buffer_limit = 64 << 20;      ///< bytes a rank may hold for chunks and messages
  Count chunk_bytes = 1 << 20;        ///< what shapes are chosen for, at least
  Count cache_bytes = 16 << 20;       ///< of decoded chunks, a rank
  int ranks_per_node = 0;             ///< as Comm::split_node has it; 1: messages only
  int codec_threads = 0;              ///< a rank; 0: the node's processors, shared by its ranks
  std::optional<ReadPlan> read_plan;  ///< of collective reads; none: the quicker one
  ChunkOwners* owners = nullptr;      ///< where set, told who encodes what; outlives the layout
  /// An empty file for independent writes that exceed buffer_limit.
  std::function<std::unique_ptr<ByteFile>()> make_temporary;
};

/// Chunked variables (D5, ch. 5), and beside them variables in canonical layout. `store` holds the
/// index of the schema's file, which every rank has loaded. Shapes that are still open are chosen
/// at the first write and noted in `schema`. All references outlive the layout. Collective calls
/// with chunked variables also publish the index, so that what they wrote can be read.
std::unique_ptr<Layout> make_chunked_layout(Schema& schema, chunked::ChunkStore& store,
                                            ExtentIo& io, const Comm& comm,
                                            const ChunkOptions& options, Report& report);

}  // namespace forebay
