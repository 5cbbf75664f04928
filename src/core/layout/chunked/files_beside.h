// Chunks may lie in data files (layout/data_files): if a directory is the file
// (container/directory), or if a ChunkPolicy puts them into several files. Then the index has a
// file of its own beside them (DIR/index, FILE.subfiles/index). The file of definitions ends like
// any classic file, and other variables may have records there.
//
// Either a group of ranks writes a data file, with what its ranks encoded; or one rank writes it,
// with the chunks that ChunkPolicy::share_out() assigns to it by their sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/extent.h"
#include "layout/chunked/coder.h"
#include "layout/classic_part.h"
#include "layout/data_files.h"
#include "storage/file.h"

namespace forebay::chunked {

std::string index_path(const std::string& path);

/// Local. Opens the index of a file for reading. Errc::enotnc if there is none with this id.
std::shared_ptr<File> open_index(const std::string& path, std::uint64_t id, Rank rank,
                                 Report& report, ClientCaches caches);

/// The data file of the last look-up. Consecutive chunks of one file open it, and ask for its size,
/// once.
struct LookedAt {
  std::uint32_t number = 0;  ///< as in entries
  std::shared_ptr<File> file;
  Offset size = 0;
};

/// Local. Checks whether a chunk can be read by its entry, like check_entry. If the file has data
/// files (`files`), also checks that the chunk lies in the box of its data file (`boxes` are the
/// variable's), and that this file is there and contains its bytes; `last` then
/// describes that file. Otherwise the chunk lies in the file of the index, within its first `end`
/// bytes.
void check_place(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, const FileBoxes& boxes, Offset end, data_files::Opened* files,
                 LookedAt& last);

class FilesBeside {
 public:
  /// Local. All of the site outlives the object.
  FilesBeside(const ClassicSite& site, std::uint64_t id);
  ~FilesBeside();
  FilesBeside(const FilesBeside&) = delete;
  FilesBeside& operator=(const FilesBeside&) = delete;

  /// Collective. Makes new, empty files, in place of stale ones of a failed or killed enddef.
  /// Errc::eexist if files of another file are there.
  void create();
  /// Collective. Returns the size of the index in bytes, valid on rank 0. Errc::enotnc as in the
  /// function open_index().
  Offset open_index();
  /// Collective, before data files are written to. The data files in use must be there.
  void open_to_write(std::span<const std::uint32_t> in_use);

  /// Returns whether a chunk's size decides its file. Otherwise the rank that owns it does.
  bool balanced() const { return !writers_.empty(); }
  /// Returns the rank that writes each file, if they are balanced.
  std::span<const Rank> writers() const { return writers_; }
  /// Returns the number in entries of a rank's data file, if they are not balanced.
  std::uint32_t file_of(Rank owner) const { return group_->of(owner) + 1; }
  bool writes() const { return group_ && group_->file; }  ///< this rank has a data file to write
  ExtentIo& io() { return *group_->io; }                  ///< of this rank's data file
  Offset index_size() { return index_->size(); }          ///< local; valid likewise
  ExtentIo& index_io() { return *index_io_; }             ///< valid once the index is made or open
  data_files::Opened& to_read() { return to_read_; }

  // -- the end (compact.cc). There may be data files of more groups than there are now. One of the
  // present groups takes over each of them, also for sync().

  /// Returns how many ranks move chunks within a data file; the same on all ranks.
  int ranks_that_move(std::uint32_t number) const;
  /// Returns whether this rank makes the `turn`-th move within a data file.
  bool moves(std::uint32_t number, int turn) const;
  /// Local. Opens a data file to read and write. It stays open until the next call for another
  /// file, or moved().
  ByteFile& to_move(std::uint32_t number);
  void moved();  ///< local: moves become visible after the next collective step
  /// Local. Cuts files after their last byte in use, each on one rank. The index ends at
  /// `end_of_index`. Files in use and files of a group end at `end_of`, others after their front.
  void cut(std::span<const std::uint32_t> in_use, Offset end_of_index,
           const std::function<Offset(std::uint32_t number)>& end_of) noexcept;

  /// Local. Brings what was written to the device, by earlier jobs too: this rank's data file, data
  /// files in use of groups that no longer exist, and the index.
  void sync(std::span<const std::uint32_t> in_use);
  void sync_index() { index_->sync(); }  ///< local
  void meet();                           ///< as ApartPart::meet()
  void release();                        ///< collective
  void close();                          ///< as ApartPart::close()

 private:
  struct Group : data_files::Group {
    std::shared_ptr<File> file;  // none: another rank writes this rank's chunks
    std::unique_ptr<ExtentIo> io;
  };
  std::shared_ptr<File> make_file(const std::string& path) const;
  void expect(File& file, std::uint32_t number) const;
  // MPI-IO transports open their files when they are constructed. So they are made only after the
  // reduction that confirms the files.
  void make_index_io();
  void make_group();
  Group balanced_group();
  void make_group_io();
  bool makes_its_file() const { return writes() && group_->ranks.is_root(); }
  bool is_of_group(std::uint32_t number) const {
    return writes() && number % group_->groups == group_->number;
  }
  void cut_other(std::uint32_t number, Offset end) noexcept;

  ClassicSite site_;
  std::uint64_t id_;
  std::shared_ptr<File> index_;
  std::unique_ptr<ExtentIo> index_io_;
  std::optional<Group> group_;  // present when writing
  std::vector<Rank> writers_;
  std::map<std::uint32_t, std::shared_ptr<File>> others_;  // opened by to_move()
  std::uint32_t other_ = 0;                                // the last one of these
  data_files::Opened to_read_;
  bool names_synced_ = false;
  PathSync path_sync_;
};

/// See ClassicPartEntry.
bool has_files_beside(const std::string& path) noexcept;
void remove_files_beside(const std::string& path, const Schema* header) noexcept;

}  // namespace forebay::chunked
