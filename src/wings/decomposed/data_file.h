// Data files as one process sees them: reading what the sections of a file contain, and adding a
// write to it.
//
//   DataFileReader   any process: the index of a file as of a commit, brought up to date when asked
//   DataFileWriter   one process of the group that the file belongs to: space, sections, roots
//
// After a crash the old commit or the new one is there. Slabs and sections go to space that neither
// the last commit nor the last synced one uses. A root becomes visible by one write within a
// sector, and counts once the state (state_file.h) contains its epoch. A root of a failed attempt
// is wiped out before the next commit, but not before it is known that no state contains it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "base/types.h"
#include "decomposed/file_index.h"
#include "decomposed/format/decomposed_files.h"
#include "layout/compact_file.h"
#include "layout/data_files.h"
#include "plan/compaction.h"
#include "plan/file_space.h"

namespace forebay::decomposed {

using data_files::data_path, data_files::folder_advice, data_files::folder_of;
std::string state_path(const std::string& path);
/// Commits up to this one contain definitions alone.
constexpr std::uint64_t definitions_epoch = 1;
/// Local. Returns the numbers of the existing data files, of those below `files`, in order.
std::vector<std::uint32_t> data_files_of(const std::string& path, std::uint32_t files);
/// Local. Returns whether there is a state beside a file.
bool has_data_files(const std::string& path) noexcept;
/// Local. Returns whether the data files may hold values of variables. They hold none if only
/// definitions were committed.
bool may_have_values(const std::string& path) noexcept;
/// Local. Errc::enoent if there is no state beside a file.
void require_data_files(const std::string& path);
/// Local. Removes as many as possible of the files that lie beside a removed file. Does nothing if
/// there is no state, or if the state is of a file with another id (if both ids are known).
void remove_data_files(const std::string& path, std::optional<std::uint64_t> id) noexcept;

struct SectionPlace {
  Offset offset = 0;
  Count bytes = 0;
  std::uint64_t epoch = 0;
  /// One past the last byte that the section refers to. A reader requires that the file is as long,
  /// though later sections may have replaced what lay there.
  Offset reach = 0;
};

/// Errc::enotnc, beginning with the file's path, for a file that is damaged or not the expected
/// one. Memory is bounded by the file's length, whatever the file says.
class DataFileReader {
 public:
  DataFileReader(std::shared_ptr<ByteFile> file, Front front)
      : file_(std::move(file)), front_(front) {}

  /// Local. Reads the index as of the newest root that is not later than `epoch`.
  void load(std::uint64_t epoch);
  const FileIndex& index() const { return index_; }
  ByteFile& file() const { return *file_; }

  const std::vector<SectionPlace>& sections() const { return sections_; }  ///< oldest first
  const std::optional<Root>& root() const { return root_; }                ///< the current one
  int slot() const { return slot_; }                                       ///< of root(); -1: none
  std::vector<int> later_slots() const;                                    ///< slots of later roots

 private:
  std::vector<std::byte> read(Offset offset, Count bytes, const char* what) const;
  void follow(const Root& root, Offset size);

  std::shared_ptr<ByteFile> file_;
  Front front_;
  FileIndex index_;
  std::vector<SectionPlace> sections_;
  store::Slots<Root> roots_;
  int slot_ = -1;
  std::optional<Root> root_;
  std::uint64_t epoch_ = 0;  // as passed to load()
};

/// The roots found in all data files.
struct RootsFound {
  RootSums sums;
  std::int64_t later = 0;  ///< number of files with roots that belong to no commit

  void add(const DataFileReader& file, std::uint32_t number);
};

/// These split sums into halves, which a reduction adds without an overflow, and join them again.
std::array<std::int64_t, 4> to_halves(const RootSums& sums);
RootSums from_halves(std::span<const std::int64_t, 4> halves);

/// Local. Compares the roots found with those that the state of the file `path` was written with.
/// Errc::enotnc, with the file's name, if they differ. `damaged_slot`: the state has a damaged
/// slot.
void check_roots(const std::string& path, const State& state, bool damaged_slot,
                 const RootsFound& found);

/// Local. Writes zeros over roots in the given slots.
void wipe(ByteFile& file, std::span<const int> slots);

class DataFileWriter {
 public:
  DataFileWriter(std::shared_ptr<ByteFile> file, Front front)
      : file_(std::move(file)), front_(front) {}

  /// Local. Makes an empty file, which exists already, a data file without slabs.
  void create();
  /// Local. Continues after the root of `epoch`. `synced` is the epoch whose slabs stay; 0: none.
  /// Writes nothing; the next write() wipes out later roots. Adds the root to `found`.
  void open(std::uint64_t epoch, std::uint64_t synced, RootsFound& found);

