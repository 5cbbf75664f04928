#include "container/classic/classic.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/attempt.h"
#include "base/hash.h"
#include "comm/agree.h"
#include "comm/backend.h"
#include "container/fill_bytes.h"
#include "format/anchor.h"
#include "storage/directory.h"
#include "storage/stripes.h"
#include "transport/direct_io.h"

namespace forebay {

/// The layout of all variables of a file. Parts carry out the requests of variables that they keep.
/// Other variables are canonical.
class ClassicContainer::Dispatch : public Layout {
 public:
  explicit Dispatch(ClassicContainer& file) : file_(file) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    if (Layout* const all = only_layout()) return all->carry_out(requests, write, collective);
    struct Share {
      Layout* layout;
      std::span<Request> requests;
    };
    std::vector<Share> shares;
    auto rest = requests.begin();
    const auto share_out = [&](Layout& layout, const ClassicPart* part) {
      const auto end = std::stable_partition(
          rest, requests.end(), [&](const Request& r) { return file_.keeper(var(r)) == part; });
      shares.push_back({&layout, {rest, end}});
      rest = end;
    };
    share_out(*file_.canonical_, nullptr);
    for (const Kept& kept : file_.parts_)
      if (kept.in_file) share_out(*kept.part, kept.part.get());
    std::vector<std::int64_t> any(shares.size());
    std::transform(shares.begin(), shares.end(), any.begin(),
                   [](const Share& share) { return !share.requests.empty(); });
    if (collective) file_.comm_.all_reduce(any, Reduce::max);
    const auto attempt = [&](auto&& f) {
      return collective ? up_to_meeting(file_.comm_, f) : attempt_to(f);
    };
    std::optional<Error> failed;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (any[i] == 0) continue;
      const auto error =
          attempt([&] { shares[i].layout->carry_out(shares[i].requests, write, collective); });
      if (!failed) failed = error;
    }
    if (failed) throw *failed;
  }

  std::optional<Foreseen> foresee(std::span<const Request> requests) const override {
    return file_.any_begun() ? std::nullopt : file_.canonical_->foresee(requests);
  }
  void carry_out_foreseen(std::span<Request> requests, bool write,
                          const Foreseen& agreed) override {
    file_.canonical_->carry_out_foreseen(requests, write, agreed);
  }

  void flush() override {
    for (const Kept& kept : file_.parts_)
      if (kept.in_file) kept.part->flush();
  }
  bool may_be_behind() const override { return file_.any_begun(); }
  // Parts carry out several operations one after another in any case.
  void expect_more(bool more) override {
    if (!file_.any_begun()) file_.canonical_->expect_more(more);
  }
  bool answers_slowly() const override {
    return !file_.any_begun() && file_.canonical_->answers_slowly();
  }
  bool overlapped() const override { return !file_.any_begun() && file_.canonical_->overlapped(); }
  bool sees_overlaps() const override {
    return !file_.any_begun() && file_.canonical_->sees_overlaps();
  }
  std::optional<ByteRange> range_of(const Request& request) const override {
    return file_.any_begun() ? std::nullopt : file_.canonical_->range_of(request);
  }
  ByteRange in_place(std::span<const Request> writes) const override {
    if (!file_.any_begun()) return file_.canonical_->in_place(writes);
    ByteRange all;
    for (const Request& write : writes) {
      const ClassicPart* part = file_.keeper(var(write));
      const Layout& layout = part ? static_cast<const Layout&>(*part) : *file_.canonical_;
      all.add(layout.in_place(std::span(&write, 1)));
    }
    return all;
  }
  std::unique_ptr<ExtentStream> extents_of(std::span<Request> writes) override {
    return file_.any_begun() ? nullptr : file_.canonical_->extents_of(writes);
  }
  ForJoint for_joint(std::span<Request> writes) override {
    if (file_.parts_.size() != 1 || !file_.any_begun()) return {};
    ForJoint its = file_.parts_[0].part->for_joint({});
    if (!its.layout) return {};
    const auto others = std::stable_partition(
        writes.begin(), writes.end(), [&](const Request& r) { return file_.keeper(var(r)); });
    return {its.layout, {writes.begin(), others}, {others, writes.end()}, file_.has_plain_};
  }
  bool writes_alone() const override {
    return !file_.any_begun() && file_.canonical_->writes_alone();
  }
  std::string reasons() const override {
    if (!file_.any_begun()) return file_.canonical_->reasons();
    std::string all;
    for (const Kept& kept : file_.parts_) {
      const std::string reasons = kept.part->reasons();
      all += (all.empty() || reasons.empty() ? "" : "; ") + reasons;
    }
    return all;
  }
  NamedOwners owners() const override {
    NamedOwners all;
    if (!file_.any_begun()) return all;
    for (const Kept& kept : file_.parts_)
      for (auto& owner : kept.part->owners()) all.push_back(std::move(owner));
    return all;
  }

 private:
  const Variable& var(const Request& r) const {
    return file_.schema_.vars[static_cast<std::size_t>(r.var)];
  }

  // Returns the layout that keeps all variables, or null if there are several. It needs no memory.
  // After ranks have agreed on an operation nothing may fail before they are in the layout, because
  // the layout's groups wait for their members.
  Layout* only_layout() const {
    if (!file_.any_begun()) return &*file_.canonical_;
    Layout* only = nullptr;
    for (const Kept& kept : file_.parts_) {
      if (!kept.in_file) continue;
      if (only != nullptr || file_.has_plain_) return nullptr;
      only = &*kept.part;
    }
    return only;
  }

  ClassicContainer& file_;
};

