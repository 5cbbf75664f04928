// What ranks agree on before a file is created or opened: rank 0's arguments, hints, environment
// and configuration, so that their methods are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/path.h"
#include "comm/comm.h"
#include "method/method.h"

namespace forebay {

class Dataset;

/// The names of a file, and the folder that the program is in.
struct NamedFile {
  std::string given, folder, path;

  explicit NamedFile(const std::string& name, std::string at = current_folder())
      : given(name), folder(std::move(at)), path(absolute_path(given, folder)) {}
  std::string pack() const { return given + '\0' + folder + '\0'; }
};

/// Rank 0's arguments of create and open, which all ranks use.
struct OpeningArguments {
  HintMap hints;
  std::int64_t flag = 0;
  std::string found = {};  ///< the container that recognises the existing file, if one does
  bool logs = false;       ///< an earlier job may have left logs

  static OpeningArguments to_create(bool is_root, const std::string& path, int version,
                                    bool no_clobber, const HintMap& hints);
  static OpeningArguments to_open(bool is_root, const std::string& path, bool writable,
                                  const HintMap& hints);
  std::string pack() const;
  void unpack(const std::string& packed);
};

/// The request of rank 0 to create a file. Programs often ask for the same again; if all ranks have
/// the same hash, nothing need be broadcast.
struct CreationRequest {
  OpeningArguments arguments;
  MethodSources sources;
  std::int64_t hash;

  CreationRequest(OpeningArguments given, MethodSources read);
  /// Local, on rank 0. Returns what Dataset::create() would broadcast.
  static std::shared_ptr<const CreationRequest> of(const std::string& path, int version,
                                                   bool no_clobber, const HintMap& hints);
  /// Local. Returns what was broadcast to this rank last, or null.
  static std::shared_ptr<const CreationRequest> last();
  /// Returns a hash, not negative, of the request and of the file's place. The place is in rank 0's
  /// folder if the path is relative.
  std::int64_t hash_at(const std::string& path) const;
};

/// Returns a few values of a file; the collective step that creates the file computes their maxima
/// over all ranks. Local, called on all ranks or on none, when this rank has the file ready (rank
/// 0: when it is made). If it throws on one rank, all ranks throw.
using PiggybackFacts = std::function<std::span<std::int64_t>(Dataset& file)>;

/// Says that the ranks have just synchronised, and that nothing has failed since but `failed`. The
/// call that gets it need not synchronise before it begins.
struct PriorMeeting {
  std::optional<Error> failed = std::nullopt;
  std::shared_ptr<const CreationRequest> asked = nullptr;  ///< all ranks know it: no broadcast
  /// For a file that is created: its values join the collective step that creates the file. It may
  /// never be called.
  PiggybackFacts beside = {};
};

Method method_for(const std::string& path, const HintMap& hints, const MethodSources& sources);

/// Collective. Broadcasts rank 0's name and arguments. `makes`: a file is created. Ranks may be in
/// different folders; the file lies in rank 0's.
Method shared_method(const Comm& comm, NamedFile& name, OpeningArguments& arguments, bool makes);

/// Local; only rank 0 looks. Returns the container that recognises the file at an absolute path.
std::string look_at(bool is_root, const std::string& path);

/// Collective. Meets what an earlier job that used a stage may have left beside a file.
void meet_leftovers(const Comm& comm, const std::string& path, bool writable, bool creating,
                    const Method& method);

}  // namespace forebay
