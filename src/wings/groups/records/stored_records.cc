// Reads groups from any netCDF files. It reverses the mapping of variables in record_targets.h
// (docs/groups.md, "Reading").
//
// The dataset is in independent mode, where each rank reads for itself, except in perform_reads().
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "comm/agree.h"
#include "dataset/dataset.h"
#include "dataset/fill_requests.h"
#include "groups/process_group/name_places.h"
#include "groups/records/group_terms.h"
#include "groups/records/group_types.h"
#include "groups/records/stored_group.h"

namespace forebay {
namespace {

namespace terms = group_terms;

constexpr Count most_at_once = 1 << 16;  // elements of texts and of counts
// The most ranks that may have written a file. Beyond its end, zeros would pass for counts of as
// many ranks as a header claims.
constexpr Count most_writers = 1 << 24;
// A longer text is read as characters, by boxes. Otherwise fill values of a text that no file holds
// could take any amount of memory.
constexpr Count longest_text = 1 << 24;

struct StoredVar {
  VarId var = 0;
  std::string name;
  GroupType type = GroupType::int32;
  std::vector<Count> shape;           // of one step
  std::optional<std::size_t> follow;  // the dimension along which ranks' blocks follow
  VarId counts = -1;                  // the variable with the numbers of elements along it
  Count text = 0;                     // the most bytes of a string
  bool is_record = false;
};

/// Returns the name of the last dimension other than the record dimension.
std::string_view last_dimension(const Schema& schema, const Variable& var) {
  if (var.dimids.size() <= (var.is_record ? 1 : 0)) return {};
  return schema.dims[static_cast<std::size_t>(var.dimids.back())].name;
}

/// Returns the dimension, in C's order, along which a variable's blocks follow, if `counts` names
/// one.
std::optional<std::size_t> follow_of(const Schema& schema, const StoredVar& stored,
                                     const Variable& counts) {
  const auto title = counts.attributes.find("long_name");
  if (counts.type != Type::int64 || counts.is_record != stored.is_record || !title ||
      counts.dimids.size() != (stored.is_record ? 2 : 1) ||
      last_dimension(schema, counts) != terms::rank || counts.attributes[*title].type != Type::chr)
    return std::nullopt;
  const Variable& var = schema.vars[static_cast<std::size_t>(stored.var)];
  for (std::size_t d = 0; d < stored.shape.size(); ++d)
    if (text_of(counts.attributes[*title]) == terms::counts_title(var.name, d)) return d;
  return std::nullopt;
}

StoredVar stored_var(const Schema& schema, VarId id) {
  const Variable& var = schema.vars[static_cast<std::size_t>(id)];
  StoredVar stored;
  stored.var = id;
  stored.name = terms::name_as_it_is(var);
  stored.type = group_type(bp::from_engine(var.type));
  stored.is_record = var.is_record;
  stored.shape.assign(var.shape.begin() + (var.is_record ? 1 : 0), var.shape.end());
  const auto last = last_dimension(schema, var);
  const bool is_real = var.type == Type::float32 || var.type == Type::float64;
  if (is_real && last == terms::complex && stored.shape.back() == 2) {
    stored.type = var.type == Type::float32 ? GroupType::complex64 : GroupType::complex128;
    stored.shape.pop_back();
  } else if (var.type == Type::chr && stored.shape.size() == 1 && stored.shape[0] <= longest_text &&
             last == terms::text_dimension(stored.shape[0])) {
    stored.type = GroupType::string;
    stored.text = stored.shape[0];
    stored.shape.clear();
  }
  if (const auto counts = schema.find_var(terms::counts_of(var.name))) {
    stored.follow = follow_of(schema, stored, schema.vars[static_cast<std::size_t>(*counts)]);
    if (stored.follow) stored.counts = *counts;
  }
  return stored;
}

/// Drops the layout from the method: the file defines the layout of its variables.
Method method_to_read(Method method) {
  method.layout = Method{}.layout;
  method.origin.erase("layout");
  for (VariableRule& rule : method.variables) rule.keys.erase("layout");
  return method;
}

class StoredRecords final : public StoredGroup {
 public:
  StoredRecords(const Comm& comm, const std::string& path, const Method& method)
      : comm_(comm), file_(Dataset::open_by(comm_, path, false, method_to_read(method))) {
    if (const auto failed = worst_of_all(comm_, attempt_to([&] { learn(); }))) {
      attempt_to([&] { file_->close(); });
      throw *failed;
    }
    file_->begin_independent();
  }

