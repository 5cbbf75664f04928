// Open stores by number, and one guard around each function.
#include <forebay_checkpoint.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array/group_type.h"
#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/last_message.h"
#include "base/words.h"
#include "checkpoints/api/open_store.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/plan/checkpoint_schedule.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "method/checkpoint_method.h"
#include "method/method.h"

namespace forebay::checkpoint {
namespace {

/// The table is never destroyed: at exit MPI has ended, and stores left open must not call it.
struct Stores {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Store>> open;
  int last = 0;
};
Stores& stores() {
  static auto* all = new Stores;
  return *all;
}

/// Keeps what close() would have kept if a program ends without closing. Local, and without MPI,
/// which has ended by then.
void leave_all() {
  for (const auto& numbered : stores().open) {
    if (!numbered.second) continue;
    const auto failed = attempt_to([&] { numbered.second->leave(); });
    if (failed)
      std::fprintf(stderr,
                   "forebay: checkpoints that were not closed, states in memory are lost: %s\n",
                   failed->message().c_str());
  }
}

Type type_of_word(const char* word) {
  const std::string name = lower_case(text_of(word));
  for (int t = 1; is_valid(static_cast<Type>(t)); ++t)
    if (name == name_of(static_cast<Type>(t))) return static_cast<Type>(t);
  const auto type = group_type(name);
  const Type engine = type ? to_engine(*type) : Type::none;
  if (engine == Type::none)
    throw Error(Errc::ebadtype, "checkpoints have no type \"" + text_of(word) + "\"",
                "accepted: double, float, int, long, …; what else there is, as bytes");
  return engine;
}

StateId id_of(int64_t step, int mode) {
  return {(mode & FOREBAY_ADJOINT) != 0 ? Kind::adjoint : Kind::state, step};
}

/// Returns a hash by which ranks compare their numbers.
Count mark_of(std::span<const Count> numbers) {
  return static_cast<Count>(hash_of(std::as_bytes(numbers)) >> 1);
}

constexpr double unit = 1 << 20, large = 1e12;  // of parts of a state; the most states

/// Collective; called if sizes of some rank differ. Every rank gets the largest sizes.
std::vector<double> common_course(const Comm& comm, const AdjointState& state) {
  std::vector<double> course;
  std::vector<Count> agreed;
  together(comm, [&] {
    course = course_of(state);
    for (const double size : course) agreed.push_back(std::llround(std::min(size, large) * unit));
  });
  comm.all_reduce(agreed, Reduce::max);
  for (std::size_t i = 0; i < course.size(); ++i)
    course[i] = static_cast<double>(std::max<Count>(agreed[i], 1)) / unit;
  return course;
}

/// Returns the same action on all ranks. Sizes and rooms differ between ranks, so the rank with the
/// least room decides. A state that one rank could not keep has no place, and the others drop it.
AdjointAction common_action(Store& store, int64_t model, int64_t adjoint) {
  AdjointState state;
  // The agreed numbers, in this order: the room, and the size of the model's state, in units of a
  // part of a state; whether this state may be kept; the least and the largest hash, of arguments
  // and of stored steps; the cost of keeping, whose bits grow with it; how many sizes were seen;
  // whether they differ; whether the model's size is known.
  Count agreed[11] = {0, 0, 1};
  static_assert(std::size(agreed) <= Meeting::room);
  const auto failed = attempt_to([&] {
    if (adjoint < -1)
      throw Error(Errc::einval, std::to_string(adjoint) + " steps to be reversed",
                  "say -1 where nobody knows how many there are");
    state.model = model;
    if (adjoint >= 0) state.adjoint = adjoint;
    Store::OfModel there = store.of_model(state.adjoint);
    state.stored = std::move(there.states);
    state.all_stored = [&] { return store.of_model({}).states; };
    state.here = store.raw_bytes();
    state.free = store.free_bytes();
    state.seen = store.seen();
    state.keeping = store.keeping();
    const CheckpointRoom mine = room_of(state);
    agreed[0] = std::llround(std::min(mine.states, large) * unit);
    agreed[1] = -std::llround(std::min(mine.here, large) * unit);
    agreed[2] = store.refused() == std::optional(model) ? 0 : 1;
    const Count arguments[] = {model, adjoint};
    agreed[3] = mark_of(arguments);
    agreed[5] = static_cast<Count>(there.mark >> 1);
    agreed[4] = -agreed[3];
    agreed[6] = -agreed[5];
    agreed[7] = -std::bit_cast<Count>(state.keeping);
    agreed[9] = mine.sizes_differ ? -1 : 0;
    agreed[10] = mine.knows_here ? 1 : 0;
    // Raw states all have the same size.
    agreed[8] = there.has_encoded ? mine.sizes_seen : Count{CheckpointRoom::likely};
  });
  agree_on_error(store.comm(), failed, agreed, Reduce::min);
  if (agreed[3] != -agreed[4])
    throw Error(Errc::emultidefine, "ranks are at different states, or have different steps left",
                "let all ranks do what they are told");
  if (agreed[5] != -agreed[6]) {
    together(store.comm(), [&] { store.keep_common(Kind::state); });
    return common_action(store, model, adjoint);
  }
  CheckpointRoom room;
  room.states = static_cast<double>(agreed[0]) / unit;
  room.here = -static_cast<double>(agreed[1]) / unit;
  room.sizes_seen = agreed[8];
  room.sizes_differ = agreed[9] < 0;
  room.knows_here = agreed[10] > 0;
  if (room.sizes_differ) room.course = common_course(store.comm(), state);
  const bool refused = agreed[2] == 0;
  if (state.stored.empty()) {
    if (refused) {
      store.refuse(std::nullopt);  // the next call tries again
      throw Error(Errc::eno_space,
                  "state " + std::to_string(model) + ", from which all others are computed, " +
                      "could not be kept",
                  "see what its push told, and push it again");
    }
    room.states = std::max(room.states, 1.0);  // a codec may make it fit
  }
  for (StoredState& kept : state.stored) kept.bytes = 1;
  state.seen.clear();
  state.keeping = std::bit_cast<double>(-agreed[7]);
  state.here.reset();
  if (refused) state.here = 2;
  state.free = {room.states > 0 ? 1 : 0};
  const AdjointAction next = next_action(state, room);
  // A state after all remaining steps is dropped because nobody needs it: it has a place.
  const bool is_needed = next.from < adjoint;
  if (next.kind == AdjointAction::Kind::drop && next.from == model && is_needed)
    store.refuse(model);
  return next;
}

}  // namespace

Store& store_of(int number) {
  const std::lock_guard lock(stores().mutex);
  const auto found = stores().open.find(number);
  if (found == stores().open.end() || !found->second)
    throw Error(Errc::ebadid, std::to_string(number) + " is no open store of checkpoints");
  return *found->second;
}

void open_store(const Comm& comm, const char* name, const char* hints, int* number) {
  std::unique_ptr<Store> made;
  int mine = 0;
  static const int registered = std::atexit(leave_all);
  static_cast<void>(registered);
  const auto failed = attempt_to([&] {
    together(comm, [&] {
      const MethodSources sources = share_method_sources(comm);
      constexpr const char* giver = "forebay_checkpoint_open";
      const Method method = choose_checkpoint_method(text_of(name), sources,
                                                     {parse_hints(text_of(hints), giver), giver});
      answer_at(number);
      {
        const std::lock_guard lock(stores().mutex);
        mine = stores().last + 1;
        stores().open[mine];  // after the opening nothing may fail
        stores().last = mine;
      }
      made = std::make_unique<Store>(comm, text_of(name), method);
    });
  });
  const std::lock_guard lock(stores().mutex);
  if (failed) {
    stores().open.erase(mine);
    throw *failed;
  }
  stores().open[mine] = std::move(made);
  *number = mine;
}

}  // namespace forebay::checkpoint

