// What a stage needs of a dataset, and what becomes of writes that another job has staged: they are
// replayed, or laid over what is read.
#include "dataset/dataset_staging.h"

#include <algorithm>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/stage_member.h"
#include "layout/classic_part.h"
#include "stage/recovery.h"
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

void refuse_other_definitions(const Schema& before, const Schema& now, const std::string& path) {
  const auto same_dim = [](const Dimension& a, const Dimension& b) {
    return a.name == b.name && a.length == b.length;
  };
  const auto same_var = [](const Variable& a, const Variable& b) {
    return a.name == b.name && a.type == b.type && a.dimids == b.dimids;
  };
  if (std::equal(before.dims.begin(), before.dims.end(), now.dims.begin(), now.dims.end(),
                 same_dim) &&
      std::equal(before.vars.begin(), before.vars.end(), now.vars.begin(), now.vars.end(),
                 same_var))
    return;
  throw Error(Errc::emultidefine,
              path + " has other dimensions or variables now than when it was opened",
              "open it anew");
}

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
  return dataset_.writable_ &&
         (dataset_.stage_->holds_writes() || dataset_.container_->layout().may_be_behind());
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

// -- a file that is open for reading only

void Dataset::Staging::start_overlay(Dataset& dataset, bool staged) {
  if (!lays_over(dataset.method_)) return;
  const auto overlays = built_in_overlays();
  if (overlays.empty())
    throw Error(Errc::enotbuilt, "recover=overlay reads logs, which this build of Forebay cannot",
                "use a build with the wing burst");
  dataset.staging_ = std::make_unique<Staging>(dataset);
  dataset.stage_ =
      overlays[0]->make({dataset.comm_, dataset.path_, dataset.method_, dataset.schema_,
                         dataset.container_->layout(), dataset.report_, *dataset.staging_},
                        *dataset.staging_, staged);
  if (dataset.coarse_) dataset.coarse_->set_records(dataset.schema_.numrecs);
}

std::unique_ptr<Container> Dataset::Staging::container_once_more() const {
  Dataset& of = dataset_;
  return find_part<ContainerEntry>(of.method_.container)
      ->make({of.comm_, of.path_, of.method_, of.schema_, of.report_, false,
              of.stage_entry().batches, nullptr});
}

Layout& Dataset::Staging::open_again() {
  const Comm& comm = dataset_.comm_;
  Schema& schema = dataset_.schema_;
  comm.meet();  // no rank has failed so far
  Schema before = std::exchange(schema, {});
  std::unique_ptr<Container> other;  // the new one, and in the end the one that is not used
  std::unique_ptr<FileView> coarse;
  const auto failed = attempt_and_go_on(comm, [&] {
    other = container_once_more();
    other->open();
    for (Variable& var : schema.vars) var.no_fill = false;
    refuse_other_definitions(before, schema, dataset_.path_);
    coarse = view_of(schema, dataset_.method_, false);
    if (!coarse != !dataset_.coarse_)
      throw Error(
          Errc::emultidefine,
          dataset_.path_ + ": the job has chosen the shapes of its chunks since it was opened",
          "open it anew: its coarser levels are there now");
    if (coarse)
      refuse_other_definitions(dataset_.coarse_->schema(), coarse->schema(), dataset_.path_);
  });
  if (!failed) {
    dataset_.container_.swap(other);
    dataset_.stage_->use(dataset_.container_->layout());
    dataset_.coarse_ = std::move(coarse);
    if (dataset_.coarse_) dataset_.coarse_->set_records(std::max(before.numrecs, schema.numrecs));
    dataset_.record_stride_ = record_size(dataset_.schema());
  }
  const bool engine = other && other->has_engine();
  if (comm.all_reduce(engine, Reduce::min) != 0) attempt_to([&] { other->release(); });
  if (!failed) attempt_to([&] { other->close(); });
  comm.barrier();  // from here on no rank uses it
  other.reset();
  if (failed) {
    schema = std::move(before);
    throw *failed;
  }
  return dataset_.container_->layout();
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
