#pragma once

// A workload on a fast device, and the files then copied to where they belong: the plain use of a
// burst buffer that Hou 2023, §3.3.3 compares with. All ranks copy, each its part of every file, in
// calls of 8 MiB. The copy, and the removal of the files from the fast device, are timed as the
// phase "copy".

#include <memory>
#include <string>

#include "workloads/workload.h"

namespace forebay::bench {

class StageOutWorkload final : public Workload {
 public:
  /// `fast` is the directory in which `inner` writes.
  StageOutWorkload(std::unique_ptr<Workload> inner, std::string fast, const Team& team);

  std::string name() const override { return inner_->name(); }
  nlohmann::json parameters() const override { return inner_->parameters(); }
  Amounts amounts() const override { return inner_->amounts(); }
  bool has_read() const override { return inner_->has_read(); }
  std::vector<std::string> files(const std::string& path) const override;

  void prepare_write() override { inner_->prepare_write(); }
  void write(const std::string& path, MPI_Info info, Phases& phases) override;
  void prepare_read() override { inner_->prepare_read(); }
  void read(const std::string& path, MPI_Info info, Phases& phases) override;
  std::int64_t verify() override { return inner_->verify(); }

 private:
  std::string on_fast(const std::string& path) const;
  void copy(const std::string& from, const std::string& to) const;

  std::unique_ptr<Workload> inner_;
  std::string fast_;
  Team team_;
};

}  // namespace forebay::bench
