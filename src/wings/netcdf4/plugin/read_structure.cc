#include "netcdf4/plugin/read_structure.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/byteorder.h"
#include "base/netcdf4_names.h"
#include "base/text_table.h"
#include "netcdf4/plugin/handles.h"
#include "netcdf4/plugin/versions.h"
#include "netcdf4/plugin/write_structure.h"

namespace forebay::netcdf4 {

namespace {

using Way = StoredVariable::Way;
constexpr Count largest_chunk = Count{1} << 30;  // of ranks
constexpr hobj_ref_t no_scale = ~hobj_ref_t{0};

// Programs have room for no more (NC_MAX_NAME).
constexpr std::size_t longest_name = 256;
constexpr const char* has_long_name = " has a name of more than 256 bytes";

Id open_file(const std::string& path) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS), "opening " + path);
  checked(use_native_connector(access), "opening " + path);
  checked(H5Pset_fapl_sec2(access), "opening " + path);
  checked(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG), "opening " + path);
  // This process may have the file open for writing, and not all file systems have locks.
  checked(H5Pset_file_locking(access, false, true), "opening " + path);
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), "opening " + path};
}

/// The type of the classic model that has the values of a type of HDF5; none: there is no such.
struct SeenType {
  Type type = Type::none;
  bool little_endian = true;
};

SeenType seen_type(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_ENUM) {  // its values are those of the integers that stand for them
    const Id base(H5Tget_super(type), "reading a type");
    return seen_type(base);
  }
  if (kind == H5T_STRING)
    return {size == 1 && H5Tis_variable_str(type) == 0 ? Type::chr : Type::none, true};
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return {};
  for (const bool little : {true, false})
    for (auto t = Type::byte; is_valid(t); t = static_cast<Type>(static_cast<int>(t) + 1))
      if (is_numeric(t) && static_cast<std::size_t>(size_of(t)) == size &&
          H5Tequal(type, number_type(t, little)) > 0)
        return {t, little};
  return {};
}

struct Extents {
  std::vector<hsize_t> now, most;
};

Extents extents_of(hid_t space) {
  const int n = checked(H5Sget_simple_extent_ndims(space), "reading a dataspace");
  Extents its{std::vector<hsize_t>(static_cast<std::size_t>(n)), {}};
  its.most = its.now;
  if (n > 0)
    checked(H5Sget_simple_extent_dims(space, its.now.data(), its.most.data()),
            "reading a dataspace");
  return its;
}

/// Returns the text of an attribute of one text of any kind; nothing for others.
std::optional<std::string> text_value(hid_t attribute, hid_t type, hid_t space) {
  if (H5Tget_class(type) != H5T_STRING) return std::nullopt;
  if (H5Sget_simple_extent_npoints(space) > 1) return std::nullopt;
  if (H5Sget_simple_extent_npoints(space) == 0) return std::string();
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    checked(H5Aread(attribute, type, &text), "reading an attribute");
    std::string copy = text != nullptr ? text : "";
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  checked(H5Aread(attribute, type, text.data()), "reading an attribute");
  return text;
}

/// Returns the numbers of an integer attribute, or nothing.
std::vector<std::int64_t> numbers_of(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), "reading an attribute");
  const Id type(H5Aget_type(attribute), "reading an attribute");
  const Id space(H5Aget_space(attribute), "reading an attribute");
  const auto count = H5Sget_simple_extent_npoints(space);
  if (H5Tget_class(type) != H5T_INTEGER || count <= 0 || count > H5S_MAX_RANK) return {};
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  checked(H5Aread(attribute, H5T_NATIVE_INT64, numbers.data()), "reading an attribute");
  return numbers;
}

std::optional<std::string> text_of(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), "reading an attribute");
  const Id type(H5Aget_type(attribute), "reading an attribute");
  const Id space(H5Aget_space(attribute), "reading an attribute");
  auto text = text_value(attribute, type, space);
  if (text) text->resize(std::strlen(text->c_str()));
  return text;
}

struct Dim {
  std::string name;
  Count length = 0;
  bool unlimited = false, leads = true;
  std::int64_t number = -1;
  DimId id = -1;  // in the schema
};

