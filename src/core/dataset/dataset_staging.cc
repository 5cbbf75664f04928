// What a stage needs of a dataset, and the replay of staged writes that another job left.
#include "dataset/dataset_staging.h"

#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/stage_member.h"
#include "storage/file.h"
#include "transport/transport.h"

namespace forebay {

namespace {

/// A canonical layout with its own file descriptor.
class CanonicalAside : public Aside {
 public:
  CanonicalAside(const Comm& comm, const Schema& schema, Container& container,
                 const TransportOptions& options)
      : transport_(make_transport(comm, container.beside(report_), options, report_)),
        layout_(make_canonical_layout(schema, *transport_, report_)) {}

  Layout& layout() override { return *layout_; }
  Report& report() override { return report_; }

 private:
  Report report_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Layout> layout_;
};

}  // namespace

bool Dataset::Staging::is_regular() { return dataset_.container_->is_regular(); }

void Dataset::Staging::write_agreed_numrecs() { dataset_.write_agreed_numrecs(); }

void Dataset::Staging::publish() {
  if (!dataset_.container_->publishes_records()) return dataset_.write_agreed_numrecs();
  dataset_.container_->publish();
  dataset_.numrecs_dirty_ = false;
}

void Dataset::Staging::show() { dataset_.container_->show(); }

WriteQueue* Dataset::Staging::later() { return dataset_.later_.get(); }

std::unique_ptr<Aside> Dataset::Staging::aside() {
  if (!dataset_.container_->layout().writes_alone()) return nullptr;
  TransportOptions options;
  options.kind = "posix";
  options.hole_threshold = dataset_.method_.hole_threshold;
  return std::make_unique<CanonicalAside>(dataset_.comm_, dataset_.schema_, *dataset_.container_,
                                          options);
}

bool Dataset::Staging::would_lose() const {
  return dataset_.stage_->holds_writes() || dataset_.container_->layout().may_be_behind();
}

std::string Dataset::Staging::if_not_ended() const {
  if (!dataset_.stage_entry().keeps_logs) return LeftOpen::if_not_ended();
  return "what had not been written yet is in its logs (bring it in with: forebay recover " +
         dataset_.path_ + ")";
}

void Dataset::Staging::end() {
  const auto failed = attempt_to([&] { dataset_.close(); });
  closed_ = true;
  if (failed) throw *failed;
}

const StageEntry& Dataset::stage_entry() const { return *find_part<StageEntry>(method_.stage); }

void Dataset::start_staging() {
  if (!writable_) return;
  staging_ = std::make_unique<Staging>(*this);
  if (JointContainer* const file = container_->joint())
    member_ = std::make_unique<StageMember>(MemberSite{comm_, path_, method_, schema_, report_,
                                                       mode_, created_, numrecs_dirty_, *file,
                                                       *staging_, stage_});
  auto stage = stage_entry().make(
      {comm_, path_, method_, schema_, container_->layout(), report_, *staging_});
  if (stage) stage_ = std::move(stage);
}

void Dataset::write_past_stage(Count least_records,
                               const std::function<void(Layout& layout, Report& report)>& write) {
  require_data();
  require_writable();
  together(comm_, [&] {
    const Count records = std::max(comm_.all_reduce(least_records, Reduce::max), schema_.numrecs);
    changed_ = true;
    numrecs_dirty_ = numrecs_dirty_ || records > schema_.numrecs;
    schema_.numrecs = records;
    write(container_->layout(), report_);
    container_->layout().flush();
    write_agreed_numrecs();
  });
}

}  // namespace forebay
