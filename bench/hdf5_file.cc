// Dense arrays through parallel HDF5, with the settings that favour it: collective data transfers
// and metadata writes, no fill values, space for chunks when they are written, no type conversion
// on the way (the file has the machine's own byte order).

#include <hdf5.h>

#include <stdexcept>

#include "array_file.h"

namespace forebay::bench {
namespace {

// The first message of HDF5's error stack, which names the call that failed at the bottom.
herr_t take_message(unsigned /*n*/, const H5E_error2_t* entry, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (text.empty() && entry->desc) text = entry->desc;
  return 0;
}

[[noreturn]] void fail(const std::string& what) {
  std::string message;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_message, &message);
  throw std::runtime_error(what + ": " + (message.empty() ? "HDF5 failed" : message));
}

template <typename Status>
Status check(Status status, const std::string& what) {
  if (status < 0) fail(what);
  return status;
}

/// Owns one HDF5 identifier.
class Id {
 public:
  Id(hid_t id, herr_t (*release)(hid_t), const char* what) : id_(id), release_(release) {
    if (id_ < 0) fail(what);
  }
  ~Id() { reset(); }
  Id(Id&& other) noexcept : id_(other.id_), release_(other.release_) { other.id_ = -1; }
  Id& operator=(Id&&) = delete;
  operator hid_t() const { return id_; }  // the C interface takes identifiers by value
  void reset() {
    if (id_ >= 0) release_(id_);
    id_ = -1;
  }
  /// Like reset(), but a failure counts.
  void close(const char* what) {
    const hid_t id = id_;
    id_ = -1;
    check(release_(id), what);
  }

 private:
  hid_t id_;
  herr_t (*release_)(hid_t);
};

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

Id access_list(MPI_Comm comm, MPI_Info info) {
  Id list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file access");
  check(H5Pset_fapl_mpio(list, comm, info), "MPI-IO");
  check(H5Pset_coll_metadata_write(list, true), "collective metadata writes");
  check(H5Pset_all_coll_metadata_ops(list, true), "collective metadata reads");
  // The later format has quicker chunk indexes for arrays of fixed size.
  check(H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "format version");
  return list;
}

// "shuffle,deflate:6" as filters of a creation list.
void add_filters(hid_t list, const std::string& codec) {
  for (std::size_t from = 0; from < codec.size();) {
    const std::size_t end = std::min(codec.find(',', from), codec.size());
    const std::string stage = codec.substr(from, end - from);
    from = end + 1;
    if (stage == "none") continue;
    if (stage == "shuffle") {
      check(H5Pset_shuffle(list), stage);
    } else if (stage.starts_with("deflate")) {
      const unsigned long level = stage.size() > 8 ? std::stoul(stage.substr(8)) : 6;
      check(H5Pset_deflate(list, static_cast<unsigned>(level)), stage);
    } else {
      throw std::runtime_error("HDF5 here has shuffle and deflate:LEVEL, not " + stage);
    }
  }
}

class Hdf5File final : public ArrayFile {
 public:
  Hdf5File(Id file, ArrayStorage storage)
      : file_(std::move(file)),
        storage_(std::move(storage)),
        transfer_(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "transfer") {
    check(H5Pset_dxpl_mpio(transfer_, H5FD_MPIO_COLLECTIVE), "collective transfer");
  }

  void define(std::span<const ArrayVariable> variables) override {
    variables_ = variables;
    for (const ArrayVariable& variable : variables) {
      const auto rank = static_cast<int>(variable.shape.size());
      const Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "creation");
      check(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "fill time");
      if (storage_.chunked) {
        check(H5Pset_chunk(list, rank, lengths(variable.chunk).data()), "chunk");
        check(H5Pset_alloc_time(list, H5D_ALLOC_TIME_INCR), "allocation time");
        add_filters(list, storage_.codec);
      }
      const Id space(H5Screate_simple(rank, lengths(variable.shape).data(), nullptr), H5Sclose,
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
      check(H5Dwrite(datasets_[block.variable], memory_type(variables_[block.variable].type),
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
      check(H5Dread(datasets_[block.variable], memory_type(variables_[block.variable].type),
                    s.memory, s.file, transfer_, block.data),
            variables_[block.variable].name);
    }
  }

  void close() override {
    for (Id& dataset : datasets_) dataset.close("close of a dataset");
    file_.close("close");
  }

 private:
  struct Selection {
    Id memory, file;
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
    Id file(H5Screate_simple(rank, lengths(variable.shape).data(), nullptr), H5Sclose, "space");
    if (block.box.elements() == 0) {
      check(H5Sselect_none(file), "selection");
      Id memory(H5Scopy(file), H5Sclose, "space");
      return {std::move(memory), std::move(file)};
    }
    check(H5Sselect_hyperslab(file, H5S_SELECT_SET, lengths(block.box.start).data(), nullptr,
                              count.data(), nullptr),
          "selection");
    Id memory(H5Screate_simple(rank, count.data(), nullptr), H5Sclose, "space");
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
    check(call({datasets.data(), types.data(), memory.data(), file.data(), sources.data(),
                targets.data()}),
          "transfer of all variables");
  }

  Id file_;
  ArrayStorage storage_;
  Id transfer_;
  std::span<const ArrayVariable> variables_;
  std::vector<Id> datasets_;
};

}  // namespace

std::unique_ptr<ArrayFile> create_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                             const ArrayStorage& storage) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // messages go into exceptions
  Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_list(comm, info)), H5Fclose,
          "create");
  return std::make_unique<Hdf5File>(std::move(file), storage);
}

std::unique_ptr<ArrayFile> open_array_file(const std::string& path, MPI_Comm comm, MPI_Info info,
                                           const ArrayStorage& storage) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access_list(comm, info)), H5Fclose, "open");
  return std::make_unique<Hdf5File>(std::move(file), storage);
}

}  // namespace forebay::bench
