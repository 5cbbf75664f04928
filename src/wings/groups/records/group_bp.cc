// Writes groups as process groups of BP files.
#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/words.h"
#include "comm/agree.h"
#include "comm/left_open.h"
#include "dataset/print_report.h"
#include "groups/operators/encoder.h"
#include "groups/process_group/step_writer.h"
#include "groups/records/group_staging.h"
#include "groups/records/group_types.h"
#include "groups/records/group_writer.h"
#include "method/front_end.h"
#include "method/method_keys.h"
#include "stage/recovery.h"
#include "transport/transport.h"

namespace forebay {
namespace {

/// Returns whether the ranks of a data file write groups together, by MPI-IO.
bool by_mpi_io(const Method& method) {
  return method.transport == "independent" || method.transport == "collective";
}

void check_version(const Method& method) {
  if (method.stage == "burst" && method_value(method, "bp_version") == "3")
    throw Error(Errc::enotsupport,
                "steps of BP3 files do not wait in logs (stage=burst): each moves the index of all "
                "steps before it",
                "choose stage=direct, or bp_version=4");
  if (method_value(method, "follow") == "enable" && method_value(method, "bp_version") == "3")
    throw Error(Errc::enotsupport,
                "nobody can follow a BP3 file while it is written: each step moves its index",
                "leave follow out, or choose bp_version=4");
}

/// MPI-IO writes groups before their step has ended, so that they wait neither in a queue nor in a
/// log. If one of both is a general rule, it does not reach this file. Errc::enotsupport: both were
/// named for it.
void settle_transport(Method& method) {
  if (!by_mpi_io(method) || (method.stage != "async" && method.stage != "burst")) return;
  const std::string both = "MPI-IO writes groups at once (transport=" + method.transport +
                           ", stage=" + method.stage + ")";
  for (const char* const key : {"transport", "stage"}) {
    const auto said = method.origin.find(key);
    if (said == method.origin.end() || said->second.names_file) continue;
    method.notes.push_back(said->second.text + " did not reach this file: " + both);
    method.origin.erase(said);
    (key == std::string_view("stage") ? method.stage : method.transport) = "auto";
    return;
  }
  throw Error(Errc::enotsupport, both, "choose stage=direct, or transport=posix");
}

/// A codec that adios2 has no operator for does not reach this file if it is a general rule.
/// Errc::enotsupport: it was named for the file. Rules for variables that name the file are left
/// to those of the group (options_of()).
void settle_codec(Method& method) {
  for (VariableRule& rule : method.variables) {
    const auto codec = rule.keys.find("codec");
    if (codec == rule.keys.end() || rule.names_file) continue;
    const auto unmet = attempt_to([&] { operators::make_encoder(codec->second); });
    if (!unmet) continue;
    if (unmet->code() != Errc::enotsupport) throw *unmet;
    method.notes.push_back(rule.origin + " did not reach this file: " + unmet->message());
    rule.keys.erase(codec);
  }
  const auto failed = attempt_to([&] { operators::make_encoder(method.codec); });
  if (!failed) return;
  const auto said = method.origin.find("codec");
  if (failed->code() != Errc::enotsupport || said == method.origin.end() || said->second.names_file)
    throw *failed;
  method.notes.push_back(said->second.text + " did not reach this file: " + failed->message());
  method.origin.erase(said);
  method.codec = "none";
}

process_group::WriteOptions options_of(const GroupDefinition& group, const Method& method) {
  process_group::WriteOptions options = group_write_options(method);
  // MPI-IO is for ranks that write one file.
  const bool says = options.one_file || method.origin.contains("subfiling") || by_mpi_io(method);
  if (method.layout == "auto" && !says)
    options.ranks_per_file = process_group::WriteOptions::by_size;
  const auto encoder_of = [method](const std::string& variable) {
    return operators::make_encoder(variable_value(method, variable, "codec"));
  };
  bool any = false;
  for (const GroupVariable& variable : group.variables) any |= encoder_of(variable.name) != nullptr;
  if (any || method.codec != "none") options.encoder_of = encoder_of;
  options.group = group.name;
  options.column_major = group.column_major;
  return options;
}

class ProcessGroups final : public GroupWriter, LeftOpen {
 public:
  ProcessGroups(const Comm& comm, const std::string& path, const GroupDefinition& group,
                const Method& method, bool append)
      : LeftOpen(Turn::owner), comm_(comm), path_(path), group_(group), method_(method) {
    const auto options = options_of(group, method);  // checks the method before anything is made
    if (!append && comm_.is_root()) process_group::StepWriter::check_create(path_, options);
    start_timeline(comm_, method_, report_, opened_);
  }

  void start(bool append) override {
    using process_group::StepWriter;
    const auto options = options_of(group_, method_);
    if (!options.drop_all) meet_leftover_logs(comm_, path_, true, !append, method_);
    file_ = append ? StepWriter::append(comm_, path_, options, report_)
                   : StepWriter::create(comm_, path_, options, report_);
    for (const GroupAttribute& attribute : group_.attributes)
      file_->add_attribute(to_bp_attribute(attribute));
    if (!options.drop_all) write_index_in_windows(*file_, comm_, method_, report_);
    if (by_mpi_io(method_))
      file_->write_groups_by([this](std::shared_ptr<ByteFile> data) {
        return make_transport(file_->data_ranks(), std::move(data), transport_options(method_),
                              report_);
      });
    if (method_.stage != "burst" || options.drop_all) return;
    staging_ = std::make_unique<GroupStaging>(comm_, path_, method_, report_);
    file_->use_log(staging_->take_log());
  }

