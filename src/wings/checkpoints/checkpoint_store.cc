#include "checkpoints/checkpoint_store.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "base/path.h"
#include "comm/agree.h"

namespace forebay::checkpoint {

namespace {

void check_variable(const Part& part) {
  if (part.name.empty()) throw Error(Errc::ebadname, "a variable of checkpoints without a name");
  if (!is_valid(part.type))
    throw Error(Errc::ebadtype, "variable " + part.name + " is of a type that there is not");
  if (part.shape.size() > most_dimensions)
    throw Error(Errc::emaxdims, "variable " + part.name + " has more than " +
                                    std::to_string(most_dimensions) + " dimensions");
  Count bytes = size_of(part.type);
  for (const Count length : part.shape) {
    if (length < 0) throw Error(Errc::einval, "variable " + part.name + " has a negative extent");
    if (!multiply_fits(bytes, length, bytes) || bytes > Count{1} << 60)
      throw Error(Errc::evarsize, "variable " + part.name + " is too large");
  }
}

std::span<const std::byte> bytes_at(const void* values, Count bytes) {
  return {static_cast<const std::byte*>(values), static_cast<std::size_t>(bytes)};
}

/// Returns the number of threads: as the method says, otherwise all processors for a single
/// process, and one for each of several ranks.
std::size_t threads_of(const Comm& comm, const Method& method) {
  constexpr int most = 64;
  const int chosen = comm.size() == 1 ? static_cast<int>(std::thread::hardware_concurrency()) : 1;
  const int threads = method.codec_threads > 0 ? method.codec_threads : chosen;
  return static_cast<std::size_t>(std::clamp(threads, 1, most));
}

constexpr Count least_spare = 64 << 10;  ///< the C library itself keeps smaller blocks

constexpr std::string_view nowhere = "none";

[[noreturn]] void throw_no_room(const StateId& id) {
  throw Error(Errc::eno_space, words_for(id) + " has room in no tier",
              "give checkpoints more room, or a codec");
}

Count limit_of(Count bytes) { return bytes == 0 ? FileTier::no_limit : bytes; }

/// Returns the prefix of files: NAME, or its last part in `directory` if that is given. Relative
/// paths start in `folder`.
std::string prefix_in(const std::string& folder, const std::string& directory,
                      const std::string& name, Rank rank) {
  const std::filesystem::path path(name);
  const auto base =
      directory == nowhere ? path : std::filesystem::path(directory) / path.filename();
  return (std::filesystem::path(folder) / base).string() + "." + std::to_string(rank);
}

/// Collective. Returns rank 0's current folder, since the program may change folders later, and
/// other ranks may have another one. Empty if the folder was removed.
std::string folder_of_root(const Comm& comm) {
  std::string folder = comm.is_root() ? current_folder() : std::string();
  comm.broadcast(folder);
  return folder;
}

}  // namespace

Store::Store(const Comm& comm, const std::string& name, const Method& method)
    : process_(::getpid()),
      comm_(comm),
      name_(name),
      method_(method),
      memory_(method.checkpoint_memory),
      team_(threads_of(comm, method)),
      team_beside_(team_.size()) {
  together(comm_, [&] {
    if (std::filesystem::path(name).filename().empty())
      throw Error(Errc::ebadname, "checkpoints without a name", "give the path of a file");
    join_set();
    open_tiers();
    const std::optional<Loss> loss = find_loss();
    require_files_of_all(loss && !loss->plan.empty());
    if (fast_) fast_->begin();
    directory_->begin();
    if (loss) recover(*loss);
    for (const Kind kind : {Kind::state, Kind::adjoint}) keep_common(kind);
    drop_lone_parity();
    tell_damage();
    account_[Account::drops] = 0;  // do not count dropped states of earlier jobs
  });
  if (attempt_to([&] { thread_ = std::thread([this] { work(); }); }))
    account_.note_reason("no thread was to be had: pushes move states down themselves");
}

Store::~Store() { stop(); }

void Store::open_tiers() {
  const std::string folder = folder_of_root(comm_);
  const auto open = [&](const std::string& directory, Count bytes) {
    const Rank rank = comm_.rank();
    return std::make_unique<FileTier>(prefix_in(folder, directory, name_, rank), rank, comm_.size(),
                                      limit_of(bytes));
  };
  if (method_.checkpoint_fast != nowhere)
    fast_ = open(method_.checkpoint_fast, method_.checkpoint_fast_bytes);
  directory_ = open(method_.checkpoint_dir, method_.checkpoint_dir_bytes);
  // An earlier program may have synced states, and what it did later may not be on the device:
  // which states it dropped, and what replaced them.
  for (FileTier* tier : {fast_.get(), directory_.get()})
    if (tier && !tier->is_new()) tier->sync();
  if (fast_) take_states(Tier::fast);
  take_states(Tier::directory);
  synced_ = last_serial_;
}

/// Collective. If the files of one rank are elsewhere, in another directory or on another node, the
/// states of all others would be dropped. Throws in this case.
void Store::require_files_of_all(bool recovers) {
  const bool is_new = directory_->is_new() && (!fast_ || fast_->is_new()) && !recovers;
  std::int64_t told[] = {is_new ? comm_.rank() : comm_.size(), -std::ssize(states_.all())};
  comm_.all_reduce(told, Reduce::min);
  if (told[0] == comm_.size() || told[1] == 0) return;
  throw Error(Errc::einval,
              name_ + ": rank " + std::to_string(told[0]) +
                  " has no files, and others have checkpoints that are nothing without its own",
              "bring them back, or remove those of all ranks to begin anew");
}

/// Adds the states in the files of a tier. If two records have one state, the later one stays: a
/// job was killed while it replaced or moved the state.
void Store::take_states(Tier tier) {
  FileTier& from = *files(tier);
  damage_.insert(damage_.end(), from.damage().begin(), from.damage().end());
  for (auto& [serial, record] : from.take_records()) {
    last_serial_ = std::max(last_serial_, serial);
    if (is_parity(record.id.kind)) {
      take_parity(tier, std::move(record));
      continue;
    }
    const StatePtr known = states_.find(record.id);
    if (known && known->record.serial >= serial) {
      from.drop(serial, true);
      continue;
    }
    if (known) {
      files(known->tier)->drop(known->record.serial, true);
      states_.remove(*known);
    }
    const auto state = std::make_shared<State>();
    state->record = std::move(record);
    state->tier = state->pushed = tier;
    states_.add(state);
  }
}

/// Collective. Puts the damage of all ranks into the report, which is rank 0's.
void Store::tell_damage() {
  constexpr std::int64_t most = 64 << 10;
  if (comm_.all_reduce(std::ssize(damage_), Reduce::sum) == 0) return;
  std::string mine;
  for (const std::string& what : damage_)
    mine += "rank " + std::to_string(comm_.rank()) + ": " + what + "\n";
  std::vector<std::int64_t> sizes;
  const auto all = comm_.all_gather_up_to(most, std::as_bytes(std::span(mine)), sizes);
  if (!all)
    return account_.note_reason("files of many states are damaged: forebay checkpoint check " +
                                name_ + " names them");
  std::istringstream lines(std::string(reinterpret_cast<const char*>(all->data()), all->size()));
  for (std::string line; std::getline(lines, line);) account_.note_reason(line);
}

void Store::keep_common(Kind kind) {
  if (comm_.size() == 1) return;
  std::vector<Count> mine(count(kind));
  steps(kind, mine.size(), mine.data());
  std::vector<std::byte> listed;
  if (comm_.is_root()) {
    const auto bytes = std::as_bytes(std::span(mine));
    listed.assign(bytes.begin(), bytes.end());
  }
  comm_.broadcast(listed);
  std::vector<Count> steps(listed.size() / sizeof(Count));
  if (!steps.empty()) std::memcpy(steps.data(), listed.data(), listed.size());
  std::vector<std::int64_t> has;
  has.reserve(steps.size());
  for (const Count step : steps)
    has.push_back(std::binary_search(mine.begin(), mine.end(), step) ? 1 : 0);
  if (!has.empty()) comm_.all_reduce(has, Reduce::min);
  for (const Count step : mine) {
    const auto at = std::lower_bound(steps.begin(), steps.end(), step);
    if (at == steps.end() || *at != step || has[static_cast<std::size_t>(at - steps.begin())] == 0)
      drop({kind, step});
  }
}

Store::Variable Store::make_variable(const std::string& name, Type type, std::vector<Count> shape,
                                     const std::optional<std::string>& codec, void* memory) const {
  Variable made{
      {name, type, std::move(shape), "none", {}}, {}, static_cast<std::byte*>(memory), {}};
  check_variable(made.part);
  const Pipeline asked = Pipeline::parse(codec ? *codec : variable_value(method_, name, "codec"));
  made.codec = said_outside(method_, name, "codec")
                   ? Pipeline::parse(variable_value(method_, name, "codec"))
                   : asked;
  made.declared = made.codec.text();
  codec_of(made.part, made.codec);  // throws if the codec is not allowed
  return made;
}

int Store::add_variable(const std::string& name, Type type, std::vector<Count> shape,
                        const std::optional<std::string>& codec, void* memory) {
  Variable made = make_variable(name, type, std::move(shape), codec, memory);
  for (const Variable& other : variables_)
    if (other.part.name == name)
      throw Error(Errc::enameinuse, "a second variable " + name, "give it another name");
  if (const auto said = said_outside(method_, name, "codec"); said && codec)
    account_.note_reason("the program's codec " + *codec + " of variable " + name +
                         " is overruled by " + *said);
  const Pipeline kept = codec_of(made.part, made.codec);
  if (kept.text() != made.codec.text())
    account_.note_reason("variable " + name + ": codec " + kept.text() + ", not " +
                         made.codec.text() + ", for " +
                         (made.part.raw_bytes() < Pipeline::least_bytes ? "its size" : "its type"));
  variables_.push_back(std::move(made));
  return static_cast<int>(variables_.size()) - 1;
}

const Store::Variable& Store::declared(int number) const {
  if (number < 0 || number >= std::ssize(variables_))
    throw Error(Errc::enotvar, "there is no variable " + std::to_string(number));
  return variables_[static_cast<std::size_t>(number)];
}

void Store::set_bound(int number, double bound) {
  const Variable& of = declared(number);
  if (!(bound >= 0) || std::isinf(bound))
    throw Error(Errc::einval, "the bound of " + of.part.name + " is no finite number from 0 on");
  if (of.part.type != Type::float32 && of.part.type != Type::float64)
    throw Error(Errc::ebadtype,
                of.part.name + " is always kept exactly: it is no floating-point type");
  variables_[static_cast<std::size_t>(number)].codec =
      Pipeline::parse(codec_within(of.declared, bound));
}

const Part& Store::variable(int number) const { return declared(number).part; }

void Store::require_idle() const {
  if (draft_ || reading_)
    throw Error(Errc::eperm, "a state of checkpoints is being written or read", "end it first");
}

// -- writing --------------------------------------------------------------------------------------

void Store::begin_write(StateId id) {
  require_idle();
  if (id.step < 0) throw Error(Errc::einval, "a state of a negative step");
  {
    // Frees the memory of values that were decoded ahead.
    Lock lock(mutex_);
    backwards_ = popped_ = false;
    wait_until(lock, [&] { return !decoding_; });
    ahead_.reset();
  }
  draft_.emplace();
  draft_->record.id = id;
  if (id.kind == Kind::state) refused_ = id.step;  // reset when the state is kept
}

void Store::add_part(Part part, const Pipeline& codec, std::span<const std::byte> values,
                     bool stays) {
  if (!draft_) throw Error(Errc::eperm, "no state is being written", "begin one");
  const Stopwatch watch(account_[Account::push_ns]);
  if (draft_->names.contains(part.name))
    throw Error(Errc::enameinuse, "a second " + part.name + " of one state");
  RawBytes owned = encode(part, codec, values, team_);
  // Only the first stage changes values.
  std::uint32_t skipped = 0;
  for (const Piece& p : part.pieces) skipped |= p.skipped;
  if (codec.lossy() && (skipped & 1) != 0)
    account_.note_reason("variable " + part.name + ": some values are kept without " + part.codec +
                         ", which cannot hold its bound there, or makes them no smaller" +
                         ((skipped & stood_in) != 0 ? "; shuffle,zstd:3 took over" : ""));
  if ((skipped & keeps_apart) != 0)
    account_.note_reason("variable " + part.name +
                         ": values that are not finite, or stand far apart from all others, are " +
                         "kept apart, bit for bit");
  if (owned.empty() && !stays) append(owned, values);
  const auto bytes = static_cast<std::size_t>(part.stored_bytes());
  auto* from = owned.empty() ? const_cast<std::byte*>(values.data()) : owned.data();
  draft_->names.insert(part.name);
  draft_->pieces.push_back({from, bytes});
  draft_->owned.push_back(std::move(owned));
  draft_->record.bytes += part.stored_bytes();
  draft_->record.parts.push_back(std::move(part));
}

void Store::put(int variable, const void* values) {
  const Variable& of = declared(variable);
  if (!values && of.part.raw_bytes() > 0)
    throw Error(Errc::einval, "no values of " + of.part.name, "give their address");
  add_part(of.part, of.codec, bytes_at(values, of.part.raw_bytes()), false);
}

void Store::put(const std::string& name, Type type, std::vector<Count> shape,
                const std::optional<std::string>& codec, const void* values) {
  const Variable of = make_variable(name, type, std::move(shape), codec, nullptr);
  add_part(of.part, of.codec, bytes_at(values, of.part.raw_bytes()), false);
}

void Store::put_bytes(const std::string& name, std::span<const std::byte> bytes) {
  if (name.empty()) throw Error(Errc::ebadname, "bytes without a name");
  add_part({name, Type::none, {std::ssize(bytes)}, "none", {}}, {}, bytes, false);
}

void Store::push(StateId id) {
  begin_write(id);
  try {
    for (const Variable& v : variables_)
      if (v.memory || v.part.raw_bytes() == 0)
        add_part(v.part, v.codec, bytes_at(v.memory, v.part.raw_bytes()), true);
    commit();
  } catch (...) {
    abandon();
    throw;
  }
}

void Store::commit() {
  const Stopwatch watch(account_[Account::push_ns]);
  const auto state = std::make_shared<State>();
  Draft& draft = *draft_;
  note_size(draft.record);
  Lock lock(mutex_);
  tell_failure();
  draft.record.serial = ++last_serial_;
  needed_ = draft.record.bytes;
  if (needed_ > memory_ || memory_ == 0 || !keep_in_memory(lock, *state, draft)) {
    const StatePtr old = states_.find(draft.record.id);
    state->replaced_synced = old && is_synced(*old);
    state->tier = keep_draft(lock, draft, state->replaced_synced);
    state->record = std::move(draft.record);
  }
  note_push(*state);
  if (const StatePtr before = states_.find(state->record.id)) {
    wait_for(lock, *before);
    if (before->tier == Tier::memory)
      leave_memory(*before);
    else
      discard(before->tier, before->record.serial, is_synced(*before));
    states_.remove(*before);
    drop_parity(before->record.id);
  }
  states_.add(state);
  draft_.reset();
  rouse();
}

void Store::note_size(const Record& record) {
  if (record.id.kind == Kind::state) forebay::note_size(seen_, {record.id.step, record.bytes});
}

double Store::keeping() const { return std::stod(method_value(method_, "checkpoint_keeping")); }

void Store::note_push(State& state) {
  const StateInfo info = info_of(state);
  state.pushed = state.tier;
  if (state.record.id.kind == Kind::state) refused_.reset();
  ++account_[Account::pushes];
  account_[Account::raw_bytes] += info.raw_bytes;
  account_[Account::stored_bytes] += info.bytes;
  ++account_[static_cast<Account::Number>(Account::in_memory + static_cast<int>(state.tier))];
}

/// Waits until memory has space. Returns false if no state can move down to free some.
bool Store::keep_in_memory(Lock& lock, State& state, Draft& draft) {
  const Count bytes = draft.record.bytes;
  while (!memory_has_room(draft.record.id.kind, bytes)) {
    tell_failure();
    const StatePtr next = to_move();
    if (!next && moving_ == 0 && !decoding_) return false;
    if (!thread_.joinable()) {
      move_down(lock, next, team_);
      continue;
    }
    ++account_[Account::waits];
    rouse();
    const Stopwatch watch(account_[Account::wait_ns]);
    changed_.wait(lock);
  }
  held_ += bytes;
  take_spare(draft);
  lock.unlock();
  const auto failed = attempt_to([&] {
    for (std::size_t i = 0; i < draft.pieces.size(); ++i) {
      const iovec piece = draft.pieces[i];
      RawBytes& own = draft.owned[i];
      if (own.empty()) append(own, bytes_at(piece.iov_base, static_cast<Count>(piece.iov_len)));
      own.shrink_to_fit();
      draft.pieces[i].iov_base = own.data();  // a second try copies from there
    }
  });
  lock.lock();
  if (failed) {
    held_ -= bytes;
    throw *failed;
  }
  state.record = std::move(draft.record);
  state.memory = std::move(draft.owned);
  return true;
}

/// Uses spare memory of the right size for parts that are still to be copied. Frees spare memory
/// that does not fit into the limit any more.
void Store::take_spare(Draft& draft) {
  for (std::size_t i = 0; i < draft.pieces.size() && !spare_.empty(); ++i) {
    RawBytes& own = draft.owned[i];
    const auto fits = own.empty() ? spare_.find(draft.pieces[i].iov_len) : spare_.end();
    if (fits == spare_.end()) continue;
    spare_bytes_ -= static_cast<Count>(fits->first);
    own.swap(fits->second);
    own.clear();
    spare_.erase(fits);
  }
  while (!spare_.empty() && held_ + spare_bytes_ > memory_) {
    spare_bytes_ -= static_cast<Count>(spare_.begin()->first);
    spare_.erase(spare_.begin());
  }
}

void Store::leave_memory(State& state) {
  held_ -= state.record.bytes;
  set_aside(std::exchange(state.memory, {}));
}

/// Keeps memory for the next states of this size, because the system would have to clear new pages.
void Store::set_aside(std::vector<RawBytes> memory) {
  for (RawBytes& bytes : memory) {
    const auto size = static_cast<Count>(bytes.capacity());
    if (size < least_spare || held_ + spare_bytes_ + size > memory_) continue;
    const auto at = static_cast<std::size_t>(size);
    if (!attempt_to([&] { spare_.emplace(at, std::move(bytes)); })) spare_bytes_ += size;
  }
}

/// Keeps a state in files, and on the device if it replaces a synced one. A state that is moving
/// counts in two tiers, so the space that it leaves may be the missing space.
Tier Store::keep_draft(Lock& lock, Draft& draft, bool replaces_synced) {
  for (bool moves = true; moves;) {
    const Count moved = account_[Account::moved_down];
    moves = moving_ > 0;
    lock.unlock();
    const auto tier = keep_in_files(draft.record, Tier::fast, [&](FileTier& to) {
      to.add(draft.record, draft.pieces, team_, replaces_synced);
    });
    const auto failed = attempt_to([&] {
      if (tier && replaces_synced) files(*tier)->sync();
    });
    lock.lock();
    if (failed) {
      discard(*tier, draft.record.serial, true);
      throw *failed;
    }
    if (tier) return *tier;
    moves = moves || moving_ > 0 || account_[Account::moved_down] != moved;
    wait_until(lock, [&] { return moving_ == 0; });
  }
  throw_no_room(draft.record.id);
}

/// Keeps a state in the first tier, from `first` on, that has space and can be written. Returns
/// nothing if none has space.
std::optional<Tier> Store::keep_in_files(Record& record, Tier first, const AddTo& add) {
  std::optional<Error> failed;
  std::vector<Tier> last;  // tiers that were full; they may have space now
  const auto keeps = [&](Tier tier) {
    bool kept = false;
    return attempt_into(failed,
                        [&] {
                          if ((kept = reserve(tier, record))) add(*files(tier));
                        }) &&
           kept;
  };
  for (const Tier tier : {Tier::fast, Tier::directory}) {
    if (tier < first || !files(tier)) continue;
    if (files(tier)->room() < record.bytes)
      last.push_back(tier);
    else if (keeps(tier))
      return tier;
  }
  for (const Tier tier : last)
    if (keeps(tier)) return tier;
  // The missing space may be retired.
  for (const Tier tier : {Tier::fast, Tier::directory}) {
    if (tier < first || !files(tier) || !files(tier)->has_retired()) continue;
    if (attempt_into(failed, [&] { files(tier)->sync(); }) && keeps(tier)) return tier;
  }
  if (failed) throw *failed;
  return std::nullopt;
}

/// Computes the space for the adjoint under the lock, together with the reservation, so that no
/// state of it is dropped in between.
bool Store::reserve(Tier tier, Record& record) {
  const Lock lock(mutex_);
  Count leaves = record.id.kind == Kind::state ? left_for_adjoint(tier, false) : 0;
  if (!set_ranks_.empty() && !is_parity(record.id.kind))
    leaves += missing_parity(tier) + parity_for(record.bytes);
  return files(tier)->reserve(record, leaves);
}

Count Store::left_for_adjoint(Tier tier, bool known) const {
  Rooms free = rooms(known);
  const auto its = static_cast<std::size_t>(tier);
  const Count all = free[its];
  leave_room_for_adjoint(free);
  return all - free[its];
}

/// A state of the model must leave the space for states of the adjoint.
bool Store::memory_has_room(Kind kind, Count bytes) const {
  const Count leaves = kind == Kind::state ? left_for_adjoint(Tier::memory, true) : 0;
  return held_ + leaves + bytes <= memory_;
}

void Store::end() {
  if (draft_) return commit();
  if (!reading_) throw Error(Errc::eperm, "no state is being written or read", "begin one");
  end_reading(false);
}

void Store::abandon() noexcept {
  draft_.reset();
  if (!reading_) return;
  const Lock lock(mutex_);
  leave_reading();
  rouse();
}

// -- all states -----------------------------------------------------------------------------------

StatePtr Store::found(StateId id) const {
  if (StatePtr state = states_.find(id)) return state;
  throw Error(Errc::enodata, words_for(id) + " is not among the checkpoints",
              "list them, and begin from one that is there");
}

void Store::wait_for(Lock& lock, const State& state) {
  wait_until(lock, [&] { return !state.busy; });
}

void Store::wait_until(Lock& lock, const std::function<bool()>& is_so) {
  if (is_so()) return;
  ++account_[Account::waits];
  const Stopwatch watch(account_[Account::wait_ns]);
  changed_.wait(lock, is_so);
}

void Store::drop(StateId id) {
  require_idle();
  Lock lock(mutex_);
  const StatePtr state = found(id);
  wait_for(lock, *state);
  forget(state);
}

/// Drops an obsolete copy. If its file cannot be written now, this is done before anything else is
/// dropped: once the newer copy is gone, the old one would be found again.
void Store::discard(Tier tier, std::uint64_t serial, bool synced) {
  if (attempt_to([&] { files(tier)->drop(serial, synced); })) stale_.emplace_back(tier, serial);
}

void Store::discard_stale() {
  for (; !stale_.empty(); stale_.pop_back())
    files(stale_.back().first)->drop(stale_.back().second, true);
}

/// No other thread may use the state.
void Store::forget(const StatePtr& state) {
  discard_stale();
  if (refused_ != state->record.id.step) refused_.reset();
  ++account_[Account::drops];
  if (state->tier != Tier::memory)
    files(state->tier)->drop(state->record.serial, is_synced(*state));
  else
    leave_memory(*state);
  if (ahead_ && ahead_->serial == state->record.serial) ahead_.reset();
  states_.remove(*state);
  drop_parity(state->record.id);
}

void Store::expect(const std::vector<Count>& steps) {
  const Lock lock(mutex_);
  states_.expect(steps);
  backwards_ = !draft_;  // a write uses the memory for decoding ahead
  rouse();
}

StateInfo Store::info_of(const State& state) {
  return {state.record.id, state.tier, state.record.bytes, state.raw_bytes()};
}

StateInfo Store::info(StateId id) const {
  const Lock lock(mutex_);
  return info_of(*found(id));
}

bool Store::has(StateId id) const {
  const Lock lock(mutex_);
  return states_.find(id) != nullptr;
}

std::vector<StateInfo> Store::list() const {
  const Lock lock(mutex_);
  std::vector<StateInfo> all;
  for (const auto& [id, state] : states_.all()) all.push_back(info_of(*state));
  return all;
}

Store::OfModel Store::of_model(std::optional<Count> steps) const {
  const Lock lock(mutex_);
  return {steps ? states_.sample_of_model(*steps) : states_.all_of_model(), states_.mark_of_steps(),
          states_.has_encoded()};
}

std::size_t Store::steps(Kind kind, std::size_t most, Count* into) const {
  const Lock lock(mutex_);
  auto it = states_.all().lower_bound({kind, 0});
  const std::size_t there = states_.count(kind);
  for (std::size_t i = 0; i < std::min(most, there); ++i, ++it) into[i] = it->first.step;
  return there;
}

std::optional<Count> Store::first(Kind kind) const {
  Count step = 0;
  if (steps(kind, 1, &step) == 0) return std::nullopt;
  return step;
}

std::optional<Count> Store::last() const {
  const Lock lock(mutex_);
  const StatePtr state = states_.latest();
  if (!state) return std::nullopt;
  return state->record.id.step;
}

Store::Work Store::work_done() const {
  const Lock lock(mutex_);
  Work work{states_.looked_at(), directory_->journal_bytes()};
  if (fast_) work.journal_bytes += fast_->journal_bytes();
  return work;
}

Count Store::raw_bytes() const {
  Count bytes = 0;
  for (const Variable& v : variables_) bytes += v.part.raw_bytes();
  return bytes;
}

std::vector<Count> Store::free_bytes() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return moving_ == 0; });
  Rooms free = rooms(true);
  leave_room_for_adjoint(free);
  std::vector<Count> there(free.begin(), free.end());
  std::erase_if(there, [](Count room) { return room < 0; });
  return there;
}

