// Writing: forebay::Dataset as one process, or all ranks of a communicator, uses it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/error.h"
#include "bundles.h"
#include "dataset/dataset.h"
#include "dataset/records.h"
#include "layout/classic_part.h"
#include "method/front_end.h"
#include "method/method.h"
#include "support.h"
#if FOREBAY_MPI
#include "comm/mpi.h"
#endif

namespace forebay::python {
namespace {

/// The communicator behind MPI's Fortran handle (mpi4py's comm.py2f()); nothing: this process.
/// Collective over it.
Comm comm_of(std::optional<int> handle) {
#if FOREBAY_MPI
  if (handle) return make_comm(MPI_Comm_f2c(static_cast<MPI_Fint>(*handle)));
#else
  if (handle) {
    throw Error(Errc::enotsupport, "this build of the Python package has no MPI",
                "install it with: pip install . --config-settings cmake.define.FOREBAY_MPI=ON");
  }
#endif
  return {};
}

/// Keys that nobody knows are refused here; from MPI_Info they would be passed on in silence.
void check_method(const HintMap& keys) {
  Method scratch;
  for (const auto& [key, value] : keys)
    set_method_key(scratch, key, value, "method " + key + "=" + value, "Python");
}

HintMap named(HintMap keys) {
  keys[hints_giver] = "Python's method";
  return keys;
}

/// Who writes one member of a bundle may write all of them: one thread at a time for all bundles.
std::mutex& members_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// A dataset that is open for writing. One thread at a time is let in. What Dataset calls
/// collective is collective here. The dataset changes between define mode and data mode by itself:
/// a definition enters the one, a request the other.
class Writer {
 public:
  /// `added`: to a bundle, which may close it.
  Writer(std::unique_ptr<Dataset> dataset, bool added)
      : dataset_(std::move(dataset)),
        mutex_(added || is_bundled(*dataset_) ? members_mutex() : own_mutex_) {
    if (!is_member()) return;
    const std::lock_guard lock(mutex_);
    members().push_back(this);
  }
  ~Writer() {
    if (!is_member()) return;
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    std::erase(members(), this);
    // The bundle has it, and writes what waits: nobody closes it any more.
    if (dataset_) static_cast<void>(dataset_.release());
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Takes an open file that a bundle closes from whoever has it, who holds members_mutex().
  static std::unique_ptr<Dataset> take(const Dataset& file) {
    for (Writer* one : members())
      if (one->dataset_.get() == &file) return std::move(one->dataset_);
    throw Error(Errc::ebadid, file.path() + " is not open");
  }

  /// Runs with the dataset, one thread at a time, without the interpreter's lock. Errc::einval once
  /// it is closed.
  template <typename Work>
  auto with(Work&& work) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!dataset_) throw Error(Errc::einval, "the file is closed");
    return work(*dataset_);
  }

  /// The same for what needs the interpreter too, and is over at once.
  template <typename Look>
  auto look(Look&& look) {
    std::unique_lock lock(mutex_, std::defer_lock);
    {
      const nb::gil_scoped_release unlocked;
      lock.lock();
    }
    if (!dataset_) throw Error(Errc::einval, "the file is closed");
    return look(const_cast<const Dataset&>(*dataset_));
  }

  /// Closes the file properly, or (`abort`) as Dataset::abort leaves it.
  void close(bool abort) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    if (!dataset_) return;
    std::unique_ptr<Dataset> dataset = std::move(dataset_);
    // Of bundles only who has their lock may ask.
    if (!is_member()) return abort ? dataset->abort() : dataset->close();
    abort ? abort_file(std::move(dataset)) : close_file(std::move(dataset));
  }

  bool closed() {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex_);
    return dataset_ == nullptr;
  }

 private:
  bool is_member() const { return &mutex_ != &own_mutex_; }
  static std::vector<Writer*>& members() {
    static std::vector<Writer*> all;
    return all;
  }

  std::unique_ptr<Dataset> dataset_;
  std::mutex own_mutex_;
  std::mutex& mutex_;
};

void to_define_mode(Dataset& ds) {
  if (!ds.in_define_mode()) ds.redef();
}

void to_data_mode(Dataset& ds) {
  if (ds.in_define_mode()) ds.enddef();
}

/// What a bundle adds a file to; 0: the file's method says.
using BundleNumber = int;