  const std::string& path() const override { return file_->path(); }
  std::int64_t steps() const override { return steps_; }
  int variables() const override { return static_cast<int>(variables_.size()); }
  std::size_t find(const std::string& name) const override {
    return process_group::place_of(places_, name, path());
  }
  const std::string& name(std::size_t v) const override { return variables_[v].name; }
  GroupType type(std::size_t v) const override { return variables_[v].type; }
  Count element_size(std::size_t v) const override { return size_of(variables_[v].type); }
  int dimensions(std::size_t v) const override {
    return static_cast<int>(variables_[v].shape.size());
  }
  std::vector<Count> shape(std::size_t v, std::int64_t step) const override {
    return at_step(v, step).shape;
  }

  // The text ends at its first zero: longer texts need the rest.
  std::string text(std::size_t v, std::int64_t step) const override {
    const StoredVar& stored = at_step(v, step);
    std::string text;
    for (Count at = 0; at < stored.text; at += most_at_once) {
      std::string part(static_cast<std::size_t>(std::min(stored.text - at, most_at_once)), '\0');
      Request request = get_request(*file_, stored.var, step, {at}, {std::ssize(part)},
                                    reinterpret_cast<std::byte*>(part.data()));
      read_now(request);
      const std::size_t end = std::min(part.find('\0'), part.size());
      text.append(part, 0, end);
      if (end < part.size()) break;
    }
    return text;
  }

  std::int64_t blocks(std::size_t v, std::int64_t step) const override {
    return at_step(v, step).follow ? std::ssize(ends(v, step)) : 1;
  }
  Subarray block(std::size_t v, std::int64_t step, std::int64_t number) const override {
    Subarray box = place_of(v, step, number);
    std::ranges::fill(box.start, 0);
    return box;
  }
  // netCDF files have no index of values.
  int range(std::size_t v, std::int64_t step, double& /*least*/,
            double& /*greatest*/) const override {
    const GroupType type = at_step(v, step).type;
    return to_engine(type) == Type::none ? 0 : -1;
  }
  bp::Moments moments(std::size_t, std::int64_t) const override { return {-1}; }
  std::int64_t find(const std::string& /*condition*/, std::int64_t /*most*/,
                    std::int64_t* /*steps*/, std::int64_t* /*blocks*/) const override {
    throw Error(Errc::enotsupport, path() + ": netCDF files have no index of the values of blocks",
                "read it, or write groups with layout=process-group");
  }
  void read(std::size_t v, std::int64_t step, const Subarray& box, std::byte* out) const override {
    if (auto request = request_of(v, step, box, out)) read_now(*request);
  }
  void read_block(std::size_t v, std::int64_t step, std::int64_t number,
                  std::byte* out) const override {
    read(v, step, place_of(v, step, number), out);
  }
  void read_later(std::size_t v, std::int64_t step, const Subarray& box, std::byte* out) override {
    if (auto request = request_of(v, step, box, out)) noted_.push_back(std::move(*request));
  }

  void perform_reads() override {
    std::vector<Request> requests = std::exchange(noted_, {});
    file_->end_independent();
    // An error of one rank is an error on all ranks.
    const auto failed = attempt_together(comm_, [&] {
      if (auto mine = attempt_to([&] { file_->execute(requests, true); }))
        throw Error(*mine).as_own_matter(false);
    });
    file_->begin_independent();
    if (failed) throw *failed;
  }

  void close() override { file_->close(); }
  const Report& report() const override { return file_->report(); }

 private:
  // A variable without records belongs to the first step only.
  void learn() {
    const Schema& schema = file_->schema();
    std::vector<StoredVar> all;
    std::vector<bool> hidden(schema.vars.size());
    for (std::size_t n = 0; n < schema.vars.size(); ++n) {
      all.push_back(stored_var(schema, static_cast<VarId>(n)));
      if (all.back().follow) hidden[static_cast<std::size_t>(all.back().counts)] = true;
      if (!all.back().is_record) steps_ = 1;
    }
    if (schema.record_dim()) steps_ = std::max(steps_, schema.numrecs);
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (hidden[n]) continue;
      places_.emplace(all[n].name, variables_.size());
      variables_.push_back(std::move(all[n]));
    }
  }

