// Writes that a job has staged in logs, laid over a file that is open for reading only (the hint
// recover=overlay). A wing that knows such logs registers an OverlayEntry.
#pragma once

#include <memory>
#include <span>

#include "stage/stage.h"

namespace forebay {

/// What an overlay may ask of its dataset.
class OverlayHost {
 public:
  virtual ~OverlayHost() = default;
  /// Collective. Opens the file once more, so that reads see all that others have written by now,
  /// and returns the layout that reads it from here on. Errc::emultidefine if it has other
  /// definitions now. If it fails, all is as before.
  virtual Layout& open_again() = 0;
};

/// A line of its file begins `extern const OverlayEntry name_overlay{`.
struct OverlayEntry {
  /// Collective. Makes the stage of a file that is open for reading. Its flush_to_sync() takes anew
  /// what it lays over the file. `staged`, equal on all ranks: there may have been logs before the
  /// file was opened.
  std::unique_ptr<Stage> (*make)(const StageSite& site, OverlayHost& host, bool staged);
};
/// Returns what wings bring: one at most is asked.
std::span<const OverlayEntry* const> built_in_overlays();

}  // namespace forebay