/// `known`: also counts tiers as full after a failed write; otherwise only the limits count.
Store::Rooms Store::rooms(bool known) const {
  const auto of = [&](Tier tier) -> Count {
    const FileTier* const its = files(tier);
    if (!its) return -1;
    const Count free = known ? its->room() : its->limit() - its->used();
    const Count room = std::max<Count>(free - missing_parity(tier), 0);
    const Count set = std::ssize(set_ranks_);
    return set > 0 ? room - room / set : room;  // each state takes its parity along
  };
  return {std::max<Count>(memory_ - held_, 0), of(Tier::fast), of(Tier::directory)};
}

/// Leaves space for two states of the adjoint, since a new one is kept before the old one is
/// dropped. Each may take as much as its values.
void Store::leave_room_for_adjoint(Rooms& free) const {
  const Count most = states_.largest_adjoint();
  std::size_t kept = states_.count(Kind::adjoint);
  if (kept == 0) return;
  const auto leave = [](Count& room, Count bytes) {
    room = std::max<Count>(room - std::max<Count>(bytes, 0), 0);
  };
  for (const Tier tier : {Tier::memory, Tier::fast, Tier::directory}) {
    const Catalogue::Adjoints there = states_.adjoints(tier);
    if (there.states > 0)
      leave(free[static_cast<std::size_t>(tier)], there.states * most - there.bytes);
  }
  for (; kept < 2; ++kept) {
    const auto slowest =
        std::find_if(free.rbegin(), free.rend(), [&](Count room) { return room >= most; });
    leave(slowest != free.rend() ? *slowest : *std::max_element(free.begin(), free.end()), most);
  }
}