using namespace forebay;              // NOLINT(google-build-using-namespace)
using namespace forebay::checkpoint;  // NOLINT(google-build-using-namespace)

int forebay_checkpoint_open(const char* name, const char* hints, int* store) {
  return guard([&] { open_store(Comm(), name, hints, store); });
}

int forebay_checkpoint_var(int store, const char* name, const char* type, int ndims,
                           const int64_t* shape, const char* codec, void* memory, int* var) {
  return guard([&] {
    Store& in = store_of(store);
    if (ndims < 0 || (ndims > 0 && !shape))
      throw Error(Errc::einval, "variable " + text_of(name) + " has no shape", "give its extents");
    const std::span extents(shape, static_cast<std::size_t>(ndims));
    std::optional<std::string> words;
    if (codec) words = codec;
    const int number = in.add_variable(text_of(name), type_of_word(type),
                                       {extents.begin(), extents.end()}, words, memory);
    if (var) *var = number;
  });
}

int forebay_checkpoint_set_bound(int store, int var, double bound) {
  return guard([&] { store_of(store).set_bound(var, bound); });
}

int forebay_checkpoint_push(int store, int64_t step) {
  return guard([&] { store_of(store).push({Kind::state, step}); });
}

int forebay_checkpoint_pop(int store, int64_t* step) {
  return guard([&] {
    const Count popped = store_of(store).pop();
    if (step) *step = popped;
  });
}

int forebay_checkpoint_peek(int store, int64_t step) {
  return guard([&] { store_of(store).peek({Kind::state, step}); });
}

int forebay_checkpoint_drop(int store, int64_t step) {
  return guard([&] { store_of(store).drop({Kind::state, step}); });
}

