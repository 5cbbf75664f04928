#include "layout/layout.h"
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

}  // namespace

std::unique_ptr<Stage> make_direct_stage(Layout& layout) {
  return std::make_unique<DirectStage>(layout);
}

extern const StageEntry direct_stage{
    {"direct", "handed over at once", 10, {}, netcdf_files | FrontEnd::groups | conversions},
    [](const StageSite& site) { return make_direct_stage(site.layout); },
    false,
    false,
    false,
    true};

}  // namespace forebay
