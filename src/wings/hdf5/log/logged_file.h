// A file in the log layout, for a front end: writer, reader, subfiles. The front end stores the
// names and shapes of datasets and the blocks of the log, in its own file format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/report.h"
#include "comm/comm.h"
#include "comm/node_memory.h"
#include "hdf5/format/log_undo.h"
#include "hdf5/log/dealt_index.h"
#include "hdf5/log/index_writer.h"
#include "hdf5/log/log_reader.h"
#include "hdf5/log/log_writer.h"
#include "method/method.h"
#include "storage/file.h"

namespace forebay {

struct LoggedFileOptions {
  std::string path;
  bool writable = false;
  std::uint64_t session = 0;  ///< random; subfiles of this file carry it too
  Method method = {};         ///< buffer_limit, log_memory, subfiles, ranks_per_node
};

/// Returns the path of a subfile: <master>.subfiles/<number>.
std::string subfile_path(const std::string& master, std::uint32_t number);

class LoggedFile {
 public:
  /// Local. Opens nothing yet. `space` must outlive the file. It is used for writing only.
  LoggedFile(const Comm& comm, LoggedFileOptions options, logged::BlockSpace* space);
  ~LoggedFile();

  /// Collective. Opens the index that the front end found in the file. If it fits into log_memory,
  /// one rank of each node reads it into shared memory. Otherwise ranks read pages of it, and
  /// index_is_dealt(). Errc::ebadlog, etrunc.
  void open_index(const logged::MetadataBlock& index);
  /// Local. Add the blocks that the front end found, in the order of flushes; set the index of
  /// finish().
  void add_block(const logged::MetadataBlock& block) { reader_.add_block(block); }
  void set_index(const logged::MetadataBlock& index) {
    reader_.set_index(index.place, index.bytes);
  }

  /// Collective. Makes or opens subfiles. writer() may be used afterwards. Errors are the system's.
  void start_writing();
  bool writing() const { return writer_.has_value(); }
  /// Returns whether data that waits for a flush is copied so that other ranks can read it.
  bool copies_pending() const { return tails_ && tails_->copies(); }
  logged::LogWriter& writer() { return *writer_; }
  logged::LogReader& reader() { return reader_; }

  /// Local. Opens the file, so that it and its folder may be renamed afterwards.
  void ensure_open() { file_.ensure_open(); }
  /// Local. Writes bytes of this file that belong neither to HDF5 nor to a block.
  void put(Offset place, std::span<const std::byte> bytes) { file_.write_at(place, bytes); }
  /// Collective. Writes all ranks' pending writes to the file, and adds the block to this rank's
  /// reader. Returns nothing if no rank had written.
  std::optional<logged::MetadataBlock> flush();
  /// Local. Call after finish(), when the file has this index. A rank without memory for it
  /// continues with what it knows.
  void adopt_index(const logged::MetadataBlock& index);
  /// Collective. Flushes and writes the index. Returns nothing if the present index covers all.
  std::optional<logged::WrittenIndex> finish();
  /// Returns whether collective reads look into the index together (find_together); the same on all
  /// ranks.
  bool index_is_dealt() const { return index_is_dealt_; }
  /// Collective. See hdf5/log/dealt_index.h.
  std::vector<std::vector<logged::NumberedEntry>> find_together(
      std::span<const logged::WantedEntries> wanted) {
    return logged::find_together(comm_, reader_, wanted, options_.method.log_memory);
  }
  /// Local. Reads like LogReader::read, with this rank's pending writes.
  bool read(const logged::DatasetShape& dataset, const Placed& wanted, std::span<std::byte> out,
            std::vector<logged::NumberedEntry>* indexed = nullptr);
  /// Collective. Renames the subfiles if the file was renamed while it was open.
  void follow_rename();
  /// Collective. Calls fsync on what this rank has open.
  void sync();

  Report& report() { return report_; }
  const Comm& comm() const { return comm_; }
  const LoggedFileOptions& options() const { return options_; }

 private:
  std::string place_of_subfiles();
  std::optional<logged::Subfile> open_subfile();
  std::shared_ptr<ByteFile> open_to_read(std::uint32_t number);
  bool index_covers_all() const;

  Comm comm_;
  LoggedFileOptions options_;
  logged::BlockSpace* space_;
  Report report_;
  File file_;
  NodeMemory index_;  // one rank of the node reads it
  bool index_is_dealt_ = false;
  std::size_t indexed_ = 0;               // blocks covered by an index of this session
  std::unique_ptr<logged::Tails> tails_;  // null if there is one rank
  logged::LogReader reader_;
  std::optional<logged::LogWriter> writer_;
  std::shared_ptr<File> subfile_;
};

}  // namespace forebay
