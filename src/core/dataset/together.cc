// A dataset's waiting writes when it is written together with others.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "dataset/dataset.h"
#include "dataset/dataset_staging.h"
#include "layout/joint_layout.h"

namespace forebay {

void Dataset::Staging::write_with_others() {
  Dataset& ds = dataset_;
  if (!ds.waiting().any) return;
  if (ds.others_) {
    // The others synchronise on another communicator. This step finds a rank that has failed.
    ds.comm_.meet();
    ds.others_->write();
  }
  if (!ds.stage_->holds_writes() && ds.container_->definitions_wait()) ds.write_agreed_numrecs();
}

Count Dataset::Staging::room() { return dataset_.others_ ? dataset_.others_->room() : 0; }

std::unique_ptr<std::byte[]> Dataset::Staging::take_memory(Count bytes) {
  return dataset_.others_ ? dataset_.others_->take_memory(bytes) : StageHost::take_memory(bytes);
}

void Dataset::Staging::give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept {
  if (dataset_.others_) dataset_.others_->give_memory(std::move(block), bytes);
}

void Dataset::forget_others() {
  others_ = nullptr;
  container_->put_off_definitions(false);
}

bool Dataset::may_write_with_others() const {
  const StageEntry& entry = stage_entry();
  return writable_ && !entry.converts_late && !entry.writes_later;
}

Dataset::Joining Dataset::prepare_to_join() {
  Joining joining;
  if (!holding_)
    joining.stage = make_bundled_stage(
        {comm_, path_, method_, schema_, container_->layout(), report_, *staging_});
  if (joining.stage && mode_ == Mode::independent) joining.stage->begin_alone();
  joining.weak = container_->has_weak_caches();
  return joining;
}

void Dataset::write_with(WritesTogether& others, const Comm& comm, Joining joining) {
  if (mode_ != Mode::define && stage_->may_be_behind())
    together(comm_, [&] { stage_->flush(true); });
  // The next file on this communicator finds its topology here.
  const int ranks_per_node = method_.ranks_to_share_memory();
  if (created_ && !Topology::is_known(comm_, ranks_per_node))
    together(comm_, [&] { Topology::of(comm_, ranks_per_node); });
  weak_caches_ = joining.weak != 0;
  if (joining.stage) {
    holding_ = joining.stage.get();
    stage_ = std::move(joining.stage);
  }
  // Nothing has asked for the topology yet. If caches are weak, files have hooks of their own.
  if (created_ && waiting_file() != nullptr) comm_ = comm;
  others_ = &others;
  was_bundled_ = true;
  container_->put_off_definitions(true);
}

WaitingFacts Dataset::waiting() const {
  WaitingFacts facts;
  if (!holding_) return facts;
  facts.operations = holding_->operations();
  facts.bytes = holding_->held_bytes();
  facts.numrecs = schema_.numrecs;
  facts.numrecs_changed = numrecs_dirty_;
  // An enddef that failed may have come this far on some ranks only.
  const bool defined = mode_ != Mode::define && container_->definitions_wait();
  facts.any = facts.operations > 0 || handed_over_ || defined;
  return facts;
}

ByteFile* Dataset::waiting_file() {
  return holding_ && !weak_caches_ ? container_->values_file() : nullptr;
}

std::unique_ptr<ExtentStream> Dataset::waiting_extents() {
  return container_->layout().extents_of(holding_->held());
}

void Dataset::publish_alone(Count numrecs) {
  const Count now = std::exchange(schema_.numrecs, numrecs);
  const auto failed = attempt_to([&] { container_->publish_alone(); });
  schema_.numrecs = std::max(now, numrecs);  // includes records written since
  if (failed) throw *failed;
}

void Dataset::handed_over(Count numrecs) {
  schema_.numrecs = numrecs;
  handed_over_ = true;
  holding_->forget_held();
}

void Dataset::published(Count numrecs) {
  handed_over_ = false;
  numrecs_dirty_ = schema_.numrecs > numrecs;
  container_->published();
}

void Dataset::write_alone() {
  WritesTogether* const others = std::exchange(others_, nullptr);
  const auto failed = attempt_together(comm_, [&] { stage_->flush(true); });
  others_ = others;
  if (failed) throw *failed;
}

bool Dataset::may_wait_for_layout() {
  return holding_ && holding_->operations() > 0 && container_->layout().for_joint({}).layout;
}

// Operations take turns: if ranks write the same bytes, the later operation wins. A turn publishes
// no record that a later turn writes, so a kill in between leaves whole records.
std::vector<std::int64_t> Dataset::write_by_layout(const Comm& comm,
                                                   std::span<Dataset* const> files,
                                                   const std::vector<bool>& closed,
                                                   Report& report) {
  std::vector<Count> numrecs;  // each file's final number
  std::vector<std::int64_t> codes(files.size());
  std::size_t turns = 0;
  for (const Dataset* file : files) {
    numrecs.push_back(file->schema_.numrecs);
    turns = std::max(turns, file->holding_->operations());
  }
  struct InTheEnd {
    std::span<Dataset* const> files;
    std::span<const Count> numrecs;
    ~InTheEnd() {
      for (std::size_t f = 0; f < files.size(); ++f) files[f]->schema_.numrecs = numrecs[f];
    }
  };
  {
    const InTheEnd in_the_end{files, numrecs};
    for (std::size_t turn = 0; turn < turns; ++turn) {
      for (std::size_t f = 0; f < files.size(); ++f) {
        const HoldingStage& stage = *files[f]->holding_;
        files[f]->schema_.numrecs =
            turn + 1 < stage.operations() ? stage.records(turn) : numrecs[f];
      }
      std::vector<JointLayout::Share> shares;
      std::vector<std::pair<Dataset*, std::span<Request>>> others;
      for (std::size_t f = 0; f < files.size(); ++f) {
        HoldingStage& stage = *files[f]->holding_;
        if (turn >= stage.operations()) continue;
        const auto its = files[f]->container_->layout().for_joint(stage.held(turn));
        shares.push_back({its.layout, its.writes, closed[f] && turn + 1 == stage.operations()});
        if (its.any_others) others.emplace_back(files[f], its.others);
      }
      // Files have collective steps of their own. A rank that has failed is found before them.
      std::optional<Error> failed;
      if (!others.empty()) comm.meet();
      for (const auto& [file, writes] : others)
        keep_first(failed, attempt_together(file->comm_, [&, f = file, w = writes] {
                     f->container_->layout().carry_out(w, true, true);
                   }));
      if (failed) throw *failed;
      shares[0].layout->write_all(comm, shares, report);
      for (Dataset* file : files) file->holding_->told(file->schema_.numrecs);
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

std::optional<Error> Dataset::close_alone() {
  forget_others();
  std::optional<Error> failed;
  attempt_into(failed, [&] { stage_->close(false); });
  attempt_into(failed, [&] { container_->release(); });
  attempt_into(failed, [&] { container_->close(); });
  return failed;
}

void Dataset::drop(bool removes) {
  forget_others();
  created_ = removes && (created_ || container_->definitions_wait());
  container_->published();
  if (holding_) holding_->forget_held();
  abort();
}

}  // namespace forebay
