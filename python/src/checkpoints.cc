// Checkpoints of adjoint computations: checkpoint::Store, a state at a time.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoints/checkpoint_store.h"
#include "checkpoints/plan/checkpoint_schedule.h"
#include "comm/agree.h"
#include "method/checkpoint_method.h"
#include "method/method.h"
#include "plan/error_budget.h"
#include "support.h"
#if FOREBAY_MPI
#include "comm/mpi.h"
#endif

namespace forebay::python {
namespace {

using checkpoint::Kind;
using checkpoint::Part;
using checkpoint::StateId;
using checkpoint::Store;

Comm comm_of(std::optional<int> handle) {
#if FOREBAY_MPI
  if (handle) return make_comm(MPI_Comm_f2c(static_cast<MPI_Fint>(*handle)));
#else
  if (handle) throw Error(Errc::enotsupport, "this build of the Python package has no MPI");
#endif
  return {};
}

StateId id_of(Count step, bool adjoint) { return {adjoint ? Kind::adjoint : Kind::state, step}; }

/// A store that is open. One thread at a time is let in, without the interpreter's lock.
class Checkpoints {
 public:
  Checkpoints(const nb::bytes& path, const HintMap& keys, std::optional<int> comm) {
    const std::string name(path.c_str(), path.size());
    const nb::gil_scoped_release unlocked;
    const Comm ranks = comm_of(comm);
    together(ranks, [&] {
      const Method method =
          choose_checkpoint_method(name, share_method_sources(ranks), {keys, "Python's method"});
      store_ = std::make_unique<Store>(ranks, name, method);
    });
  }

  /// What nobody has closed stays. A process that was forked has none of the store's threads, and
  /// nothing to do with its files.
  ~Checkpoints() {
    if (::getpid() != process_) {
      static_cast<void>(store_.release());
      static_cast<void>(left_.release());
      return;
    }
    if (!store_) return;
    const auto failed = attempt_to([&] { store_->leave(); });
    if (failed)
      std::fprintf(stderr,
                   "forebay: checkpoints that were not closed, states in memory are lost: %s\n",
                   failed->message().c_str());
  }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  template <typename Work>
  auto with(Work&& work) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!store_) throw Error(Errc::einval, "the checkpoints are closed");
    return work(*store_);
  }

  void close(bool keep) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!store_) return;
    const auto last = std::move(store_);
    last->close(keep);
  }
  void leave() {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!store_ || ::getpid() != process_) return;
    left_ = std::move(store_);
    left_->leave();
  }
  /// Waits until the others close what this rank has left.
  void join_end() {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!left_ || ::getpid() != process_) return;
    const auto last = std::move(left_);
#if FOREBAY_MPI
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended) return;
#endif
    last->join_end();
  }
  bool closed() const { return !store_; }

 private:
  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::unique_ptr<Store> store_, left_;
};

/// (name, type, shape, codec or None, buffer)
using Given =
    std::tuple<std::string, int, std::vector<Count>, std::optional<std::string>, nb::object>;

void put(Checkpoints& to, Count step, bool adjoint, const std::vector<Given>& variables) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (const Given& given : variables)
    buffers.push_back(std::make_unique<Buffer>(std::get<4>(given), false));
  to.with([&](Store& store) {
    store.begin_write(id_of(step, adjoint));
    try {
      for (std::size_t i = 0; i < variables.size(); ++i) {
        const auto& [name, type, shape, codec, object] = variables[i];
        store.put(name, static_cast<Type>(type), shape, codec, buffers[i]->bytes().data());
      }
      store.end();
    } catch (...) {
      store.abandon();
      throw;
    }
  });
}

/// [(name, type, shape)] of a state that is being read from here on.
nb::list begin(Checkpoints& from, Count step, bool adjoint) {
  const auto parts = from.with([&](Store& store) {
    store.begin_read(id_of(step, adjoint));
    return store.parts();
  });
  nb::list list;
  for (const Part& part : parts)
    list.append(nb::make_tuple(part.name, static_cast<int>(part.type), nb::cast(part.shape)));
  return list;
}

void get(Checkpoints& from, const std::string& name, nb::handle into) {
  const Buffer buffer(into, true);
  from.with([&](Store& store) { store.get_bytes(name, buffer.bytes()); });
}

