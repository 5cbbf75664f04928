#include "hdf5/files/hdf5_schema.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text_table.h"
#include "hdf5/files/attributes.h"

namespace forebay {
namespace {

constexpr const char* no_coordinate_prefix = "_nc4_non_coord_";

// "/a/b" → "a/b/"; "/" → ""
std::string prefix_of(const std::string& group) {
  return group == "/" ? "" : group.substr(1) + "/";
}

// A dimension before it is in the schema.
struct Dim {
  std::string group, name;
  Count length = 0;
  bool unlimited = false;
  int number = -1;      // _Netcdf4Dimid
  bool used = false;    // by a variable that is kept
  bool leading = true;  // it is the first dimension wherever it is used
};

// A dataset that becomes a variable.
struct Draft {
  Variable var;
  Hdf5Variable place;
  std::string group;
  std::vector<Count> most;                         // -1: unlimited
  std::optional<std::size_t> own;                  // the dimension of which it is the scale
  std::vector<int> numbers;                        // _Netcdf4Coordinates
  std::vector<std::optional<Hdf5Address>> scales;  // DIMENSION_LIST
  std::vector<std::size_t> dims;                   // resolved
};

// -- filters --------------------------------------------------------------------------------------

std::string filter_name(H5Z_filter_t filter, unsigned level) {
  constexpr std::pair<H5Z_filter_t, const char*> names[] = {
      {H5Z_FILTER_SHUFFLE, "shuffle"},
      {H5Z_FILTER_FLETCHER32, "fletcher32"},
      {H5Z_FILTER_SZIP, "szip"},
      {H5Z_FILTER_NBIT, "nbit"},
      {H5Z_FILTER_SCALEOFFSET, "scaleoffset"}};
  constexpr H5Z_filter_t zstd = 32015;  // registered with The HDF Group
  if (filter == H5Z_FILTER_DEFLATE) return "deflate:" + std::to_string(level);
  if (filter == zstd) return "zstd:" + std::to_string(level);
  for (const auto& [known, name] : names)
    if (known == filter) return name;
  return "filter-" + std::to_string(filter);
}

// Reads chunk shape and filters. Filters that Forebay has as codecs are kept as such, for outputs
// with the input's codec.
void read_storage(hid_t creation, Draft& draft) {
  draft.place.filters = "none";
  Chunking chunking;
  chunking.shape = chunk_shape_of(creation, draft.place.extents.size());
  if (chunking.shape.empty()) return;
  std::string all, codec;
  const int filters = std::max(0, H5Pget_nfilters(creation));
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, parameter[8] = {}, config = 0;
    std::size_t parameters = std::size(parameter);
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags,
                                               &parameters, parameter, 0, nullptr, &config);
    if (filter < 0) continue;
    const std::string name = filter_name(filter, parameter[0]);
    all += (all.empty() ? "" : ",") + name;
    const bool known = filter == H5Z_FILTER_SHUFFLE ||
                       (filter == H5Z_FILTER_DEFLATE && parameter[0] >= 1 && parameter[0] <= 9);
    if (known) codec += (codec.empty() ? "" : ",") + name;
  }
  if (!all.empty()) draft.place.filters = all;
  // Shuffle alone does not compress.
  if (codec.find("deflate") != std::string::npos) chunking.codec = codec;
  draft.var.chunking = std::move(chunking);
}

// -- conventions ----------------------------------------------------------------------------------

std::vector<std::optional<Hdf5Address>> read_scales(hid_t dataset, std::size_t rank) {
  std::vector<std::optional<Hdf5Address>> scales;
  if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return scales;
  const Hdf5Id attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT));
  if (!attribute.valid()) return scales;
  const Hdf5Id type(H5Aget_type(attribute)), space(H5Aget_space(attribute));
  if (!type.valid() || !space.valid() || H5Tget_class(type) != H5T_VLEN) return scales;
  const Hdf5Id element(H5Tget_super(type));
  const bool fits = element.valid() && H5Tequal(element, H5T_STD_REF_OBJ) > 0 &&
                    H5Sget_simple_extent_npoints(space) == static_cast<hssize_t>(rank);
  if (!fits) return scales;
  const Hdf5Id memory = owned(H5Tvlen_create(H5T_STD_REF_OBJ), "a type");
  std::vector<hvl_t> lists(rank);
  if (H5Aread(attribute, memory, lists.data()) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return scales;
  }
  for (const hvl_t& list : lists) {
    scales.emplace_back();
    if (list.len == 0 || list.p == nullptr) continue;
    const Hdf5Id scale(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list.p));
    if (scale.valid()) scales.back() = object_of(scale).address;
  }
  H5Dvlen_reclaim(memory, space, H5P_DEFAULT, lists.data());
  return scales;
}

