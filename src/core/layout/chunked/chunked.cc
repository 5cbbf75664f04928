#include "layout/chunked/chunked.h"

#include <algorithm>
#include <iterator>

#include "base/attempt.h"
#include "comm/agree.h"
#include "format/chunk_schema.h"

namespace forebay::chunked {

namespace {

ChunkOptions options_of(const Method& method) {
  ChunkOptions options;
  options.buffer_limit = method.buffer_limit;
  options.chunk_bytes = method.chunk_bytes;
  options.cache_bytes = method.chunk_cache;
  options.ranks_per_node = method.ranks_to_share_memory();
  options.codec_threads = method.codec_threads;
  if (method.chunk_read == ChunkRead::owners) options.read_plan = ReadPlan::owners;
  if (method.chunk_read == ChunkRead::everyone) options.read_plan = ReadPlan::everyone;
  return options;
}

}  // namespace

ChunkedLayout::ChunkedLayout(const ClassicSite& site)
    : site_(site),
      schema_(site.schema),
      io_(site.io),
      comm_(site.comm),
      report_(site.report),
      options_(options_of(site.method)),
      store_(schema_, io_, comm_),
      apart_(site.in_directory),
      cache_(options_.cache_bytes),
      // Independent writes beyond the limit go to a file without a name.
      deferred_(options_.buffer_limit, [this] {
        return make_nameless_file(site_.path, comm_.rank(), temporary_report_);
      }) {
  if (apart_) root_ = root_beside;
  if (site.method.wants_json_report() && comm_.is_root()) owners_.emplace();
}

// Called when the definitions have changed.
void ChunkedLayout::renew_codings() {
  codings_.clear();
  codings_.resize(schema_.vars.size());
  cache_.clear();
  open_ = 0;
  for (std::size_t v = 0; v < schema_.vars.size(); ++v) open_ += is_open(static_cast<VarId>(v));
}

void ChunkedLayout::carry_out(std::span<Request> requests, bool write, bool collective) {
  store_.require_whole();
  // Coarser levels have few bytes, so each rank reads its own.
  std::optional<Error> failed;
  if (!write) {
    const auto fine = std::stable_partition(requests.begin(), requests.end(),
                                            [](const Request& r) { return r.level == 0; });
    failed = attempt_to([&] {
      for (Request& r : std::span(fine, requests.end())) read_level(r);
    });
    requests = {requests.begin(), fine};
  }
  if (write) {
    collective || comm_.size() == 1 ? write_together(requests) : defer(requests);
  } else if (collective) {
    read_together(requests, std::move(failed));
  } else {
    std::optional<Error> refused;
    const auto good = usable(requests, refused);
    TouchFinder finder;
    const auto touches = find_touches(
        good, finder, [&](VarId v) -> auto& { return coding(v).grid; });
    read_locally(good, touches, finder);
    if (failed) throw *failed;
    if (refused) throw *refused;
  }
}

const VariableCoding& ChunkedLayout::coding(VarId var) {
  if (ChunkedLayout& file = file_of(var); &file != this) return file.coding(var);
  auto& coding = codings_[static_cast<std::size_t>(var)];
  if (!coding) coding = std::make_unique<VariableCoding>(make_coding_of(var, 0));
  return *coding;
}

VariableCoding ChunkedLayout::make_coding_of(VarId var, int level) const {
  return make_coding(schema_.vars[static_cast<std::size_t>(var)], store_.table(var).fault,
                     options_.chunk_bytes, level);
}

// If this build cannot process a variable (it lacks the codec, or the shape is damaged), only
// requests for that variable fail. Without memory all requests fail and stay unchanged, so that the
// caller can try again.
std::span<Request> ChunkedLayout::usable(std::span<Request> requests,
                                         std::optional<Error>& refused) {
  std::optional<Error> no_memory;
  const auto end = std::stable_partition(requests.begin(), requests.end(), [&](const Request& r) {
    const auto error = attempt_to([&] { coding(r.var); });
    if (error && error->code() == Errc::enomem) no_memory = error;
    if (error && !refused) refused = Error(*error).as_own_matter();
    return !error;
  });
  if (no_memory) throw *no_memory;
  return {requests.begin(), end};
}

Team& ChunkedLayout::team() {
  if (!team_) {
    team_.emplace(comm_, options_.ranks_per_node, report_);
    tasks_.reset();  // there was one thread, since the ranks that share the processors were unknown
  }
  return *team_;
}

TaskTeam& ChunkedLayout::tasks() {
  if (!tasks_) {
    int threads = options_.codec_threads;
    if (threads <= 0) threads = team_ ? team_->processors() / team_->node_size() : 1;
    tasks_.emplace(std::clamp(threads, 1, 256));
  }
  return *tasks_;
}

void ChunkedLayout::defer(std::span<Request> requests) {
  std::optional<Error> refused;
  for (Request& r : usable(requests, refused)) {
    if (r.elements == 0) continue;
    deferred_.add(coding(r.var).grid, r);
    note_range(r, deferred_ranges_);
    if (!is_open(r.var)) continue;
    Request pattern;
    pattern.var = r.var;
    pattern.selection = r.selection;
    pattern.elements = r.elements;
    deferred_patterns_.push_back(std::move(pattern));
  }
  if (refused) throw *refused;
}

bool ChunkedLayout::shapes_differ(const std::map<VarId, std::vector<Count>>& before) {
  return std::any_of(before.begin(), before.end(), [&](const auto& known) {
    return coding(known.first).grid.shape() != known.second;
  });
}

void ChunkedLayout::flush() {
  if (comm_.all_reduce(std::int64_t{!deferred_.empty()}, Reduce::max) == 0) return;
  std::map<VarId, std::vector<Count>> cut_by;
  for (const Request& r : deferred_patterns_) cut_by[r.var] = coding(r.var).grid.shape();
  const auto failed = attempt_to([&] {
    store_.require_whole();
    const FileWrites writes[] = {{this, deferred_patterns_}};
    settle_shapes(comm_, writes);
    agree_on_error(comm_, attempt_to([&] {
                     if (shapes_differ(cut_by))
                       deferred_.cut_again([&](VarId v) -> auto& { return coding(v).grid; });
                   }));
    Operation op;
    op.requests = deferred_.requests();
    op.touches = deferred_.touch_list();
    op.deferred = &deferred_;
    write_and_publish(op, std::move(deferred_ranges_));
  });
  deferred_.clear();
  deferred_ranges_.clear();
  deferred_patterns_.clear();
  if (failed) throw *failed;
}

std::vector<std::vector<std::uint32_t>> ChunkedLayout::own_chunks(const Operation& op) const {
  std::vector<std::vector<std::uint32_t>> own(op.rounds);
  for (std::uint32_t round = 0; round < op.rounds; ++round) {
    std::copy_if(op.of_round[round].begin(), op.of_round[round].end(),
                 std::back_inserter(own[round]),
                 [&](std::uint32_t i) { return op.chunks[i].owner == comm_.rank(); });
  }
  return own;
}

std::string ChunkedLayout::reasons() const {
  if (operations_ == 0) return {};
  std::string text = "chunked: " + std::to_string(operations_) +
                     (operations_ == 1 ? " collective operation" : " collective operations") +
                     " of up to " + std::to_string(most_rounds_) +
                     (most_rounds_ == 1 ? " round" : " rounds");
  if (moved_ + local_ > 0) {
    text += "; " + std::to_string(100 * moved_ / (moved_ + local_)) +
            " % of the bytes belonged to chunks of other ranks";
  }
  text += "; the busiest rank had " + std::to_string(static_cast<int>(worst_balance_ * 100)) +
          " % of the mean work at worst";
  if (team_ && !team_->shares()) {
    text += "; ";
    text += without_node_memory;
  }
  if (by_owners_ + by_everyone_ > 0) {
    text += "; of " + std::to_string(by_owners_ + by_everyone_) + " reads of a variable " +
            std::to_string(by_owners_) + " went through owners, since decoding chunks several " +
            "times would have cost more than moving their parts";
  }
  return text + lossy_.text("chunk", [&](VarId var) { return name_of(var); });
}

NamedOwners ChunkedLayout::owners() const {
  NamedOwners named;
  const std::size_t known = owners_ ? owners_->of_variable.size() : 0;
  for (std::size_t v = 0; v < std::min(known, schema_.vars.size()); ++v)
    if (!owners_->of_variable[v].empty())
      named.emplace_back(schema_.vars[v].name, owners_->of_variable[v]);
  return named;
}

}  // namespace forebay::chunked
