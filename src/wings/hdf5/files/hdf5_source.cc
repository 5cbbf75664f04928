#include "hdf5/files/hdf5_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/error.h"
#include "base/fill_elements.h"
#include "base/text_table.h"
#include "files/open_source.h"
#include "hdf5/files/attributes.h"
#include "hdf5/files/hdf5_chunks.h"
#include "hdf5/files/hdf5_schema.h"
#include "hdf5/files/view.h"

namespace forebay {
namespace {

constexpr std::size_t chunk_cache_bytes = 64 << 20;
constexpr std::size_t chunk_cache_slots = 12289;  // a prime, many times the chunks that fit

class Hdf5Source final : public Source {
 public:
  Hdf5Source(std::string path, const std::string& group, Strings strings)
      : path_(std::move(path)), file_(open_hdf5_file(path_)), view_(make_view(file_)) {
    naming(printable(path_), [&] { contents_ = read_contents(file_, *view_, group, strings); });
  }

  const std::string& path() const override { return path_; }
  std::string format() const override {
    const std::string base = contents_.netcdf ? "netCDF-4" : "HDF5";
    return view_->name().empty() ? base : base + ", " + view_->name();
  }
  const Schema& schema() const override { return contents_.schema; }
  Count length(DimId dim) const override { return contents_.lengths[index(dim)]; }
  bool unlimited(DimId dim) const override { return contents_.unlimited[index(dim)]; }
  const std::vector<SourceGroup>& groups() const override { return contents_.groups; }
  const std::vector<LeftOut>& left_out() const override { return contents_.left_out; }
  bool is_hdf5() const override { return true; }
  bool has_classic_model() const override { return contents_.classic_model; }
  std::string codec(VarId var) const override { return contents_.variables[index(var)].filters; }
  std::optional<Count> stored_bytes(VarId var) const override {
    return contents_.variables[index(var)].stored_bytes;
  }

  void each_stored_chunk(VarId id,
                         const std::function<void(const ChunkPlace&)>& visit) const override {
    start_hdf5();
    const Variable& var = contents_.schema.vars[index(id)];
    if (!view_->name().empty())
      throw Error(Errc::einval,
                  printable(path_) + ": variable " + printable(var.name) + " lies in a log",
                  "forebay convert makes a file with chunks of it");
    if (!var.chunking) return Source::each_stored_chunk(id, visit);
    const Hdf5Variable& known = contents_.variables[index(id)];
    try {
      const Hdf5Id dataset =
          owned(H5Dopen2(file_, known.path.c_str(), H5P_DEFAULT), "cannot be opened");
      each_chunk_of(dataset, var.chunking->shape, known.extents, visit);
    } catch (const Error& error) {
      throw error.reworded(printable(path_) + ": " + printable(var.name) + " " + error.message(),
                           error.advice());
    }
  }

  Count width(VarId var) const override {
    const auto& string = contents_.variables[index(var)].string;
    return string ? *string : size_of(contents_.schema.vars[index(var)].type);
  }
  const std::vector<StringList>& string_lists() const override { return contents_.string_lists; }

  std::vector<std::string> read_strings(VarId id, const Subarray& selection) const override {
    if (width(id) != 0) return Source::read_strings(id, selection);
    check(id, selection);
    OwnedTexts read(static_cast<std::size_t>(selection.elements()));
    read_elements(id, selection, read.texts.data());
    std::vector<std::string> values;
    values.reserve(read.texts.size());
    for (const char* text : read.texts) values.emplace_back(text == nullptr ? "" : text);
    return values;
  }

  void read(VarId id, const Subarray& selection, void* out) const override {
    if (width(id) == 0) {
      throw Error(Errc::einval, printable(path_) + ": strings of varying length have no width",
                  "read them as strings");
    }
    check(id, selection);
    read_elements(id, selection, out);
  }

 private:
  // Frees strings of varying length, which HDF5 allocates.
  struct OwnedTexts {
    explicit OwnedTexts(std::size_t n) : texts(n, nullptr) {}
    ~OwnedTexts() {
      for (char* text : texts) std::free(text);
    }
    OwnedTexts(const OwnedTexts&) = delete;
    OwnedTexts& operator=(const OwnedTexts&) = delete;
    std::vector<char*> texts;
  };

  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  // Returns the bytes of an element in memory.
  std::size_t element_bytes(VarId id) const {
    return width(id) == 0 ? sizeof(char*) : static_cast<std::size_t>(width(id));
  }

