#include "decomposed/decomposed.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <thread>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "decomposed/format/decomposed_schema.h"
#include "decomposed/inverse_maker.h"

namespace forebay::decomposed {

/// A part of a request, with its variable.
struct NamedPart {
  VarId var;
  Part part;
  const Request* request;

  auto place() const { return std::tuple(var, part.record); }
};

namespace {

/// Up to so many small writes of one variable and record stay separate. A program that first fills
/// what another write leaves out has two. More of them come from a program that writes in small
/// pieces, and are joined.
constexpr std::ptrdiff_t most_apart = 4;
/// Only writes of at most so many bytes are joined.
constexpr Count small_write = 64 << 10;
constexpr std::size_t most_given = 1 << 16;
/// The most bytes of patterns in one call that all ranks of a group receive.
constexpr Count most_gathered = 256 << 10;
/// With less memory for indexes and plans, each piece of a read would load and plan all anew.
constexpr Count least_index_memory = 64 << 10;
/// The most bytes that a rank copies at a time within its data file.
constexpr Count most_copied = Count{4} << 20;
/// The most commits for making room when a file is closed.
constexpr int most_passes = 4;

Count index_memory(const Method& method) {
  return std::max(std::min(method.log_memory, method.buffer_limit), least_index_memory);
}

ReaderOptions reader_options(const ClassicSite& site) {
  const Method& method = site.method;
  const bool alone = site.comm.size() == 1;
  ReaderOptions options;
  options.main = &site.file;
  options.caches = site.file.caches();
  options.index_memory = index_memory(method);
  options.hole_threshold = method.hole_threshold;
  options.parts.cache_bytes = std::min(method.chunk_cache, method.buffer_limit / 4);
  // Ranks that read share the processors; a single rank has them all.
  const int processors = alone ? static_cast<int>(std::thread::hardware_concurrency()) : 1;
  options.parts.threads =
      std::clamp(method.codec_threads > 0 ? method.codec_threads : processors, 1, most_threads);
  return options;
}

InverseSizes inverse_sizes(const Method& method) {
  const Count memory = std::min(method.log_memory, method.buffer_limit);
  InverseSizes sizes;
  sizes.memory = memory / 4;
  sizes.page_runs = std::clamp<Count>(memory / 2048, 4, sizes.page_runs);
  sizes.few_runs = std::min<Count>(memory / 1024, sizes.few_runs);
  sizes.few_bytes = 2 * sizes.few_runs;
  return sizes;
}

}  // namespace

DecomposedLayout::DecomposedLayout(const ClassicSite& site)
    : site_(site),
      schema_(site.schema),
      comm_(site.comm),
      selector_(site.method.buffer_limit / 4),
      reader_(schema_, site.path, site.read, reader_options(site), site.comm.rank(), site.report),
      dealt_(comm_, schema_, reader_, index_memory(site.method)),
      waiting_(site.method.buffer_limit / 4,
               [this] { return make_nameless_file(site_.path, comm_.rank(), temporary_report_); }) {
}

DecomposedLayout::~DecomposedLayout() {
  if (group_) {
    group_->file->leave();
    for (auto& stale : group_->stale) stale.file->leave();
  }
  if (state_file_) static_cast<File&>(state_file_->file()).leave();
  if (site_.file.writable()) reader_.leave();
}

void DecomposedLayout::require_readable() const {
  if (unreadable_) throw *unreadable_;
}

void DecomposedLayout::carry_out(std::span<Request> requests, bool write, bool collective) {
  require_readable();
  if (!write) {
    const auto failed = attempt_to([&] { read(requests, collective); });
    if (collective) return agree_on_error(comm_, failed);
    if (failed) throw *failed;
    return;
  }
  if (collective || comm_.size() == 1) {
    if (still_waiting_) flush();  // the earlier writes come first
    if (writes_later()) return append_uncommitted(requests);
    return commit([&] { append([&] { return requests; }); });
  }
  for (const Request& r : requests)
    if (r.elements > 0) waiting_.add(r);
}

void DecomposedLayout::flush() {
  const std::int64_t rounds = comm_.all_reduce(waiting_.rounds(), Reduce::max);
  if (rounds == 0) return;
  still_waiting_ = true;
  waiting_.begin_again();
  const auto failed = attempt_to([&] {
    commit([&] {
      for (std::int64_t round = 0; round < rounds; ++round)
        append([&] { return waiting_.next_round(); });
    });
  });
  if (failed)
    throw failed->reworded(
        failed->message() + ", so independent writes are not in the file",
        "they are kept, and tried again by the next collective write or sync: close loses "
        "those that it cannot write");
  still_waiting_ = false;
  attempt_to([&] { waiting_.clear(); });
}

// -- writing

// Adds the writes of one variable and record, whose parts are in order of posting. A part is
// dropped if a later one has the same pattern. Many small parts are joined, with their data.
void DecomposedLayout::add_writes(std::span<const NamedPart> parts, std::vector<Write>& writes) {
  std::vector<const NamedPart*> kept;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Of many parts, only neighbours are compared: the rest is joined below.
    const std::size_t until = std::min(parts.size(), i + 1 + static_cast<std::size_t>(most_apart));
    const bool again = std::any_of(
        parts.begin() + static_cast<std::ptrdiff_t>(i) + 1,
        parts.begin() + static_cast<std::ptrdiff_t>(until),
        [&](const NamedPart& later) { return later.part.what->key == parts[i].part.what->key; });
    if (!again) kept.push_back(&parts[i]);
  }
  const Variable& var = schema_.vars[static_cast<std::size_t>(parts[0].var)];
  const Count width = size_of(var.type);
  const auto add = [&](std::shared_ptr<const Selected> what, const std::byte* data, int swap) {
    Write& w = writes.emplace_back();
    w.item.var = parts[0].var;
    w.item.record = parts[0].part.record;
    w.item.order = order_;
    if (writes.size() > 1) {
      const Item& before = writes[writes.size() - 2].item;
      if (before.var == w.item.var && before.record == w.item.record)
        w.item.order = before.order + 1;
    }
    w.item.elements = what->elements;
    w.item.pattern = what->key;
    w.what = std::move(what);
    w.data = data;
    w.width = static_cast<int>(width);
    w.swap = swap;
  };
  Count elements = 0;
  for (const NamedPart* p : kept) elements += p->part.what->elements;
  const bool join = std::ssize(kept) > most_apart &&
                    elements * width / std::ssize(kept) <= small_write &&
                    elements * width <= site_.method.buffer_limit;
  if (!join) {
    for (const NamedPart* p : kept)
      add(p->part.what, p->request->packed + p->part.memory * width, p->request->swap);
    return;
  }
  auto& data = staged_.emplace_back(static_cast<std::size_t>(elements * width));
  std::vector<Part> all;
  std::vector<Count> begins;
  Count at = 0;
  for (const NamedPart* p : kept) {
    all.push_back(p->part);
    begins.push_back(at);
    each_in_memory(*p->part.what, 0, p->part.what->elements, [&](Count memory, Count count) {
      copy_swapped(data.data() + at * width, p->request->packed + (p->part.memory + memory) * width,
                   static_cast<std::size_t>(count * width), p->request->swap);
      at += count;
    });
  }
  joined_ += std::ssize(kept);
  add(selector_.joined(all, var, begins), data.data(), 1);
}

