#include "workloads/workload_e3sm.h"

#include <cstring>
#include <stdexcept>

#include "workloads/smooth_field.h"

namespace forebay::bench {
namespace {

// netCDF's fill values, for variables that name none.
constexpr double kFillInt = -2147483647;
constexpr double kFillFloat = 9.9692099683868690e+36F;

double fill_value_of(const cdl::Variable& var) {
  for (const cdl::Attribute& att : var.atts) {
    if (att.name != "_FillValue") continue;
    if (const auto* reals = std::get_if<std::vector<double>>(&att.values)) return reals->front();
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&att.values)) {
      return static_cast<double>(ints->front());
    }
  }
  return var.type == cdl::Type::Int ? kFillInt : kFillFloat;
}

// Calls visit(element of the buffer, element of the array, whether it is fill) for all of `runs`.
template <typename T, typename Visit>
void visit_elements(T* data, std::span<const Run> runs, Visit visit) {
  for (const Run& run : runs) {
    for (std::int64_t k = 0; k < run.length; ++k) visit(*data++, run.offset + k, run.fill);
  }
}

}  // namespace

E3smWorkload::E3smWorkload(const E3smOptions& options, const Team& team)
    : options_(options), team_(team), case_(load_e3sm_case(options, team)) {
  options_.records = records_of(options_);
  wait_each_record_ = waits_each_record(options_);
  for (const Decomposition& map : case_.maps) pieces_.emplace_back(map, options_.merge_pieces);
  plan_variables();
  lay_out_buffer();
  count_amounts();
  buffer_ = std::make_unique<std::byte[]>(buffer_bytes_);
  if (options_.field == E3smField::Sphere) {
    const int ncol = case_.header.find_dim("ncol");
    if (ncol < 0) throw std::runtime_error("--field sphere is for the F case");
    sphere_ =
        std::make_unique<SphereField>(case_.header.dims[static_cast<std::size_t>(ncol)].length);
  }
}

bool E3smWorkload::shows_field(int var) const {
  const auto v = static_cast<std::size_t>(var);
  return options_.field != E3smField::Noise && case_.map_of_var[v] >= 0 &&
         case_.header.vars[v].type != cdl::Type::Int;
}

double E3smWorkload::sphere_value(int var, std::uint32_t seed, std::int64_t element) const {
  const cdl::Variable& variable = case_.header.vars[static_cast<std::size_t>(var)];
  if (variable.name == "lat") return sphere_->lat(element);
  if (variable.name == "lon") return sphere_->lon(element);
  const auto rank = variable.dims.size();
  const cdl::Dimension& above =
      case_.header.dims[static_cast<std::size_t>(variable.dims[rank < 2 ? 0 : rank - 2])];
  return sphere_->value(seed, element, rank < 2 || above.unlimited ? 1 : above.length);
}

double E3smWorkload::field_value(int var, std::uint32_t seed, std::int64_t element) const {
  if (sphere_) return sphere_value(var, seed, element);
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  for (int d : case_.header.vars[static_cast<std::size_t>(var)].dims) {
    const cdl::Dimension& dim = case_.header.dims[static_cast<std::size_t>(d)];
    if (dim.unlimited) continue;
    rows = columns;
    columns = dim.length;
  }
  return smooth_value(seed, element, rows, columns);
}

double E3smWorkload::value_at(int var, int record, std::int64_t element) const {
  const std::uint32_t seed = pattern_seed(var, record);
  if (shows_field(var)) return static_cast<float>(field_value(var, seed, element));
  switch (plans_[static_cast<std::size_t>(var)].memory) {
    case Memory::Text:
      return pattern_value<signed char>(seed, element);
    case Memory::Int:
      return pattern_value<int>(seed, element);
    default:
      return pattern_value<double>(seed, element);
  }
}

std::size_t E3smWorkload::width_of(Memory memory) {
  switch (memory) {
    case Memory::Text:
      return 1;
    case Memory::Double:
      return sizeof(double);
    default:
      return sizeof(float);
  }
}

void E3smWorkload::plan_variables() {
  const cdl::Header& header = case_.header;
  for (std::size_t v = 0; v < header.vars.size(); ++v) {
    const cdl::Variable& var = header.vars[v];
    VariablePlan plan;
    plan.map = case_.map_of_var[v];
    plan.record = header.is_record(var);
    plan.fill = fill_value_of(var);
    if (var.type == cdl::Type::Float) plan.fill = static_cast<float>(plan.fill);
    switch (var.type) {
      case cdl::Type::Char:
        plan.memory = Memory::Text;
        break;
      case cdl::Type::Int:
        plan.memory = Memory::Int;
        break;
      case cdl::Type::Float:
        plan.memory = options_.double_memory ? Memory::Double : Memory::Float;
        break;
      case cdl::Type::Double:
        plan.memory = Memory::Double;
        break;
      default:
        throw std::runtime_error(var.name + " has a type that this workload does not write");
    }
    if (plan.map >= 0) {
      plan.elements = pieces_[static_cast<std::size_t>(plan.map)].elements();
    } else {
      std::int64_t elements = 1;
      for (int d : var.dims) {
        const cdl::Dimension& dim = header.dims[static_cast<std::size_t>(d)];
        plan.start.push_back(0);
        plan.count.push_back(dim.unlimited ? 1 : dim.length);
        elements *= plan.count.back();
      }
      plan.elements = team_.rank == 0 ? elements : 0;
      plan.runs.push_back({0, plan.elements, false});
    }
    plans_.push_back(std::move(plan));
  }
}