int forebay_checkpoint_drop_adjoint(int store, int64_t step) {
  return guard([&] { store_of(store).drop({Kind::adjoint, step}); });
}

int forebay_checkpoint_begin(int store, int64_t step, int mode) {
  return guard([&] {
    if ((mode & ~(FOREBAY_WRITE | FOREBAY_ADJOINT)) != 0)
      throw Error(Errc::einval, "mode " + std::to_string(mode),
                  "accepted: FOREBAY_READ, FOREBAY_WRITE, each with FOREBAY_ADJOINT");
    Store& in = store_of(store);
    const StateId id = id_of(step, mode);
    (mode & FOREBAY_WRITE) != 0 ? in.begin_write(id) : in.begin_read(id);
  });
}

int forebay_checkpoint_put(int store, int var, const void* values) {
  return guard([&] { store_of(store).put(var, values); });
}

int forebay_checkpoint_get(int store, int var, void* values) {
  return guard([&] { store_of(store).get(var, values); });
}

int forebay_checkpoint_put_bytes(int store, const char* name, const void* bytes, int64_t size) {
  return guard([&] {
    if (size < 0 || (size > 0 && !bytes))
      throw Error(Errc::einval, "no bytes of " + text_of(name), "give their address");
    store_of(store).put_bytes(
        text_of(name), {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
  });
}

int forebay_checkpoint_get_bytes(int store, const char* name, void* bytes, int64_t* size) {
  return guard([&] {
    Store& in = store_of(store);
    const Count there = in.bytes_of(text_of(name));
    const Count room = std::exchange(answer_at(size), there);
    if (!bytes) return;
    if (room < there)
      throw Error(Errc::einsuffbuf, text_of(name) + " has " + std::to_string(there) +
                                        " bytes, and there is room for " + std::to_string(room));
    in.get_bytes(text_of(name), {static_cast<std::byte*>(bytes), static_cast<std::size_t>(there)});
  });
}

int forebay_checkpoint_end(int store) {
  return guard([&] { store_of(store).end(); });
}

int forebay_checkpoint_abandon(int store) {
  return guard([&] { store_of(store).abandon(); });
}

int forebay_checkpoint_expect(int store, const int64_t* steps, int64_t n) {
  return guard([&] {
    if (n < 0 || (n > 0 && !steps)) throw Error(Errc::einval, "no steps to expect");
    const std::span all(steps, static_cast<std::size_t>(n));
    store_of(store).expect({all.begin(), all.end()});
  });
}

int forebay_checkpoint_list(int store, int mode, int64_t most, int64_t* steps, int64_t* found) {
  return guard([&] {
    const std::size_t room = steps && most > 0 ? static_cast<std::size_t>(most) : 0;
    answer_at(found) =
        static_cast<int64_t>(store_of(store).steps(id_of(0, mode).kind, room, steps));
  });
}

int forebay_checkpoint_inq_state(int store, int64_t step, int mode, int* tier, int64_t* bytes,
                                 int64_t* raw_bytes) {
  return guard([&] {
    static_assert(static_cast<int>(Tier::memory) == FOREBAY_IN_MEMORY &&
                  static_cast<int>(Tier::fast) == FOREBAY_IN_FAST &&
                  static_cast<int>(Tier::directory) == FOREBAY_IN_DIR);
    const StateInfo state = store_of(store).info(id_of(step, mode));
    if (tier) *tier = static_cast<int>(state.tier);
    if (bytes) *bytes = state.bytes;
    if (raw_bytes) *raw_bytes = state.raw_bytes;
  });
}

int forebay_checkpoint_sync(int store) {
  return guard([&] { store_of(store).sync(); });
}

int forebay_checkpoint_close(int store, int keep) {
  return guard([&] {
    store_of(store);
    std::unique_ptr<Store> last;
    {
      const std::lock_guard lock(stores().mutex);
      last = std::move(stores().open[store]);
      stores().open.erase(store);
    }
    last->close(keep != 0);
  });
}

int forebay_schedule_next(int store, int64_t model, int64_t adjoint, int* action, int64_t* from,
                          int64_t* to_state) {
  return guard([&] {
    static_assert(static_cast<int>(AdjointAction::Kind::done) == FOREBAY_DONE &&
                  static_cast<int>(AdjointAction::Kind::turn) == FOREBAY_TURN &&
                  static_cast<int>(AdjointAction::Kind::store) == FOREBAY_STORE);
    Account& account = store_of(store).account();
    const AdjointAction next = common_action(store_of(store), model, adjoint);
    if (next.kind == AdjointAction::Kind::advance) account.note_advance(next.from, next.to);
    if (next.kind == AdjointAction::Kind::turn) ++account[Account::turned];
    answer_at(action) = static_cast<int>(next.kind);
    answer_at(from) = next.from;
    answer_at(to_state) = next.to;
  });
}