ClassicContainer::ClassicContainer(const ContainerSite& site)
    : site_(site),
      comm_(site.comm),
      schema_(site.schema),
      file_owner_(std::make_shared<File>(site.path, site.writable, site.comm.rank(), site.report)),
      file_(*file_owner_),
      layout_(std::make_unique<Dispatch>(*this)),
      hints_(alignment_hints(site.method)) {
  file_.use_queue(site.later);
}

// The parts of the engine refer to each other in the order of the members.
ClassicContainer::~ClassicContainer() {
  // Several files may share the communicator.
  if (file_.has_weak_caches()) comm_.before_meetings({});
  if (file_.has_weak_caches() && site_.writable) attempt_to([&] { file_.ensure_open(); });
  file_.leave();
}

// Each rank decides for its own node. Nodes may mount one file system in different ways, and one
// node may be the server. What the server does locally is right if the others are served from its
// caches. No collective step depends on this choice.
void ClassicContainer::share_file() {
  const CachesGiven given = site_.method.client_caches;
  if (given == CachesGiven::coherent) return;
  auto caches = client_caches_of(site_.path, site_.writable);
  if (given == CachesGiven::weak && caches == ClientCaches::coherent) caches = ClientCaches::weak;
  file_.share(caches);
  if (file_.has_weak_caches()) comm_.before_meetings([this] { meet(); });
}

void ClassicContainer::meet() {
  auto failed = attempt_to([&] { file_.meet(); });
  each_apart([&](ApartPart& part) { attempt_into(failed, [&] { part.meet(); }); });
  if (failed) throw *failed;
}

