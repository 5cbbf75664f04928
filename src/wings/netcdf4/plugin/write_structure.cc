#include "netcdf4/plugin/write_structure.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "netcdf4/plugin/handles.h"
#include "netcdf4/plugin/structure_driver.h"

namespace forebay::netcdf4 {

namespace {

constexpr unsigned keeps_order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
constexpr unsigned shuffle_filter = H5Z_FILTER_SHUFFLE, fletcher_filter = H5Z_FILTER_FLETCHER32;

Id space_of(std::span<const hsize_t> now, std::span<const hsize_t> most) {
  if (now.empty()) return {H5Screate(H5S_SCALAR), "making a dataspace"};
  return {H5Screate_simple(static_cast<int>(now.size()), now.data(), most.data()),
          "making a dataspace"};
}

void put_value(hid_t object, const std::string& name, hid_t type, hid_t space, hid_t memory,
               const void* value) {
  const Id attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT),
                     "writing attribute " + name);
  if (value != nullptr) checked(H5Awrite(attribute, memory, value), "writing attribute " + name);
}

void put_text(hid_t object, const std::string& name, std::string_view text, std::size_t bytes) {
  const Id type = text_type(bytes), space(H5Screate(H5S_SCALAR), name);
  std::string padded(text);
  padded.resize(std::max<std::size_t>(bytes, 1));
  put_value(object, name, type, space, type, padded.data());
}

void put_numbers(hid_t object, const std::string& name, std::span<const std::int32_t> numbers,
                 bool scalar) {
  const hsize_t count = numbers.size();
  const Id space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), name);
  put_value(object, name, H5T_STD_I32LE, space, H5T_NATIVE_INT32, numbers.data());
}

void put_string(hid_t object, const Attribute& attribute, const AttributeForm& form) {
  const std::string text(text_of(attribute));
  const Id type = text_type(static_cast<std::size_t>(attribute.count));
  const Id space(H5Screate(H5S_SCALAR), attribute.name);
  if (form.utf8) checked(H5Tset_cset(type, H5T_CSET_UTF8), attribute.name);
  if (form.variable_length) {
    checked(H5Tset_size(type, H5T_VARIABLE), attribute.name);
    const char* const pointer = text.c_str();
    return put_value(object, attribute.name, type, space, type, &pointer);
  }
  checked(H5Tset_strpad(type, static_cast<H5T_str_t>(form.padding)), attribute.name);
  put_value(object, attribute.name, type, space, type, attribute.value.data());
}

/// Writes an attribute of the program. Text is a scalar, and numbers have one dimension, unless the
/// file had it otherwise.
void put_attribute(hid_t object, const Attribute& attribute, std::span<const AttributeForm> forms) {
  const void* const value = attribute.value.data();
  const auto form = std::find_if(forms.begin(), forms.end(), [&](const AttributeForm& its) {
    return its.name == attribute.name;
  });
  const bool formed = form != forms.end();
  if (attribute.type == Type::chr && formed && (attribute.count > 0 || form->variable_length))
    return put_string(object, attribute, *form);
  if (formed && form->scalar && attribute.type != Type::chr && attribute.count == 1) {
    const Id space(H5Screate(H5S_SCALAR), attribute.name);
    return put_value(object, attribute.name, number_type(attribute.type, true), space,
                     number_type(attribute.type, false), value);
  }
  if (attribute.type == Type::chr) {
    const Id type = text_type(static_cast<std::size_t>(attribute.count));
    const Id space(H5Screate(attribute.count > 0 ? H5S_SCALAR : H5S_NULL), attribute.name);
    return put_value(object, attribute.name, type, space, type,
                     attribute.count > 0 ? value : nullptr);
  }
  const auto count = static_cast<hsize_t>(attribute.count);
  const Id space(count > 0 ? H5Screate_simple(1, &count, nullptr) : H5Screate(H5S_NULL),
                 attribute.name);
  put_value(object, attribute.name, number_type(attribute.type, true), space,
            number_type(attribute.type, false), count > 0 ? value : nullptr);
}

