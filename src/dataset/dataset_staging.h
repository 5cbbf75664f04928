// The host of a stage: used by dataset*.cc alone.
#pragma once

#include <memory>

#include "dataset/dataset.h"
#include "stage/stage.h"

namespace forebay {

class Dataset::Staging : public StageHost {
 public:
  explicit Staging(Dataset& dataset) : dataset_(dataset) {}

  bool is_regular() override;
  void write_agreed_numrecs() override;
  void publish() override;
  WriteQueue* later() override;
  std::unique_ptr<Aside> aside() override;
  void write_with_others() override;
  Count room() override;
  std::unique_ptr<std::byte[]> take_memory(Count bytes) override;
  void give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept override;

 private:
  Dataset& dataset_;
};

}  // namespace forebay
