#include "groups/process_group/step_writer.h"

#include <algorithm>
#include <limits>

#include "base/attempt.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "groups/process_group/node_file.h"

namespace forebay::process_group {

namespace {

constexpr std::int64_t largest_head = 1 << 17;  // bytes of a variable's entry head, with its name
constexpr Count largest_alignment = Count{1} << 31;

void check(const WriteOptions& options) {
  if (options.alignment < bp::payload_alignment || options.alignment > largest_alignment ||
      options.alignment % bp::payload_alignment != 0) {
    throw Error(Errc::einval,
                "process groups cannot begin at multiples of " + std::to_string(options.alignment),
                "choose a multiple of 64 up to 2^31");
  }
  if (options.ranks_per_file < WriteOptions::by_size)
    throw Error(Errc::einval, "a data file of so many ranks", "choose 1 or more, or 0 for all");
  if (options.one_file && options.ranks_per_file != WriteOptions::all_ranks)
    throw Error(Errc::enotsupport, "BP3 has one file for all ranks",
                "leave subfiling out, or choose bp_version=4");
  if (options.one_file && options.async_memory > 0)
    throw Error(Errc::enotsupport, "BP3 files are written at once",
                "choose stage=direct, or bp_version=4");
  bp::GroupImage(options.group, false, 1);
}

std::vector<FilePiece> pieces_at(Offset at, const bp::GroupImage& image) {
  std::vector<FilePiece> pieces;
  for (const auto bytes : image.pieces()) {
    pieces.push_back({at, bytes});
    at += static_cast<Offset>(bytes.size());
  }
  return pieces;
}

}  // namespace

StepWriter::StepWriter(const Comm& comm, const std::string& path, const WriteOptions& options,
                       bool append, Report& report)
    : comm_(comm),
      options_(options),
      report_(report),
      files_(BpFiles::open(comm, path, options, append, report)),
      blocks_(files_->form()) {
  agree_on_error(comm, attempt_to([&] {
                   if (options.async_memory > 0)
                     sink_ =
                         std::make_unique<QueueSink>(comm, *files_, report, options.async_memory);
                   else
                     sink_ = std::make_unique<DirectSink>(comm, *files_, report);
                 }));
  if (!append) return;
  catalogue_.learn(comm, files_->names);
  agree_on_error(comm, attempt_to([&] { attributes_.start(catalogue_); }));
  files_->names = {};
}

std::unique_ptr<StepWriter> StepWriter::create(const Comm& comm, const std::string& path,
                                               const WriteOptions& options, Report& report) {
  process_group::check(options);
  return std::unique_ptr<StepWriter>(new StepWriter(comm, path, options, false, report));
}

void StepWriter::check_create(const std::string& path, const WriteOptions& options) {
  process_group::check(options);
  check_replaceable(path, options);
}

std::unique_ptr<StepWriter> StepWriter::append(const Comm& comm, const std::string& path,
                                               const WriteOptions& options, Report& report) {
  process_group::check(options);
  return std::unique_ptr<StepWriter>(new StepWriter(comm, path, options, true, report));
}

void StepWriter::use_log(std::unique_ptr<StepLog> log) {
  if (options_.one_file || options_.async_memory > 0)
    throw Error(Errc::enotsupport, "steps of a BP3 file, or of stage async, wait in no log",
                "choose stage=direct, or bp_version=4");
  sink_ = std::make_unique<LogSink>(comm_, *files_, report_, std::move(log));
}

// ---- Adding blocks and attributes

void StepWriter::announce(const bp::Variable& variable, Kind kind, std::size_t dimensions) {
  blocks_.names().number_of({variable, kind, static_cast<std::uint8_t>(dimensions)}, catalogue_);
}

void StepWriter::add(const bp::Variable& variable, bp::Shape shape, std::span<const std::byte> data,
                     bool lent, Measure measure) {
  const StepTimer timer(report_, Step::post);
  auto block = blocks_.made_of(variable, std::move(shape), data, catalogue_);
  if (!block) return;
  block->lent = lent;
  block->measure = measure;
  if (!lent) encode(*block, variable);
  const std::size_t bytes = block->data.size();
  // A block that does not fit even into empty memory is written from the caller's memory.
  const auto is_through = [&] { return !lent && blocks_.is_beyond(room(), bytes); };
  const auto may_wait = [&] { return !blocks_.is_beyond(options_.step_memory, bytes); };
  if (is_through()) let_out(may_wait());
  const bool through = is_through();
  if (through)
    blocks_.take_range(*block);
  else if (!lent)
    blocks_.copy(*block);
  blocks_.add(std::move(*block));
  if (through) {
    const bool waits = may_wait();
    const auto failed = attempt_to([&] {
      let_out(waits);
      if (waits && !could_pass_) blocks_.copy(blocks_.last());
    });
    if (failed) {
      blocks_.take_back();
      throw *failed;
    }
  }
  if (options_.step_memory > 0 && std::ssize(data) > options_.step_memory) {
    workspace_ = {};
    coded_ = {};
  }
  ++report_[Counter::requests];
  report_[Counter::bytes_asked_write] += static_cast<std::int64_t>(data.size());
}

/// Encodes a block of an array, if its variable has an encoder and that makes it smaller. If there
/// is no memory for that, the block stays as it is.
void StepWriter::encode(StepBlocks::Block& block, const bp::Variable& variable) {
  if (!options_.encoder_of || block.block.has_value || variable.type == bp::Type::string) return;
  const StepTimer timer(report_, Step::encode);
  auto known = encoders_.find(variable.name);
  if (known == encoders_.end())
    known = encoders_.emplace(variable.name, options_.encoder_of(variable.name)).first;
  if (!known->second) return;
  coded_.lossy.clear();
  bool is_coded = false;
  const auto failed = attempt_to([&] {
    is_coded = known->second->encode(variable.type, block.block.at.count, options_.column_major,
                                     block.data, workspace_, coded_);
  });
  if (failed && failed->code() != Errc::enomem) throw *failed;
  if (is_coded) blocks_.code(block, coded_);
}

void StepWriter::add_attribute(const bp::Attribute& attribute) {
  attributes_.add(attribute, catalogue_);
}

void StepWriter::make_room(std::size_t bytes) {
  blocks_.copies().find(std::min(bytes, static_cast<std::size_t>(room())));
}

// ---- Groups that are written before their step ends

/// Returns whether copies are written to this rank's own data file early: such a rank knows the
/// places of its groups without the others. A store with a long latency per call gets large groups
/// instead.
bool StepWriter::passes_through() {
  return could_pass_ && sink_->may_pass() && files_->data_ranks().size() == 1 &&
         !files_->waits_for_size() && !is_slow(files_->data().least_latency(true));
}

/// Returns how many bytes of copies may wait. Copies that are written early are still in a core's
/// own cache when the system copies them. Groups end at multiples of the alignment.
Count StepWriter::room() {
  constexpr Count of_cache = 512 << 10, groups_of_alignment = 16;
  if (!files_->early()) return std::numeric_limits<Count>::max();
  if (!passes_through()) return options_.step_memory;
  return std::min(options_.step_memory,
                  std::max(of_cache, groups_of_alignment * options_.alignment));
}

/// Local. Calls write_early(). With `may_wait`, an error waits for the end of the step, when all
/// ranks learn of it.
void StepWriter::let_out(bool may_wait) {
  if (!may_wait) return write_early();
  could_pass_ = !attempt_to([&] { write_early(); });
}

/// Local. Writes the step's copies to the file, as a group of their own. If this throws, nothing
/// has changed.
void StepWriter::write_early() {
  if (!blocks_.has_copies()) return;
  const StepTimer timer(report_, Step::write);
  NodeFile& early = *files_->early();
  const bool own = passes_through();
  const std::uint32_t number = own ? files_->number() : early.number();
  GroupDraft group = new_group(next_step(), number);
  const Count bytes = blocks_.put_copies(group);
  group.image.finish(options_.alignment);
  written_.make_room(group, !own);
  const Offset at =
      own ? std::max(files_->data_end, written_.end) : early.take(group.image.bytes());
  sink_->write(own ? files_->data() : early.file(), logged_data(number),
               pieces_at(at, group.image));
  if (own) written_.end = at + group.image.bytes();
  written_.early_bytes += bytes;
  written_.keep(std::move(group), at, !own);
  blocks_.forget_copies();
  ++report_[Counter::flushes];
}

// ---- Agreement of all ranks

/// Collective, before anything of the first step is written to data.K.
void StepWriter::choose_data_files() {
  if (files_->waits_for_size()) files_->spread(written_.early_bytes + blocks_.bytes());
}

std::vector<Name> StepWriter::new_names() {
  std::vector<Name> fresh = blocks_.names().new_ones();
  attributes_.add_new_names(catalogue_, fresh);
  return fresh;
}

std::uint32_t StepWriter::next_step() const {
  if (files_->steps >= std::numeric_limits<std::uint32_t>::max())
    throw Error(Errc::erange, "BP files have no numbers for more than 2^32 steps",
                "write another file");
  return static_cast<std::uint32_t>(files_->steps + 1);
}

LoggedPiece StepWriter::logged(VarId file) const {
  return {file, static_cast<std::int64_t>(files_->opening), std::int64_t{next_step()}, 0};
}

LoggedPiece StepWriter::logged_data(std::uint32_t number) const {
  return logged(LoggedPiece::data + static_cast<VarId>(number));
}

GroupDraft StepWriter::new_group(std::uint32_t step, std::uint32_t file) const {
  const bp::GroupMark mark{comm_.rank(), files_->opening, 0};
  return {{options_.group, options_.column_major, step, mark}, step, file, {}};
}

/// Makes a group of all waiting blocks.
void StepWriter::put_blocks(Part& part) {
  part.group.emplace(new_group(part.step, files_->number()));
  blocks_.put_all(*part.group);
}

/// Collective. Agrees on the names that this rank writes now, and adds up the sums that lay_out()
/// begins.
template <typename F>
void StepWriter::agree(Part& part, std::optional<Error> failed, F&& lay_out) {
  std::vector<Name> fresh;
  attempt_into(failed, [&] {
    part.step = next_step();
    blocks_.measure_lent();
    fresh = new_names();
  });
  catalogue_.agree(comm_, fresh, failed);
  files_->place_joined(blocks_, catalogue_);
  failed = attempt_to([&] {
    blocks_.names().find_places(catalogue_);
    lay_out();
  });
  add_up(comm_, part.index.sums.before, part.index.sums.total, failed);
}

/// Collective. The same for the end of a step that follows another one. If no rank has new names,
/// these need no agreement. If each rank has the same sizes as in the step before, which is the
/// usual case, the sums are equal, too. One reduction finds out both.
void StepWriter::agree_on_step(Part& part) {
  const auto lay_it_out = [&] {
    const StepTimer timer(report_, Step::define);
    lay_out(part);
  };
  if (last_.mine.empty()) return agree(part, std::nullopt, lay_it_out);
  enum : std::int64_t { like_the_last, other_sums, other_names };
  std::int64_t state = like_the_last;
  RankSums& sums = part.index.sums;
  const auto failed = attempt_to([&] {
    part.step = next_step();
    if (!new_names().empty()) {
      state = other_names;
      return;
    }
    blocks_.measure_lent();
    blocks_.names().find_places(catalogue_);
    lay_it_out();
    if (sums.mine != last_.mine) state = other_sums;
  });
  agree_on_error(comm_, failed, std::span(&state, 1), Reduce::max);
  if (state == other_names) {
    part = Part();
    agree(part, std::nullopt, lay_it_out);
  } else if (state == other_sums) {
    add_up(comm_, sums.before, sums.total, std::nullopt);
  } else {
    sums = last_;  // its memory is reserved
  }
}

// ---- Places of a step

void StepWriter::lay_out(Part& part) {
  attributes_.keep_own(catalogue_, comm_.rank());
  RankSums& sums = part.index.sums;
  const auto places = part.index.take_names(catalogue_, [&](std::size_t n) {
    return catalogue_[n].kind == Kind::attribute && attributes_.is_written(n) &&
           files_->earlier(n).entries == 0;
  });
  // At least one group must have the number of groups, and an entry from which readers take the
  // order of dimensions.
  if (comm_.is_root() || !blocks_.empty() || !attributes_.empty()) {
    put_blocks(part);
    part.group->blocks.add_to(sums, blocks_.names(), places);
    part.attributes =
        attributes_.put(part.group->image, part.step, files_->number(), catalogue_, sums, places);
    part.group->image.finish(options_.alignment);
    sums.mine[RankSums::group_bytes] = part.group->image.bytes();
  }
  written_.blocks().add_to(sums, blocks_.names(), places);
  sums.mine[RankSums::groups] = std::ssize(written_) + (part.group ? 1 : 0);
  sums.before = sums.mine;
}

/// Returns the begin of this rank's group. Sets `end` to the begin of the next step's groups.
Offset StepWriter::place_of(RankSums& sums, Offset& end) {
  if (!sums.in_file) {
    std::int64_t before = sums.before[RankSums::group_bytes],
                 all = sums.total[RankSums::group_bytes];
    if (!files_->one_data_file()) {
      before = sums.mine[RankSums::group_bytes];
      files_->data_ranks().exclusive_scan(std::span(&before, 1), std::span(&all, 1));
    }
    sums.in_file.emplace(before, all);
  }
  const Offset begin = std::max(files_->data_end, written_.end);
  end = begin + sums.in_file->second;
  return begin + sums.in_file->first;
}

void StepWriter::plan(StepIndex& index, std::uint32_t step, Offset data_end) const {
  const std::vector<std::int64_t>& total = index.sums.total;
  index.of_names.resize(index.names.size());
  for (std::size_t i = 0; i < index.names.size(); ++i) {
    const std::size_t slot = RankSums::of_name(i);
    const std::string& name = catalogue_[index.names[i]].variable.name;
    const IndexList earlier = files_->earlier(index.names[i]);
    NameSums& sums = index.of_names[i];
    sums.bytes = earlier.bytes + total[slot];
    sums.entries = earlier.entries + total[slot + 1];
    sums.earlier = earlier.bytes;
    if (sums.bytes > std::numeric_limits<std::uint32_t>::max() - largest_head)
      throw Error(Errc::evarsize,
                  name + " has " + std::to_string(sums.entries) +
                      " blocks, whose entries take more than 4 GiB",
                  options_.one_file ? "write fewer steps a file, or BP4"
                                    : "write larger and fewer blocks a step");
    if (i < index.first_attribute) sums.head_bytes = bp::variable_head_bytes(name);
  }
  const IndexList earlier = files_->earlier_groups();
  index.group_bytes = bp::group_entry_bytes(options_.group, step);
  index.groups.entries = earlier.entries + total[RankSums::groups];
  index.groups.bytes = earlier.bytes + total[RankSums::groups] * index.group_bytes;
  index.groups.earlier = earlier.bytes;
  index.plan = plan_index(files_->index_begin(data_end), index.groups.bytes, index.of_names,
                          index.first_attribute);
}

/// Local. Writes this rank's part of a step. Returns its pieces of the index, which may still be in
/// flight.
IndexPieces StepWriter::write_part(Part& part, Offset at) {
  const StepTimer timer(report_, Step::write);
  if (part.group) {
    sink_->write_last(files_->data(), logged_data(files_->number()),
                      pieces_at(at, part.group->image));
    written_.keep(std::move(*part.group), at, false);
  }
  const bp::Group group{options_.group, options_.column_major,
                        static_cast<std::uint32_t>(comm_.rank()), part.step};
  IndexPieces own =
      pieces_of(part.index, catalogue_, files_->form(), comm_.is_root(),
                written_.group_entries(group), written_.in_order(blocks_.names()), part.attributes);
  const StepTimer of_index(report_, Step::header);
  sink_->write_index(logged(LoggedPiece::metadata), own.pieces);
  files_->carry(part.index);
  return own;
}

void StepWriter::write_step() {
  choose_data_files();
  Part part;
  agree_on_step(part);
  StepIndex& index = part.index;
  if (part.group) part.group->image.tell_groups(index.sums.total[RankSums::groups]);
  Offset end = 0;
  const Offset at = place_of(index.sums, end);
  sink_->begin_writes();
  auto failed = attempt_to([&] { plan(index, part.step, end); });
  bp::StepRecord& record = index.plan.record;
  files_->make_way(record.end + bp::whole_footer_bytes, failed);
  if (!failed) sink_->begin_index(std::ssize(index.names), record.end - record.groups);
  IndexPieces own;
  if (!failed) failed = attempt_to([&] { own = write_part(part, at); });
  sink_->end_writes(failed);
  record.step = part.step;
  record.time = record_time();
  sink_->show(record);
  files_->data_end = end;
  files_->metadata_end = record.end;
  files_->steps = part.step;
  attributes_.note_written(catalogue_, index.names);
  // After the last collective step, so all ranks set it, or none. BP3 needs its own reduction in
  // any case, to place joined arrays.
  if (!options_.one_file) last_ = std::move(index.sums);
}

void StepWriter::write_flush(const std::optional<Error>& failed_before) {
  choose_data_files();
  Part part;
  RankSums& sums = part.index.sums;
  agree(part, failed_before, [&] {
    if (blocks_.has_joined())
      throw Error(Errc::enotsupport, "joined arrays of BP3 files have all blocks of a step at once",
                  "end the step, or choose bp_version=4");
    sums.start(0);
    if (!blocks_.empty()) {
      put_blocks(part);
      part.group->image.finish(options_.alignment);
      sums.mine[RankSums::group_bytes] = part.group->image.bytes();
    }
    sums.before = sums.mine;
  });
  Offset end = 0;
  const Offset at = place_of(sums, end);
  // Leaves space for the rest of the step.
  files_->make_way(end + (end - files_->data_end), std::nullopt);
  agree_on_error(comm_, attempt_to([&] {
                   if (!part.group) return;
                   const StepTimer timer(report_, Step::write);
                   sink_->write(files_->data(), logged_data(files_->number()),
                                pieces_at(at, part.group->image));
                   written_.keep(std::move(*part.group), at, false);
                 }));
  written_.end = end;
}

void StepWriter::forget_step() {
  blocks_.start_step();
  written_.clear();
  could_pass_ = true;
}

// All ranks must have ended their writes of this step.
void StepWriter::give_up_step() {
  sink_->give_up();
  const bool cut = files_->give_back();
  if (options_.step_memory > 0) {
    if (cut && files_->early()) files_->early()->drop();
    attempt_to([&] { comm_.meet(); });
  }
  forget_step();
  blocks_.names().clear();  // not all ranks know these names
  ++files_->opening;        // so its remains do not belong to another step of its number
}

// Calls f. All ranks learn of one rank's error before they give the step up together.
template <typename F>
void StepWriter::carry_out(F&& f) {
  const auto failed = up_to_meeting(comm_, f);
  if (!failed) return;
  give_up_step();
  throw Error(*failed).as_own_matter(false);
}

std::int64_t StepWriter::meetings_so_far() const {
  const auto of = [](const Comm::Backend* one) { return one ? one->meetings : 0; };
  const Comm::Backend *const all = comm_.backend(), *const some = files_->data_ranks().backend();
  return of(all) + (some == all ? 0 : of(some));
}

void StepWriter::count_meetings(std::int64_t of_step) {
  auto& [first, least, most] = meetings_;
  if (first < 0) {
    first = of_step;
    return;
  }
  least = least < 0 ? of_step : std::min(least, of_step);
  most = std::max(most, of_step);
}

void StepWriter::end_step() {
  const StepTimer timer(report_, Step::wait);
  const std::int64_t before = meetings_so_far();
  carry_out([&] {
    sink_->begin_end();
    write_step();
  });
  if (files_->early()) files_->early()->keep();
  forget_step();
  count_meetings(meetings_so_far() - before);
}

void StepWriter::flush(const std::optional<Error>& failed) {
  const StepTimer timer(report_, Step::wait);
  carry_out([&] { write_flush(failed); });
  blocks_.forget();
}

void StepWriter::sync() {
  sink_->finish();
  const StepTimer timer(report_, Step::sync);
  files_->sync();
  sink_->synced();
}

void StepWriter::close() {
  forget_step();
  auto failed = sink_->close();
  files_->close(failed);
  agree_on_error(comm_, failed);
}

}  // namespace forebay::process_group