std::vector<DecomposedLayout::Write> DecomposedLayout::writes_of(std::span<Request> requests) {
  StepTimer timer(site_.report, Step::plan);
  selector_.begin_operation();
  staged_.clear();
  std::vector<NamedPart> parts;
  for (const Request& r : requests) {
    if (r.elements == 0) continue;
    for (Part& part : selector_.parts_of(r, schema_.vars[static_cast<std::size_t>(r.var)]))
      parts.push_back({r.var, std::move(part), &r});
  }
  const auto before = [](const NamedPart& a, const NamedPart& b) { return a.place() < b.place(); };
  if (!std::is_sorted(parts.begin(), parts.end(), before))
    std::stable_sort(parts.begin(), parts.end(), before);
  std::vector<Write> writes;
  for (std::size_t i = 0, end = 0; i < parts.size(); i = end) {
    while (end < parts.size() && parts[end].place() == parts[i].place()) ++end;
    add_writes(std::span(parts).subspan(i, end - i), writes);
  }
  return writes;
}

// Each pattern goes to the leader once. The leader finds out whether it has it from an earlier job.
// Few patterns go along with the group's gather of sizes, many go in messages.
ForLeader DecomposedLayout::new_patterns(std::span<const Write> writes) {
  std::vector<std::byte> bytes;
  for (const Write& w : writes) {
    if (!given_.insert(w.item.pattern).second) continue;
    put(bytes, w.item.pattern);
    put_list(bytes, std::span<const std::byte>(packer_.pack(w.what->pattern)));
  }
  const Count most = std::min(most_gathered, site_.method.buffer_limit / 64);
  ForLeader patterns;
  (std::ssize(bytes) > most / group_->ranks.size() ? patterns.left : patterns.along) =
      std::move(bytes);
  return patterns;
}

