// The one file of BP3 while ranks write it, with the index of all steps at its end.
#pragma once

#include <string>

#include "groups/process_group/bp_files.h"
#include "groups/process_group/trailing_index.h"

namespace forebay::process_group {

class SingleFile final : public BpFiles {
 public:
  /// Collective, as BpFiles::open().
  SingleFile(const Comm& comm, const std::string& path, const WriteOptions& options, bool append,
             Report& report);

  bp::Form form() const override { return bp::Form::bp3; }
  File& metadata() override { return *data_; }
  Offset index_begin(Offset data_end) const override { return data_end; }
  IndexList earlier_groups() const override { return index_->groups(); }
  IndexList earlier(std::size_t name) const override { return index_->of(name); }
  /// Blocks of joined arrays follow one another in the order of ranks.
  void place_joined(StepBlocks& step, const Catalogue& known) override;
  void make_way(Offset end, const std::optional<Error>& failed) override {
    index_->make_way(end, failed);
  }
  void carry(const StepIndex& step) override { index_->carry(step); }
  void show(std::span<const bp::StepRecord> records) override;
  bool give_back() override {
    index_->settle(data_end);
    return true;
  }

  void sync() override;
  void close(std::optional<Error>& failed) override;

 private:
  TrailingIndex::Found find_or_make(bool append);

  std::unique_ptr<TrailingIndex> index_;
};

}  // namespace forebay::process_group
