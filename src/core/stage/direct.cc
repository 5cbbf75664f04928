#include "layout/layout.h"
#include "stage/recovery.h"
#include "stage/stage.h"

namespace forebay {

namespace {

class DirectStage : public Stage {
 public:
  explicit DirectStage(Layout& layout) : layout_(&layout) {}

  StageNeeds offer(std::span<const Request> /*writes*/,
                   std::span<const Request> /*reads*/) override {
    return {};
  }
  std::optional<Foreseen> foresee(std::span<const Request> requests) const override {
    return layout_->foresee(requests);
  }
  void submit(std::span<Request> requests, bool write, bool collective,
              const StageNeeds& needs) override {
    if (needs.foreseen) return layout_->carry_out_foreseen(requests, write, *needs.foreseen);
    layout_->carry_out(requests, write, collective);
  }
  void flush(bool collective) override {
    if (collective) layout_->flush();
  }
  bool may_be_behind() const override { return layout_->may_be_behind(); }
  void end_alone() override { layout_->flush(); }
  void use(Layout& layout) override { layout_ = &layout; }

 private:
  Layout* layout_;
};

constexpr std::string_view recoveries[] = {"refuse", "auto", "ignore", "overlay",
                                           "overlay-partial"};

constexpr KeySpec direct_keys[] = {
    word_key({"recover", "refuse|auto|ignore|overlay|overlay-partial", "refuse",
              "What opening a file does when a job that ended has left writes of it in staging "
              "logs: fail and say so, replay them, or open the file as it is. A file that is only "
              "read may show, with overlay, what logs of any job hold, also of one that runs; "
              "overlay-partial goes on without logs that not all ranks see.",
              "engine"},
             place_in<&Method::recover>, recoveries)
        .honoured_by(netcdf_files | FrontEnd::groups),
};

}  // namespace

std::unique_ptr<Stage> make_direct_stage(Layout& layout) {
  return std::make_unique<DirectStage>(layout);
}

// Every build has this stage. So it looks for the logs of jobs that ended, whatever stage they had.
extern const StageEntry direct_stage{
    {"direct", "handed over at once", 10, direct_keys,
     netcdf_files | FrontEnd::groups | conversions},
    [](const StageSite& site) { return make_direct_stage(site.layout); },
    false,
    false,
    false,
    true,
    Leftovers{has_leftover_logs, meet_leftover_logs}};

}  // namespace forebay
