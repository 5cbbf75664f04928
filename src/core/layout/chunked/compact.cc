// Compaction of files of chunks when they are closed. The last chunks are moved to free space that
// rewriting has left, so that the files become shorter (plan/compaction.h). This applies to a file
// that contains chunks and to data files beside it.
//
// A chunk's new place is free in the published state and in the last synced one, as for any written
// chunk. It is published after a collective step, at which the chunk has been written. If the
// process is killed in between, the chunk is still at its old place. Afterwards files are
// truncated.
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "layout/chunked/chunked.h"
#include "layout/compact_file.h"

namespace forebay::chunked {

std::optional<Offset> ChunkedLayout::end() const {
  if (!store_.is_whole() || store_.has_news() || !store_.wrote()) return std::nullopt;
  return store_.end();
}

void ChunkedLayout::publish_last() {
  store_.publish();
  const bool wrote = store_.is_whole() && store_.wrote();
  if (wrote) compact();
  store_.publish_whole();
  if (!wrote || !files_) return;
  files_->cut(store_.data_files(), store_.end(),
              [&](std::uint32_t number) { return store_.end_of_data(number); });
}

void ChunkedLayout::compact() {
  const bool moved = move_chunks();
  store_.publish_whole();
  // Only the index is after the chunks now; it is written again, next to them.
  if (files_ ? store_.has_sparse_index() : moved) store_.renew_index();
}

// The ranks that write a file share its moves; none moves more than it may hold at a time.
bool ChunkedLayout::move_chunks() {
  const auto moves = store_.make_moves([&](std::uint32_t file) {
    return options_.buffer_limit * (files_ ? files_->ranks_that_move(file - 1) : comm_.size());
  });
  if (moves.empty()) return false;
  const auto failed = attempt_to([&] {
    std::uint32_t file = 0;
    int turn = 0;  // counts the moves within a file
    for (const ChunkStore::Move& move : moves) {
      const Entry& from = move.from;
      if (std::exchange(file, from.file) != from.file) turn = 0;
      const bool mine =
          files_ ? files_->moves(from.file - 1, turn) : turn % comm_.size() == comm_.rank();
      ++turn;
      if (!mine) continue;
      Entry to = from;
      to.offset = move.to;
      copy_bytes(files_ ? files_->to_move(from.file - 1) : site_.file,
                 {store_.in_file(from), store_.in_file(to), from.bytes, from.hash});
    }
    if (files_) files_->moved();
  });
  // If a chunk is damaged, everything stays in place.
  const bool done = !worst_of_all(comm_, failed);
  for (const ChunkStore::Move& move : moves) {
    Entry to = move.from;
    to.offset = move.to;
    if (done)
      store_.replace(move.var, move.id, to);
    else
      store_.give_back(to, true);
  }
  return done;
}

}  // namespace forebay::chunked
