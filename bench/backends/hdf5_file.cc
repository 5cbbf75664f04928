// Dense arrays through parallel HDF5, with the settings that favour it: collective data transfers
// (unless they are to be independent) and metadata writes, no fill values, space for chunks when
// they are written, no type conversion on the way (the file has the machine's own byte order).

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "backends/array_file.h"
#include "backends/hdf5_handles.h"

namespace forebay::bench {
namespace {

hid_t memory_type(Element type) {
  switch (type) {
    case Element::Int:
      return H5T_NATIVE_INT;
    case Element::Float:
      return H5T_NATIVE_FLOAT;
    default:
      return H5T_NATIVE_DOUBLE;
  }
}

std::vector<hsize_t> lengths(std::span<const MPI_Offset> values) {
  return {values.begin(), values.end()};
}

constexpr std::string_view zfp_accuracy = "zfp:accuracy=";

// "shuffle,deflate:6" as filters of a creation list.
void add_filters(hid_t list, const std::string& codec) {
  for (std::size_t from = 0; from < codec.size();) {
    const std::size_t end = std::min(codec.find(',', from), codec.size());
    const std::string stage = codec.substr(from, end - from);
    from = end + 1;
    if (stage == "none") continue;
    if (stage == "shuffle") {
      hdf5_check(H5Pset_shuffle(list), stage);
    } else if (stage.starts_with("deflate")) {
      const unsigned long level = stage.size() > 8 ? std::stoul(stage.substr(8)) : 6;
      hdf5_check(H5Pset_deflate(list, static_cast<unsigned>(level)), stage);
    } else if (stage.starts_with(zfp_accuracy)) {
      // H5Z-ZFP, a plug-in in HDF5_PLUGIN_PATH: the mode, nothing, and a double.
      const double bound = std::stod(stage.substr(zfp_accuracy.size()));
      std::array<unsigned, 4> values{3, 0};
      std::memcpy(&values[2], &bound, sizeof bound);
      hdf5_check(H5Pset_filter(list, 32013, H5Z_FLAG_MANDATORY, values.size(), values.data()),
                 stage);
    } else {
      throw std::runtime_error("HDF5 here has shuffle, deflate:LEVEL and zfp:accuracy=X, not " +
                               stage);
    }
  }
}

class Hdf5File final : public ArrayFile {
 public:
  Hdf5File(Hdf5Id file, ArrayStorage storage)
      : file_(std::move(file)),
        storage_(std::move(storage)),
        transfer_(hdf5_transfer(storage_.independent)) {}

  void define(std::span<const ArrayVariable> variables) override {
    variables_ = variables;
    for (const ArrayVariable& variable : variables) {
      const auto rank = static_cast<int>(variable.shape.size());
      const Hdf5Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "creation");
      hdf5_check(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "fill time");
      if (storage_.chunked) {
        hdf5_check(H5Pset_chunk(list, rank, lengths(variable.chunk).data()), "chunk");
        hdf5_check(H5Pset_alloc_time(list, H5D_ALLOC_TIME_INCR), "allocation time");
        add_filters(list, storage_.codec);
      }
      const Hdf5Id space(H5Screate_simple(rank, lengths(variable.shape).data(), nullptr), H5Sclose,
                         "space");
      datasets_.emplace_back(H5Dcreate2(file_, variable.name.c_str(), memory_type(variable.type),
                                        space, H5P_DEFAULT, list, H5P_DEFAULT),
                             H5Dclose, variable.name.c_str());
    }
  }

  void find(std::span<const ArrayVariable> variables) override {
    variables_ = variables;
    for (const ArrayVariable& variable : variables) {
      datasets_.emplace_back(H5Dopen2(file_, variable.name.c_str(), H5P_DEFAULT), H5Dclose,
                             variable.name.c_str());
    }
  }

