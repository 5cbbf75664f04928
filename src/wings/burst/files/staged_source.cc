#include "burst/files/staged_source.h"

#include <array>
#include <utility>

#include "array/placement.h"
#include "array/request.h"
#include "array/selection.h"
#include "base/attempt.h"
#include "base/error.h"
#include "dataset/dataset.h"
#include "method/method.h"
#include "stage/recovery.h"

namespace forebay {
namespace {

class StagedSource final : public Source {
 public:
  StagedSource(const std::string& path, const char* recover)
      : dataset_(Dataset::open(Comm(), path, false, {{"recover", recover}})),
        schema_(dataset_->schema()) {}
  ~StagedSource() override {
    attempt_to([&] { dataset_->close(); });
  }
  StagedSource(const StagedSource&) = delete;
  StagedSource& operator=(const StagedSource&) = delete;

  const std::string& path() const override { return dataset_->path(); }
  std::string format() const override {
    const int version = schema().version;
    return is_netcdf4(version) ? "netCDF-4" : "CDF-" + std::to_string(version);
  }
  const Schema& schema() const override { return schema_; }
  std::optional<int> classic_version() const override {
    if (is_netcdf4(schema().version)) return std::nullopt;
    return schema().version;
  }
  bool is_hdf5() const override { return is_netcdf4(schema().version); }

  void read(VarId var, const Subarray& selection, void* out) const override {
    const Variable& variable = schema_.vars.at(static_cast<std::size_t>(var));
    naming(path(), [&] {
      check_selection(variable, schema().numrecs, selection.start.data(), selection.count.data(),
                      selection.stride.empty() ? nullptr : selection.stride.data(), true);
    });
    std::array<Request, 1> requests;
    Request& request = requests[0];
    request.var = var;
    request.elements = selection.elements();
    if (request.elements == 0) return;
    request.memory.type = variable.type;
    request.memory.data = static_cast<std::byte*>(out);
    request.selection = selection;
    dataset_->execute(requests, true);
  }

 private:
  std::unique_ptr<Dataset> dataset_;
  const Schema schema_;  // of the opening: a read may open the file once more
};

}  // namespace

Recover overlay_of(const std::string& path, const std::string& recover) {
  if (!has_staged_writes(path)) return Recover::ignore;
  const Method method =
      choose_method(path, recover.empty() ? HintMap() : HintMap{{"recover", recover}});
  return lays_over(method) ? method.recover : Recover::ignore;
}

bool is_overlaid(const std::string& path) { return overlay_of(path) != Recover::ignore; }

std::unique_ptr<Source> open_overlaid(const std::string& path) {
  return std::make_unique<StagedSource>(path, "overlay");
}

std::unique_ptr<Source> open_overlaid_partially(const std::string& path) {
  return std::make_unique<StagedSource>(path, "overlay-partial");
}

}  // namespace forebay
