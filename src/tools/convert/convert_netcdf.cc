// Writes netCDF files, classic or netCDF-4, chunked or not, in a conversion: through Dataset, on
// any number of ranks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/netcdf4_names.h"
#include "base/words.h"
#include "comm/agree.h"
#include "dataset/copying.h"
#include "dataset/dataset.h"
#include "method/method.h"
#include "tools/convert/convert_file.h"

namespace forebay::tools {
namespace {

bool is_netcdf4(const Method& method) { return method.container == "netcdf4"; }

// Returns the lowest version that can hold the source. A classic source keeps its own. In netCDF-4
// files all types are at home; what is of the classic model stays so.
int version_for(const Source& source, const ConvertOptions& options) {
  if (options.version) return *options.version;
  if (is_netcdf4(options.method)) return source.has_classic_model() ? 2 : 5;
  if (const auto version = source.classic_version()) return *version;
  const auto is_new = [](Type type) { return !valid_in_version(type, 2); };
  const auto any_new = [&](const AttributeList& list) {
    return std::any_of(list.begin(), list.end(), [&](auto& a) { return is_new(a.type); });
  };
  for (const Variable& var : source.schema().vars)
    if (is_new(var.type) || any_new(var.attributes)) return 5;
  return any_new(source.schema().attributes) ? 5 : 2;
}

class NetcdfOutput final : public Output {
 public:
  NetcdfOutput(const Comm& comm, const Source& source, const std::string& path,
               const ConvertOptions& options)
      : records_(source.schema().numrecs) {
    ds_ = Dataset::create_by(comm, path, version_for(source, options), false, options.method);
    define(source);
    choose_chunks(source, options);
    ds_->enddef();
  }

  const Variable& variable(VarId var) const override { return ds_->variable(var); }

  bool exact(VarId var) const override {
    const auto& chunking = ds_->variable(var).chunking;
    return !chunking || !is_lossy_codec(chunking->codec);
  }

  void write(std::span<Piece> pieces, const std::optional<Error>& failed, bool) override {
    std::vector<Request> accesses;
    for (Piece& piece : pieces) {
      if (failed || piece.data.empty()) continue;
      Request access;
      access.var = piece.var;
      access.write = true;
      const Variable& var = ds_->variable(piece.var);
      if (is_hole(piece, var)) continue;
      access.elements = std::ssize(piece.data) / size_of(var.type);
      const auto* const box = std::get_if<Subarray>(&piece.selection);
      if (var.is_record)
        access.last_record = box ? box->start[0] + box->count[0] : piece.last_record;
      access.selection = piece.selection;
      access.memory.data = piece.data.data();
      access.memory.type = var.type;
      accesses.push_back(std::move(access));
    }
    ds_->execute(accesses, true, failed);
  }

  void close() override {
    ds_->sync();
    ds_->close();
  }

 private:
  // Returns whether a piece equals unwritten space, so that it need not be written. The piece with
  // a variable's last element is always written, so that the file has its full length and records.
  bool is_hole(const Piece& piece, const Variable& var) const {
    const auto* const box = std::get_if<Subarray>(&piece.selection);
    if (var.layout != nullptr || !box || (!var.chunking && !var.no_fill)) return false;
    bool ends = true;
    for (std::size_t d = 0; d < var.shape.size(); ++d)
      ends = ends &&
             box->start[d] + box->count[d] == (d == 0 && var.is_record ? records_ : var.shape[d]);
    if (ends) return false;
    std::vector<std::byte> value(static_cast<std::size_t>(size_of(var.type)));
    if (var.chunking)
      copy_swapped(value.data(), external_fill(var).data(), value.size(), size_of(var.type));
    const std::span<const std::byte> data = piece.data;
    return std::memcmp(data.data(), value.data(), value.size()) == 0 &&
           std::memcmp(data.data(), data.data() + value.size(), data.size() - value.size()) == 0;
  }

