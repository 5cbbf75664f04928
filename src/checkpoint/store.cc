#include "checkpoint/store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
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

/// Of a process alone all processors, where nobody says how many.
std::size_t threads_of(const Comm& comm, const Method& method) {
  constexpr int most = 64;
  const int chosen = comm.size() == 1 ? static_cast<int>(std::thread::hardware_concurrency()) : 1;
  const int threads = method.codec_threads > 0 ? method.codec_threads : chosen;
  return static_cast<std::size_t>(std::clamp(threads, 1, most));
}

constexpr Count least_spare = 64 << 10;  ///< below it the C library keeps memory itself

constexpr std::string_view nowhere = "none";

[[noreturn]] void throw_no_room(const StateId& id) {
  throw Error(Errc::eno_space, words_for(id) + " has room in no tier",
              "give checkpoints more room, or a codec");
}

Count limit_of(Count bytes) { return bytes == 0 ? FileTier::no_limit : bytes; }

/// Where files lie: NAME itself, or its last part in a directory that was given.
std::string prefix_in(const std::string& directory, const std::string& name, Rank rank) {
  const std::filesystem::path path(name);
  const auto base =
      directory == nowhere ? path : std::filesystem::path(directory) / path.filename();
  return base.string() + "." + std::to_string(rank);
}

}  // namespace

Store::Store(const Comm& comm, const std::string& name, const Method& method)
    : comm_(comm),
      name_(name),
      method_(method),
      memory_(method.checkpoint_memory),
      team_(threads_of(comm, method)),
      team_beside_(team_.size()) {
  together(comm_, [&] {
    if (std::filesystem::path(name).filename().empty())
      throw Error(Errc::ebadname, "checkpoints without a name", "give the path of a file");
    open_tiers(name);
    require_files_of_all();
    if (fast_) fast_->begin();
    directory_->begin();
    for (const Kind kind : {Kind::state, Kind::adjoint}) keep_common(kind);
    account_[Account::drops] = 0;  // what was not of this job
  });
  if (attempt_to([&] { thread_ = std::thread([this] { work(); }); }))
    account_.note_reason("no thread was to be had: pushes move states down themselves");
}

Store::~Store() { stop(); }

void Store::open_tiers(const std::string& name) {
  const Rank rank = comm_.rank();
  if (method_.checkpoint_fast != nowhere)
    fast_ = std::make_unique<FileTier>(prefix_in(method_.checkpoint_fast, name, rank), rank,
                                       comm_.size(), limit_of(method_.checkpoint_fast_bytes));
  directory_ = std::make_unique<FileTier>(prefix_in(method_.checkpoint_dir, name, rank), rank,
                                          comm_.size(), limit_of(method_.checkpoint_dir_bytes));
  if (fast_) take_states(Tier::fast);
  take_states(Tier::directory);
  synced_ = last_serial_;  // by an earlier program, perhaps
}

/// Collective. What others have would be dropped where the files of one rank are elsewhere: in
/// another directory, or on another node.
void Store::require_files_of_all() {
  const bool is_new = directory_->is_new() && (!fast_ || fast_->is_new());
  std::int64_t told[] = {is_new ? comm_.rank() : comm_.size(), -std::ssize(states_)};
  comm_.all_reduce(told, Reduce::min);
  if (told[0] == comm_.size() || told[1] == 0) return;
  throw Error(Errc::einval,
              name_ + ": rank " + std::to_string(told[0]) +
                  " has no files, and others have checkpoints that are nothing without its own",
              "bring them back, or remove those of all ranks to begin anew");
}

/// What the files of a tier have. Of two that are one state the later one stays: a job was killed
/// while it replaced or moved it.
void Store::take_states(Tier tier) {
  FileTier& from = *files(tier);
  damage_.insert(damage_.end(), from.damage().begin(), from.damage().end());
  const auto records = from.records();
  for (const auto& [serial, record] : records) {
    last_serial_ = std::max(last_serial_, serial);
    StatePtr& known = states_[record.id];
    if (known && known->record.serial >= serial) {
      from.drop(serial);
      continue;
    }
    if (known) files(known->tier)->drop(known->record.serial);
    known = std::make_shared<State>();
    known->record = record;
    known->tier = known->pushed = tier;
  }
}

void Store::keep_common(Kind kind) {
  if (comm_.size() == 1) return;
  std::vector<Count> mine;
  for (const StateInfo& state : list())
    if (state.id.kind == kind) mine.push_back(state.id.step);
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
  made.codec = Pipeline::parse(codec ? *codec : variable_method(method_, name)["codec"]);
  made.declared = made.codec.text();
  codec_of(made.part, made.codec);  // tells what cannot be
  return made;
}

