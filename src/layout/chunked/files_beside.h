// Where a directory is the file (container/directory), and where patches are to lie in several:
// chunks are in data files (layout/data_files), and the index is in a file of its own beside them
// (DIR/index, FILE.subfiles/index). The file of definitions then ends as any classic file does, and
// other variables may have records there.
//
// A data file is written by a group of ranks, what its ranks encoded; or by one rank, what sizes
// make go there (plan/balanced_files.h).
#pragma once

#include <cstdint>
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

/// Local. The index of a file, for reading. Errc::enotnc where there is none of this id.
std::shared_ptr<File> open_index(const std::string& path, std::uint64_t id, Rank rank,
                                 Report& report, ClientCaches caches);

/// The data file that was looked at last. Chunks of a file should follow each other: it is opened,
/// and asked for its size, once then.
struct LookedAt {
  std::uint32_t number = 0;  ///< as entries have it
  std::shared_ptr<File> file;
  Offset size = 0;
};

/// Local. Looks whether a chunk's entry may be read: as check_entry, and where the file has data
/// files (`files`) whether its own is there and its chunk within; `last` is that then. Else the
/// chunk lies in the file of the index, of which entries may tell of `end` bytes.
void check_place(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, Offset end, data_files::Opened* files, LookedAt& last);

class FilesBeside {
 public:
  /// Local; all of the site outlives it.
  FilesBeside(const ClassicSite& site, std::uint64_t id);
  ~FilesBeside();
  FilesBeside(const FilesBeside&) = delete;
  FilesBeside& operator=(const FilesBeside&) = delete;

  /// Collective. New, empty files, in place of what an enddef left that failed, or was killed.
  /// Errc::eexist where others' are there.
  void create();
  /// Collective. Returns the bytes of the index, which hold on rank 0. Errc::enotnc as
  /// open_index().
  Offset open_index();
  /// Collective, before anything is written to data files, of which those in use must be there.
  void open_to_write(std::span<const std::uint32_t> in_use);

  /// Whether a chunk's size says which file it goes to, else its owner does.
  bool balanced() const { return !writers_.empty(); }
  /// The rank that writes each file, where they are balanced.
  std::span<const Rank> writers() const { return writers_; }
  /// How entries name the data file of a rank, where they are not.
  std::uint32_t file_of(Rank owner) const { return group_->of(owner) + 1; }
  bool writes() const { return group_ && group_->file; }  ///< this rank has a data file to write
  ExtentIo& io() { return *group_->io; }                  ///< of that
  ExtentIo& index_io() { return *index_io_; }             ///< once it is made or open
  data_files::Opened& to_read() { return to_read_; }

  /// Local. What was written is on the device, also by earlier jobs: in this rank's data file, in
  /// those in use that no group is left for, in the index.
  void sync(std::span<const std::uint32_t> in_use);
  void sync_index() { index_->sync(); }  ///< local
  void meet();                           ///< as ApartPart::meet()
  void release();                        ///< collective
  void close();                          ///< as ApartPart::close()

 private:
  struct Group : data_files::Group {
    std::shared_ptr<File> file;  // none: another rank writes what this one encodes
    std::unique_ptr<ExtentIo> io;
  };
  std::shared_ptr<File> make_file(const std::string& path) const;
  // Transports open their files when they are made, if they are MPI-IO's: behind the meeting that
  // says that these are there.
  void make_index_io();
  void make_group();
  Group balanced_group();
  void make_group_io();
  bool makes_its_file() const { return writes() && group_->ranks.is_root(); }

  ClassicSite site_;
  std::uint64_t id_;
  std::shared_ptr<File> index_;
  std::unique_ptr<ExtentIo> index_io_;
  std::optional<Group> group_;  // of who writes
  std::vector<Rank> writers_;
  data_files::Opened to_read_;
  bool names_synced_ = false;
};

/// As ClassicPartEntry has them.
bool has_files_beside(const std::string& path) noexcept;
void remove_files_beside(const std::string& path, const Schema* header) noexcept;

}  // namespace forebay::chunked
