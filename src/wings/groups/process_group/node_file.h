// The data file of a node, for groups that are written before their step ends.
//
// No other node takes places in it. The file is created when one of the node's ranks has such a
// group. Places follow one another: ranks add to a counter in shared memory. A rank that cannot
// share memory has a file of its own. Groups of a step that is given up stay in the file, and
// belong to no step.
#pragma once

#include <memory>

#include "base/types.h"
#include "comm/node_memory.h"
#include "groups/format/bp_write.h"
#include "storage/file.h"

namespace forebay::process_group {

/// Returns the bytes to write at `end` of a data file before the next group: its head, and a
/// filler.
bp::Bytes front_at(Offset end, Count alignment);

class NodeFile {
 public:
  static constexpr std::size_t shared_bytes = 2 * sizeof(Offset);

  /// `shared` is memory of shared_bytes that all ranks with this file share. `folder` is a file in
  /// the directory that rank 0 has; it must outlive this object. `number` is K of data.K.
  NodeFile(std::unique_ptr<File> file, std::uint32_t number, Count alignment, NodeMemory shared,
           File& folder);
  /// Local, on one of the sharing ranks, before any of them takes a place. The existing contents of
  /// the file end at `end`.
  void begin_at(Offset end);

  std::uint32_t number() const { return number_; }
  File& file() { return *file_; }
  bool was_written() const { return is_open_; }

  /// Local. Returns the place for a group of `bytes` bytes, a multiple of the alignment.
  Offset take(Count bytes);
  /// Local, after all ranks have ended a step. The groups so far are kept from now on.
  void keep();
  /// Local, after all ranks have given up a step. Groups since keep() belong to no step, and their
  /// space is freed if that works. All ranks must know of it before any of them writes again.
  void drop();

 private:
  struct End;
  End& end() const;
  void open();

  std::unique_ptr<File> file_;
  std::uint32_t number_;
  Count alignment_;
  NodeMemory shared_;
  File& folder_;
  bool cuts_ = false;  // true on one of the sharing ranks
  Offset kept_ = 0;    // on that rank: bytes before it are kept
  bool is_open_ = false;
};

}  // namespace forebay::process_group
