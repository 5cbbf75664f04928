#include "bundles/bundle.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/attempt.h"
#include "bundles/joint_write.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "dataset/print_report.h"
#include "method/method_values.h"
#include "storage/file.h"

namespace forebay {

namespace {

constexpr FileNumber no_file{0, 0};

FileNumber number_of(const FileIdentity& file) {
  return {static_cast<std::uint64_t>(file.device), static_cast<std::uint64_t>(file.inode)};
}

// Rank 0, which made the files, keeps each waiting one open.
constexpr int most_closed = 256;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

FileNumber file_number(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? FileNumber(info.st_dev, info.st_ino) : no_file;
}

BundleOptions bundle_options(const Method& method) {
  BundleOptions options;
  options.files = std::stoi(method_value(method, "bundle_files"));
  options.scheme = bundle_scheme(method_value(method, "bundle_scheme"));
  options.buffer_limit = method.buffer_limit;
  options.memory = std::stoll(method_value(method, "bundle_memory"));
  if (options.memory == 0) options.memory = method.buffer_limit;
  options.ranks_per_node = method.ranks_to_share_memory();
  options.window_size = method.window_size;
  options.async = method_value(method, "bundle_async") == "enable";
  return options;
}

std::string BundleRecord::json(const std::string& bundle) const {
  using Json = nlohmann::ordered_json;
  Json all{
      {"bundle", bundle},       {"scheme", name_of(plan.scheme)}, {"why", why},
      {"ranks", plan.ranks},    {"predicted_seconds", predicted}, {"seconds", seconds},
      {"files", Json::array()}, {"encoded_together", encoded},    {"one_after_another", apart}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::size_t f = numbers[i];
    const BundleGroup& group = plan.group(f);
    all["files"].push_back({{"path", files[i]},
                            {"bytes", plan.bytes[f]},
                            {"first_rank", group.first},
                            {"ranks", group.ranks}});
    Json& file = all["files"].back();
    if (f < traffic.size()) {
      file.update({{"messages_in", traffic[f].messages},
                   {"bytes_in", traffic[f].bytes},
                   {"aggregation_messages_in", traffic[f].aggregation_messages},
                   {"aggregation_bytes_in", traffic[f].aggregation_bytes}});
    }
    if (f >= times.size()) continue;
    file.update({{"begin", times[f].begin}, {"end", times[f].end}, {"visible", times[f].visible}});
  }
  if (most_messages_in > 0) all["most_messages_in"] = most_messages_in;
  for (const auto& [name, numbers] : counters)
    all["counters"][name] = {{"max", numbers[0]}, {"sum", numbers[1]}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Bundle::Bundle(Comm comm, std::string name, std::int64_t id, const BundleOptions& options)
    : comm_(std::move(comm)),
      name_(std::move(name)),
      id_(id),
      options_(options),
      latency_(std::numeric_limits<std::int64_t>::max()) {
  if (options_.async) queue_ = std::make_unique<WriteQueue>(options_.memory, report_);
}

Bundle::~Bundle() {
  for (const Member& member : open_) member.writes->leave();
}

Bundle::Joining Bundle::prepare(Dataset& dataset) {
  StageMember* const member = dataset.as_member();
  if (member && member->stage())
    throw Error(Errc::einval, dataset.path() + " is in a bundle already",
                "a file is a member of one bundle, once");
  Joining joining;
  if (!member || !member->may_join()) return joining;
  const std::size_t members = closed_.size() + open_.size() + 1;
  joining.path = std::make_shared<const std::string>(dataset.path());
  if (report_to_.empty() && dataset.method().wants_json_report())
    joining.report = dataset.method().report;
  open_.reserve(open_.size() + 1);
  closed_.reserve(members);
  codes_.reserve(members + 1);
  outcomes_.reserve(outcomes_.size() + members);
  lost_.reserve(lost_.size() + members);
  joining.file = member->prepare();
  return joining;
}

bool Bundle::add(Dataset& dataset, FileNumber file) {
  Joining joining;
  std::int64_t weak = 0;
  const auto prepared = [&] {
    joining = prepare(dataset);
    weak = joining.file.weak;
  };
  together(dataset.comm(), prepared, {&weak, 1}, Reduce::max);
  joining.file.weak = weak;
  return add(dataset, file, std::move(joining));
}

bool Bundle::add(Dataset& dataset, FileNumber file, Joining joining) {
  if (!joining.path) return false;
  StageMember* const member = dataset.as_member();
  member->join(*this, comm_, std::move(joining.file));
  if (report_to_.empty()) report_to_ = std::move(joining.report);
  open_.push_back({&dataset, member, std::move(joining.path), file, ++added_});  // there is room
  return true;
}

Bundle::Member Bundle::take_open(const Dataset* dataset) {
  const auto at = std::find_if(open_.begin(), open_.end(),
                               [&](const Member& member) { return member.dataset == dataset; });
  Member member = *at;
  open_.erase(at);
  return member;
}

void Bundle::remove(Dataset& dataset) { take_open(&dataset).writes->leave(); }

std::vector<Dataset*> Bundle::open_members() const {
  std::vector<Dataset*> all;
  for (const Member& member : open_) all.push_back(member.dataset);
  return all;
}

Count Bundle::room() const {
  Count left = options_.memory;
  for (const Member& member : open_) left -= member.writes->waiting().bytes;
  for (const Closed& closed : closed_) left -= closed.member.writes->waiting().bytes;
  if (queue_) left -= queue_->held();
  return std::max<Count>(left, 0);
}

std::unique_ptr<std::byte[]> Bundle::take_memory(Count bytes) {
  return blocks_.take(bytes, [&] { return room() - bytes; });
}

void Bundle::give_memory(std::unique_ptr<std::byte[]> block, Count bytes) noexcept {
  blocks_.give(std::move(block), bytes, [&] { return room(); });
}

std::vector<StageMember*> Bundle::waiting() const {
  std::vector<StageMember*> all;
  for (const Member& member : open_)
    if (member.writes->waiting().any) all.push_back(member.writes);
  for (const Closed& closed : closed_)
    if (closed.member.writes->waiting().any && !closed.dropped) all.push_back(closed.member.writes);
  return all;
}

void Bundle::close(std::unique_ptr<Dataset> dataset) {
  const auto failed = attempt_to([&] { close_later(std::move(dataset)); });
  if (failed && failed->code() != Errc::epending) throw *failed;
  // Closes of the program are counted, because something else may have written some files before.
  const int most = options_.files > 0 ? options_.files : most_closed;
  if (++closes_ >= most) {
    closes_ = 0;
    complete(options_.async);
  }
  tell();  // on all ranks, even if only some had pending requests
  if (failed) throw *failed;
}

void Bundle::close_later(std::unique_ptr<Dataset> dataset) {
  std::optional<Error> failed;
  // Steps of a close for which other ranks wait are done now; only writing waits.
  const auto step = [&](auto&& f) {
    if (!failed) failed = attempt_together(dataset->comm(), f);
  };
  if (dataset->mode() == Mode::define) step([&] { dataset->enddef(); });
  if (dataset->mode() == Mode::independent) step([&] { dataset->end_independent(); });
  std::optional<Error> pending;
  if (dataset->pending() > 0) {
    attempt_to([&] { dataset->cancel(Which::all, {}, {}); });
    pending = Error(Errc::epending);
    attempt_to([&] {  // with a text, if there is memory for it
      pending = Error(Errc::epending,
                      "nonblocking requests were pending when " + dataset->path() + " was closed",
                      "call wait or cancel before close");
    });
  }
  const Member member = take_open(dataset.get());
  if (failed) {
    member.writes->leave();
    attempt_to([&] { dataset->close(); });
    outcomes_.emplace_back(member.path, to_int(failed->code()));  // there is room
    throw *failed;
  }
  closed_.push_back({std::move(dataset), member});  // there is room
  if (pending) throw *pending;
}

void Bundle::wait_until_made() {
  for (Member& member : open_) member.wait_until_made();
  for (Closed& closed : closed_) closed.member.wait_until_made();
}

// Collective. Waits until the files that threads make exist or have failed.
void Bundle::finish_making() {
  std::vector<std::pair<Member*, Closed*>> made;
  for (Member& member : open_)
    if (member.writes->file().is_being_made()) made.emplace_back(&member, nullptr);
  for (Closed& closed : closed_)
    if (closed.member.writes->file().is_being_made()) made.emplace_back(&closed.member, &closed);
  if (made.empty()) return;
  std::vector<std::optional<Error>> failed(made.size());
  constexpr std::size_t numbers = 1 + FileIdentity::count;
  std::vector<std::array<std::int64_t, numbers>> facts(made.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    FileIdentity file;
    failed[i] = attempt_to([&] { file = made[i].first->writes->file().wait_until_made(); });
    facts[i][0] = failed[i] ? -to_int(failed[i]->code()) : 0;
    file.put(std::span(facts[i]).subspan(1));
  }
  comm_.all_reduce(std::span(facts[0].data(), numbers * facts.size()), Reduce::bit_or);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto [member, closed] = made[i];
    const FileIdentity file = FileIdentity::from(std::span(facts[i]).subspan(1));
    member->writes->file().made(file);
    member->file = forebay::number_of(file);
    if (facts[i][0] == 0) continue;
    hear(-facts[i][0], failed[i]);
    if (!closed) note_lost(*member, *failed[i]);
    if (closed && !closed->dropped) closed->failed = failed[i];
    if (closed) closed->dropped = true;
  }
}

// `later`: a thread may do the joint operation until something asks for its result.
void Bundle::complete(bool later) {
  if (busy_) return;
  busy_ = true;
  // Closing is local work, so ranks may have closed members in different orders.
  std::sort(closed_.begin(), closed_.end(),
            [](const Closed& a, const Closed& b) { return a.member.number < b.member.number; });
  const auto failed = attempt_together(comm_, [&] {
    if (under_way_) attempt_to([&] { queue_->drain(); });  // no thread opens a moved file
    finish_making();
    codes_.assign(closed_.size() + 1, 0);
    const auto renamed = [](StageMember* one) { return one->file().place_now() != one->path(); };
    const std::vector<StageMember*> files = waiting();
    for (std::size_t i = 0; i < closed_.size(); ++i) codes_[i] = closed_[i].dropped;
    codes_.back() = comm_.is_root() && std::any_of(files.begin(), files.end(), renamed);
    comm_.all_reduce(codes_, Reduce::max);
    for (std::size_t i = 0; i < closed_.size(); ++i) closed_[i].dropped = codes_[i] != 0;
    if (codes_.back() != 0) follow_renamed();
  });
  if (!failed) {
    last_ = {};
    report_ = {};
    messages_in_ = 0;
    traffic_.clear();
    settle();
    // If one of these fails as a whole, each file is written by itself.
    if (const auto why = attempt_and_go_on(comm_, [&] { write_by_layout(); })) note_why(*why);
    if (later && !last_.encoded.empty())
      attempt_to([&] { add_why("the close itself writes chunks, no thread"); });
    const auto apart = attempt_and_go_on(comm_, [&] { write_jointly(waiting(), later); });
    if (apart) note_apart(*apart);
    if (!report_to_.empty()) attempt_and_go_on(comm_, [&] { print_record(); });
    for (const Member& member : open_) {
      StageMember& writes = *member.writes;
      if (!writes.waiting().any || writes.is_handed_over()) continue;
      // What still waits is tried again, and its error is reported then.
      const auto lost = attempt_to([&] { writes.write_alone(); });
      if (lost && !writes.waiting().any) note_lost(member, *lost);
    }
    end_closed();
  }
  busy_ = false;
  if (failed) throw *failed;
}

// Collective; the ranks know the worst of their codes. A rank without an error gets another rank's,
// which names that rank.
void Bundle::hear(std::int64_t worst, std::optional<Error>& mine) const {
  if (worst == 0 || comm_.size() == 1) return;
  const Error others = told_by_others(comm_, mine, worst);
  if (!mine) mine = others;
}

// Collective. Completes what the thread writes: it is in the files and visible, or its error is
// known. Afterwards nothing of it waits, and what is not in the files is lost.
void Bundle::settle() {
  if (!under_way_) return;
  const std::unique_ptr<JointWrite> write = std::move(under_way_);
  JointOutcome outcome;
  const auto failed = attempt_and_go_on(comm_, [&] { outcome = finish(*write); });
  for (std::size_t f = 0; f < write->files().size(); ++f) {
    std::optional<Error> error = write->failure(f);
    if (!failed) hear(outcome.codes[f], error);
    StageMember* const file = write->files()[f];
    if (!file->is_handed_over()) continue;
    file->failed();
    if (!error) error = failed;
    if (!error) error = error_of_others(outcome.codes[f]);
    for (const Member& member : open_)
      if (member.writes == file) note_lost(member, *error);
    for (Closed& closed : closed_)
      if (closed.member.writes == file && !closed.dropped) closed.failed = error;
  }
  for (Closed& closed : closed_) {
    // A lost file is not made visible.
    closed.dropped = closed.dropped || closed.failed;
    closed.under_way = !closed.under_way;  // files that wait are written with the others
  }
  end_closed();
  for (Closed& closed : closed_) closed.under_way = false;
}

// Other ranks open files by name, so they get the current names from rank 0, which has the files
// open.
void Bundle::follow_renamed() {
  const std::vector<StageMember*> files = waiting();
  std::string places;
  if (comm_.is_root())
    for (StageMember* member : files) places += member->file().place_now() + '\0';
  comm_.broadcast(places);
  const char* place = places.c_str();
  for (StageMember* member : files) {
    member->moved(place);
    place += member->path().size() + 1;
  }
}

void Bundle::note_lost(const Member& member, const Error& error) {
  // Errors that exceed the reserved room are left out: a file may be lost again and again.
  if (lost_.size() < lost_.capacity()) lost_.emplace_back(member.path, error);
}

void Bundle::add_why(const std::string& text) {
  last_.why += (last_.why.empty() ? "" : "; ") + text;
}

void Bundle::note_why(const Error& chunks_apart) {
  attempt_to([&] { add_why("chunks not in one operation: " + chunks_apart.message()); });
}

void Bundle::note_apart(const Error& why) {
  attempt_to([&] {
    add_why("not jointly: " + why.message());
    last_.apart.clear();
    for (const StageMember* member : waiting()) last_.apart.push_back(member->path());
  });
}

// Prints only the joint operation's numbers; each file's own work is in its report.
void Bundle::print_record() {
  const bool any = !last_.files.empty() || !last_.encoded.empty() || !last_.apart.empty();
  if (!any) return;
  const ReportSummary summary = summarize(comm_, report_);
  const std::int64_t most_in = comm_.all_reduce(messages_in_, Reduce::max);
  comm_.all_reduce(traffic_, Reduce::max);
  for (std::size_t i = 0; i + 3 < traffic_.size(); i += 4)
    last_.traffic.push_back({traffic_[i], traffic_[i + 1], traffic_[i + 2], traffic_[i + 3]});
  if (!comm_.is_root()) return;
  for (std::size_t i = 0; i < counter_count; ++i)
    if (summary.sum.counters[i] > 0)
      last_.counters.emplace_back(counter_names[i],
                                  std::array{summary.max.counters[i], summary.sum.counters[i]});
  last_.most_messages_in = most_in;
  append_to_report(report_to_, last_.json(name_) + "\n");
}

// Writes chunked members jointly if there are several.
void Bundle::write_by_layout() {
  std::vector<StageMember*> files;
  std::vector<bool> closed;
  for (StageMember* file : waiting()) {
    if (options_.scheme == BundleScheme::off || !file->may_wait_for_layout()) continue;
    files.push_back(file);
  }
  if (files.size() < 2) return;
  if (std::erase_if(files, [](const StageMember* file) { return file->has_weak_caches(); }) > 0)
    note_why(Error(Errc::enotsupport, "caches of some node are weak"));
  closed.reserve(files.size());
  for (StageMember* file : files) {
    closed.push_back(std::any_of(closed_.begin(), closed_.end(),
                                 [&](const Closed& one) { return one.member.writes == file; }));
  }
  if (files.size() < 2) return;
  const auto codes = StageMember::write_by_layout(comm_, files, closed, report_);
  // If a file could not be made visible, its close tries again and reports the error.
  for (std::size_t f = 0; f < files.size(); ++f)
    for (Closed& closed : closed_)
      closed.written = closed.written || (codes[f] == 0 && closed.member.writes == files[f]);
  attempt_to([&] {
    for (std::size_t f = 0; f < files.size(); ++f)
      if (codes[f] == 0) last_.encoded.push_back(files[f]->path());
  });
}

void Bundle::write_jointly(std::span<StageMember* const> all, bool later) {
  std::vector<StageMember*> files;
  for (StageMember* file : all) {
    const bool joint =
        options_.scheme != BundleScheme::off && !overlapping_ && file->waiting_file() != nullptr;
    (joint ? files.push_back(file) : last_.apart.push_back(file->path()));
  }
  if (files.empty()) return;
  std::vector<std::unique_ptr<ExtentStream>> streams;
  for (StageMember* file : files) {
    streams.push_back(file->waiting_extents());
    if (!streams.back()) throw Error(Errc::enotsupport, file->path() + " has no extents");
  }
  const JointFacts facts = agree_on_facts(comm_, files, streams);
  const Topology& topology = Topology::of(comm_, options_.ranks_per_node);
  std::string why;
  last_.plan = choose(facts.bytes, topology.largest_node(), why);
  add_why(why);
  last_.predicted = predict(last_.plan, {}).seconds;
  auto write =
      std::make_unique<JointWrite>(comm_, std::move(files), std::move(streams), facts, last_.plan,
                                   options_, latency_, later ? queue_.get() : nullptr, report_);
  overlapping_ = overlapping_ || write->overlapped();
  messages_in_ = write->messages_in();
  for (const IsolatedTraffic& one : write->traffic())
    traffic_.insert(traffic_.end(),
                    {one.messages, one.bytes, one.aggregation_messages, one.aggregation_bytes});
  if (later && !write->overlapped()) return leave_under_way(std::move(write));
  JointOutcome outcome = finish(*write);
  last_.seconds = outcome.seconds;
  last_.times = std::move(outcome.times);
  note_time(outcome.seconds, facts.bytes);
  for (std::size_t f = 0; f < outcome.codes.size(); ++f) {
    if (outcome.codes[f] == 0) last_.numbers.push_back(f);
    (outcome.codes[f] == 0 ? last_.files : last_.apart).push_back(write->files()[f]->path());
  }
}

void Bundle::leave_under_way(std::unique_ptr<JointWrite> write) {
  for (std::size_t f = 0; f < write->files().size(); ++f) {
    StageMember* const file = write->files()[f];
    file->handed_over(write->facts().numrecs[f]);
    for (Closed& closed : closed_)
      closed.under_way = closed.under_way || closed.member.writes == file;
  }
  under_way_ = std::move(write);
  attempt_to([&] {
    for (const StageMember* file : under_way_->files()) {
      last_.numbers.push_back(last_.numbers.size());
      last_.files.push_back(file->path());
    }
    last_.why += "; a thread writes";
  });
}

// Collective. Throws on all ranks or on none. On success the values are visible.
JointOutcome Bundle::finish(JointWrite& write) {
  JointOutcome outcome = write.finish();
  latency_ = std::min(latency_, outcome.latency);
  for (std::size_t f = 0; f < outcome.codes.size(); ++f) {
    if (outcome.codes[f] != 0) continue;
    StageMember* const file = write.files()[f];
    if (!file->is_handed_over()) file->handed_over(write.facts().numrecs[f]);
    file->published(write.facts().numrecs[f]);
    for (Closed& closed : closed_)
      if (closed.member.writes == file) closed.written = true;
  }
  return outcome;
}

// Its arguments are equal on all ranks, and so is the result.
void Bundle::note_time(double seconds, std::span<const std::int64_t> bytes) {
  const auto all =
      static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
  if (!std::exchange(is_first_, false) && all > 0 && seconds > 0) {
    double& least = measured_.try_emplace(last_.plan.scheme, seconds / all).first->second;
    least = std::min(least, seconds / all);
  }
}

BundlePlan Bundle::choose(std::span<const std::int64_t> bytes, int ranks_per_node,
                          std::string& why) {
  if (options_.scheme) {
    why = "as asked for";
    return plan_bundle(bytes, comm_.size(), ranks_per_node, *options_.scheme);
  }
  // The ranks of one node write through its memory, and the last to arrive writes.
  if (ranks_per_node >= comm_.size()) {
    why = "one node";
    return plan_bundle(bytes, comm_.size(), ranks_per_node, BundleScheme::joint);
  }
  // Steps repeat: schemes that are predicted to be nearly as quick are tried once; then measured
  // times decide.
  struct Candidate {
    BundlePlan plan;
    double predicted;
  };
  std::vector<Candidate> candidates;
  for (const BundleScheme scheme : {BundleScheme::balanced, BundleScheme::bps, BundleScheme::lps,
                                    BundleScheme::ips, BundleScheme::joint}) {
    BundlePlan plan = plan_bundle(bytes, comm_.size(), ranks_per_node, scheme);
    const double predicted = predict(plan, {}).seconds;
    candidates.push_back({std::move(plan), predicted});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.predicted < b.predicted; });
  // To gather twice takes ranks longer than the model tells, except where it has much to gain.
  if (candidates[0].plan.scheme != BundleScheme::ips)
    std::erase_if(candidates,
                  [](const Candidate& c) { return c.plan.scheme == BundleScheme::ips; });
  constexpr double near = 1.2;
  std::erase_if(candidates, [most = near * candidates[0].predicted](const Candidate& c) {
    return c.predicted > most;
  });
  const auto took = [&](const Candidate& c) {
    const auto found = measured_.find(c.plan.scheme);
    return found == measured_.end() ? 0 : found->second;  // an untried scheme comes first
  };
  auto best = std::min_element(candidates.begin(), candidates.end(),
                               [&](const auto& a, const auto& b) { return took(a) < took(b); });
  why = took(*best) > 0              ? "least measured"
        : best == candidates.begin() ? "least predicted"
                                     : "tried once: predicted to take 20 % more at most";
  return std::move(best->plan);
}

// For files that are written, ranks have to agree only on errors.
void Bundle::end_closed() {
  const auto alone = [](const Closed& closed) {
    return closed.written && !closed.dropped && !closed.under_way &&
           closed.member.writes->may_close_alone();
  };
  codes_.assign(closed_.size(), 0);  // there is room
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    Closed& closed = closed_[i];
    if (alone(closed)) keep_first(closed.failed, closed.member.writes->close_alone());
    codes_[i] = closed.failed ? to_int(closed.failed->code()) : 0;
  }
  const bool any = std::any_of(closed_.begin(), closed_.end(), alone);
  const bool known = any && !attempt_to([&] { comm_.all_reduce(codes_, Reduce::min); });
  for (std::size_t i = 0; known && i < closed_.size(); ++i) {
    std::optional<Error> error = closed_[i].failed;
    hear(codes_[i], error);
    if (alone(closed_[i])) closed_[i].failed = std::move(error);
  }
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    Closed& closed = closed_[i];
    Dataset& dataset = *closed.dataset;
    if (closed.under_way) continue;
    if (closed.dropped) {
      attempt_to([&] {
        closed.member.writes->discard(false);  // the name may be another file's by now
        dataset.abort();
      });
      if (!closed.failed) continue;
    } else if (!alone(closed)) {
      closed.member.writes->leave();
      keep_first(closed.failed, attempt_to([&] { dataset.close(); }));
    }
    outcomes_.emplace_back(closed.member.path, closed.failed ? to_int(closed.failed->code()) : 0);
    if (closed.failed) note_lost(closed.member, *closed.failed);
    closed.dataset.reset();  // the next file's buffers may use this memory
  }
  std::erase_if(closed_, [](const Closed& closed) { return !closed.under_way; });
}

