// Reader: values of decomposed variables as of a commit, from their data files, by one process.
//
// A read is cut by record. For each the indexes of the data files tell which slabs there are, and
// each slab's map where the elements asked for lie in it:
//
//     plan      of a map and a selection: which elements of a slab by it are which ones of the
//               selection. Found once, whatever variable and record it is read for; for one level
//               of the selection, where all are alike.
//     piece     the same of one slab, in bytes of its file, or of its elements where it was encoded
//
// A selection that is the pattern of a rank, compared in all of its runs, is one piece: a restart
// on the ranks of before reads its blobs straight. Any other is looked up in the pages of the map's
// inverse (inverse_reader.h); where there is none, or a damaged one, it is intersected with the
// ranks' patterns. Where slabs overlap, what was written later stays, element by element; older
// slabs that newer ones cover altogether are not read.
//
// Memory: a selection that has more pieces than `index_memory` allows is cut in two, again and
// again. Of data files as many are open, and as many indexes held, as options say, at least one.
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
#include "layout/decomposed/data_file.h"
#include "layout/decomposed/inverse_reader.h"
#include "layout/decomposed/part_reader.h"
#include "layout/decomposed/pieces.h"
#include "layout/decomposed/plan.h"
#include "layout/decomposed/selected.h"
#include "layout/decomposed/state_file.h"
#include "layout/packed_pattern.h"
#include "storage/file.h"

namespace forebay::decomposed {

struct ReaderOptions {
  Count index_memory = 64 << 20;
  Count hole_threshold = 64 << 10;
  std::size_t most_files = 64;
  Count thread_bytes = 1 << 20;  ///< of slow calls that are worth a thread
  bool in_bulk = false;          ///< as where calls are found to be slow
  ClientCaches caches = ClientCaches::coherent;
  PartReaderOptions parts = {};
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
  /// What is referred to outlives the reader. `path`: of the classic file.
  Reader(const Schema& schema, std::string path, ReadExtents read, ReaderOptions options, Rank rank,
         Report& report);

  /// Local. What is read from here on is as of this commit. `damaged_slot`: of the state, so that
  /// there may have been a later one.
  void use(const State& state, bool damaged_slot = false);
  const State& state() const { return state_; }
  /// Local. So many threads decode from here on.
  void use_threads(int threads) { parts_.use_threads(threads); }
  /// Local, once, by who may write them. As data_files::leave_data_files().
  void leave() noexcept;
  /// Local. Files are opened anew, and what is known of them is forgotten.
  void forget();
  /// Local. Where all data files have been looked into: Errc::enotnc if their roots are not those
  /// of the commit.
  void check_roots() const;
  void check_roots(const RootsFound& of_all_files) const;

  /// Local. Reads parts of requests to where these have them; fill values where nothing was
  /// written. Errc::enotnc naming the variable and the data file for what is damaged.
  void read(std::span<const Wanted> wanted);

  // The steps of a read, for who asks other ranks for what indexes tell (dealt_index.h). All local.

  /// Appends the slabs that one data file has of a record of a variable.
  void add_slabs(std::uint32_t file, VarId var, Count record, std::vector<Slab>& slabs);
  /// Of map number `map` of a data file, whose identity is `key`: Errc::enotnc if it is another one
  /// by now. Null: more than `most` pieces, of several elements.
  std::shared_ptr<const Plan> make_plan(std::uint32_t file, std::uint32_t map, const Key& key,
                                        const std::shared_ptr<const Selected>& target,
                                        std::size_t most);
  PlanCache& plans() { return plans_; }
  /// Of one plan.
  std::size_t most_pieces() const;
  /// What read_by() is to read waits for carry_out(), then comes data file by data file: the index
  /// that tells how parts are sorted is loaded once for all, and where a store answers slowly
  /// neighbours are read together, whatever variables they are of. Requests outlive it.
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
  /// Within a batch. Reads a part by all of its slabs, newest first; errors name the variable.
  /// False: its pieces are more than may be, and nothing was read; it has to be halved.
  using PlanOf = std::function<std::shared_ptr<const Plan>(const Slab& slab)>;
  bool read_by(const Request& request, const Part& part, std::span<const Slab> slabs,
               const PlanOf& plan_of);
  /// Of one data file.
  RootsFound roots_of(std::uint32_t file);
  /// Local. Calls f(), which reads, where others may write the file meanwhile, whose commits free
  /// what this one reads: again and again, until the commit that it read is still the newest (or,
  /// `which`, the last synced one).
  void as_of_newest(OpenState which, const std::function<void()>& f);
  static constexpr int most_times = 20;  ///< then it fails
  /// Local. What the file tells now.
  struct Newest {
    State state;
    bool damaged_slot;
  };
  Newest newest(OpenState which);
  [[noreturn]] void throw_written_too_often() const;

