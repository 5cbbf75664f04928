// The end of define mode: ranks agree on the definitions, and the container stores them.
#include <algorithm>

#include "array/placement.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/dataset.h"

namespace forebay {

namespace {

void check_arguments(const EnddefArguments& a) {
  if (std::min({a.h_minfree, a.v_align, a.v_minfree, a.r_align}) < 0)
    throw Error(Errc::einval, "an argument of _enddef is negative");
}

}  // namespace

// Ranks defined the same before they parted. Here all synchronise again, including ranks whose
// partners were still in another function.
void Dataset::agree_on_enddef(const EnddefArguments& a) {
  const auto mine = attempt_to([&] {
    require_define();
    check_arguments(a);
  });
  if (!method_.safe_mode) {
    require_define();
  } else if (!parted_) {
    constexpr Errc differ = Errc::emultidefine_fnc_args;
    parted_ = !forebay::agree_on_call(
        comm_, "enddef", mine,
        {{differ, a.h_minfree}, {differ, a.v_align}, {differ, a.v_minfree}, {differ, a.r_align}});
  }
}

void Dataset::enddef(const EnddefArguments& arguments) {
  agree_on_enddef(arguments);
  parted_ = false;
  StepTimer timer(report_, Step::define);
  const Schema* old = before_redef_ ? &*before_redef_ : nullptr;
  bool is_all = false;   // all work is done
  bool has_met = false;  // the last step was collective
  const auto failed = up_to_meeting(comm_, [&] {
    check_arguments(arguments);
    container_->choose(old);
    has_met = is_all = agree_on_schema(arguments);
    if (!is_all) has_met = container_->redefine(old);
  });
  if (!has_met && (!failed || failed->is_own_matter())) comm_.meet();
  if (failed) throw *failed;
  record_stride_ = record_size(schema_);
  // From here on the file has the new definitions, even if filling fails.
  const auto before = std::exchange(before_redef_, std::nullopt);
  changed_ = true;
  created_ = false;
  mode_ = Mode::collective;
  if (is_all) return;
  const Schema* const had = before ? &*before : nullptr;
  if (stage_entry().is_local && !container_->fills_new(had))
    return stage_->use(container_->layout());
  together(comm_, [&] {
    container_->fill_new(had);
    stage_->use(container_->layout());
    if (stage_entry().keeps_logs) container_->show();
  });
}

// Definitions are local calls, so ranks may have defined different things. Rank 0's definitions
// count, as in PnetCDF; every rank takes them over, which keeps placement equal everywhere. In safe
// mode they cannot differ: see agree_on_call.
//
// So rank 0 can write a new file's definitions without waiting for the others. If that is all the
// work, the reduction that compares definitions also tells whether it succeeded.
bool Dataset::agree_on_schema(const EnddefArguments& arguments) {
  const Schema* old = before_redef_ ? &*before_redef_ : nullptr;
  const bool at_once = stage_entry().is_local && container_->is_defined_by_root(old);
  std::optional<Error> failed;  // another rank then takes over rank 0's definitions
  if (at_once) {
    failed = attempt_to([&] {
      container_->place(old, arguments);
      container_->redefine(old);
      stage_->use(container_->layout());
    });
  }
  if (failed && comm_.is_root()) throw *failed;
  bool same = true;
  if (comm_.size() > 1) {
    std::vector<std::byte> printed;
    std::optional<std::string_view> mine;
    if (!failed) {
      printed = container_->print();
      const auto asked = std::as_bytes(std::span(&arguments, 1));  // they decide on places, too
      printed.insert(printed.end(), asked.begin(), asked.end());
      mine.emplace(reinterpret_cast<const char*>(printed.data()), printed.size());
    }
    same = all_have(comm_, mine);
  }
  if (same) {
    if (!at_once) container_->place(old, arguments);
    return at_once;
  }
  std::vector<std::byte> placed;
  if (comm_.is_root()) {
    container_->place(old, arguments);
    placed = container_->print_placed();
  }
  comm_.broadcast(placed);
  if (!comm_.is_root()) container_->take_over(placed);
  return false;
}

void Dataset::fill_record(VarId id, Count record) {
  require_data();
  require_writable();
  together(comm_, [&] {
    const Variable& var = variable(id);
    if (!var.is_record)
      throw Error(Errc::enotrecvar, "variable " + var.name + " has no record dimension");
    // The variable's own fill value counts as fill mode, as in PnetCDF.
    if (var.no_fill && !own_fill_value(var, var.type))
      throw Error(Errc::enotfill, "variable " + var.name + " is not in fill mode",
                  "call def_var_fill");
    if (record < 0) throw Error(Errc::einvalcoords, "record numbers begin at 0");
    if (writes_wait()) stage_->flush(true);  // earlier writes
    changed_ = true;
    const bool one = container_->publishes_records();  // published with the record itself
    const Count records = one ? comm_.all_reduce(record + 1, Reduce::max) : record + 1;
    const Count before = schema_.numrecs;
    if (one) schema_.numrecs = std::max(before, records);
    const auto failed = attempt_to([&] { container_->fill_record(id, record); });
    schema_.numrecs = before;
    // Other ranks do not know of an error that is one rank's own matter, such as a codec that its
    // build lacks.
    if (failed && !failed->is_own_matter()) throw *failed;
    note_records(records, true);
    if (failed) throw *failed;
  });
}

}  // namespace forebay
