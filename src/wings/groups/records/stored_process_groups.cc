// Reads groups from the process groups of BP files.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.h"
#include "comm/agree.h"
#include "dataset/print_report.h"
#include "groups/process_group/bp_reader.h"
#include "groups/process_group/pending_reads.h"
#include "groups/process_group/search.h"
#include "groups/records/group_types.h"
#include "groups/records/stored_group.h"
#include "transport/transport.h"

namespace forebay {
namespace {

using process_group::Kind;

// MPI-IO opens one file by itself, so it cannot serve here.
TransportOptions options_for(const Method& method) {
  TransportOptions options = transport_options(method);
  const auto* const entry = find_part<TransportEntry>(options.kind);
  if (entry && entry->needs) options.kind = "auto";
  return options;
}

std::size_t number_of(std::int64_t step) { return static_cast<std::size_t>(step); }

class StoredProcessGroups final : public StoredGroup {
 public:
  StoredProcessGroups(const Comm& comm, const std::string& path, const Method& method)
      : comm_(comm),
        method_(method),
        file_(comm, path, report_, method.log_memory),
        pending_(file_) {
    by_root(comm_, [&] { check_all_is_read(); });
    transport_ = make_transport(comm_, pending_.joined(), options_for(method_), report_);
    start_timeline(comm_, method_, report_, opened_);
  }

  const std::string& path() const override { return file_.path(); }
  std::int64_t steps() const override { return static_cast<std::int64_t>(file_.steps()); }
  int variables() const override { return static_cast<int>(file_.variables().size()); }
  std::size_t find(const std::string& name) const override { return file_.find(name); }
  const std::string& name(std::size_t v) const override { return stored(v).variable.name; }
  GroupType type(std::size_t v) const override { return group_type(stored(v).variable.type); }
  Count element_size(std::size_t v) const override { return bp::size_of(stored(v).variable.type); }
  int dimensions(std::size_t v) const override {
    return stored(v).kind == Kind::local_value ? 1 : static_cast<int>(stored(v).dimensions);
  }
  std::vector<Count> shape(std::size_t v, std::int64_t step) const override {
    return file_.array(v, number_of(step)).shape;
  }
  std::string text(std::size_t v, std::int64_t step) const override {
    return file_.text(v, number_of(step));
  }
  std::int64_t blocks(std::size_t v, std::int64_t step) const override {
    return held_of(v, step).number;
  }
  Subarray block(std::size_t v, std::int64_t step, std::int64_t number) const override {
    const bp::Shape& at = block_of(v, step, number).at;
    if (stored(v).kind == Kind::local_value) return {{0}, {1}, {}};
    return {at.start.empty() ? std::vector<Count>(at.count.size(), 0) : at.start, at.count, {}};
  }

  // adios2 stores 0 and 0 for blocks without elements, and counts infinities among arrays' values.
  int range(std::size_t v, std::int64_t step, double& least, double& greatest) const override {
    const bp::Type type = stored(v).variable.type;
    if (to_engine(type) == Type::none) return 0;
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    bool known = true;
    each_block(v, step, [&](const bp::Block& block) {
      if (block.bytes == 0) return;
      const double low = bp::number_of<double>(type, block.min),
                   high = bp::number_of<double>(type, block.max);
      if (block.has_value && !std::isfinite(low)) return;
      if (block.has_value || block.has_range) {
        if (low > high) return;  // the block has no value that counts
        known = known && std::isfinite(low) && std::isfinite(high);
        lowest = std::min(lowest, low);
        highest = std::max(highest, high);
      } else {
        known = false;
      }
    });
    if (!known) return -1;
    if (lowest > highest) return 0;
    least = lowest;
    greatest = highest;
    return 1;
  }

  bp::Moments moments(std::size_t v, std::int64_t step) const override {
    const bp::Type type = stored(v).variable.type;
    bp::Moments all;
    bool known = true;
    each_block(v, step, [&](const bp::Block& block) {
      if (block.bytes == 0) return;
      bp::Moments one = block.moments;
      if (block.has_value && to_engine(type) != Type::none) {
        const auto value = bp::number_of<double>(type, block.min);
        one = std::isfinite(value) ? bp::Moments{1, value, value * value} : bp::Moments{};
      } else {
        known = known && block.has_moments;
      }
      all.count += one.count;
      all.sum += one.sum;
      all.squares += one.squares;
    });
    return known ? all : bp::Moments{-1};
  }

