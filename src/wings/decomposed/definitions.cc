// Definitions of decomposed variables: which variables are decomposed, their anchors, the folder of
// data files, and which rank writes which file.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "array/decomposition.h"
#include "base/attempt.h"
#include "base/random_number.h"
#include "base/stale_files.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "decomposed/decomposed.h"
#include "decomposed/file_maps.h"
#include "decomposed/format/decomposed_schema.h"
#include "layout/anchors.h"
#include "layout/codec_choice.h"
#include "storage/directory.h"

namespace forebay::decomposed {
namespace {

/// Variables with fewer elements per rank stay in the classic file, where every reader finds them.
constexpr Count few_elements = 16;

/// Returns whether the method's layout is decomposed, or a decomposition defines the variable and
/// no other layout was chosen.
bool is_asked_for(const Method& method, const Schema& schema, const Variable& var) {
  if (layout_for(method, var) == "decomposed") return true;
  return var.decomposition >= 0 && !has_rule(method, var.name, "layout") &&
         !method.origin.contains("layout") && !schema.any_chunked();
}

/// Returns whether the method makes the variable decomposed. Scalars, coordinates, text and small
/// variables stay classic, unless they have their own rule, or a codec that the program chose.
/// Scalars, and variables with one element per record, always stay classic.
bool wants(const Method& method, const Schema& schema, const Variable& var, int ranks) {
  if (!is_asked_for(method, schema, var)) return false;
  if (var.decomposition >= 0) return true;
  if (var.ndims() == 0) return false;
  if (has_rule(method, var.name, "layout") || var.slab_codec) return true;
  return !is_coordinate(schema, var) && var.type != Type::chr &&
         var.inner_elements >= few_elements * ranks;
}

/// Returns the runs that a stored pattern selects, after checking that they fit the map's array.
std::vector<Run> runs_of(const Pattern& pattern, const Decomposition& map, Count most_bytes) {
  if (pattern.inner != map.shape())
    throw Error(Errc::enotnc, "a decomposition map is of variables of another shape",
                "forebay check tells what can still be read");
  Count many = static_cast<Count>(pattern.runs.size());
  for (const Steps& s : pattern.outer)
    if (!multiply_fits(many, s.count, many)) many = most_bytes;
  if (many > most_bytes / static_cast<Count>(sizeof(Run)))
    throw Error(Errc::enomem, "a decomposition map has more pieces than buffer_limit has room for",
                "raise buffer_limit, or use get_vara and the like");
  Pattern whole;
  whole.inner = pattern.inner;
  whole.runs = {{0, whole.below(1), 0}};
  std::vector<Run> runs;
  intersect(pattern, 0, whole, 0, [&](const SharedList& list) {
    for (const Shared& s : list.pieces) runs.push_back({s.b + list.b, s.count});
  });
  return runs;
}

// Removes files that a killed job left before their front was complete. Throws for other files.
void refuse_others(const std::string& folder) {
  each_in_folder(folder, [&](int at, const char* name, bool is_regular) {
    if (!is_regular || !is_number(name)) return;
    const std::string path = folder + "/" + name;
    if (!data_files::is_left_by(path, std::nullopt))
      throw Error(Errc::eexist, path + " is another file's, or nobody knows whose",
                  "move it to where its file is, or remove it if that is gone");
    ::unlinkat(at, name, 0);
  });
}

}  // namespace

// Hints do not make variables decomposed in a file that has chunks: such a file would be refused.
void DecomposedLayout::choose(const Schema* old, const KeptElsewhere& elsewhere) {
  const bool has_chunks = old && old->any_chunked();
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (has_chunks || var.chunking || elsewhere(var) ||
        !wants(site_.method, schema_, var, comm_.size()))
      continue;
    var.layout = &decomposed_layout;
    if (!var.slab_codec) var.slab_codec = codec_for(site_.method, schema_, var);
  }
  if (any_decomposed(schema_) && schema_.any_chunked())
    throw Error(Errc::einval, site_.path + ": layouts chunked and decomposed cannot be in one file",
                "choose one of the two");
}

Schema DecomposedLayout::stored(const Schema& schema) const {
  return any_decomposed(schema) ? to_stored(schema, id_) : schema;
}

bool DecomposedLayout::renew(Schema& stored) const {
  if (has_anchors(stored)) set_id(stored, id_);
  return true;
}