  // -- one write. Each write ends with committed() or dropped().

  Offset allocate(Count bytes);
  /// Returns the number of a map of (rank, pattern) pairs, by rank. The bytes of a new pattern must
  /// be given before write().
  struct MapMember {
    std::uint32_t rank;
    Key pattern;
    Count elements;
  };
  std::uint32_t number_of(std::span<const MapMember> members);
  bool wants(const Key& pattern) const;
  void give(const Key& pattern, std::vector<std::byte> packed);
  void add(const Entry& entry) { draft_.entries.push_back(entry); }
  void add(StoredInverse inverse) { draft_.inverses.push_back(std::move(inverse)); }
  /// Writes the section and the root. Writes nothing if nothing is new, except in data file 0,
  /// where every commit leaves a root. The contents of the slabs have been written before.
  void write(std::uint64_t epoch);
  RootSums change() const;  ///< of the sums, by this write
  void committed();
  void dropped();
  /// Local. Undoes the effect of section and root. write() may be called again.
  void unwritten();

  // Several operations may become one write. Each has an epoch of its own, so that their order is
  // known. What one of them added can be taken back, even while bytes of its slabs are still being
  // written. Their space stays allocated until the write ends.

  struct Mark {
    std::size_t entries = 0, patterns = 0, maps = 0, taken = 0;
  };
  Mark mark() const;
  void date(const Mark& since, std::uint64_t epoch);
  void back_to(const Mark& mark);
  /// Notes that the last commit is on the device.
  void synced();

  // -- compaction. The last bytes in use move to space that rewriting has freed
  // (plan/compaction.h), and the file is cut after its last byte in use.

  /// Local. Returns whether compaction may pay.
  bool is_sparse() const;
  /// Local, when nothing waits for a write. Returns moves of `most` bytes in total, each of at most
  /// `piece` bytes, except for encoded parts. The next write records the new places in a section
  /// that contains everything. What the last synced commit may use stays. Errc::enotnc if an
  /// inverse map to be moved is damaged.
  std::vector<BytesToMove> make_moves(Count most, Count piece);
  bool has_moves() const { return moves_; }
  /// Local. The next write puts everything in one section, wherever there is room for it.
  void renew() { renews_ = true; }
  /// Local. Returns whether the file may be longer than necessary.
  bool is_too_long() const { return reach_ > least_size(); }
  /// Local, when the last commit is known to count. Cuts the file.
  void cut() noexcept;

  const FileIndex& index() const { return index_; }
  Count end() const { return space_.end(); }

  /// When there are so many sections, one that contains everything replaces them.
  static constexpr std::size_t most_sections = 64;

 private:
  struct Range {
    Offset offset;
    Count bytes;
    std::uint64_t epoch;  ///< the epoch that it belongs to
  };
  /// Bytes of the file in use, and what they are: part `at` of a slab, or block `at` of an inverse
  /// map.
  struct InUse {
    std::vector<BytesInUse> bytes;
    struct What {
      const Entry* slab;
      const StoredInverse* inverse;
      std::size_t at;
    };
    std::vector<What> what;
  };
  InUse in_use() const;
  Offset least_size() const;
  void move_inverse(StoredInverse moved, const StoredInverse& from);
  std::set<Offset> places_of_draft() const;
  void retire(const Range& range);
  void free_orphans();
  std::uint32_t number_of_pattern(const Key& key, Count elements);
  void begin_draft();

  std::shared_ptr<ByteFile> file_;
  Front front_;
  FileIndex index_;
  FileSpace space_;
  std::vector<SectionPlace> sections_;
  int slot_ = -1, synced_slot_ = -1;  // of the last commit's root, and of the synced one's
  std::optional<Root> root_;          // of the last commit
  std::uint64_t synced_epoch_ = 0, epoch_ = 0;
  std::vector<Range> until_synced_;
  Offset reach_ = 0;         // the file has no byte after it
  Offset synced_reach_ = 0;  // of the synced commit's sections

  // The current write.
  Section draft_;
  std::map<Key, std::size_t> new_patterns_;
  std::map<Map, std::uint32_t> new_maps_;
  std::vector<Range> taken_;
  std::vector<Range> orphans_;               // of operations that were taken back
  std::optional<std::size_t> taken_before_;  // size of taken_ before the section was written
  SectionPlace written_;                     // the section; no bytes: none
  bool moves_ = false, renews_ = false;
  bool whole_ = false;
  int written_slot_ = -1;
  std::vector<int> stale_;  // slots of roots that no commit followed
};

}  // namespace forebay::decomposed