void DecomposedLayout::take_patterns(std::span<const std::byte> patterns) {
  while (!patterns.empty()) {
    const auto key = take<Key>(patterns);
    group_->writer->give(key, take_list<std::byte>(patterns));
  }
}

void DecomposedLayout::send_patterns(std::vector<std::byte> mine) {
  const Message one{0, std::move(mine)};  // allocated before the exchange, in which the others wait
  sparse_exchange(group_->ranks, std::span(&one, one.bytes.empty() ? 0 : 1),
                  [&](Rank, std::span<const std::byte> bytes) { take_patterns(bytes); });
}

// Reads the leader's file again if the leader had no memory to keep track of it.
void DecomposedLayout::restore_writer() {
  if (!writer_lost_) return;
  auto writer = std::make_unique<DataFileWriter>(group_->file, Front{id_, group_->number});
  RootsFound found;  // was checked when the file was opened
  writer->open(state_.through, synced_through_, found);
  group_->writer = std::move(writer);
  writer_lost_ = false;
}

Settled DecomposedLayout::settle_all(std::span<const Item> items, std::span<const Blob> blobs,
                                     const ForLeader& beside) {
  std::optional<StepTimer> timer(std::in_place, site_.report, Step::plan);
  const auto variable = [&](VarId id) -> const Variable& {
    return schema_.vars[static_cast<std::size_t>(id)];
  };
  SlabRules rules;
  rules.width = [&](VarId id) { return size_of(variable(id).type); };
  rules.is_encoded = [&](VarId id) { return is_encoded(variable(id)); };
  rules.encode = [&](std::span<const FreshSlab> slabs) {
    timer.reset();
    group_->encoder->encode(
        slabs, blobs,
        [&](VarId id) {
          return SlabEncoder::Encoding{&codings_.of(variable(id)), missing_rule(variable(id))};
        },
        group_->writer.get());
    timer.emplace(site_.report, Step::plan);
  };
  return settle(group_->ranks, items, beside, group_->numbers, site_.method.buffer_limit / 8, rules,
                group_->writer.get());
}

// Ends with the collective step of the group's transport. A rank that fails earlier tells its
// group, which waits for no other rank. All ranks get the error when they agree on the commit.
void DecomposedLayout::append(const std::function<std::span<Request>()>& requests,
                              std::optional<DataFileWriter::Mark>* before) {
  Settled settled;
  const auto failed = up_to_meeting(group_->ranks, [&] {
    restore_writer();
    if (before && group_->writer) *before = group_->writer->mark();
    const std::vector<Write> writes = writes_of(requests());
    std::vector<Item> items;
    items.reserve(writes.size());
    for (const Write& w : writes) items.push_back(w.item);
    auto blobs = std::make_shared<std::vector<Blob>>();
    for (const Write& w : writes) blobs->push_back({0, 0, w.what, w.data, w.width, w.swap});
    ForLeader patterns = new_patterns(writes);
    settled = settle_all(items, *blobs, patterns);
    if (settled.any_left) send_patterns(std::move(patterns.left));  // others wait for it
    if (group_->writer) take_patterns(settled.along);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      (*blobs)[i].offset = settled.places[i].offset;
      (*blobs)[i].padding = settled.places[i].padding;
    }
    std::erase_if(*blobs, [](const Blob& b) { return b.offset == BlobPlace::encoded; });
    // Slabs of a later round may lie before those of an earlier one.
    std::sort(blobs->begin(), blobs->end(),
              [](const Blob& a, const Blob& b) { return a.offset < b.offset; });
    BlobStream stream(std::move(blobs));
    group_->io->write_all(stream);
  });
  if (failed) throw *failed;
  order_ = std::max(order_, settled.orders);
}

