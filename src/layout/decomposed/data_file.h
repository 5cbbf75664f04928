// Data files, without ranks: reading what a file's sections tell, and adding a write to it.
//
//   DataFileReader   any process: the index of a file as of a commit, brought up to date when asked
//   DataFileWriter   one process of the group that the file belongs to: space, sections, roots
//
// What a crash leaves: slabs and sections go to space that neither the last commit nor the last
// synced one uses; a root becomes visible by one write within a sector, and counts once the state
// (state_file.h) names its epoch. A root of an attempt that failed is wiped out before another
// commit comes, but not before it is known that no state names it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_file.h"
#include "base/types.h"
#include "format/decomposed.h"
#include "layout/data_files.h"
#include "layout/decomposed/file_index.h"
#include "plan/file_space.h"

namespace forebay::decomposed {

using data_files::data_path, data_files::folder_advice, data_files::folder_of;
std::string state_path(const std::string& path);
/// Commits up to this one are of definitions alone.
constexpr std::uint64_t definitions_epoch = 1;
/// Local. The data files that are there, of those with numbers below `files`, in order.
std::vector<std::uint32_t> data_files_of(const std::string& path, std::uint32_t files);
/// Local. Whether there is a state beside a file.
bool has_data_files(const std::string& path) noexcept;
/// Local. Whether they may hold values of variables: not if no more was committed than that the
/// folder was made.
bool may_have_values(const std::string& path) noexcept;
/// Local. Errc::enoent if there is none.
void require_data_files(const std::string& path);
/// Local. Removes what lies beside a file that is gone, as far as it can; nothing where there is no
/// state, or it is of a file with another id (where both are known).
void remove_data_files(const std::string& path, std::optional<std::uint64_t> id) noexcept;

struct FoundRoot {
  Root root;
  int slot = 0;
};

struct SectionPlace {
  Offset offset = 0;
  Count bytes = 0;
  std::uint64_t epoch = 0;
};

/// Errc::enotnc, beginning with the file's path, for a file that is not this one, or damaged;
/// whatever the file says, no more memory is taken than the file is long.
class DataFileReader {
 public:
  DataFileReader(std::shared_ptr<ByteFile> file, Front front)
      : file_(std::move(file)), front_(front) {}

  /// Local. The index is as of the newest root that is not later than `epoch`.
  void load(std::uint64_t epoch);
  const FileIndex& index() const { return index_; }
  ByteFile& file() const { return *file_; }

  const std::vector<SectionPlace>& sections() const { return sections_; }  ///< the oldest first
  const std::vector<FoundRoot>& roots() const { return roots_; }           ///< all that there are
  const std::optional<FoundRoot>& root() const { return root_; }           ///< the one that counts
  std::vector<int> later_slots() const;  ///< of roots that are later

 private:
  std::vector<std::byte> read(Offset offset, Count bytes, const char* what) const;
  void find_roots();
  void follow(const Root& root, Offset size);

  std::shared_ptr<ByteFile> file_;
  Front front_;
  FileIndex index_;
  std::vector<SectionPlace> sections_;
  std::vector<FoundRoot> roots_;
  std::optional<FoundRoot> root_;
  std::uint64_t epoch_ = 0;  // that was asked for
};

/// The roots that were found, of all data files.
struct RootsFound {
  RootSums sums;
  std::int64_t later = 0;  ///< files that have roots of no commit

  void add(const DataFileReader& file, std::uint32_t number);
};

/// As meetings sum them up over ranks, without an overflow; and back.
std::array<std::int64_t, 4> to_halves(const RootSums& sums);
RootSums from_halves(std::span<const std::int64_t, 4> halves);

/// Local. Errc::enotnc naming the file if they are not those that the state, of the file `path`,
/// was written with; `damaged_slot`: of the state.
void check_roots(const std::string& path, const State& state, bool damaged_slot,
                 const RootsFound& found);

/// Local. Writes zeros over roots.
void wipe(ByteFile& file, std::span<const int> slots);

class DataFileWriter {
 public:
  DataFileWriter(std::shared_ptr<ByteFile> file, Front front)
      : file_(std::move(file)), front_(front) {}

  /// Local. An empty file, which exists already, becomes a data file without slabs.
  void create();
  /// Local. Goes on after the root of `epoch`; `synced`: the one whose slabs stay, 0: none. Writes
  /// nothing: later roots are wiped out by the next write(). Adds to `found`.
  void open(std::uint64_t epoch, std::uint64_t synced, RootsFound& found);

  // -- one write. What begins here ends with committed() or dropped().

  Offset allocate(Count bytes);
  /// The number of a map of (rank, pattern) pairs, by rank. A pattern that is new needs its bytes
  /// before write().
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
  /// Section, then root; nothing where there is nothing new, but in data file 0, so that every
  /// commit leaves a root. What lies in the slabs has been written before.
  void write(std::uint64_t epoch);
  RootSums change() const;  ///< of the sums, by what was written
  void committed();
  void dropped();
  /// Local. Section and root count as never written, and write() may be called again.
  void unwritten();

  // Several operations may become one write, each with an epoch of its own, so that it is known in
  // which order they came. What one of them added can be taken back, while bytes of its slabs may
  // still be on their way: their space stays taken until the write ends.

  struct Mark {
    std::size_t entries = 0, patterns = 0, maps = 0, taken = 0;
  };
  Mark mark() const;
  void date(const Mark& since, std::uint64_t epoch);
  void back_to(const Mark& mark);
  /// The last commit is on the device.
  void synced();

  const FileIndex& index() const { return index_; }
  Count end() const { return space_.end(); }

  /// So many sections are replaced by one that tells all.
  static constexpr std::size_t most_sections = 64;

 private:
  struct Range {
    Offset offset;
    Count bytes;
    std::uint64_t epoch;  ///< that it belongs to
  };
  void retire(const Range& range);
  void free_orphans();
  int free_slot() const;
  std::uint32_t number_of_pattern(const Key& key, Count elements);
  void begin_draft();

  std::shared_ptr<ByteFile> file_;
  Front front_;
  FileIndex index_;
  FileSpace space_;
  std::vector<SectionPlace> sections_;
  int slot_ = -1, synced_slot_ = -1;  // of the last commit's root, and of the synced one's
  std::optional<Root> root_;          // the last commit's
  std::uint64_t synced_epoch_ = 0, epoch_ = 0;
  std::vector<Range> until_synced_;

  // Of the write at hand.
  Section draft_;
  std::map<Key, std::size_t> new_patterns_;
  std::map<Map, std::uint32_t> new_maps_;
  std::vector<Range> taken_;
  std::vector<Range> orphans_;               // of operations that were taken back
  std::optional<std::size_t> taken_before_;  // of taken_ before the section was written
  SectionPlace written_;                     // the section; no bytes: none
  bool whole_ = false;
  int written_slot_ = -1;
  std::vector<int> stale_;  // slots with roots that no commit followed
};

}  // namespace forebay::decomposed
