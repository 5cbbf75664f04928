#include "groups/records/group_staging.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/random_number.h"
#include "comm/agree.h"
#include "storage/file.h"
#include "store/journal_files.h"

namespace forebay {

GroupStaging::GroupStaging(const Comm& comm, const std::string& path, const Method& method,
                           Report& report)
    : comm_(comm), keeps_(method.burst_delete == Switch::disable) {
  info_.per_node = method.burst_shared == Switch::enable;
  if (info_.per_node) node_ = comm_.split_node(method.ranks_per_node);
  by_root(comm_, [&] {
    info_.session = random_number();
    info_.file = StagingControl::canonical(path);
    info_.directory = StagingControl::canonical(method.burst_directory);
  });
  comm_.broadcast(&info_.session, sizeof info_.session);
  comm_.broadcast(info_.file);
  comm_.broadcast(info_.directory);
  info_.ranks = comm_.size();
  Rank first = comm_.rank();
  node_.broadcast(&first, sizeof first);
  const auto failed = attempt_to([&] {
    const auto make = [&] {
      stem_ = log_stem(info_.directory, info_.file, info_.session, info_.per_node, first);
      make_log(method, report);
    };
    // The files of a node exist before its other ranks open them.
    agree_on_error(comm_, makes_files() ? attempt_to(make) : std::nullopt);
    agree_on_error(comm_, makes_files() ? std::nullopt : attempt_to(make));
    by_root(comm_, [&] { control_ = StagingControl::create(info_); });
  });
  if (!failed) return;
  log_.reset();
  if (makes_files() && !stem_.empty()) attempt_to([&] { remove_logs(stem_); });
  throw Error(*failed);
}

void GroupStaging::make_log(const Method& method, Report& report) {
  const auto make = [&](const std::string& path) {
    auto file = std::make_unique<File>(path, true, comm_.rank(), log_report_);
    if (makes_files())
      file->create(true);
    else
      file->ensure_open();
    return file;
  };
  journal::Header header;
  header.session = info_.session;
  header.rank = comm_.rank();
  header.ranks = comm_.size();
  header.path = info_.file;
  if (info_.per_node) {
    header.share.part = node_.rank();
    header.share.parts = node_.size();
  }
  auto records = make(records_path(stem_));
  auto data = make(data_path(stem_));
  auto log = std::make_unique<journal::Writer>(std::move(records), std::move(data), header,
                                               journal::State());
  process_group::StepLog::Limits limits;
  limits.memory = std::max<Count>(method.buffer_limit / 4, 1 << 16);
  limits.most = method.burst_flush_size;
  limits.seconds = method.burst_flush_time;
  limits.keeps = keeps_;
  log_ = std::make_unique<process_group::StepLog>(std::move(log), limits, report);
}

void GroupStaging::sync() {
  by_root(comm_, [&] { control_->sync(); });
}

// The order matters: a control file without logs is recognised, logs without a control file are
// not.
void GroupStaging::end() {
  by_root(comm_, [&] { control_->set_closed(0); });
  agree_on_error(comm_, attempt_to([&] {
                   if (makes_files() && !keeps_) remove_logs(stem_);
                 }));
  by_root(comm_, [&] {
    control_->remove();
    control_.reset();
  });
}

}  // namespace forebay