Schema DecomposedLayout::take_over(Schema stored) {
  return has_anchors(stored) ? from_stored(stored, id_) : stored;
}

std::shared_ptr<File> DecomposedLayout::make_file(const std::string& path, bool writable,
                                                  File::Check check) {
  auto file = std::make_shared<File>(path, writable, comm_.rank(), site_.report);
  file->share(site_.file.caches());
  data_files::expect_beside(*file, site_.file, std::move(check));
  return file;
}

std::shared_ptr<File> DecomposedLayout::make_data_file(std::uint32_t number) {
  return make_file(data_path(site_.path, number), true, [this, number](File& file) {
    data_files::check_front(file, {id_, number});
  });
}

std::shared_ptr<File> DecomposedLayout::make_state_file(bool writable) {
  return make_file(state_path(site_.path), writable,
                   [this](File& file) { check_owner(read_states(file), id_); });
}

// A group is the ranks of a node, or as many as the method says, or all.
void DecomposedLayout::make_group() {
  if (group_) return;
  Group group;
  static_cast<data_files::Group&>(group) = data_files::group_of(comm_, site_.method);
  group.file = make_data_file(group.number);
  group.file->use_queue(site_.later);
  group_ = std::move(group);
}

// Only the leader has a writer.
void DecomposedLayout::make_writer() {
  if (group_->ranks.is_root())
    group_->writer = std::make_unique<DataFileWriter>(group_->file, Front{id_, group_->number});
}

// Half of buffer_limit is for encoding: parts, results and messages. Rounds of a large node are
// smaller, to suit the processors' caches.
void DecomposedLayout::make_io() {
  const Method& method = site_.method;
  group_->io = site_.make_io(group_->ranks, group_->file, method, site_.report);
  const Topology& topology = Topology::of(comm_, method.ranks_to_share_memory());
  const auto& numbers = group_->numbers;
  const bool shares =
      numbers.size() > 1 && std::all_of(numbers.begin(), numbers.end(), [&](Rank r) {
        return topology.node_of(r) == topology.node_of(numbers[0]);
      });
  const int neighbours = topology.node().size();
  int threads = method.codec_threads;
  if (threads <= 0) threads = static_cast<int>(std::thread::hardware_concurrency()) / neighbours;
  constexpr Count node_share = Count{32} << 20, rank_share = Count{2} << 20;
  PartLimits limits;
  limits.round_bytes =
      std::min(method.buffer_limit / 8, std::max(rank_share, node_share / topology.largest_node()));
  limits.most = std::min(4 * method.chunk_bytes, limits.round_bytes / 2);
  limits.least = method.chunk_bytes;
  group_->encoder = std::make_unique<SlabEncoder>(group_->ranks, *group_->io, limits, shares,
                                                  std::clamp(threads, 1, most_threads),
                                                  method.buffer_limit / 8, site_.report, lossy_);
}

// After the collective step the files exist, and the other ranks of the group may open them. Their
// first state has no values, so that definitions alone need no commit.
void DecomposedLayout::make_files() {
  if (begun_) return;
  make_group();
  State first;
  first.records = schema_.numrecs;
  first.files = group_->groups;
  const auto make_own = [&] {
    make_writer();
    if (!group_->writer) return;
    site_.file.ensure_there();  // the folder must lie beside this file
    // Files of others were looked for before there was a state.
    group_->file->create(true);
    group_->writer->create();
    group_->file->meet();  // no commit may come before others read
  };
  const auto failed = attempt_to([&] {
    if (!comm_.is_root()) return;
    id_ = random_number();
    const std::string folder = folder_of(site_.path);
    if (directory::is_header(site_.path) && !directory::is_ours(folder))
      throw Error(Errc::eexist,
                  folder + ", where data files of " + site_.path +
                      " would lie, is a folder with other things in it",
                  "give the file another name");
    // This file's own data files were removed when it was made. A failed or killed enddef left no
    // values.
    if (may_have_values(site_.path))
      throw Error(Errc::eexist, folder + " holds the data files of another file",
                  "move the folder to where its file is, or remove it if that is gone");
    remove_data_files(site_.path, std::nullopt);
    refuse_others(folder);
    directory::make_beside(folder, site_.path);
    auto file = make_state_file(true);
    file->create(false);
    state_file_ = std::make_unique<StateFile>(file, id_);
    state_file_->create(first);
    file->meet();
    make_own();
  });
  // Each group decides by itself how it writes. Most ranks have written once or never, so the
  // lowest latency of any rank is good enough.
  const std::int64_t least = site_.file.folder().writes.least_of_any();
  std::array<std::int64_t, 2> told{comm_.is_root() ? static_cast<std::int64_t>(id_) : INT64_MIN,
                                   -least};
  agree_on_error(comm_, failed, told, Reduce::max);
  id_ = static_cast<std::uint64_t>(told[0]);
  site_.file.learn_latency(true, -told[1]);
  // Rank 0 leads a group, and has made its file.
  if (group_->groups > 1)
    agree_on_error(comm_, comm_.is_root() ? std::nullopt : attempt_to(make_own));
  make_io();
  first.id = id_;
  state_ = first;
  reader_.use(state_);
}

