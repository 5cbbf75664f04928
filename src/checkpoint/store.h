// Checkpoints of an adjoint computation on one rank: states are pushed, popped, looked at and
// dropped (D4 ch. 4). docs/checkpoints.md tells of it.
//
// A state is the values of all variables after a number of steps. It is encoded when it is pushed,
// and lies in one of the tiers: memory, a quick directory, the directory of checkpoints. A thread,
// which makes no call of MPI, moves down what is wanted last when a tier has no room for one more
// state, and decodes ahead what is wanted next while the program computes. What is wanted next is
// what expect() was told, else the latest step.
//
// Held are `checkpoint_memory` bytes at most, and one state more: one that is being pushed, or one
// that was decoded ahead. The next one is decoded as its values are taken.
//
// All calls but open() and close() are local, and of one thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/raw_bytes.h"
#include "checkpoint/account.h"
#include "checkpoint/coding.h"
#include "checkpoint/file_tier.h"
#include "codec/pipeline.h"
#include "comm/comm.h"
#include "format/checkpoint.h"
#include "method/method.h"
#include "plan/checkpoint_schedule.h"

namespace forebay::checkpoint {

struct StateInfo {
  StateId id;
  Tier tier = Tier::memory;
  Count bytes = 0, raw_bytes = 0;
};

class Store {
 public:
  /// Collective. Opens the checkpoints NAME, in the directories that the method names, with those
  /// states that all ranks have. Errors of FileTier; Errc::einval where some rank has no files, and
  /// others have states: nothing is dropped then.
  Store(const Comm& comm, const std::string& name, const Method& method);
  ~Store();  ///< leaves files as they are; states in memory are lost
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// A variable of all states that are pushed from here on. `codec`: nothing, as the method says;
  /// what its type cannot go through is left out. `memory`: where push() takes the values from, and
  /// pop() and peek() put them; null: they come and go by put() and get(). Returns its number.
  /// Errc::enameinuse, ebadtype, einval.
  int add_variable(const std::string& name, Type type, std::vector<Count> shape,
                   const std::optional<std::string>& codec, void* memory);

  /// Of states that are pushed from here on; 0: exact. Errc::enotvar, einval, ebadtype.
  void set_bound(int variable, double bound);
  const Part& variable(int number) const;  ///< as it was declared; Errc::enotvar

  /// Keeps the values of all variables that have memory; a state of that step goes, once this one
  /// is there. The memory is the caller's again. Errc::eno_space and others: nothing is changed.
  void push(StateId id);
  /// Restores the latest state, and drops it. Returns its step. Errc::enodata: there is none.
  Count pop();
  void peek(StateId id);  ///< restores; Errc::enodata, and others where it is not as declared
  void drop(StateId id);  ///< Errc::enodata

  // The same in pieces: begin, any number of puts or gets, end. abandon() in place of end() leaves
  // everything as it was.
  void begin_write(StateId id);
  void put(int variable, const void* values);
  /// Values of this state alone, as of a variable that was declared so.
  void put(const std::string& name, Type type, std::vector<Count> shape,
           const std::optional<std::string>& codec, const void* values);
  void put_bytes(const std::string& name, std::span<const std::byte> bytes);
  void begin_read(StateId id);
  void get(int variable, void* values);
  const std::vector<Part>& parts() const;         ///< of the state that is being read
  Count bytes_of(const std::string& name) const;  ///< Errc::enotvar
  void get_bytes(const std::string& name, std::span<std::byte> into);
  void end();
  void abandon() noexcept;

  /// Steps in the order in which they will be popped or looked at, in place of what was said
  /// before.
  void expect(std::vector<Count> steps);
  std::vector<StateInfo> list() const;  ///< by kind, then step
  StateInfo info(StateId id) const;     ///< Errc::enodata
  /// All states are on the device.
  void sync();
  /// Collective. Drops those states that not all ranks have: they were killed while
  /// some had pushed it, or a push failed on one.
  void keep_common(Kind kind);
  /// Collective. Keeps all states on the device, or removes the files.
  void close(bool keep);

  const Comm& comm() const { return comm_; }
  Count raw_bytes() const;  ///< of a state of all variables
  /// Of each tier that there is, the quickest first; not while a state counts in two of them. A
  /// tier that could not be written has no room. Once a state of the adjoint is there, it is what
  /// two as large as its values leave.
  std::vector<Count> free_bytes();
  /// A step whose state has no place, whatever the others take: it was begun last, and was not
  /// kept, or refuse() was told of it. Until a state is kept, or another one goes.
  std::optional<Count> refused() const { return refused_; }
  void refuse(std::optional<Count> step) { refused_ = step; }
  /// Bytes of states of the model that were encoded lately, kept or not, the latest last; each step
  /// once.
  std::vector<Count> seen_bytes() const;
  /// What keeping a state takes, in steps of the model, as the method says.
  double keeping() const;
  const std::vector<std::string>& damage() const { return damage_; }
  /// Times that a caller waited for the thread, and states that it found decoded.
  Count waits() { return account_[Account::waits]; }
  Count decoded_ahead() { return account_[Account::decoded_ahead]; }
  Account& account() { return account_; }

