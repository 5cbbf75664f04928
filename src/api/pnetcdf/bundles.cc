// Bundles by name and by number: what forebay_bundle.h says, and what the key `bundle` does.
#include "api/pnetcdf/bundles.h"

#include <forebay_bundle.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "api/pnetcdf/files.h"
#include "api/pnetcdf/interface.h"
#include "base/hash.h"
#include "bundle/bundle.h"
#include "comm/agree.h"
#include "comm/mpi.h"

namespace forebay::pnetcdf {

namespace {

struct Entry {
  struct Added {
    std::string path;
    std::optional<int> code;  // once it is closed
  };
  std::unique_ptr<Bundle> bundle;
  std::vector<Added> added;           // by forebay_bundle_add, in order
  std::vector<const Dataset*> apart;  // those that could not wait, and are open

  void note(const std::string& path, int code) {
    const auto at = std::find_if(added.begin(), added.end(),
                                 [&](const Added& one) { return !one.code && one.path == path; });
    if (at != added.end()) at->code = code;
  }
  void note_outcomes() {
    for (const auto& [path, code] : bundle->take_outcomes()) note(path, code);
  }
};

/// By number. Never destroyed: what is left at exit must not call MPI, which has ended by then.
std::map<int, Entry>& entries() {
  static auto* all = new std::map<int, Entry>;
  return *all;
}
int last_number = 0;

Entry* find(const std::string& name) {
  for (auto& [number, entry] : entries())
    if (entry.bundle->name() == name) return &entry;
  return nullptr;
}

Entry& entry_of(int id) {
  const auto found = entries().find(id);
  if (found == entries().end())
    throw Error(Errc::ebadid, std::to_string(id) + " is not the number of a bundle");
  return found->second;
}

Bundle* bundle_of(const Dataset& dataset) {
  auto* others = dataset.others();
  for (auto& [number, entry] : entries())
    if (entry.bundle.get() == others) return entry.bundle.get();
  return nullptr;
}

/// MPI_Finalize: all ranks are there, and may still talk to each other.
int complete_all(MPI_Comm, int, void*, void*) {
  for (auto& [number, entry] : entries()) {
    Bundle& bundle = *entry.bundle;
    auto failed = attempt_to([&] { bundle.complete(); });
    keep_first(failed, attempt_to([&] { bundle.tell(); }));
    // There is no call left that could return it.
    if (failed && bundle.comm().is_root())
      std::fprintf(stderr, "forebay: bundle %s: %s\n", bundle.name().c_str(),
                   failed->message().c_str());
  }
  entries().clear();
  return MPI_SUCCESS;
}

// It would be called before MPI's communicators go.
void watch_the_end() {
  static const bool watched = [] {
    int key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, complete_all, &key, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
    return true;
  }();
  static_cast<void>(watched);
}

/// Collective, on all ranks or on none.
Entry& make_bundle(const Comm& comm, const std::string& name, const BundleOptions& options) {
  std::map<int, Entry> made;  // a node that moves without memory, once all ranks have it
  together(comm, [&] {
    watch_the_end();
    std::int64_t id = std::chrono::system_clock::now().time_since_epoch().count();
    id = static_cast<std::int64_t>(
        (hash_of(std::as_bytes(std::span(name))) ^ static_cast<std::uint64_t>(id)) >> 2);
    comm.broadcast(&id, sizeof id);
    made[last_number + 1].bundle = std::make_unique<Bundle>(comm, name, id + 1, options);
  });
  entries().merge(made);
  return entries().find(++last_number)->second;
}

/// What ranks say of a bundle that they mean, to find out whether it is one and the same, of all of
/// them: maxima.
struct Meant {
  std::array<std::int64_t, 5> facts{0, 1, 0, 0, 0};  // any, not all, id, less the id, twice

