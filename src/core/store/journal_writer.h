// Appends entries to one rank's journal (store/journal.h) and reads their data back.
//
// What was added is in the log when commit() returns. One system call writes the data, and one more
// writes the entries. If the process is killed then, nothing of it is lost. Nothing here is
// collective. One thread may add and commit while another one reads.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/byte_file.h"
#include "storage/file.h"
#include "store/journal.h"

namespace forebay::journal {

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

  /// Adds an entry, and the bytes in `pieces`, one after another, which stay valid until commit().
  /// print(data, sequence, session, out, failed) appends the entry to `out`; what it throws comes
  /// out, and nothing is added. Reads the data once, for the hash. Returns the sequence number.
  template <typename Print>
  std::uint64_t add(std::span<const iovec> pieces, Print&& print) {
    const Data data = facts_of(pieces);
    print(data, added_.sequence, header_.session, entries_, failed_);
    add_data(pieces, data.bytes);
    return added_.sequence++;
  }
  /// Returns whether something is added and not committed.
  bool has_added() const { return !entries_.empty(); }
  /// Writes what was added. If that fails (Errc::eno_space, ewrite, …), nothing of it is in the
  /// log, and the log continues as before.
  void commit();
  void forget();  ///< drops what was added but not committed

  /// Returns the end of the log. Errc::einternal if something is added but not committed.
  Mark mark();
  /// Drops the entries before `mark`. Their space goes back to the file system if possible. If
  /// nothing is left, a log with files of its own restarts at the front. Takes epoch, schema,
  /// least_records and closed from `state`. With `keep` the entries stay readable, for people to
  /// inspect. If it fails, the log continues as before.
  void drop(const Mark& mark, const State& state, bool keep = false);

  /// Reads all data of a committed entry; `into` has data.bytes. Errc::ebadlog if they are not what
  /// was written.
  void read(const Data& data, std::span<std::byte> into);
  bool is_linked() { return records_->is_linked() && data_->is_linked(); }
  void sync();  ///< waits until the log, and its name, are on their device

 private:
  Data facts_of(std::span<const iovec> pieces) const;
  void add_data(std::span<const iovec> pieces, Count bytes);
  void write_state(const State& next);
  void take_back() noexcept;
  void restart();
  void free_before(const Mark& mark);

  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
  Mark end_;               ///< of the committed entries
  Mark added_;             ///< of the added entries
  Mark freed_;             ///< everything before it was given back to the file system
  Mark live_;              ///< everything before it no longer counts
  bool releases_ = true;   ///< the file system can give back space
  bool has_name_ = false;  ///< the device has its name
  PathSync path_sync_;
  bool in_doubt_ = false;           ///< the file may have a later state than state_
  std::uint32_t failed_ = 0;        ///< number of failed commits
  std::vector<std::byte> entries_;  ///< added, not committed
  std::vector<iovec> pieces_;       ///< data of the added entries
  std::vector<iovec> scratch_;
};

}  // namespace forebay::journal
