// Reads that ranks carry out together (A §III.B): each notes the boxes that it needs; then the rows
// that all of them have in blocks go as extents through one transport, over all data files of the
// directory as one file. So what several ranks ask for is read once, in long runs, and small rows
// by who has neighbouring ones.
//
// Of a block that another one hides in part only what is seen is read, as boxes (visible.h), so
// that no two extents of a request have the same place in memory, and their order does not matter.
// What would be too many such boxes is read by its rank alone.
//
// Memory of a rank: some 100 bytes for each block that it has something of, and two or three times
// as much while the reads are carried out; 8 bytes for each data file; what the transport takes. A
// box that is added takes what visible.h says meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "array/selection.h"
#include "base/extent.h"
#include "base/joined_file.h"
#include "comm/comm.h"
#include "layout/process_group/bp_reader.h"

namespace forebay::process_group {

/// Equally long rows of one block, in the order of the file.
struct BlockRows {
  struct Loop {  ///< outermost first
    Count count;
    Offset file_step, memory_step;  ///< bytes
  };
  std::uint32_t file = 0;
  Offset at = 0;  ///< in that file
  std::byte* memory = nullptr;
  Count row = 0;  ///< bytes of each
  std::vector<Loop> loops;

  Count rows() const;
  Offset end() const;  ///< behind the last one
};

class PendingReads {
 public:
  /// `file` outlives this.
  explicit PendingReads(const BpReader& file);

  /// All data files as one: what a transport for perform() reads.
  const std::shared_ptr<JoinedFile>& joined() const { return joined_; }

  /// Local. Notes a box, whose elements are in `out` behind the next perform(); with the errors of
  /// BpReader::read(), but for those of data files, and then nothing is noted. `box` has no
  /// strides; `out` has nothing in common with what was noted since the last perform().
  void add(std::size_t variable, std::size_t step, const Subarray& box, std::byte* out);

  /// Collective, also for ranks that have noted nothing. Carries out what ranks have noted, and
  /// forgets it, whatever happens. An error of one rank is an error on all: Errc::etrunc for a data
  /// file that is too short, and those of system calls; what boxes hold then is undefined. The
  /// number of meetings does not depend on how many boxes there are. `io` is one of joined().
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
  };

  void join(const Comm& comm, const std::vector<BlockRows>& rows, std::int64_t files);

  const BpReader& file_;
  std::shared_ptr<JoinedFile> joined_;
  std::vector<Noted> noted_;
  std::vector<Alone> alone_;
};

}  // namespace forebay::process_group