  void add(std::size_t variable, bp::Shape at, std::span<const std::byte> data,
           bool lent) override {
    const GroupVariable& of = group_.variables[variable];
    const auto measure =
        of.moments ? process_group::Measure::moments : process_group::Measure::bounds;
    file_->add({of.name, bp_type(of.type)}, std::move(at), data, lent, measure);
  }
  void make_room(std::size_t bytes) override { file_->make_room(bytes); }
  void end_step() override {
    if (const auto failed = up_to_meeting(comm_, [&] { file_->end_step(); })) throw *failed;
  }
  void sync() override {
    const auto failed = up_to_meeting(comm_, [&] {
      file_->sync();
      if (staging_) staging_->sync();
    });
    if (failed) throw *failed;
  }
  void close() override {
    if (!file_ || std::exchange(closed_, true)) return;
    attempt_to([&] { note_choice(); });
    // If not all is in the file, the logs stay for a replay.
    const auto failed = attempt_to([&] {
      file_->close();
      if (staging_) staging_->end();
    });
    end_with_report(
        comm_, path_, report_, method_, opened_,
        [&] {
          std::vector reasons{std::to_string(file_->steps()) + " steps are in the file"};
          if (const auto told = meetings_told(); !told.empty()) reasons.push_back(told);
          if (by_mpi_io(method_))
            reasons.push_back(method_.transport +
                              ": MPI-IO writes the groups that steps end with, as asked for");
          return reasons;
        },
        failed);
  }
  std::uint64_t steps() const override { return file_->steps(); }

 private:
  const Comm& its_ranks() const override { return comm_; }
  std::string its_name() const override { return path_; }
  bool would_lose() const override { return file_ && method_.stage == "async"; }
  void end() override {
    if (file_) close();
  }
  /// Returns a sentence such as "ranks met 4 times in a step, 9 times in the first one".
  std::string meetings_told() const {
    const auto [first, least, most] = file_->meetings();
    if (comm_.size() == 1 || first < 0) return {};
    const auto times = [](std::int64_t n) { return std::to_string(n) + " times"; };
    if (least < 0) return "ranks met " + times(first) + " in the step";
    return "ranks met " + (least == most ? "" : std::to_string(least) + " to ") + times(most) +
           " in a step, " + times(first) + " in the first one";
  }
  /// Notes the choice of subfiles for the report.
  void note_choice() {
    using process_group::WriteOptions;
    const auto [ranks, bytes] = file_->chosen_ranks_per_file();
    if (ranks == WriteOptions::by_size) return;
    method_.subfiling = ranks == WriteOptions::all_ranks       ? Subfiling::none
                        : ranks == WriteOptions::ranks_of_node ? Subfiling::node
                                                               : Subfiling::ranks;
    if (method_.subfiling == Subfiling::ranks) method_.subfile_ranks = ranks;
    method_.origin["subfiling"] =
        "layout=auto, as a step has " + std::to_string(bytes >> 10) + " KiB";
  }

  const Comm& comm_;
  std::string path_;
  const GroupDefinition& group_;
  Method method_;
  Report report_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::unique_ptr<GroupStaging> staging_;  // must outlive the file, which uses its log
  std::unique_ptr<process_group::StepWriter> file_;
  bool closed_ = false;
};

class Nothing final : public GroupWriter {
 public:
  void start(bool) override {}
  void add(std::size_t, bp::Shape, std::span<const std::byte>, bool) override {}
  void make_room(std::size_t) override {}
  void end_step() override { ++steps_; }
  void sync() override {}
  void close() override {}
  std::uint64_t steps() const override { return steps_; }

 private:
  std::uint64_t steps_ = 0;
};

}  // namespace

process_group::WriteOptions group_write_options(const Method& method) {
  check_version(method);
  process_group::WriteOptions options;
  if (method.subfiling == Subfiling::node) options.ranks_per_file = options.ranks_of_node;
  if (method.subfiling == Subfiling::ranks) options.ranks_per_file = method.subfile_ranks;
  options.open_stagger = std::stoi(method_value(method, "open_stagger"));
  if (method.stage == "async") options.async_memory = method.async_memory;
  options.step_memory = method.buffer_limit;
  options.ranks_per_node = method.ranks_per_node;
  options.drop_all = method.transport == "null";
  options.follow = method_value(method, "follow") == "enable";
  options.one_file = method_value(method, "bp_version") == "3";
  constexpr Count beyond = Count{1} << 40;  // too large for the writer, which refuses it
  if (method.striping_unit > 0)
    options.alignment = (std::min(method.striping_unit, beyond) + 63) / 64 * 64;
  return options;
}

void write_index_in_windows(process_group::StepWriter& file, const Comm& comm, const Method& method,
                            Report& report) {
  TransportOptions options = transport_options(method);
  options.kind = "aggregated";
  file.write_index_by([&comm, options, &report](std::shared_ptr<ByteFile> index) {
    return make_transport(comm, std::move(index), options, report);
  });
}

std::unique_ptr<GroupWriter> write_process_groups(const Comm& comm, const std::string& path,
                                                  const GroupDefinition& group,
                                                  const Method& method, bool append) {
  Method kept = method;
  keep_honoured(kept, FrontEnd::groups);
  settle_transport(kept);
  settle_codec(kept);
  return std::make_unique<ProcessGroups>(comm, path, group, kept, append);
}

std::unique_ptr<GroupWriter> write_nothing() { return std::make_unique<Nothing>(); }

}  // namespace forebay
