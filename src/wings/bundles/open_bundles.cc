#include "bundles/open_bundles.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "comm/left_open.h"
#include "dataset/probe.h"
#include "method/front_end.h"
#include "method/method_values.h"
#include "storage/file.h"

namespace forebay {

namespace {

/// Writes a bundle and removes it when the program ends.
class AtTheEnd final : LeftOpen {
 public:
  explicit AtTheEnd(Bundle& bundle) : LeftOpen(Turn::owner), bundle_(bundle) {}

 private:
  const Comm& its_ranks() const override { return bundle_.comm(); }
  std::string its_name() const override { return "bundle " + bundle_.name(); }
  bool would_lose() const override { return !bundle_.is_empty(); }
  void end() override;

  Bundle& bundle_;
};

struct Entry {
  struct Added {
    std::string path;
    std::optional<int> code;  // set once it is closed
    bool pending = false;     // this rank's requests were pending when it was closed

    int status() const {
      const int known = code.value_or(0);
      return known == 0 && pending ? to_int(Errc::epending) : known;
    }
  };
  std::unique_ptr<Bundle> bundle;
  std::unique_ptr<AtTheEnd> at_the_end;
  bool by_name = false;               // no program knows its number
  std::int64_t used = 0;              // time of its last use
  std::vector<Added> added;           // by forebay_bundle_add, in order
  std::vector<const Dataset*> apart;  // open files whose writes could not wait

  /// Returns the file of that name that is not closed yet, or null.
  Added* find(const std::string& path) {
    const auto at = std::find_if(added.begin(), added.end(),
                                 [&](const Added& one) { return !one.code && one.path == path; });
    return at != added.end() ? &*at : nullptr;
  }
  void note(const std::string& path, int code) {
    if (Added* const one = find(path)) one->code = code;
  }
  void note_outcomes() {
    for (const auto& [path, code] : bundle->take_outcomes()) note(path, code);
  }
};

/// Bundles by number. The map is never destroyed: at exit MPI has ended, and nothing may call it.
std::map<int, Entry>& entries() {
  static auto* all = new std::map<int, Entry>;
  return *all;
}
int last_number = 0;
std::int64_t last_use = 0;
std::atomic<std::size_t> how_many = 0;

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

/// Returns the stage that the file shares with others, or null.
SharedStage* stage_of(const Dataset& dataset) {
  const StageMember* const member = dataset.as_member();
  return member ? member->stage() : nullptr;
}

Bundle* bundle_of(const Dataset& dataset) {
  const SharedStage* const stage = stage_of(dataset);
  for (auto& [number, entry] : entries())
    if (entry.bundle.get() == stage) return entry.bundle.get();
  return nullptr;
}

// Open members are closed afterwards as files.
void AtTheEnd::end() {
  auto failed = attempt_to([&] { bundle_.complete(); });
  keep_first(failed, attempt_to([&] { bundle_.tell(); }));
  // The extracted entry owns this object, so it must live until the end of the function.
  const auto its_own =
      entries().extract(std::find_if(entries().begin(), entries().end(), [&](const auto& one) {
        return one.second.bundle.get() == &bundle_;
      }));
  how_many = entries().size();
  if (failed) throw *failed;
}

bool is_alike(const Comm& one, const Comm& other) {
  return one.rank() == other.rank() && one.size() == other.size();
}

bool is_idle(const Entry& entry, const Comm& comm) {
  return entry.by_name && entry.bundle->is_idle() && is_alike(entry.bundle->comm(), comm);
}

/// Local. Returns the id of the bundle that has been without files longest, if it may go; 0: none.
std::int64_t longest_idle(const Comm& comm) {
  // A program may use a new name in each step, and MPI has few communicators.
  constexpr int most = 16;
  int idle = 0;
  const Entry* oldest = nullptr;
  for (const auto& [number, entry] : entries()) {
    if (!is_idle(entry, comm)) continue;
    ++idle;
    if (!oldest || entry.used < oldest->used) oldest = &entry;
  }
  return idle >= most ? oldest->bundle->id() : 0;
}

/// Collective; succeeds on all ranks or on none. `by_name`: the bundle may go once it is idle.
Entry& make_bundle(const Comm& comm, const std::string& name, const BundleOptions& options,
                   bool by_name) {
  std::map<int, Entry> made;  // once all ranks have the node, it moves without allocating
  auto goes = entries().end();
  std::int64_t may_go = 0;
  const auto make = [&] {
    std::int64_t id = std::chrono::system_clock::now().time_since_epoch().count();
    id = static_cast<std::int64_t>(
        (hash_of(std::as_bytes(std::span(name))) ^ static_cast<std::uint64_t>(id)) >> 2);
    std::array<std::int64_t, 2> ids{id + 1, longest_idle(comm)};
    comm.broadcast(ids.data(), sizeof ids);
    goes = std::find_if(entries().begin(), entries().end(), [&](const auto& one) {
      return one.second.bundle->id() == ids[1] && is_idle(one.second, comm);
    });
    may_go = goes != entries().end();
    Entry& entry = made[last_number + 1];
    entry.bundle = std::make_unique<Bundle>(comm, name, ids[0], options);
    entry.at_the_end = std::make_unique<AtTheEnd>(*entry.bundle);
    entry.by_name = by_name;
    entry.used = ++last_use;
  };
  together(comm, make, {&may_go, 1}, Reduce::min);
  if (may_go != 0) {
    entries().erase(goes);
  } else if (goes != entries().end()) {
    goes->second.used = ++last_use;  // other ranks' bundle: another one is chosen next time
  }
  entries().merge(made);
  how_many = entries().size();
  return entries().find(++last_number)->second;
}

}  // namespace

/// The facts that ranks combine, as maxima, to find out whether all of them mean the same bundle
/// for a file. Only rank 0 identifies the file: names are looked up once.
class BundleEntrance::Intent {
 public:
  bool said = false;
  std::string name;
  Bundle* bundle = nullptr;  // the bundle that this rank means, or null
  Bundle::Joining joining;   // what this rank needs to add the file

