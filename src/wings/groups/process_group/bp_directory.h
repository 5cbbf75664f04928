// The files of a BP4 directory while ranks write it: data.K of the ranks that share it, md.0 of all
// ranks, md.idx of rank 0, and the data files of nodes (node_file.h).
#pragma once

#include <memory>
#include <string>

#include "comm/comm.h"
#include "groups/process_group/bp_files.h"
#include "groups/process_group/node_file.h"
#include "groups/process_group/old_files.h"
#include "storage/client_caches.h"
#include "storage/file.h"

namespace forebay::process_group {

class BpDirectory final : public BpFiles {
 public:
  /// Collective, as BpFiles::open().
  BpDirectory(const Comm& comm, const std::string& path, const WriteOptions& options, bool append,
              Report& report);

  void spread(Count bytes) override;
  NodeFile* early() override { return early_.get(); }

  bp::Form form() const override { return bp::Form::bp4; }
  File& metadata() override { return *metadata_; }
  std::shared_ptr<File> shared_metadata() override { return metadata_; }
  Offset index_begin(Offset /*data_end*/) const override { return metadata_end; }
  void show(std::span<const bp::StepRecord> records) override;
  bool give_back() override;

  void sync() override;
  void close(std::optional<Error>& failed) override;

 private:
  std::unique_ptr<File> file_of(const std::string& name) const {
    auto file = new_file(path_ + "/" + name);
    if (options_.follow) file->share(client_caches_of(file->path(), true));
    return file;
  }
  void open_by_root(bool append);
  FileIdentity tell_of_root();
  void mark(bool written);
  void make_directory();
  void choose_data_file(int ranks_per_file);
  int choose_by_size(Count bytes_of_all);
  void start_data_file();
  Offset end_of_data(File& data, std::uint32_t number);
  void open_data();
  void prepare_early(bool append);
  void open_in_turns();
  void follow_openings();
  void sync_earlier();

  OldDirectory old_;
  std::uint64_t last_opening_ = 0;  // the largest opening in this rank's files; 0: none
  std::uint32_t data_files_ = 1;
  bool goes_on_ = false;  // continues existing files
  bool synced_earlier_ = false;
  std::unique_ptr<File> index_;
  std::shared_ptr<File> metadata_;
  std::unique_ptr<NodeFile> early_;
};

}  // namespace forebay::process_group
