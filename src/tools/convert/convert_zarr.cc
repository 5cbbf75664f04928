// Writes Zarr stores in a conversion: version 2, with consolidated metadata, in a directory.
// Elements are little-endian. Codecs are zstd, zlib and shuffle. Each chunk is a file, padded with
// the fill value if it ends with a dimension. Groups of the source are groups of the store. Each
// rank writes its own chunks; rank 0 writes the rest.
#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "comm/agree.h"
#include "dataset/copying.h"
#include "files/zarr.h"
#include "method/method_values.h"
#include "tools/convert/convert_file.h"
#include "tools/convert/levels.h"

namespace forebay::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "chunks are written in native order");

namespace fs = std::filesystem;

// Returns the separator in chunk keys. OME-NGFF, for which groups are levels, needs folders.
char separator_of(const Source& source) { return source.groups().empty() ? '.' : '/'; }

// The storage of one variable.
struct Array {
  Variable var;  // has its chunking
  std::vector<Count> shape, chunks, grid;
  zarr::Coding coding;
  Pipeline pipeline;
  std::vector<std::byte> fill;  // native
  Count chunk_bytes = 0;
};

bool says_codec(const Method& method, const std::string& name) {
  return method.origin.contains("codec") || has_rule(method, name, "codec");
}

Array array_of(const Source& source, VarId id, const ConvertOptions& options) {
  Array array;
  array.var = source.schema().vars[static_cast<std::size_t>(id)];
  array.shape = source.shape(id);
  Variable plain = array.var;
  Count least = 0;
  if (options.method.origin.contains("chunk_bytes")) {
    plain.chunking.reset();
    least = options.method.chunk_bytes;
  }
  array.chunks = copied_chunk_shape(plain, least);
  std::string codec = array.var.chunking ? array.var.chunking->codec : "none";
  if (says_codec(options.method, array.var.name))
    codec = variable_value(options.method, array.var.name, "codec");
  array.pipeline = Pipeline::parse(codec).for_type(array.var.type);
  array.coding = zarr::coding_of(array.pipeline.text(), array.var.type, '<');
  if (!array.coding.refused.empty())
    throw Error(Errc::enotsupport, array.var.name + ": " + array.coding.refused,
                "give one that it can, for example --method codec=shuffle,zstd:3");
  array.chunk_bytes = size_of(array.var.type);
  for (std::size_t d = 0; d < array.chunks.size(); ++d) {
    array.chunks[d] = std::clamp<Count>(array.chunks[d], 1, std::max<Count>(array.shape[d], 1));
    array.grid.push_back((array.shape[d] + array.chunks[d] - 1) / array.chunks[d]);
    array.chunk_bytes *= array.chunks[d];
  }
  const std::vector<std::byte> external = external_fill(array.var);
  array.fill.resize(external.size());
  from_external(array.var.type, external.data(), array.var.type, array.fill.data(), 1, nullptr);
  array.var.chunking = Chunking{array.chunks, array.pipeline.text(), {}};
  return array;
}

// Calls f(place in the chunk, place in the box, count) for each row that a chunk and a box share.
// All three are in elements.
template <typename F>
void each_shared_row(const std::vector<Count>& chunk, const std::vector<Count>& first,
                     const Subarray& box, F&& f) {
  const std::size_t n = chunk.size();
  if (n == 0) return f(Count{0}, Count{0}, Count{1});
  std::vector<Count> low(n), high(n);
  for (std::size_t d = 0; d < n; ++d) {
    low[d] = std::max(first[d], box.start[d]);
    high[d] = std::min(first[d] + chunk[d], box.start[d] + box.count[d]);
    if (low[d] >= high[d]) return;
  }
  std::vector<Count> at = low;
  for (;;) {
    Count in_chunk = 0, in_box = 0;
    for (std::size_t d = 0; d < n; ++d) {
      in_chunk = in_chunk * chunk[d] + at[d] - first[d];
      in_box = in_box * box.count[d] + at[d] - box.start[d];
    }
    f(in_chunk, in_box, high[n - 1] - low[n - 1]);
    std::size_t d = n - 1;
    for (;;) {
      if (d == 0) return;
      --d;
      if (++at[d] < high[d]) break;
      at[d] = low[d];
    }
  }
}