namespace {

/// Returns the first variable that a map defines. The file has the map's patterns with it.
std::optional<VarId> first_of(const Schema& schema, int map) {
  const auto found = std::find_if(schema.vars.begin(), schema.vars.end(), [&](const Variable& v) {
    return is_decomposed(v) && v.decomposition == map;
  });
  if (found == schema.vars.end()) return std::nullopt;
  return static_cast<VarId>(found - schema.vars.begin());
}

/// Returns the maps that define variables but are not in the file yet. The same on all ranks.
std::vector<std::size_t> new_maps(const Schema& schema, const Schema* old) {
  std::vector<std::size_t> maps;
  for (std::size_t i = 0; i < schema.decompositions.size(); ++i) {
    const auto first = first_of(schema, static_cast<int>(i));
    if (first && (!old || *first >= static_cast<VarId>(old->vars.size()))) maps.push_back(i);
  }
  return maps;
}

}  // namespace

void DecomposedLayout::start(const Schema* old, const std::function<void(const Move&)>&) {
  const auto maps = maps_to_tell(old);
  if (!maps.empty()) commit([&] { define(maps); });
  epoch_ = std::max(epoch_, definitions_epoch);
  begun_ = true;
}

void DecomposedLayout::put_anchors(const Schema* old) {
  write_anchors(site_.file, schema_, old ? old->vars.size() : 0, is_decomposed);
}

// Returns the maps to store, so that ranks find their pieces when the file is opened again. A map
// is stored only if memory follows the array on all ranks, since patterns lack the pieces' order.
std::vector<DecomposedLayout::OwnRuns> DecomposedLayout::maps_to_tell(const Schema* old) {
  const std::vector<std::size_t> maps = new_maps(schema_, old);
  std::vector<OwnRuns> fresh;
  if (maps.empty()) return fresh;
  constexpr std::size_t bits = 63;  // of a word; one bit for each map
  std::vector<std::int64_t> unordered;
  const auto failed = attempt_to([&] {
    unordered.resize((maps.size() - 1) / bits + 1);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const Decomposition& map = *schema_.decompositions[maps[i]];
      RunList runs;
      if (map.has_pieces()) runs = map.runs(0, map.pieces(), false);
      if (!map.has_pieces() || runs.overlapping || !runs.memory.empty())
        unordered[i / bits] |= std::int64_t{1} << i % bits;
      fresh.push_back({maps[i], std::move(runs.runs)});
    }
  });
  if (maps.size() <= bits) {
    agree_on_error(comm_, failed, unordered, Reduce::bit_or);
  } else {
    agree_on_error(comm_, failed);
    comm_.all_reduce(unordered, Reduce::bit_or);
  }
  for (std::size_t i = maps.size(); i-- > 0;)
    if (unordered[i / bits] >> i % bits & 1)
      fresh.erase(fresh.begin() + static_cast<std::ptrdiff_t>(i));
  return fresh;
}

