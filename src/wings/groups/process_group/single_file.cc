#include "groups/process_group/single_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/turns.h"
#include "groups/process_group/old_files.h"
#include "groups/process_group/step_contents.h"
#include "storage/client_caches.h"

namespace forebay::process_group {

namespace fs = std::filesystem;

SingleFile::SingleFile(const Comm& comm, const std::string& path, const WriteOptions& options,
                       bool append, Report& report)
    : BpFiles(comm, path, options, report) {
  data_ranks_ = comm_;
  agree_on_error(comm_, attempt_to([&] {
                   data_ = new_file(path_);
                   data_->share(client_caches_of(path_, true));
                   index_ = std::make_unique<TrailingIndex>(comm_, *data_, options_.drop_all);
                 }));
  TrailingIndex::Found found;
  by_root(comm_, [&] {
    found = find_or_make(append);
    opening = std::max(new_opening(), opening_after(found.opening));
    data_->meet();
  });
  names = std::move(found.names);
  std::array<std::int64_t, 3 + FileIdentity::count> told{
      data_end, static_cast<std::int64_t>(found.steps), static_cast<std::int64_t>(opening)};
  const auto identity = std::span(told).last<FileIdentity::count>();
  attempt_to([&] {
    if (comm_.is_root()) data_->identity().put(identity);
  });
  comm_.broadcast(told.data(), sizeof told);
  data_->expect(FileIdentity::from(identity));
  data_end = told[0];
  steps = static_cast<std::uint64_t>(told[1]);
  opening = static_cast<std::uint64_t>(told[2]);
  index_->learn(std::move(found.contents));
  if (!options_.drop_all) {  // removes the remains of a killed step
    index_->cut_to_size();
    index_->settle(data_end);
  }
  if (options_.open_stagger > 0)
    in_turns(comm_, options_.open_stagger, [&] { data_->ensure_open(); });
}

/// Local, on rank 0. Finds the index of the file to append to, or makes a new file.
TrailingIndex::Found SingleFile::find_or_make(bool append) {
  if (append && fs::is_directory(path_)) cannot_append(path_, "it is a directory, and no BP3 file");
  // An empty file is one whose creation was killed.
  if (append && fs::exists(path_) && !(fs::is_regular_file(path_) && fs::is_empty(path_))) {
    auto found = TrailingIndex::find(path_, options_.column_major, comm_.rank(), report_);
    data_end = found.data_end + bp::gap_before_group(found.data_end, bp::payload_alignment);
    return found;
  }
  if (!options_.drop_all) check_replaced_file(path_);
  if (!options_.drop_all) data_->create(false);
  index_->write_empty();
  return {};
}

void SingleFile::place_joined(StepBlocks& step, const Catalogue& known) {
  std::vector<std::int64_t> before, total;
  const auto failed = attempt_to([&] {
    step.names().find_places(known);
    before.resize(known.size());
    total.resize(known.size());
    step.add_joined(before);
  });
  add_up(comm_, before, total, failed);
  step.place_joined(before, total);
}

// A step is shown before the next one begins.
void SingleFile::show(std::span<const bp::StepRecord> /*records*/) {
  agree_on_error(comm_, attempt_to([&] { data_->meet(); }));
  index_->show();
}

void SingleFile::sync() {
  agree_on_error(comm_, attempt_to([&] { data_->sync(); }));
  by_root(comm_, [&] {
    if (!options_.drop_all) path_sync_.folder_of(data_->place_now());
  });
}

void SingleFile::close(std::optional<Error>& failed) {
  index_->settle(data_end);  // also removes the blocks of a flush without a step
  attempt_into(failed, [&] { data_->close(); });
}

}  // namespace forebay::process_group
