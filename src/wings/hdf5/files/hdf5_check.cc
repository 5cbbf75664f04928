#include "hdf5/files/hdf5_check.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <tuple>

#include "base/attempt.h"
#include "base/error.h"
#include "base/text_table.h"
#include "files/source.h"
#include "hdf5/files/attributes.h"
#include "hdf5/files/hdf5_schema.h"
#include "hdf5/files/view.h"

namespace forebay {

namespace {

constexpr const char* structure = "structure";
constexpr const char* values = "values";
constexpr const char* objects = "objects";

class Checker {
 public:
  Checker(const Hdf5View& view, bool values, const NamePart& name_part)
      : view_(view), values_(values), name_part_(name_part) {}

  void visit(hid_t group, const std::string& path) {
    if (!seen_.insert(object_of(group).address).second) return;
    for (const Hdf5Link& link : links_of(group)) {
      if (link.kind != H5L_TYPE_HARD || view_.hides_link(path, link.name)) continue;
      const std::string name = joined_path(path, link.name);
      name_part_(printable(name));
      try {
        visit_object(group, link.name, name);
      } catch (const Error& error) {
        faults_.push_back(printable(name) + ": " + error.message());
      }
    }
  }

  std::vector<std::string> faults_;
  Hdf5Checked checked_;

 private:
  void visit_object(hid_t group, const std::string& link, const std::string& path) {
    const Hdf5Id object = owned(H5Oopen(group, link.c_str(), H5P_DEFAULT), "cannot be opened");
    const Hdf5Object known = object_of(object);
    for (const std::string& name : attribute_names(object))
      owned(H5Aopen(object, name.c_str(), H5P_DEFAULT), "attribute " + printable(name));
    if (known.kind == H5O_TYPE_GROUP) {
      visit(object, path);
    } else if (known.kind == H5O_TYPE_DATASET && seen_.insert(known.address).second) {
      ++checked_.datasets;
      const Extents extents = extents_of(view_.space(object));
      view_.stored_bytes(object);  // looks at all chunks
      // A dimension without a coordinate variable has no values.
      if (values_ && !extents.null && !is_dimension_only(object)) read_all(object, extents.now);
    }
  }

  static bool has_checksums(hid_t creation) {
    for (int i = 0; i < std::max(0, H5Pget_nfilters(creation)); ++i) {
      unsigned flags = 0, config = 0;
      std::size_t values = 0;
      if (H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr,
                         &config) == H5Z_FILTER_FLETCHER32)
        return true;
    }
    return false;
  }

  void read_all(hid_t dataset, const std::vector<Count>& extents) {
    constexpr Count block_bytes = 8 << 20;
    const Hdf5Id type = view_.type(dataset);
    const Hdf5Id memory = owned(H5Tget_native_type(type, H5T_DIR_DEFAULT), "its type");
    const bool varying = H5Tdetect_class(memory, H5T_VLEN) > 0 || H5Tis_variable_str(memory) > 0;
    const Hdf5Id creation = view_.creation(dataset);
    const bool summed = has_checksums(creation);
    const Blocks blocks(extents, chunk_shape_of(creation, extents.size()),
                        static_cast<Count>(H5Tget_size(memory)), block_bytes);
    std::vector<std::byte> values;
    for (Count b = 0; b < blocks.size(); ++b) {
      const Subarray part = blocks[b];
      values.assign(static_cast<std::size_t>(part.elements()) * H5Tget_size(memory), std::byte{0});
      view_.read(dataset, memory, part, values.data());
      checked_.bytes += std::ssize(values);
      if (summed) checked_.with_checksums += std::ssize(values);
      if (!varying) continue;
      const Hdf5Id space = simple_space(part.count);
      H5Dvlen_reclaim(memory, space, H5P_DEFAULT, values.data());
    }
  }

  const Hdf5View& view_;
  bool values_;
  const NamePart& name_part_;
  std::set<Hdf5Address> seen_;
};

struct Checked {
  std::vector<std::string> faults;
  Hdf5Checked looked_at;
};

Checked check_here(const std::string& path, bool with_values, const NamePart& name_part) {
  const Hdf5Id file = open_hdf5_file(path);
  const Hdf5Id root = owned(H5Gopen2(file, "/", H5P_DEFAULT), printable(path));
  const std::unique_ptr<Hdf5View> view = make_view(file);
  Checker checker(*view, with_values, name_part);
  checker.visit(root, "/");
  return {std::move(checker.faults_), checker.checked_};
}

void read_structure_here(const std::string& path, const NamePart& name_part) {
  const Hdf5Id file = open_hdf5_file(path);
  naming(printable(path), [&] {
    const std::unique_ptr<Hdf5View> view = make_view(file);
    const Hdf5Id root = owned(H5Gopen2(file, "/", H5P_DEFAULT), "the root group");
    Checker(*view, false, name_part).visit(root, "/");
    name_part("the dimensions and attributes");
    read_contents(file, *view, {}, Strings::given);
  });
}

// An answer: the numbers, and faults that end with a NUL, which printable text does not have.
std::vector<std::byte> print(const Checked& checked) {
  std::vector<std::byte> bytes(sizeof checked.looked_at);
  std::memcpy(bytes.data(), &checked.looked_at, bytes.size());
  for (const std::string& fault : checked.faults) {
    const auto text = std::as_bytes(std::span(fault.c_str(), fault.size() + 1));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return bytes;
}

Checked parse(std::span<const std::byte> bytes) {
  Checked checked;
  if (bytes.size() < sizeof checked.looked_at)
    throw Error(Errc::ehdferr, "the companion of the HDF5 reader sent too little");
  std::memcpy(&checked.looked_at, bytes.data(), sizeof checked.looked_at);
  std::string fault;
  for (const std::byte byte : bytes.subspan(sizeof checked.looked_at)) {
    if (byte != std::byte{0}) {
      fault += static_cast<char>(byte);
      continue;
    }
    checked.faults.push_back(std::move(fault));
    fault.clear();
  }
  return checked;
}

CompanionCall call_for(const std::string& path, const char* what) {
  CompanionCall call;
  call.program = "forebay_hdf5_reader";
  call.path = path;
  call.arguments = {what};
  call.library = "HDF5";
  call.part = "the file's superblock";
  call.takes_its_time = what == values;
  return call;
}

}  // namespace

std::vector<std::string> check_hdf5(const std::string& path, bool with_values,
                                    Hdf5Checked& looked_at) {
  Checked checked;
  if (const auto answer = ask_companion(call_for(path, with_values ? values : objects)))
    checked = parse(*answer);
  else
    checked = check_here(path, with_values, [](const std::string&) {});
  looked_at = checked.looked_at;
  return std::move(checked.faults);
}

void try_hdf5_structure(const std::string& path) {
  if (is_companion()) return;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;  // opening it tells why
  const auto now =
      std::tuple(info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  static std::mutex mutex;
  static auto last = decltype(now)();
  const std::lock_guard lock(mutex);
  if (now == last) return;
  ask_companion(call_for(path, structure));
  last = now;
}

std::vector<std::byte> answer_about_hdf5(const std::vector<std::string>& words,
                                         const NamePart& name_part) {
  const std::string& path = words[0];
  const std::string what = words.size() > 1 ? words[1] : structure;
  if (what != structure) return print(check_here(path, what == values, name_part));
  read_structure_here(path, name_part);
  return {};
}

}  // namespace forebay
