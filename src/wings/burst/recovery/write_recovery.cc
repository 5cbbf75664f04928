// Replays the writes that stage burst kept in logs, into the file of a dataset.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "burst/fingerprint.h"
#include "burst/flush.h"
#include "burst/log/staging_writer.h"
#include "burst/log/table.h"
#include "burst/log/walk_writes.h"
#include "burst/recovery/recovery_writes.h"
#include "comm/agree.h"
#include "dataset/dataset.h"
#include "method/front_end.h"
#include "stage/session_recovery.h"

namespace forebay {
namespace {

class WriteRecovery final : public SessionRecovery {
 public:
  using SessionRecovery::SessionRecovery;

 private:
  journal::Scan count_entries(journal::Reader& reader) const override {
    return staging::walk_writes(reader, {});
  }
  void replay(const std::string& file) override;
  void load(Dataset& dataset, const Mine& log, staging::Table& table);
};

void WriteRecovery::replay(const std::string& file) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  // The environment's method does not count here: it is for the program that wrote the logs.
  Method method = choose_method(file, {}, share_method_sources(comm_));
  keep_honoured(method, FrontEnd::netcdf);
  method.stage = "direct";
  method.recover = Recover::ignore;
  auto dataset = Dataset::open_by(comm_, file, !options_.verify_only, method);
  std::vector<staging::Table> tables(mine_.size());
  auto before = std::exchange(result_.damage, {});  // is on all ranks already
  const auto error = attempt_to([&] {
    for (std::size_t i = 0; i < mine_.size(); ++i)
      if (!mine_[i].lost && !mine_[i].finished) load(*dataset, mine_[i], tables[i]);
  });
  const auto failed = up_to_meeting(comm_, [&] { agree_on_words(comm_, error); });
  if (!failed) {
    gather_damage(std::move(before));
    sum({&result_.skipped_writes, &result_.skipped_bytes});
  }
  result_.verify_seconds = seconds_since(start);
  const auto refused = failed ? failed : attempt_to([&] { refuse_damage(); });
  if (refused || options_.verify_only) {
    dataset->close();
    if (refused) throw *refused;
    return;
  }
  const auto begin = Clock::now();
  std::vector<burst::Source> sources;
  Count least_records = 0, replayed = 0;
  for (std::size_t i = 0; i < mine_.size(); ++i) {
    const Mine& log = mine_[i];
    const staging::Table& table = tables[i];
    if (log.lost) continue;
    least_records = std::max(least_records, log.state.least_records);
    if (table.empty()) continue;
    least_records = std::max(least_records, table.last_record());
    result_.replayed_writes += static_cast<Count>(table.size());
    result_.replayed_bytes += table.data_bytes();
    sources.push_back({&table, [&](const staging::WriteFacts& write, std::span<std::byte> into) {
                         readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
                           staging::read_write(reader, write, into);
                         });
                         replayed += write.bytes;
                         tell("replaying", replayed, my_bytes_);
                       }});
  }
  std::vector<burst::LostWrite> lost;
  dataset->write_past_stage(least_records, [&](Layout& layout, Report& report) {
    burst::FlushOptions options;
    options.buffer = dataset->method().buffer_limit;
    lost = burst::flush_together(comm_, std::move(sources), layout, options, report).lost;
  });
  std::optional<Error> changed;
  if (!lost.empty()) changed = lost.front().error;
  dataset->sync();
  dataset->close();
  agree_on_words(comm_, changed);
  sum({&result_.replayed_writes, &result_.replayed_bytes});
  result_.replay_seconds = seconds_since(begin);
}

// Verifies the writes of a log and adds them to its table. A request with a damaged write is left
// out as a whole.
void WriteRecovery::load(Dataset& dataset, const Mine& log, staging::Table& table) {
  const Schema& schema = dataset.schema();
  if (log.writes > 0 && log.state.schema != schema_fingerprint(schema)) {
    throw Error(Errc::ebadlog,
                fmt::format("{}: it was written for other definitions (dimensions, variables, "
                            "types) than {} has",
                            records_path(log.stem), dataset.path()),
                "the file was replaced or changed since; if you have the one that the job wrote, "
                "name it with --file");
  }
  const Count most = max_records(schema.version, record_size(schema));
  if (log.state.least_records > most)
    return damaged(log, "its state tells of more records than the file can have");
  struct Part {
    staging::Write write;
    std::shared_ptr<const RunList> runs;
  };
  std::vector<Part> request;
  std::optional<std::string> problem;
  std::vector<std::byte> buffer;
  readers_.with(log.stem, log.part, [&](journal::Reader& reader) {
    const auto visit = [&](std::uint64_t sequence, const staging::Write& write,
                           const std::shared_ptr<const RunList>& runs) {
      auto found = check_write(schema, write, runs.get());
      if (!found) found = verify(log, reader, write, buffer);
      if (found) {
        damaged(log, fmt::format("entry {}, of variable {}: {}", sequence, write.var, *found));
        problem = found;
      }
      verified_ += write.bytes;
      tell("verifying", verified_, my_bytes_);
      request.push_back({write, found ? nullptr : runs});
      if (write.continues) return;
      for (Part& part : request) {
        if (problem) {
          ++result_.skipped_writes;
          result_.skipped_bytes += part.write.bytes;
        } else {
          table.add(part.write, {std::move(part.runs)});
        }
      }
      request.clear();
      problem.reset();
    };
    staging::walk_writes(reader, visit);
  });
}

std::unique_ptr<SessionRecovery> make_write_recovery(SessionSite site) {
  return std::make_unique<WriteRecovery>(std::move(site));
}

}  // namespace

extern const ReplayEntry write_replay{nullptr, make_write_recovery};

}  // namespace forebay