/// Collective. `make` is given the communicator.
template <typename Make>
std::unique_ptr<Dataset> start(std::optional<int> handle, const std::string& path,
                               BundleNumber bundle, bool makes, Make&& make) {
  // Threads that open files of their own do not wait for each other unless there is a bundle.
  std::unique_lock lock(members_mutex(), std::defer_lock);
  if (bundle != 0 || any_bundles()) lock.lock();
  const Comm comm = comm_of(handle);
  meet_before_opening(comm, path.c_str(), 0, makes);
  std::unique_ptr<Dataset> dataset = make(comm);
  if (bundle == 0) {
    if (!lock && dataset->method().passed_on.contains("bundle")) lock.lock();
    join_bundle(*dataset);
  } else if (const auto failed = attempt_to([&] { add_to_bundle(bundle, *dataset); })) {
    attempt_to([&] { dataset->close(); });
    throw *failed;
  }
  return dataset;
}

/// `rules_of`: the name that the file will get, whose rules in XML hold; empty: `path`.
void create(Writer* self, const nb::bytes& path, int version, bool clobber, const HintMap& method,
            std::optional<int> comm, BundleNumber bundle, const nb::bytes& rules_of) {
  const std::string name(path.c_str(), path.size());
  const std::string later(rules_of.c_str(), rules_of.size());
  const nb::gil_scoped_release unlocked;
  check_method(method);
  auto dataset = start(comm, name, bundle, clobber, [&](const Comm& ranks) {
    if (later.empty()) return Dataset::create(ranks, name, version, !clobber, named(method), true);
    Method chosen = choose_method(later, named(method), share_method_sources(ranks));
    keep_honoured(chosen, FrontEnd::netcdf);
    return Dataset::create_by(ranks, name, version, !clobber, chosen);
  });
  new (self) Writer(std::move(dataset), bundle != 0);
}

/// What a new file of this name becomes, by this method and what the environment says.
std::string container_of(const nb::bytes& path, const HintMap& method) {
  const std::string name(path.c_str(), path.size());
  check_method(method);
  return choose_method(name, named(method)).container;
}

/// An existing file; Python owns what is returned.
Writer* append(const nb::bytes& path, const HintMap& method, std::optional<int> comm,
               BundleNumber bundle) {
  const std::string name(path.c_str(), path.size());
  const nb::gil_scoped_release unlocked;
  check_method(method);
  auto dataset = start(comm, name, bundle, false, [&](const Comm& ranks) {
    return Dataset::open(ranks, name, true, named(method));
  });
  return new Writer(std::move(dataset), bundle != 0);
}

BundleNumber begin_bundle(const std::string& name, const HintMap& method,
                          std::optional<int> handle) {
  const nb::gil_scoped_release unlocked;
  check_method(method);
  const std::lock_guard lock(members_mutex());
  return open_bundle(comm_of(handle), name, named(method));
}

/// Runs with all members, one thread at a time.
template <typename Work>
auto with_members(Work&& work) {
  const nb::gil_scoped_release unlocked;
  const std::lock_guard lock(members_mutex());
  return work();
}

/// A definition: enters define mode, and looks at `dims` by position.
VarId define_variable(Writer& self, const std::string& name, int type, std::vector<DimId> dims,
                      std::optional<nb::bytes> fill,
                      const std::optional<std::vector<Count>>& chunks,
                      const std::optional<std::string>& codec) {
  const std::string value = fill ? std::string(fill->c_str(), fill->size()) : std::string();
  const bool filled = fill.has_value();
  return self.with([&](Dataset& ds) {
    const auto element = static_cast<Type>(type);
    if (filled && std::cmp_not_equal(value.size(), size_of(element)))
      throw Error(Errc::einval, "variable " + name + ": the fill value has another type");
    to_define_mode(ds);
    const VarId id = ds.def_var(name, element, dims);
    if (filled) ds.def_var_fill(id, false, value.data());
    if (chunks) ds.set_chunk(id, *chunks);
    if (codec) ds.set_filter(id, *codec);
    return id;
  });
}

void put_attribute(Writer& self, VarId owner, const std::string& name, int type, Count count,
                   const nb::bytes& external) {
  const std::string bytes(external.c_str(), external.size());
  self.with([&](Dataset& ds) {
    to_define_mode(ds);
    Attribute attribute{name, static_cast<Type>(type), count, {}};
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    attribute.value.assign(begin, begin + bytes.size());
    check_size({}, count, size_of(attribute.type), bytes.size());
    ds.put_attribute(owner, std::move(attribute));
  });
}