  Meant(const Comm& comm, const Bundle* bundle, bool twice = false) {
    facts[4] = twice;
    if (bundle == nullptr) return;
    const bool alike = bundle->comm().rank() == comm.rank() && bundle->comm().size() == comm.size();
    facts = {1, !alike, bundle->id(), -bundle->id(), twice};
  }
  bool any() const { return facts[0] != 0; }
  bool all() const { return facts[1] == 0 && facts[2] == -facts[3]; }
  /// What both openings have waiting would go to the file in any order.
  bool is_open_twice() const { return facts[4] != 0; }
};

bool is_open_member(const std::string& path) {
  return std::any_of(entries().begin(), entries().end(),
                     [&](const auto& one) { return one.second.bundle->has_open(path); });
}

/// Closes or aborts by `end`, and notes what became of the file for whoever asks for statuses.
template <typename F>
void end_file(const Dataset& dataset, F&& end) {
  bool apart = false;
  Entry* noted = nullptr;
  for (auto& [number, entry] : entries()) {
    const bool here = std::erase(entry.apart, &dataset) > 0;
    apart = apart || here;
    if (here || entry.bundle.get() == dataset.others()) noted = &entry;
  }
  // Others are in the same call: nothing may fail here before it, or instead of it.
  std::string path;
  if (apart) attempt_to([&] { path = dataset.path(); });
  const auto failed = attempt_to(end);
  if (apart) attempt_to([&] { noted->note(path, failed ? to_int(failed->code()) : 0); });
  if (noted) attempt_to([&] { noted->note_outcomes(); });
  if (failed) throw *failed;
}

}  // namespace

int meet_before_opening(const Comm& comm, const char* path, int mode) {
  Bundle* bundle = nullptr;
  auto waits = Bundle::Waits::no;
  for (auto& [number, entry] : entries()) {
    const auto here = path != nullptr ? entry.bundle->waits(path) : Bundle::Waits::no;
    if (here <= waits) continue;
    waits = here;
    bundle = entry.bundle.get();
  }
  Meant meant(comm, bundle);
  std::array<std::int64_t, 6> all{};
  std::copy(meant.facts.begin(), meant.facts.end(), all.begin());
  all[4] = waits == Bundle::Waits::dropped;  // the others may not have been told
  all[5] = comm.is_root() ? mode : 0;
  comm.max_and_sum(all, 5);
  std::copy_n(all.begin(), 4, meant.facts.begin());
  if (meant.any() && !meant.all())
    throw Error(Errc::eperm, "the file waits to be written with others, by other ranks",
                "let all ranks of the bundle open it, or complete the bundle before "
                "(forebay_bundle_flush, or bundle_files)");
  if (meant.any() && all[4] != 0) {
    bundle->drop(path);
  } else if (meant.any()) {
    bundle->complete();
  }
  return static_cast<int>(all[5]);
}

void join_bundle(Dataset& dataset) {
  if (!dataset.method().passed_on.contains("bundle") || !dataset.writable()) return;
  const std::string name = method_value(dataset.method(), "bundle");
  const Comm& comm = dataset.comm();
  Entry* entry = find(name);
  Meant meant(comm, entry ? entry->bundle.get() : nullptr, is_open_member(dataset.path()));
  comm.all_reduce(meant.facts, Reduce::max);
  // Behind a meeting: a sentence that there is no memory for is left out of the report.
  const auto leave_out = [&](auto&& why) {
    attempt_to([&] { dataset.remark("bundle " + name + ": left out, as " + why()); });
  };
  if (meant.is_open_twice())
    return leave_out([] { return std::string("the file is open in a bundle already"); });
  if (!meant.any()) entry = &make_bundle(comm, name, bundle_options(dataset.method()));
  if (meant.any() && !meant.all())
    return leave_out([] { return std::string("other ranks write that"); });
  if (!entry->bundle->add(dataset))
    leave_out([&] { return "stage " + dataset.method().stage + " keeps what is written"; });
}

void close_file(std::unique_ptr<Dataset> dataset) {
  Bundle* bundle = bundle_of(*dataset);
  end_file(*dataset, [&] { bundle ? bundle->close(std::move(dataset)) : dataset->close(); });
}

void abort_file(std::unique_ptr<Dataset> dataset) {
  Bundle* bundle = bundle_of(*dataset);
  end_file(*dataset, [&] {
    if (bundle == nullptr) return dataset->abort();
    bundle->remove(*dataset);
    dataset->drop(true);
  });
}

void forget_closed(const std::string& path) {
  for (auto& [number, entry] : entries()) entry.bundle->drop(path);
}

namespace {

/// Of rank 0's hints.
BundleOptions agreed_options(const Comm& comm, MPI_Info info) {
  BundleOptions options;
  std::int64_t scheme = -1;
  together(comm, [&] {
    const MethodSources sources = share_method_sources(comm);
    if (comm.is_root()) options = bundle_options(choose_method("", hints_of(info), sources));
    if (options.scheme) scheme = static_cast<std::int64_t>(*options.scheme);
    std::array<std::int64_t, 6> all{options.files,          scheme,
                                    options.memory,         options.buffer_limit,
                                    options.ranks_per_node, options.window_size};
    comm.broadcast(all.data(), sizeof all);
    options.files = static_cast<int>(all[0]);
    if (all[1] >= 0) options.scheme = static_cast<BundleScheme>(all[1]);
    options.memory = all[2];
    options.buffer_limit = all[3];
    options.ranks_per_node = static_cast<int>(all[4]);
    options.window_size = all[5];
  });
  return options;
}

void require_collective(const Dataset& ds) {
  if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
  if (ds.mode() == Mode::independent)
    throw Error(Errc::eindep, ds.path() + " is in independent data mode");
}

int number_of(const Dataset& file) {
  for (const int ncid : open_files())
    if (&dataset(ncid) == &file) return ncid;
  throw Error(Errc::ebadid, file.path() + " is not open");
}

/// Calls f(file) for all open members, whatever happens to one: the first error of all.
template <typename F>
std::optional<Error> each_member(Entry& entry, F&& f) {
  std::optional<Error> failed;
  for (Dataset* member : entry.bundle->open_members()) attempt_into(failed, [&] { f(*member); });
  return failed;
}

}  // namespace

}  // namespace forebay::pnetcdf