// All ranks align the file alike, because rank 0's result is broadcast. A file of one rank is
// aligned to stripes, too.
void ClassicContainer::find_stripes(bool makes, const std::function<bool()>& on_root,
                                    const Tells& tells) {
  Method& method = site_.method;
  const bool is_told = method.striping_unit > 0;
  constexpr std::size_t systems = 5 + FileIdentity::count, own = systems + 3;
  std::array<std::int64_t, Meeting::room> found{};
  std::span<std::int64_t> told;
  const auto failed = attempt_to([&] {
    const auto folder_name = std::span(site_.path).first(site_.path.rfind('/') + 1);
    found[3] = static_cast<std::int64_t>(hash_of(std::as_bytes(folder_name)));
    found[4] = ~found[3];
    found[systems] = this_system();
    found[systems + 1] = ~this_system();
    const auto identity = std::span(found).subspan(5, FileIdentity::count);
    std::fill(identity.begin(), identity.end(), std::numeric_limits<std::int64_t>::min());
    if (comm_.is_root()) {
      StoreTimes& folder = file_.folder();
      FileIdentity().put(identity);
      const bool later = on_root();
      if (!later) file_.identity().put(identity);
      if (!site_.writable) found[systems + 2] = is_of_one_node(file_.descriptor());
      if (later) {
        found[0] = is_told ? 0 : folder.stripe_unit.load();
        found[1] = folder.stripe_count;
        found[2] = 1;
      } else if (!is_told) {
        const Stripes stripes = stripes_of(file_.descriptor());
        found[0] = stripes.unit;
        found[1] = stripes.count;
        // The striping of an old file says nothing about new files in the folder.
        if (makes) {
          folder.stripe_count = stripes.count;
          folder.stripe_unit = stripes.unit;
        }
      }
    }
    if (tells) told = tells();
    std::copy(told.begin(), told.end(), found.begin() + own);
  });
  agree_on_error(comm_, failed, std::span(found).first(own + told.size()), Reduce::max);
  std::copy_n(found.begin() + own, told.size(), told.begin());
  being_made_ = found[2] != 0;
  named_alike_ = found[3] == ~found[4];
  file_.expect(FileIdentity::from(std::span(found).subspan(5, FileIdentity::count)));
  has_copies_ = found[systems + 2] != 0 && found[systems] != ~found[systems + 1];
  if (found[0] == 0) return;
  method.striping_unit = found[0];
  if (method.striping_factor == 0) method.striping_factor = found[1];
  if (transport_) transport_->use_stripes(found[0]);
  attempt_to([&] {  // for the report, if there is memory for it
    for (const char* key : {"striping_unit", "striping_factor"})
      if (!method.origin.contains(key)) method.origin[key] = "the file system";
  });
}

std::shared_ptr<File> ClassicContainer::beside(Report& report) {
  auto file = std::make_shared<File>(site_.path, site_.writable, comm_.rank(), report);
  file->write_for(file_);
  file->expect(file_.expected());
  return file;
}

// Looking at an existing file, or for unknown stripes, takes as long as making a file. So a thread
// makes the file only if neither is needed.
bool ClassicContainer::create_later() {
  const bool known = site_.method.striping_unit > 0 || file_.folder().stripe_unit >= 0;
  struct stat info {};
  const bool wanted = known && values_file() != nullptr && !has_weak_caches() &&
                      method_value(site_.method, "bundle_create") == "later" &&
                      ::lstat(site_.path.c_str(), &info) != 0 && errno == ENOENT &&
                      !std::filesystem::exists(directory::folder_beside(site_.path));
  if (wanted) file_.create_later();
  return wanted;
}

FileIdentity ClassicContainer::wait_until_made() {
  file_.wait_until_made();
  return comm_.is_root() ? file_.identity() : FileIdentity();
}

void ClassicContainer::made(const FileIdentity& file) {
  being_made_ = false;
  file_.expect(file);
}

void ClassicContainer::finish_making() {
  if (!std::exchange(being_made_, false)) return;
  agree_on_file(comm_, file_, attempt_to([&] { file_.wait_until_made(); }));
}

// Whatever may fail on any rank comes before the file is there, if the transport allows it. Then
// the reduction that spreads the file's identity also spreads the error.
bool ClassicContainer::create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) {
  share_file();
  const auto* transport = find_part<TransportEntry>(site_.method.transport);
  const bool engine_first = transport != nullptr && transport->is_made_locally;
  if (engine_first) make_engine();
  const auto make = [&] {
    StepTimer timer(site_.report, Step::define);
    has_new_name_ = true;
    if (may_be_later && !exclusive && create_later()) return made = true;
    if (!exclusive && directory::is_ours(site_.path)) remove_whole(site_.path);
    const auto before = header_for_beside(site_.path);
    file_.create(exclusive);
    made = true;
    remove_beside(site_.path, before);
    return false;
  };
  find_stripes(true, make, engine_first ? tells : Tells());
  if (!engine_first) make_engine();
  return engine_first;
}