// A rank that fails before its group's collective step tells the group. After that step, all ranks
// wait for each other when they agree on the commit.
void DecomposedLayout::define(std::span<const OwnRuns> fresh) {
  const Comm& group = group_->ranks;
  ForLeader patterns;
  std::vector<Item> items;
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> sizes;
  const auto failed = up_to_meeting(group, [&] {
    restore_writer();
    std::vector<Write> mine;
    for (const OwnRuns& its : fresh) {
      const Decomposition& map = *schema_.decompositions[its.map];
      Write& w = mine.emplace_back();
      w.item.var = *first_of(schema_, static_cast<int>(its.map));
      w.item.elements = map.elements();
      if (w.item.elements > 0) {
        w.what = make_selected(factored(map.shape(), its.runs), {});
        w.item.pattern = w.what->key;
      }
      items.push_back(w.item);
    }
    std::erase_if(mine, [](const Write& w) { return w.item.elements == 0; });
    patterns = new_patterns(mine);
    bytes = group.all_gather_bytes(to_tell(items, false, patterns), sizes);
  });
  if (failed) throw *failed;
  auto unnoted = attempt_to([&] {
    if (!group_->writer) return;
    const ToldItems told = told_by_all(bytes, sizes);
    for (std::size_t m = 0; m < fresh.size(); ++m) {
      std::vector<DataFileWriter::MapMember> members;
      for (std::size_t r = 0; r < told.of.size(); ++r) {
        const Item& item = told.of[r][m];
        if (item.elements > 0)
          members.push_back(
              {static_cast<std::uint32_t>(group_->numbers[r]), item.pattern, item.elements});
      }
      const std::uint32_t map = group_->writer->number_of(members);
      group_->writer->add({items[m].var, defining_record, 0, map, first_block, 0});
    }
    take_patterns(told.along);
  });
  if (any_left(bytes, sizes))  // the others wait for this exchange
    keep_first(unnoted, attempt_to([&] { send_patterns(std::move(patterns.left)); }));
  if (unnoted) throw *unnoted;
}

std::shared_ptr<const Decomposition> DecomposedLayout::stored_decomposition(int id) {
  require_readable();
  const auto var = first_of(schema_, id);
  if (!var) return nullptr;
  const Decomposition& told = *schema_.decompositions[static_cast<std::size_t>(id)];
  std::optional<std::uint64_t> epoch;
  std::optional<Pattern> mine;
  const auto look = [&] {
    epoch.reset();
    mine.reset();
    for (std::uint32_t file = 0; file < reader_.state().files; ++file) {
      const auto known = reader_.index(file).slabs(*var, defining_record);
      for (const Entry& entry : std::vector<Entry>(known.begin(), known.end())) {
        if (epoch && entry.epoch < *epoch) continue;
        if (epoch && entry.epoch > *epoch) mine.reset();
        epoch = entry.epoch;
        const Map map = reader_.index(file).map(entry.map);
        const auto me = std::find_if(map.begin(), map.end(), [&](const Member& m) {
          return m.rank == static_cast<std::uint32_t>(comm_.rank());
        });
        if (me != map.end()) mine = reader_.pattern(file, me->pattern);
      }
    }
  };
  site_.file.writable() ? look() : reader_.as_of_newest(wanted_state(site_.method), look);
  if (!epoch) return nullptr;
  std::vector<Run> runs;
  if (mine) runs = runs_of(*mine, told, site_.method.buffer_limit);
  return std::make_shared<const Decomposition>(told.dims(), told.shape(), told.ranks(), runs);
}

bool DecomposedLayout::load(Count in_header) {
  begun_ = true;
  const bool writes = site_.file.writable();
  const OpenState which = wanted_state(site_.method);
  // The newest epoch of any state, the epoch through which the synced state's roots are valid, and
  // whether a slot is damaged.
  std::uint64_t known[3] = {0, 0, 0};
  const auto failed = attempt_together(comm_, [&] {
    by_root(comm_, [&] {
      require_data_files(site_.path);
      state_file_ = std::make_unique<StateFile>(make_state_file(writes), id_);
      state_file_->load(which);
      // The job that set the mark may have been killed before the mark was on the device. Until it
      // is there, the data of an older synced state must not be overwritten.
      if (writes && state_file_->synced()) state_file_->file().sync();
      state_ = state_file_->state();
      check_records(state_, schema_);
      known[0] = state_file_->newest_epoch();
      known[1] = state_file_->synced() ? state_file_->synced()->through : 0;
      known[2] = state_file_->has_damaged_slot();
    });
    comm_.broadcast(&state_, sizeof state_);
    comm_.broadcast(known, sizeof known);
  });
  if (failed) {
    if (writes) throw *failed;
    // All ranks have this error, with different texts.
    comm_.forget_failed_meeting();
    unreadable_ = *failed;
    return false;
  }
  schema_.numrecs = state_.records;
  const bool damaged_slot = known[2] != 0;
  const bool newest = state_.epoch == known[0] && !damaged_slot;
  if (!newest) give_up_records(site_, in_header);
  synced_through_ = known[1];
  // A reader of the synced commit knows that there may be a later one.
  reader_.use(state_, damaged_slot && which == OpenState::newest);
  if (writes) open_to_write(known[0], damaged_slot);
  return newest;
}