// Either all groups have the writes in their files or queues, or no rank refers to them.
void DecomposedLayout::append_uncommitted(std::span<Request> requests) {
  std::optional<DataFileWriter::Mark> mark;
  std::uint64_t epoch = 0;
  const auto failed = attempt_to([&] {
    overrule();
    epoch = next_epoch();
    append([&] { return requests; }, &mark);
  });
  staged_.clear();  // it was copied
  order_ = 0;
  const auto outcome = attempt_to([&] { agree_on_error(comm_, failed); });
  if (!outcome) {
    if (mark) group_->writer->date(*mark, epoch);
    uncommitted_ = true;
    return;
  }
  given_.clear();
  if (mark) attempt_to([&] { group_->writer->back_to(*mark); });
  throw *outcome;
}

// The state is written after everything that it makes valid, and after the collective step in which
// all ranks confirm that this is in their files. Until then the last commit's data is unchanged.
void DecomposedLayout::commit(const std::function<void()>& append) {
  std::uint64_t epoch = 0;
  auto failed = attempt_to([&] {
    overrule();
    epoch = next_epoch();
    append();
  });
  // Needed after a failure too: other ranks' threads may still write to space that is freed below.
  if (writes_later()) keep_first(failed, attempt_to([&] { site_.later->drain(); }));
  std::array<std::int64_t, 4> change{};  // of the sums over the roots
  keep_first(failed, attempt_to([&] {
               if (failed) return;
               restore_writer();
               for (const Group::Stale& stale : group_->stale) {
                 wipe(*stale.file, stale.slots);
                 stale.file->meet();
               }
               group_->stale.clear();
               if (group_->writer) {
                 group_->writer->write(epoch);
                 change = to_halves(group_->writer->change());
               }
               group_->file->meet();
             }));
  State next = state_;
  next.epoch = next.through = epoch;
  next.records = schema_.numrecs;
  next.files = std::max(next.files, group_->groups);
  const auto outcome = attempt_to([&] {
    agree_on_error(comm_, failed, change, Reduce::sum);
    next.roots += from_halves(change);
    in_doubt_ = true;
    write_state(next);
    in_doubt_ = false;
  });
  staged_.clear();
  if (outcome) given_.clear();
  if (outcome && uncommitted_) {  // the data stays, so that the commit can be tried again
    if (group_->writer) group_->writer->unwritten();
    throw *outcome;
  }
  order_ = 0;
  if (outcome) {
    if (group_->writer && attempt_to([&] { group_->writer->dropped(); })) writer_lost_ = true;
    throw *outcome;
  }
  uncommitted_ = false;
  ++commits_;
  if (group_->writer && attempt_to([&] { group_->writer->committed(); })) writer_lost_ = true;
  if (given_.size() > most_given) given_.clear();
}

void DecomposedLayout::write_state(const State& next) {
  by_root(comm_, [&] {
    state_file_->write(next);
    static_cast<File&>(state_file_->file()).meet();
  });
  if (comm_.is_root()) state_file_->written();
  state_ = next;
  state_.synced = false;
  reader_.use(state_);
}