int Store::add_variable(const std::string& name, Type type, std::vector<Count> shape,
                        const std::optional<std::string>& codec, void* memory) {
  Variable made = make_variable(name, type, std::move(shape), codec, memory);
  for (const Variable& other : variables_)
    if (other.part.name == name)
      throw Error(Errc::enameinuse, "a second variable " + name, "give it another name");
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
    // What was decoded ahead makes room for it.
    Lock lock(mutex_);
    backwards_ = popped_ = false;
    wait_until(lock, [&] { return !decoding_; });
    ahead_.reset();
  }
  draft_.emplace();
  draft_->record.id = id;
  if (id.kind == Kind::state) refused_ = id.step;  // until it is there
}

void Store::add_part(Part part, const Pipeline& codec, std::span<const std::byte> values,
                     bool stays) {
  if (!draft_) throw Error(Errc::eperm, "no state is being written", "begin one");
  const Stopwatch watch(account_[Account::push_ns]);
  if (draft_->names.contains(part.name))
    throw Error(Errc::enameinuse, "a second " + part.name + " of one state");
  RawBytes owned = encode(part, codec, values, team_);
  // The first stage is the one that changes values.
  if (codec.lossy() && std::any_of(part.pieces.begin(), part.pieces.end(),
                                   [](const Piece& p) { return p.skipped & 1; }))
    account_.note_reason("variable " + part.name + ": some values are kept without " + part.codec +
                         ", which cannot hold its bound there, or makes them no smaller");
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
    state->tier = keep_draft(lock, draft);
    state->record = std::move(draft.record);
  }
  note_push(*state);
  StatePtr& place = states_[state->record.id];
  if (place) {
    wait_for(lock, *place);
    if (place->tier == Tier::memory)
      leave_memory(*place);
    else
      discard(place->tier, place->record.serial);
  }
  place = state;
  draft_.reset();
  wake_.notify_all();
}

void Store::note_size(const Record& record) {
  if (record.id.kind != Kind::state) return;
  std::erase_if(seen_, [&](const StoredState& s) { return s.step == record.id.step; });
  seen_.push_back({record.id.step, record.bytes});
  if (seen_.size() > CheckpointRoom::likely) seen_.pop_front();
}

std::vector<Count> Store::seen_bytes() const {
  std::vector<Count> bytes;
  for (const StoredState& state : seen_) bytes.push_back(state.bytes);
  return bytes;
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

/// Waits until there is room. False where nothing can move down to make some.
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
    wake_.notify_all();
    const Stopwatch watch(account_[Account::wait_ns]);
    changed_.wait(lock);
  }
  held_ += bytes;
  std::vector<RawBytes> spare = std::exchange(spare_, {});
  spare_bytes_ = 0;
  lock.unlock();
  const auto failed = attempt_to([&] {
    for (std::size_t i = 0; i < draft.pieces.size(); ++i) {
      const iovec piece = draft.pieces[i];
      RawBytes& own = draft.owned[i];
      if (own.empty()) {
        const auto fits = std::find_if(spare.begin(), spare.end(), [&](const RawBytes& bytes) {
          return bytes.capacity() == piece.iov_len;
        });
        if (fits != spare.end()) own.swap(*fits);
        own.clear();
        append(own, bytes_at(piece.iov_base, static_cast<Count>(piece.iov_len)));
      }
      own.shrink_to_fit();
      draft.pieces[i].iov_base = own.data();  // who tries again takes it from there
    }
  });
  lock.lock();
  set_aside(std::move(spare));
  if (failed) {
    held_ -= bytes;
    throw *failed;
  }
  state.record = std::move(draft.record);
  state.memory = std::move(draft.owned);
  return true;
}

void Store::leave_memory(State& state) {
  held_ -= state.record.bytes;
  set_aside(std::exchange(state.memory, {}));
}

/// Memory that the next states of this size are put into: the system would have to clear it.
void Store::set_aside(std::vector<RawBytes> memory) {
  for (RawBytes& bytes : memory) {
    const auto size = static_cast<Count>(bytes.capacity());
    if (size < least_spare || held_ + spare_bytes_ + size > memory_) continue;
    if (!attempt_to([&] { spare_.push_back(std::move(bytes)); })) spare_bytes_ += size;
  }
}

/// In files. A state that is moving is in two tiers: what it leaves may be the room that is
/// missing.
Tier Store::keep_draft(Lock& lock, Draft& draft) {
  for (bool moves = true; moves;) {
    const Count moved = account_[Account::moved_down];
    moves = moving_ > 0;
    lock.unlock();
    const auto tier = keep_in_files(
        draft.record, Tier::fast, [&](FileTier& to) { to.add(draft.record, draft.pieces, team_); });
    lock.lock();
    if (tier) return *tier;
    moves = moves || moving_ > 0 || account_[Account::moved_down] != moved;
    wait_until(lock, [&] { return moving_ == 0; });
  }
  throw_no_room(draft.record.id);
}

/// Into the first tier from `first` on that has room and takes it; nothing where none has room.
std::optional<Tier> Store::keep_in_files(Record& record, Tier first, const AddTo& add) {
  std::optional<Error> failed;
  std::vector<Tier> last;  // those that were full: perhaps they are no more
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
  if (failed) throw *failed;
  return std::nullopt;
}

