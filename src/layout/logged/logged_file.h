// A file in the log layout, as a front end holds one: writer, reader, subfiles. The front end keeps
// the names and shapes of datasets and the blocks of the log, in whatever file format it speaks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "format/log_undo.h"
#include "layout/logged/index_writer.h"
#include "layout/logged/log_reader.h"
#include "layout/logged/log_writer.h"
#include "method/method.h"
#include "storage/file.h"

namespace forebay {

struct LoggedFileOptions {
  std::string path;
  bool writable = false;
  std::uint64_t session = 0;  ///< random, of this file; subfiles carry it too
  Count buffer_limit = 64 << 20, memory_limit = 64 << 20;
  bool copies = true;              ///< false: buffers of writes stay as they are until a flush
  std::string subfiling = "none";  ///< none | node | ranks
  int subfile_ranks = 1;           ///< that share one, with `ranks`
  int ranks_per_node = 0;          ///< testing: pretend that nodes have this many; 0: ask MPI
};

LoggedFileOptions logged_options(const Method& method);

/// The path of a subfile: <master>.subfiles/<number>.
std::string subfile_path(const std::string& master, std::uint32_t number);

class LoggedFile {
 public:
  /// Local. Nothing is opened yet. `space` outlives the file; it is used for writing only.
  LoggedFile(const Comm& comm, LoggedFileOptions options, logged::BlockSpace* space);
  ~LoggedFile();

  /// Collective. The index that the front end found in the file. One rank of each node reads it
  /// into memory that the others share, if it fits into memory_limit; a larger one is read in
  /// parts by each. Errc::ebadlog, etrunc.
  void open_index(const logged::MetadataBlock& index);
  /// Local. Blocks in the order of flushes, from what the front end found in the file; then the
  /// index that finish() wrote.
  void add_block(const logged::MetadataBlock& block) { reader_.add_block(block); }
  void set_index(const logged::MetadataBlock& index) {
    reader_.set_index(index.place, index.bytes);
  }

  /// Collective. After this writer() may be used. Makes or opens subfiles. Errc as the system's.
  void start_writing();
  bool writing() const { return writer_.has_value(); }
  /// Whether data that is held until a flush is copied for the other ranks to see.
  bool copies_pending() const { return tails_ && tails_->copies(); }
  logged::LogWriter& writer() { return *writer_; }
  logged::LogReader& reader() { return reader_; }

  /// Local. Writes the witness of this file (format/log_undo.h).
  void put_witness(const logged::Witness& witness);
  /// Collective. What all ranks wrote is in the file, and this rank's reader knows of it. Nothing
  /// if nobody wrote.
  std::optional<logged::MetadataBlock> flush();
  /// Local, after finish(): the file has this index now. A rank that has no memory for it goes on
  /// with what it knows.
  void adopt_index(const logged::MetadataBlock& index);
  /// Collective. Flushes and writes the index; nothing if the present one covers all.
  std::optional<logged::WrittenIndex> finish();
  /// Local. Reads as LogReader::read, with this rank's pending writes.
  bool read(const logged::DatasetShape& dataset, const Placed& wanted, std::span<std::byte> out);
  /// Collective. Nothing of the file is in them any more. Closes and removes all of them, also
  /// those of earlier jobs, and their folder; nothing can be written or read from subfiles
  /// afterwards.
  void remove_subfiles();
  /// Collective. fsync of what this rank has open.
  void sync();

  Report& report() { return report_; }
  const Comm& comm() const { return comm_; }
  const LoggedFileOptions& options() const { return options_; }

 private:
  std::optional<logged::Subfile> open_subfile();
  std::shared_ptr<ByteFile> open_to_read(std::uint32_t number);
  bool index_covers_all() const;

  Comm comm_;
  LoggedFileOptions options_;
  logged::BlockSpace* space_;
  Report report_;
  File file_;
  NodeMemory index_;                      // read by one rank of the node
  std::size_t indexed_ = 0;               // blocks that an index of this session covers
  std::unique_ptr<logged::Tails> tails_;  // null for a rank alone
  logged::LogReader reader_;
  std::optional<logged::LogWriter> writer_;
  std::shared_ptr<File> subfile_;
};

}  // namespace forebay
