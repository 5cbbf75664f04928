// A class of Python that reads through a forebay::Source (files/source.h), for each format that has
// one. Strings are given, which the command leaves out.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "files/source.h"
#include "support.h"

namespace forebay::python {

inline constexpr int string_type = 12;  // netCDF's NC_STRING, for lists of strings

/// One of the process around all calls that read: HDF5's serial library lets one thread in at a
/// time, if it is safe for threads at all, and so does a Source. Never destroyed: files may be
/// closed while the process ends. Nobody who holds it waits for the interpreter's lock.
inline std::mutex& source_lock() {
  static auto* const lock = new std::mutex;
  return *lock;
}

/// What tells that a file was written to or replaced; of a BP directory its index of steps.
struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = -1;
  timespec modified{};

  explicit Stamp(const std::string& path) {
    struct stat status {};
    if (::stat((path + "/md.idx").c_str(), &status) != 0 && ::stat(path.c_str(), &status) != 0)
      return;
    device = status.st_dev;
    inode = status.st_ino;
    size = status.st_size;
    modified = status.st_mtim;
  }
  bool operator==(const Stamp& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           modified.tv_sec == other.modified.tv_sec && modified.tv_nsec == other.modified.tv_nsec;
  }
};

using Shared = std::shared_ptr<const Source>;

using OpenSource = std::unique_ptr<Source> (*)(const std::string& path);

/// Opens a file under the lock, and has it closed under the lock, by whichever thread is last.
inline Shared open_shared(OpenSource open, const std::string& path) {
  const std::lock_guard lock(source_lock());
  auto source = open(path);
  return {source.release(), [](const Source* last) {
            const std::lock_guard closing(source_lock());
            delete last;
          }};
}

/// An open file. All functions may be called by several threads at once.
template <OpenSource Open>
class SourceReader {
 public:
  explicit SourceReader(const std::string& path) : stamp_(path), file_(open_shared(Open, path)) {}
  ~SourceReader() { close(); }
  SourceReader(const SourceReader&) = delete;
  SourceReader& operator=(const SourceReader&) = delete;

  /// Errc::einval once the file is closed (Python's own classes say so before).
  Shared file() const {
    const std::lock_guard lock(mutex_);
    if (!file_) throw Error(Errc::einval, "the file is closed");
    return file_;
  }

  /// Called with the interpreter's lock, which is given up while another thread reads.
  void close() {
    const nb::gil_scoped_release unlocked;
    Shared last;
    const std::lock_guard lock(mutex_);
    last.swap(file_);
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return !file_;
  }

  bool changed(const Source& file) const { return !(Stamp(file.path()) == stamp_); }

 private:
  Stamp stamp_;  // as it was before it was opened
  mutable std::mutex mutex_;
  Shared file_;
};

/// (format, 0, [(dimension, length, unlimited)], [variable], [path of a group], [(name, why)]): as
/// _forebay.Reader has it, with names that are paths, each variable with the bytes of an element
/// (0: strings of varying length) behind it, and what cannot be read.
template <typename Reader>
nb::tuple describe_file(const Reader& self) {
  const Shared file = self.file();
  const Schema& schema = file->schema();
  nb::list dims, vars, groups, left_out;
  for (DimId d = 0; std::cmp_less(d, schema.dims.size()); ++d) {
    const Dimension& dim = schema.dims[static_cast<std::size_t>(d)];
    dims.append(nb::make_tuple(to_text(dim.name), file->length(d), file->unlimited(d)));
  }
  for (VarId v = 0; std::cmp_less(v, schema.vars.size()); ++v) {
    const nb::tuple variable = describe(schema.vars[static_cast<std::size_t>(v)]);
    vars.append(variable + nb::make_tuple(file->width(v)));
  }
  for (const SourceGroup& group : file->groups()) groups.append(to_text(group.path));
  for (const LeftOut& what : file->left_out())
    left_out.append(nb::make_tuple(to_text(what.name), to_text(what.what)));
  return nb::make_tuple(file->format(), 0, dims, vars, groups, left_out);
}

inline const AttributeList& attributes_of(const Source& file, int owner) {
  const auto& groups = file.groups();
  const int group = group_owner(0) - owner;
  if (group >= 0 && std::cmp_less(group, groups.size()))
    return groups[static_cast<std::size_t>(group)].attributes;
  if (owner != global_id && (owner < 0 || std::cmp_greater_equal(owner, file.schema().vars.size())))
    throw Error(Errc::enotvar, "there is no variable or group " + std::to_string(owner));
  return file.schema().attributes_of(owner);
}