/// Checked against the variable; a write may lie beyond the records there are.
Request make_request(const Dataset& ds, VarId var, Subarray selection, bool write, int type,
                     std::span<std::byte> memory) {
  const Variable& variable = ds.variable(var);
  const Count limit = write ? most_records(ds, variable) : ds.schema().numrecs;
  const bool strided = !selection.stride.empty();
  if (selection.start.size() != variable.dimids.size() ||
      selection.count.size() != variable.dimids.size() ||
      (strided && selection.stride.size() != variable.dimids.size()))
    throw Error(Errc::einval, "variable " + variable.name + ": wrong number of dimensions");
  check_selection(variable, limit, selection.start.data(), selection.count.data(),
                  strided ? selection.stride.data() : nullptr, true);
  Request request;
  request.var = var;
  request.write = write;
  request.elements = selection.elements();
  request.memory.type = static_cast<Type>(type);
  request.memory.data = memory.data();
  check_size(variable, request.elements, size_of(request.memory.type), memory.size());
  if (!convertible(variable.type, request.memory.type)) {
    throw Error(Errc::echar, "variable " + variable.name + " is of type " + name_of(variable.type) +
                                 ", which " + name_of(request.memory.type) +
                                 " is not converted to");
  }
  if (variable.is_record && request.elements > 0) {
    const Count stride = strided ? selection.stride[0] : 1;
    request.last_record = selection.start[0] + (selection.count[0] - 1) * stride + 1;
  }
  request.selection = std::move(selection);
  return request;
}

/// Records that come into being before or beside those that are written hold fill values, in
/// variables that have one and are not chunked (chunks that were never written read as that
/// anyway). One process only: ranks would have to agree on where the file ended.
void fill_new_records(Dataset& ds, const Request& request) {
  if (ds.comm().size() > 1 || ds.mode() != Mode::collective) return;
  const Count before = ds.schema().numrecs;
  for (std::size_t v = 0; v < ds.schema().vars.size(); ++v) {
    const Variable& var = ds.schema().vars[v];
    if (!var.is_record || var.no_fill || var.chunking || is_apart(var)) continue;
    const auto& part = std::get<Subarray>(request.selection);
    const bool whole = std::cmp_equal(v, request.var) && part.stride.empty() &&
                       std::equal(part.count.begin() + 1, part.count.end(), var.shape.begin() + 1);
    for (Count r = before; r < (whole ? part.start[0] : request.last_record); ++r)
      ds.fill_record(static_cast<VarId>(v), r);
  }
}

/// Writes now (collective where the dataset is in collective mode), or (`later`) queues the write
/// for flush(): the caller keeps `data` as it is until then.
void write(Writer& self, VarId var, std::vector<Count> start, std::vector<Count> count,
           std::vector<Count> stride, nb::handle data, int type, bool later) {
  const Buffer memory(data, false);
  Subarray selection = to_subarray(std::move(start), std::move(count), std::move(stride));
  self.with([&](Dataset& ds) {
    to_data_mode(ds);
    const bool collective = ds.mode() == Mode::collective;
    std::vector<Request> requests;
    const auto wrong = attempt_to([&] {
      requests.push_back(make_request(ds, var, std::move(selection), true, type, memory.bytes()));
    });
    if (later) {
      if (wrong) throw *wrong;
      fill_new_records(ds, requests.front());
      std::optional<Error> deferred;
      ds.post(std::move(requests.front()), &deferred);
      if (deferred) throw *deferred;
      return;
    }
    if (!wrong) fill_new_records(ds, requests.front());
    ds.execute(requests, collective, wrong);
  });
}

/// A rank that cannot write takes part in what the others do.
void take_part(Writer& self) {
  self.with([&](Dataset& ds) {
    to_data_mode(ds);
    if (ds.mode() != Mode::collective) return;
    static_cast<void>(
        attempt_to([&] { ds.execute({}, true, Error(Errc::einval, "nothing to write")); }));
  });
}

void read(Writer& self, VarId var, std::vector<Count> start, std::vector<Count> count,
          std::vector<Count> stride, nb::handle out) {
  const Buffer memory(out, true);
  Subarray selection = to_subarray(std::move(start), std::move(count), std::move(stride));
  self.with([&](Dataset& ds) {
    to_data_mode(ds);
    const bool collective = ds.mode() == Mode::collective;
    std::vector<Request> requests;
    const auto wrong = attempt_to([&] {
      const int type = static_cast<int>(ds.variable(var).type);
      requests.push_back(make_request(ds, var, std::move(selection), false, type, memory.bytes()));
    });
    ds.execute(requests, collective, wrong);
  });
}

}  // namespace

