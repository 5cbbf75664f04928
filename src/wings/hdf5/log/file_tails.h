// Tails in files, for ranks that cannot read each other's memory: ranks of several nodes, or where
// the system forbids it. A folder beside the log file has
//
//   shown     32 bytes for each rank: what it shows, with a checksum. Caches hold whole pages, so
//             the ranks of a node have pages of their own, which other nodes' ranks never change.
//   N         the stream of rank N, made with its first write; N.data: the data of its writes
//
// A rank writes data, then stream, then its 32 bytes, before its write call returns. So what is
// shown is in the files. It stays there unchanged until the next flush. After a flush the files are
// reused from their beginnings. Other ranks use plain reads. On file systems without coherent
// caches (NFS, FUSE), writers call fsync, and readers open the files anew.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hdf5/log/tails.h"

namespace forebay::logged {

class FileTails : public Tails {
 public:
  /// Collective over `comm`. Makes the folder if it does not exist.
  static std::unique_ptr<Tails> make(const Comm& comm, const Topology& topology,
                                     const std::string& folder, OpenFile open);
  /// Local. Removes the files of a killed job that have names as above, and the folder if nothing
  /// else is in it.
  static void remove_left(const std::string& folder);
  /// Local. Removes this rank's files. The last rank removes the folder.
  ~FileTails() override;

  bool copies() const override { return true; }
  void append(std::uint32_t kind, std::span<const std::byte> payload) override;
  std::uint64_t address_of(const PendingData& data, Offset position, Count bytes) override;
  void read_stream(int rank, Offset position, std::span<std::byte> into) override;
  void read_data(int rank, Offset position, std::uint64_t address,
                 std::span<std::byte> into) override;

 private:
  struct Slot {
    std::uint64_t generation = 0, bytes = 0, turn = 0, check = 0;
  };
  static std::uint64_t check_of(const Slot& slot);
  /// The slots of one node's ranks, or of some of them, in the file `shown`.
  struct Area {
    Offset begin;
    std::vector<int> ranks;  // in order; a slot for each
  };

  FileTails(const Comm& comm, std::string folder, OpenFile open);
  Count stream_bytes() const override { return written_ + static_cast<Count>(unwritten_.size()); }
  void show(const Shown& mine, Count saved) override;
  void look(std::span<Shown> shown) override;
  void look(const Area& area, std::span<Slot> slots);
  void clear() override;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void make_files();
  void settle(ByteFile& file);
  ByteFile& theirs(std::vector<std::shared_ptr<ByteFile>>& files, int rank,
                   const std::string& suffix);

  std::string folder_;
  std::string shown_path_;
  OpenFile open_;
  bool weak_ = false;                                // the file system has no coherent caches
  std::shared_ptr<ByteFile> shown_, stream_, data_;  // of this rank
  std::vector<std::shared_ptr<ByteFile>> streams_, datas_;  // of other ranks, opened on use
  std::vector<std::byte> unwritten_;                        // end of the stream
  Count written_ = 0;
  Offset end_;        // of the data
  Offset place_ = 0;  // of this rank's slot
  std::vector<Area> areas_;
};

}  // namespace forebay::logged