/// Like keep_draft(), tries again once a moving state has freed its space.
void Store::bring_to_files(Lock& lock, const StatePtr& state) {
  while (state->tier == Tier::memory) {
    const Count moved = account_[Account::moved_down];
    const bool moves = moving_ > 0;
    move_down(lock, state, team_);
    tell_failure();
    if (state->tier != Tier::memory) return;
    if (!moves && moving_ == 0 && account_[Account::moved_down] == moved)
      throw_no_room(state->record.id);
    wait_until(lock, [&] { return moving_ == 0 && !state->busy; });
  }
}

void Store::sync() {
  if (set_ranks_.empty()) return sync_files();
  together(comm_, [&] {
    together(set_, [&] {
      sync_files();
      protect();
    });
  });
  drop_older_parity();
}

void Store::sync_files() {
  require_idle();
  {
    Lock lock(mutex_);
    tell_failure();
    for (const StatePtr& state : states_.in(Tier::memory)) {
      wait_for(lock, *state);
      bring_to_files(lock, state);
    }
    wait_until(lock, [&] { return moving_ == 0; });  // states that move between files
    tell_failure();
    discard_stale();
    // States that move from now on are synced to the device before they leave their tier.
    synced_ = last_serial_;
  }
  if (fast_) fast_->sync();
  directory_->sync();
}