/// What is left for the adjoint is of the moment that the room is taken at: then nobody drops one.
bool Store::reserve(Tier tier, Record& record) {
  const Lock lock(mutex_);
  const bool leaves = record.id.kind == Kind::state;
  return files(tier)->reserve(record, leaves ? left_for_adjoint(tier, false) : 0);
}

Count Store::left_for_adjoint(Tier tier, bool known) const {
  Rooms free = rooms(known);
  const auto its = static_cast<std::size_t>(tier);
  const Count all = free[its];
  leave_room_for_adjoint(free);
  return all - free[its];
}

/// A state of the model leaves those of the adjoint theirs.
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
}

// -- all states -----------------------------------------------------------------------------------

Store::StatePtr Store::find(StateId id) const {
  const auto found = states_.find(id);
  if (found != states_.end()) return found->second;
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
  const StatePtr state = find(id);
  wait_for(lock, *state);
  forget(state);
}

/// A copy that is of the past. Where its file cannot be told so now, that is done before anything
/// else is dropped: with what is newer gone, it would be found again.
void Store::discard(Tier tier, std::uint64_t serial) {
  if (attempt_to([&] { files(tier)->drop(serial); })) stale_.emplace_back(tier, serial);
}

void Store::discard_stale() {
  for (; !stale_.empty(); stale_.pop_back()) files(stale_.back().first)->drop(stale_.back().second);
}

/// Nobody is busy with it, but for the caller.
void Store::forget(const StatePtr& state) {
  discard_stale();
  if (refused_ != state->record.id.step) refused_.reset();
  ++account_[Account::drops];
  if (state->tier != Tier::memory)
    files(state->tier)->drop(state->record.serial);
  else
    leave_memory(*state);
  if (ahead_ && ahead_->serial == state->record.serial) ahead_.reset();
  states_.erase(state->record.id);
}

void Store::expect(std::vector<Count> steps) {
  const Lock lock(mutex_);
  expected_.assign(steps.begin(), steps.end());
  backwards_ = !draft_;  // what is being written has the memory of what is decoded ahead
  wake_.notify_all();
}

StateInfo Store::info_of(const State& state) {
  Count raw = 0;
  for (const Part& part : state.record.parts) raw += part.raw_bytes();
  return {state.record.id, state.tier, state.record.bytes, raw};
}

StateInfo Store::info(StateId id) const {
  const Lock lock(mutex_);
  return info_of(*find(id));
}

std::vector<StateInfo> Store::list() const {
  const Lock lock(mutex_);
  std::vector<StateInfo> all;
  for (const auto& [id, state] : states_) all.push_back(info_of(*state));
  return all;
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

/// `known`: as far as writes have shown; else as far as limits go.
Store::Rooms Store::rooms(bool known) const {
  const auto of = [&](const FileTier* tier) -> Count {
    if (!tier) return -1;
    return std::max<Count>(known ? tier->room() : tier->limit() - tier->used(), 0);
  };
  return {std::max<Count>(memory_ - held_, 0), of(fast_.get()), of(directory_.get())};
}

/// Two states of the adjoint, as a new one is there before the old one goes, may take as much as
/// their values do.
void Store::leave_room_for_adjoint(Rooms& free) const {
  Count kept = 0, most = 0;
  for (const auto& [id, state] : states_) {
    if (id.kind != Kind::adjoint) continue;
    ++kept;
    most = std::max(most, info_of(*state).raw_bytes);
  }
  if (kept == 0) return;
  const auto leave = [](Count& room, Count bytes) {
    room = std::max<Count>(room - std::max<Count>(bytes, 0), 0);
  };
  for (const auto& [id, state] : states_)
    if (id.kind == Kind::adjoint)
      leave(free[static_cast<std::size_t>(state->tier)], most - state->record.bytes);
  for (; kept < 2; ++kept) {
    const auto slowest =
        std::find_if(free.rbegin(), free.rend(), [&](Count room) { return room >= most; });
    leave(slowest != free.rend() ? *slowest : *std::max_element(free.begin(), free.end()), most);
  }
}

/// As keep_draft() does, once what moves has left its room.
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
  require_idle();
  {
    Lock lock(mutex_);
    tell_failure();
    std::vector<StatePtr> all;
    for (const auto& [id, state] : states_) all.push_back(state);
    for (const StatePtr& state : all) {
      wait_for(lock, *state);
      bring_to_files(lock, state);
    }
    discard_stale();
    // What moves from here on is brought to the device before it leaves its tier.
    synced_ = last_serial_;
  }
  if (fast_) fast_->sync();
  directory_->sync();
}

void Store::close(bool keep) {
  const bool loses = draft_ && keep;
  abandon();
  auto failed = attempt_to([&] {
    together(comm_, [&] {
      if (keep) sync();
      stop();
      for (FileTier* tier : {fast_.get(), directory_.get()}) {
        if (!tier) continue;
        if (keep)
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

}  // namespace forebay::checkpoint
