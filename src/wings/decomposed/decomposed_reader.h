// Reader: reads values of decomposed variables, as of a commit, in one process.
//
// A read is cut by record. For each record the indexes of the data files say which slabs there are.
// Each slab's map says where the wanted elements lie in it:
//
//     plan      for a map and a selection: which elements of a slab are which elements of the
//               selection. It is made once, for any variable and record; for one level of the
//               selection, if all levels are alike.
//     piece     the same for one slab, in bytes of its file, or of its elements if it is encoded
//
// A selection that equals the pattern of a rank, in all of its runs, is one piece. So a restart on
// the same ranks reads its blobs directly. Any other selection is looked up in the pages of the
// map's inverse (inverse_reader.h). If there is none, or it is damaged, the selection is
// intersected with the ranks' patterns. If slabs overlap, the latest write of each element stays.
// Older slabs that newer ones cover completely are not read.
//
// Memory: a selection with more pieces than `index_memory` allows is halved repeatedly. The options
// limit how many data files are open, and how many indexes are held; at least one.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/error.h"
#include "base/extent.h"
#include "base/report.h"
#include "decomposed/data_file.h"
#include "decomposed/inverse_reader.h"
#include "decomposed/part_reader.h"
#include "decomposed/pieces.h"
#include "decomposed/plan.h"
#include "decomposed/selected.h"
#include "decomposed/state_file.h"
#include "layout/packed_pattern.h"
#include "storage/file.h"
#include "storage/open_files.h"

namespace forebay::decomposed {

struct ReaderOptions {
  Count index_memory = 64 << 20;
  Count hole_threshold = 64 << 10;
  std::size_t most_files = most_open_files();
  Count thread_bytes = 1 << 20;  ///< bytes of slow calls that justify a thread
  bool in_bulk = false;          ///< read as if calls were found to be slow
  ClientCaches caches = ClientCaches::coherent;
  PartReaderOptions parts = {};
  File* main = nullptr;  ///< the file of the variables, if this process has it open
};

/// One record of a request.
struct Wanted {
  const Request* request;
  Part part;
};

/// Reads extents of a file.
using ReadExtents = void (*)(ByteFile& file, ExtentStream& extents, Count hole_threshold,
                             Report& report);

class Reader {
 public:
  /// All references must outlive the reader. `path` is that of the classic file.
  Reader(const Schema& schema, std::string path, ReadExtents read, ReaderOptions options, Rank rank,
         Report& report);

  /// Local. Sets the commit for the next reads. `damaged_slot` says that the state file has a
  /// damaged slot, so that a later commit may have existed.
  void use(const State& state, bool damaged_slot = false);
  const State& state() const { return state_; }
  /// Local. Sets the number of threads that decode.
  void use_threads(int threads) { parts_.use_threads(threads); }
  /// Local, once, on a rank that may write the files. Like data_files::leave_data_files().
  void leave() noexcept;
  /// Local. Forgets what is known of the files, and opens them anew.
  void forget();
  /// Local. Errc::enotnc if all data files have been opened, but the roots are not the commit's.
  void check_roots() const;
  void check_roots(const RootsFound& of_all_files) const;

  /// Local. Reads parts of requests into their memory, with fill values where nothing was written.
  /// Errc::enotnc with the names of variable and data file for damage.
  void read(std::span<const Wanted> wanted);

  // The steps of a read, for DistributedIndex (distributed_index.h), which asks other ranks. All
  // are local.