  std::int64_t find(const std::string& condition, std::int64_t most, std::int64_t* steps,
                    std::int64_t* blocks) const override {
    std::int64_t found = 0;
    search(file_, process_group::parse_search(condition), false,
           [&](const process_group::FoundBlock& one) {
             if (found < most && steps) steps[found] = static_cast<std::int64_t>(one.step);
             if (found < most && blocks) blocks[found] = one.block;
             ++found;
           });
    return found;
  }

  void read(std::size_t v, std::int64_t step, const Subarray& box, std::byte* out) const override {
    file_.read(v, number_of(step), box, out);
  }
  void read_block(std::size_t v, std::int64_t step, std::int64_t number,
                  std::byte* out) const override {
    file_.read_block(v, block_of(v, step, number), out);
  }
  void read_later(std::size_t v, std::int64_t step, const Subarray& box, std::byte* out) override {
    pending_.add(v, number_of(step), box, out);
    ++report_[Counter::requests];
    report_[Counter::bytes_asked_read] += box.elements() * element_size(v);
  }
  void perform_reads() override { pending_.perform(comm_, *transport_); }
  process_group::StepStatus find_steps(double seconds) override {
    return file_.find_steps(comm_, seconds);
  }
  void close() override {
    transport_->close();
    end_with_report(comm_, path(), report_, method_, opened_,
                    [&] { return std::vector<std::string>{transport_->reasons()}; });
  }
  const Report& report() const override { return report_; }

 private:
  // Without this check a restarting program would take an earlier step for the last one.
  void check_all_is_read() const {
    const auto lost = file_.unread_steps();
    if (lost == 0) return;
    throw Error(Errc::ebad_file,
                path() + "/md.0 lacks the index of " + std::to_string(lost) +
                    " steps that md.idx tells of, from step " + std::to_string(steps()) + " on",
                "`forebay recover` finds what is whole, with --skip-damaged it is all that stays");
  }

  const process_group::StoredVariable& stored(std::size_t v) const { return file_.variables()[v]; }
  /// The number of blocks of one variable and step, and a range of these blocks.
  struct Held {
    std::size_t variable = -1;
    std::int64_t step = -1, number = 0, first = 0;
    std::vector<bp::Block> blocks;
  };

  void hold(std::size_t v, std::int64_t step, std::int64_t first) const {
    held_ = {};
    Held now{v, step, 0, first, {}};
    file_.each_block(v, number_of(step), [&](bp::Block& block) {
      if (now.number++ >= first && now.blocks.size() < file_.most_blocks())
        now.blocks.push_back(std::move(block));
    });
    held_ = std::move(now);
  }

  const Held& held_of(std::size_t v, std::int64_t step) const {
    if (held_.variable != v || held_.step != step) hold(v, step, 0);
    return held_;
  }
  void each_block(std::size_t v, std::int64_t step,
                  const std::function<void(const bp::Block& block)>& f) const {
    const Held& held = held_of(v, step);
    if (std::ssize(held.blocks) < held.number) return file_.each_block(v, number_of(step), f);
    for (const bp::Block& block : held.blocks) f(block);
  }
  const bp::Block& block_of(std::size_t v, std::int64_t step, std::int64_t number) const {
    const Held& held = held_of(v, step);
    if (number < held.first || number >= held.first + std::ssize(held.blocks))
      hold(v, step, number - number % static_cast<std::int64_t>(file_.most_blocks()));
    return held_.blocks.at(static_cast<std::size_t>(number - held_.first));
  }

  Comm comm_;
  Method method_;
  Report report_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  process_group::BpReader file_;
  process_group::PendingReads pending_;
  std::unique_ptr<Transport> transport_;  // of all data files as one
  mutable Held held_;                     // for the latest query
};

}  // namespace

std::unique_ptr<StoredGroup> open_process_groups(const Comm& comm, const std::string& path,
                                                 const Method& method) {
  return std::make_unique<StoredProcessGroups>(comm, path, method);
}

}  // namespace forebay