void Bundle::tell() {
  if (lost_.empty()) return;
  const std::string& path = *lost_.front().first;
  const Error& error = lost_.front().second;
  std::optional<Error> told = error;
  attempt_to([&] {  // with a text, if there is memory for it
    const bool named = error.message().find(path) != std::string::npos;
    std::string message = named ? error.message() : path + ": " + error.message();
    for (std::size_t i = 1; i < lost_.size(); ++i)
      message += (i == 1 ? "; as well failed: " : ", ") + *lost_[i].first;
    told = error.reworded(std::move(message), error.advice());
  });
  lost_.clear();
  throw *told;
}

std::vector<std::pair<std::string, int>> Bundle::take_outcomes() {
  std::vector<std::pair<std::string, int>> all;
  for (const auto& [path, code] : outcomes_) all.emplace_back(*path, code);
  outcomes_.clear();
  return all;
}

// The name may belong to another file by now: after a rename, or in another folder.
bool Bundle::Member::is(const std::string& name, FileNumber other) const {
  return file != no_file && other != no_file ? file == other : dataset->path() == name;
}

void Bundle::Member::wait_until_made() {
  if (!writes->file().is_being_made()) return;
  attempt_to([&] { file = forebay::number_of(writes->file().wait_until_made()); });
}

// A file that a thread makes gets its number only then, so a file of the same name is waited for.
FileNumber Bundle::number_of(const std::string& name, bool look) {
  const auto is_meant = [&](Member& member) {
    const std::string& known_as = member.dataset->path();
    if (look && last_part(known_as) == last_part(name)) member.wait_until_made();
    return known_as == name;
  };
  for (Member& member : open_) look = is_meant(member) || look;
  for (Closed& closed : closed_) look = is_meant(closed.member) || look;
  return look ? file_number(name) : no_file;
}

