#include "dataset/group_staging.h"

#include <algorithm>
#include <utility>

#include "base/attempt.h"
#include "base/random_number.h"
#include "comm/agree.h"
#include "stage/burst/staging_files.h"
#include "staging_log/writer.h"
#include "storage/file.h"

namespace forebay {

void check_group_staging(const Method& method) {
  const auto refuse = [](const std::string& what, const std::string& advice) {
    throw Error(Errc::enotsupport, "groups are not staged with " + what, advice);
  };
  if (method.burst_shared == "enable")
    refuse("nc_burst_buf_shared_logs", "leave it out: each rank has a log of its own");
  if (method.burst_delete == "disable") refuse("nc_burst_buf_del_on_close=disable", "leave it out");
  if (method.burst_flush_time > 0)
    refuse("burst_flush_time", "choose burst_flush_size, or call forebay_sync");
}

GroupStaging::GroupStaging(const Comm& comm, const std::string& path, const Method& method,
                           Report& report)
    : comm_(comm) {
  by_root(comm_, [&] {
    info_.session = random_number();
    info_.file = StagingControl::canonical(path);
    info_.directory = StagingControl::canonical(method.burst_directory);
  });
  comm_.broadcast(&info_.session, sizeof info_.session);
  comm_.broadcast(info_.file);
  comm_.broadcast(info_.directory);
  info_.ranks = comm_.size();
  auto failed = attempt_to([&] { make_log(method, report); });
  failed = attempt_to([&] {
    agree_on_error(comm_, failed);
    by_root(comm_, [&] { control_ = StagingControl::create(info_); });
  });
  if (!failed) return;
  log_.reset();
  attempt_to([&] { remove_logs(stem_); });
  throw Error(*failed);
}

void GroupStaging::make_log(const Method& method, Report& report) {
  stem_ = log_stem(info_.directory, info_.file, info_.session, false, comm_.rank());
  const auto make = [&](const std::string& path) {
    auto file = std::make_unique<File>(path, true, comm_.rank(), log_report_);
    file->create(true);
    return file;
  };
  staging::Header header;
  header.session = info_.session;
  header.rank = comm_.rank();
  header.ranks = comm_.size();
  header.path = info_.file;
  auto records = make(records_path(stem_));
  auto data = make(data_path(stem_));
  auto log = std::make_unique<staging::Writer>(std::move(records), std::move(data), header,
                                               staging::State());
  log_ = std::make_unique<process_group::StepLog>(std::move(log),
                                                  std::max<Count>(method.buffer_limit / 4, 1 << 16),
                                                  method.burst_flush_size, report);
}

// In this order: a control file without logs is recognised, logs without a control file are not.
void GroupStaging::end() {
  by_root(comm_, [&] { control_->set_closed(0); });
  agree_on_error(comm_, attempt_to([&] { remove_logs(stem_); }));
  by_root(comm_, [&] {
    control_->remove();
    control_.reset();
  });
}

}  // namespace forebay