class Writer {
 public:
  explicit Writer(const NewStructure& structure)
      : from_(structure), schema_(structure.schema), coordinates_(schema_.dims.size(), -1) {
    checked(H5PLget_loading_state(&loads_), "asking which plug-ins HDF5 loads");
    H5PLset_loading_state(loads_ & ~static_cast<unsigned>(H5PL_FILTER_PLUGIN));
    state_->allocate = structure.allocate;
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
      const Variable& var = schema_.vars[v];
      if (var.ndims() > 0 && dim_of(var, 0).name == var.name)
        coordinates_[static_cast<std::size_t>(var.dimids[0])] = static_cast<VarId>(v);
    }
    dims_.resize(schema_.dims.size());
    vars_.resize(schema_.vars.size());
  }
  ~Writer() {
    state_->allocate = nullptr;
    H5PLset_loading_state(loads_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  WrittenStructure run() {
    try {
      const Id access(access_by_structure_driver(state_), "making the driver of a structure");
      const Id creation(H5Pcreate(H5P_FILE_CREATE), "making a file");
      checked(H5Pset_link_creation_order(creation, keeps_order), "making a file");
      checked(H5Pset_attr_creation_order(creation, keeps_order), "making a file");
      checked(H5Pset_obj_track_times(creation, false), "making a file");
      file_ = checked(H5Fcreate("structure", H5F_ACC_TRUNC, creation, access), "making a file");
      put_all();
      vars_.clear();
      dims_.clear();
      checked(H5Fclose(std::exchange(file_, H5I_INVALID_HID)), "writing the structure of a file");
      if (state_->error) throw *state_->error;
    } catch (...) {
      vars_.clear();
      dims_.clear();
      if (file_ >= 0) H5Fclose(file_);
      if (state_->error) throw *state_->error;  // which is why HDF5 failed
      throw;
    }
    WrittenStructure written{std::move(state_->superblock), {}, state_->file_end()};
    for (auto& [place, block] : state_->blocks) {
      block.bytes.resize(static_cast<std::size_t>(block.used));
      written.blocks.push_back({place, std::move(block.bytes)});
    }
    return written;
  }

 private:
  const Dimension& dim_of(const Variable& var, std::size_t d) const {
    return schema_.dims[static_cast<std::size_t>(var.dimids[d])];
  }

  void put_all() {
    {
      const Id root(H5Gopen2(file_, "/", H5P_DEFAULT), "opening the root group");
      if (from_.classic_model) put_numbers(root, "_nc3_strict", std::array{1}, true);
      for (const Attribute& attribute : schema_.attributes)
        put_attribute(root, attribute, from_.attributes);
      const std::string made_by = std::string("version=2,forebay=") + FOREBAY_VERSION +
                                  ",hdf5=" + std::to_string(H5_VERS_MAJOR) + "." +
                                  std::to_string(H5_VERS_MINOR) + "." +
                                  std::to_string(H5_VERS_RELEASE);
      put_text(root, "_NCProperties", made_by, made_by.size());
    }
    // Readers take the order of variables, and of dimensions, from the order in which their
    // datasets were made. A coordinate variable is both. So dimensions without one come until a
    // dimension has one, then variables up to that one.
    std::size_t var = 0;
    for (std::size_t d = 0; d < schema_.dims.size(); ++d) {
      if (coordinates_[d] < 0) {
        put_dimension(d);
        continue;
      }
      const auto own = static_cast<std::size_t>(coordinates_[d]);
      for (; var <= own; ++var) put_variable(var);
    }
    for (; var < schema_.vars.size(); ++var) put_variable(var);
    attach_dimensions();
  }

  Id new_creation() const {
    Id creation(H5Pcreate(H5P_DATASET_CREATE), "making a dataset");
    checked(H5Pset_attr_creation_order(creation, keeps_order), "making a dataset");
    checked(H5Pset_obj_track_times(creation, false), "making a dataset");
    return creation;
  }

  void mark_scale(hid_t dataset, const std::string& name, std::size_t dim) const {
    put_text(dataset, "CLASS", "DIMENSION_SCALE", 16);
    put_text(dataset, "NAME", name, name.size() + 1);
    put_numbers(dataset, "_Netcdf4Dimid", std::array{static_cast<std::int32_t>(dim)}, true);
  }

  void put_dimension(std::size_t d) {
    const Dimension& dim = schema_.dims[d];
    const hsize_t length = static_cast<hsize_t>(dim.is_record() ? schema_.numrecs : dim.length);
    const hsize_t most = dim.is_record() ? H5S_UNLIMITED : length, one = 1;
    const Id creation = new_creation();
    if (dim.is_record()) checked(H5Pset_chunk(creation, 1, &one), "making dimension " + dim.name);
    const Id space(H5Screate_simple(1, &length, &most), "making dimension " + dim.name);
    dims_[d] = Id(H5Dcreate2(file_, dim.name.c_str(), H5T_IEEE_F32BE, space, H5P_DEFAULT, creation,
                             H5P_DEFAULT),
                  "making dimension " + dim.name);
    char name[96];
    std::snprintf(name, sizeof name, "%s%10lld", no_variable, static_cast<long long>(length));
    mark_scale(dims_[d], name, d);
  }

  std::string dataset_name(const Variable& var) const {
    const bool is_dim = schema_.find_dim(var.name).has_value();
    const bool is_coordinate = var.ndims() > 0 && dim_of(var, 0).name == var.name;
    return is_dim && !is_coordinate ? no_coordinate_prefix + var.name : var.name;
  }

  void put_variable(std::size_t v) {
    const Variable& var = schema_.vars[v];
    const StoredVariable& stored = from_.stored[v];
    const std::string doing = "making variable " + var.name;
    const Id text = text_type(1);
    const hid_t type =
        var.type == Type::chr ? hid_t(text) : number_type(var.type, stored.little_endian);
    std::vector<hsize_t> now, most;
    for (const Count length : var.shape) {
      const bool record = now.empty() && var.is_record;
      now.push_back(static_cast<hsize_t>(record ? schema_.numrecs : length));
      most.push_back(record ? H5S_UNLIMITED : now.back());
    }
    const Id creation = new_creation();
    checked(H5Pset_fill_value(creation, type, stored.fill.data()), doing);
    if (stored.never_filled) checked(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), doing);
    const bool chunked = stored.way == StoredVariable::Way::chunks;
    if (chunked) {
      const std::vector<hsize_t> chunk(stored.chunk.begin(), stored.chunk.end());
      checked(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), doing);
      for (const Filter& filter : stored.filters) put_filter(creation, filter, doing);
    } else if (stored.place >= 0) {
      // Space is taken now, where the values are.
      checked(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY), doing);
      state_->expect_raw(stored.place, var.inner_bytes());
    }
    vars_[v] = Id(H5Dcreate2(file_, dataset_name(var).c_str(), type, space_of(now, most),
                             H5P_DEFAULT, creation, H5P_DEFAULT),
                  doing);
    state_->expect_raw(0, 0);
    if (chunked) put_chunks(static_cast<VarId>(v), var, stored);
    put_attributes(v, var);
  }

  void put_filter(hid_t creation, const Filter& filter, const std::string& doing) {
    if (filter.id == shuffle_filter) {
      checked(H5Pset_shuffle(creation), doing);
    } else if (filter.id == fletcher_filter) {
      checked(H5Pset_fletcher32(creation), doing);
    } else {
      // HDF5 makes a dataset with a filter that it does not know if that is optional. Readers need
      // it all the same for chunks that it was applied to. A plug-in that is there already takes
      // the parameters for those of a program, and makes the file's of them.
      const bool is_there = H5Zfilter_avail(static_cast<H5Z_filter_t>(filter.id)) > 0;
      const auto its = is_there ? from_.values_to_ask(filter) : filter.values;
      const std::vector<unsigned> values(its.begin(), its.end());
      checked(H5Pset_filter(creation, static_cast<H5Z_filter_t>(filter.id), H5Z_FLAG_OPTIONAL,
                            values.size(), values.data()),
              doing);
    }
  }

  void put_chunks(VarId v, const Variable& var, const StoredVariable& stored) {
    const auto n = stored.chunk.size();
    std::vector<Count> grid(n, 1);
    for (std::size_t d = var.is_record ? 1 : 0; d < n; ++d)
      grid[d] = (var.shape[d] + stored.chunk[d] - 1) / stored.chunk[d];
    std::vector<hsize_t> first(n);
    const hid_t dataset = vars_[static_cast<std::size_t>(v)];
    from_.each_chunk(v, [&](const ChunkPlace& chunk) {
      Count left = chunk.id;
      for (std::size_t d = n; d-- > 0;) {
        const bool slowest = d == 0 && var.is_record;
        const Count at = slowest ? left : left % grid[d];
        if (!slowest) left /= grid[d];
        first[d] = static_cast<hsize_t>(at * stored.chunk[d]);
      }
      if (var.is_record && first[0] >= static_cast<hsize_t>(schema_.numrecs)) return;
      state_->expect_raw(chunk.offset, chunk.bytes);
      // The driver drops the bytes, so it does not matter what is there.
      checked(H5Dwrite_chunk(dataset, H5P_DEFAULT, static_cast<std::uint32_t>(chunk.skipped),
                             first.data(), static_cast<std::size_t>(chunk.bytes), this),
              "placing a chunk of variable " + var.name);
    });
    state_->expect_raw(0, 0);
  }

  void put_attributes(std::size_t v, const Variable& var) {
    const hid_t dataset = vars_[v];
    if (var.ndims() > 0) {
      const std::vector<std::int32_t> ids(var.dimids.begin(), var.dimids.end());
      put_numbers(dataset, "_Netcdf4Coordinates", ids, false);
    }
    if (scale_of(v)) mark_scale(dataset, var.name, *scale_of(v));
    for (const Attribute& attribute : var.attributes)
      put_attribute(dataset, attribute, from_.stored[v].attributes);
  }

  /// Returns the dimension whose coordinate variable this is.
  std::optional<std::size_t> scale_of(std::size_t v) const {
    const Variable& var = schema_.vars[v];
    if (var.ndims() == 0) return std::nullopt;
    const auto d = static_cast<std::size_t>(var.dimids[0]);
    return coordinates_[d] == static_cast<VarId>(v) ? std::optional(d) : std::nullopt;
  }

  /// Refers from variables to the datasets of their dimensions, and back, as HDF5's dimension
  /// scales do. (H5DSattach_scale would write each list back once for each variable in it.)
  void attach_dimensions() {
    struct Back {
      hobj_ref_t dataset;
      std::int32_t dimension;
    };
    std::vector<hobj_ref_t> scales(dims_.size());
    std::vector<std::vector<Back>> backs(dims_.size());
    for (std::size_t d = 0; d < dims_.size(); ++d) scales[d] = reference_to(dataset_of(d));
    const Id list_type(H5Tvlen_create(H5T_STD_REF_OBJ), "making a list of dimensions");
    for (std::size_t v = 0; v < vars_.size(); ++v) {
      const Variable& var = schema_.vars[v];
      if (var.ndims() == 0 || scale_of(v)) continue;
      std::vector<hvl_t> lists;
      const hobj_ref_t own = reference_to(vars_[v]);
      for (std::size_t i = 0; i < var.dimids.size(); ++i) {
        const auto d = static_cast<std::size_t>(var.dimids[i]);
        lists.push_back({1, &scales[d]});
        backs[d].push_back({own, static_cast<std::int32_t>(i)});
      }
      const hsize_t count = lists.size();
      const Id space(H5Screate_simple(1, &count, nullptr), "making a list of dimensions");
      put_value(vars_[v], "DIMENSION_LIST", list_type, space, list_type, lists.data());
    }
    const Id back_type(H5Tcreate(H5T_COMPOUND, sizeof(Back)), "making a list of references");
    checked(H5Tinsert(back_type, "dataset", HOFFSET(Back, dataset), H5T_STD_REF_OBJ), "a list");
    checked(H5Tinsert(back_type, "dimension", HOFFSET(Back, dimension), H5T_NATIVE_INT32),
            "a list");
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      if (backs[d].empty()) continue;
      const hsize_t count = backs[d].size();
      const Id space(H5Screate_simple(1, &count, nullptr), "making a list of references");
      put_value(dataset_of(d), "REFERENCE_LIST", back_type, space, back_type, backs[d].data());
    }
  }

  hid_t dataset_of(std::size_t d) const {
    return coordinates_[d] < 0 ? dims_[d] : vars_[static_cast<std::size_t>(coordinates_[d])];
  }

  static hobj_ref_t reference_to(hid_t dataset) {
    hobj_ref_t reference = 0;
    checked(H5Rcreate(&reference, dataset, ".", H5R_OBJECT, H5I_INVALID_HID),
            "referring to a dataset");
    return reference;
  }

  const NewStructure& from_;
  const Schema& schema_;
  std::shared_ptr<DriverState> state_ = std::make_shared<DriverState>();
  hid_t file_ = H5I_INVALID_HID;
  std::vector<VarId> coordinates_;  // the coordinate variable of each dimension; -1: none
  std::vector<Id> dims_, vars_;     // their datasets
  unsigned loads_ = 0;              // the kinds of plug-ins that HDF5 loads otherwise
};

}  // namespace

WrittenStructure write_structure(const NewStructure& structure) { return Writer(structure).run(); }

}  // namespace forebay::netcdf4
