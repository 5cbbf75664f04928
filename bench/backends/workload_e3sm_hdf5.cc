#include "backends/workload_e3sm_hdf5.h"

#include "backends/hdf5_attributes.h"
#include "backends/hdf5_selection.h"

namespace forebay::bench {
namespace {

Hdf5Id simple_space(const std::vector<hsize_t>& extent, const hsize_t* most = nullptr) {
  if (extent.empty()) return {H5Screate(H5S_SCALAR), H5Sclose, "space"};
  return {H5Screate_simple(static_cast<int>(extent.size()), extent.data(), most), H5Sclose,
          "space"};
}

// A dataspace in memory of so many elements in a row.
Hdf5Id memory_space(std::int64_t elements) {
  Hdf5Id space = simple_space({static_cast<hsize_t>(elements)});
  if (elements == 0) hdf5_check(H5Sselect_none(space), "selection");
  return space;
}

}  // namespace

struct E3smHdf5::Calls {
  std::vector<hid_t> datasets, types, memory, file;
  std::vector<void*> data;

  void clear() { *this = {}; }

  void run(bool put, hid_t transfer) {
    const std::vector<const void*> sources(data.begin(), data.end());
    for (std::size_t k = 0; k < datasets.size(); ++k) {
      hdf5_check(put ? H5Dwrite(datasets[k], types[k], memory[k], file[k], transfer, sources[k])
                     : H5Dread(datasets[k], types[k], memory[k], file[k], transfer, data[k]),
                 "transfer of a variable");
    }
  }