  // The selection must have been checked.
  void read_elements(VarId id, const Subarray& selection, void* out) const {
    start_hdf5();
    const Variable& var = contents_.schema.vars[index(id)];
    const Subarray there = present(contents_.variables[index(id)].extents, selection);
    try {
      if (there.elements() == selection.elements()) {
        read_present(id, there, out);
        return;
      }
      // The dataset is shorter than the unlimited dimension. The rest was never written.
      const std::size_t width = element_bytes(id);
      std::vector<std::byte> part(static_cast<std::size_t>(there.elements()) * width);
      read_present(id, there, part.data());
      if (contents_.variables[index(id)].string) {
        std::memset(out, 0, static_cast<std::size_t>(selection.elements()) * width);
      } else {
        fill(var, selection, out);
      }
      place(part, there, selection, width, static_cast<std::byte*>(out));
    } catch (const Error& error) {
      throw error.reworded(printable(path_) + ": " + printable(var.name) + " " + error.message(),
                           error.advice());
    }
  }

  void check(VarId id, const Subarray& selection) const {
    const std::vector<Count> lengths = shape(id);
    if (selection.start.size() != lengths.size() || fault_of(selection, lengths))
      throw Error(Errc::eedge, printable(path_) + ": a selection lies outside of variable " +
                                   printable(contents_.schema.vars[index(id)].name));
  }

  // Returns the part of a selection that the dataset has.
  static Subarray present(const std::vector<Count>& extents, const Subarray& selection) {
    Subarray part = selection;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const Count step = part.stride.empty() ? 1 : part.stride[d];
      const Count room = extents[d] - part.start[d];
      part.count[d] = room <= 0 ? 0 : std::min(part.count[d], (room + step - 1) / step);
    }
    return part;
  }

  // Keeps the last dataset open, with its cache of chunks.
  void read_present(VarId id, const Subarray& part, void* out) const {
    if (part.elements() == 0) return;
    if (opened_ != id) {
      const Hdf5Id access = owned(H5Pcreate(H5P_DATASET_ACCESS), "dataset access");
      checked(H5Pset_chunk_cache(access, chunk_cache_slots, chunk_cache_bytes, 1.0),
              "dataset access");
      opened_ = global_id;
      dataset_ = owned(H5Dopen2(file_, contents_.variables[index(id)].path.c_str(), access),
                       "cannot be opened");
      const Hdf5Id type = view_->type(dataset_);
      memory_ = contents_.variables[index(id)].string ? string_memory_type(type)
                                                      : element_type(type).memory;
      opened_ = id;
    }
    view_->read(dataset_, memory_, part, out);
  }

  static void fill(const Variable& var, const Subarray& selection, void* out) {
    const std::vector<std::byte> external = external_fill(var);
    std::vector<std::byte> value(external.size());
    from_external(var.type, external.data(), var.type, value.data(), 1, nullptr);
    const auto bytes = static_cast<std::size_t>(selection.elements()) * value.size();
    fill_elements({static_cast<std::byte*>(out), bytes}, value);
  }

  // Copies the rows of `part`, shaped like `there`, into a box shaped like `all`.
  static void place(const std::vector<std::byte>& part, const Subarray& there, const Subarray& all,
                    std::size_t width, std::byte* out) {
    if (part.empty()) return;
    const std::size_t n = there.count.size();
    const std::size_t row = static_cast<std::size_t>(there.count[n - 1]) * width;
    std::size_t from = 0;
    each_index({there.count.begin(), there.count.end() - 1}, [&](const std::vector<Count>& at) {
      const auto to = static_cast<std::size_t>(flat_index(all.count, at) * all.count[n - 1]);
      std::memcpy(out + to * width, part.data() + from, row);
      from += row;
    });
  }

  std::string path_;
  Hdf5Id file_;
  std::unique_ptr<Hdf5View> view_;
  Hdf5Contents contents_;
  mutable VarId opened_ = global_id;
  mutable Hdf5Id dataset_;
  mutable Hdf5Id memory_;
};

}  // namespace

extern const FormatEntry hdf5_format{"hdf5", true, is_hdf5_file, open_hdf5};

std::unique_ptr<Source> open_hdf5(const std::string& path, const std::string& group,
                                  Strings strings) {
  return std::make_unique<Hdf5Source>(path, group, strings);
}

}  // namespace forebay
