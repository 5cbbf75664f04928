// What `forebay recover` can finish. Wings bring it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "comm/comm.h"

namespace forebay::tools {

struct RecoverOptions {
  std::string path;
  bool list_only = false;     ///< only tell what there is
  bool verify_only = false;   ///< read and check everything, change nothing
  bool skip_damaged = false;  ///< go on with what is whole
  bool partial = false;       ///< go on although logs are missing
  bool keep = false;          ///< leave logs where they are
  bool json = false;
  std::string file;                      ///< replay into this file
  std::optional<std::uint64_t> session;  ///< only this session of a directory's logs
};

/// A wing defines one for what its jobs leave behind when they end early.
struct RecoveryEntry {
  int place;       ///< the order in which applies() is asked
  bool otherwise;  ///< runs if no entry applies
  /// Local. Returns whether a job left something of this kind at the path.
  bool (*applies)(const std::string& path);
  /// Collective. Finishes it, and prints the result on rank 0. Returns an ExitCode. All ranks throw
  /// the same error.
  int (*run)(const Comm& comm, const RecoverOptions& options);
};

/// Returns all that wings bring, in no order.
std::span<const RecoveryEntry* const> built_in_recoveries();

/// Something to tell of a file before a command shows it. A wing defines one.
struct NoteEntry {
  /// Prints to standard error if there is anything to tell.
  void (*tell)(const std::string& path);
};
std::span<const NoteEntry* const> built_in_notes();

/// Tells all notes of a file.
void tell_notes(const std::string& path);

}  // namespace forebay::tools