/// [(step, is of the adjoint, tier, stored bytes, bytes of values)]
nb::list list_of(Checkpoints& of) {
  constexpr const char* tiers[] = {"memory", "fast", "directory"};
  nb::list list;
  for (const auto& state : of.with([](Store& store) { return store.list(); }))
    list.append(nb::make_tuple(state.id.step, state.id.kind == Kind::adjoint,
                               tiers[static_cast<int>(state.tier)], state.bytes, state.raw_bytes));
  return list;
}

/// (what, from, to, tier): AdjointAction.
nb::tuple next_of(Count model, std::optional<Count> adjoint,
                  const std::vector<std::tuple<Count, Count>>& stored, std::vector<Count> free,
                  std::optional<Count> here, double keeping,
                  const std::vector<std::tuple<Count, Count>>& seen) {
  constexpr const char* kinds[] = {"advance", "store", "restore", "drop", "turn", "done"};
  AdjointState state{model, adjoint, {}, std::move(free), here, {}, keeping, {}};
  for (const auto& [step, bytes] : stored) state.stored.push_back({step, bytes});
  for (const auto& [step, bytes] : seen) state.seen.push_back({step, bytes});
  const AdjointAction next = next_action(state);
  return nb::make_tuple(kinds[static_cast<int>(next.kind)], next.from, next.to, next.tier);
}

/// Of [(elements, sensitivity or None, largest bound)].
std::vector<double> bounds_of(
    const std::vector<std::tuple<Count, std::optional<double>, double>>& given, double target) {
  std::vector<LossyVariable> variables;
  for (const auto& [elements, sensitivity, most] : given)
    variables.push_back({elements, sensitivity, most});
  return error_bounds(variables, target);
}

}  // namespace

void bind_checkpoints(nb::module_& module) {
  nb::class_<Checkpoints>(module, "Checkpoints", nb::is_weak_referenceable())
      .def(nb::init<const nb::bytes&, const HintMap&, std::optional<int>>(), nb::arg("path"),
           nb::arg("keys"), nb::arg("comm").none())
      .def("put", put)
      .def("begin", begin)
      .def("get", get)
      .def("end", [](Checkpoints& c) { c.with([](Store& store) { store.end(); }); })
      .def("abandon", [](Checkpoints& c) { c.with([](Store& store) { store.abandon(); }); })
      .def("drop",
           [](Checkpoints& c, Count step, bool adjoint) {
             c.with([&](Store& store) { store.drop(id_of(step, adjoint)); });
           })
      .def("expect",
           [](Checkpoints& c, std::vector<Count> steps) {
             c.with([&](Store& store) { store.expect(std::move(steps)); });
           })
      .def("list", list_of)
      .def("count",
           [](Checkpoints& c, bool adjoint) {
             return c.with([&](Store& store) { return store.count(id_of(0, adjoint).kind); });
           })
      .def("has",
           [](Checkpoints& c, Count step, bool adjoint) {
             return c.with([&](Store& store) { return store.has(id_of(step, adjoint)); });
           })
      .def("first",
           [](Checkpoints& c, bool adjoint) {
             return c.with([&](Store& store) { return store.first(id_of(0, adjoint).kind); });
           })
      .def("last", [](Checkpoints& c) { return c.with([](Store& store) { return store.last(); }); })
      .def("steps",
           [](Checkpoints& c, bool adjoint) {
             return c.with([&](Store& store) {
               const Kind kind = id_of(0, adjoint).kind;
               std::vector<Count> steps(store.count(kind));
               store.steps(kind, steps.size(), steps.data());
               return steps;
             });
           })
      .def("free", [](Checkpoints& c) { return c.with([](Store& s) { return s.free_bytes(); }); })
      .def("sync", [](Checkpoints& c) { c.with([](Store& store) { store.sync(); }); })
      .def("close", &Checkpoints::close, nb::arg("keep"))
      .def("leave", &Checkpoints::leave)
      .def("join_end", &Checkpoints::join_end)
      .def_prop_ro("closed", &Checkpoints::closed);
  module.def("check_codec", [](const std::string& text) { Pipeline::parse(text); });
  module.def("next_action", next_of, nb::arg("model"), nb::arg("adjoint").none(), nb::arg("stored"),
             nb::arg("free"), nb::arg("here").none(), nb::arg("keeping") = 0.0,
             nb::arg("seen") = std::vector<std::tuple<Count, Count>>());
  module.def("error_bounds", bounds_of);
  module.def("sensitivity_of", [](double bound, double error, double other_bound, double other) {
    return sensitivity_of({bound, error}, {other_bound, other});
  });
}

}  // namespace forebay::python