class ContentsReader {
 public:
  ContentsReader(hid_t file, const Hdf5View& view, std::string group, Strings strings)
      : file_(file), view_(view), only_(std::move(group)), strings_(strings) {}

  Hdf5Contents run() {
    const Hdf5Id root = owned(H5Gopen2(file_, "/", H5P_DEFAULT), "the root group");
    contents_.netcdf = H5Aexists(root, "_NCProperties") > 0;
    contents_.classic_model = H5Aexists(root, "_nc3_strict") > 0;
    visit(root, "/");
    if (!only_.empty() && !found_group_)
      throw Error(Errc::enogrp, "there is no group \"" + printable(only_) + "\"", group_names());
    order_dims();
    for (Draft& draft : drafts_) resolve(draft);
    if (!only_.empty()) drop_unused();
    define();
    return std::move(contents_);
  }

 private:
  bool keeps(const std::string& group) const { return only_.empty() || only_ == group; }

  // Dimensions of groups above the chosen one may be used in it.
  bool may_lend(const std::string& group) const {
    return only_.empty() || only_ == group || group == "/" || only_.starts_with(group + "/");
  }

  std::string shown(const std::string& group, const std::string& name) const {
    return (only_.empty() ? prefix_of(group) : "") + name;
  }

  std::string group_names() const {
    std::string text = "it has: /";
    for (const std::string& name : all_groups_) text += ", " + printable(name);
    return text;
  }

  void leave_out(const std::string& group, const std::string& name, const std::string& why) {
    if (keeps(group)) contents_.left_out.push_back({prefix_of(group) + name, why});
  }

  void visit(hid_t group, const std::string& path) {
    if (!seen_.insert(object_of(group).address).second) return;
    found_group_ = found_group_ || path == only_;
    if (path != "/") all_groups_.push_back(path);
    if (keeps(path)) {
      const bool top = path == "/" || !only_.empty();
      const int owner = top ? global_id : group_owner(contents_.groups.size());
      AttributeList list = attributes(group, path, "", owner);
      if (top) {
        contents_.schema.attributes = std::move(list);
      } else {
        contents_.groups.push_back({path.substr(1), std::move(list)});
      }
    }
    // Datasets come first, as ncdump prints them, then groups.
    std::vector<std::string> groups;
    for (const Hdf5Link& link : links_of(group)) {
      if (!view_.hides_link(path, link.name)) visit_link(group, path, link, groups);
    }
    for (const std::string& name : groups) {
      const Hdf5Id inner = owned(H5Gopen2(group, name.c_str(), H5P_DEFAULT), printable(name));
      if (seen_.contains(object_of(inner).address)) {
        leave_out(path, name, "a second name of a group");
      } else {
        visit(inner, joined_path(path, name));
      }
    }
  }