// A value as h5py gives it: bytes that are not UTF-8 come back when it is encoded so.
inline nb::object string_value(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

/// As _forebay.Reader has it; lists of strings with the type 12.
template <typename Reader>
nb::list attributes(const Reader& self, int owner) {
  const Shared file = self.file();
  nb::list list = describe_attributes(attributes_of(*file, owner));
  std::size_t before = 0;
  for (const StringList& strings : file->string_lists()) {
    if (strings.owner != owner) continue;
    nb::list values;
    for (const std::string& value : strings.values) values.append(string_value(value));
    list.insert(static_cast<Py_ssize_t>(strings.position + before),
                nb::make_tuple(to_text(strings.name), string_type, values));
    ++before;
  }
  return list;
}

/// Runs `read` with the file, without the interpreter's lock and under the other. True, with
/// `check`, if the file was written to since it was opened, which also explains a failure.
template <typename Reader, typename Read>
bool run(const Reader& self, VarId var, bool check, Read&& read) {
  const Shared file = self.file();
  if (var < 0 || std::cmp_greater_equal(var, file->schema().vars.size()))
    throw Error(Errc::enotvar, "there is no variable " + std::to_string(var));
  const nb::gil_scoped_release unlocked;
  std::optional<Error> failed;
  {
    const std::lock_guard lock(source_lock());
    try {
      read(*file);
    } catch (const Error& error) {
      failed = error;
    }
  }
  if (check && self.changed(*file)) return true;
  if (failed) throw *failed;
  return false;
}

/// As _forebay.Reader::read; one thread reads, whatever `threads` says.
template <typename Reader>
bool read_values(const Reader& self, VarId var, std::vector<Count> start, std::vector<Count> count,
                 std::vector<Count> stride, nb::handle out, int /*threads*/, bool check) {
  const Subarray selection = to_subarray(std::move(start), std::move(count), std::move(stride));
  const Buffer memory(out, true);
  return run(self, var, check, [&](const Source& file) {
    check_size(file.schema().vars[static_cast<std::size_t>(var)], selection.elements(),
               static_cast<int>(file.width(var)), memory.bytes().size());
    file.read(var, selection, memory.bytes().data());
  });
}

/// (changed, [str]) of a variable of strings of varying length.
template <typename Reader>
nb::tuple read_strings(const Reader& self, VarId var, std::vector<Count> start,
                       std::vector<Count> count, std::vector<Count> stride, bool check) {
  const Subarray selection = to_subarray(std::move(start), std::move(count), std::move(stride));
  std::vector<std::string> values;
  const bool changed = run(self, var, check,
                           [&](const Source& file) { values = file.read_strings(var, selection); });
  nb::list list;
  for (const std::string& value : values) list.append(string_value(value));
  return nb::make_tuple(changed, list);
}

/// As _forebay.Reader has it. HDF5 stores chunks at the edge whole.
template <typename Reader>
nb::tuple stored_chunks(const Reader& self, VarId var) {
  ChunkRows chunks;
  Count raw_bytes = 0;
  run(self, var, false, [&](const Source& file) {
    Count chunk_bytes = file.width(var);
    if (const auto& chunking = file.schema().vars[static_cast<std::size_t>(var)].chunking)
      for (const Count length : chunking->shape) chunk_bytes *= length;
    file.each_stored_chunk(var, [&](const ChunkPlace& one) {
      chunks.add(one);
      raw_bytes += chunk_bytes;
    });
  });
  return nb::make_tuple(chunks.rows(), raw_bytes);
}

/// Adds the class to a module.
template <OpenSource Open>
void bind_source_reader(nb::module_& module, const char* name) {
  using Reader = SourceReader<Open>;
  nb::class_<Reader>(module, name)
      .def("__init__", construct<Reader>, nb::arg("path"))
      .def("describe", describe_file<Reader>)
      .def("attributes", attributes<Reader>, nb::arg("owner"))
      .def("read", read_values<Reader>, nb::arg("var"), nb::arg("start"), nb::arg("count"),
           nb::arg("stride"), nb::arg("out"), nb::arg("threads"), nb::arg("check"))
      .def("read_strings", read_strings<Reader>, nb::arg("var"), nb::arg("start"), nb::arg("count"),
           nb::arg("stride"), nb::arg("check"))
      .def("stored_chunks", stored_chunks<Reader>, nb::arg("var"))
      .def("changed", [](const Reader& r) { return r.changed(*r.file()); })
      .def("close", &Reader::close)
      .def_prop_ro("closed", &Reader::closed);
}

}  // namespace forebay::python
