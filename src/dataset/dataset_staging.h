// The host of stage `burst`: used by dataset*.cc alone.
#pragma once

#include <memory>
#include <string>

#include "dataset/dataset.h"
#include "stage/burst/burst.h"
#include "stage/burst/staging_control.h"

namespace forebay {

class Dataset::Staging : public burst::Host {
 public:
  explicit Staging(Dataset& dataset) : dataset_(dataset) {}

  std::unique_ptr<ByteFile> open_log(const std::string& path, bool create) override;
  void remove_log(const std::string& path) override;
  void logs_begin() override;
  void logs_closing(std::uint64_t epoch) override;
  void logs_end() override;
  void before_flush() override;
  void after_flush() override;
  void epoch_begins(std::uint64_t epoch) override;
  std::uint64_t fingerprint() const override;
  std::unique_ptr<burst::Aside> aside() override;

  StagingInfo info;  ///< of the control file

 private:
  Dataset& dataset_;
  Report log_report_;                        // what is read and written of logs is not of the file
  std::unique_ptr<StagingControl> control_;  // on rank 0
};

}  // namespace forebay
