#include "dataset/stage_member.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "layout/joint_layout.h"

namespace forebay {

void StageMember::write() {
  if (!waiting().any) return;
  if (shared_) {
    // The shared stage synchronises on another communicator. This step finds a rank that has
    // failed.
    site_.comm.meet();
    shared_->write();
    site_.comm.forget_failed_meeting();  // an error of some files in there is kept for them
  }
  if (!site_.stage->holds_writes() && site_.file.definitions_wait())
    site_.host.write_agreed_numrecs();
}

Count StageMember::room() const { return shared_ ? shared_->room() : 0; }

std::unique_ptr<std::byte[]> StageMember::take_memory(Count bytes) {
  return shared_ ? shared_->take_memory(bytes)
                 : std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
}

void StageMember::give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept {
  if (shared_) shared_->give_memory(std::move(block), bytes);
}

bool StageMember::may_join() const {
  const auto& entry = *find_part<StageEntry>(site_.method.stage);
  return !entry.converts_late && !entry.writes_later;
}

StageMember::Joining StageMember::prepare() {
  Joining joining;
  if (!holding_)
    joining.stage = make_holding_stage({site_.comm, site_.path, site_.method, site_.schema,
                                        site_.file.layout(), site_.report, site_.host},
                                       *this);
  if (joining.stage && site_.mode == Mode::independent) joining.stage->begin_alone();
  joining.weak = site_.file.has_weak_caches();
  return joining;
}

void StageMember::join(SharedStage& shared, const Comm& comm, Joining joining) {
  if (site_.mode != Mode::define && site_.stage->may_be_behind())
    together(site_.comm, [&] { site_.stage->flush(true); });
  // The next file on this communicator finds its topology here.
  const int ranks_per_node = site_.method.ranks_to_share_memory();
  if (site_.created && !Topology::is_known(site_.comm, ranks_per_node))
    together(site_.comm, [&] { Topology::of(site_.comm, ranks_per_node); });
  weak_caches_ = joining.weak != 0;
  if (joining.stage) {
    holding_ = joining.stage.get();
    site_.stage = std::move(joining.stage);
  }
  // Nothing has asked for the topology yet. If caches are weak, files have hooks of their own.
  if (site_.created && waiting_file() != nullptr) site_.comm = comm;
  shared_ = &shared;
  was_member_ = true;
  site_.file.put_off_definitions(true);
}

void StageMember::leave() {
  shared_ = nullptr;
  site_.file.put_off_definitions(false);
}

WaitingFacts StageMember::waiting() const {
  WaitingFacts facts;
  if (!holding_) return facts;
  facts.operations = holding_->operations();
  facts.bytes = holding_->held_bytes();
  facts.numrecs = site_.schema.numrecs;
  facts.numrecs_changed = site_.numrecs_dirty;
  // An enddef that failed may have come this far on some ranks only.
  const bool defined = site_.mode != Mode::define && site_.file.definitions_wait();
  facts.any = facts.operations > 0 || handed_over_ || defined;
  return facts;
}

ByteFile* StageMember::waiting_file() {
  return holding_ && !weak_caches_ ? site_.file.values_file() : nullptr;
}

std::unique_ptr<ExtentStream> StageMember::waiting_extents() {
  return site_.file.layout().extents_of(holding_->held());
}

void StageMember::publish_alone(Count numrecs) {
  const Count now = std::exchange(site_.schema.numrecs, numrecs);
  const auto failed = attempt_to([&] { site_.file.publish_alone(); });
  site_.schema.numrecs = std::max(now, numrecs);  // includes records written since
  if (failed) throw *failed;
}

void StageMember::handed_over(Count numrecs) {
  site_.schema.numrecs = numrecs;
  handed_over_ = true;
  holding_->forget_held();
}

void StageMember::published(Count numrecs) {
  handed_over_ = false;
  site_.numrecs_dirty = site_.schema.numrecs > numrecs;
  site_.file.published();
}

void StageMember::write_alone() {
  SharedStage* const shared = std::exchange(shared_, nullptr);
  const auto failed = attempt_together(site_.comm, [&] { site_.stage->flush(true); });
  shared_ = shared;
  if (failed) throw *failed;
}

bool StageMember::may_wait_for_layout() {
  return holding_ && holding_->operations() > 0 && site_.file.layout().for_joint({}).layout;
}

// Operations take turns: if ranks write the same bytes, the later operation wins. A turn publishes
// no record that a later turn writes, so a kill in between leaves whole records.
std::vector<std::int64_t> StageMember::write_by_layout(const Comm& comm,
                                                       std::span<StageMember* const> files,
                                                       const std::vector<bool>& closed,
                                                       Report& report) {
  std::vector<Count> numrecs;  // each file's final number
  std::vector<std::int64_t> codes(files.size());
  std::size_t turns = 0;
  for (const StageMember* file : files) {
    numrecs.push_back(file->site_.schema.numrecs);
    turns = std::max(turns, file->holding_->operations());
  }
  struct InTheEnd {
    std::span<StageMember* const> files;
    std::span<const Count> numrecs;
    ~InTheEnd() {
      for (std::size_t f = 0; f < files.size(); ++f) files[f]->site_.schema.numrecs = numrecs[f];
    }
  };
  {
    const InTheEnd in_the_end{files, numrecs};
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t f = 0; f < files.size(); ++f) {
        const HoldingStage& stage = *files[f]->holding_;
        files[f]->site_.schema.numrecs =
            turn + 1 < stage.operations() ? stage.records(turn) : numrecs[f];
      }
      std::vector<JointLayout::Share> shares;
      std::vector<std::pair<StageMember*, std::span<Request>>> others;
      for (std::size_t f = 0; f < files.size(); ++f) {
        HoldingStage& stage = *files[f]->holding_;
        if (turn >= stage.operations()) continue;
        const auto its = files[f]->site_.file.layout().for_joint(stage.held(turn));
        shares.push_back({its.layout, its.writes, closed[f] && turn + 1 == stage.operations()});
        if (its.any_others) others.emplace_back(files[f], its.others);
      }
      // Files have collective steps of their own. A rank that has failed is found before them.
      std::optional<Error> failed;
      if (!others.empty()) comm.meet();
      for (const auto& [file, writes] : others)
        keep_first(failed, attempt_together(file->site_.comm, [&, f = file, w = writes] {
                     f->site_.file.layout().carry_out(w, true, true);
                   }));
      if (failed) throw *failed;
      shares[0].layout->write_all(comm, shares, report);
      for (StageMember* file : files) file->holding_->told(file->site_.schema.numrecs);
    }
  }
  if (comm.is_root()) {
    for (std::size_t f = 0; f < files.size(); ++f) {
      const auto failed = attempt_to([&] { files[f]->publish_alone(numrecs[f]); });
      if (failed) codes[f] = to_int(failed->code());
    }
  }
  comm.all_reduce(codes, Reduce::min);
  for (std::size_t f = 0; f < files.size(); ++f) {
    files[f]->holding_->forget_held();
    if (codes[f] == 0) files[f]->published(numrecs[f]);
  }
  return codes;
}

std::optional<Error> StageMember::close_alone() {
  leave();
  std::optional<Error> failed;
  attempt_into(failed, [&] { site_.file.publish_closed(); });
  attempt_into(failed, [&] { site_.stage->close(false); });
  attempt_into(failed, [&] { site_.file.release(); });
  attempt_into(failed, [&] { site_.file.close(); });
  return failed;
}

void StageMember::discard(bool removes) {
  leave();
  site_.created = removes && (site_.created || site_.file.definitions_wait());
  site_.file.published();
  if (holding_) holding_->forget_held();
}

}  // namespace forebay