void ClassicContainer::open() {
  share_file();
  read_header();
  find_stripes(false, [] { return false; }, {});
  // On such nodes each may have its own copy of the same input.
  if (has_copies_)
    file_.accept_copies(told_by_root(comm_, [&] { return sample_of(file_.descriptor()); }));
  make_engine();
  for (const LayoutEntry* layout : part_layouts()) {
    if (!layout->in_classic.is_in(schema_)) continue;
    Schema stored = std::move(schema_);
    schema_ = {};
    Kept kept = make_part(*layout);
    schema_ = kept.part->take_over(std::move(stored));
    // Other tools copy the attribute of a part without its variables.
    const bool any = std::any_of(schema_.vars.begin(), schema_.vars.end(),
                                 [&](const Variable& v) { return kept.part->keeps(v); });
    if (any) add_part(std::move(kept));
  }
  const anchors::UnknownAnchors unknown(schema_);
  for (const Variable& var : schema_.vars)
    if (const auto why = unknown.refusal(var)) throw why->at(site_.path);
  parts_begin();
  const Count in_header = schema_.numrecs;
  bool newest = true;
  each_begun_apart([&](ApartPart& part) { newest &= part.load(in_header); });
  if (newest && in_header > schema_.numrecs) {
    keep_added_records(schema_, in_header, told_by_root(comm_, [&] { return file_.size(); }));
  }
}

void ClassicContainer::add_part(Kept kept) {
  if (!kept.part->heap()) {
    parts_.insert(parts_.begin(), std::move(kept));
    return;
  }
  if (heap())
    throw Error(Errc::einval,
                site_.path + ": layouts " + parts_.back().layout->name + " and " +
                    kept.layout->name + " cannot be in one file",
                "each keeps values at the end of the file");
  parts_.push_back(std::move(kept));
}

HeapPart* ClassicContainer::heap() const {
  return parts_.empty() ? nullptr : parts_.back().part->heap();
}

ApartPart* ClassicContainer::last_apart() const {
  for (auto kept = parts_.rbegin(); kept != parts_.rend(); ++kept)
    if (ApartPart* part = kept->part->apart()) return part;
  return nullptr;
}

HeapPart* ClassicContainer::begun_heap() const {
  return !parts_.empty() && parts_.back().in_file ? parts_.back().part->heap() : nullptr;
}

template <typename F>
void ClassicContainer::each_begun_apart(F&& f) const {
  for (const Kept& kept : parts_)
    if (kept.in_file && kept.part->apart()) f(*kept.part->apart());
}

bool ClassicContainer::any_begun_apart() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Kept& kept) { return kept.in_file && kept.part->apart(); });
}

bool ClassicContainer::any_begun() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Kept& kept) { return kept.in_file; });
}

bool ClassicContainer::has_part(const LayoutEntry& layout) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const Kept& kept) { return kept.layout == &layout; });
}

ClassicPart* ClassicContainer::keeper(const Variable& var) const {
  for (const Kept& kept : parts_)
    if (kept.in_file && kept.part->keeps(var)) return kept.part.get();
  return nullptr;
}

ApartPart* ClassicContainer::keeper_apart(const Variable& var) const {
  ClassicPart* part = keeper(var);
  return part ? part->apart() : nullptr;
}

void ClassicContainer::parts_begin() {
  for (Kept& kept : parts_) kept.in_file = true;
  has_plain_ = std::any_of(schema_.vars.begin(), schema_.vars.end(),
                           [&](const Variable& v) { return !keeper(v); });
}