 private:
  struct Variable {
    Part part;  ///< without pieces
    Pipeline codec;
    std::byte* memory = nullptr;
    std::string declared;  ///< codec; bounds replace its lossy stage in `codec`
  };
  Variable make_variable(const std::string& name, Type type, std::vector<Count> shape,
                         const std::optional<std::string>& codec, void* memory) const;
  const Variable& declared(int number) const;
  struct State {
    Record record;
    Tier tier = Tier::memory, pushed = Tier::memory;
    std::vector<RawBytes> memory;  ///< of each part, while it is in memory
    bool busy = false;             ///< somebody reads or moves it
  };
  using StatePtr = std::shared_ptr<State>;
  struct Ahead {
    std::uint64_t serial = 0;
    std::vector<RawBytes> values;  ///< of each part
  };
  struct Draft {
    Record record;
    std::set<std::string> names;  ///< of its parts
    std::vector<RawBytes> owned;  ///< of each part, where its bytes are not the caller's
    std::vector<iovec> pieces;
  };
  using Lock = std::unique_lock<std::mutex>;

  void open_tiers(const std::string& name);
  void require_files_of_all();
  void take_states(Tier tier);
  void require_idle() const;

  void add_part(Part part, const Pipeline& codec, std::span<const std::byte> values, bool stays);
  void commit();
  void note_size(const Record& record);
  void note_push(State& state);
  bool keep_in_memory(Lock& lock, State& state, Draft& draft);
  using AddTo = std::function<void(FileTier&)>;
  Tier keep_draft(Lock& lock, Draft& draft);
  std::optional<Tier> keep_in_files(Record& record, Tier first, const AddTo& add);
  bool reserve(Tier tier, Record& record);
  void forget(const StatePtr& state);
  void discard(Tier tier, std::uint64_t serial);
  void discard_stale();
  void leave_memory(State& state);
  void set_aside(std::vector<RawBytes> memory);
  using Rooms = std::array<Count, 3>;  ///< by tier; below 0: there is none
  Rooms rooms(bool known) const;
  Count left_for_adjoint(Tier tier, bool known) const;
  void leave_room_for_adjoint(Rooms& free) const;
  bool memory_has_room(Kind kind, Count bytes) const;

  StatePtr find(StateId id) const;
  static StateInfo info_of(const State& state);
  void wait_for(Lock& lock, const State& state);
  void wait_until(Lock& lock, const std::function<bool()>& is_so);
  std::size_t part_of(const std::string& name) const;
  void read_part(const State& state, std::size_t part, std::span<std::byte> into,
                 ReadWindow& window, Team& team) const;
  void restore();
  void end_reading(bool drops);
  void leave_reading();

  void work();
  StatePtr to_move() const;
  StatePtr to_decode() const;
  void move_down(Lock& lock, const StatePtr& state, Team& team);
  void bring_to_files(Lock& lock, const StatePtr& state);
  void decode_ahead(Lock& lock, const StatePtr& state);
  bool has_memory_ahead(Lock& lock, Count made, Count more, Count all);
  StatePtr wanted_last(Tier tier) const;
  bool has_room_below(const State& state) const;
  FileTier* files(Tier tier) const;
  void tell_failure();
  void stop();

  Comm comm_;
  std::string name_;
  Method method_;
  Count memory_ = 0;  ///< bytes of states in memory, at most
  std::unique_ptr<FileTier> fast_, directory_;
  std::vector<std::string> damage_;
  std::vector<Variable> variables_;
  Team team_;
  std::optional<Draft> draft_;
  std::optional<Count> refused_;
  std::deque<StoredState> seen_;
  StatePtr reading_;
  std::optional<Ahead> reading_ahead_;
  std::optional<ReadWindow> window_;  ///< of reading_
  std::size_t next_part_ = 0;         ///< who reads one after another finds it at once

  mutable std::mutex mutex_;  // of what follows, and of states
  std::condition_variable wake_, changed_;
  std::map<StateId, StatePtr> states_;
  std::vector<std::pair<Tier, std::uint64_t>> stale_;  ///< copies that discard() could not drop
  std::uint64_t last_serial_ = 0;
  std::uint64_t synced_ = 0;  ///< states up to this one are on the device, and stay there
  std::deque<Count> expected_;
  Count held_ = 0;               ///< bytes of states in memory
  std::vector<RawBytes> spare_;  ///< memory of states that are gone, as far as there is room
  Count spare_bytes_ = 0;
  Count needed_ = 0;        ///< bytes of the next state that is pushed
  bool backwards_ = false;  ///< the last thing that was done was not a push
  bool popped_ = false;     ///< but a pop: the next one is likely to be one, too
  std::optional<Ahead> ahead_;
  Count left_ahead_ = 0;         ///< bytes of reading_ahead_ that were not taken yet
  std::optional<Error> failed_;  ///< of the thread, and nobody has been told
  int moving_ = 0;               ///< states that move: the thread's, and one of a sync
  bool decoding_ = false;        ///< beside the program
  bool stopping_ = false;
  Account account_;
  Team team_beside_;  ///< the thread's; team_ is the program's
  std::thread thread_;
};

}  // namespace forebay::checkpoint