  /// Local.
  std::span<std::int64_t> say(const Comm& comm, Dataset& dataset) {
    said = true;
    if (bundle != nullptr)
      facts_ = {1, !is_alike(bundle->comm(), comm), bundle->id(), -bundle->id(), 0, least, least};
    look(dataset.path(), comm.is_root());
    // A second collective step per file would take a tenth of a step of many small files.
    if (bundle == nullptr || is_bundled(dataset)) return facts_;
    joining = bundle->prepare(dataset);
    facts_[7] = joining.file.weak;
    return facts_;
  }
  std::span<std::int64_t> say_by_name(const Comm& comm, Dataset& dataset) {
    name = method_value(dataset.method(), "bundle");
    Entry* const entry = find(name);
    bundle = entry ? entry->bundle.get() : nullptr;
    if (entry) entry->used = ++last_use;
    return say(comm, dataset);
  }
  /// Collective.
  template <typename F>
  void agree(const Comm& comm, F&& say) {
    agree_on_error(comm, attempt_to(say), facts_, Reduce::max);
  }

  // From here on facts_ holds the maxima of all ranks.
  bool any() const { return facts_[0] != 0; }
  bool all() const { return facts_[1] == 0 && facts_[2] == -facts_[3]; }
  /// If a file is open twice, the waiting writes of both openings would go to it in any order.
  bool is_open_twice() const { return facts_[4] != 0; }
  FileNumber file() const {
    return {static_cast<std::uint64_t>(facts_[5]), static_cast<std::uint64_t>(facts_[6])};
  }
  /// Adds the file to the bundle that all ranks mean.
  bool add(Dataset& dataset) {
    joining.file.weak = facts_[7];
    return bundle->add(dataset, file(), std::move(joining));
  }

 private:
  void look(const std::string& path, bool at_file) {
    facts_[4] = std::any_of(entries().begin(), entries().end(), [&](const auto& one) {
      return one.second.bundle->would_lose(path, at_file);
    });
    if (!at_file) return;
    const FileNumber file = file_number(path);
    facts_[5] = static_cast<std::int64_t>(file.first);
    facts_[6] = static_cast<std::int64_t>(file.second);
  }