void ClassicContainer::make_engine() {
  const Method& method = site_.method;
  TransportOptions options = transport_options(method);
  // Stage async uses Layout::in_place to keep writes apart. But bytes of a heap may lie in any
  // hole.
  options.keeps_apart = [this] { return begun_heap() == nullptr; };
  options.named_alike = [this] { return named_alike_; };
  options.bulk = site_.batches;  // staging is used because the file is slow
  transport_ = make_transport(comm_, file_owner_, options, site_.report);
  canonical_ = make_canonical_layout(schema_, *transport_, site_.report,
                                     method.burst_order == FlushOrder::flatten);
}

ClassicContainer::Kept ClassicContainer::make_part(const LayoutEntry& layout) const {
  const auto make_io = [](const Comm& ranks, std::shared_ptr<File> file, const Method& method,
                          Report& report) -> std::unique_ptr<ExtentIo> {
    return make_transport(ranks, std::move(file), transport_options(method), report);
  };
  auto part =
      layout.in_classic.make({comm_, site_.path, site_.method, schema_, file_, *transport_,
                              site_.report, make_io, read_directly, site_.later, in_directory()});
  if ((part->apart() != nullptr) != layout.in_classic.apart)
    throw Error(Errc::einternal,
                std::string("ClassicPartEntry::apart of layout ") + layout.name + " is wrong");
  return {&layout, std::move(part)};
}

// -- data

std::optional<bool> ClassicContainer::has_last_work() const {
  bool any = false;
  for (const Kept& kept : parts_) {
    if (!kept.in_file) continue;
    const auto its = kept.part->has_last_work();
    if (!its) return std::nullopt;
    any = any || *its || (kept.part->apart() && kept.part->apart()->header_is_old());
  }
  return any;
}

void ClassicContainer::publish() {
  each_begun_apart([](ApartPart& part) { part.publish(); });
  if (definitions_wait_) return write_definitions();
  by_root(comm_, [&] { write_numrecs(); });
}

ByteFile* ClassicContainer::values_file() {
  const auto* transport = find_part<TransportEntry>(site_.method.transport);
  const bool any = transport && transport->of_any_file;
  return any && parts_.empty() && !file_.writes_later() ? &file_ : nullptr;
}

void ClassicContainer::publish_alone() {
  bool old = definitions_wait_;
  each_begun_apart([&](ApartPart& part) { old |= part.header_is_old(); });
  if (old) {
    write_header();
  } else if (schema_.record_dim()) {
    write_numrecs();
  }
  // A longer file keeps its size.
  if (const Offset end = full_size(); file_.is_regular() && file_.size() < end) file_.truncate(end);
}

void ClassicContainer::published() {
  definitions_wait_ = false;
  each_begun_apart([](ApartPart& part) { part.header_written(); });
}

void ClassicContainer::fill_record(VarId id, Count record) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  if (ApartPart* part = keeper_apart(var)) return part->fill_record(id, record);
  agree_on_error(comm_, attempt_to([&] {
                   fill_bytes(comm_, file_, external_fill(var),
                              var.begin + record * schema_.recsize, var.inner_elements);
                 }));
}

// -- the end

void ClassicContainer::sync() {
  agree_on_error(comm_, attempt_to([&] {
                   file_.sync();
                   sync_name();
                 }));
  file_.look_again();
  each_begun_apart([](ApartPart& part) { part.synced(); });
}

// POSIX does not ask a file system to bring a new name along with the file.
void ClassicContainer::sync_name() {
  if (!has_new_name_) return;
  if (file_.is_linked()) {
    const std::string place = file_.place_now();
    path_sync_.folder_of(place);
    if (in_directory()) path_sync_.folder_of(directory::folder_beside(place));
  }
  has_new_name_ = false;
}

void ClassicContainer::refresh_definitions() {
  bool old = false;
  each_begun_apart([&](ApartPart& part) { old |= part.header_is_old(); });
  if (old) write_definitions();
}