  void define(const Source& source) {
    const Schema& from = source.schema();
    for (std::size_t d = 0; d < from.dims.size(); ++d) {
      // In these formats length 0 marks the record dimension.
      const auto id = static_cast<DimId>(d);
      if (from.dims[d].length == 0 && from.record_dim() != id)
        throw Error(Errc::edimsize,
                    "dimension " + from.dims[d].name +
                        " has length 0: classic formats allow that "
                        "to their one unlimited dimension only",
                    "--to hdf5 copies an HDF5 file as a whole");
    }
    for (const Dimension& dim : from.dims) ds_->def_dim(dim.name, dim.length);
    for (const Variable& var : from.vars) {
      const VarId id = ds_->def_var(var.name, var.type, var.dimids);
      for (const Attribute& attribute : var.attributes) put_attribute(id, attribute);
    }
    for (const Attribute& attribute : from.attributes) put_attribute(global_id, attribute);
  }

  // In a netCDF-4 file some names have a meaning of their own. Attributes of that name get another
  // one, from which readers in this program take it back.
  void put_attribute(VarId owner, Attribute attribute) {
    if (is_netcdf4(ds_->method())) attribute.name = stored_in_netcdf4(attribute.name);
    ds_->put_attribute(owner, std::move(attribute));
  }

  // Sets chunk shapes, so that pieces can consist of whole chunks.
  void choose_chunks(const Source& source, const ConvertOptions& options) {
    const Schema& from = source.schema();
    const bool say_layout = options.method.origin.contains("layout");
    bool any = is_netcdf4(ds_->method());  // its record variables are in chunks
    const auto is_chunked = [&](const Variable& var) {
      if (var.ndims() == 0) return false;
      if (!say_layout && options.keep_layout && var.chunking) return true;
      return variable_method(ds_->method(), var.name).at("layout") == "chunked";
    };
    for (const Variable& var : from.vars) any = any || is_chunked(var);
    for (std::size_t v = 0; v < from.vars.size(); ++v) {
      const Variable& var = from.vars[v];
      const auto id = static_cast<VarId>(v);
      if (!is_chunked(var) && !(any && var.is_record)) continue;
      // A requested chunk size overrides the source's shape.
      Variable shaped = var;
      const bool sized = options.method.origin.contains("chunk_bytes");
      if (sized) shaped.chunking.reset();
      ds_->set_chunk(id, copied_chunk_shape(shaped, sized ? ds_->method().chunk_bytes : 0));
      if (!var.chunking || options.method.origin.contains("codec")) continue;
      // If chunks are requested, variables in patches lose their levels.
      const std::string codec = codec_of(source, id);
      ds_->set_filter(id, say_layout ? Pipeline::without_levels(codec) : codec);
    }
  }

  // Returns the codec of a variable in chunks. From HDF5 to HDF5 all filters stay that the
  // container has a codec for; in other files they would be of no use.
  std::string codec_of(const Source& source, VarId id) const {
    const std::string all = source.codec(id);
    constexpr std::string_view kept[] = {"none", "shuffle", "deflate", "zstd", "fletcher32"};
    const auto stages = items_of(all, ',');
    const bool stays = std::all_of(stages.begin(), stages.end(), [&](std::string_view stage) {
      return std::find(std::begin(kept), std::end(kept), stage.substr(0, stage.find(':'))) !=
             std::end(kept);
    });
    const bool to_hdf5 = source.is_hdf5() && is_netcdf4(ds_->method());
    return to_hdf5 && stays ? all
                            : source.schema().vars[static_cast<std::size_t>(id)].chunking->codec;
  }

  Count records_;
  std::unique_ptr<Dataset> ds_;
};

}  // namespace

std::unique_ptr<Output> create_netcdf(const Comm& comm, const Source& source,
                                      const std::string& path, const ConvertOptions& options) {
  return std::make_unique<NetcdfOutput>(comm, source, path, options);
}

}  // namespace forebay::tools
