// Checks a file: its header, its length and, for chunked variables, the index and every chunk. One
// process, no MPI. The file is only read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "array/chunk_grid.h"
#include "base/types.h"
#include "files/classic_file.h"

namespace forebay {

struct CheckOptions {
  bool decode = false;  ///< also decode chunks with a right checksum
  /// Called from time to time with verified stored bytes, and their total; may be empty.
  std::function<void(Count done, Count all)> progress;
};

/// A fault of the file. A damaged chunk has `var`, `chunk` and `box`. A damaged page of the index
/// has `var`, `chunk` (its first) and `chunks`.
struct Damage {
  enum class Place { length, root, directory, page, chunk, variable };
  Place place = Place::chunk;
  std::optional<VarId> var;
  std::optional<Count> chunk;
  Count chunks = 1;  ///< number of chunks concerned
  std::optional<ChunkGrid::Box> box;
  std::string problem;
};

const char* name_of(Damage::Place place);

/// What can be read of a variable.
struct VariableCheck {
  VarId var = 0;
  bool chunked = false;
  bool readable = true;    ///< except for `damaged` chunks
  std::string problem;     ///< why it cannot be read, or not fully; empty if all is well
  Count present = 0;       ///< verified chunks or parts, damaged ones included
  Count damaged = 0;       ///< those that cannot be read
  Count stored_bytes = 0;  ///< verified bytes
};

enum class CheckStatus { good, damaged, unreadable };

struct FileCheck {
  std::string path;
  CheckStatus status = CheckStatus::good;
  std::string error, advice;  ///< why it is unreadable
  int version = 0;            ///< of the format
  Offset file_size = 0;
  Offset expected_size = 0;  ///< where data may end, by header and index
  bool chunked = false;
  IndexFacts index;                 ///< of a file with chunks
  std::vector<Damage> damages;      ///< all that were found
  std::vector<VariableCheck> vars;  ///< by id
  std::vector<std::string> names;   ///< of the variables
  std::vector<std::string> notes;   ///< of interest, but no damage
  /// Verified; `parts` are of decomposed variables' slabs; `bytes` as stored.
  Count pages = 0, chunks = 0, parts = 0, bytes = 0;
  /// Undamaged data files of decomposed variables, whatever their parts; bytes of values.
  Count data_files = 0, maps = 0, patterns = 0, slabs = 0, slab_bytes = 0;
  double seconds = 0;
};

/// Continues after damage, and throws for no fault of the file. A file that cannot be opened or has
/// no valid header is CheckStatus::unreadable. Memory: the index and one chunk.
FileCheck check_file(const std::string& path, const CheckOptions& options);

/// Returns one past the last byte of the data in the header, without chunks.
Offset expected_size(const Schema& schema);

}  // namespace forebay