  /// Appends the slabs that one data file has of a record of a variable.
  void add_slabs(std::uint32_t file, VarId var, Count record, std::vector<Slab>& slabs);
  /// Makes the plan for map number `map` of a data file. Errc::enotnc if its identity is no longer
  /// `key`. Returns null for more than `most` pieces, unless the target is one element.
  std::shared_ptr<const Plan> make_plan(std::uint32_t file, std::uint32_t map, const Key& key,
                                        const std::shared_ptr<const Selected>& target,
                                        std::size_t most);
  PlanCache& plans() { return plans_; }
  /// The limit for one plan.
  std::size_t most_pieces() const;
  /// Delays the reads of read_by() until carry_out(), which goes data file by data file. So an
  /// index that is needed to sort parts is loaded once, and on slow storage neighbours of all
  /// variables are read together. Requests must outlive it.
  class Batch {
   public:
    explicit Batch(Reader& reader) : reader_(reader) { reader_.late_pieces_ = 0; }
    ~Batch() { reader_.late_.clear(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void carry_out() { reader_.read_late(); }

   private:
    Reader& reader_;
  };
  /// Within a batch. Reads a part by all of its slabs, newest first. Errors name the variable.
  /// Returns false, without reading, if there are too many pieces; the part must be halved.
  using PlanOf = std::function<std::shared_ptr<const Plan>(const Slab& slab)>;
  bool read_by(const Request& request, const Part& part, std::span<const Slab> slabs,
               const PlanOf& plan_of);
  /// Returns the roots of one data file.
  RootsFound roots_of(std::uint32_t file);
  /// Local. Calls f(), which reads, while another job may write the file, and its commits may free
  /// what f() reads. Repeats until the commit that f() read is still the newest one (or, with
  /// `which`, the last synced one).
  void as_of_newest(OpenState which, const std::function<void()>& f);
  static constexpr int most_times = 20;  ///< as_of_newest() fails after so many
  /// Local. Returns what the state file says now.
  struct Newest {
    State state;
    bool damaged_slot;
  };
  Newest newest(OpenState which);
  [[noreturn]] void throw_written_too_often() const;

  /// Local. Returns the index of data file `number`, as of the commit. For reports and checks.
  const FileIndex& index(std::uint32_t number);
  /// Returns the bytes of the sections of its index, and of inverse maps.
  Count metadata_bytes(std::uint32_t number);
  /// Local. Returns the pattern of a rank, after checking it.
  Pattern pattern(std::uint32_t file, std::uint32_t number);
  /// Local. Reads a map's whole inverse, if there is one. Errc::enotnc for damage.
  void check_inverse(std::uint32_t file, std::uint32_t map);
  /// Local. Returns the slabs of one record of a variable, newest first.
  std::vector<Slab> slabs_of(VarId var, Count record);
  /// Local. Reads bytes of a slab from `from` on. Elements of `swap` bytes become native.
  void read_values(const Slab& slab, const Variable& var, Offset from, std::span<std::byte> out,
                   int swap);
  /// Local. Compares the checksums of all parts of a data file's slabs. With `decode`, also decodes
  /// parts of known variables. Calls tell(slab, part, error) for each part.
  /// there are, decodes them, too. Calls tell(slab, part, what is wrong) for each.
  using TellOfPart =
      std::function<void(const Entry&, const StoredPart&, const std::optional<Error>&)>;
  void check_parts(std::uint32_t file, bool decode, const TellOfPart& tell);
  /// Returns how many plans were made. Other reads found theirs in the cache.
  std::int64_t plans_made() const { return plans_made_; }
  /// Returns how often an index of a data file was loaded.
  std::int64_t indexes_loaded() const { return indexes_loaded_; }
  /// Returns the largest memory of slabs that read() held at one time.
  Count most_slab_memory() const { return most_slab_memory_; }
  /// Returns how many pages of inverse maps were read.
  std::int64_t pages_read() const { return inverses_.pages_read(); }

 private:
  struct Opened {
    std::uint32_t number;
    std::shared_ptr<File> file;
    DataFileReader reader;
    std::optional<std::uint64_t> seen, loaded;  // epochs: of the last use, of the index
  };
  struct Destination {
    const Request& request;
    const Variable& var;
    Count memory;  // elements before the first one

    std::byte* at(Count element) const {
      return request.packed + (memory + element) * request.element_size;
    }
  };
  class PieceStream;
  class ManyPieces;
  class Uses;
  /// A delayed read: of one slab, or of several without a codec.
  struct Late {
    std::uint32_t file;
    Offset begin;  // places count in units of `unit` bytes from here on
    Count unit;
    std::shared_ptr<const void> owner;  // of the pieces
    std::span<const Piece> pieces;
    Levels levels;
    std::optional<Slab> encoded;
    const Request* request;
    Part part;
  };

  bool close_one();
  Opened& opened(std::uint32_t number);
  Opened& loaded(std::uint32_t number);
  std::shared_ptr<const Plan> plan_for(const Slab& slab,
                                       const std::shared_ptr<const Selected>& target);
  using AddPiece = std::function<bool(const Found& found, Count step)>;
  bool collect(std::uint32_t file, std::uint32_t map, std::size_t most, Plan& plan);
  void collect_by_patterns(std::uint32_t file, std::uint32_t map, const Pattern& target,
                           const AddPiece& add);
  void collect_by_inverse(std::uint32_t file, std::uint32_t map, Plan& plan, const AddPiece& add);
  std::vector<std::vector<Slab>> slabs_of(std::span<const Wanted> wanted);
  void read_part(const Wanted& wanted, std::span<const Slab> slabs);
  bool find_uses(std::span<const Slab> slabs, const Variable& var, const Selected& what,
                 const PlanOf& plan_of, Uses& uses);
  [[noreturn]] void throw_other_bytes(std::uint32_t file, const Variable& var) const;
  void read_slab(const Slab& slab, const Variable& var, ExtentStream& extents);
  std::shared_ptr<const PartOrder> order(std::uint32_t file, std::uint32_t map, const Key& key,
                                         const StoredPart& part, Count begin);
  void require_same(std::uint32_t file, std::uint32_t map, const Key& key);
  bool find_late(const Request& request, const Part& part, std::span<const Slab> slabs,
                 const PlanOf& plan_of, std::vector<Late>& late);
  PieceStream stream_of(const Late& late) const;
  std::string names_of(std::span<const Late> late) const;
  void read_late();
  bool read_at_once(File& file, const Late& late);
  void read_in_bulk(File& file, std::span<const Late> late, std::span<const PieceStream> streams);
  void fill(const Destination& to, const Selected& what) const;

  const Schema& schema_;
  std::string path_;
  ReadExtents read_;
  ReaderOptions options_;
  Rank rank_;
  Report& report_;
  State state_;
  bool damaged_slot_ = false;
  RootsFound found_;  // of the files opened so far
  std::vector<bool> is_found_;
  std::optional<StateFile> state_file_;  // if others may write
  logged::PatternPacker packer_;
  InverseReader inverses_;
  SlabCodings codings_;
  PartReader parts_;
  PartOrders orders_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_inverses_;  // file, hash
  std::list<Opened> files_;                                             // the last used first
  std::vector<Late> late_;
  std::size_t late_pieces_ = 0;   // pieces and parts in late_
  std::set<std::uint32_t> seen_;  // data files, if caches are weak
  PlanCache plans_;
  std::int64_t plans_made_ = 0, indexes_loaded_ = 0;
  Count most_slab_memory_ = 0;
};

}  // namespace forebay::decomposed
