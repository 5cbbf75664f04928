// The checkpoints of an adjoint computation on one rank: states are pushed, popped, read and
// dropped (Hou 2023, chapter 4; docs/checkpoints.md).
//
// A state is the values of all variables after a number of steps. It is encoded when it is pushed,
// and lies in one of the tiers: memory, a fast directory, the directory of checkpoints. If a tier
// has no space for one more state, a thread moves down the state that is wanted last. While the
// program computes, the thread decodes the next wanted state ahead. It makes no MPI call. The next
// wanted state is the one that expect() names, otherwise the latest step.
//
// At most `checkpoint_memory` bytes are held, and one more state: one that is being pushed or was
// decoded ahead. The next one is decoded while its values are taken.
//
// All calls but the constructor, keep_common(), close() and join_end() are local; with redundancy
// sync() is not, either. One thread may call at a time.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
#include "checkpoints/account.h"
#include "checkpoints/coding.h"
#include "checkpoints/file_tier.h"
#include "checkpoints/format/checkpoint.h"
#include "checkpoints/parity.h"
#include "checkpoints/plan/checkpoint_schedule.h"
#include "checkpoints/state_catalogue.h"
#include "codec/pipeline.h"
#include "comm/comm.h"
#include "comm/exchange.h"
#include "method/method.h"

namespace forebay::checkpoint {

struct StateInfo {
  StateId id;
  Tier tier = Tier::memory;
  Count bytes = 0, raw_bytes = 0;
};

class Store {
 public:
  /// Collective. Opens the checkpoints NAME in the directories that the method names, with the
  /// states that all ranks have. Relative paths start in rank 0's current directory. Errors as for
  /// FileTier. Errc::einval if some rank has no files and others have states: nothing is dropped
  /// then.
  Store(const Comm& comm, const std::string& name, const Method& method);
  ~Store();  ///< leaves files as they are; states in memory are lost
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Adds a variable of all states that are pushed from now on, and returns its number. `codec`:
  /// none means the method's; stages that the type does not allow are left out. `memory`: push()
  /// reads the values there, and pop() and peek() write them there; null: put() and get() pass the
  /// values. Errc::enameinuse, ebadtype, einval.
  int add_variable(const std::string& name, Type type, std::vector<Count> shape,
                   const std::optional<std::string>& codec, void* memory);

  /// Sets the error bound for states that are pushed from now on; 0: exact. Errc::enotvar, einval,
  /// ebadtype.
  void set_bound(int variable, double bound);
  const Part& variable(int number) const;  ///< as it was declared; Errc::enotvar

  /// Keeps the values of all variables that have memory. Once the state is kept, an older state of
  /// the same step is dropped. If a sync has completed that one, a new state in files is on the
  /// device before. The memory is the caller's again. Errc::eno_space and others: nothing has
  /// changed.
  void push(StateId id);
  /// Restores the latest state, drops it and returns its step. Errc::enodata: there is none.
  Count pop();
  void peek(StateId id);  ///< restores; Errc::enodata; others if its variables differ
  void drop(StateId id);  ///< Errc::enodata

  // The same in pieces: begin, any number of puts or gets, end. abandon() instead of end() leaves
  // everything as it was.
  void begin_write(StateId id);
  void put(int variable, const void* values);
  /// Adds values to this state alone, as if a variable was declared with these arguments.
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

  /// Sets the order in which steps will be popped or read. It replaces the earlier order.
  void expect(const std::vector<Count>& steps);
  std::vector<StateInfo> list() const;  ///< by kind, then step
  /// Writes the first `most` steps of one kind to `into`, in order. Returns how many there are.
  std::size_t steps(Kind kind, std::size_t most, Count* into) const;
  std::size_t count(Kind kind) const { return steps(kind, 0, nullptr); }
  /// The model's states for a schedule: a sample if the number of steps is given
  /// (Catalogue::sample_of_model), otherwise all. `mark` is equal on ranks with the same steps.
  struct OfModel {
    std::vector<StoredState> states;
    std::uint64_t mark = 0;
    bool has_encoded = false;
  };
  OfModel of_model(std::optional<Count> steps) const;
  bool has(StateId id) const;
  std::optional<Count> first(Kind kind) const;
  std::optional<Count> last() const;  ///< the model's latest step
  StateInfo info(StateId id) const;   ///< Errc::enodata
  /// Waits until all states are on the device. Collective if the method has redundancy: then they
  /// survive the loss of a node, too (checkpoints/parity.h).
  void sync();
  /// Collective. Drops states that not all ranks have: ranks were killed during a push, or a push
  /// failed on one rank.
  void keep_common(Kind kind);
  /// Collective. Keeps all states on the device, or removes the files. If one rank keeps them, all
  /// ranks do.
  void close(bool keep);
  /// Local. Replaces close() on a rank that does not know what happens on the others. Its states
  /// stay on the device. Does nothing in a process that was forked from the one that opened the
  /// store.
  void leave();
  /// Called after leave(). Collective with close() on the other ranks: they keep their states, and
  /// get an error that says why.
  void join_end();