  static constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  // Any; not all; id; negative id; twice; the file's number; weak caches.
  std::array<std::int64_t, 8> facts_{0, 1, 0, 0, 0, least, least, 0};
};

namespace {

/// Closes or aborts by `end`, and notes the file's outcome for statuses.
template <typename F>
void end_file(const Dataset& dataset, F&& end) {
  bool apart = false;
  Entry* noted = nullptr;
  const SharedStage* const stage = stage_of(dataset);
  for (auto& [number, entry] : entries()) {
    const bool here = std::erase(entry.apart, &dataset) > 0;
    apart = apart || here;
    if (here || (stage && entry.bundle.get() == stage)) noted = &entry;
  }
  // Other ranks are in the same call: nothing may fail before `end`, or in place of it.
  std::string path;
  if (apart) attempt_to([&] { path = dataset.path(); });
  const auto failed = attempt_to(end);
  if (apart) attempt_to([&] { noted->note(path, failed ? to_int(failed->code()) : 0); });
  if (noted) attempt_to([&] { noted->note_outcomes(); });
  if (failed) throw *failed;
}

}  // namespace

// Rank 0 looks at the file, because names are looked up once, and tells the mode. Other ranks may
// have bundles without rank 0. The maxima are: the bundle's id, the member's number, whether any
// rank has it waiting, whether an open member would be created anew, the mode, and the id of the
// bundle in which the file is open.
OpeningFacts look_before_opening(bool is_root, const char* path, int mode, bool makes) {
  OpeningFacts found{};
  found[4] = is_root ? mode : std::numeric_limits<std::int64_t>::min();
  for (auto& [number, entry] : entries()) {
    Bundle& bundle = *entry.bundle;
    if (path != nullptr && makes && bundle.would_lose(absolute_path(path), is_root)) found[3] = 1;
    const Bundle::Known known = path != nullptr ? bundle.known_as(path, is_root) : Bundle::Known{};
    if (is_root && known.open != 0) found[5] = bundle.id();
    const std::int64_t member = known.waiting;
    if (member == 0) continue;
    const bool waits = bundle.waits(member) == Bundle::Waits::yes;
    if (waits) found[2] = 1;
    if (!is_root || (found[1] != 0 && !waits)) continue;
    found[0] = bundle.id();
    found[1] = member;
  }
  return found;
}

void meet_before_opening(const Comm& comm, const char* path, int mode, bool makes) {
  OpeningFacts facts = look_before_opening(comm.is_root(), path, mode, makes);
  comm.all_reduce(facts, Reduce::max);
  agree_before_opening(comm, path, facts);
}

AgreedOpening agree_before_opening(const Comm& comm, const char* path, const OpeningFacts& found) {
  const int root_mode = static_cast<int>(found[4]);
  if (found[3] != 0)
    throw Error(Errc::einval,
                std::string(path ? path : "a file") + " is in a bundle already, and open",
                "close it before it is created anew");
  if (found[1] == 0 && found[2] == 0) return {root_mode, false};
  const auto here = std::find_if(entries().begin(), entries().end(), [&](const auto& one) {
    return one.second.bundle->id() == found[0] && is_alike(one.second.bundle->comm(), comm);
  });
  // The first fact: the bundle is not of these ranks. The second: the member was dropped, which not
  // all ranks may know.
  std::array<std::int64_t, 2> facts{1, 0};
  if (here != entries().end())
    facts = {0, here->second.bundle->waits(found[1]) == Bundle::Waits::dropped};
  comm.all_reduce(facts, Reduce::max);
  if (facts[0] != 0)
    throw Error(Errc::eperm, "the file waits to be written with others, by other ranks",
                "let all ranks of the bundle open it, or complete the bundle before "
                "(forebay_bundle_flush, or bundle_files)");
  Bundle& bundle = *here->second.bundle;
  if (facts[1] != 0) bundle.drop(found[1]);
  // A dropped file is not opened under that name any more.
  if (facts[1] == 0 || bundle.is_under_way()) bundle.complete();
  comm.meet();
  return {root_mode, true};
}

namespace {

/// Collective, after agree_before_opening().
void follow_member(Dataset& dataset, const OpeningFacts& found) {
  if (found[5] == 0) return;
  struct Following {
    Dataset& dataset;
    std::int64_t id, member;

    Bundle* bundle() const {
      for (auto& [number, entry] : entries())
        if (entry.bundle->id() == id) return entry.bundle.get();
      return nullptr;
    }
    void catch_up() const {
      Bundle* const its = bundle();
      if (its == nullptr || !its->is_behind(member)) return;
      // The bundle synchronises on another communicator. This step finds a rank that has failed.
      dataset.comm().meet();
      its->complete();
    }
  };
  const Comm& comm = dataset.comm();
  std::shared_ptr<Following> following;
  std::function<void()> catch_up;
  std::array<std::int64_t, 2> facts{1, 0};  // not of these ranks; the member's number, from rank 0
  const auto prepared = attempt_to([&] {
    following = std::make_shared<Following>(Following{dataset, found[5], 0});
    catch_up = [following] { following->catch_up(); };
    Bundle* const bundle = following->bundle();
    if (bundle == nullptr || !is_alike(bundle->comm(), comm)) return;
    facts[0] = 0;
    if (comm.is_root()) facts[1] = bundle->known_as(dataset.path()).open;
  });
  const auto failed = attempt_to([&] { agree_on_error(comm, prepared, facts, Reduce::max); });
  if (failed) {
    attempt_to([&] { dataset.abort(); });
    throw *failed;
  }
  if (facts[0] != 0) return;
  following->member = facts[1];
  dataset.before_operations(std::move(catch_up));
}

bool may_join(const Dataset& dataset) {
  return dataset.method().passed_on.contains("bundle") && dataset.writable();
}

}  // namespace

BundleEntrance::BundleEntrance() : meant_(std::make_unique<Intent>()) {}
BundleEntrance::~BundleEntrance() = default;

std::span<std::int64_t> BundleEntrance::say(Dataset& dataset) {
  if (!may_join(dataset)) return {};
  return meant_->say_by_name(dataset.comm(), dataset);
}

void BundleEntrance::join(Dataset& dataset, const OpeningFacts& found) {
  follow_member(dataset, found);
  join(dataset);
}

// After the collective step only code runs that needs no memory, or reports its lack.
void BundleEntrance::join(Dataset& dataset) {
  if (!may_join(dataset)) return Entrance::join(dataset, {});
  Intent& meant = *meant_;
  const Comm& comm = dataset.comm();
  if (!meant.said) meant.agree(comm, [&] { meant.say_by_name(comm, dataset); });
  // A sentence for which there is no memory is left out of the report.
  const auto leave_out = [&](auto&& why) {
    attempt_to([&] { dataset.remark("bundle " + meant.name + ": left out, as " + why()); });
    Entrance::join(dataset, {});
  };
  if (meant.is_open_twice())
    return leave_out([] { return std::string("the file is open in a bundle already"); });
  if (meant.any() && !meant.all())
    return leave_out([] { return std::string("other ranks write that"); });
  const bool added = meant.any()
                         ? meant.add(dataset)
                         : make_bundle(comm, meant.name, bundle_options(dataset.method()), true)
                               .bundle->add(dataset, meant.file());
  if (!added)
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
    if (bundle->is_under_way()) attempt_to([&] { bundle->complete(); });
    bundle->remove(*dataset);
    dataset->as_member()->discard(true);
    dataset->abort();
  });
}