// Calls f(coordinates in the grid) for each chunk that a box meets.
template <typename F>
void each_chunk(const Array& array, const Subarray& box, F&& f) {
  const std::size_t n = array.chunks.size();
  std::vector<Count> low(n), high(n);
  for (std::size_t d = 0; d < n; ++d) {
    if (box.count[d] == 0) return;
    low[d] = box.start[d] / array.chunks[d];
    high[d] = (box.start[d] + box.count[d] - 1) / array.chunks[d];
  }
  std::vector<Count> at = low;
  for (;;) {
    f(at);
    std::size_t d = n;
    for (;;) {
      if (d == 0) return;
      --d;
      if (++at[d] <= high[d]) break;
      at[d] = low[d];
    }
  }
}

std::vector<Count> first_of(const Array& array, const std::vector<Count>& coordinates) {
  std::vector<Count> first(coordinates.size());
  for (std::size_t d = 0; d < first.size(); ++d) first[d] = coordinates[d] * array.chunks[d];
  return first;
}

void save(const std::string& path, std::span<const std::byte> bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) throw system_error(errno, Errc::ecantcreate, "create", path);
  write_at(file.get(), 0, bytes, path);
  if (::fsync(file.get()) != 0 || ::close(file.release()) != 0)
    throw system_error(errno, Errc::ecantwrite, "write", path);
}

class ZarrOutput final : public Output {
 public:
  ZarrOutput(const Comm& comm, const Source& source, std::string path,
             const ConvertOptions& options)
      : comm_(comm), source_(source), path_(std::move(path)) {
    agree_on_error(comm_, attempt_to([&] {
                     for (std::size_t v = 0; v < source.schema().vars.size(); ++v)
                       arrays_.push_back(array_of(source, static_cast<VarId>(v), options));
                     if (comm_.is_root()) put_all_metadata();
                   }));
  }

  const Variable& variable(VarId var) const override { return array(var).var; }
  bool exact(VarId) const override { return true; }

  void write(std::span<Piece> pieces, const std::optional<Error>& failed, bool) override {
    agree_on_error(comm_, failed ? failed : attempt_to([&] { write_pieces(pieces); }));
  }

  void close() override {
    agree_on_error(comm_, attempt_to([&] {
                     if (!comm_.is_root()) return;
                     const std::string text =
                         "{\"metadata\":{" + metadata_ + "},\"zarr_consolidated_format\":1}";
                     save(path_ + "/.zmetadata", std::as_bytes(std::span(text)));
                   }));
  }

 private:
  void put_all_metadata() {
    std::error_code failed;
    fs::create_directory(path_, failed);
    if (failed) throw system_error(failed.value(), Errc::ecantcreate, "create", path_);
    const Schema& schema = source_.schema();
    put_group("", source_.groups().empty()
                      ? zarr::attributes_text(schema.attributes)
                      : zarr::attributes_text(schema.attributes,
                                              levels_of_build().zarr_attribute(source_)));
    for (const SourceGroup& group : source_.groups()) {
      fs::create_directory(path_ + "/" + group.path);
      put_group(group.path + "/", zarr::attributes_text(group.attributes));
    }
    for (const Array& array : arrays_) put_array(array);
  }