  void write(std::span<const ArrayBlock> blocks) override {
    if (storage_.one_call) {
      all_at_once(blocks, [&](const Calls& c) {
        return H5Dwrite_multi(blocks.size(), c.dataset_list, c.type_list, c.memory_list,
                              c.space_list, transfer_, c.sources);
      });
      return;
    }
    for (const ArrayBlock& block : blocks) {
      const Selection s = select(block);
      hdf5_check(H5Dwrite(datasets_[block.variable], memory_type(variables_[block.variable].type),
                          s.memory, s.file, transfer_, block.data),
                 variables_[block.variable].name);
    }
  }

  void read(std::span<const ArrayBlock> blocks) override {
    if (storage_.one_call) {
      all_at_once(blocks, [&](const Calls& c) {
        return H5Dread_multi(blocks.size(), c.dataset_list, c.type_list, c.memory_list,
                             c.space_list, transfer_, c.targets);
      });
      return;
    }
    for (const ArrayBlock& block : blocks) {
      const Selection s = select(block);
      hdf5_check(H5Dread(datasets_[block.variable], memory_type(variables_[block.variable].type),
                         s.memory, s.file, transfer_, block.data),
                 variables_[block.variable].name);
    }
  }

  void close() override {
    for (Hdf5Id& dataset : datasets_) dataset.close("close of a dataset");
    file_.close("close");
  }

 private:
  struct Selection {
    Hdf5Id memory, file;
  };
  // Arguments of the calls on many datasets, which want arrays of everything.
  struct Calls {
    hid_t *dataset_list, *type_list, *memory_list, *space_list;
    const void** sources;
    void** targets;
  };

  Selection select(const ArrayBlock& block) const {
    const ArrayVariable& variable = variables_[block.variable];
    const auto rank = static_cast<int>(variable.shape.size());
    const auto count = lengths(block.box.count);
    Hdf5Id file(H5Screate_simple(rank, lengths(variable.shape).data(), nullptr), H5Sclose, "space");
    if (block.box.elements() == 0) {
      hdf5_check(H5Sselect_none(file), "selection");
      Hdf5Id memory(H5Scopy(file), H5Sclose, "space");
      return {std::move(memory), std::move(file)};
    }
    hdf5_check(H5Sselect_hyperslab(file, H5S_SELECT_SET, lengths(block.box.start).data(), nullptr,
                                   count.data(), nullptr),
               "selection");
    Hdf5Id memory(H5Screate_simple(rank, count.data(), nullptr), H5Sclose, "space");
    return {std::move(memory), std::move(file)};
  }

  template <typename Call>
  void all_at_once(std::span<const ArrayBlock> blocks, Call call) {
    std::vector<Selection> selections;
    std::vector<hid_t> datasets, types, memory, file;
    std::vector<const void*> sources;
    std::vector<void*> targets;
    for (const ArrayBlock& block : blocks) {
      selections.push_back(select(block));
      datasets.push_back(datasets_[block.variable]);
      types.push_back(memory_type(variables_[block.variable].type));
      memory.push_back(selections.back().memory);
      file.push_back(selections.back().file);
      sources.push_back(block.data);
      targets.push_back(block.data);
    }
    hdf5_check(call({datasets.data(), types.data(), memory.data(), file.data(), sources.data(),
                     targets.data()}),
               "transfer of all variables");
  }

  Hdf5Id file_;
  ArrayStorage storage_;
  Hdf5Id transfer_;
  std::span<const ArrayVariable> variables_;
  std::vector<Hdf5Id> datasets_;
};

}  // namespace

std::unique_ptr<ArrayFile> create_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                             const ArrayStorage& storage) {
  return std::make_unique<Hdf5File>(hdf5_create_file(path, comm, info, storage.independent),
                                    storage);
}

std::unique_ptr<ArrayFile> open_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                           const ArrayStorage& storage) {
  return std::make_unique<Hdf5File>(hdf5_open_file(path, comm, info, storage.independent), storage);
}

}  // namespace forebay::bench