bool is_bundled(const Dataset& dataset) { return stage_of(dataset) != nullptr; }

bool any_bundles() { return how_many > 0; }

void delete_waiting(const std::string& path) {
  std::vector<std::pair<Bundle*, std::int64_t>> waiting;
  for (auto& [number, entry] : entries()) entry.bundle->wait_until_made();
  for (auto& [number, entry] : entries())
    for (const std::int64_t member : entry.bundle->closed_as(path))
      waiting.emplace_back(entry.bundle.get(), member);
  delete_file(path);
  for (const auto& [bundle, member] : waiting) bundle->drop(member);
}

namespace {

/// Rank 0's hints count.
BundleOptions agreed_options(const Comm& comm, const HintMap& hints) {
  BundleOptions options;
  std::int64_t scheme = -1;
  together(comm, [&] {
    const MethodSources sources = share_method_sources(comm);
    if (comm.is_root()) {
      Method method = choose_method("", hints, sources);
      keep_honoured(method, FrontEnd::bundles);
      options = bundle_options(method);
    }
    if (options.scheme) scheme = static_cast<std::int64_t>(*options.scheme);
    std::array<std::int64_t, 7> all{options.files,          scheme,
                                    options.memory,         options.buffer_limit,
                                    options.ranks_per_node, options.window_size,
                                    options.async};
    comm.broadcast(all.data(), sizeof all);
    options.files = static_cast<int>(all[0]);
    if (all[1] >= 0) options.scheme = static_cast<BundleScheme>(all[1]);
    options.memory = all[2];
    options.buffer_limit = all[3];
    options.ranks_per_node = static_cast<int>(all[4]);
    options.window_size = all[5];
    options.async = all[6] != 0;
  });
  return options;
}

void require_collective(const Dataset& ds) {
  if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
  if (ds.mode() == Mode::independent)
    throw Error(Errc::eindep, ds.path() + " is in independent data mode");
}

/// Calls f(file) for all open members, even if some fail. Returns the first error.
template <typename F>
std::optional<Error> each_member(Entry& entry, F&& f) {
  std::optional<Error> failed;
  for (Dataset* member : entry.bundle->open_members()) attempt_into(failed, [&] { f(*member); });
  return failed;
}

}  // namespace

