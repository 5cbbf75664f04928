// What decomposed variables need of a file beside their values: which variables are decomposed,
// anchors, the folder of data files, and who writes which of them.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/topology.h"
#include "format/decomposed_schema.h"
#include "layout/decomposed/decomposed.h"

namespace forebay::decomposed {
namespace {

/// Variables with fewer elements a rank than this stay where every reader finds them.
constexpr Count few_elements = 16;

bool by_rule(const Method& method, const Variable& var) {
  const auto rules = matching_rules(method, var.name);
  return std::any_of(rules.begin(), rules.end(),
                     [](const VariableRule& r) { return r.keys.contains("layout"); });
}

/// Whether the method wants it. Scalars, coordinates, text and what is small stay classic, but for
/// a rule of their own; a scalar stays in any case, as does what has one element a record.
bool wants(const Method& method, const Schema& schema, const Variable& var, int ranks) {
  if (variable_method(method, var.name).at("layout") != "decomposed") return false;
  if (var.ndims() == 0) return false;
  if (by_rule(method, var)) return true;
  const bool coordinate =
      var.ndims() == 1 && schema.dims[static_cast<std::size_t>(var.dimids[0])].name == var.name;
  return !coordinate && var.type != Type::chr && var.inner_elements >= few_elements * ranks;
}

void make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw system_error(errno, Errc::efile, "making the folder", folder);
}

}  // namespace

void DecomposedLayout::choose(const Schema* old, const KeptElsewhere& elsewhere) {
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    var.decomposed =
        !var.chunking && !elsewhere(var) && wants(site_.method, schema_, var, comm_.size());
  }
  if (schema_.any_decomposed() && schema_.any_chunked())
    throw Error(Errc::einval, site_.path + ": layouts chunked and decomposed cannot be in one file",
                "choose one of the two");
}

Schema DecomposedLayout::stored(const Schema& schema) const {
  return schema.any_decomposed() ? to_stored(schema, id_) : schema;
}

Schema DecomposedLayout::take_over(Schema stored) {
  return has_anchors(stored) ? from_stored(stored, id_) : stored;
}

std::shared_ptr<File> DecomposedLayout::make_file(const std::string& path, bool writable) {
  auto file = std::make_shared<File>(path, writable, comm_.rank(), site_.report);
  file->share(client_caches_of(folder_of(site_.path)));
  return file;
}

// Ranks of a node, or as many as are asked for, or all.
void DecomposedLayout::make_group() {
  if (group_) return;
  const Method& method = site_.method;
  Group group;
  if (method.subfiling == "none" && method.origin.contains("subfiling")) {
    group.ranks = comm_;
    group.numbers.resize(static_cast<std::size_t>(comm_.size()));
    std::iota(group.numbers.begin(), group.numbers.end(), 0);
  } else {
    const Topology& groups = Topology::of(
        comm_, method.subfiling == "ranks" ? method.subfile_ranks : method.ranks_per_node);
    group.ranks = groups.node();
    const auto ranks = groups.ranks_of(groups.my_node());
    group.numbers.assign(ranks.begin(), ranks.end());
    group.number = static_cast<std::uint32_t>(groups.my_node());
    group.groups = static_cast<std::uint32_t>(groups.nodes());
  }
  group.file = make_file(data_path(site_.path, group.number), true);
  if (group.ranks.is_root())
    group.writer = std::make_unique<DataFileWriter>(group.file, Front{id_, group.number});
  group_ = std::move(group);
}

// Behind the meeting the files are there: their group's other ranks may open them.
void DecomposedLayout::make_files() {
  by_root(comm_, [&] {
    std::random_device random;
    const std::uint64_t failed_id = id_;  // of an attempt before
    id_ = (std::uint64_t{random()} << 32) | random();
    const std::string folder = folder_of(site_.path);
    if (failed_id != 0) remove_data_files(site_.path, failed_id);
    // When the file was made its own were removed.
    if (has_data_files(site_.path))
      throw Error(Errc::eexist, folder + " holds the data files of another file",
                  "move the folder to where its file is, or remove it if that is gone");
    make_folder(folder);
    auto file = make_file(state_path(site_.path), true);
    file->create(false);
    state_file_ = std::make_unique<StateFile>(file, id_);
    state_file_->create();
  });
  comm_.broadcast(&id_, sizeof id_);
  make_group();
  agree_on_error(comm_, attempt_to([&] {
                   if (!group_->writer) return;
                   group_->file->create(false);
                   group_->writer->create();
                 }));
  group_->io = site_.make_io(group_->ranks, group_->file, site_.method, site_.report);
  state_ = {};
  state_.id = id_;
  state_.records = schema_.numrecs;
  state_.files = group_->groups;
  reader_.use(state_);
}

