// What waits of a dataset that is written together with others.
#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "dataset/dataset.h"
#include "dataset/dataset_staging.h"

namespace forebay {

void Dataset::Staging::write_with_others() {
  Dataset& ds = dataset_;
  if (!ds.waiting().any) return;
  if (ds.others_) {
    // The others meet elsewhere: a rank that has failed is found here.
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

void Dataset::finish_making() {
  if (!is_being_made()) return;
  made();
  by_root(comm_, [&] { wait_until_made(); });
}

void Dataset::forget_others() {
  others_ = nullptr;
  container_->put_off_definitions(false);
}

bool Dataset::write_with(WritesTogether& others, const Comm& comm,
                         const std::function<void()>& also) {
  const StageEntry& entry = stage_entry();
  if (!writable_ || entry.converts_late || entry.writes_later) return false;
  if (mode_ != Mode::define && stage_->may_be_behind())
    together(comm_, [&] { stage_->flush(true); });
  std::unique_ptr<HoldingStage> stage;
  together(comm_, [&] {
    // The next file that this communicator is for, until then, has where its ranks meet.
    if (created_) Topology::of(comm_, method_.ranks_to_share_memory());
    also();
    if (!holding_)
      stage = make_bundled_stage(
          {comm_, path_, method_, schema_, container_->layout(), report_, *staging_});
    if (stage && mode_ == Mode::independent) stage->begin_alone();
  });
  if (stage) {
    holding_ = stage.get();
    stage_ = std::move(stage);
  }
  // Nothing has asked yet who is on which node; where caches are weak, files have hooks of their
  // own.
  if (created_ && container_->values_file() != nullptr) comm_ = comm;
  others_ = &others;
  container_->put_off_definitions(true);
  return true;
}

WaitingFacts Dataset::waiting() const {
  WaitingFacts facts;
  if (!holding_) return facts;
  facts.operations = holding_->operations();
  facts.bytes = holding_->held_bytes();
  facts.numrecs = schema_.numrecs;
  facts.numrecs_changed = numrecs_dirty_;
  facts.any = facts.operations > 0 || handed_over_ || container_->definitions_wait();
  return facts;
}

ByteFile* Dataset::waiting_file() { return holding_ ? container_->values_file() : nullptr; }

std::unique_ptr<ExtentStream> Dataset::waiting_extents() {
  return container_->layout().extents_of(holding_->held());
}

void Dataset::publish_alone(Count numrecs) {
  const Count now = std::exchange(schema_.numrecs, numrecs);
  const auto failed = attempt_to([&] { container_->publish_alone(); });
  schema_.numrecs = std::max(now, numrecs);  // of what has come since, too
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