  const Comm& comm() const { return comm_; }
  Count raw_bytes() const;  ///< of one state with all variables
  /// Returns the free bytes of each existing tier, the fastest first, at an instant when no state
  /// counts in two tiers. A tier that could not be written has none. Once there is a state of the
  /// adjoint, the space for two states as large as its values is subtracted.
  std::vector<Count> free_bytes();
  /// A step whose state fits nowhere, whatever the others take: its push began last and failed, or
  /// refuse() named it. It is reset when a state is kept or another one is dropped.
  std::optional<Count> refused() const { return refused_; }
  void refuse(std::optional<Count> step) { refused_ = step; }
  /// The model's latest encoded states, kept or not, the latest last; each step once.
  std::vector<StoredState> seen() const { return seen_; }
  /// The time to keep a state, in steps of the model, as the method says.
  double keeping() const;
  /// What is damaged in this rank's files, and what parity did not give back, in words. The report
  /// has that of all ranks.
  const std::vector<std::string>& damage() const { return damage_; }
  /// How often a caller waited for the thread, and how many reads found their state decoded.
  Count waits() { return account_[Account::waits]; }
  Count decoded_ahead() { return account_[Account::decoded_ahead]; }
  Account& account() { return account_; }
  /// The cost of pushes and pops so far: visited entries, bytes written to journals.
  struct Work {
    Count looked_at = 0, journal_bytes = 0;
  };
  Work work_done() const;

 private:
  struct Variable {
    Part part;  ///< without pieces
    Pipeline codec;
    std::byte* memory = nullptr;
    std::string declared;  ///< the declared codec; a bound replaces its lossy stage in `codec`
  };
  Variable make_variable(const std::string& name, Type type, std::vector<Count> shape,
                         const std::optional<std::string>& codec, void* memory) const;
  const Variable& declared(int number) const;
  struct Ahead {
    std::uint64_t serial = 0;
    std::vector<RawBytes> values;  ///< of each part
  };
  struct Draft {
    Record record;
    std::set<std::string> names;  ///< names of the parts
    std::vector<RawBytes> owned;  ///< of each part, if its bytes are not the caller's
    std::vector<iovec> pieces;
  };
  using Lock = std::unique_lock<std::mutex>;

  static constexpr Count has_left = 2;  ///< a rank's value at the end; 0, 1: states are kept
  Count agree_on_end(Count mine);
  void open_tiers();
  void require_files_of_all(bool recovers);
  void take_states(Tier tier);
  void tell_damage();
  void require_idle() const;

  void add_part(Part part, const Pipeline& codec, std::span<const std::byte> values, bool stays);
  void commit();
  void note_size(const Record& record);
  void note_push(State& state);
  bool keep_in_memory(Lock& lock, State& state, Draft& draft);
  using AddTo = std::function<void(FileTier&)>;
  Tier keep_draft(Lock& lock, Draft& draft, bool replaces_synced);
  std::optional<Tier> keep_in_files(Record& record, Tier first, const AddTo& add);
  bool reserve(Tier tier, Record& record);
  void forget(const StatePtr& state);
  void discard(Tier tier, std::uint64_t serial, bool synced);
  void discard_stale();
  void leave_memory(State& state);
  void set_aside(std::vector<RawBytes> memory);
  void take_spare(Draft& draft);
  using Rooms = std::array<Count, 3>;  ///< free bytes by tier; below 0: no such tier
  Rooms rooms(bool known) const;
  Count left_for_adjoint(Tier tier, bool known) const;
  void leave_room_for_adjoint(Rooms& free) const;
  bool memory_has_room(Kind kind, Count bytes) const;