bool Bundle::would_lose(const std::string& name, bool look) {
  if (open_.empty()) return false;
  const FileNumber file = number_of(name, look);
  return std::any_of(open_.begin(), open_.end(), [&](const Member& member) {
    return member.file == no_file ? member.dataset->path() == name : member.file == file;
  });
}

Bundle::Known Bundle::known_as(const std::string& path, bool look) {
  Known known;
  if (is_empty()) return known;
  const std::string name = absolute_path(path);
  const FileNumber file = number_of(name, look);
  for (const Member& member : open_) {
    if (!member.is(name, file)) continue;
    known.open = member.number;
    if (member.writes->waiting().any) known.waiting = member.number;
  }
  if (known.waiting != 0) return known;
  for (const Closed& closed : closed_) {
    if (!closed.member.is(name, file)) continue;
    known.waiting = closed.member.number;
    if (!closed.dropped) return known;
  }
  return known;
}

bool Bundle::is_behind(std::int64_t number) const {
  return std::any_of(open_.begin(), open_.end(),
                     [&](const Member& member) {
                       return member.number == number && member.writes->waiting().any;
                     }) ||
         std::any_of(closed_.begin(), closed_.end(),
                     [&](const Closed& closed) { return closed.member.number == number; });
}

Bundle::Waits Bundle::waits(std::int64_t number) const {
  for (const Closed& closed : closed_)
    if (closed.member.number == number) return closed.dropped ? Waits::dropped : Waits::yes;
  for (const Member& member : open_)
    if (member.number == number) return Waits::yes;
  return Waits::no;
}

// If the name is a link, or one of several, removing it does not remove the file.
std::vector<std::int64_t> Bundle::closed_as(const std::string& path) const {
  std::vector<std::int64_t> all;
  if (closed_.empty()) return all;
  const std::string name = absolute_path(path);
  struct stat info {};
  const bool last = ::lstat(name.c_str(), &info) == 0 && info.st_nlink == 1;
  const FileNumber file = last ? FileNumber(info.st_dev, info.st_ino) : no_file;
  for (const Closed& closed : closed_)
    if (closed.member.is(name, file)) all.push_back(closed.member.number);
  return all;
}

void Bundle::drop(std::int64_t number) {
  for (Closed& closed : closed_)
    if (closed.member.number == number) closed.dropped = true;
}

}  // namespace forebay