  [[noreturn]] void fail(Errc code, std::size_t v, const std::string& why,
                         const std::string& advice) const {
    throw Error(code, path() + ": variable " + name(v) + ": " + why, advice);
  }

  const StoredVar& at_step(std::size_t v, std::int64_t step) const {
    const StoredVar& stored = variables_[v];
    if (step >= steps_)
      throw Error(Errc::einvalcoords,
                  path() + ": there is no step " + std::to_string(step) + " among " +
                      std::to_string(steps_),
                  "steps count from 0");
    if (stored.is_record ? step >= file_->schema().numrecs : step > 0)
      fail(Errc::einvalcoords, v, "step " + std::to_string(step) + " does not have it",
           stored.is_record ? "the file has no records yet" : "what has no records is in step 0");
    return stored;
  }

  void read_now(Request& request) const { file_->execute(std::span(&request, 1), false); }

  // nullopt: the box has no elements.
  std::optional<Request> request_of(std::size_t v, std::int64_t step, const Subarray& box,
                                    std::byte* out) const {
    const StoredVar& stored = at_step(v, step);
    if (stored.type == GroupType::string) fail(Errc::echar, v, "it is a string", "read it as text");
    if (const auto fault = fault_of(box, stored.shape))
      fail(fault->code, v, fault->what, "forebay_inq_shape tells how many there are");
    if (box.elements() == 0) return std::nullopt;
    std::vector<Count> start = box.start, count = box.count;
    if (bp::is_complex(bp_type(stored.type))) {
      start.push_back(0);
      count.push_back(2);
    }
    return get_request(*file_, stored.var, step, std::move(start), std::move(count), out);
  }

  const std::vector<Count>& ends(std::size_t v, std::int64_t step) const {
    if (ends_are_ != std::pair(v, step)) {
      ends_are_ = {-1, -1};
      ends_ = read_ends(v, step);
      ends_are_ = {v, step};
    }
    return ends_;
  }

  // Returns where each rank's block ends along the dimension by which blocks follow.
  std::vector<Count> read_ends(std::size_t v, std::int64_t step) const {
    const StoredVar& stored = variables_[v];
    const Variable& counts = file_->variable(stored.counts);
    const Count ranks = counts.shape.back(), extent = stored.shape[*stored.follow];
    const auto fill = load_be<std::int64_t>(external_fill(counts).data());
    const auto damaged = [&] {
      fail(Errc::ebad_file, v, counts.name + " does not tell how its blocks follow one another",
           "");
    };
    if (ranks > most_writers) damaged();
    std::vector<Count> all;
    Count sum = 0;
    for (Count at = 0; at < ranks; at += most_at_once) {
      std::vector<Count> part(static_cast<std::size_t>(std::min(ranks - at, most_at_once)));
      Request request = get_request(*file_, stored.counts, step, {at}, {std::ssize(part)},
                                    reinterpret_cast<std::byte*>(part.data()));
      read_now(request);
      if (at == 0 && part[0] == fill)
        fail(Errc::einvalcoords, v, "step " + std::to_string(step) + " does not have it",
             "it was not written then");
      for (const Count n : part) {
        if (n < 0 || n > extent - sum) damaged();
        all.push_back(sum += n);
      }
    }
    if (sum != extent) damaged();
    return all;
  }

  // A variable that has no blocks of ranks counts as one block.
  Subarray place_of(std::size_t v, std::int64_t step, std::int64_t number) const {
    const StoredVar& stored = at_step(v, step);
    Subarray box{std::vector<Count>(stored.shape.size(), 0), stored.shape, {}};
    if (!stored.follow) return box;
    const std::vector<Count>& all = ends(v, step);
    const auto n = static_cast<std::size_t>(number), d = *stored.follow;
    box.start[d] = n == 0 ? 0 : all[n - 1];
    box.count[d] = all[n] - box.start[d];
    return box;
  }

  Comm comm_;
  std::unique_ptr<Dataset> file_;
  std::int64_t steps_ = 0;
  std::vector<StoredVar> variables_;
  process_group::NamePlaces places_;
  std::vector<Request> noted_;
  mutable std::vector<Count> ends_;  // of blocks, for the latest variable and step
  mutable std::pair<std::size_t, std::int64_t> ends_are_{-1, -1};
};

}  // namespace

std::unique_ptr<StoredGroup> open_records(const Comm& comm, const std::string& path,
                                          const Method& method) {
  return std::make_unique<StoredRecords>(comm, path, method);
}

}  // namespace forebay
