// Reads that ranks perform together (Lofstead et al. 2009, §III.B). Each rank notes the boxes that
// it needs. Then the rows of all boxes in blocks are passed as extents to one transport, over all
// data files of the directory as one file. So data that several ranks need is read once, in long
// runs, and small rows are read by a rank with neighbouring ones.
//
// If another block hides a part of a block, only the visible part is read, as boxes (visible.h). So
// no two extents of a request have the same place in memory, and their order does not matter. If
// there would be too many such boxes, the rank reads them alone.
//
// Memory of a rank: about 100 bytes for each block that overlaps its boxes, and two or three times
// as much while the reads are performed; 8 bytes for each data file; the transport's memory. Adding
// a box temporarily takes the memory that visible.h names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "array/selection.h"
#include "base/extent.h"
#include "base/joined_file.h"
#include "comm/comm.h"
#include "groups/process_group/bp_reader.h"

namespace forebay::process_group {

/// Rows of one block, all of one length, in file order.
struct BlockRows {
  struct Loop {  ///< outermost first
    Count count;
    Offset file_step, memory_step;  ///< bytes
  };
  std::uint32_t file = 0;
  Offset at = 0;  ///< in that file
  std::byte* memory = nullptr;
  Count row = 0;  ///< bytes of each row
  std::vector<Loop> loops;

  Count rows() const;
  Offset end() const;  ///< of the last row
};

class PendingReads {
 public:
  /// `file` must outlive this object.
  explicit PendingReads(const BpReader& file);

  /// Returns all data files as one, for the transport of perform().
  const std::shared_ptr<JoinedFile>& joined() const { return joined_; }

  /// Local. Notes a box. The next perform() puts its elements into `out`. Errors as for
  /// BpReader::read(), but not those of data files; on an error nothing is noted. `box` has no
  /// strides. `out` must not overlap other memory noted since the last perform().
  void add(std::size_t variable, std::size_t step, const Subarray& box, std::byte* out);

  /// Collective, also for ranks that have noted nothing. Performs the noted reads and forgets them,
  /// also on errors. An error of one rank is an error on all: Errc::etrunc for a data file that is
  /// too short, and system errors; the contents of boxes are undefined then. The number of
  /// collective steps does not depend on the number of boxes. `io` belongs to joined().
  void perform(const Comm& comm, ExtentIo& io);

 private:
  struct Noted {
    bp::Type type;
    std::byte* out;
    Count bytes;
    std::vector<BlockRows> rows;
  };
  struct Alone {
    std::size_t variable, step;
    Subarray box;
    std::byte* out;
    std::pair<std::uint32_t, Offset> first;  // data file and place of its first block
  };

  void join(const Comm& comm, const std::vector<BlockRows>& rows, std::int64_t files);

  const BpReader& file_;
  std::shared_ptr<JoinedFile> joined_;
  std::vector<Noted> noted_;
  std::vector<Alone> alone_;
};

}  // namespace forebay::process_group