// Later states are overruled before anything is written. So a killed job leaves the newest commit
// or the one that was opened, each complete.
void DecomposedLayout::open_to_write(std::uint64_t last_epoch, bool damaged_slot) {
  make_group();
  epoch_ = std::max(last_epoch, definitions_epoch);
  RootsFound found;
  const auto failed = attempt_to([&] {
    make_writer();
    if (!group_->writer) return;
    if (group_->number < state_.files) group_->writer->open(state_.through, synced_through_, found);
    find_stale(found);
  });
  const auto halves = to_halves(found.sums);
  std::array<std::int64_t, 5> sums{halves[0], halves[1], halves[2], halves[3], found.later};
  agree_on_error(comm_, failed, sums, Reduce::sum);
  check_roots(site_.path, state_, damaged_slot && wanted_state(site_.method) == OpenState::newest,
              {from_halves(std::span(sums).first<4>()), sums[4]});
  if (last_epoch > state_.epoch || damaged_slot) {
    in_doubt_ = true;
    overrule();
    by_root(comm_, [&] { state_file_->file().sync(); });
  }
  if (group_->groups > state_.files) {
    agree_on_error(comm_, attempt_to([&] {
                     if (!group_->writer || group_->number < state_.files) return;
                     site_.file.ensure_there();
                     group_->file->create(false);
                     group_->writer->create();
                   }));
  }
  make_io();  // the file exists by now, so that MPI-IO can open it
}

void DecomposedLayout::release() {
  if (group_ && group_->io) group_->io->close();
}

void DecomposedLayout::close() {
  std::optional<Error> failed;
  if (state_file_ && site_.file.writable())
    attempt_into(failed, [&] {
      data_files::follow_rename(site_.file, static_cast<File&>(state_file_->file()));
    });
  if (group_) {
    attempt_into(failed, [&] { group_->file->close(); });
    for (auto& stale : group_->stale) attempt_into(failed, [&] { stale.file->close(); });
  }
  if (state_file_) attempt_into(failed, [&] { static_cast<File&>(state_file_->file()).close(); });
  if (failed) throw *failed;
}

// Finds stale roots in data files without a group.
void DecomposedLayout::find_stale(RootsFound& found) {
  for (std::uint32_t n = group_->number + group_->groups; n < state_.files; n += group_->groups) {
    auto file = make_data_file(n);
    DataFileReader reader(file, {id_, n});
    reader.load(state_.through);
    found.add(reader, n);
    auto slots = reader.later_slots();
    if (!slots.empty()) group_->stale.push_back({std::move(file), std::move(slots)});
  }
}

namespace {

bool set_codec(const Schema& schema, const Method& method, Variable& var, const std::string& text) {
  if (var.chunking || schema.any_chunked() || !is_asked_for(method, schema, var)) return false;
  var.slab_codec = codec_by_program(var, text);
  return true;
}

void remove_own_data_files(const std::string& path, const Schema* header) noexcept {
  if (header && !has_anchors(*header)) return;
  remove_data_files(path, header ? id_of(*header) : std::nullopt);
}

}  // namespace
}  // namespace forebay::decomposed

namespace forebay {

extern const LayoutEntry decomposed_layout{
    {"decomposed",
     "values as ranks hold them, and each decomposition once, in files beside",
     25,
     {},
     netcdf_files,
     Encoded::slabs,
     ""},
    {.make = [](const ClassicSite& site) -> std::unique_ptr<ClassicPart> {
       return std::make_unique<decomposed::DecomposedLayout>(site);
     },
     .apart = true,
     .is_in = decomposed::has_anchors,
     .owns = decomposed::is_reserved_attribute,
     .instead = "layout=decomposed says it",
     .has_beside = decomposed::has_data_files,
     .remove_beside = decomposed::remove_own_data_files,
     .set_codec = decomposed::set_codec,
     .open_reader = decomposed::open_maps}};

}  // namespace forebay
