// Writes netCDF-4 files in a conversion: HDF5 with the conventions in hdf5/files/hdf5_schema.h, as
// netCDF-C writes them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/text_table.h"
#include "comm/agree.h"
#include "comm/message_bytes.h"
#include "dataset/copying.h"
#include "hdf5/commands/hdf5_commands.h"
#include "hdf5/convert/direct_copy.h"
#include "hdf5/convert/placed.h"
#include "hdf5/convert/storage.h"
#include "hdf5/files/attributes.h"
#include "hdf5/files/handle.h"
#include "tools/convert/convert_file.h"

// Only dimension scales need HDF5's high-level library.
#include <hdf5_hl.h>

namespace forebay::tools {
namespace {

constexpr unsigned in_order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;

class Hdf5Output final : public Output {
 public:
  Hdf5Output(const Comm& comm, const Source& source, std::string path,
             const ConvertOptions& options)
      : comm_(comm),
        source_(source),
        schema_(source.schema()),
        path_(std::move(path)),
        storage_(options.method),
        fixed_(options.method.origin.contains("layout") && options.method.layout == "canonical"),
        keep_codec_(!options.method.origin.contains("codec")),
        sized_(options.method.origin.contains("chunk_bytes")) {
    forebay::by_root(comm_, [&] { define(); });
    share_places();
  }

  const Variable& variable(VarId var) const override { return vars_[index(var)]; }
  bool by_root(VarId var) const override { return !places_[index(var)].is_placed(); }
  bool exact(VarId) const override { return true; }

  void write(std::span<Piece> pieces, const std::optional<Error>& failed, bool) override {
    agree_on_error(comm_, failed ? failed : attempt_to([&] {
                     for (const Piece& piece : pieces)
                       if (!piece.data.empty()) write_piece(piece);
                   }));
  }

  // The other ranks' data is synced to the device before the file is completed.
  void close() override {
    agree_on_error(comm_, attempt_to([&] {
                     if (past_.get() >= 0 && ::fsync(past_.get()) != 0)
                       throw system_error(errno, Errc::ewrite, "synchronising", path_);
                   }));
    forebay::by_root(comm_, [&] {
      dataset_.reset();
      root_.reset();
      if (H5Fclose(file_.release()) < 0) throw_hdf5(printable(path_));
      sync_file(path_);
    });
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  /// Rank 0. Writes all but values, and allocates space for those.
  void define() {
    start_hdf5();
    create_file();
    find_scales();
    for (std::size_t d = 0; d < schema_.dims.size(); ++d)
      if (scale_of_[d] == global_id) create_dimension(static_cast<DimId>(d));
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) create_variable(static_cast<VarId>(v));
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) attach_scales(static_cast<VarId>(v));
    for (const Attribute& attribute : schema_.attributes) write_attribute(root_, attribute);
  }

  /// Collective. Broadcasts what all ranks need to know of the file.
  void share_places() {
    std::vector<std::byte> told;
    agree_on_error(comm_, attempt_to([&] {
                     for (std::size_t v = 0; v < vars_.size(); ++v) {
                       const auto& chunking = vars_[v].chunking;
                       put_list<Count>(told, chunking ? chunking->shape : std::vector<Count>());
                       places_[v].print(told);
                     }
                   }));
    agree_on_error(comm_, attempt_to([&] {
                     comm_.broadcast(told);
                     if (!comm_.is_root()) learn(told);
                   }));
  }

  static void set_chunks(Variable& var, std::vector<Count> shape) {
    var.chunking.reset();
    if (!shape.empty()) var.chunking = Chunking{std::move(shape), "none", {}};
  }

  void learn(std::span<const std::byte> told) {
    const auto check = [](bool as_many) {
      if (!as_many)
        throw Error(Errc::enotnc, "the input was written to while ranks opened it",
                    "convert it when nobody writes it");
    };
    for (Variable var : schema_.vars) {
      check(!told.empty());
      set_chunks(var, take_list<Count>(told));
      vars_.push_back(std::move(var));
      places_.push_back(PlacedValues::parse(told));
    }
    check(told.empty());
  }

