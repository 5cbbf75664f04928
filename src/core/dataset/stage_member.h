// A dataset as a member of a stage that several datasets share (stage/shared_stage.h): what of it
// waits, where that goes, and what makes it visible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/report.h"
#include "comm/comm.h"
#include "container/joint_container.h"
#include "dataset/dataset.h"
#include "stage/shared_stage.h"

namespace forebay {

/// Facts about a dataset's waiting writes, on which ranks have to agree.
struct WaitingFacts {
  bool any = false;            ///< writes or definitions wait: the same on all ranks
  std::size_t operations = 0;  ///< the same on all ranks
  Count bytes = 0;             ///< memory that waiting writes take on this rank
  Count numrecs = 0;
  bool numrecs_changed = false;
};

/// What a member shares with its dataset. All of it outlives the member.
struct MemberSite {
  Comm& comm;
  std::string& path;
  const Method& method;
  Schema& schema;
  Report& report;
  const Mode& mode;
  bool& created;         ///< it has never left its first define mode
  bool& numrecs_dirty;   ///< this rank's count of records may differ from the file's
  JointContainer& file;  ///< its container
  StageHost& host;
  std::unique_ptr<Stage>& stage;
};

class StageMember : SharedStage {
 public:
  explicit StageMember(const MemberSite& site) : site_(site) {}

  JointContainer& file() const { return site_.file; }
  const Method& method() const { return site_.method; }
  const std::string& path() const { return site_.path; }
  /// Local, on all ranks. The file has been renamed.
  void moved(const std::string& path) { site_.file.moved(site_.path = path); }

  // -- joining and leaving

  /// Local, the same on all ranks. Returns false if the file's own stage keeps writes elsewhere.
  bool may_join() const;
  /// What a rank has to prepare for join().
  struct Joining {
    std::unique_ptr<HoldingStage> stage;
    std::int64_t weak = 0;  ///< this node's caches are weak; nodes may mount a folder differently
  };
  /// Local.
  Joining prepare();
  /// Collective; all ranks are prepared, and `weak` is the largest of all ranks. From now on
  /// collective writes wait until `shared` or Dataset::close() writes them; so do the definitions
  /// of a new file. `shared` must outlive the dataset, unless leave() is called.
  /// `comm` has the same ranks in the same order. A new file uses it from now on where it can,
  /// because its topology is known already and communicators are scarce. No collective step is
  /// needed if the topology is known. Throws on all ranks or on none.
  void join(SharedStage& shared, const Comm& comm, Joining joining);
  void leave();                                   ///< local; the same on all ranks
  SharedStage* stage() const { return shared_; }  ///< null if it is no member now
  bool was_member() const { return was_member_; }

  // -- what waits

  WaitingFacts waiting() const;
  /// Local. Returns the file to which the extents of the waiting writes go. Null, on all ranks, if
  /// a layout or a transport writes in another way.
  ByteFile* waiting_file();
  std::unique_ptr<ExtentStream> waiting_extents();
  /// Local, the same on all ranks. Returns whether writes wait whose layout can write several files
  /// in one operation.
  bool may_wait_for_layout();
  /// Local, the same on all ranks. Returns whether some node has weak caches: then ranks also have
  /// to synchronise in this file.
  bool has_weak_caches() const { return weak_caches_; }
  bool is_handed_over() const { return handed_over_; }

  // -- writing

  /// Collective. Writes what waits by this file's own means.
  void write_alone();
  /// Collective over `comm`, which has the ranks of these files in the same order and is the
  /// communicator of their stage. Writes what waits in such files and makes it visible. Returns 0
  /// for each file, or the code of what kept its written values from becoming visible. If it
  /// throws, it throws on all ranks, and everything still waits. `closed`: no more writes follow.
  static std::vector<std::int64_t> write_by_layout(const Comm& comm,
                                                   std::span<StageMember* const> files,
                                                   const std::vector<bool>& closed, Report& report);
  /// Local, on one rank, after the values are written. Makes them visible. All ranks agree on
  /// `numrecs`.
  void publish_alone(Count numrecs);
  /// Local, on all ranks. Notes that all writes are in the file, or in a queue that somebody else
  /// completes.
  void handed_over(Count numrecs);
  /// Local, on all ranks, after publish_alone() on one rank. Notes that so many records are
  /// visible.
  void published(Count numrecs);
  /// Local, on all ranks. Notes that what was handed over did not reach the file.
  void failed() { handed_over_ = false; }

  // -- the end

  /// Local, on all ranks. Closes a file that has nothing waiting and whose size is right, after its
  /// writes were published. The caller combines the errors. Not allowed if a report is wanted,
  /// because a report takes all ranks.
  bool may_close_alone() const { return site_.method.report.empty() && !site_.numrecs_dirty; }
  std::optional<Error> close_alone();
  /// Local, on all ranks, before Dataset::abort(). What waits is not written. `removes`: abort()
  /// deletes the file if it has no other contents.
  void discard(bool removes);

 private:
  // What its own stage asks for, with or without others.
  void write() override;
  Count room() const override;
  std::unique_ptr<std::byte[]> take_memory(Count bytes) override;
  void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept override;

  MemberSite site_;
  HoldingStage* holding_ = nullptr;  // the dataset's stage, once it has been a member
  SharedStage* shared_ = nullptr;
  bool handed_over_ = false;  // waiting writes are in a queue and not visible yet
  bool weak_caches_ = false;  // some rank's node has weak caches
  bool was_member_ = false;
};

}  // namespace forebay