int open_bundle(const Comm& comm, const std::string& name, const HintMap& hints) {
  const BundleOptions options = agreed_options(comm, hints);
  together(comm, [&] {
    if (name.empty()) throw Error(Errc::ebadname, "the name is empty");
    if (find(name) != nullptr)
      throw Error(Errc::einval, "a bundle of the name \"" + name + "\" is open",
                  "close it, or choose another name");
  });
  make_bundle(comm, name, options, false);
  return last_number;
}

void add_to_bundle(int number, Dataset& ds) {
  // A rank without a bundle takes part, so that the others learn of it.
  const auto found = entries().find(number);
  BundleEntrance::Intent meant;
  if (found != entries().end()) meant.bundle = found->second.bundle.get();
  meant.agree(ds.comm(), [&] { meant.say(ds.comm(), ds); });
  Entry& entry = entry_of(number);
  if (!meant.all())
    throw Error(Errc::einval,
                ds.path() + ": its ranks are not those of the bundle, or do not all mean that",
                "open the bundle's files on its communicator");
  if (!ds.writable()) throw Error(Errc::eperm, ds.path() + " was opened for reading only");
  const bool apart = std::find(entry.apart.begin(), entry.apart.end(), &ds) != entry.apart.end();
  if (apart || meant.is_open_twice())
    throw Error(Errc::einval, ds.path() + " is in a bundle already",
                "a file is a member of one bundle, once");
  entry.note_outcomes();
  if (!meant.add(ds)) {
    entry.apart.push_back(&ds);
    if (ds.as_member()) ds.as_member()->file().finish_making();
  }
  entry.note(ds.path(), 0);  // a file of that name may have been aborted before
  entry.added.push_back({ds.path(), std::nullopt, false});
}

void wait_for_bundle(int number) {
  Entry& entry = entry_of(number);
  std::optional<Error> failed;
  std::vector<Dataset*> all;
  together(entry.bundle->comm(), [&] { all = entry.bundle->open_members(); });
  // All ranks know a file's mode.
  std::erase_if(
      all, [&](Dataset* ds) { return !attempt_into(failed, [&] { require_collective(*ds); }); });
  const auto waited = Dataset::wait_for_all(entry.bundle->comm(), all);
  keep_first(failed, waited);
  if (failed) throw *failed;
}

namespace {

template <typename F>
void complete_and(int number, F&& f) {
  Entry& entry = entry_of(number);
  entry.bundle->complete();
  const auto failed = each_member(entry, f);
  entry.note_outcomes();
  entry.bundle->tell();
  if (failed) throw *failed;
}

}  // namespace

void flush_bundle(int number) {
  complete_and(number, [](Dataset& ds) { ds.flush(); });
}

void sync_bundle(int number) {
  complete_and(number, [](Dataset& ds) {
    if (ds.mode() != Mode::define) ds.sync();
  });
}

std::string close_bundle(int number,
                         const std::function<std::unique_ptr<Dataset>(const Dataset&)>& take,
                         std::span<int> statuses) {
  Entry& entry = entry_of(number);
  std::optional<Error> failed;
  // Members are closed in the bundle's order, which is the same on all ranks; file ids may differ.
  for (const Dataset* member : entry.bundle->open_members()) {
    Entry::Added* const added = entry.find(member->path());
    const auto code = attempt_to([&] { entry.bundle->close_later(take(*member)); });
    if (added && code && code->code() == Errc::epending) added->pending = true;
    keep_first(failed, code);
  }
  for (const Dataset* file : std::exchange(entry.apart, {})) {
    const std::string path = file->path();
    const auto code = attempt_to([&] { take(*file)->close(); });
    entry.note(path, code ? to_int(code->code()) : 0);
    keep_first(failed, code);
  }
  attempt_into(failed, [&] { entry.bundle->complete(); });
  entry.note_outcomes();
  for (std::size_t i = 0; i < std::min(statuses.size(), entry.added.size()); ++i)
    statuses[i] = entry.added[i].status();
  attempt_into(failed, [&] { entry.bundle->tell(); });
  std::string plan;
  attempt_into(failed, [&] { plan = entry.bundle->plan_json(); });
  entries().erase(number);
  how_many = entries().size();
  if (failed) throw *failed;
  return plan;
}

std::string bundle_plan(int number) { return entry_of(number).bundle->plan_json(); }

std::size_t added_to_bundle(int number) { return entry_of(number).added.size(); }

extern const SharingEntry bundle_sharing{
    look_before_opening,
    agree_before_opening,
    []() -> std::unique_ptr<Entrance> { return std::make_unique<BundleEntrance>(); },
    close_file,
    abort_file,
    delete_waiting};

}  // namespace forebay
