#include "handles.h"

#include <algorithm>
#include <iterator>

namespace forebay_test {
namespace {

herr_t add_message(unsigned, const H5E_error2_t* entry, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (!text.empty()) text += " <- ";
  text += entry->desc ? entry->desc : "?";
  return 0;
}

std::string fault;

// Other calls fail with right arguments, too: a name is taken or gone, an extent has a bound.
constexpr const char* kMustWork[] = {"H5Aread",     "H5Awrite",           "H5Dread",   "H5Dwrite",
                                     "H5Dopen2",    "H5Fcreate",          "H5Fopen",   "H5Fflush",
                                     "H5Fclose",    "H5Aiterate2",        "H5Ovisit3", "H5Lvisit2",
                                     "H5Gget_info", "H5Sselect_hyperslab"};

}  // namespace

void note_fault(const std::string& what, const std::string& messages) {
  if (fault.empty() && std::ranges::find(kMustWork, what) != std::end(kMustWork)) {
    fault = what + ": " + messages;
  }
}

std::string take_fault() { return std::exchange(fault, {}); }

std::string take_errors() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, add_message, &text);
  H5Eclear2(H5E_DEFAULT);
  return text;
}

Id copy_type(hid_t type) { return {H5Tcopy(type), H5Tclose, "H5Tcopy"}; }
Id copy_space(hid_t space) { return {H5Scopy(space), H5Sclose, "H5Scopy"}; }
Id make_list(hid_t list_class) { return {H5Pcreate(list_class), H5Pclose, "H5Pcreate"}; }

Id simple_space(const std::vector<hsize_t>& dims, const hsize_t* most) {
  if (dims.empty()) return {H5Screate(H5S_SCALAR), H5Sclose, "H5Screate"};
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most), H5Sclose,
          "H5Screate_simple"};
}

std::vector<hsize_t> extent_of(hid_t space) {
  std::vector<hsize_t> dims(
      static_cast<size_t>(check(H5Sget_simple_extent_ndims(space), "H5Sget_simple_extent_ndims")));
  if (!dims.empty()) {
    check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "H5Sget_simple_extent_dims");
  }
  return dims;
}

Id open_object(hid_t location, const std::string& path) {
  return {H5Oopen(location, path.c_str(), H5P_DEFAULT), H5Oclose, "H5Oopen " + path};
}

}  // namespace forebay_test