void ClassicContainer::publish_last() {
  each_begun_apart([](ApartPart& part) { part.publish_last(); });
}

// Where caches are weak, this node drops its cached pages of the file only after one more
// collective step. Then all know that rank 0 has set the file's size (File::leave). Parts do the
// same with files beside it.
void ClassicContainer::close() {
  auto failed = attempt_to([&] { meet(); });
  each_apart([&](ApartPart& part) { attempt_into(failed, [&] { part.close(); }); });
  attempt_into(failed, [&] { file_.close(); });
  if (failed) throw *failed;
}

bool ClassicContainer::may_be_at(const std::string& place) const {
  struct stat found {};
  const FileIdentity mine = file_.expected();
  return ::stat(place.c_str(), &found) != 0 || !mine.is_known() ||
         (found.st_dev == static_cast<dev_t>(mine.device) &&
          found.st_ino == static_cast<ino_t>(mine.inode));
}

void ClassicContainer::remove(const std::string& place) {
  if (attempt_to([&] { file_.wait_until_made(); })) return;  // it could not be made
  std::optional<Schema> header;                              // the header may not have been written
  attempt_to([&] { header = stored(); });
  if (header) remove_beside(site_.path, header);
  if (!may_be_at(place)) return;  // another file has the name now
  // A device is not removed: a program that runs as root would remove it for everybody.
  struct stat found {};
  const bool is_there = ::lstat(place.c_str(), &found) == 0;
  const auto kind = found.st_mode & S_IFMT;
  if (is_there && kind != S_IFREG && kind != S_IFLNK && kind != S_IFDIR) return;
  if (::unlink(place.c_str()) != 0) throw system_error(errno, Errc::ecantremove, "removing", place);
}

// This is collective throughout: no rank leaves early because of its own error.
void ClassicContainer::release() {
  std::optional<Error> failed;
  each_apart([&](ApartPart& part) { attempt_into(failed, [&] { part.release(); }); });
  if (transport_) attempt_into(failed, [&] { transport_->close(); });
  if (failed) throw *failed;
}

std::vector<std::string> ClassicContainer::reasons() const {
  std::vector<std::string> reasons = moved_.reasons();
  reasons.push_back(transport_->reasons());
  reasons.push_back(layout_->reasons());
  return reasons;
}

namespace {

constexpr Count gib = 1 << 30, no_limit = std::numeric_limits<Count>::max();

constexpr const char* of_classic_files = "container=classic|directory";

constexpr KeySpec keys[] = {
    size_key(
        {"nc_header_align_size", "bytes", "0",
         "The first variable begins at a multiple of this; 0 leaves it to the library.", "pnetcdf"},
        &Method::header_align, 0, no_limit, KeyFamily::pnetcdf)
        .with(of_classic_files),
    size_key({"nc_var_align_size", "bytes", "0",
              "Every variable of fixed size begins at a multiple of this.", "pnetcdf"},
             &Method::var_align, 0, no_limit, KeyFamily::pnetcdf)
        .with(of_classic_files),
    size_key({"nc_record_align_size", "bytes", "0",
              "The section of record variables begins at a multiple of this.", "pnetcdf"},
             &Method::record_align, 0, no_limit, KeyFamily::pnetcdf)
        .with(of_classic_files),
    size_key({"nc_header_read_chunk_size", "bytes, up to 1GiB", "256KiB",
              "The header is read in pieces of this size when a file is opened.", "pnetcdf"},
             &Method::header_read_chunk, 0, gib, KeyFamily::pnetcdf)
        .with(of_classic_files),
};

}  // namespace

extern const ContainerEntry classic_container{
    {"classic", "a netCDF file of the classic formats, CDF-1, CDF-2 or CDF-5", 10, keys},
    [](const ContainerSite& site) -> std::unique_ptr<Container> {
      return std::make_unique<ClassicContainer>(site);
    },
    [](const std::string&, bool is_directory) { return !is_directory; },
    true};

}  // namespace forebay
