// DistributedIndex: collective reads in which the indexes of the data files are distributed over
// the ranks (Hou 2023, §7.3), so that no rank loads them all. If there are more ranks than files,
// several ranks *keep* the same index, each for some of the askers.
//
// A read has rounds of all ranks. In each round a rank works on some parts of its requests:
//
//     places    → slabs     a rank asks for variables and records; each keeper answers with the
//                           slabs that its files have of them, and the slabs' maps
//     patterns  → plans     for plans that the asker does not have (plan.h): each keeper finds
//                           the pieces in the maps of its own files
//
// A keeper sends slabs place by place, as many as fit into a message. If there are more, the answer
// has a cursor, and the asker asks again from there. If the slabs exceed a rank's memory, complete
// places are read first, and the others are asked for in the next round.
//
// If there are many data files, each rank knows roughly where each file has data. It asks only the
// keepers of files that may have what it wants.
//
// Then each rank reads its own extents. Programs that read variable after variable by the same
// selections ask for places only. A selection is halved if its pattern or its pieces do not fit
// into a message. The halves are asked for in the next round.
//
// Memory: about `memory` for the current parts, one place's slabs of all files, a few pieces per
// asker.
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
#include "comm/questions.h"
#include "decomposed/decomposed_reader.h"
#include "decomposed/plan.h"
#include "layout/packed_pattern.h"

namespace forebay::decomposed {

class DistributedIndex {
 public:
  /// All references must outlive it. `reader` has the indexes of this rank's files, and reads. If
  /// there are at most `few_files` files, all keepers are asked.
  DistributedIndex(const Comm& comm, const Schema& schema, Reader& reader, Count memory,
                   std::uint32_t few_files = 8)
      : comm_(comm), schema_(schema), reader_(reader), memory_(memory), few_files_(few_files) {}

  /// Collective. Reads what each rank wants, from the commit that all ranks use. A rank that fails
  /// takes part in all rounds, and throws at the end.
  void read(std::span<const Wanted> wanted);
  /// Collective. Like Reader::as_of_newest, with one commit for all ranks. f() is collective. If it
  /// fails on a rank, it must have taken part in all its steps before.
  void as_of_newest(OpenState which, const std::function<void()>& f);

  /// Local. Return which rank keeps a file's index for `asker`, and which files a rank keeps.
  static Rank keeper_of(std::uint32_t file, Rank asker, std::uint32_t files, int ranks);
  static std::vector<std::uint32_t> files_of(Rank keeper, std::uint32_t files, int ranks);

  /// Over all reads: the rounds, the requests for slabs in them, the longest message with slabs or
  /// plans, and the largest memory of slabs held at one time.
  std::int64_t rounds() const { return rounds_; }
  std::int64_t askings() const { return askings_; }
  std::int64_t questions() const { return questions_; }  ///< for slabs, by this rank
  Count longest_message() const { return longest_message_; }
  Count most_held() const { return most_held_; }

 private:
  struct Told {
    std::shared_ptr<const Plan> plan;  // null: there is an error, or too many pieces
    std::optional<Error> error;
  };
  struct Job {
    const Request* request;
    Part part;
    std::shared_ptr<const std::vector<Slab>> slabs;  // newest first; null: not known yet
    std::map<Key, Told> plans;                       // by map
    bool to_be_halved = false;
  };
  struct Place {
    std::int64_t var = 0;
    Count record = 0;

    bool operator==(const Place&) const = default;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  struct Want {
    Key map;
    const Selected* what;
  };
  /// Where a keeper's next answer begins.
  struct Cursor {
    std::uint32_t place = 0;  ///< index in the asker's list
    std::uint32_t file = 0;   ///< index in the keeper's list
    std::uint32_t slab = 0;
    std::uint32_t unused = 0;
  };
  struct Found {  // about the places in question
    std::vector<std::vector<Slab>> slabs;
    Count bytes = 0;                   // of all of them
    std::map<Rank, Cursor> remaining;  // where keepers must go on

    std::size_t known() const;  // how many places, from the first one on
  };
  /// The bounds of all patterns of a data file, one for each shape of arrays.
  struct Where {
    std::uint32_t patterns = 0;  ///< how many were read; `last` is the last one's key, to check
    Key last = {};
    std::vector<Bounds> bounds = {};
  };
  using Failure = std::optional<Error>;

  std::uint32_t files() const { return reader_.state().files; }
  Rank keeper_of(std::uint32_t file) const;
  Count share() const;  // part of `memory_` for one asker
  void check_roots();
  void look_into(std::uint32_t file, Where& where);
  void learn_where();
  bool may_have(std::uint32_t file, const Bounds& wanted) const;
  void take_up(std::vector<Place>& places);
  void find_slabs(std::span<const Place> places, Failure& failed);
  Count slabs_limit() const { return memory_ / 8; }  // bytes of slabs to hold
  void ask_for_slabs(std::span<const Place> places, Found& found, Failure& failed);
  void tell_slabs(const Question& question, Message& answer);
  bool look_for_plans();
  void find_plans(Failure& failed);
  void tell_plans(const Question& question, Message& answer);
  void hear_plans(Rank from, std::span<const std::byte> bytes);
  void read_what_is_known();

  const Comm& comm_;
  const Schema& schema_;
  Reader& reader_;
  Count memory_;
  std::uint32_t few_files_;
  std::optional<std::uint64_t> checked_, learned_;  // epochs
  std::map<std::uint32_t, Where> own_where_;        // of files that this rank is first to keep
  std::vector<std::optional<std::vector<Bounds>>> where_;  // of all files; none: anywhere
  logged::PatternPacker packer_;
  std::int64_t rounds_ = 0, askings_ = 0, questions_ = 0;
  Count longest_message_ = 0, most_held_ = 0;

  // During one read:
  std::deque<Job> jobs_;
  std::size_t under_way_ = 0;                 // the first ones of jobs_
  std::map<Rank, std::vector<Want>> wanted_;  // asked for in this round, by keeper
};

}  // namespace forebay::decomposed
