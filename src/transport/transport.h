// A transport turns sorted extents into system calls. It knows ranks and bytes, not variables.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/byte_file.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "method/part.h"

namespace forebay {

/// Windows whose size and owners somebody else has chosen.
struct PlannedWindows {
  Count size = 0;
  std::function<Rank(Count window)> owner;  ///< writes it, or its node does
  std::int64_t* messages_in = nullptr;      ///< adds those that came to this rank for them
  bool by_first = false;  ///< where threads write the first rank of a node does, whoever comes last
};

/// What a transport may be told; every member has the default that measured best
/// (docs/performance.md).
struct TransportOptions {
  std::string kind = "auto";  ///< the name of a TransportEntry
  Count window_size =
      0;  ///< file domains are cut at multiples of at most this many bytes; 0: chosen
  Count striping_unit = 0;          ///< and of no fewer than this many; 0: unknown
  Count buffer_limit = 64 << 20;    ///< bytes a rank may hold
  Count hole_threshold = 64 << 10;  ///< holes up to this many bytes are bridged
  /// Operations are large and the file system answers slowly: few large system calls are worth more
  /// than moving bytes once more.
  bool bulk = false;
  /// Where files hand over what is written (storage/write_queue.h): whether an operation that has
  /// bytes between the first and the last of one that waits comes behind it, so that holes may be
  /// filled. The same on all ranks; none: it does not.
  std::function<bool()> keeps_apart;
  /// Whether all ranks call the file's folder by the same name: the same on all. None: not known.
  std::function<bool()> named_alike;
  Sharing sharing = Sharing::unknown;  ///< see ExtentIo::expect_sharing
  int aggregators = 0;                 ///< processes that write windows at a time at most; 0: all
  int aggregators_of_node = 0;         ///< of each node; 0: all
  Count least_trial = 256 << 10;       ///< bytes of a node's, to try which way is quicker
  double patience = 2;                 ///< see quicker_way.h
  /// Where windows and their owners have been planned; outlives the transport. Null: chosen.
  const PlannedWindows* planned = nullptr;
  int ranks_per_node = 0;          ///< as Comm::split_node has it; 1: messages only
  const Method* method = nullptr;  ///< for keys that are one transport's own
};

/// What a method's keys say of it.
TransportOptions transport_options(const Method& method);

class Transport : public ExtentIo {
 public:
  /// How operations were carried out and why, for the report: one sentence each.
  virtual std::string reasons() const { return {}; }
  /// Local, before the first operation: TransportOptions::striping_unit, of a file that was not
  /// there when the transport was made.
  virtual void use_stripes(Count /*unit*/) {}
};

/// What a transport says of itself, at the beginning of a line: `extern const TransportEntry
/// name_transport{`.
struct TransportEntry : Part {
  static constexpr PartKind kind = PartKind::transport;
  /// Collective.
  std::unique_ptr<Transport> (*make)(const Comm&, std::shared_ptr<ByteFile>,
                                     const TransportOptions&, Report&);
  const char* needs = nullptr;   ///< what ranks that are threads, or one process, do not have
  bool of_any_file = false;      ///< of several as one, too (merged_files.h)
  bool is_made_locally = false;  ///< and the file need not be there
};

/// Collective. Errc::einval for an unknown kind.
std::unique_ptr<Transport> make_transport(const Comm& comm, std::shared_ptr<ByteFile> file,
                                          const TransportOptions& options, Report& report);

}  // namespace forebay