  void create_file() {
    const Hdf5Id creation = owned(H5Pcreate(H5P_FILE_CREATE), "file creation");
    checked(H5Pset_link_creation_order(creation, in_order), "file creation");
    checked(H5Pset_attr_creation_order(creation, in_order), "file creation");
    file_ = owned(H5Fcreate(path_.c_str(), H5F_ACC_EXCL, creation, new_file_access()),
                  printable(path_));
    root_ = owned(H5Gopen2(file_, "/", H5P_DEFAULT), printable(path_));
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    write_text_attribute(
        root_, "_NCProperties",
        fmt::format("version=2,forebay={},hdf5={}.{}.{}", FOREBAY_VERSION, major, minor, release));
  }

  // A variable with a dimension's name is its scale if that dimension is its first.
  void find_scales() {
    scale_of_.assign(schema_.dims.size(), global_id);
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
      const Variable& var = schema_.vars[v];
      if (var.ndims() > 0 && schema_.dims[index(var.dimids[0])].name == var.name)
        scale_of_[index(var.dimids[0])] = static_cast<VarId>(v);
    }
  }

  bool is_scale(VarId var) const {
    return std::find(scale_of_.begin(), scale_of_.end(), var) != scale_of_.end();
  }

  // Returns the name of the link. A variable with a dimension's name that is not its scale gets a
  // prefix.
  std::string link_name(VarId var) const {
    const std::string& name = schema_.vars[index(var)].name;
    return schema_.find_dim(name) && !is_scale(var) ? "_nc4_non_coord_" + name : name;
  }

  Extents extents(const std::vector<DimId>& dims) const {
    Extents all;
    for (const DimId dim : dims) {
      all.now.push_back(source_.length(dim));
      all.most.push_back(source_.unlimited(dim) && !fixed_ ? -1 : source_.length(dim));
    }
    return all;
  }

  static Hdf5Id dataset_creation() {
    Hdf5Id creation = owned(H5Pcreate(H5P_DATASET_CREATE), "dataset creation");
    checked(H5Pset_attr_creation_order(creation, in_order), "dataset creation");
    // Equal inputs must give equal files.
    checked(H5Pset_obj_track_times(creation, false), "dataset creation");
    return creation;
  }

  void create_dimension(DimId dim) {
    const std::string& name = schema_.dims[index(dim)].name;
    const Extents along = extents({dim});
    const Hdf5Id creation = dataset_creation();
    if (along.most[0] < 0) {
      const hsize_t chunk = 1024;  // never stored, since nothing is written to it
      checked(H5Pset_chunk(creation, 1, &chunk), name);
    }
    const Hdf5Id dataset =
        owned(H5Dcreate2(file_, name.c_str(), H5T_IEEE_F32BE, simple_space(along.now, along.most),
                         H5P_DEFAULT, creation, H5P_DEFAULT),
              "dimension " + printable(name));
    const std::string text = fmt::format("{}{:10}", dimension_only_text, along.now[0]);
    checked(H5DSset_scale(dataset, text.c_str()), "dimension " + printable(name));
    write_integers(dataset, "_Netcdf4Dimid", {dim}, true);
  }

  // Uses what the methods say, else the source's storage.
  void choose_storage(const Variable& var, const Extents& all, hid_t creation) const {
    std::vector<Count> chunks;
    if (var.chunking && !sized_) chunks = var.chunking->shape;
    const bool keep = keep_codec_ && var.chunking && var.chunking->codec != "none";
    if (keep && !all.now.empty()) {
      const std::vector<hsize_t> any(all.now.size(), 1);
      checked(H5Pset_chunk(creation, static_cast<int>(any.size()), any.data()), "a chunk shape");
      Hdf5Storage::add_filters(creation, var.chunking->codec, var.name);
    }
    if (chunks.empty() && keep) chunks = copied_chunk_shape(var, 0);
    storage_.apply(creation, var.name, all, size_of(var.type), chunks);
  }

