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

/// Windows whose size and owners were planned elsewhere.
struct PlannedWindows {
  Count size = 0;
  std::function<Rank(Count window)> owner;  ///< it, or its node, writes the window
  std::int64_t* messages_in = nullptr;      ///< counts those that came to this rank for them
  bool by_first = false;  ///< if threads write, a node's first rank does, not the last to come
};

/// Options of a transport. Each has the default that measured best (docs/performance.md).
struct TransportOptions {
  std::string kind = "auto";  ///< the name of a TransportEntry
  Count window_size =
      0;  ///< file domains are cut at multiples of at most this many bytes; 0: chosen
  Count striping_unit = 0;          ///< and of at least this many; 0: unknown
  Count buffer_limit = 64 << 20;    ///< bytes a rank may hold
  Count hole_threshold = 64 << 10;  ///< holes up to this many bytes are bridged
  /// Operations are large and the file system answers slowly. Few large system calls then save more
  /// than moving bytes once more costs.
  bool bulk = false;
  /// For files with a write queue (storage/write_queue.h). Returns whether an operation with bytes
  /// between the first and the last of a waiting one comes after that, so that holes may be filled.
  /// The same on all ranks. Empty: it does not.
  std::function<bool()> keeps_apart;
  /// Returns whether all ranks call the file's folder by one name: the same on all. Empty: unknown.
  std::function<bool()> named_alike;
  Sharing sharing = Sharing::unknown;  ///< see ExtentIo::expect_sharing
  int aggregators = 0;                 ///< processes that write windows at a time at most; 0: all
  int aggregators_of_node = 0;         ///< of each node; 0: all
  Count least_trial = 256 << 10;       ///< bytes of a node from which both ways are tried
  double patience = 2;                 ///< see path_tuner.h
  /// Windows and owners that were planned elsewhere; must outlive the transport. Null: chosen here.
  const PlannedWindows* planned = nullptr;
  int ranks_per_node = 0;          ///< as Comm::split_node has it; 1: messages only
  const Method* method = nullptr;  ///< for keys of one transport
};

/// Returns the options that the keys of a method give.
TransportOptions transport_options(const Method& method);

class Transport : public ExtentIo {
 public:
  /// Returns how operations were carried out and why, for the report: one sentence each.
  virtual std::string reasons() const { return {}; }
  /// Local, before the first operation. Sets TransportOptions::striping_unit for a file that did
  /// not exist when the transport was made.
  virtual void use_stripes(Count /*unit*/) {}
};

/// Describes a transport. Each definition begins a line: `extern const TransportEntry
/// name_transport{`.
struct TransportEntry : Part {
  static constexpr PartKind kind = PartKind::transport;
  /// Collective.
  std::unique_ptr<Transport> (*make)(const Comm&, std::shared_ptr<ByteFile>,
                                     const TransportOptions&, Report&);
  const char* needs = nullptr;   ///< what threads, or one process, do not have
  bool of_any_file = false;      ///< also of several as one (merged_files.h)
  bool is_made_locally = false;  ///< and the file need not be there
};

/// Collective. Throws Errc::einval for an unknown kind.
std::unique_ptr<Transport> make_transport(const Comm& comm, std::shared_ptr<ByteFile> file,
                                          const TransportOptions& options, Report& report);

}  // namespace forebay