  StatePtr found(StateId id) const;
  /// Whether a power failure must leave the state, or what replaces it, until it is dropped.
  bool is_synced(const State& state) const {
    return state.replaced_synced || state.record.serial <= synced_;
  }
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
  void rouse();
  StatePtr to_move() const;
  StatePtr to_decode() const;
  void move_down(Lock& lock, const StatePtr& state, Team& team);
  void bring_to_files(Lock& lock, const StatePtr& state);
  void decode_ahead(Lock& lock, const StatePtr& state);
  bool has_memory_ahead(Lock& lock, Count made, Count more, Count all);
  bool has_room_below(const State& state) const;
  // Redundancy; in checkpoint_store_parity.cc.
  struct Parity {
    Record record;
    Tier tier = Tier::directory;
    ParityTable table;
  };
  /// What is missing, after files were lost.
  struct Loss {
    struct Item {
      StateId id;
      std::uint64_t group = 0;
      Member lost;
      Count chunk = 0, members = 0;
    };
    std::vector<Rank> ranks;  ///< that miss states, in order; the same on all ranks
    std::vector<Item> plan;   ///< on such a rank: the states to make again, and from which groups
    std::vector<Rank> told;   ///< lost ranks that this rank has parity of
  };
  /// What other ranks have for this one.
  struct Offer {
    ParityTable table;
    std::vector<Rank> from;
  };
  using Offers = std::map<std::pair<StateId, std::uint64_t>, Offer>;  // by state and group
  void join_set();
  void take_parity(Tier tier, Record record);
  void drop_parity(StateId id, std::uint64_t kept = 0);
  void drop_lone_parity();
  void drop_older_parity();
  std::uint64_t covering_group(const State& state) const;
  std::vector<StateId> without_parity() const;
  Member my_member(const Record& record) const;
  StatePtr hold(StateId id);
  void let_go(const StatePtr& state);
  void read_segment(const Parity& parity, Offset offset, std::span<std::byte> into) const;
  void protect();
  void make_parity(StateId id, const ParityTable& table);
  void keep_parity(StateId id, const ParityTable& table, RawBytes segment);
  bool has_lost(const Member& recorded) const;
  const Parity* usable(StateId id, std::uint64_t group) const;
  std::vector<Message> journals_of_others() const;
  std::vector<Message> offers_to(const std::vector<Rank>& lost) const;
  std::optional<Loss> find_loss();
  std::vector<Loss::Item> plan_for(const Offers& offers, const std::vector<Rank>& lost) const;
  void recover(const Loss& loss);
  void recover_in(const Comm& set, Rank lost, const std::vector<Loss::Item>& its_plan);
  bool gives_back(const Loss::Item& item, const Comm& set, Rank lost, Rank root);
  void note_not_given(const std::vector<Loss::Item>& plan);
  void restore_state(StateId id, std::uint64_t group, const Member& lost, RawBytes blob);
  Count missing_parity(Tier tier) const;
  Count parity_for(Count bytes) const;

  void sync_files();
  FileTier* files(Tier tier) const;
  void tell_failure();
  void stop();

  const pid_t process_;  ///< the process that opened the store
  Comm comm_;
  Comm set_;                     ///< with redundancy, the ranks that keep parity for each other
  std::vector<Rank> set_ranks_;  ///< their ranks in comm_; empty: no redundancy
  std::string name_;
  Method method_;
  Count memory_ = 0;  ///< most bytes of states in memory
  std::unique_ptr<FileTier> fast_, directory_;
  std::vector<std::string> damage_;
  std::vector<Variable> variables_;
  Team team_;
  std::optional<Draft> draft_;
  std::optional<Count> refused_;
  std::vector<StoredState> seen_;
  StatePtr reading_;
  std::optional<Ahead> reading_ahead_;
  std::optional<ReadWindow> window_;  ///< of the state in reading_
  std::size_t next_part_ = 0;         ///< the likely next part: sequential reads find it at once

  mutable std::mutex mutex_;  // guards what follows, and states
  std::condition_variable wake_, changed_;
  Catalogue states_;
  std::map<StateId, std::vector<Parity>> parities_;  ///< of each state, the newest last
  std::array<Count, tier_count> parity_bytes_{};
  /// Copies that discard() failed to drop, and damaged parity.
  std::vector<std::pair<Tier, std::uint64_t>> stale_;
  std::vector<std::pair<Tier, std::uint64_t>> unread_;  ///< parity that the system failed to read
  std::optional<Error> unread_error_;                   ///< why
  std::uint64_t last_serial_ = 0;
  std::uint64_t synced_ = 0;  ///< states up to this serial are on the device, and stay there
  Count held_ = 0;            ///< bytes of states in memory
  std::multimap<std::size_t, RawBytes> spare_;  ///< memory of dropped states, by size
  Count spare_bytes_ = 0;
  Count needed_ = 0;        ///< bytes of the next push
  bool backwards_ = false;  ///< the last call was not a push
  bool popped_ = false;     ///< the last call was a pop, so the next one is probably a pop, too
  std::optional<Ahead> ahead_;
  Count left_ahead_ = 0;         ///< bytes of reading_ahead_ that are not read yet
  std::optional<Error> failed_;  ///< the thread's error, not yet thrown to a caller
  int moving_ = 0;               ///< states being moved, by the thread or a sync
  bool decoding_ = false;        ///< the thread is decoding
  bool stopping_ = false;
  Account account_;
  Team team_beside_;  ///< used by the thread; team_ is used by the program
  std::thread thread_;
};

}  // namespace forebay::checkpoint
