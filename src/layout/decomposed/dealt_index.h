// DealtIndex: collective reads for which the indexes of the data files are dealt to the ranks
// (D7 §7.3), so that none loads them all. Where there are more ranks than files, several *keep* the
// same one, each for a part of those who ask.
//
// A read goes in rounds, of all ranks, in which each has some parts of its requests under way:
//
//     places    → slabs     variables and records are asked for; each keeper tells what slabs its
//                           files have of them, and of which maps
//     patterns  → plans     plans that the asker has not got (plan.h): each keeper finds the
//                           pieces in its own files' maps
//
// A keeper tells slabs place by place, as many at a time as there is room for; who is not told all
// is told how to go on, and asks again. Where that becomes more than a rank may hold, places of
// which it knows all are read first, and the others asked for in the next round.
//
// Whom to ask for slabs: where data files are many, ranks know of each about where in arrays it has
// anything, and ask those alone that may have what they want.
//
// Then each rank reads its own extents. Programs that read variable after variable by the same
// selections ask for places only. A selection whose pattern or pieces are more than fits into a
// message is halved, and asked for in the next round.
//
// Memory: about `memory` for what is under way, but for one place's slabs of all files, and a few
// pieces of each who asks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/request.h"
#include "array/schema.h"
#include "base/error.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "layout/decomposed/plan.h"
#include "layout/decomposed/reader.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {

class DealtIndex {
 public:
  /// What is referred to outlives it. `reader` has its files' indexes, and reads. All are asked
  /// where there are no more than `few_files`.
  DealtIndex(const Comm& comm, const Schema& schema, Reader& reader, Count memory,
             std::uint32_t few_files = 8)
      : comm_(comm), schema_(schema), reader_(reader), memory_(memory), few_files_(few_files) {}

  /// Collective. Reads what each rank wants, as of the commit that all use. A rank that fails goes
  /// through all rounds with the others, and throws in the end.
  void read(std::span<const Wanted> wanted);
  /// Collective. As Reader::as_of_newest, all of one commit. f() is collective, and fails on a rank
  /// only once it has gone through all of it.
  void as_of_newest(OpenState which, const std::function<void()>& f);

  /// Local. Who keeps a file's index for `asker`, and the files whose indexes a rank keeps.
  static Rank keeper_of(std::uint32_t file, Rank asker, std::uint32_t files, int ranks);
  static std::vector<std::uint32_t> files_of(Rank keeper, std::uint32_t files, int ranks);

  /// Of all reads: rounds, how often slabs were asked for in them, the longest message with slabs
  /// or plans, and most bytes of slabs that were held at a time.
  std::int64_t rounds() const { return rounds_; }
  std::int64_t askings() const { return askings_; }
  std::int64_t questions() const { return questions_; }  ///< for slabs, of this rank
  Count longest_message() const { return longest_message_; }
  Count most_held() const { return most_held_; }

 private:
  struct Told {
    std::shared_ptr<const Plan> plan;  // null: too many pieces, or
    std::optional<Error> error;
  };
  struct Job {
    const Request* request;
    Part part;
    std::shared_ptr<const std::vector<Slab>> slabs;  // newest first; null: to be asked for
    std::map<Key, Told> plans;                       // by map
    bool to_be_halved = false;
  };
  struct Place {
    std::int64_t var = 0;
    Count record = 0;

    bool operator==(const Place&) const = default;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Question {
    Rank from;
    std::vector<std::byte> bytes;
  };
  struct Want {
    Key map;
    const Selected* what;
  };
  /// What a keeper tells next.
  struct Cursor {
    std::uint32_t place = 0;  ///< of those that were asked for
    std::uint32_t file = 0;   ///< of those that it keeps
    std::uint32_t slab = 0;
    std::uint32_t unused = 0;
  };
  struct Found {  // of the places that are asked for
    std::vector<std::vector<Slab>> slabs;
    Count bytes = 0;                   // of all of them
    std::map<Rank, Cursor> remaining;  // what keepers have not told yet

    std::size_t known() const;  // so many places, from the first one on
  };
  /// What bounds all patterns of a data file that were made at the same extents.
  struct Where {
    std::uint32_t patterns = 0;  ///< looked at; and the last one's key, to know them again
    Key last = {};
    std::vector<Bounds> bounds = {};
  };
  using Failure = std::optional<Error>;

  std::uint32_t files() const { return reader_.state().files; }
  Rank keeper_of(std::uint32_t file) const;
  Count share() const;  // of `memory_`: of one who asks
  void check_roots();
  void look_into(std::uint32_t file, Where& where);
  void learn_where();
  bool may_have(std::uint32_t file, const Bounds& wanted) const;
  void take_up(std::vector<Place>& places);
  void find_slabs(std::span<const Place> places, Failure& failed);
  Count slabs_limit() const { return memory_ / 8; }  // of what is held of slabs
  void ask_for_slabs(std::span<const Place> places, Found& found, Failure& failed);
  void tell_slabs(const Question& question, Message& answer);
  bool look_for_plans();
  void find_plans(Failure& failed);
  void tell_plans(const Question& question, Message& answer);
  void hear_plans(Rank from, std::span<const std::byte> bytes);
  void read_what_is_known();
  template <typename Ask, typename Tell, typename Hear>
  void ask(Failure& failed, Ask&& make, Tell&& tell, Hear&& hear);

  const Comm& comm_;
  const Schema& schema_;
  Reader& reader_;
  Count memory_;
  std::uint32_t few_files_;
  std::optional<std::uint64_t> checked_, learned_;  // epochs
  std::map<std::uint32_t, Where> own_where_;        // of files that this rank is the first to keep
  std::vector<std::optional<std::vector<Bounds>>> where_;  // of all files; none: anywhere
  logged::PatternPacker packer_;
  std::int64_t rounds_ = 0, askings_ = 0, questions_ = 0;
  Count longest_message_ = 0, most_held_ = 0;

  // Of one read.
  std::deque<Job> jobs_;
  std::size_t under_way_ = 0;                 // of jobs_, the first ones
  std::map<Rank, std::vector<Want>> wanted_;  // that were asked for in this round, by keeper
};

}  // namespace forebay::decomposed
