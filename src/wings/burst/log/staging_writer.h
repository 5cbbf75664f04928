// Appends the writes of stage burst to one rank's journal (store/journal_writer.h).
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "burst/format/staging_entry.h"
#include "store/journal_writer.h"

namespace forebay::staging {

using journal::Mark;

/// Reads the data of a write with a journal's reader or writer. An error names the variable.
template <typename Log>
void read_write(Log& log, const WriteFacts& write, std::span<std::byte> into) {
  naming("variable " + std::to_string(write.var), [&] { log.read(write, into); });
}

class Writer : journal::Writer {
 public:
  using journal::Writer::header, journal::Writer::state, journal::Writer::is_linked,
      journal::Writer::records_path, journal::Writer::data_path, journal::Writer::sync,
      journal::Writer::Writer;

  /// Adds a write of the bytes in `pieces`, one after another. They stay valid until commit(). Sets
  /// write.data, bytes, hash and continued. A write of no bytes is allowed. Reads the data once,
  /// for the hash.
  void add(Write& write, std::span<const iovec> pieces);
  /// Adds a list of runs and returns its sequence number, by which writes refer to it. The runs are
  /// in increasing order, without places in memory. The same list at the same place is not added
  /// again before the next mark(), and stays alive until then.
  std::uint64_t add_pieces(const Runs& runs);
  /// Writes what was added. If it fails, a request whose earlier writes were committed does not
  /// count.
  void commit();
  void forget();  ///< drops what was added but not committed

  /// Later writes do not refer to pieces that were added before the mark.
  Mark mark();
  void drop(const Mark& mark, const State& state, bool keep = false);

  void read(const WriteFacts& write, std::span<std::byte> into) {
    read_write(static_cast<journal::Writer&>(*this), write, into);
  }

 private:
  /// A list and its place. Known lists are kept alive, so that no other list gets the same address.
  using Key = std::pair<const RunList*, Offset>;
  struct Known {
    std::shared_ptr<const RunList> list;
    std::uint64_t sequence = 0;
  };

  void forget_request();

  bool continues_ = false;  ///< of the last write added
  std::map<Key, Known> known_;
  std::vector<Key> uncommitted_;  ///< keys in known_ of added lists
};

}  // namespace forebay::staging