  void create_variable(VarId id) {
    Variable var = schema_.vars[index(id)];
    const std::string what = "variable " + printable(var.name);
    const Extents all = extents(var.dimids);
    const Hdf5Id creation = dataset_creation(), type = stored_type(var.type);
    choose_storage(var, all, creation);
    const std::vector<std::byte> external = external_fill(var);
    std::vector<std::byte> fill(external.size());
    from_external(var.type, external.data(), var.type, fill.data(), 1, nullptr);
    checked(H5Pset_fill_value(creation, native_type(var.type), fill.data()), what);
    const Count width = size_of(var.type);
    const bool placed =
        H5Tequal(type, native_type(var.type)) > 0 &&
        (fits_direct_copy(creation, all, width) || fits_placed_chunks(creation, all, width));
    if (placed) prepare_direct_copy(creation);
    const std::string link = link_name(id);
    const Hdf5Id dataset =
        owned(H5Dcreate2(file_, link.c_str(), type, simple_space(all.now, all.most), H5P_DEFAULT,
                         creation, H5P_DEFAULT),
              what);
    if (is_scale(id)) {
      checked(H5DSset_scale(dataset, var.name.c_str()), what);
      write_integers(dataset, "_Netcdf4Dimid", {var.dimids[0]}, true);
      if (var.ndims() > 1) write_integers(dataset, "_Netcdf4Coordinates", var.dimids, false);
    }
    for (const Attribute& attribute : var.attributes) write_attribute(dataset, attribute);
    places_.push_back(placed ? PlacedValues(dataset, creation, all.now, fill) : PlacedValues());
    set_chunks(var, chunk_shape_of(creation, all.now.size()));
    vars_.push_back(std::move(var));
  }

  // A scale cannot have scales. If it has several dimensions, _Netcdf4Coordinates names them.
  void attach_scales(VarId id) {
    const Variable& var = schema_.vars[index(id)];
    if (is_scale(id) || var.ndims() == 0) return;
    const std::string what = "dimensions of " + printable(var.name);
    const Hdf5Id dataset = owned(H5Dopen2(file_, link_name(id).c_str(), H5P_DEFAULT), what);
    for (std::size_t d = 0; d < var.dimids.size(); ++d) {
      const std::string& name = schema_.dims[index(var.dimids[d])].name;
      const Hdf5Id scale = owned(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), what);
      checked(H5DSattach_scale(dataset, scale, static_cast<unsigned>(d)), what);
    }
    write_integers(dataset, "_Netcdf4Coordinates", var.dimids, false);
  }

  // Keeps the last dataset open. Pieces are whole chunks, so a chunk cache would not help.
  void write_piece(const Piece& piece) {
    const Variable& var = vars_[index(piece.var)];
    const std::string what = printable(path_) + ": " + printable(var.name);
    const PlacedValues& placed = places_[index(piece.var)];
    if (placed.is_placed()) {
      if (past_.get() < 0) past_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
      if (past_.get() < 0) throw system_error(errno, Errc::ecantwrite, "write", path_);
      return placed.write(past_.get(), path_, piece.box(), piece.data);
    }
    if (opened_ != piece.var) {
      const Hdf5Id access = owned(H5Pcreate(H5P_DATASET_ACCESS), what);
      checked(H5Pset_chunk_cache(access, 1, 0, 1.0), what);
      opened_ = global_id;
      dataset_ = owned(H5Dopen2(file_, link_name(piece.var).c_str(), access), what);
      opened_ = piece.var;
    }
    const Hdf5Id space = owned(H5Dget_space(dataset_), what);
    select(space, piece.box());
    checked(H5Dwrite(dataset_, native_type(var.type), simple_space(piece.box().count), space,
                     H5P_DEFAULT, piece.data.data()),
            what + " cannot be written");
  }

  const Comm& comm_;
  const Source& source_;
  const Schema& schema_;
  std::string path_;
  Hdf5Storage storage_;
  bool fixed_;  // contiguous datasets and dimensions cannot grow
  bool keep_codec_, sized_;
  Hdf5Id file_;  // close() closes it; the destructor does after an error
  Hdf5Id root_, dataset_;
  VarId opened_ = global_id;
  std::vector<VarId> scale_of_;  // by dimension; global_id: none
  std::vector<Variable> vars_;
  std::vector<PlacedValues> places_;  // by variable
  Descriptor past_;                   // the file, for writes past HDF5
};

}  // namespace

std::unique_ptr<Output> create_hdf5(const Comm& comm, const Source& source, const std::string& path,
                                    const ConvertOptions& options) {
  return std::make_unique<Hdf5Output>(comm, source, path, options);
}

}  // namespace forebay::tools
