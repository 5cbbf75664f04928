// The stage of a file that is open for reading with the hint recover=overlay: lays what logs of a
// job hold over what the file holds.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/attempt.h"
#include "burst/overlay/snapshot.h"
#include "comm/agree.h"
#include "layout/layout.h"
#include "stage/overlay.h"
#include "stage/recovery.h"

namespace forebay::burst {

namespace {

constexpr int most_attempts = 10;

/// Gives the job time to finish dropping its logs: two seconds in all.
void wait_before(int attempt) {
  if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1 << attempt));
}

class OverlayStage : public Stage {
 public:
  OverlayStage(const StageSite& site, OverlayHost& host, bool staged)
      : comm_(site.comm),
        schema_(site.schema),
        layout_(&site.layout),
        report_(site.report),
        host_(host),
        snapshot_(site.comm, site.path, site.method.recover == Recover::overlay_partial,
                  site.method.buffer_limit),
        fresh_(!staged) {}

  void take();

  StageNeeds offer(std::span<const Request> /*writes*/,
                   std::span<const Request> /*reads*/) override {
    return {};
  }
  void submit(std::span<Request> requests, bool write, bool collective,
              const StageNeeds& needs) override;
  void flush(bool /*collective*/) override {}
  void flush_to_sync() override { take(); }
  bool may_be_behind() const override { return false; }
  void end_alone() override {}
  void use(Layout& layout) override { layout_ = &layout; }
  std::string reasons() const override;

 private:
  struct Outcome {
    std::optional<Error> failed;
    bool outdated = false;
  };
  Outcome read(std::span<Request> reads, bool collective);

  const Comm& comm_;
  Schema& schema_;
  Layout* layout_;
  Report& report_;
  OverlayHost& host_;
  Snapshot snapshot_;
  bool taken_ = false;  // the snapshot is whole; equal on all ranks
  bool fresh_;          // the file was opened after the last snapshot, or there was nothing to take
  Count snapshots_ = 0;
};

/// Collective. Takes a snapshot, and then opens the file once more: what left the logs before is in
/// it.
void OverlayStage::take() {
  taken_ = false;
  comm_.meet();
  for (int attempt = 0;; ++attempt) {
    wait_before(attempt);
    const auto failed = attempt_and_go_on(comm_, [&] {
      snapshot_.take(schema_);
      comm_.meet();
      if (!fresh_ || snapshot_.found()) layout_ = &host_.open_again();
      schema_.numrecs = std::max(schema_.numrecs, snapshot_.records());
    });
    fresh_ = false;
    if (!failed) break;
    // A recovery may have emptied logs of a job that has ended, too.
    const bool again = attempt == 0 || snapshot_.may_change();
    if (comm_.all_reduce(std::int64_t{again}, Reduce::min) == 0 || attempt == most_attempts)
      throw *failed;
  }
  taken_ = true;
  ++snapshots_;
}

void OverlayStage::submit(std::span<Request> requests, bool write, bool collective,
                          const StageNeeds& /*needs*/) {
  if (write) return layout_->carry_out(requests, write, collective);
  const bool together = collective || comm_.size() == 1;
  for (int attempt = 0;; ++attempt) {
    if (!taken_ && together) take();
    if (taken_ && snapshot_.empty()) return layout_->carry_out(requests, false, collective);
    Outcome found;
    found.outdated = !taken_;
    if (taken_) found = read(requests, collective);
    if (collective) found.outdated = comm_.all_reduce(found.outdated, Reduce::max) != 0;
    if (!found.outdated && collective) return agree_on_error(comm_, found.failed);
    if (!found.outdated && found.failed) throw *found.failed;
    if (!found.outdated) return;
    if (!together || attempt == most_attempts) {
      if (collective) agree_on_error(comm_, found.failed);
      if (found.failed && (together || !snapshot_.is_outdated(true))) throw *found.failed;
      throw Error(
          Errc::ebadlog, "the job that stages its writes has emptied the logs that were to be read",
          together ? "the job flushes more often than the file can be read: read again later"
                   : "call ncmpi_sync with all ranks, and read again");
    }
    wait_before(attempt);
    taken_ = false;
  }
}

/// Reads the file first. What is staged before a snapshot and dropped before the file is read is in
/// the file then.
OverlayStage::Outcome OverlayStage::read(std::span<Request> reads, bool collective) {
  const auto from_file = [&] { layout_->carry_out(reads, false, collective); };
  Outcome found;
  found.failed = collective ? attempt_and_go_on(comm_, from_file) : attempt_to(from_file);
  // A job that goes on may use the places of chunks again, before it drops its logs, too.
  const auto is_of_job = [&] {
    const Errc code = found.failed->code();
    return snapshot_.may_change() && code != Errc::enotsupport && code != Errc::enomem &&
           code != Errc::enotbuilt;
  };
  found.outdated = found.failed && (is_of_job() || snapshot_.is_outdated(true));
  if (found.failed) return found;
  StepTimer timer(report_, Step::reload);
  found.failed = attempt_to([&] {
    for (Request& one : reads) report_[Counter::reads_served] += snapshot_.overlay(schema_, one);
  });
  found.outdated = snapshot_.is_outdated(found.failed.has_value()) || (found.failed && is_of_job());
  return found;
}

std::string OverlayStage::reasons() const {
  return "overlay: " + std::to_string(snapshot_.writes()) + " staged writes of " +
         std::to_string(snapshot_.logs()) + " logs were laid over what the file holds, by " +
         std::to_string(snapshots_) + " snapshots";
}

std::unique_ptr<Stage> make_overlay(const StageSite& site, OverlayHost& host, bool staged) {
  auto stage = std::make_unique<OverlayStage>(site, host, staged);
  stage->take();
  return stage;
}

}  // namespace
}  // namespace forebay::burst

namespace forebay {

extern const OverlayEntry burst_overlay{burst::make_overlay};

}  // namespace forebay