struct Draft {
  Variable var;
  StoredVariable stored;
  Extents extents;
  Id dataset;
  std::vector<std::size_t> dims;
  std::optional<std::size_t> own;     // the dimension that it is the coordinate variable of
  std::vector<std::int64_t> numbers;  // _Netcdf4Coordinates
  std::vector<hobj_ref_t> scales;     // what DIMENSION_LIST refers to
};

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(open_file(path)) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) result_.file_size = info.st_size;
    const Id creation(H5Fget_create_plist(file_), "reading a file");
    hsize_t user_block = 0;
    checked(H5Pget_userblock(creation, &user_block), "reading a file");
    if (user_block == 0) return;
    all_by_hdf5_ = "the file begins with a user block";
    leave_out("the user block at the beginning of the file");
  }

  ReadStructure run() {
    const Id root(H5Gopen2(file_, "/", H5P_DEFAULT), "opening the root group");
    refuse_log(root);
    result_.classic_model = H5Aexists(root, "_nc3_strict") > 0;
    read_attributes(root, result_.schema.attributes, result_.attributes, "the file");
    read_links(root);
    for (Draft& draft : drafts_) find_dims(draft);
    choose_record_dimension();
    for (Dim& dim : dims_) make_dimension(dim);
    for (Draft& draft : drafts_) take(draft);
    return std::move(result_);
  }

 private:
  void leave_out(const std::string& what) { result_.left_out.push_back(what); }

  void refuse_log(hid_t root) const {
    if (H5Lexists(root, "_forebay_log", H5P_DEFAULT) > 0 || H5Aexists(root, "_forebay_log") > 0)
      throw Error(Errc::enotnc, path_ + " is a log of Forebay's HDF5 connector",
                  "make an ordinary file of it: forebay convert FILE OUT --to hdf5");
  }

  // -- attributes

  void read_attributes(hid_t object, AttributeList& list, std::vector<AttributeForm>& forms,
                       const std::string& owner) {
    // To open attributes by their numbers takes HDF5 a list of all of them for each.
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
      return 0;
    };
    const auto order = keeps_attribute_order(object) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    checked(H5Aiterate2(object, order, H5_ITER_INC, nullptr, note, &names),
            "reading the attributes of " + owner);
    for (const std::string& name : names) {
      if (name == "DIMENSION_LABELS") {
        leave_out("attribute DIMENSION_LABELS of " + owner + " is HDF5's");
        continue;
      }
      if (is_netcdf4_name(name)) {
        // In HDF5 they have other meanings, too: an image has a class.
        if ((name == "CLASS" || name == "NAME") && !is_scale(object))
          leave_out("attribute " + name + " of " + owner + " is HDF5's");
        continue;
      }
      const Id attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT),
                         "reading the attributes of " + owner);
      if (name.size() > longest_name) {
        leave_out("attribute " + printable(name) + " of " + owner + has_long_name);
        continue;
      }
      auto read = attribute_of(attribute, name);
      if (read) {
        list.append(std::move(*read));
        read_form(attribute, name, forms, owner);
      } else
        leave_out("attribute " + printable(name) + " of " + owner +
                  " has a type that the classic model does not know");
    }
  }

  void read_form(hid_t attribute, const std::string& name, std::vector<AttributeForm>& forms,
                 const std::string& owner) {
    const Id type(H5Aget_type(attribute), "reading attribute " + name);
    const Id space(H5Aget_space(attribute), "reading attribute " + name);
    const bool scalar = H5Sget_simple_extent_type(space) == H5S_SCALAR;
    AttributeForm form{name};
    if (H5Tget_class(type) == H5T_STRING) {
      form.variable_length = H5Tis_variable_str(type) > 0;
      form.utf8 = H5Tget_cset(type) == H5T_CSET_UTF8;
      form.padding = form.variable_length ? H5T_STR_NULLTERM : H5Tget_strpad(type);
    } else {
      form.scalar = scalar;
    }
    if (H5Tget_class(type) == H5T_ENUM || H5Sget_simple_extent_ndims(space) > 1)
      result_.not_kept.push_back("attribute " + printable(name) + " of " + owner +
                                 " is an enumeration, or has several dimensions");
    if (form != AttributeForm{name}) forms.push_back(std::move(form));
  }

  static bool is_scale(hid_t object) {
    return text_of(object, "CLASS") == std::optional<std::string>("DIMENSION_SCALE");
  }

  static bool keeps_attribute_order(hid_t object) {
    const bool is_dataset = H5Iget_type(object) == H5I_DATASET;
    const Id creation(is_dataset ? H5Dget_create_plist(object) : H5Gget_create_plist(object),
                      "reading an object");
    unsigned order = 0;
    checked(H5Pget_attr_creation_order(creation, &order), "reading an object");
    return (order & H5P_CRT_ORDER_INDEXED) != 0;
  }

  static std::optional<Attribute> attribute_of(hid_t attribute, const std::string& name) {
    const Id type(H5Aget_type(attribute), "reading attribute " + name);
    const Id space(H5Aget_space(attribute), "reading attribute " + name);
    if (auto text = text_value(attribute, type, space)) return text_attribute(name, *text);
    const SeenType seen = seen_type(type);
    if (!is_numeric(seen.type)) return std::nullopt;
    Attribute its;
    its.name = name;
    its.type = seen.type;
    const auto count = H5Sget_simple_extent_npoints(space);
    its.count = std::max<Count>(count, 0);
    its.value.resize(static_cast<std::size_t>(its.count * size_of(its.type)));
    if (count > 0)
      checked(H5Aread(attribute, number_type(its.type, false), its.value.data()),
              "reading attribute " + name);
    return its;
  }

  // -- datasets

  void read_links(hid_t root) {
    const Id creation(H5Gget_create_plist(root), "reading the root group");
    unsigned order = 0;
    checked(H5Pget_link_creation_order(creation, &order), "reading the root group");
    const auto index = (order & H5P_CRT_ORDER_INDEXED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    std::vector<std::string> names;
    const auto note = [](hid_t, const char* name, const LinkInfo*, void* to) -> herr_t {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
      return 0;
    };
    checked(each_link(root, index, note, &names), "reading the root group");
    for (const std::string& name : names) read_link(root, name);
  }

  void read_link(hid_t root, const std::string& name) {
    const std::string shown = printable(name);
    if (name.size() > longest_name) return leave_out(shown + has_long_name);
    LinkInfo link;
    checked(get_link_info(root, name.c_str(), link), "reading link " + shown);
    if (link.type != H5L_TYPE_HARD) return leave_out("link " + shown + " refers elsewhere");
    Id object(H5Oopen(root, name.c_str(), H5P_DEFAULT), "opening " + shown);
    if (H5Iget_type(object) == H5I_GROUP)
      return leave_out("group " + shown + " is not part of the root group");
    if (H5Iget_type(object) != H5I_DATASET) return leave_out(shown + " is a named type");
    ObjectInfo info;
    checked(get_object_info(object, info, H5O_INFO_BASIC), "reading " + shown);
    if (info.rc > 1) leave_out(shown + " has several names");
    Draft draft;
    draft.dataset = std::move(object);
    read_dataset(name, std::move(draft));
  }

  void read_dataset(const std::string& name, Draft draft) {
    const std::string shown = printable(name);
    const Id space(H5Dget_space(draft.dataset), "reading " + shown);
    const Id type(H5Dget_type(draft.dataset), "reading " + shown);
    if (H5Sget_simple_extent_type(space) == H5S_NULL)
      return leave_out("dataset " + shown + " has no dataspace");
    draft.extents = extents_of(space);
    if (is_scale(draft.dataset) && !draft.extents.now.empty()) {
      Dim dim;
      dim.name = name;
      dim.length = static_cast<Count>(draft.extents.now[0]);
      dim.unlimited = draft.extents.most[0] == H5S_UNLIMITED;
      const auto number = numbers_of(draft.dataset, "_Netcdf4Dimid");
      if (!number.empty()) dim.number = number[0];
      hobj_ref_t reference = 0;
      checked(H5Rcreate(&reference, draft.dataset, ".", H5R_OBJECT, H5I_INVALID_HID),
              "reading dimension " + shown);
      by_reference_[reference] = dims_.size();
      draft.own = dims_.size();
      dims_.push_back(std::move(dim));
      if (text_of(draft.dataset, "NAME").value_or("").starts_with(no_variable)) {
        AttributeList list;
        std::vector<AttributeForm> forms;
        read_attributes(draft.dataset, list, forms, "dimension " + shown);
        for (const Attribute& attribute : list)
          leave_out("attribute " + printable(attribute.name) + " of dimension " + shown +
                    " belongs to no variable");
        return;
      }
    }
    const SeenType seen = seen_type(type);
    if (seen.type == Type::none)
      return leave_out("variable " + shown + " has a type that the classic model does not know");
    Count elements = 16;  // bytes of the largest type, and some
    for (const hsize_t n : draft.extents.now)
      if (n > H5S_UNLIMITED / 4 ||
          __builtin_mul_overflow(elements, static_cast<Count>(n), &elements))
        return leave_out("variable " + shown + " is too large");
    draft.var.name = name.starts_with(no_coordinate_prefix)
                         ? name.substr(std::strlen(no_coordinate_prefix))
                         : name;
    draft.var.type = seen.type;
    draft.stored.little_endian = seen.little_endian;
    draft.stored.path = name;
    draft.numbers = numbers_of(draft.dataset, "_Netcdf4Coordinates");
    read_scales(draft);
    read_attributes(draft.dataset, draft.var.attributes, draft.stored.attributes,
                    "variable " + shown);
    const auto scale_name = text_of(draft.dataset, "NAME");
    const bool is_text = H5Tget_class(type) == H5T_STRING;
    if (H5Tget_class(type) == H5T_ENUM || (is_text && H5Tget_cset(type) == H5T_CSET_UTF8) ||
        (draft.own && scale_name && *scale_name != name))
      result_.not_kept.push_back("variable " + shown +
                                 " is an enumeration, of UTF-8 characters, "
                                 "or a scale of another name");
    read_storage(draft, type);
    draft.dataset = {};
    drafts_.push_back(std::move(draft));
  }

  void read_scales(Draft& draft) {
    if (H5Aexists(draft.dataset, "DIMENSION_LIST") <= 0) return;
    const Id attribute(H5Aopen(draft.dataset, "DIMENSION_LIST", H5P_DEFAULT), "reading dimensions");
    const Id space(H5Aget_space(attribute), "reading dimensions");
    const Id file_type(H5Aget_type(attribute), "reading dimensions");
    if (H5Tget_class(file_type) != H5T_VLEN) return;
    const Id base(H5Tget_super(file_type), "reading dimensions");
    if (H5Tequal(base, H5T_STD_REF_OBJ) <= 0) return;
    const auto count = H5Sget_simple_extent_npoints(space);
    if (count != std::ssize(draft.extents.now)) return;
    const Id type(H5Tvlen_create(H5T_STD_REF_OBJ), "reading dimensions");
    std::vector<hvl_t> lists(static_cast<std::size_t>(count));
    checked(H5Aread(attribute, type, lists.data()), "reading dimensions");
    for (const hvl_t& list : lists) {
      draft.scales.push_back(list.len > 0 ? *static_cast<const hobj_ref_t*>(list.p) : no_scale);
      if (list.len > 1)
        result_.not_kept.push_back("a dimension of variable " + printable(draft.var.name) +
                                   " has several scales");
    }
    reclaim(type, space, lists.data());
  }

  void by_hdf5(Draft& draft, const std::string& why) const {
    draft.stored.way = Way::by_hdf5;
    draft.stored.why = why;
  }

  void read_storage(Draft& draft, hid_t type) {
    const Id creation(H5Dget_create_plist(draft.dataset), "reading " + draft.var.name);
    StoredVariable& stored = draft.stored;
    stored.fill.assign(H5Tget_size(type), std::byte{0});
    H5D_fill_value_t fill = H5D_FILL_VALUE_DEFAULT;
    checked(H5Pfill_value_defined(creation, &fill), "reading a fill value");
    if (fill == H5D_FILL_VALUE_USER_DEFINED)
      checked(H5Pget_fill_value(creation, type, stored.fill.data()), "reading a fill value");
    H5D_fill_time_t time = H5D_FILL_TIME_IFSET;
    checked(H5Pget_fill_time(creation, &time), "reading a fill time");
    stored.never_filled = time == H5D_FILL_TIME_NEVER;
    if (!all_by_hdf5_.empty()) return by_hdf5(draft, all_by_hdf5_);
    switch (H5Pget_layout(creation)) {
      case H5D_CONTIGUOUS: {
        if (H5Pget_external_count(creation) > 0) return by_hdf5(draft, "it lies in other files");
        const haddr_t place = H5Dget_offset(draft.dataset);
        const auto bytes = static_cast<Count>(H5Dget_storage_size(draft.dataset));
        Count wanted = static_cast<Count>(stored.fill.size());
        for (const hsize_t n : draft.extents.now)
          if (__builtin_mul_overflow(wanted, static_cast<Count>(n), &wanted))
            throw Error(Errc::enotnc, path_ + ": " + draft.var.name + " is too large");
        if (place == HADDR_UNDEF) return;
        check_place(draft, static_cast<Offset>(place), bytes);
        if (bytes < wanted) return by_hdf5(draft, "it is stored in part");
        stored.place = static_cast<Offset>(place);
        return;
      }
      case H5D_CHUNKED:
        return read_chunks(draft, creation);
      case H5D_COMPACT:
        return by_hdf5(draft, "it lies in its object header");
      case H5D_VIRTUAL:
        return by_hdf5(draft, "it is a virtual dataset");
      default:
        return by_hdf5(draft, "its storage is unknown");
    }
  }

  void check_place(const Draft& draft, Offset place, Count bytes) const {
    if (place < 0 || bytes < 0 || bytes > result_.file_size || place > result_.file_size - bytes)
      throw Error(
          Errc::enotnc,
          path_ + ": values of variable " + printable(draft.var.name) + " lie outside the file",
          "the file is damaged or was cut short");
  }

  void read_chunks(Draft& draft, hid_t creation) {
    StoredVariable& stored = draft.stored;
    unsigned options = 0;
    checked(H5Pget_chunk_opts(creation, &options), "reading options of chunks");
    if ((options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0)
      return by_hdf5(draft, "its chunks at the end of a dimension are stored without filters");
    const std::size_t n = draft.extents.now.size();
    std::vector<hsize_t> chunk(n);
    const int ndims = H5Pget_chunk(creation, static_cast<int>(n), chunk.data());
    if (ndims != static_cast<int>(n) || std::find(chunk.begin(), chunk.end(), 0) != chunk.end())
      throw Error(Errc::enotnc,
                  path_ + ": the chunks of variable " + printable(draft.var.name) +
                      " have an impossible shape",
                  "the file is damaged");
    stored.chunk.assign(chunk.begin(), chunk.end());
    Count bytes = static_cast<Count>(stored.fill.size());
    for (const Count length : stored.chunk)
      if (__builtin_mul_overflow(bytes, length, &bytes) || bytes > largest_chunk)
        return by_hdf5(draft, "its chunks are larger than 1 GiB");
    const int filters = checked(H5Pget_nfilters(creation), "reading filters");
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0, values[32] = {}, config = 0;
      std::size_t count = std::size(values);
      const H5Z_filter_t id = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &count,
                                             values, 0, nullptr, &config);
      checked(id, "reading a filter");
      if (count > std::size(values)) return by_hdf5(draft, "a filter has many parameters");
      stored.filters.push_back({static_cast<std::uint32_t>(id), {values, values + count}});
    }
    stored.way = Way::chunks;
    read_places(draft, chunk);
  }

  void read_places(Draft& draft, const std::vector<hsize_t>& chunk) {
    std::vector<Count> grid;
    const auto& now = draft.extents.now;
    for (std::size_t d = 0; d < now.size(); ++d) {
      const Count along = draft.stored.chunk[d];
      grid.push_back((static_cast<Count>(now[d]) + along - 1) / along);
    }
    struct Found {
      Reader* reader;
      Draft* draft;
      const std::vector<Count>* grid;
      std::vector<ChunkPlace> places;
      std::optional<Error> failed;
    } found{this, &draft, &grid, {}, {}};
    const auto each = [](const hsize_t* first, unsigned mask, haddr_t place, hsize_t bytes,
                         void* data) -> int {
      auto& its = *static_cast<Found*>(data);
      try {
        its.reader->check_place(*its.draft, static_cast<Offset>(place), static_cast<Count>(bytes));
        Count id = 0;
        for (std::size_t d = 0; d < its.grid->size(); ++d) {
          const Count at = static_cast<Count>(first[d]) / its.draft->stored.chunk[d];
          if (at < 0 || at >= (*its.grid)[d]) return H5_ITER_CONT;  // beyond a dataset that shrank
          id = id * (*its.grid)[d] + at;
        }
        its.places.push_back({id, static_cast<Offset>(place), static_cast<Count>(bytes), mask});
      } catch (...) {
        its.failed = current_error();
        return H5_ITER_ERROR;
      }
      return H5_ITER_CONT;
    };
    const herr_t done = each_chunk(draft.dataset, now, chunk, each, &found);
    if (found.failed) throw *found.failed;
    checked(done, "reading the chunks of variable " + draft.var.name);
    std::sort(found.places.begin(), found.places.end(),
              [](const ChunkPlace& a, const ChunkPlace& b) { return a.id < b.id; });
    for (std::size_t i = 1; i < found.places.size(); ++i)
      if (found.places[i].id == found.places[i - 1].id)
        throw Error(Errc::enotnc,
                    path_ + ": two chunks of variable " + printable(draft.var.name) +
                        " have one place in it",
                    "the file is damaged");
    places_[draft.stored.path] = std::move(found.places);
  }

  // -- dimensions

  // Datasets without scales get dimensions by their lengths, as netCDF-C gives them.
  std::size_t phony_dim(const Draft& draft, Count length, bool unlimited) {
    for (std::size_t i = 0; i < phony_.size(); ++i) {
      const Dim& dim = dims_[phony_[i]];
      const bool used =
          std::find(draft.dims.begin(), draft.dims.end(), phony_[i]) != draft.dims.end();
      if (!used && dim.length == length && dim.unlimited == unlimited) return phony_[i];
    }
    Dim dim;
    dim.name = "phony_dim_" + std::to_string(dims_.size());
    dim.length = length;
    dim.unlimited = unlimited;
    phony_.push_back(dims_.size());
    dims_.push_back(std::move(dim));
    return dims_.size() - 1;
  }

  std::optional<std::size_t> dim_of_number(std::int64_t number) const {
    for (std::size_t i = 0; i < dims_.size(); ++i)
      if (dims_[i].number == number) return i;
    return std::nullopt;
  }

  void find_dims(Draft& draft) {
    for (std::size_t d = 0; d < draft.extents.now.size(); ++d) {
      const auto length = static_cast<Count>(draft.extents.now[d]);
      std::optional<std::size_t> found;
      if (d < draft.scales.size()) {
        const auto its = by_reference_.find(draft.scales[d]);
        if (its != by_reference_.end()) found = its->second;
      }
      if (!found && d == 0 && draft.own) found = draft.own;
      if (!found && d < draft.numbers.size()) found = dim_of_number(draft.numbers[d]);
      if (!found) found = phony_dim(draft, length, draft.extents.most[d] == H5S_UNLIMITED);
      Dim& dim = dims_[*found];
      if (dim.unlimited) dim.length = std::max(dim.length, length);
      if (d > 0) dim.leads = false;
      draft.dims.push_back(*found);
    }
  }

  void choose_record_dimension() {
    // In the order of their numbers, which is that of their definition.
    order_.resize(dims_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    const bool numbered =
        std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.number >= 0; });
    if (numbered)
      std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
        return dims_[a].number < dims_[b].number;
      });
    for (const std::size_t i : order_)
      if (!record_ && dims_[i].unlimited && dims_[i].leads && grows_everywhere(i)) record_ = i;
    // The schema takes dimensions in this order.
    std::vector<Dim> sorted;
    std::vector<std::size_t> now_at(dims_.size());
    for (const std::size_t i : order_) {
      now_at[i] = sorted.size();
      sorted.push_back(std::move(dims_[i]));
    }
    dims_ = std::move(sorted);
    if (record_) record_ = now_at[*record_];
    for (Draft& draft : drafts_)
      for (std::size_t& d : draft.dims) d = now_at[d];
  }

  bool grows_everywhere(std::size_t dim) const {
    return std::all_of(drafts_.begin(), drafts_.end(), [&](const Draft& draft) {
      const auto its = std::find(draft.dims.begin(), draft.dims.end(), dim);
      return its == draft.dims.end() ||
             (draft.extents.most[0] == H5S_UNLIMITED && draft.stored.way != Way::contiguous);
    });
  }

  void make_dimension(Dim& dim) {
    const auto i = static_cast<std::size_t>(&dim - dims_.data());
    const bool is_record = record_ == std::optional(i);
    if (is_record) result_.schema.numrecs = dim.length;
    if (dim.unlimited && !is_record)
      leave_out("dimension " + printable(dim.name) + " cannot grow, as only one can");
    if (dim.length == 0 && !is_record)
      return leave_out("dimension " + printable(dim.name) + " has no elements");
    dim.id = result_.schema.add_dim({dim.name, is_record ? 0 : dim.length});
  }

  // Adds a variable to the schema, with its chunks, whose numbers the whole extents of its
  // dimensions decide.
  void take(Draft& draft) {
    Variable& var = draft.var;
    for (std::size_t d = 0; d < draft.dims.size(); ++d) {
      const Dim& dim = dims_[draft.dims[d]];
      if (dim.id < 0) return leave_out("variable " + printable(var.name) + " has no elements");
      // A dataset may be shorter than an unlimited dimension; only the slowest may then differ, as
      // chunks are numbered by the others.
      const auto length = static_cast<Count>(draft.extents.now[d]);
      if (length != dim.length && (d > 0 || record_ != std::optional(draft.dims[d])))
        return leave_out("variable " + printable(var.name) + " is shorter than its dimension " +
                         printable(dim.name));
      var.dimids.push_back(dim.id);
      const bool grows = d == 0 && record_ == std::optional(draft.dims[d]);
      if (draft.extents.most[d] != (grows ? H5S_UNLIMITED : draft.extents.now[d]))
        result_.not_kept.push_back("variable " + printable(var.name) +
                                   " may grow otherwise than its dimensions");
    }
    StoredVariable& stored = draft.stored;
    if (stored.way == Way::chunks) {
      Chunking chunking;
      chunking.shape = stored.chunk;
      chunking.reason = "as the file has it";
      var.chunking = std::move(chunking);
    }
    result_.chunks.push_back(std::move(places_[stored.path]));
    result_.stored.push_back(std::move(stored));
    result_.schema.add_var(std::move(var));
  }

  std::string path_;
  Id file_;
  ReadStructure result_;
  std::string all_by_hdf5_;
  std::vector<Dim> dims_;
  std::vector<std::size_t> phony_, order_;
  std::vector<Draft> drafts_;
  std::map<hobj_ref_t, std::size_t> by_reference_;  // dimensions by their datasets
  std::map<std::string, std::vector<ChunkPlace>> places_;
  std::optional<std::size_t> record_;
};