// Called if writing a state failed but may have arrived, or if later states are given up. Writes a
// state equal to the last valid one, before anything else is written.
void DecomposedLayout::overrule() {
  if (!in_doubt_) return;
  State same = state_;
  same.epoch = next_epoch();
  write_state(same);
  in_doubt_ = false;
}

void DecomposedLayout::publish() {
  require_readable();
  if (uncommitted_ || schema_.numrecs != state_.records) commit([] {});
}

std::optional<bool> DecomposedLayout::has_last_work() const {
  if (unreadable_ || waiting_.rounds() > 0 || still_waiting_ || uncommitted_ || writer_lost_ ||
      schema_.numrecs != state_.records)
    return true;
  bool any = false;
  attempt_to([&] {
    if (!group_ || !group_->writer) return;
    const DataFileWriter& its = *group_->writer;
    any = (commits_ > 0 && (its.is_too_long() || its.is_sparse())) ||
          !maps_to_invert(its.index(), inverse_sizes(site_.method)).empty();
  });
  return any;
}

void DecomposedLayout::publish_last() {
  publish();
  if (commits_ > 0 && !site_.method.report.empty()) lossy_.gather(comm_, schema_.vars.size());
  std::array<std::int64_t, 2> wanted{};
  attempt_to([&] {
    restore_writer();
    if (!group_->writer) return;
    const DataFileWriter& its = *group_->writer;
    const bool inverts = !maps_to_invert(its.index(), inverse_sizes(site_.method)).empty();
    wanted = {commits_ > 0 && its.is_sparse(), inverts};
  });
  const bool sparse = wanted[0] != 0;
  comm_.all_reduce(wanted, Reduce::max);
  const bool was_synced = state_.synced;
  if (wanted[0] != 0) compact(sparse);
  if (wanted[1] != 0) invert();
  // A job that synced last must find a synced state after a power failure.
  if (was_synced && !state_.synced) synced();
  if (commits_ > 0 && !in_doubt_ && !writer_lost_ && group_->writer) group_->writer->cut();
}

// Makes commits that have moved data at its new places and all metadata in one section, so that old
// sections free their space. Repeats while that makes room. A file may stay longer than needed.
void DecomposedLayout::compact(bool mine) {
  StepTimer timer(site_.report, Step::write);
  const Comm& group = group_->ranks;
  const auto failed = attempt_and_go_on(comm_, [&] {
    bool moved = true;  // whether the commit before moved anything
    for (int pass = 0; pass < most_passes; ++pass) {
      std::vector<BytesToMove> moves;
      std::int64_t any = 0;
      if (mine) {
        restore_writer();
        moves = group_->writer->make_moves(site_.method.buffer_limit * group.size(), most_copied);
        any = group_->writer->has_moves();
      }
      any = comm_.all_reduce(any, Reduce::max);
      if (any == 0 && !moved) return;
      commit([&] {
        if (mine) group_->writer->renew();
        together(group, [&] {
          group.broadcast(moves);
          for (auto i = static_cast<std::size_t>(group.rank()); i < moves.size();
               i += static_cast<std::size_t>(group.size()))
            copy_bytes(*group_->file, moves[i]);
        });
      });
      moved = any != 0;
    }
  });
  if (failed && group_->writer) writer_lost_ = true;  // it may have moves without a commit
}

// Makes the missing inverses of maps. Without them reads only take longer, so errors are not fatal.
void DecomposedLayout::invert() {
  StepTimer timer(site_.report, Step::plan);
  not_inverted_ = attempt_and_go_on(comm_, [&] {
    commit([&] {
      together(group_->ranks, [&] {
        restore_writer();
        make_inverses(group_->ranks, *group_->file, inverse_sizes(site_.method),
                      group_->writer.get());
      });
    });
  });
}

// Syncs this group's file. Once a session it also syncs files without a group, which earlier jobs
// wrote, and the folders of all, since a commit relies on them.
void DecomposedLayout::sync_data_files() {
  group_->file->sync();
  if (names_synced_) return;
  const std::string folder = data_files::folder_now(*group_->file);
  if (group_->writer) {
    for (std::uint32_t n = group_->number + group_->groups; n < state_.files; n += group_->groups)
      path_sync_.file(folder + "/" + std::to_string(n));
  }
  if (comm_.is_root()) {
    path_sync_.folder_of(group_->file->place_now());
    path_sync_.folder_of(folder);
  }
  names_synced_ = true;
}