  void run_as_one(bool put, hid_t transfer) {
    std::vector<const void*> sources(data.begin(), data.end());
    hdf5_check(put ? H5Dwrite_multi(datasets.size(), datasets.data(), types.data(), memory.data(),
                                    file.data(), transfer, sources.data())
                   : H5Dread_multi(datasets.size(), datasets.data(), types.data(), memory.data(),
                                   file.data(), transfer, data.data()),
               "transfer of all variables");
  }
};

hid_t E3smHdf5::type_of(Memory memory) {
  switch (memory) {
    case Memory::Text:
      return hdf5_type(cdl::Type::Char);
    case Memory::Int:
      return H5T_NATIVE_INT;
    case Memory::Float:
      return H5T_NATIVE_FLOAT;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

E3smHdf5::E3smHdf5(const E3smOptions& options, const E3smHdf5Options& hdf5, const Team& team)
    : E3smWorkload(options, team), hdf5_(hdf5), transfer_(hdf5_transfer(hdf5.independent)) {
  if (hdf5_.read.mode != ReadBack::Own) {
    find_coverage();
    choose_parts();
  }
}

nlohmann::json E3smHdf5::parameters() const {
  nlohmann::json out = E3smWorkload::parameters();
  out.erase("wait");
  out["calls"] = hdf5_.one_call ? "one a record" : "one a variable and record";
  out["transfer"] = hdf5_.independent ? "independent" : "collective";
  out["record_dimension"] = hdf5_.fixed ? "fixed" : "unlimited";
  if (hdf5_.read.mode == ReadBack::Whole) out["read"] = "whole variables";
  if (hdf5_.read.mode == ReadBack::Hyperslab) out["read"] = "hyperslabs";
  return out;
}

std::vector<hsize_t> E3smHdf5::extent_of(const cdl::Variable& var, int records) const {
  std::vector<hsize_t> extent;
  for (int d : var.dims) {
    const cdl::Dimension& dim = case_.header.dims[static_cast<std::size_t>(d)];
    extent.push_back(static_cast<hsize_t>(dim.unlimited ? records : dim.length));
  }
  return extent;
}

void E3smHdf5::define(hid_t file) {
  hdf5_put_attributes(file, case_.header.atts);
  for (const cdl::Variable& var : case_.header.vars) {
    const Hdf5Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "creation");
    hdf5_check(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "fill time");
    const bool grows = case_.header.is_record(var) && !hdf5_.fixed;
    const std::vector<hsize_t> extent = extent_of(var, grows ? 0 : options_.records);
    std::vector<hsize_t> most = extent;
    if (grows) {
      const std::vector<hsize_t> chunk = extent_of(var, 1);
      hdf5_check(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()), "chunk");
      most[0] = H5S_UNLIMITED;
    }
    const Hdf5Id space = simple_space(extent, most.data());
    datasets_.emplace_back(H5Dcreate2(file, var.name.c_str(), hdf5_type(var.type), space,
                                      H5P_DEFAULT, list, H5P_DEFAULT),
                           H5Dclose, var.name);
    hdf5_put_attributes(datasets_.back(), var.atts);
  }
}

void E3smHdf5::open_all(hid_t file) {
  for (const cdl::Variable& var : case_.header.vars) {
    datasets_.emplace_back(H5Dopen2(file, var.name.c_str(), H5P_DEFAULT), H5Dclose, var.name);
  }
}

void E3smHdf5::build_selections() {
  selections_.clear();
  selections_.resize(pieces_.size());
  for (std::size_t v = 0; v < plans_.size(); ++v) {
    if (plans_[v].map < 0) continue;
    const auto map = static_cast<std::size_t>(plans_[v].map);
    const bool record = plans_[v].record;
    auto& selection = selections_[map][record ? 1 : 0];
    if (selection) continue;
    Pieces& pieces = pieces_[map];
    pieces.set_record(0);
    const std::vector<hsize_t> extent = extent_of(case_.header.vars[v], 1);
    const BoxList boxes{static_cast<int>(extent.size()), pieces.count(),
                        record ? pieces.record_starts() : pieces.fixed_starts(),
                        record ? pieces.record_counts() : pieces.fixed_counts()};
    selection.emplace(
        Selection{select_union(simple_space(extent), boxes), memory_space(pieces.elements()), 0});
  }
}

void E3smHdf5::move_to_record(int record, bool extend) {
  for (auto& selections : selections_) {
    auto& selection = selections[1];
    if (!selection) continue;
    std::array<hsize_t, H5S_MAX_RANK> extent{};
    std::array<hssize_t, H5S_MAX_RANK> back{};  // what is taken from all coordinates
    const int rank = H5Sget_simple_extent_dims(selection->file, extent.data(), nullptr);
    extent[0] = static_cast<hsize_t>(extend ? record + 1 : options_.records);
    back[0] = selection->record - record;
    hdf5_check(H5Sset_extent_simple(selection->file, rank, extent.data(), nullptr), "extent");
    hdf5_check(H5Sselect_adjust(selection->file, back.data()), "move of a selection");
    selection->record = record;
  }
  if (!extend) return;
  for (std::size_t v = 0; v < plans_.size(); ++v) {
    if (!plans_[v].record) continue;
    const std::vector<hsize_t> extent = extent_of(case_.header.vars[v], record + 1);
    hdf5_check(H5Dset_extent(datasets_[v], extent.data()), case_.header.vars[v].name);
  }
}

void E3smHdf5::add_slot(const Slot& slot, Calls& calls) {
  const auto v = static_cast<std::size_t>(slot.var);
  const VariablePlan& plan = plans_[v];
  const cdl::Variable& var = case_.header.vars[v];
  if (hdf5_.independent && plan.elements == 0) return;
  const Selection* selection = nullptr;
  if (plan.map >= 0) {
    selection = &*selections_[static_cast<std::size_t>(plan.map)][plan.record ? 1 : 0];
  } else {
    Hdf5Id file = simple_space(extent_of(var, plan.record ? slot.record + 1 : 1));
    if (plan.elements == 0) {
      hdf5_check(H5Sselect_none(file), var.name);
    } else if (plan.record) {
      std::vector<hsize_t> start(plan.start.begin(), plan.start.end());
      const std::vector<hsize_t> count(plan.count.begin(), plan.count.end());
      start[0] = static_cast<hsize_t>(slot.record);
      hdf5_check(
          H5Sselect_hyperslab(file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          var.name);
    }
    alone_.push_back({std::move(file), memory_space(plan.elements), slot.record});
    selection = &alone_.back();
  }
  calls.datasets.push_back(datasets_[v]);
  calls.types.push_back(type_of(plan.memory));
  calls.memory.push_back(selection->memory);
  calls.file.push_back(selection->file);
  calls.data.push_back(buffer_.get() + slot.offset);
}

void E3smHdf5::transfer_slots(bool put, Phases& phases) {
  Calls calls;
  for (std::size_t from = 0; from < slots_.size();) {
    const int record = slots_[from].record;
    move_to_record(record, put && !hdf5_.fixed);
    phases.mark("extend");
    alone_.clear();
    calls.clear();
    for (; from < slots_.size() && slots_[from].record == record; ++from) {
      add_slot(slots_[from], calls);
    }
    if (hdf5_.one_call) {
      calls.run_as_one(put, transfer_);
    } else {
      calls.run(put, transfer_);
    }
    phases.mark("data");
  }
}

void E3smHdf5::write(const std::string& path, MPI_Info info, Phases& phases) {
  Hdf5Id file = hdf5_create_file(path, team_.comm, info, hdf5_.independent);
  phases.mark("open");
  define(file);
  phases.mark("define");
  build_selections();
  phases.mark("select");
  transfer_slots(true, phases);
  for (Hdf5Id& dataset : datasets_) dataset.close("close of a dataset");
  datasets_.clear();
  file.close("close");
  phases.mark("close");
}

void E3smHdf5::read(const std::string& path, MPI_Info info, Phases& phases) {
  Hdf5Id file = hdf5_open_file(path, team_.comm, info, hdf5_.independent);
  phases.mark("open");
  if (hdf5_.read.mode == ReadBack::Own) {
    open_all(file);
    phases.mark("define");
    build_selections();
    phases.mark("select");
    transfer_slots(false, phases);
  } else {
    read_parts(file, phases);
  }
  for (Hdf5Id& dataset : datasets_) dataset.close("close of a dataset");
  datasets_.clear();
  file.close("close");
  phases.mark("close");
}

}  // namespace forebay::bench