class OpenValues final : public Hdf5Values {
 public:
  explicit OpenValues(const std::string& path) : file_(open_file(path)) {}
  ~OpenValues() override {
    const InHdf5 alone;
    file_ = {};
  }

  std::optional<Error> read(const StoredVariable& stored, std::span<const Count> start,
                            std::span<const Count> count, std::byte* to) override {
    const InHdf5 alone;
    try {
      const std::string doing = "reading " + printable(stored.path);
      const Id dataset(H5Dopen2(file_, stored.path.c_str(), H5P_DEFAULT), doing);
      const Id type(H5Dget_type(dataset), doing), space(H5Dget_space(dataset), doing);
      const std::vector<hsize_t> first(start.begin(), start.end());
      std::vector<hsize_t> n(count.begin(), count.end());
      if (first.empty()) {
        checked(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to), doing);
        return std::nullopt;
      }
      const hsize_t length = extents_of(space).now[0];
      if (first[0] >= length) return std::nullopt;
      n[0] = std::min(n[0], length - first[0]);
      checked(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, n.data(), nullptr),
              doing);
      const Id memory(H5Screate_simple(static_cast<int>(n.size()), n.data(), nullptr), doing);
      checked(H5Dread(dataset, type, memory, space, H5P_DEFAULT, to), doing);
    } catch (...) {
      return current_error();
    }
    return std::nullopt;
  }

 private:
  Id file_;
};

}  // namespace

ReadStructure read_structure(const std::string& path) { return Reader(path).run(); }

std::unique_ptr<Hdf5Values> open_values(const std::string& path) {
  return std::make_unique<OpenValues>(path);
}

}  // namespace forebay::netcdf4
