#include "files/references.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "array/chunk_grid.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/words.h"
#include "files/zarr.h"
#include "layout/chunked/file_chunks.h"
#include "layout/data_files.h"
#include "storage/directory.h"

namespace forebay {
namespace {

using Json = nlohmann::json;  // faster look-ups than zarr::Json

constexpr Count plain_chunk_bytes = 16 << 20;  // approximate size of parts of contiguous variables
constexpr Count slabs_memory = 256 << 20;      // to check whether slabs overlap

std::string base64(std::span<const std::byte> bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i)
      three = three << 8 | (at + i < bytes.size() ? static_cast<std::uint32_t>(bytes[at + i]) : 0);
    text += digits[three >> 18];
    text += digits[three >> 12 & 63];
    text += at + 1 < bytes.size() ? digits[three >> 6 & 63] : '=';
    text += at + 2 < bytes.size() ? digits[three & 63] : '=';
  }
  return text;
}

// Puts a box into the corner of a whole chunk of fill values.
std::vector<std::byte> padded(std::span<const std::byte> raw, const std::vector<Count>& extent,
                              const std::vector<Count>& shape, std::span<const std::byte> fill) {
  const std::size_t width = fill.size(), n = shape.size();
  Count elements = 1;
  for (const Count s : shape) elements *= s;
  std::vector<std::byte> out(static_cast<std::size_t>(elements) * width);
  for (std::size_t at = 0; at < out.size(); at += width)
    std::memcpy(out.data() + at, fill.data(), width);
  const auto row = static_cast<std::size_t>(extent.back()) * width;
  std::vector<Count> index(n, 0);
  for (std::size_t from = 0; from + row <= raw.size(); from += row) {
    Count to = 0;
    for (std::size_t d = 0; d < n; ++d) to = to * shape[d] + index[d];
    std::memcpy(out.data() + static_cast<std::size_t>(to) * width, raw.data() + from, row);
    for (std::size_t d = n - 1; d-- > 0;) {
      if (++index[d] < extent[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

// Makes the references of a file, variable by variable.
class Maker {
 public:
  Maker(const ClassicFile& file, const ReferenceOptions& options)
      : file_(file), options_(options), url_(options.url.empty() ? file.path() : options.url) {
    // A directory is known by its own name.
    const std::string header = directory::header_of({});
    if (file.path().ends_with(header) && !url_.ends_with(header)) url_ = directory::header_of(url_);
  }

  References run() {
    const Schema& schema = file_.schema();
    refs_[".zgroup"] = R"({"zarr_format":2})";
    refs_[".zattrs"] = zarr::attributes_text(schema.attributes);
    for (std::size_t v = 0; v < schema.vars.size(); ++v) {
      const auto id = static_cast<VarId>(v);
      const Variable& var = schema.vars[v];
      mine_ = Json::object();
      const Error* const refused = file_.refused(id);
      const std::string why = refused            ? refused->message()
                              : is_in_slabs(var) ? add_decomposed(id, var)
                              : var.chunking     ? add_chunked(id, var)
                              : file_.is_plain(id)
                                  ? add_plain(id, var)
                                  : "its values do not lie as a reference could say";
      if (!why.empty()) {
        result_.left_out.push_back(var.name + ": " + why);
        continue;
      }
      ++result_.variables;
      for (auto& [key, value] : mine_.items()) refs_[key] = std::move(value);
    }
    if (!result_.left_out.empty() && !options_.skip) refuse();
    const Json all = {{"version", 1}, {"refs", std::move(refs_)}};
    result_.json = all.dump(-1, ' ', false, Json::error_handler_t::replace);
    return std::move(result_);
  }

 private:
  bool is_in_slabs(const Variable& var) const {
    return file_.maps() != nullptr && file_.maps()->keeps(var);
  }

  [[noreturn]] void refuse() const {
    std::string text = file_.path() + ": not every variable can be referenced:";
    for (std::size_t i = 0; i < std::min<std::size_t>(result_.left_out.size(), 12); ++i)
      text += (i == 0 ? " " : "; ") + result_.left_out[i];
    if (result_.left_out.size() > 12) text += "; ...";
    throw Error(Errc::enotsupport, text,
                "leave them out with --skip, or convert the file to a codec that Zarr knows");
  }

  // Readers take fill values as "missing". So a variable only has one here if it has one in the
  // file. Otherwise chunks that were never written are put in.
  static zarr::Json fill_of(const Variable& var) {
    const bool own = own_fill_value(var, var.type) != nullptr;
    return own ? zarr::fill_value(var.type, external_fill(var)) : zarr::Json();
  }

  void add_metadata(const Variable& var, const std::vector<Count>& shape,
                    const std::vector<Count>& chunks, const zarr::Coding& coding) {
    // Zarr refuses chunks without elements.
    std::vector<Count> lengths = chunks;
    for (Count& n : lengths) n = std::max<Count>(n, 1);
    mine_[var.name + "/.zarray"] = zarr::array_text(var, shape, lengths, coding, fill_of(var), '>');
    mine_[var.name + "/.zattrs"] = zarr::attributes_text(file_.schema(), var);
  }

  void refer(const std::string& key, Offset offset, Count bytes, const std::string& file) {
    mine_[key] = Json::array({file, offset, bytes});
    ++result_.references;
  }

  // Cuts a fixed variable into contiguous parts, and a record variable into records. No part needs
  // padding.
  std::string add_plain(VarId id, const Variable& var) {
    const std::vector<Count> shape = file_.shape(id);
    if (end_of(file_.schema(), var) > file_.file_size())
      return "the file ends before its values do";
    std::vector<Count> chunks = shape;
    Count bytes = var.inner_bytes();
    std::size_t cut = 0;
    if (var.is_record) {
      chunks[0] = 1;
      cut = 1;
    }
    for (std::size_t d = cut; d < chunks.size() && bytes > plain_chunk_bytes; ++d) {
      const Count all = chunks[d];
      Count parts = std::min(all, (bytes + plain_chunk_bytes - 1) / plain_chunk_bytes);
      while (parts < all && all % parts != 0) ++parts;
      chunks[d] = all / parts;
      bytes /= parts;
      if (chunks[d] > 1) break;
    }
    add_metadata(var, shape, chunks, {});
    Count count = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
      count *= chunks[d] == 0 ? 0 : shape[d] / chunks[d];
    for (Count i = 0; i < count; ++i) {
      std::vector<Count> at(shape.size());
      Count rest = i;
      for (std::size_t d = shape.size(); d-- > 0;) {
        at[d] = rest % (shape[d] / chunks[d]);
        rest /= shape[d] / chunks[d];
      }
      const Count per_record = var.is_record ? count / shape[0] : count;
      const Offset begin = var.begin + i / per_record * file_.schema().recsize * var.is_record +
                           i % per_record * bytes;
      refer(var.name + "/" + zarr::chunk_key(at), begin, bytes, url_);
    }
    return {};
  }

  std::string add_chunked(VarId id, const Variable& var) {
    const FileChunks& chunks = *file_.chunks();
    if (const auto& refused = chunks.refused(id)) return refused->message();
    const chunked::VariableCoding& coding = chunks.coding(id);
    if (coding.parts() > 1) return "its chunks are hierarchies: convert the file";
    const zarr::Coding stored = zarr::coding_of(coding.pipeline.text(), var.type, '>');
    if (!stored.refused.empty()) return stored.refused;
    const std::vector<Count>& shape = coding.grid.shape();
    const std::vector<Count> lengths = file_.shape(id);
    const Count all = coding.grid.chunks(file_.schema().numrecs);
    Count present = 0, kept_inlined = result_.inlined_bytes;
    std::string why;
    chunks.table(id).for_each([&](Count chunk, const chunked::Entry& entry) {
      if (chunk >= all || !why.empty()) return;
      ++present;
      const ChunkGrid::Box box = coding.grid.box(chunk);
      const std::string key = var.name + "/" + zarr::chunk_key(coding.grid.coordinates(chunk));
      if (entry.skipped == 0 && box.extent == shape) {
        entry.file == 0
            ? refer(key, entry.offset + chunks.shift(), entry.bytes, url_)
            : refer(key, entry.offset, entry.bytes, data_files::data_path(url_, entry.file - 1));
      } else {
        why = put_in(key, id, chunk, stored, box);
      }
    });
    if (why.empty() && present < all && fill_of(var).is_null())
      why = add_absent(id, var, all, stored);
    if (!why.empty()) {
      result_.inlined_bytes = kept_inlined;
      return why;
    }
    add_metadata(var, lengths, shape, stored);
    return {};
  }

  // Puts in chunks that were never written, if the variable has no fill value. All are equal.
  std::string add_absent(VarId id, const Variable& var, Count all, const zarr::Coding& stored) {
    const chunked::VariableCoding& coding = file_.chunks()->coding(id);
    std::size_t size = coding.fill.size();
    for (const Count n : coding.grid.shape()) size *= static_cast<std::size_t>(n);
    std::vector<std::byte> raw(size), bytes;
    chunked::fill_chunk(coding.fill, raw);
    if (const auto refused = encode_into(bytes, coding, stored, raw)) return *refused;
    const std::string text = "base64:" + base64(bytes);
    for (Count chunk = 0; chunk < all; ++chunk) {
      const auto key = var.name + "/" + zarr::chunk_key(coding.grid.coordinates(chunk));
      if (!mine_.contains(key) && !add_inline(key, text, std::ssize(bytes)))
        return too_much_absent();
    }
    return {};
  }

  bool add_inline(const std::string& key, const std::string& text, Count bytes) {
    if (bytes > options_.inline_limit - result_.inlined_bytes) return false;
    mine_[key] = text;
    result_.inlined_bytes += bytes;
    ++result_.inlined;
    return true;
  }

  std::string too_much_absent() const {
    return "what was never written of it is more than may be put into the references (" +
           std::to_string(options_.inline_limit) +
           " bytes), and it has no _FillValue that would stand for it";
  }

  // Returns why Zarr's codecs cannot hold a chunk, if they cannot.
  std::optional<std::string> encode_into(std::vector<std::byte>& bytes,
                                         const chunked::VariableCoding& coding,
                                         const zarr::Coding& stored,
                                         std::span<const std::byte> raw) {
    try {
      bytes = zarr::encode(stored, coding.pipeline, {coding.type, coding.grid.shape()}, raw,
                           slot_.workspace);
    } catch (const Error& error) {
      if (error.code() == Errc::enotsupport) return error.message();
      throw;
    }
    return std::nullopt;
  }

  std::string put_in(const std::string& key, VarId id, Count chunk, const zarr::Coding& stored,
                     const ChunkGrid::Box& box) {
    const FileChunks& chunks = *file_.chunks();
    const chunked::VariableCoding& coding = chunks.coding(id);
    const std::vector<Count>& shape = coding.grid.shape();
    const auto raw = chunks.load(id, chunk, chunks.table(id), true, slot_);
    const std::vector<std::byte> whole = padded(raw, box.extent, shape, coding.fill);
    std::vector<std::byte> bytes;
    if (auto refused = encode_into(bytes, coding, stored, whole)) return *refused;
    result_.inlined_bytes += std::ssize(bytes);
    if (result_.inlined_bytes > options_.inline_limit) {
      return "chunks that are cut off, or stored without encoding, are more than may be put into "
             "the references (" +
             std::to_string(options_.inline_limit) + " bytes)";
    }
    mine_[key] = "base64:" + base64(bytes);
    ++result_.inlined;
    return {};
  }

  // The slabs of a map become the chunks of an extra array. A variable of its dimension says where
  // in a record each element belongs, as in CF's compression by gathering.
  std::string add_decomposed(VarId id, const Variable& var) {
    // Slabs with checksums only are not changed by encoding.
    if (const auto codec = var.slab_codec.value_or("none"); codec != "none" && codec != "checksum")
      return "its slabs are encoded: convert the file";
    if (!slabs_) slabs_ = file_.maps()->replay(slabs_memory);
    const auto parts = slabs_->parts_of(id);
    if (!parts) return "its slabs overlap, or its records are too long to tell: convert the file";
    std::map<std::uint32_t, std::set<std::uint32_t>> maps;  // maps by data file
    for (const auto& part : *parts)
      if (part.file != SlabPart::no_file) maps[part.file].insert(part.map);
    std::map<std::string, Count> slabs;  // bytes of a record, by array
    for (const auto& part : *parts) {
      if (part.file == SlabPart::no_file) continue;
      std::string name = var.name + "." + std::to_string(part.file);
      if (maps[part.file].size() > 1) name += "." + std::to_string(part.map);
      if (!mine_.contains(name + "/.zarray")) {
        if (refs_.contains(name + "/.zarray") || file_.schema().find_var(name))
          return "there is another variable " + name;
        std::string why;
        const std::string dimension = gathered_dimension(var, part, why);
        if (!why.empty()) return why;
        if (refs_.contains(name + "/.zarray"))
          return "its slabs and their places have one name, " + name;
        add_gathered(var, name, dimension, slabs_->elements_of(part));
      }
      std::vector<Count> at{0};
      if (var.is_record) at.insert(at.begin(), part.record);
      const std::string key = name + "/" + zarr::chunk_key(at);
      if (mine_.contains(key)) continue;  // a long slab has several parts
      const Count bytes = slabs_->elements_of(part) * size_of(var.type);
      slabs[name] = bytes;
      if (const auto place = slabs_->plain_place(part)) {
        refer(key, *place, bytes, data_files::data_path(url_, part.file));
      } else if (std::string why = put_in_slab(key, part, bytes); !why.empty()) {
        return why;
      }
    }
    if (!var.is_record || !fill_of(var).is_null()) return {};
    for (const auto& [name, bytes] : slabs)
      if (!add_absent_slabs(var, name, bytes)) return too_much_absent();
    return {};
  }

  // Puts in records that were never written, if the variable has no fill value.
  bool add_absent_slabs(const Variable& var, const std::string& name, Count bytes) {
    std::vector<std::byte> raw(static_cast<std::size_t>(bytes));
    chunked::fill_chunk(external_fill(var), raw);
    const std::string text = "base64:" + base64(raw);
    for (Count record = 0; record < file_.schema().numrecs; ++record) {
      const std::string key = name + "/" + zarr::chunk_key({record, 0});
      if (!mine_.contains(key) && !add_inline(key, text, bytes)) return false;
    }
    return true;
  }

  // Puts in a slab with checksums that is not contiguous.
  std::string put_in_slab(const std::string& key, const SlabPart& part, Count bytes) {
    if (bytes > options_.inline_limit - result_.inlined_bytes)
      return "its slabs lie in pieces, and are more than may be put into the references (" +
             std::to_string(options_.inline_limit) + " bytes)";
    mine_[key] = "base64:" + base64(slabs_->slab_bytes(part));
    result_.inlined_bytes += bytes;
    ++result_.inlined;
    return {};
  }

  void add_gathered(const Variable& var, const std::string& name, const std::string& dimension,
                    Count elements) {
    std::vector<Count> shape{elements}, chunk{elements};
    std::vector<std::string> dims{dimension};
    if (var.is_record) {
      shape.insert(shape.begin(), file_.schema().numrecs);
      chunk.insert(chunk.begin(), 1);
      dims.insert(dims.begin(), name_of_dim(var.dimids[0]));
    }
    mine_[name + "/.zarray"] = zarr::array_text(var, shape, chunk, {}, fill_of(var), '>');
    auto attributes = var.attributes;
    attributes.put(text_attribute("gathered_of", var.name));
    mine_[name + "/.zattrs"] = zarr::attributes_text(attributes, dims);
  }

  const std::string& name_of_dim(DimId dim) const {
    return file_.schema().dims[static_cast<std::size_t>(dim)].name;
  }

  // Returns the dimension for a map and variables of the same dimensions. `why` says why there is
  // none.
  std::string gathered_dimension(const Variable& var, const SlabPart& part, std::string& why) {
    std::vector<std::string> dims;
    std::vector<Count> extents;
    for (std::size_t d = var.is_record ? 1 : 0; d < var.dimids.size(); ++d) {
      dims.push_back(name_of_dim(var.dimids[d]));
      extents.push_back(var.shape[d]);
    }
    auto& known = dimensions_[{part.file, part.map}];
    const auto same =
        std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.dims == dims; });
    if (same != known.end()) return same->name;
    const Count elements = slabs_->elements_of(part), width = size_of(Type::int64);
    if (elements > (options_.inline_limit - result_.inlined_bytes) / width) {
      why = "the places of its elements are more than may be put into the references (" +
            std::to_string(options_.inline_limit) + " bytes)";
      return {};
    }
    std::string name = "D" + std::to_string(part.map) + "." + std::to_string(part.file);
    if (!known.empty()) name += "." + std::to_string(known.size());
    if (file_.schema().find_var(name) || refs_.contains(name + "/.zarray")) {
      why = "there is another variable " + name;
      return {};
    }
    const auto places = slabs_->places_of(part);
    std::vector<std::byte> raw(places.size() * static_cast<std::size_t>(width));
    copy_swapped(raw.data(), reinterpret_cast<const std::byte*>(places.data()), raw.size(),
                 static_cast<int>(width));
    const Pipeline pipeline = Pipeline::parse("shuffle,deflate:1");
    const zarr::Coding coding = zarr::coding_of(pipeline.text(), Type::int64, '>');
    const auto bytes =
        zarr::encode(coding, pipeline, {Type::int64, {elements}}, raw, slot_.workspace);
    Variable indices;
    indices.type = Type::int64;
    refs_[name + "/.zarray"] =
        zarr::array_text(indices, {elements}, {elements}, coding, zarr::Json(), '>');
    zarr::Json attributes;
    attributes["compress"] = joined(dims, " ");
    attributes["compressed_shape"] = extents;
    attributes["_ARRAY_DIMENSIONS"] = {name};
    refs_[name + "/.zattrs"] = zarr::printed(attributes);
    refs_[name + "/0"] = "base64:" + base64(bytes);
    result_.inlined_bytes += std::ssize(bytes);
    ++result_.inlined;
    known.push_back({dims, name});
    return name;
  }

  struct Gathered {
    std::vector<std::string> dims;
    std::string name;
  };

  const ClassicFile& file_;
  const ReferenceOptions& options_;
  std::string url_;
  std::unique_ptr<SlabReplay> slabs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Gathered>> dimensions_;
  Json refs_ = Json::object(), mine_;
  References result_;
  chunked::TaskSlot slot_;
};

}  // namespace

References make_references(const ClassicFile& file, const ReferenceOptions& options) {
  if (file.chunks() != nullptr && file.chunks()->index().damage) {
    throw file.chunks()->index().damage->at(file.path());
  }
  return Maker(file, options).run();
}

}  // namespace forebay