void DecomposedLayout::synced() {
  require_readable();
  overrule();
  agree_on_error(comm_, attempt_to([&] { sync_data_files(); }));
  bool news = false;
  by_root(comm_, [&] {
    state_file_->file().sync();
    news = state_file_->mark_synced();
    if (news) state_file_->file().sync();
  });
  if (news) state_file_->marked();
  state_.synced = true;
  synced_through_ = state_.through;
  if (group_->writer && attempt_to([&] { group_->writer->synced(); })) writer_lost_ = true;
}

// -- reading

void DecomposedLayout::read(std::span<Request> requests, bool collective) {
  StepTimer timer(site_.report, Step::read);
  const bool deals = collective && comm_.size() > 1 && state_.files > 1;
  std::vector<Wanted> wanted;
  const auto variable = [&](const Request& r) -> const Variable& {
    return schema_.vars[static_cast<std::size_t>(r.var)];
  };
  const auto failed = attempt_to([&] {
    selector_.begin_operation();
    for (const Request& r : requests) {
      if (r.elements == 0) continue;
      for (Part& part : selector_.parts_of(r, variable(r))) wanted.push_back({&r, std::move(part)});
    }
  });
  if (failed) wanted.clear();
  if (wanted.empty() && !deals) {
    if (failed) throw *failed;
    return;
  }
  const auto read_all = [&] { deals ? dealt_.read(wanted) : reader_.read(wanted); };
  const OpenState which = wanted_state(site_.method);
  if (site_.file.writable())
    read_all();
  else
    deals ? dealt_.as_of_newest(which, read_all) : reader_.as_of_newest(which, read_all);
  if (failed) throw *failed;
  if (waiting_.empty()) return;
  // Applies later writes that wait.
  for (const auto& [request, part] : wanted)
    waiting_.apply(*request, part, variable(*request), selector_);
}

// Each rank fills an interval of the record.
void DecomposedLayout::fill_record(VarId id, Count record) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  const Count width = size_of(var.type), all = var.inner_elements;
  const Count first =
      all / comm_.size() * comm_.rank() + std::min<Count>(comm_.rank(), all % comm_.size());
  const Count mine = all / comm_.size() + (comm_.rank() < all % comm_.size() ? 1 : 0);
  std::vector<std::byte> values;
  std::vector<Request> requests;
  const auto failed = attempt_to([&] {
    if (mine == 0) return;
    const auto value = external_fill(var);
    values.reserve(static_cast<std::size_t>(mine * width));
    for (Count i = 0; i < mine; ++i) values.insert(values.end(), value.begin(), value.end());
    RunList list;
    list.runs = {{(record * all + first) * width, mine * width}};
    list.bytes = mine * width;
    Request& r = requests.emplace_back();
    r.var = id;
    r.write = true;
    r.selection = Runs{std::make_shared<const RunList>(std::move(list))};
    r.last_record = record + 1;
    r.elements = mine;
    r.packed = values.data();
    r.element_size = static_cast<int>(width);
  });
  agree_on_error(comm_, failed);
  carry_out(requests, true, true);
}

std::string DecomposedLayout::reasons() const {
  if (commits_ == 0) return {};
  std::string text =
      "decomposed: " + std::to_string(commits_) + (commits_ == 1 ? " commit" : " commits") +
      " to " + std::to_string(state_.files) + (state_.files == 1 ? " data file" : " data files");
  if (joined_ > 0)
    text += "; " + std::to_string(joined_) +
            " small writes were put together, as each would have had a map of its own";
  if (not_inverted_) text += "; without inverse maps, " + not_inverted_->message();
  return text + lossy_.text("part", [&](VarId var) {
    return schema_.vars[static_cast<std::size_t>(var)].name;
  });
}

}  // namespace forebay::decomposed