void DecomposedLayout::start(const Schema* old, const std::function<void(const Move&)>&) {
  if (!begun_) {
    make_files();
    commit([] {});
    begun_ = true;
  }
  write_anchors(old);
}

// An anchor holds the fill value, so that readers that know nothing of maps show no number.
void DecomposedLayout::write_anchors(const Schema* old) {
  by_root(comm_, [&] {
    for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
      const Variable& var = schema_.vars[i];
      if (var.decomposed) site_.file.write_at(var.begin, external_fill(var));
    }
  });
}

void DecomposedLayout::load() {
  begun_ = true;
  const bool writes = site_.file.writable();
  const OpenState which = wanted_state(site_.method);
  // The newest epoch of any state, through which one the synced state's roots count, and whether a
  // slot is damaged.
  std::uint64_t known[3] = {0, 0, 0};
  const auto failed = attempt_together(comm_, [&] {
    by_root(comm_, [&] {
      require_data_files(site_.path);
      state_file_ = std::make_unique<StateFile>(make_file(state_path(site_.path), writes), id_);
      state_file_->load(which);
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
    // All ranks have heard of it, in other words.
    comm_.forget_failed_meeting();
    unreadable_ = *failed;
    return;
  }
  schema_.numrecs = state_.records;
  synced_through_ = known[1];
  // Whoever opens the synced commit knows that there may be a later one.
  const bool damaged_slot = known[2] != 0;
  reader_.use(state_, damaged_slot && which == OpenState::newest);
  if (writes) open_to_write(known[0], damaged_slot);
}

// Nothing is written before later states are overruled, if there are any: who is killed leaves the
// newest commit or the one that was opened, each whole.
void DecomposedLayout::open_to_write(std::uint64_t last_epoch, bool damaged_slot) {
  make_group();
  epoch_ = last_epoch;
  RootsFound found;
  const auto failed = attempt_to([&] {
    if (!group_->writer) return;
    if (group_->number < state_.files) group_->writer->open(state_.through, synced_through_, found);
    find_stale(found);
  });
  const auto halves = to_halves(found.sums);
  std::array<std::int64_t, 5> sums{halves[0], halves[1], halves[2], halves[3], found.later};
  agree_on_error(comm_, failed, sums, Reduce::sum);
  check_roots(site_.path, state_, damaged_slot && wanted_state(site_.method) == OpenState::newest,
              {from_halves(std::span(sums).first<4>()), sums[4]});
  group_->io = site_.make_io(group_->ranks, group_->file, site_.method, site_.report);
  if (last_epoch > state_.epoch || damaged_slot) {
    in_doubt_ = true;
    overrule();
    by_root(comm_, [&] { state_file_->file().sync(); });
  }
  if (group_->groups <= state_.files) return;
  agree_on_error(comm_, attempt_to([&] {
                   if (!group_->writer || group_->number < state_.files) return;
                   group_->file->create(false);
                   group_->writer->create();
                 }));
}

// Of data files that no group is left for.
void DecomposedLayout::find_stale(RootsFound& found) {
  for (std::uint32_t n = group_->number + group_->groups; n < state_.files; n += group_->groups) {
    auto file = make_file(data_path(site_.path, n), true);
    DataFileReader reader(file, {id_, n});
    reader.load(state_.through);
    found.add(reader, n);
    auto slots = reader.later_slots();
    if (!slots.empty()) group_->stale.push_back({std::move(file), std::move(slots)});
  }
}

namespace {

void remove_own_data_files(const std::string& path, const Schema* header) noexcept {
  if (header && !has_anchors(*header)) return;
  remove_data_files(path, header ? id_of(*header) : std::nullopt);
}

}  // namespace
}  // namespace forebay::decomposed

namespace forebay {

extern const LayoutEntry decomposed_layout{
    {"decomposed", "values as ranks hold them, and each decomposition once, in files beside", 25},
    {.make = [](const ClassicSite& site) -> std::unique_ptr<ClassicPart> {
       return std::make_unique<decomposed::DecomposedLayout>(site);
     },
     .is_in = decomposed::has_anchors,
     .owns = decomposed::is_reserved_attribute,
     .instead = "layout=decomposed says it",
     .has_beside = decomposed::has_data_files,
     .remove_beside = decomposed::remove_own_data_files}};

}  // namespace forebay
