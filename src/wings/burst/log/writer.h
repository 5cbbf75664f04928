// Appends writes to one rank's log (burst/format/staging_record.h) and reads their data back.
//
// What was added is in the log when commit() returns. One system call writes the data, and one more
// writes the entries. If the process is killed then, nothing of it is lost. Nothing here is
// collective. One thread may add and commit while another one reads.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "burst/format/staging_record.h"

namespace forebay::staging {

/// The end of the committed entries at a call of mark().
struct Mark {
  std::uint64_t sequence = 0;
  Offset entry = header_bytes;
  Offset data = data_begin;

  bool operator==(const Mark&) const = default;
};

class Writer {
 public:
  /// Writes header, identification and first state into files that are open already. It overwrites
  /// what they held; they are new, or shared with other ranks.
  Writer(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, const Header& header,
         const State& state);

  const Header& header() const { return header_; }
  const State& state() const { return state_; }
  const std::string& records_path() const { return records_->path(); }
  const std::string& data_path() const { return data_->path(); }

  /// Adds a write of the bytes in `pieces`, one after another. They stay valid until commit(). Sets
  /// write.data, bytes, hash and continued. A write of no bytes is allowed. Reads the data once,
  /// for the hash.
  void add(Write& write, std::span<const iovec> pieces);
  /// Adds a list of runs and returns its sequence number, by which writes refer to it. The runs are
  /// in increasing order, without places in memory. The same list at the same place is not added
  /// again before the next mark(), and stays alive until then.
  std::uint64_t add_pieces(const Runs& runs);
  /// Writes what was added. If that fails (Errc::eno_space, ewrite, …), nothing of it is in the
  /// log, and the log continues as before. A request whose earlier writes were committed then does
  /// not count.
  void commit();
  void forget();  ///< drops what was added but not committed

  /// Returns the end of the log. Later writes do not refer to pieces that were added before it.
  /// Errc::einternal if something is added but not committed, because it might refer to them.
  Mark mark();
  /// Drops the entries before `mark`. Their space goes back to the file system if possible. If
  /// nothing is left, a log with files of its own restarts at the front. Takes epoch, schema,
  /// least_records and closed from `state`. With `keep` the entries stay readable, for people to
  /// inspect. If it fails, the log continues as before.
  void drop(const Mark& mark, const State& state, bool keep = false);

  /// Reads all data of a committed write; `into` has write.bytes. Errc::ebadlog if they are not
  /// what was written.
  void read(const WriteFacts& write, std::span<std::byte> into);
  bool is_linked() { return records_->is_linked() && data_->is_linked(); }

 private:
  /// A list and its place. Known lists are kept alive, so that no other list gets the same address.
  using Key = std::pair<const RunList*, Offset>;
  struct Known {
    std::shared_ptr<const RunList> list;
    std::uint64_t sequence = 0;
  };

  void write_state(const State& next);
  void take_back() noexcept;
  void restart();
  void free_before(const Mark& mark);

  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
  Mark end_;    ///< of the committed entries
  Mark added_;  ///< of the added entries
  Mark freed_;  ///< everything before it was given back to the file system
  Mark live_;   ///< everything before it no longer counts
  bool continues_ = false, added_continues_ = false;  ///< of the last write committed, added
  bool releases_ = true;                              ///< the file system can give back space
  bool in_doubt_ = false;           ///< the file may have a later state than state_
  std::uint32_t failed_ = 0;        ///< number of failed commits
  std::vector<std::byte> entries_;  ///< added, not committed
  std::vector<iovec> pieces_;       ///< data of the added writes
  std::vector<iovec> scratch_;
  std::map<Key, Known> known_;
  std::vector<Key> uncommitted_;  ///< keys in known_ of added lists
};

}  // namespace forebay::staging