  void write_pieces(std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      if (piece.data.empty()) continue;
      each_chunk(array(piece.var), piece.box(),
                 [&](const std::vector<Count>& at) { write_chunk(array(piece.var), at, piece); });
    }
  }

  const Array& array(VarId var) const { return arrays_[static_cast<std::size_t>(var)]; }

  void put_group(const std::string& prefix, const std::string& attributes) {
    put_metadata(prefix + ".zgroup", R"({"zarr_format":2})");
    put_metadata(prefix + ".zattrs", attributes);
  }

  void put_array(const Array& array) {
    check_name(array.var.name);
    fs::create_directory(path_ + "/" + array.var.name);
    const bool own = own_fill_value(array.var, array.var.type) != nullptr;
    const zarr::Json fill =
        own ? zarr::fill_value(array.var.type, external_fill(array.var)) : zarr::Json();
    put_metadata(array.var.name + "/.zarray",
                 zarr::array_text(array.var, array.shape, array.chunks, array.coding, fill, '<',
                                  separator_of(source_)));
    put_metadata(array.var.name + "/.zattrs", zarr::attributes_text(source_.schema(), array.var));
  }

  // A variable becomes a folder inside its group's folder.
  void check_name(const std::string& name) const {
    const std::size_t slash = name.rfind('/');
    const auto& groups = source_.groups();
    const bool placed = slash == std::string::npos ||
                        std::any_of(groups.begin(), groups.end(), [&](const SourceGroup& group) {
                          return group.path == std::string_view(name).substr(0, slash);
                        });
    if (placed && name[slash + 1] != '.') return;  // npos + 1 is 0
    throw Error(Errc::ebadname, "variable \"" + name + "\" cannot be a folder of a Zarr store",
                "rename it first");
  }

  void put_metadata(const std::string& key, const std::string& text) {
    save(path_ + "/" + key, std::as_bytes(std::span(text)));
    metadata_ += (metadata_.empty() ? "" : ",") + zarr::printed(key) + ":" + text;
  }

  void write_chunk(const Array& array, const std::vector<Count>& at, const Piece& piece) {
    const auto width = static_cast<std::size_t>(size_of(array.var.type));
    chunk_.resize(static_cast<std::size_t>(array.chunk_bytes));
    for (std::size_t i = 0; i < chunk_.size(); i += width)
      std::memcpy(chunk_.data() + i, array.fill.data(), width);
    each_shared_row(array.chunks, first_of(array, at), piece.box(),
                    [&](Count in_chunk, Count in_box, Count n) {
                      std::memcpy(chunk_.data() + static_cast<std::size_t>(in_chunk) * width,
                                  piece.data.data() + static_cast<std::size_t>(in_box) * width,
                                  static_cast<std::size_t>(n) * width);
                    });
    const std::vector<std::byte> bytes = zarr::encode(
        array.coding, array.pipeline, {array.var.type, array.chunks}, chunk_, workspace_);
    const std::string path =
        path_ + "/" + array.var.name + "/" + zarr::chunk_key(at, separator_of(source_));
    if (separator_of(source_) == '/') fs::create_directories(fs::path(path).parent_path());
    save(path, std::as_bytes(std::span(bytes)));
  }

  const Comm& comm_;
  const Source& source_;
  std::string path_, metadata_;
  std::vector<Array> arrays_;
  std::vector<std::byte> chunk_;
  CodecWorkspace workspace_;
};

// Reads the output of ZarrOutput.
class ZarrSource final : public Source {
 public:
  ZarrSource(const Source& source, std::string path, const ConvertOptions& options)
      : source_(source), path_(std::move(path)), options_(options) {}
  const std::string& path() const override { return path_; }
  std::string format() const override { return "Zarr 2"; }
  const Schema& schema() const override { return source_.schema(); }

  void read(VarId var, const Subarray& selection, void* out) const override {
    const Array array = array_of(source_, var, options_);
    const auto width = static_cast<std::size_t>(size_of(array.var.type));
    each_chunk(array, selection, [&](const std::vector<Count>& at) {
      const std::vector<std::byte> chunk = load(array, at);
      each_shared_row(
          array.chunks, first_of(array, at), selection, [&](Count in_chunk, Count in_box, Count n) {
            std::memcpy(static_cast<std::byte*>(out) + static_cast<std::size_t>(in_box) * width,
                        chunk.data() + static_cast<std::size_t>(in_chunk) * width,
                        static_cast<std::size_t>(n) * width);
          });
    });
  }

 private:
  std::vector<std::byte> load(const Array& array, const std::vector<Count>& at) const {
    const std::string name =
        path_ + "/" + array.var.name + "/" + zarr::chunk_key(at, separator_of(source_));
    std::ifstream file(name, std::ios::binary);
    const std::string stored((std::istreambuf_iterator<char>(file)), {});
    if (!file) throw Error(Errc::ecantread, name + " cannot be read");
    std::vector<std::byte> raw(static_cast<std::size_t>(array.chunk_bytes));
    array.pipeline.decode({array.var.type, array.chunks}, std::as_bytes(std::span(stored)), 0, raw,
                          workspace_);
    return raw;
  }

  const Source& source_;
  std::string path_;
  const ConvertOptions& options_;
  mutable CodecWorkspace workspace_;
};

}  // namespace

std::unique_ptr<Output> create_zarr(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options) {
  return std::make_unique<ZarrOutput>(comm, source, path, options);
}

std::unique_ptr<Source> open_zarr(const Source& source, const std::string& path,
                                  const ConvertOptions& options) {
  return std::make_unique<ZarrSource>(source, path, options);
}

}  // namespace forebay::tools