  void visit_link(hid_t group, const std::string& path, const Hdf5Link& link,
                  std::vector<std::string>& groups) {
    if (link.kind != H5L_TYPE_HARD) {
      leave_out(path, link.name, "a link to another place");
      return;
    }
    const Hdf5Id object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT));
    if (!object.valid()) throw_hdf5(printable(joined_path(path, link.name)) + " cannot be opened");
    const Hdf5Object known = object_of(object);
    if (known.kind == H5O_TYPE_GROUP) {
      groups.push_back(link.name);
    } else if (known.kind == H5O_TYPE_DATASET && may_lend(path)) {
      try {
        visit_dataset(object, known.address, path, link.name);
      } catch (const Error& error) {
        throw error.at(printable(prefix_of(path) + link.name));
      }
    }
  }

  // `owner` is a variable's name, empty for a group. `id` is as in StringList.
  AttributeList attributes(hid_t object, const std::string& group, const std::string& owner,
                           int id) {
    AttributeList list;
    const bool scale = !owner.empty() && is_scale(object), root = group == "/";
    for (const std::string& name : attribute_names(object)) {
      const bool kept_for_netcdf =
          owner.empty() ? root && is_reserved_in_root(name) : is_reserved_in_dataset(name, scale);
      if (kept_for_netcdf || view_.hides_attribute(object, name)) continue;
      ReadAttribute read = read_attribute(object, name);
      if (read.refused.empty()) {
        list.put(std::move(read.attribute));
      } else if (read.string_list && strings_ == Strings::given) {
        const auto position = static_cast<std::size_t>(list.size());
        contents_.string_lists.push_back({id, position, name, read_string_list(object, name)});
      } else {
        leave_out(group, owner + ":" + name, read.refused);
      }
    }
    return list;
  }

  void visit_dataset(hid_t dataset, const Hdf5Address& address, const std::string& group,
                     const std::string& name) {
    const Hdf5Id space = view_.space(dataset);
    const Extents extents = extents_of(space);
    Draft draft;
    draft.group = group;
    draft.place.path = joined_path(group, name);
    draft.place.extents = extents.now;
    draft.most = extents.most;
    if (!extents.now.empty() && is_scale(dataset)) {
      const int number = integer_attribute(dataset, "_Netcdf4Dimid").value_or(-1);
      contents_.netcdf = contents_.netcdf || number >= 0;
      draft.own = dims_.size();
      scale_of_.emplace(address, dims_.size());
      dims_.push_back({group, name, extents.now[0], extents.most[0] < 0, number});
      if (is_dimension_only(dataset)) return;
    }
    if (!keeps(group)) return;
    const Hdf5Id type = view_.type(dataset);
    ElementType element = element_type(type);
    if (!element.refused.empty() && strings_ == Strings::given) {
      draft.place.string = string_width(type);
      if (draft.place.string) element = {Type::chr, {}, {}};
    }
    if (extents.null) element.refused = "an empty dataset";
    if (!element.refused.empty()) {
      leave_out(group, name, element.refused);
      return;
    }
    draft.var.name = name;
    if (draft.var.name.starts_with(no_coordinate_prefix))
      draft.var.name.erase(0, std::strlen(no_coordinate_prefix));
    draft.var.type = element.type;
    draft.var.no_fill = false;
    draft.var.attributes = attributes(dataset, group, name, static_cast<int>(drafts_.size()));
    draft.numbers = integer_attribute_list(dataset, "_Netcdf4Coordinates");
    draft.scales = read_scales(dataset, extents.now.size());
    draft.place.stored_bytes = view_.stored_bytes(dataset);
    read_storage(view_.creation(dataset), draft);
    drafts_.push_back(std::move(draft));
  }

  // Sorts dimensions by number, if the file has numbers. The others follow in their order.
  void order_dims() {
    std::vector<std::size_t> order(dims_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto key = [&](std::size_t i) {
      return dims_[i].number < 0 ? std::numeric_limits<int>::max() : dims_[i].number;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    std::vector<std::size_t> place(order.size());
    std::vector<Dim> sorted;
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(dims_[order[i]]));
      if (sorted.back().number >= 0) by_number_.emplace(sorted.back().number, i);
    }
    dims_ = std::move(sorted);
    for (auto& [address, dim] : scale_of_) dim = place[dim];
    for (Draft& draft : drafts_)
      if (draft.own) draft.own = place[*draft.own];
  }

  // Returns whether a dimension can be the d-th of a dataset. An unlimited one is as long as its
  // longest dataset.
  bool fits(const Draft& draft, std::size_t d, std::size_t dim) const {
    return dims_[dim].unlimited ? draft.most[d] < 0 : dims_[dim].length == draft.place.extents[d];
  }

  std::optional<std::size_t> told(const Draft& draft, std::size_t d) const {
    if (draft.own && draft.place.extents.size() == 1) return draft.own;
    if (draft.numbers.size() == draft.place.extents.size()) {
      const auto found = by_number_.find(draft.numbers[d]);
      if (found != by_number_.end()) return found->second;
    }
    if (d < draft.scales.size() && draft.scales[d]) {
      const auto found = scale_of_.find(*draft.scales[d]);
      if (found != scale_of_.end()) return found->second;
    }
    if (draft.own && d == 0) return draft.own;
    return std::nullopt;
  }

  // Returns a dimension that is made up for a length. A dataset never gets the same one twice.
  std::size_t phony(const Draft& draft, std::size_t d) {
    const Count length = draft.place.extents[d];
    const bool unlimited = draft.most[d] < 0;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      const Dim& dim = dims_[i];
      const bool taken = std::find(draft.dims.begin(), draft.dims.end(), i) != draft.dims.end();
      if (dim.group == draft.group && dim.length == length && dim.unlimited == unlimited && !taken)
        return i;
    }
    const std::string name = "phony_dim_" + std::to_string(dims_.size());
    dims_.push_back({draft.group, name, length, unlimited});
    return dims_.size() - 1;
  }

  void resolve(Draft& draft) {
    for (std::size_t d = 0; d < draft.place.extents.size(); ++d) {
      const auto dim = told(draft, d);
      draft.dims.push_back(dim && fits(draft, d, *dim) ? *dim : phony(draft, d));
      Dim& chosen = dims_[draft.dims.back()];
      chosen.used = true;
      if (chosen.unlimited) chosen.length = std::max(chosen.length, draft.place.extents[d]);
      if (d > 0) chosen.leading = false;
    }
  }

  void drop_unused() {
    std::vector<std::size_t> place(dims_.size());
    std::vector<Dim> kept;
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      place[i] = kept.size();
      if (dims_[i].used || dims_[i].group == only_) kept.push_back(dims_[i]);
    }
    dims_ = std::move(kept);
    for (Draft& draft : drafts_)
      for (std::size_t& dim : draft.dims) dim = place[dim];
  }

  void define() {
    Schema& schema = contents_.schema;
    schema.version = 5;
    bool has_records = false;
    for (const Dim& dim : dims_) {
      const bool record = dim.unlimited && dim.leading && !has_records;
      if (record) schema.numrecs = dim.length;
      has_records = has_records || record;
      const std::string name = shown(dim.group, dim.name);
      if (schema.find_dim(name))
        throw Error(Errc::enameinuse, "two dimensions are called " + printable(name),
                    "rename one of them first");
      schema.add_dim({name, record ? 0 : dim.length});
      contents_.lengths.push_back(dim.length);
      contents_.unlimited.push_back(dim.unlimited);
    }
    for (Draft& draft : drafts_) {
      for (const std::size_t dim : draft.dims) draft.var.dimids.push_back(static_cast<DimId>(dim));
      draft.var.name = shown(draft.group, draft.var.name);
      if (schema.find_var(draft.var.name))
        throw Error(Errc::enameinuse, "two variables are called " + printable(draft.var.name));
      schema.add_var(std::move(draft.var));
      Count bytes = draft.place.string.value_or(size_of(schema.vars.back().type));
      if (bytes == 0) bytes = sizeof(char*);
      for (const std::size_t dim : draft.dims)
        if (!multiply_fits(bytes, dims_[dim].length, bytes))
          throw Error(Errc::evarsize, "variable " + printable(schema.vars.back().name) +
                                          " is larger than 63 bits can tell");
      contents_.variables.push_back(std::move(draft.place));
    }
  }

  hid_t file_;
  const Hdf5View& view_;
  std::string only_;
  Strings strings_;
  Hdf5Contents contents_;
  std::set<Hdf5Address> seen_;  // groups
  std::vector<std::string> all_groups_;
  bool found_group_ = false;
  std::vector<Dim> dims_;
  std::vector<Draft> drafts_;
  std::map<Hdf5Address, std::size_t> scale_of_;
  std::map<int, std::size_t> by_number_;
};

}  // namespace

Hdf5Contents read_contents(hid_t file, const Hdf5View& view, const std::string& group,
                           Strings strings) {
  std::string path = group;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (!path.empty() && !path.starts_with('/')) path = "/" + path;
  return ContentsReader(file, view, path, strings).run();
}

}  // namespace forebay