  /// Local. Of data file `number`, as of the commit. For reports and checks.
  const FileIndex& index(std::uint32_t number);
  /// Of the sections that its index was read from, and of inverse maps.
  Count metadata_bytes(std::uint32_t number);
  /// Local. The pattern of a rank, whole and possible.
  Pattern pattern(std::uint32_t file, std::uint32_t number);
  /// Local. Reads all of a map's inverse, if there is one: Errc::enotnc for what is damaged.
  void check_inverse(std::uint32_t file, std::uint32_t map);
  /// Local. Those of one record of a variable, newest first.
  std::vector<Slab> slabs_of(VarId var, Count record);
  /// Local. Bytes of a slab from `from` on; elements of `swap` bytes come in native order.
  void read_values(const Slab& slab, const Variable& var, Offset from, std::span<std::byte> out,
                   int swap);
  /// Local. Compares the checksums of all parts of a data file's slabs; `decode`: of variables that
  /// there are, decodes them, too. Calls tell(slab, part, what is wrong) for each.
  using TellOfPart =
      std::function<void(const Entry&, const StoredPart&, const std::optional<Error>&)>;
  void check_parts(std::uint32_t file, bool decode, const TellOfPart& tell);
  /// How many plans were made; other reads found theirs.
  std::int64_t plans_made() const { return plans_made_; }
  /// How often the index of a data file was.
  std::int64_t indexes_loaded() const { return indexes_loaded_; }
  /// What the slabs took that read() held at once.
  Count most_slab_memory() const { return most_slab_memory_; }
  /// Pages of inverse maps that were read.
  std::int64_t pages_read() const { return inverses_.pages_read(); }

 private:
  struct Opened {
    std::uint32_t number;
    std::shared_ptr<File> file;
    DataFileReader reader;
    std::optional<std::uint64_t> seen, loaded;  // epochs: of what is read, of the index
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
  /// What will be read: of one slab, or of several without a codec.
  struct Late {
    std::uint32_t file;
    Offset begin;  // places count `unit` bytes from here on
    Count unit;
    std::shared_ptr<const void> owner;  // of the pieces
    std::span<const Piece> pieces;
    Levels levels;
    std::optional<Slab> encoded;
    const Request* request;
    Part part;
  };

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
  RootsFound found_;  // of the files that were looked into
  std::vector<bool> is_found_;
  std::optional<StateFile> state_file_;  // where others may write
  logged::PatternPacker packer_;
  InverseReader inverses_;
  SlabCodings codings_;
  PartReader parts_;
  PartOrders orders_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> damaged_inverses_;  // file, hash
  std::list<Opened> files_;                                             // the one used last first
  std::vector<Late> late_;
  std::size_t late_pieces_ = 0;   // of them, and parts
  std::set<std::uint32_t> seen_;  // data files, where caches are weak
  PlanCache plans_;
  std::int64_t plans_made_ = 0, indexes_loaded_ = 0;
  Count most_slab_memory_ = 0;
};

}  // namespace forebay::decomposed