void bind_writer(nb::module_& module) {
  nb::class_<Writer>(module, "Writer")
      .def("__init__", create, nb::arg("path"), nb::arg("version"), nb::arg("clobber"),
           nb::arg("method"), nb::arg("comm").none(), nb::arg("bundle") = 0,
           nb::arg("rules_of") = nb::bytes("", 0))
      .def_static("append", append, nb::rv_policy::take_ownership, nb::arg("path"),
                  nb::arg("method"), nb::arg("comm").none(), nb::arg("bundle") = 0)
      .def(
          "describe",
          [](Writer& w) { return w.look([](const Dataset& ds) { return describe(ds.schema()); }); })
      .def(
          "variable",
          [](Writer& w, VarId id) {
            return w.look([&](const Dataset& ds) { return describe(ds.variable(id)); });
          },
          nb::arg("var"))
      .def(
          "attributes",
          [](Writer& w, VarId owner) {
            return w.look(
                [&](const Dataset& ds) { return describe_attributes(ds.schema(), owner); });
          },
          nb::arg("owner"))
      .def_prop_ro(
          "records",
          [](Writer& w) { return w.with([](Dataset& ds) { return ds.schema().numrecs; }); })
      .def_prop_ro("ranks",
                   [](Writer& w) { return w.with([](Dataset& ds) { return ds.comm().size(); }); })
      .def(
          "method",
          [](Writer& w) { return w.with([](Dataset& ds) { return to_hints(ds.method()); }); },
          "The method in force, as hint keys and values.")
      .def(
          "define_dimension",
          [](Writer& w, const std::string& name, Count length) {
            return w.with([&](Dataset& ds) {
              to_define_mode(ds);
              return ds.def_dim(name, length);
            });
          },
          nb::arg("name"), nb::arg("length"))
      .def("define_variable", define_variable, nb::arg("name"), nb::arg("type"), nb::arg("dims"),
           nb::arg("fill").none(), nb::arg("chunks").none(), nb::arg("codec").none())
      .def("put_attribute", put_attribute, nb::arg("owner"), nb::arg("name"), nb::arg("type"),
           nb::arg("count"), nb::arg("external"))
      .def(
          "delete_attribute",
          [](Writer& w, VarId owner, const std::string& name) {
            w.with([&](Dataset& ds) {
              to_define_mode(ds);
              ds.delete_attribute(owner, name);
            });
          },
          nb::arg("owner"), nb::arg("name"))
      .def("write", write, nb::arg("var"), nb::arg("start"), nb::arg("count"), nb::arg("stride"),
           nb::arg("data"), nb::arg("type"), nb::arg("later"))
      .def("flush",
           [](Writer& w) {
             w.with([](Dataset& ds) {
               to_data_mode(ds);
               ds.wait(Which::all, {}, {}, ds.mode() == Mode::collective);
             });
           })
      .def("take_part", take_part)
      .def("read", read, nb::arg("var"), nb::arg("start"), nb::arg("count"), nb::arg("stride"),
           nb::arg("out"))
      .def("begin_independent",
           [](Writer& w) {
             w.with([](Dataset& ds) {
               to_data_mode(ds);
               ds.begin_independent();
             });
           })
      .def("end_independent", [](Writer& w) { w.with([](Dataset& ds) { ds.end_independent(); }); })
      .def("sync",
           [](Writer& w) {
             w.with([](Dataset& ds) {
               to_data_mode(ds);
               ds.sync();
             });
           })
      .def("close", &Writer::close, nb::arg("abort"))
      .def_prop_ro("closed", &Writer::closed);
  module.def("container_of", container_of, nb::arg("path"), nb::arg("method"));
  module.def("begin_bundle", begin_bundle, nb::arg("name"), nb::arg("method"),
             nb::arg("comm").none());
  module.def(
      "flush_bundle", [](int number) { with_members([&] { flush_bundle(number); }); },
      nb::arg("number"));
  module.def(
      "sync_bundle", [](int number) { with_members([&] { sync_bundle(number); }); },
      nb::arg("number"));
  module.def(
      "bundle_plan", [](int number) { return with_members([&] { return bundle_plan(number); }); },
      nb::arg("number"));
  module.def(
      "end_bundle",
      [](int number) {
        return with_members([&] { return close_bundle(number, Writer::take, {}); });
      },
      nb::arg("number"));
}

}  // namespace forebay::python
