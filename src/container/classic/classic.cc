#include "container/classic/classic.h"

#include <algorithm>
#include <array>

#include "base/attempt.h"
#include "comm/agree.h"

namespace forebay {

/// All variables of a file: those that the part keeps go there, the others are canonical.
class ClassicContainer::Dispatch : public Layout {
 public:
  explicit Dispatch(ClassicContainer& file) : file_(file) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    if (!file_.begun()) return file_.canonical_->carry_out(requests, write, collective);
    const auto middle = std::stable_partition(
        requests.begin(), requests.end(), [&](const Request& r) { return !file_.kept(var(r)); });
    const std::span<Request> plain(requests.begin(), middle), kept(middle, requests.end());
    std::array<std::int64_t, 2> any{!plain.empty(), !kept.empty()};
    if (file_.has_plain_ && collective) {
      file_.comm_.all_reduce(any, Reduce::max);
    } else if (collective) {
      any = {0, 1};
    }
    const auto attempt = [&](auto&& f) {
      return collective ? up_to_meeting(file_.comm_, f) : attempt_to(f);
    };
    std::optional<Error> failed;
    if (any[0]) failed = attempt([&] { file_.canonical_->carry_out(plain, write, collective); });
    if (any[1]) {
      const auto error = attempt([&] { file_.part_->carry_out(kept, write, collective); });
      if (!failed) failed = error;
    }
    if (failed) throw *failed;
  }

  void flush() override {
    if (file_.begun()) file_.part_->flush();
  }
  // Of what a part keeps, several operations are one after the other in any case.
  void expect_more(bool more) override {
    if (!file_.begun()) file_.canonical_->expect_more(more);
  }
  std::optional<ByteRange> range_of(const Request& request) const override {
    return file_.begun() ? std::nullopt : file_.canonical_->range_of(request);
  }
  bool writes_alone() const override { return !file_.begun() && file_.canonical_->writes_alone(); }
  std::string reasons() const override {
    return file_.begun() ? file_.part_->reasons() : file_.canonical_->reasons();
  }
  NamedOwners owners() const override {
    return file_.begun() ? file_.part_->owners() : NamedOwners{};
  }

 private:
  const Variable& var(const Request& r) const {
    return file_.schema_.vars[static_cast<std::size_t>(r.var)];
  }

  ClassicContainer& file_;
};

ClassicContainer::ClassicContainer(const ContainerSite& site)
    : site_(site),
      comm_(site.comm),
      schema_(site.schema),
      file_owner_(std::make_shared<File>(site.path, site.writable, site.comm.rank(), site.report)),
      file_(*file_owner_),
      layout_(std::make_unique<Dispatch>(*this)) {}

// The engine's parts refer to each other, in the order of the members.
ClassicContainer::~ClassicContainer() = default;

void ClassicContainer::create(bool exclusive, bool& made) {
  by_root(comm_, [&] {
    StepTimer timer(site_.report, Step::define);
    file_.create(exclusive);
    made = true;
  });
  make_engine();
}

void ClassicContainer::open() {
  read_header();
  make_engine();
  if (has_part(schema_)) {
    Schema stored = std::move(schema_);
    schema_ = {};
    part_ = make_part();
    part_->take_over(stored, 0);
    // Other tools copy the attribute that tells of a part, and none of its variables.
    const bool any = std::any_of(schema_.vars.begin(), schema_.vars.end(),
                                 [&](const Variable& v) { return part_->keeps(v); });
    if (!any) return part_.reset();
    part_begins();
    part_->load();
  }
}

void ClassicContainer::part_begins() {
  part_in_file_ = part_ != nullptr;
  has_plain_ = std::any_of(schema_.vars.begin(), schema_.vars.end(),
                           [&](const Variable& v) { return !kept(v); });
}

void ClassicContainer::make_engine() {
  const Method& method = site_.method;
  TransportOptions options;
  options.kind = method.transport;
  options.window_size = method.window_size;
  options.striping_unit = method.striping_unit;
  options.buffer_limit = method.buffer_limit;
  options.hole_threshold = method.hole_threshold;
  options.aggregators = method.aggregators;
  options.ranks_per_node = method.ranks_to_share_memory();
  options.bulk = method.stage == "burst";  // whoever stages does so because the file is slow
  transport_ = make_transport(comm_, file_owner_, options, site_.report);
  canonical_ =
      make_canonical_layout(schema_, *transport_, site_.report, method.burst_order == "flatten");
}

std::unique_ptr<ClassicPart> ClassicContainer::make_part() const {
  return make_chunked_part(
      {comm_, site_.path, site_.method, schema_, file_, *transport_, site_.report});
}

// -- data

void ClassicContainer::publish() {
  if (begun()) part_->publish();
  by_root(comm_, [&] { write_numrecs(); });
}

void ClassicContainer::fill_record(VarId id, Count record) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  if (kept(var)) return part_->fill_record(id, record);
  agree_on_error(comm_, attempt_to([&] {
                   fill_elements(var, var.begin + record * schema_.recsize, var.inner_elements);
                 }));
}

// -- the end

void ClassicContainer::sync() {
  agree_on_error(comm_, attempt_to([&] { file_.sync(); }));
  if (begun()) part_->synced();
}

void ClassicContainer::refresh_definitions() {
  if (begun() && part_->header_is_old()) write_definitions();
}

void ClassicContainer::publish_last() {
  if (begun()) part_->publish_last();
}

void ClassicContainer::release() {
  if (transport_) transport_->close();
}

std::vector<std::string> ClassicContainer::reasons() const {
  return {transport_->reasons(), layout_->reasons()};
}

}  // namespace forebay
