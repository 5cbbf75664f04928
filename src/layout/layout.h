// A layout decides where the elements of a variable lie in the file(s): it turns requests into
// extents and hands them to a transport.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "data/request.h"
#include "data/schema.h"

namespace forebay {

class Layout {
 public:
  virtual ~Layout() = default;
  /// Carries out all requests of one direction. If `collective`, every rank calls, with an empty
  /// span if need be.
  /// The order of `requests` may change, except among those of one variable.
  virtual void carry_out(std::span<Request> requests, bool write, bool collective) = 0;
  /// Collective. What was put off reaches the file.
  virtual void flush() {}
  /// How operations were carried out and why, for the report: sentences; may be empty.
  virtual std::string reasons() const { return {}; }
};

/// The classic netCDF layout: every variable contiguous, or interleaved record by record (CDF-1, 2,
/// 5). `schema`, `io` and `report` outlive the layout.
std::unique_ptr<Layout> make_canonical_layout(const Schema& schema, ExtentIo& io, Report& report);

namespace chunked {
class ChunkStore;
}

struct ChunkOptions {
  Count buffer_limit = 64 << 20;  ///< bytes a rank may hold for chunks and messages
  Count chunk_bytes = 1 << 20;    ///< what shapes are chosen for, at least
  Count cache_bytes = 16 << 20;   ///< of decoded chunks, a rank
  int ranks_per_node = 0;         ///< as Comm::split_node has it; 1: messages only
  int codec_threads = 0;          ///< a rank; 0: the node's processors, shared by its ranks
};

/// Chunked variables (D5, ch. 5), and beside them variables in canonical layout. `store` holds the
/// index of the schema's file, which every rank has loaded. Shapes that are still open are chosen
/// at the first write and noted in `schema`. All references outlive the layout. Collective calls
/// with chunked variables also publish the index, so that what they wrote can be read.
std::unique_ptr<Layout> make_chunked_layout(Schema& schema, chunked::ChunkStore& store,
                                            ExtentIo& io, const Comm& comm,
                                            const ChunkOptions& options, Report& report);

}  // namespace forebay