void Store::close(bool keep) {
  const bool loses = draft_ && keep;
  abandon();
  const Count kept = agree_on_end(keep ? 1 : 0);
  if (kept == has_left) {
    leave();
    throw Error(Errc::eperm, "another rank has left these checkpoints with an error",
                "see what it told; all states are kept");
  }
  const auto failed = attempt_to([&] {
    together(comm_, [&] {
      if (kept != 0) sync();
      stop();
      for (FileTier* tier : {fast_.get(), directory_.get()}) {
        if (!tier) continue;
        if (kept != 0)
          tier->close();
        else
          tier->remove();
      }
      if (loses)
        throw Error(Errc::eperm, "a state was not ended, and is not among those that are kept",
                    "end it before");
    });
  });
  print_account(comm_, name_, method_, account_);
  if (failed) throw *failed;
}

/// Collective. Returns the maximum over all ranks.
Count Store::agree_on_end(Count mine) {
  comm_.all_reduce(std::span(&mine, 1), Reduce::max);
  return mine;
}

void Store::join_end() { agree_on_end(has_left); }

void Store::leave() {
  if (::getpid() != process_) return;
  abandon();
  stop();  // first, since nobody needs values decoded ahead
  sync_files();
  for (FileTier* tier : {fast_.get(), directory_.get()})
    if (tier) tier->close();
}

}  // namespace forebay::checkpoint
