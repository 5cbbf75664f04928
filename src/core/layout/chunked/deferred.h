// Independent writes to chunked variables, deferred until the next collective write, since a chunk
// has one owner. Each is cut by the chunks it touches, so that a round of the flush only needs the
// data of its own chunks. Data is kept in memory up to a limit, beyond it in a temporary file.
// Other memory is some 400 bytes for each write.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "array/chunk_grid.h"
#include "array/request.h"
#include "layout/chunked/operation.h"
#include "layout/pending_data.h"

namespace forebay::chunked {

class DeferredWrites {
 public:
  using GridOf = std::function<const ChunkGrid&(VarId)>;

  DeferredWrites(Count limit, PendingData::MakeFile make_file)
      : limit_(limit), make_file_(std::move(make_file)), data_(limit_, make_file_) {}

  /// Local. Copies the data of a write, chunk by chunk: all of it, or nothing if the temporary file
  /// cannot be made or written.
  void add(const ChunkGrid& grid, const Request& write);
  bool empty() const { return requests_.empty(); }
  bool touches(VarId var, Count id) const { return of_chunk_.contains({var, id}); }
  /// Local; thread-safe. Copies deferred data to the elements of a chunk, in order.
  void apply(const ChunkGrid& grid, VarId var, Count id, std::span<std::byte> raw) const;

  /// Local. Cuts all writes by other grids. On failure the writes are lost.
  void cut_again(const GridOf& grid);
  /// One for each write and chunk, in order. Their data is valid from one load() to the next.
  std::span<Request> requests() { return requests_; }
  std::vector<Touch> touch_list() const;  ///< what they touch, as from find_touches
  /// Local. Allocates memory for the data of any single round.
  void make_room(const Operation& op);
  /// Local. Reads the data of a round. On failure the data is invalid, but may be accessed.
  void load(const Operation& op, std::uint32_t round);
  void clear();

 private:
  struct Piece {  // one for each request
    Count chunk;
    Offset position;  // in data_
    Count bytes;
  };

  void add_part(const ChunkGrid& grid, const Request& write, const ChunkTouch& touched,
                std::span<const Offset> positions);

  Count limit_;
  PendingData::MakeFile make_file_;
  PendingData data_;
  std::vector<Request> requests_;
  std::vector<Piece> pieces_;
  std::map<std::pair<VarId, Count>, std::vector<std::uint32_t>> of_chunk_;
  std::vector<std::byte> loaded_;
};

}  // namespace forebay::chunked