using namespace forebay;
using namespace forebay::pnetcdf;

int forebay_bundle_open(MPI_Comm mpi, const char* name, MPI_Info info, int* id) {
  return guard([&] {
    const Comm comm = make_comm(mpi);
    const BundleOptions options = agreed_options(comm, info);
    std::string text;
    together(comm, [&] {
      if (id == nullptr) throw Error(Errc::einval, "no place for the bundle's number");
      text = name_argument(name);
      if (find(text) != nullptr)
        throw Error(Errc::einval, "a bundle of the name \"" + text + "\" is open",
                    "close it, or choose another name");
    });
    make_bundle(comm, text, options);
    *id = last_number;
  });
}

int forebay_bundle_add(int id, int ncid) {
  return guard([&] {
    Entry& entry = entry_of(id);
    Dataset& ds = dataset(ncid);
    Meant meant(ds.comm(), entry.bundle.get(), is_open_member(ds.path()));
    ds.comm().all_reduce(meant.facts, Reduce::max);
    if (!meant.all())
      throw Error(Errc::einval, ds.path() + ": its ranks are not those of the bundle",
                  "open the bundle's files on its communicator");
    check_writable(ds);
    const bool apart = std::find(entry.apart.begin(), entry.apart.end(), &ds) != entry.apart.end();
    if (apart || meant.is_open_twice())
      throw Error(Errc::einval, ds.path() + " is in a bundle already",
                  "a file is a member of one bundle, once");
    entry.note_outcomes();
    if (!entry.bundle->add(ds)) entry.apart.push_back(&ds);
    entry.note(ds.path(), 0);  // of that name was one that has been aborted
    entry.added.push_back({ds.path(), std::nullopt});
  });
}

int forebay_bundle_wait_all(int id) {
  return guard([&] {
    const auto failed = each_member(entry_of(id), [](Dataset& ds) {
      require_collective(ds);
      ds.wait(Which::all, {}, {}, true);
    });
    if (failed) throw *failed;
  });
}

int forebay_bundle_flush(int id) {
  return guard([&] {
    Entry& entry = entry_of(id);
    entry.bundle->complete();
    const auto failed = each_member(entry, [](Dataset& ds) { ds.flush(); });
    entry.note_outcomes();
    entry.bundle->tell();
    if (failed) throw *failed;
  });
}

int forebay_bundle_sync(int id) {
  return guard([&] {
    Entry& entry = entry_of(id);
    entry.bundle->complete();
    const auto failed = each_member(entry, [](Dataset& ds) {
      if (ds.mode() != Mode::define) ds.sync();
    });
    entry.note_outcomes();
    entry.bundle->tell();
    if (failed) throw *failed;
  });
}

int forebay_bundle_close(int id, int* statuses) {
  return guard([&] {
    Entry& entry = entry_of(id);
    std::optional<Error> failed;
    // In the order of the members, which is that of all ranks: their numbers may differ.
    for (const Dataset* member : entry.bundle->open_members()) {
      auto closed = remove_file(number_of(*member));
      attempt_into(failed, [&] { entry.bundle->close_later(std::move(closed)); });
    }
    for (const Dataset* file : std::exchange(entry.apart, {})) {
      const std::string path = file->path();
      const auto code = attempt_to([&] { remove_file(number_of(*file))->close(); });
      entry.note(path, code ? to_int(code->code()) : 0);
      keep_first(failed, code);
    }
    attempt_into(failed, [&] { entry.bundle->complete(); });
    entry.note_outcomes();
    if (statuses != nullptr)
      for (std::size_t i = 0; i < entry.added.size(); ++i)
        statuses[i] = entry.added[i].code.value_or(0);
    attempt_into(failed, [&] { entry.bundle->tell(); });
    entries().erase(id);
    if (failed) throw *failed;
  });
}

int64_t forebay_bundle_plan(int id, char* text, int64_t size) {
  int64_t needed = 0;
  const int code = guard([&] {
    const std::string plan = entry_of(id).bundle->plan_json();
    needed = static_cast<int64_t>(plan.size()) + 1;
    if (text == nullptr || size <= 0) return;
    const auto bytes = std::min<std::size_t>(plan.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(text, plan.data(), bytes);
    text[bytes] = '\0';
  });
  return code != 0 ? code : needed;
}