void E3smWorkload::lay_out_buffer() {
  for (const E3smPost& post : e3sm_posts(case_.header, options_.records)) {
    const VariablePlan& plan = plans_[static_cast<std::size_t>(post.var)];
    slots_.push_back({post.var, post.record, buffer_bytes_});
    const std::size_t bytes = static_cast<std::size_t>(plan.elements) * width_of(plan.memory);
    buffer_bytes_ += (bytes + kAlign - 1) / kAlign * kAlign;
  }
}

void E3smWorkload::count_amounts() {
  Amounts mine;
  for (const Slot& slot : slots_) {
    const auto v = static_cast<std::size_t>(slot.var);
    const VariablePlan& plan = plans_[v];
    mine.bytes += plan.elements * cdl::size_of(case_.header.vars[v].type);
    if (plan.map >= 0) {
      mine.pieces += pieces_[static_cast<std::size_t>(plan.map)].count();
      mine.requests += 1;
    } else if (team_.rank == 0) {
      mine.pieces += 1;
      mine.requests += 1;
    }
  }
  amounts_.bytes = team_.sum(mine.bytes);
  amounts_.pieces = team_.sum(mine.pieces);
  amounts_.requests = team_.sum(mine.requests);
  amounts_.own_data_bytes = team_.max(static_cast<std::int64_t>(buffer_bytes_));
}

nlohmann::json E3smWorkload::parameters() const {
  nlohmann::json out{{"case", std::string(1, options_.which)},
                     {"records", options_.records},
                     {"tile", options_.tiles},
                     {"map_ranks", case_.map_ranks},
                     {"wait", wait_each_record_ ? "record" : "end"},
                     {"compute", options_.compute},
                     {"merged_pieces", options_.merge_pieces},
                     {"memory", options_.double_memory ? "double" : "native"},
                     {"input", options_.data_dir.empty() ? "generated" : "recorded"}};
  if (options_.which != 'G') out["history"] = options_.history;
  if (options_.field == E3smField::Sphere) out["values"] = "sphere";
  if (options_.field == E3smField::Smooth) out["values"] = "smooth";
  if (options_.data_dir.empty()) out["ne"] = options_.ne;
  int unmapped = 0;
  std::vector<int> mapped(case_.maps.size(), 0);
  for (int map : case_.map_of_var) ++(map < 0 ? unmapped : mapped[static_cast<std::size_t>(map)]);
  out["variables"] = {{"unmapped", unmapped}, {"mapped", mapped}};
  return out;
}

std::span<const Run> E3smWorkload::runs_of(const VariablePlan& plan) const {
  return plan.map >= 0 ? pieces_[static_cast<std::size_t>(plan.map)].runs()
                       : std::span<const Run>(plan.runs);
}

// Calls visit(typed pointer, runs, seed, fill value, variable) for every slot.
template <typename Visit>
void E3smWorkload::visit_slots(Visit visit) {
  for (const Slot& slot : slots_) {
    const VariablePlan& plan = plans_[static_cast<std::size_t>(slot.var)];
    const std::uint32_t seed = pattern_seed(slot.var, slot.record);
    void* at = buffer_.get() + slot.offset;
    const auto call = [&](auto* data) {
      using T = std::remove_pointer_t<decltype(data)>;
      visit(data, runs_of(plan), seed, static_cast<T>(plan.fill), slot.var);
    };
    switch (plan.memory) {
      case Memory::Text:
        call(static_cast<signed char*>(at));
        break;
      case Memory::Int:
        call(static_cast<int*>(at));
        break;
      case Memory::Float:
        call(static_cast<float*>(at));
        break;
      case Memory::Double:
        call(static_cast<double*>(at));
        break;
    }
  }
}

void E3smWorkload::prepare_write() {
  visit_slots([this](auto* data, std::span<const Run> runs, std::uint32_t seed, auto fill,
                     int var) {
    if (!shows_field(var)) return make_pattern(data, runs, seed, fill);
    visit_elements(data, runs, [&](auto& value, std::int64_t element, bool is_fill) {
      value =
          is_fill
              ? fill
              : static_cast<decltype(fill)>(static_cast<float>(field_value(var, seed, element)));
    });
  });
}

void E3smWorkload::prepare_read() { std::memset(buffer_.get(), kStale, buffer_bytes_); }

std::int64_t E3smWorkload::verify() {
  std::int64_t wrong = 0;
  visit_slots([&](auto* data, std::span<const Run> runs, std::uint32_t seed, auto fill, int var) {
    if (!shows_field(var)) {
      wrong += count_mismatches(data, runs, seed, fill);
      return;
    }
    visit_elements(data, runs, [&](auto value, std::int64_t element, bool is_fill) {
      const auto expected = static_cast<float>(field_value(var, seed, element));
      wrong += value != (is_fill ? fill : static_cast<decltype(fill)>(expected));
    });
  });
  return wrong;
}

}  // namespace forebay::bench
