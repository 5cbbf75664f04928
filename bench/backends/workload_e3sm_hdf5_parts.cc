// Reading whole variables, or hyperslabs of them, of a file that other ranks wrote piece by piece.

#include <algorithm>
#include <cstring>

#include "backends/workload_e3sm_hdf5.h"

namespace forebay::bench {
namespace {

std::vector<hsize_t> as_hdf5(std::span<const MPI_Offset> values) {
  return {values.begin(), values.end()};
}

}  // namespace

// What a read finds is known where some rank wrote: each marks its own elements of each map.
void E3smHdf5::find_coverage() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    std::size_t elements = 1;
    for (std::int64_t length : case_.maps[m].dims) elements *= static_cast<std::size_t>(length);
    auto& cover = coverage_.emplace_back(elements, Unwritten);
    for (const Run& run : pieces_[m].runs()) {
      std::memset(cover.data() + run.offset, run.fill ? Fill : Value,
                  static_cast<std::size_t>(run.length));
    }
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t at = 0; at < elements; at += kMost) {
      MPI_Allreduce(MPI_IN_PLACE, cover.data() + at,
                    static_cast<int>(std::min(kMost, elements - at)), MPI_UNSIGNED_CHAR, MPI_MAX,
                    team_.comm);
    }
  }
}

void E3smHdf5::choose_parts() {
  const auto shape_of = [this](std::size_t v) {
    const auto extent = extent_of(case_.header.vars[v], options_.records);
    return std::vector<MPI_Offset>(extent.begin(), extent.end());
  };
  const auto add = [this](std::size_t v, const Box& box) {
    parts_.push_back({static_cast<int>(v), part_of(box, team_.rank, team_.size), {}});
  };
  std::vector<std::size_t> decomposed;
  for (std::size_t v = 0; v < plans_.size(); ++v) {
    if (hdf5_.read.mode == ReadBack::Whole) add(v, whole_of(shape_of(v)));
    // Hyperslabs are for arrays of which a part is worth reading.
    if (plans_[v].map >= 0 && case_.maps[static_cast<std::size_t>(plans_[v].map)].dims.size() > 1) {
      decomposed.push_back(v);
    }
  }
  if (hdf5_.read.mode != ReadBack::Hyperslab || decomposed.empty()) return;
  std::mt19937_64 random(hdf5_.read.seed);
  for (int k = 0; k < hdf5_.read.hyperslabs; ++k) {
    const std::size_t v = decomposed[random() % decomposed.size()];
    add(v, random_box(shape_of(v), random));
  }
}

void E3smHdf5::prepare_read() {
  E3smWorkload::prepare_read();
  for (Part& part : parts_) {
    const std::size_t width = width_of(plans_[static_cast<std::size_t>(part.var)].memory);
    part.data.assign(static_cast<std::size_t>(part.box.elements()) * width, std::byte{kStale});
  }
}

void E3smHdf5::read_parts(hid_t file, Phases& phases) {
  for (Part& part : parts_) {
    const std::string& name = case_.header.vars[static_cast<std::size_t>(part.var)].name;
    Hdf5Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, name);
    phases.mark("define");
    const VariablePlan& plan = plans_[static_cast<std::size_t>(part.var)];
    const Hdf5Id space(H5Dget_space(dataset), H5Sclose, name);
    const auto elements = static_cast<hsize_t>(part.box.elements());
    const Hdf5Id memory(H5Screate_simple(1, &elements, nullptr), H5Sclose, name);
    if (elements == 0) {
      hdf5_check(H5Sselect_none(space), name);
      hdf5_check(H5Sselect_none(memory), name);
    } else if (!part.box.start.empty()) {
      hdf5_check(H5Sselect_hyperslab(space, H5S_SELECT_SET, as_hdf5(part.box.start).data(), nullptr,
                                     as_hdf5(part.box.count).data(), nullptr),
                 name);
    }
    if (elements > 0 || !hdf5_.independent) {
      hdf5_check(H5Dread(dataset, type_of(plan.memory), memory, space, transfer_, part.data.data()),
                 name);
    }
    phases.mark("data");
    dataset.close("close of a dataset");
  }
}

std::int64_t E3smHdf5::verify() {
  if (hdf5_.read.mode == ReadBack::Own) return E3smWorkload::verify();
  std::int64_t wrong = 0;
  for (const Part& part : parts_) wrong += verify_part(part);
  return wrong;
}

std::int64_t E3smHdf5::verify_part(const Part& part) {
  const auto v = static_cast<std::size_t>(part.var);
  const VariablePlan& plan = plans_[v];
  const cdl::Variable& var = case_.header.vars[v];
  const auto extent = extent_of(var, 1);
  const std::vector<unsigned char>* cover =
      plan.map >= 0 ? &coverage_[static_cast<std::size_t>(plan.map)] : nullptr;
  const auto stored = [&](std::size_t k) -> double {
    const std::byte* at = part.data.data() + k * width_of(plan.memory);
    switch (plan.memory) {
      case Memory::Text:
        return *reinterpret_cast<const signed char*>(at);
      case Memory::Int:
        return *reinterpret_cast<const int*>(at);
      case Memory::Float:
        return *reinterpret_cast<const float*>(at);
      default:
        return *reinterpret_cast<const double*>(at);
    }
  };
  std::int64_t wrong = 0;
  const auto look = [&](std::int64_t record, std::int64_t element, std::size_t k) {
    const unsigned char state =
        cover ? (*cover)[static_cast<std::size_t>(element)] : static_cast<unsigned char>(Value);
    if (state == Unwritten) return;
    wrong += stored(k) !=
             (state == Fill ? plan.fill : value_at(part.var, static_cast<int>(record), element));
  };
  if (extent.empty()) {
    if (!part.data.empty()) look(0, 0, 0);
    return wrong;
  }
  std::size_t k = 0;
  visit_rows(part.box, part.data.data(), [&](const auto& at, const std::byte*, MPI_Offset n) {
    std::int64_t first = 0;
    const std::size_t begin = plan.record ? 1 : 0;
    for (std::size_t d = begin; d < extent.size(); ++d) {
      first = first * static_cast<std::int64_t>(extent[d]) + at[d];
    }
    const bool along_records = plan.record && extent.size() == 1;
    for (MPI_Offset j = 0; j < n; ++j, ++k) {
      look(plan.record ? at[0] + (along_records ? j : 0) : 0, first + (along_records ? 0 : j), k);
    }
  });
  return wrong;
}

}  // namespace forebay::bench
