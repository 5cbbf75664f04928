// Appends writes to one rank's log (format/staging_record.h) and reads their data back.
//
// What was added is in the log when commit() returns: the data with one system call, then the
// entries with one more. A process that is killed then loses none of it. Nothing here is
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
#include "format/staging_record.h"

namespace forebay::staging {

/// The end of what was committed when mark() was called.
struct Mark {
  std::uint64_t sequence = 0;
  Offset entry = header_bytes;
  Offset data = data_begin;

  bool operator==(const Mark&) const = default;
};

class Writer {
 public:
  /// Writes header, identification and the first state; what the files held is overwritten (they
  /// are new, or shared with other ranks). The files are opened already.
  Writer(std::unique_ptr<ByteFile> records, std::unique_ptr<ByteFile> data, const Header& header,
         const State& state);

  const Header& header() const { return header_; }
  const State& state() const { return state_; }
  const std::string& records_path() const { return records_->path(); }
  const std::string& data_path() const { return data_->path(); }

  /// Adds a write of the bytes in `pieces`, one after another; they stay valid until commit().
  /// Fills in write.data, bytes, hash and continued. A write of no bytes is allowed. Reads the data
  /// once, for the hash.
  void add(Write& write, std::span<const iovec> pieces);
  /// The sequence number by which writes name these runs, which are in increasing order, without
  /// places in memory. The same list at the same place is not added again before the next mark();
  /// it stays alive until then.
  std::uint64_t add_pieces(const Runs& runs);
  /// Writes what was added. If that fails (Errc::eno_space, ewrite, …) nothing of it is in the log,
  /// and the log goes on as it was; a request of which earlier writes were committed does not
  /// count.
  void commit();
  void forget();  ///< drops what was added and not committed

  /// The end of the log; pieces that were added before it are not named by later writes. Not while
  /// something is added and not committed (Errc::einternal): it might name them.
  Mark mark();
  /// Entries before `mark` are no longer needed; their space goes back to the file system where
  /// possible. Where nothing is left a log of its own files begins from the front again. `state`:
  /// epoch, schema, least_records and closed are taken from it. With `keep` the entries stay
  /// readable, for people to look at.
  void drop(const Mark& mark, const State& state, bool keep = false);

  /// The data of a committed write, whole: `into` has write.bytes. Errc::ebadlog if they are not
  /// what was written.
  void read(const WriteFacts& write, std::span<std::byte> into);
  bool is_linked() { return records_->is_linked() && data_->is_linked(); }

 private:
  /// A list and where it was placed. Known lists are kept, so that no other takes their place in
  /// memory.
  using Key = std::pair<const RunList*, Offset>;
  struct Known {
    std::shared_ptr<const RunList> list;
    std::uint64_t sequence = 0;
  };

  void take_back() noexcept;
  void restart();
  void free_before(const Mark& mark);

  std::unique_ptr<ByteFile> records_, data_;
  Header header_;
  State state_;
  Mark end_;    ///< of what is committed
  Mark added_;  ///< of what was added
  Mark freed_;  ///< what lies before it went back to the file system
  Mark live_;   ///< what lies before it does not count
  bool continues_ = false, added_continues_ = false;  ///< the last write committed, added
  bool releases_ = true;                              ///< the file system can
  std::uint32_t failed_ = 0;                          ///< commits
  std::vector<std::byte> entries_;                    ///< added
  std::vector<iovec> pieces_;                         ///< data of what was added
  std::vector<iovec> scratch_;
  std::map<Key, Known> known_;
  std::vector<Key> uncommitted_;  ///< keys in known_ that were added
};

}  // namespace forebay::staging
