// Verifies a file: its header, its length, and, where variables are chunked, the chunk index and
// every chunk. One process, no MPI; the file is only read.
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
  bool decode = false;  ///< also decode chunks whose checksum is right
  /// Told now and then how many stored bytes have been verified, of how many; may be empty.
  std::function<void(Count done, Count all)> progress;
};

/// Something that is not as it was written. Of a chunk: `var`, `chunk` and `box`; of a page of the
/// index: `var`, `chunk` (its first) and `chunks`.
struct Damage {
  enum class Part { length, root, directory, page, chunk, variable };
  Part part = Part::chunk;
  std::optional<VarId> var;
  std::optional<Count> chunk;
  Count chunks = 1;  ///< how many chunks it concerns
  std::optional<ChunkGrid::Box> box;
  std::string problem;
};

const char* name_of(Damage::Part part);

/// What can be read of one variable.
struct VariableCheck {
  VarId var = 0;
  bool chunked = false;
  bool readable = true;    ///< but for `damaged` chunks
  std::string problem;     ///< why it is not, or not fully; empty if all is well
  Count present = 0;       ///< chunks, or parts, that were verified, damaged ones included
  Count damaged = 0;       ///< of them that cannot be read
  Count stored_bytes = 0;  ///< that were verified
};

enum class CheckStatus { good, damaged, unreadable };

struct FileCheck {
  std::string path;
  CheckStatus status = CheckStatus::good;
  std::string error, advice;  ///< why it is unreadable
  int version = 0;            ///< of the format
  Offset file_size = 0;
  Offset expected_size = 0;  ///< up to here data may be, as header and index say
  bool chunked = false;
  IndexFacts index;                 ///< of a file with chunks
  std::vector<Damage> damages;      ///< all that were found
  std::vector<VariableCheck> vars;  ///< by id
  std::vector<std::string> names;   ///< of the variables
  std::vector<std::string> notes;   ///< worth knowing, and no damage
  /// Verified; parts of decomposed variables' slabs; bytes of chunks and parts as stored.
  Count pages = 0, chunks = 0, parts = 0, bytes = 0;
  /// Of data files of decomposed variables that are whole, but for parts; bytes of values.
  Count data_files = 0, maps = 0, patterns = 0, slabs = 0, slab_bytes = 0;
  double seconds = 0;
};

/// Never stops at damage, and throws for nothing that is wrong with the file: what cannot be opened
/// or has no valid header is CheckStatus::unreadable. Memory: the index and one chunk.
FileCheck check_file(const std::string& path, const CheckOptions& options);

/// One past the last byte of all data that the header promises, chunks not among them.
Offset expected_size(const Schema& schema);

}  // namespace forebay
