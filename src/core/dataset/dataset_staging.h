// The host of a stage. Only dataset*.cc use it.
#pragma once

#include <memory>

#include "comm/left_open.h"
#include "dataset/dataset.h"
#include "stage/overlay.h"
#include "stage/stage.h"

namespace forebay {

class Dataset::Staging : public StageHost, public OverlayHost, LeftOpen {
 public:
  explicit Staging(Dataset& dataset) : LeftOpen(Turn::file), dataset_(dataset) {}

  bool is_regular() override;
  void write_agreed_numrecs() override;
  void publish() override;
  void show() override;
  WriteQueue* later() override;
  std::unique_ptr<Aside> aside() override;
  Layout& open_again() override;

  /// Collective. Makes the stage of a dataset that is open for reading only, if its method asks for
  /// one. `staged`: as in OverlayEntry::make.
  static void start_overlay(Dataset& dataset, bool staged);

  /// Returns whether the file was closed because the program ended.
  bool is_closed() const { return closed_; }

 private:
  const Comm& its_ranks() const override { return dataset_.comm_; }
  std::string its_name() const override { return dataset_.path_; }
  bool would_lose() const override;
  std::string if_not_ended() const override;
  void end() override;

  std::unique_ptr<Container> container_once_more() const;

  Dataset& dataset_;
  bool closed_ = false;
};

}  // namespace forebay
