#include "hdf5/connector/virtual_sources.h"

#include <cstdlib>
#include <filesystem>

#include "hdf5/connector/errors.h"
#include "hdf5/connector/hooks.h"
#include "hdf5/connector/under_objects.h"

namespace forebay::vol {
namespace {

namespace fs = std::filesystem;

constexpr int deepest = 16;  // virtual datasets may refer to each other in a circle

constexpr const char* asking = "asking for the sources of a virtual dataset";

/// Returns the place where HDF5 finds a source, in its search order; empty if there is none.
std::string find_source(const std::string& name, const std::string& main, std::string prefix) {
  const fs::path folder = fs::absolute(main).parent_path();
  constexpr std::string_view origin = "${ORIGIN}";
  if (prefix.starts_with(origin)) prefix.replace(0, origin.size(), folder.string());
  const fs::path last = fs::path(name).is_absolute() ? fs::path(name).filename() : fs::path(name);
  std::vector<fs::path> places{folder / last, last};
  if (!prefix.empty()) places.insert(places.begin(), prefix / last);
  if (fs::path(name).is_absolute()) places.insert(places.begin(), name);
  std::error_code ignored;
  for (const fs::path& place : places)
    if (fs::exists(place, ignored)) return place.string();
  return {};
}

/// Opens a file with HDF5's own connector. Returns none if that fails; HDF5 then takes it as
/// missing, too.
Hdf5Id open_natively(const std::string& path) {
  const QuietErrors quiet;
  const Hdf5Id fapl = owned_list(H5Pcreate(H5P_FILE_ACCESS));
  checked(H5Pset_vol(fapl, H5VL_NATIVE, nullptr), "choosing the native connector");
  // HDF5 needs the same degree for all handles of a file.
  for (const auto degree : {H5F_CLOSE_DEFAULT, H5F_CLOSE_STRONG, H5F_CLOSE_WEAK, H5F_CLOSE_SEMI}) {
    checked(H5Pset_fclose_degree(fapl, degree), "choosing how a file is closed");
    Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, fapl));
    if (file.valid()) return file;
  }
  return {};
}

/// Returns the name of block n of a numbered source ("%b"; "%%" is a percent sign).
std::string numbered(const std::string& name, int n) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = name[i] == '%' && i + 1 < name.size() ? name[++i] : '\0';
    if (next == 'b')
      text += std::to_string(n);
    else
      text += name[i];
  }
  return text;
}

}  // namespace

VirtualSources::VirtualSources(const UnderObject& dataset, int depth)
    : dataset_(dataset), depth_(depth), dcpl_(creation_list(dataset)) {
  virtual_ = H5Pget_layout(dcpl_) == H5D_VIRTUAL && depth < deepest;
  if (!virtual_) return;
  main_ = file_name_of(dataset);
  if (const char* prefix = std::getenv("HDF5_VDS_PREFIX")) {
    prefix_ = prefix;
    return;
  }
  const Hdf5Id dapl = access_list(dataset);
  prefix_ = hdf5_text(
      [&](char* to, std::size_t size) { return H5Pget_virtual_prefix(dapl, to, size); }, asking);
}

bool is_virtual(const UnderObject& dataset) {
  return H5Pget_layout(creation_list(dataset)) == H5D_VIRTUAL;
}

void VirtualSources::check() {
  if (!virtual_) return;
  std::size_t mappings = 0;
  checked(H5Pget_virtual_count(dcpl_, &mappings), "counting the sources of a virtual dataset");
  for (std::size_t n = 0; n < mappings; ++n)
    check_numbered(
        hdf5_text(
            [&](char* to, std::size_t size) { return H5Pget_virtual_filename(dcpl_, n, to, size); },
            asking),
        hdf5_text(
            [&](char* to, std::size_t size) { return H5Pget_virtual_dsetname(dcpl_, n, to, size); },
            asking));
}

void VirtualSources::check_numbered(const std::string& file, const std::string& name) {
  if (numbered(file, 0) == numbered(file, 1) && numbered(name, 0) == numbered(name, 1)) {
    check_source(numbered(file, 0), numbered(name, 0));
    return;
  }
  for (int n = 0; check_source(numbered(file, n), numbered(name, n)); ++n) {
  }
}

void VirtualSources::check_opened(const UnderObject& source, const std::string& file,
                                  const std::string& name) {
  if (is_logged(source, H5P_DATASET_XFER_DEFAULT))
    throw Error(Errc::enotsupport,
                "a virtual dataset has the dataset " + name + " of " + file +
                    " for a source, which is in a log, where HDF5 cannot read it",
                "convert that file: forebay convert IN OUT --to hdf5, or write it with "
                "layout=canonical");
  VirtualSources(source, depth_ + 1).check();
}

bool VirtualSources::check_source(const std::string& file, const std::string& name) {
  if (fine_.contains({file, name})) return true;
  const std::string path = "/" + name;
  if (file == ".") {
    const OwnedUnder source = open_quietly(dataset_, name_location(dataset_.type, path.c_str()));
    if (!source || source.get().type != H5I_DATASET) return false;
    check_opened(source.get(), main_, name);
  } else {
    const std::string found = find_source(file, main_, prefix_);
    if (found.empty()) return false;
    const Hdf5Id opened = open_natively(found);
    if (!opened.valid()) return false;
    Hdf5Id source;
    {
      const QuietErrors quiet;
      source = Hdf5Id(H5Dopen2(opened, path.c_str(), H5P_DEFAULT));
      if (!source.valid()) return false;
    }
    check_opened({H5VLobject(source), H5VL_NATIVE, H5I_DATASET}, found, name);
  }
  fine_.insert({file, name});
  return true;
}

}  // namespace forebay::vol
