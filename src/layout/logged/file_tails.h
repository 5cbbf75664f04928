// Tails in files, for ranks that cannot look into each other's memory: those of several nodes, and
// where the system forbids it. In a folder beside the log file:
//
//   shown     32 bytes a rank: what it shows, with a checksum. Ranks of a node have pages of their
//             own, for caches hold pages: so no node keeps what ranks of others have changed
//   N         the stream of rank N, made with its first write; N.data: the data of its writes
//
// A rank writes data, stream and then its 32 bytes, before its write call returns: what is shown is
// there. Until the flush it stays as it is; after one the files are used from their beginnings.
// Others read with plain reads: file systems whose caches do not agree by themselves (NFS, FUSE)
// are told to by fsync, and by opening anew.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/logged/tails.h"

namespace forebay::logged {

class FileTails : public Tails {
 public:
  /// Collective over `comm`. Makes the folder, where there is none (remove_left()).
  static std::unique_ptr<Tails> make(const Comm& comm, const Topology& topology,
                                     const std::string& folder, OpenFile open);
  /// Local. Removes what a killed job left: files with names of ours, and the folder if nothing
  /// else is in it.
  static void remove_left(const std::string& folder);
  /// Local. Removes this rank's files; the folder goes with the last.
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
  /// Of a node in the file of what all show.
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
  bool weak_ = false;  // caches of the file system do not agree by themselves
  std::shared_ptr<ByteFile> shown_, stream_, data_;  // this rank's; the last two once it writes
  std::vector<std::shared_ptr<ByteFile>> streams_, datas_;  // the others', opened when needed
  std::vector<std::byte> unwritten_;                        // the end of the stream
  Count written_ = 0;
  Offset end_;        // of the data
  Offset place_ = 0;  // of this rank's slot
  std::vector<Area> areas_;
};

}  // namespace forebay::logged
