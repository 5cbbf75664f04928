#include "backends/workload_metadata_hdf5.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace forebay::bench {
namespace {

constexpr std::size_t kTextLength = 48;
constexpr hsize_t kExtent[] = {4, 6};

std::string group_name(int g) { return "group_" + std::to_string(g); }
std::string attribute_name(int a) { return "attribute_" + std::to_string(a); }
std::string dataset_name(int d) { return "dataset_" + std::to_string(d); }

// Attributes alternate between text and one double.
bool is_text(int attribute) { return attribute % 2 == 0; }
std::array<char, kTextLength> text_of(int group, int attribute) {
  std::array<char, kTextLength> text{};
  std::snprintf(text.data(), text.size(), "group %d, remark %d", group, attribute);
  return text;
}
double number_of(int group, int attribute) { return group + attribute / 16.0; }

Hdf5Id text_type() {
  Hdf5Id type(H5Tcopy(H5T_C_S1), H5Tclose, "type of text");
  hdf5_check(H5Tset_size(type, kTextLength), "type of text");
  return type;
}

std::vector<Hdf5Id> create_groups(hid_t file, int count) {
  std::vector<Hdf5Id> groups;
  for (int g = 0; g < count; ++g) {
    groups.emplace_back(
        H5Gcreate2(file, group_name(g).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
        "group");
  }
  return groups;
}

void put_attributes(hid_t group, int number, int count) {
  const Hdf5Id scalar(H5Screate(H5S_SCALAR), H5Sclose, "space");
  const Hdf5Id text = text_type();
  for (int a = 0; a < count; ++a) {
    const hid_t type = is_text(a) ? static_cast<hid_t>(text) : H5T_NATIVE_DOUBLE;
    const Hdf5Id attribute(
        H5Acreate2(group, attribute_name(a).c_str(), type, scalar, H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose, "attribute");
    const auto words = text_of(number, a);
    const double value = number_of(number, a);
    hdf5_check(H5Awrite(attribute, type,
                        is_text(a) ? static_cast<const void*>(words.data())
                                   : static_cast<const void*>(&value)),
               "attribute");
  }
}

void create_datasets(hid_t group, int count) {
  const Hdf5Id space(H5Screate_simple(2, kExtent, nullptr), H5Sclose, "space");
  for (int d = 0; d < count; ++d) {
    Hdf5Id dataset(H5Dcreate2(group, dataset_name(d).c_str(), H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                              H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose, "dataset");
    dataset.close("close of a dataset");
  }
}

// Visits of H5Literate and H5Aiterate that gather names.
herr_t add_link(hid_t /*group*/, const char* name, const H5L_info2_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}
herr_t add_attribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

nlohmann::json MetadataHdf5Workload::parameters() const {
  return {{"groups", options_.groups},
          {"attributes", options_.attributes},
          {"datasets", options_.datasets}};
}

void MetadataHdf5Workload::write(const std::string& path, MPI_Info info, Phases& phases) {
  Hdf5Id file = hdf5_create_file(path, team_.comm, info, false);
  phases.mark("open");
  std::vector<Hdf5Id> groups = create_groups(file, options_.groups);
  phases.mark("groups");
  for (int g = 0; g < options_.groups; ++g) {
    put_attributes(groups[static_cast<std::size_t>(g)], g, options_.attributes);
  }
  phases.mark("attributes");
  for (const Hdf5Id& group : groups) create_datasets(group, options_.datasets);
  phases.mark("datasets");
  groups.clear();
  file.close("close");
  phases.mark("close");
}

void MetadataHdf5Workload::read(const std::string& path, MPI_Info info, Phases& phases) {
  Hdf5Id file = hdf5_open_file(path, team_.comm, info, false);
  phases.mark("open");
  std::vector<std::string> names;
  hdf5_check(H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_link, &names), "iterate");
  std::vector<Hdf5Id> groups;
  for (const std::string& name : names) {
    groups.emplace_back(H5Gopen2(file, name.c_str(), H5P_DEFAULT), H5Gclose, name);
  }
  found_.groups = static_cast<std::int64_t>(groups.size());
  phases.mark("groups");
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Names come in alphabetical order: the number stands behind the last underscore.
    read_attributes(groups[g], std::stoi(names[g].substr(names[g].rfind('_') + 1)));
  }
  phases.mark("attributes");
  for (const Hdf5Id& group : groups) look_at_datasets(group);
  phases.mark("datasets");
  groups.clear();
  file.close("close");
  phases.mark("close");
}

void MetadataHdf5Workload::read_attributes(hid_t group, int number) {
  std::vector<std::string> names;
  hdf5_check(H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &names),
             "iterate");
  const Hdf5Id text = text_type();
  for (const std::string& name : names) {
    const int a = std::stoi(name.substr(name.rfind('_') + 1));
    const Hdf5Id attribute(H5Aopen(group, name.c_str(), H5P_DEFAULT), H5Aclose, name);
    if (is_text(a)) {
      std::array<char, kTextLength> words{};
      hdf5_check(H5Aread(attribute, text, words.data()), name);
      found_.wrong += words != text_of(number, a);
    } else {
      double value = 0;
      hdf5_check(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), name);
      found_.wrong += value != number_of(number, a);
    }
  }
  found_.attributes += static_cast<std::int64_t>(names.size());
}

void MetadataHdf5Workload::look_at_datasets(hid_t group) {
  for (int d = 0; d < options_.datasets; ++d) {
    const Hdf5Id dataset(H5Dopen2(group, dataset_name(d).c_str(), H5P_DEFAULT), H5Dclose,
                         "dataset");
    const Hdf5Id type(H5Dget_type(dataset), H5Tclose, "type");
    const Hdf5Id space(H5Dget_space(dataset), H5Sclose, "space");
    std::array<hsize_t, 2> extent{};
    const bool flat = H5Sget_simple_extent_ndims(space) == 2 &&
                      H5Sget_simple_extent_dims(space, extent.data(), nullptr) == 2;
    const bool same = flat && extent[0] == kExtent[0] && extent[1] == kExtent[1] &&
                      H5Tequal(type, H5T_NATIVE_FLOAT) > 0;
    found_.wrong += !same;
    ++found_.datasets;
  }
}

std::int64_t MetadataHdf5Workload::verify() {
  const std::int64_t groups = options_.groups;
  return found_.wrong + std::abs(groups - found_.groups) +
         std::abs(groups * options_.attributes - found_.attributes) +
         std::abs(groups * options_.datasets - found_.datasets);
}

}  // namespace forebay::bench
