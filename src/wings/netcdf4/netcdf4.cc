#include "netcdf4/netcdf4.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/hdf5_signature.h"
#include "base/netcdf4_names.h"
#include "base/words.h"
#include "codec/quantise.h"
#include "comm/agree.h"
#include "container/fill_bytes.h"
#include "format/anchor.h"
#include "layout/chunked/filtered_chunks.h"
#include "layout/chunked/plugin_filters.h"
#include "layout/chunked/stored_chunks.h"
#include "layout/codec_choice.h"
#include "netcdf4/format/packed_structure.h"
#include "netcdf4/hdf5_reads.h"
#include "netcdf4/read_apart.h"
#include "plan/chunk_shape.h"
#include "storage/directory.h"
#include "transport/direct_io.h"

namespace forebay::netcdf4 {

namespace {

using Way = StoredVariable::Way;
using chunked::filters_of, chunked::InFileOrder, chunked::take_shape;
constexpr Offset first_free = 512;  // the superblock lies before it
// A dimension is a dataset of 4 bytes an element, whose size HDF5 counts in 63 bits.
constexpr int most_dimensions = 32;  // of HDF5
constexpr Count longest_dimension = (Count{1} << 61) - 1;

/// Returns a codec with the stage that quantises as the variable's attributes say, so that what is
/// added to a file is quantised, too.
std::string with_quantisation(const Variable& var, const std::string& codec) {
  constexpr std::pair<Quantiser, const char*> stages[] = {
      {Quantiser::bitgroom, "bitgroom:digits="},
      {Quantiser::granularbr, "granularbr:digits="},
      {Quantiser::bitround, "bitround:bits="}};
  for (const auto& [how, stage] : stages) {
    const auto number =
        anchors::integers_of(var.attributes, Quantisation{how, 1}.netcdf_attribute());
    if (!number || number->size() != 1) continue;
    const Quantisation its{how, static_cast<int>((*number)[0])};
    const bool is_float = var.type == Type::float32;
    const int most = how == Quantiser::bitround ? (is_float ? 23 : 52) : (is_float ? 7 : 15);
    if (its.number < 1 || its.number > most || !its.applies_to(var.type)) continue;
    const std::string text = stage + std::to_string(its.number);
    return codec == "none" ? text : text + "," + codec;
  }
  return codec;
}

// HDF5 looks for its superblock at 0, 512, 1024, 2048 ... One read tells a classic file.
bool has_superblock(int file) {
  std::array<char, 8> bytes{};
  constexpr Offset last = Offset{1} << 62;
  for (Offset at = 0; at < last; at = at == 0 ? 512 : 2 * at) {
    if (::pread(file, bytes.data(), bytes.size(), at) != std::ssize(bytes)) return false;
    const std::string_view found(bytes.data(), bytes.size());
    if (found == hdf5_signature) return true;
    if (at == 0 && found.starts_with("CDF")) return false;
  }
  return false;  // a device that gives zeros for ever
}

std::vector<std::byte> fill_in_file(const Variable& var, bool little_endian) {
  std::vector<std::byte> fill = external_fill(var);
  if (little_endian) std::reverse(fill.begin(), fill.end());
  return fill;
}

}  // namespace

bool is_hdf5(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return file.get() >= 0 && has_superblock(file.get());
}

/// The layout of all variables: contiguous ones go to the transport, chunks to layout `chunked`,
/// and what only HDF5 reads to HDF5.
class Netcdf4Container::Values final : public Layout {
 public:
  explicit Values(Netcdf4Container& file) : file_(file) {}

  void carry_out(std::span<Request> requests, bool write, bool collective) override {
    const auto of = [&](Way way) {
      return [this, way](const Request& r) { return file_.stored_of(r.var).way == way; };
    };
    const auto chunks_end =
        std::stable_partition(requests.begin(), requests.end(), of(Way::chunks));
    const auto placed_end = std::stable_partition(chunks_end, requests.end(), [&](auto& r) {
      const StoredVariable& stored = file_.stored_of(r.var);
      return stored.way == Way::contiguous && stored.place >= 0;
    });
    const std::span<Request> chunks(requests.begin(), chunks_end), placed(chunks_end, placed_end),
        others(placed_end, requests.end());
    std::array<std::int64_t, 2> any{!chunks.empty(), !placed.empty()};
    if (collective) file_.comm_.all_reduce(any, Reduce::max);
    // What needs no other rank comes first. Its error is thrown when all steps are done.
    std::optional<Error> failed = attempt_to([&] { read_others(others, write); });
    if (failed) failed = Error(*failed).as_own_matter();
    const auto attempt = [&](auto&& f) {
      keep_first(failed, collective ? up_to_meeting(file_.comm_, f) : attempt_to(f));
    };
    if (any[0] != 0) attempt([&] { file_.chunks_->carry_out(chunks, write, collective); });
    if (any[1] != 0)
      attempt([&] {
        const InFileOrder order(placed, file_.form_);
        file_.contiguous_->carry_out(placed, write, collective);
      });
    if (failed) throw *failed;
  }

  void flush() override { file_.chunks_->flush(); }
  ByteRange in_place(std::span<const Request> writes) const override {
    const bool all_chunks = std::all_of(writes.begin(), writes.end(), [&](const Request& r) {
      return file_.stored_of(r.var).way == Way::chunks;
    });
    return all_chunks ? ByteRange{} : Layout::in_place(writes);
  }
  ForJoint for_joint(std::span<Request> writes) override {
    if (!file_.chunks_->for_joint({}).layout || !has(Way::chunks)) return {};
    const auto others = std::stable_partition(writes.begin(), writes.end(), [&](const Request& r) {
      return file_.stored_of(r.var).way == Way::chunks;
    });
    return {file_.chunks_.get(),
            {writes.begin(), others},
            {others, writes.end()},
            has(Way::contiguous)};
  }
  std::string reasons() const override {
    const std::string contiguous = file_.contiguous_->reasons(), chunks = file_.chunks_->reasons();
    return contiguous + (contiguous.empty() || chunks.empty() ? "" : "; ") + chunks;
  }
  NamedOwners owners() const override { return file_.chunks_->owners(); }

 private:
  bool has(Way way) const {
    return std::any_of(file_.stored_.begin(), file_.stored_.end(),
                       [way](const StoredVariable& its) { return its.way == way; });
  }
  void read_others(std::span<Request> requests, bool write) {
    for (Request& r : requests) {
      const StoredVariable& stored = file_.stored_of(r.var);
      const Variable& var = file_.schema_.vars[static_cast<std::size_t>(r.var)];
      if (write)
        throw Error(Errc::enotsupport,
                    "variable " + var.name + " cannot be written: " + stored.why);
      const InFileOrder order(std::span(&r, 1), file_.form_);
      if (stored.way == Way::contiguous) {
        read_fill(var, stored, r);
        continue;
      }
      if (!file_.by_hdf5_)
        if (auto error = hdf5_side().open(file_.file_.place_now(), file_.by_hdf5_)) throw *error;
      read_by_hdf5(*file_.by_hdf5_, var, stored, r);
    }
  }

  Netcdf4Container& file_;
};

Netcdf4Container::Netcdf4Container(const ContainerSite& site)
    : site_(site),
      comm_(site.comm),
      schema_(site.schema),
      file_owner_(std::make_shared<File>(site.path, site.writable, site.comm.rank(), site.report)),
      file_(*file_owner_),
      form_([this](VarId var) -> const chunked::StoredForm& { return stored_of(var); }),
      layout_(std::make_unique<Values>(*this)) {
  file_.use_queue(site.later);
}

Netcdf4Container::~Netcdf4Container() {
  if (file_.has_weak_caches()) comm_.before_meetings({});
  if (file_.has_weak_caches() && site_.writable) attempt_to([&] { file_.ensure_open(); });
  file_.leave();
}

void Netcdf4Container::share_file() {
  const CachesGiven given = site_.method.client_caches;
  if (given == CachesGiven::coherent) return;
  auto caches = client_caches_of(site_.path, site_.writable);
  if (given == CachesGiven::weak && caches == ClientCaches::coherent) caches = ClientCaches::weak;
  file_.share(caches);
  if (file_.has_weak_caches()) comm_.before_meetings([this] { file_.meet(); });
}

void Netcdf4Container::make_engine() {
  TransportOptions options = transport_options(site_.method);
  options.keeps_apart = [] { return false; };
  options.bulk = site_.batches;
  transport_ = make_transport(comm_, file_owner_, options, site_.report);
  contiguous_ = make_canonical_layout(schema_, *transport_, site_.report);
  chunks_ = std::make_unique<chunked::StoredChunks>(
      ClassicSite{comm_, site_.path, site_.method, schema_, file_, *transport_, site_.report,
                  nullptr, read_directly, site_.later, false},
      form_);
}

// Layouts that need more than HDF5's chunks are refused where they were asked for by the file's
// name, and told of elsewhere.
void Netcdf4Container::refuse_layouts() {
  const std::string layout = site_.method.layout;
  if (layout == "canonical" || layout == "chunked") return;
  const auto origin = site_.method.origin.find("layout");
  if (origin != site_.method.origin.end() && origin->second.names_file)
    throw Error(Errc::enotsupport,
                "layout=" + layout + " cannot be in a netCDF-4 file, which " + site_.path + " is",
                "use layout=chunked, or container=classic");
  site_.method.notes.push_back("layout=" + layout + " (" + site_.method.origin_of("layout") +
                               ") does not apply, as the file is netCDF-4");
  site_.method.layout = "canonical";
}

bool Netcdf4Container::create(bool exclusive, bool /*may_be_later*/, bool& made,
                              const Tells& /*tells*/) {
  refuse_layouts();
  share_file();
  schema_.version = has_all_types(schema_.version) ? 3 : 4;
  agree_on_file(comm_, file_, attempt_to([&] {
                  if (!comm_.is_root()) return;
                  hdf5_side();  // without it the old file stays
                  if (!exclusive && directory::is_ours(site_.path)) remove_whole(site_.path);
                  const auto before = header_for_beside(site_.path);
                  file_.create(exclusive);
                  made = has_new_name_ = true;
                  remove_beside(site_.path, before);
                }));
  make_engine();
  chunks_->begin({}, {{0, first_free}});
  changed_ = true;
  return false;
}

void Netcdf4Container::open() {
  share_file();
  std::vector<std::byte> packed;
  {
    StepTimer timer(site_.report, Step::header);
    by_root(comm_, [&] {
      file_.refresh();
      file_.ensure_open();
      ReadStructure found = read_apart(file_.place_now());
      settle_ways(found);
      if (site_.writable) refuse_changes(found);
      packed = print_structure(found);
    });
    comm_.broadcast(packed);
  }
  ReadStructure found = parse_structure(packed);
  packed = {};
  schema_ = std::move(found.schema);
  schema_.version = found.classic_model ? 4 : 3;
  stored_ = std::move(found.stored);
  left_out_ = std::move(found.left_out);
  attributes_ = std::move(found.attributes);
  agree_on_file(comm_, file_, std::nullopt);
  make_engine();
  std::vector<chunked::ChunkTable> tables(stored_.size());
  std::vector<FileSpace::Range> used;
  if (site_.writable) used.push_back({0, found.file_size});
  for (std::size_t v = 0; v < stored_.size(); ++v) {
    StoredVariable& stored = stored_[v];
    Variable& var = schema_.vars[v];
    var.begin = std::max<Offset>(stored.place, 0);
    if (stored.way != Way::chunks) continue;
    tables[v].shape = stored.chunk;
    tables[v].reason = var.chunking->reason;
    for (const ChunkPlace& chunk : found.chunks[v]) {
      chunked::Entry& entry = tables[v].set(chunk.id);
      entry.offset = chunk.offset;
      entry.bytes = chunk.bytes;
      entry.skipped = static_cast<std::uint32_t>(chunk.skipped);
    }
  }
  chunks_->begin(std::move(tables), std::move(used));
  committed_generation_ = chunks_->store().generation();
  defined_ = stored_.size();
  on_device_ = true;
  has_unknown_space_ = site_.writable;
  if (site_.writable) place_unwritten();
}

// Rank 0 alone. Ranks decode the chunks whose filters they know.
void Netcdf4Container::settle_ways(ReadStructure& found) const {
  for (std::size_t v = 0; v < found.stored.size(); ++v) {
    StoredVariable& stored = found.stored[v];
    Variable& var = found.schema.vars[v];
    if (stored.way != Way::chunks) continue;
    // Ranks hold a page for each part of the range of numbers.
    constexpr Count of_page = chunked::chunks_per_page / static_cast<Count>(sizeof(void*));
    const bool sparse = !found.chunks[v].empty() &&
                        found.chunks[v].back().id / of_page > found.file_size + (16 << 20);
    const auto codec = chunked::codec_of(stored.filters, var.type, stored.chunk);
    if (codec && !sparse) {
      var.chunking->codec = with_quantisation(var, *codec);
      continue;
    }
    stored.way = Way::by_hdf5;
    stored.why = sparse ? "its chunks are few and far apart"
                        : "HDF5 alone decodes its filters: " +
                              joined(stored.filters, ", ", [](const Filter& filter) {
                                return chunked::filter_name(filter.id);
                              });
    var.chunking.reset();
    found.chunks[v].clear();
  }
}

// Rank 0 alone. The structure is written anew, so it must have what ranks know of it, and no more.
void Netcdf4Container::refuse_changes(const ReadStructure& found) const {
  const auto refuse = [&](const std::string& why) {
    throw Error(Errc::enotsupport, site_.path + " cannot be written to: " + why,
                "open it for reading only, or make a new file of it");
  };
  if (!found.left_out.empty()) refuse(found.left_out.front());
  if (!found.not_kept.empty()) refuse(found.not_kept.front());
  struct Piece {
    Offset begin, end;
    std::size_t var;
  };
  std::vector<Piece> pieces;
  for (std::size_t v = 0; v < found.stored.size(); ++v) {
    const StoredVariable& stored = found.stored[v];
    const Variable& var = found.schema.vars[v];
    if (stored.way == Way::by_hdf5) refuse("variable " + var.name + ": " + stored.why);
    if (stored.way == Way::contiguous && stored.place >= 0)
      pieces.push_back({stored.place, stored.place + var.inner_bytes(), v});
    for (const ChunkPlace& chunk : found.chunks[v])
      pieces.push_back({chunk.offset, chunk.offset + chunk.bytes, v});
  }
  // Space that is used twice would be given back once, and then hold something else.
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  Offset end = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin < end)
      throw Error(Errc::enotnc,
                  site_.path + ": variable " + found.schema.vars[piece.var].name +
                      " shares bytes of the file with another piece of values",
                  "the file is damaged");
    end = std::max(end, piece.end);
  }
}

// Variables that another library has not written yet have no place. They get one, and their fill
// value there.
void Netcdf4Container::place_unwritten() {
  std::vector<std::size_t> placed;
  for (std::size_t v = 0; v < stored_.size(); ++v) {
    StoredVariable& stored = stored_[v];
    Variable& var = schema_.vars[v];
    if (stored.way != Way::contiguous || stored.place >= 0) continue;
    stored.place = var.begin = chunks_->store().allocate(var.inner_bytes(), 0);
    placed.push_back(v);
  }
  if (placed.empty()) return;
  agree_on_error(comm_, attempt_to([&] {
                   for (const std::size_t v : placed)
                     fill_bytes(comm_, file_, stored_[v].fill, stored_[v].place,
                                schema_.vars[v].inner_elements);
                 }));
  changed_ = true;
}

std::shared_ptr<File> Netcdf4Container::beside(Report& report) {
  auto file = std::make_shared<File>(site_.path, site_.writable, comm_.rank(), report);
  file->write_for(file_);
  file->expect(file_.expected());
  return file;
}

// -- definitions

std::vector<std::byte> Netcdf4Container::print() const { return print_schema(schema_); }

Offset Netcdf4Container::definitions_bytes() const {
  return static_cast<Offset>(print_schema(schema_).size());
}

void Netcdf4Container::check_attribute(const std::string& name) const {
  if (is_netcdf4_name(name))
    throw Error(Errc::ebadname, "attribute " + name + " has a meaning of its own in netCDF-4 files",
                "use another name");
}

void Netcdf4Container::set_chunk(Variable& var, std::span<const Count> shape) const {
  set_chunk_by_program(schema_, site_.method, var, shape);
}

void Netcdf4Container::set_filter(Variable& var, const std::string& pipeline) const {
  Variable changed = var;
  set_filter_by_program(schema_, site_.method, changed, pipeline);
  if (changed.chunking) filters_of(changed.chunking->codec, changed, changed.chunking->shape);
  var = std::move(changed);
}

// Dimensions and variables are datasets of one group.
void Netcdf4Container::check_names() const {
  std::set<std::string> names;
  for (const Dimension& dim : schema_.dims) names.insert(dim.name);
  for (const Variable& var : schema_.vars) {
    const auto dim = schema_.find_dim(var.name);
    const bool is_coordinate = dim && var.ndims() > 0 && var.dimids[0] == *dim;
    if (is_coordinate) continue;
    const std::string name = dim ? no_coordinate_prefix + var.name : var.name;
    if (!names.insert(name).second)
      throw Error(Errc::enameinuse,
                  "variable " + var.name + " would be a second dataset " + name + " in the file",
                  "use another name");
  }
}

// Record variables are in chunks, since a dataset that grows must be. Others are where a codec, or
// the layout, asks for it; a few values are not worth it.
void Netcdf4Container::choose(const Schema* old) {
  const Method& method = site_.method;
  for (std::size_t d = old ? old->dims.size() : 0; d < schema_.dims.size(); ++d)
    if (schema_.dims[d].length > longest_dimension)
      throw Error(Errc::edimsize, "dimension " + schema_.dims[d].name + " of " +
                                      std::to_string(schema_.dims[d].length) +
                                      " elements is too long for a netCDF-4 file");
  check_names();
  const std::size_t first = old ? old->vars.size() : 0;
  for (std::size_t v = first; v < schema_.vars.size(); ++v) {
    Variable& var = schema_.vars[v];
    if (schema_.version == 4) check_type(var.type, schema_.version);
    if (var.ndims() > most_dimensions)
      throw Error(Errc::emaxdims, "variable " + var.name + " has " + std::to_string(var.ndims()) +
                                      " dimensions; in netCDF-4 files there are " +
                                      std::to_string(most_dimensions) + " at most");
    if (var.chunking || var.ndims() == 0) continue;
    const bool is_said = method.origin.contains("layout") || has_rule(method, var.name, "layout");
    const bool plain = is_said && layout_for(method, var) == "canonical";
    const std::string codec = plain ? "none" : codec_for(method, schema_, var);
    const Count few = std::min(Pipeline::least_bytes, method.chunk_bytes);
    if (var.is_record || (codec != "none" && var.inner_bytes() >= few))
      var.chunking = Chunking{{}, codec, {}};
  }
  chunks_->choose(old, [](const Variable&) { return false; });
  for (std::size_t v = first; v < schema_.vars.size(); ++v) {
    Variable& var = schema_.vars[v];
    if (!var.chunking) continue;
    filters_of(var.chunking->codec, var, var.chunking->shape);  // throws if there are none
    add_quantisation(var);
  }
}

StoredVariable Netcdf4Container::new_variable(const Variable& var) const {
  StoredVariable stored;
  stored.fill = fill_in_file(var, true);
  stored.path = var.name;
  if (var.chunking) {
    stored.way = Way::chunks;
    take_shape(stored, var, var.chunking->shape);
  }
  return stored;
}

void Netcdf4Container::place(const Schema* old, const EnddefArguments& /*arguments*/) {
  const std::size_t first = old ? old->vars.size() : 0;
  forget_from(first);
  std::vector<StoredVariable> added;
  for (std::size_t v = first; v < schema_.vars.size(); ++v)
    added.push_back(new_variable(schema_.vars[v]));
  stored_.reserve(first + added.size());
  // No rank fails from here on, so all take the same space.
  for (StoredVariable& stored : added) {
    Variable& var = schema_.vars[stored_.size()];
    if (stored.way == Way::contiguous) {
      stored.bytes = var.inner_bytes();
      stored.place = var.begin = chunks_->store().allocate(stored.bytes, 0);
    }
    stored_.push_back(std::move(stored));
  }
}

// Variables that were placed have no definitions any more, as enddef failed after that.
void Netcdf4Container::forget_from(std::size_t first) {
  while (stored_.size() > first) {
    const StoredVariable& last = stored_.back();
    if (last.way == Way::contiguous) give_back(last.place, last.bytes);
    stored_.pop_back();
  }
}

// Places follow from the definitions, as all ranks have the same free space.
void Netcdf4Container::take_over(std::span<const std::byte> placed) {
  const Count numrecs = schema_.numrecs;
  const std::size_t had = defined_;
  std::vector<Offset> begins;
  for (const Variable& var : schema_.vars) begins.push_back(var.begin);
  Schema root = parse_schema(placed);
  auto maps = std::move(schema_.decompositions);
  schema_ = std::move(root);
  schema_.decompositions = std::move(maps);
  schema_.numrecs = numrecs;
  for (std::size_t v = 0; v < had; ++v) schema_.vars[v].begin = begins[v];
  Schema old;
  old.vars.resize(had);
  place(&old, {});
}

bool Netcdf4Container::redefine(const Schema* old) {
  // A file of another library may have a fill value that no attribute tells.
  for (std::size_t v = 0; old && v < old->vars.size(); ++v)
    if (external_fill(old->vars[v]) != external_fill(schema_.vars[v]))
      stored_[v].fill = fill_in_file(schema_.vars[v], stored_[v].little_endian);
  chunks_->grow(stored_.size());
  defined_ = stored_.size();
  changed_ = true;
  return false;
}

bool Netcdf4Container::fills_new(const Schema* old) const {
  const std::size_t first = old ? old->vars.size() : 0;
  return std::any_of(stored_.begin() + static_cast<std::ptrdiff_t>(first), stored_.end(),
                     [](const StoredVariable& its) { return its.way == Way::contiguous; });
}

// Chunks that nobody wrote read as the fill value. Contiguous variables get theirs, or zeros where
// old bytes may lie.
void Netcdf4Container::fill_new(const Schema* old) {
  const Offset size = told_by_root(comm_, [&] { return file_.size(); });
  agree_on_error(comm_, attempt_to([&] {
                   for (std::size_t v = old ? old->vars.size() : 0; v < stored_.size(); ++v) {
                     const Variable& var = schema_.vars[v];
                     const StoredVariable& stored = stored_[v];
                     if (stored.way != Way::contiguous) continue;
                     if (!var.no_fill)
                       fill_bytes(comm_, file_, stored.fill, stored.place, var.inner_elements);
                     else if (stored.place < size)
                       fill_bytes(comm_, file_, std::vector(stored.fill.size(), std::byte{0}),
                                  stored.place, var.inner_elements);
                   }
                 }));
}

// -- data

void Netcdf4Container::publish() {
  chunks_->publish();
  changed_ = true;
}

void Netcdf4Container::fill_record(VarId var, Count record) { chunks_->fill_record(var, record); }

// The first flush of a variable chooses the shape of its chunks.
void Netcdf4Container::take_shapes() {
  for (std::size_t v = 0; v < stored_.size(); ++v)
    if (stored_[v].way == Way::chunks && stored_[v].chunk.empty())
      take_shape(stored_[v], schema_.vars[v], schema_.vars[v].chunking->shape);
}

// Rank 0 alone. `places` gets the pieces of free space that the structure lies in.
WrittenStructure Netcdf4Container::make_structure(Places& places) {
  // A variable that was never written has no shape of chunks yet, but its dataset must have one.
  std::vector<StoredVariable> stored = stored_;
  for (std::size_t v = 0; v < stored.size(); ++v)
    if (stored[v].way == Way::chunks && stored[v].chunk.empty())
      take_shape(stored[v], schema_.vars[v],
                 default_chunk_shape(schema_.vars[v], "", site_.method.chunk_bytes).shape);
  NewStructure structure{schema_, stored, schema_.version == 4,  attributes_,
                         {},      {},     chunked::values_to_ask};
  structure.allocate = [&](Count bytes) {
    places.reserve(places.size() + 1);
    places.push_back({chunks_->store().allocate(bytes, 0), bytes, 0});
    return places.back().offset;
  };
  structure.each_chunk = [&](VarId var, const std::function<void(const ChunkPlace&)>& f) {
    chunks_->store().table(var).for_each([&](Count id, const chunked::Entry& entry) {
      f({id, entry.offset, entry.bytes, entry.skipped});
    });
  };
  WrittenStructure written;
  if (auto error = hdf5_side().write(structure, written)) throw *error;
  for (NewPlace& place : places)
    for (const WrittenStructure::Block& block : written.blocks)
      if (block.place == place.offset) place.used = std::ssize(block.bytes);
  return written;
}

// Rank 0 alone. `reached`: the superblock may have been replaced.
void Netcdf4Container::write_structure(Places& places, bool ordered, bool to_device,
                                       bool& reached) {
  const WrittenStructure made = make_structure(places);
  for (const WrittenStructure::Block& block : made.blocks) file_.write_at(block.place, block.bytes);
  const Offset end = std::max(made.end, chunks_->store().end());
  if (file_.size() < end) file_.truncate(end);
  if (ordered) file_.sync();
  reached = true;
  file_.write_at(0, made.superblock);
  if (!to_device) return;
  file_.sync();
  // POSIX does not ask a file system to bring a new name along with the file.
  if (has_new_name_ && file_.is_linked()) path_sync_.folder_of(file_.place_now());
  has_new_name_ = false;
}

void Netcdf4Container::give_back(Offset offset, Count bytes) {
  chunks_->store().give_back({.offset = offset, .bytes = bytes}, false);
}

// Collective. All ranks take the same space in the same order, and so the same places. What the
// structure did not use of them is free again.
void Netcdf4Container::keep(const Places& places) {
  structure_.reserve(structure_.size() + places.size());
  for (const NewPlace& its : places) {
    const Count used = round_up(its.used, FileSpace::unit);
    if (used < its.bytes) give_back(its.offset + used, its.bytes - used);
    if (used > 0) structure_.push_back({its.offset, used});
  }
}

bool Netcdf4Container::commit(bool to_device) {
  auto& store = chunks_->store();
  chunks_->publish();
  // Writes of chunks publish by themselves.
  changed_ = changed_ || store.generation() != committed_generation_;
  // A definition that failed may have changed what some ranks know.
  changed_ = comm_.all_reduce(changed_, Reduce::max) != 0;
  if (!changed_) return false;
  const auto begun = std::chrono::steady_clock::now();
  StepTimer timer(site_.report, Step::header);
  forget_from(schema_.vars.size());  // definitions that were given up since they were placed
  take_shapes();
  store.require_whole();
  // A power failure must find all that the new superblock refers to, if the one that it replaces is
  // on the device.
  const bool ordered = to_device || on_device_;
  if (ordered) agree_on_error(comm_, attempt_to([&] { file_.sync(); }));
  const bool marked = store.mark_synced();
  Places places;
  bool reached = false;
  auto failed = attempt_to([&] {
    if (comm_.is_root()) write_structure(places, ordered, to_device, reached);
  });
  if (failed && !reached) {
    for (const NewPlace& its : places) give_back(its.offset, its.bytes);
    places.clear();
  }
  failed = worst_of_all(comm_, failed);
  chunked::ChunkStore::change(comm_, {{{&store}}}, [&]() -> std::optional<Error> {
    comm_.broadcast(places);
    if (!comm_.is_root())
      for (const NewPlace& its : places) store.allocate(its.bytes, 0);
    std::vector<Place> old;
    if (!failed) old.swap(structure_);
    keep(places);  // beside the old ones, if it is unknown which the file shows
    for (const auto& [offset, bytes] : old) give_back(offset, bytes);
    return failed;
  });
  if (marked) store.forget_older_synced();
  free_unknown_space();
  on_device_ = on_device_ || to_device;
  changed_ = false;
  committed_generation_ = store.generation();
  by_hdf5_.reset();
  ++commits_;
  commit_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return true;
}

// Once this object has written the structure, that of who had the file before is of no use. What
// holds no values then is free.
void Netcdf4Container::free_unknown_space() {
  if (!std::exchange(has_unknown_space_, false)) return;
  std::vector<FileSpace::Range> used{{0, first_free}};
  for (const auto& [offset, bytes] : structure_) used.push_back({offset, offset + bytes});
  for (std::size_t v = 0; v < stored_.size(); ++v)
    if (stored_[v].way == Way::contiguous)
      used.push_back({stored_[v].place, stored_[v].place + schema_.vars[v].inner_bytes()});
  chunks_->store().free_all_but(std::move(used));
}

// -- the end

void Netcdf4Container::sync() {
  if (commit(true)) return;
  agree_on_error(comm_, attempt_to([&] { file_.sync(); }));
  on_device_ = true;
}

void Netcdf4Container::publish_last() { commit(false); }

void Netcdf4Container::release() {
  if (transport_) transport_->close();
}

void Netcdf4Container::close() {
  auto failed = attempt_to([&] { file_.meet(); });
  attempt_into(failed, [&] { file_.close(); });
  if (failed) throw *failed;
}

void Netcdf4Container::remove(const std::string& place) {
  struct stat found {};
  const FileIdentity mine = file_.expected();
  if (::lstat(place.c_str(), &found) != 0) return;
  const bool is_other = mine.is_known() && (found.st_dev != static_cast<dev_t>(mine.device) ||
                                            found.st_ino != static_cast<ino_t>(mine.inode));
  if (is_other || !S_ISREG(found.st_mode)) return;
  if (::unlink(place.c_str()) != 0) throw system_error(errno, Errc::ecantremove, "removing", place);
}

std::vector<std::string> Netcdf4Container::reasons() const {
  std::vector<std::string> reasons{transport_->reasons(), layout_->reasons()};
  if (commits_ > 0) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3f", commit_seconds_);
    reasons.push_back("netCDF-4: the structure was written " + std::to_string(commits_) +
                      (commits_ == 1 ? " time, in " : " times, in ") + seconds + " s, by " +
                      hdf5_side().version());
  }
  std::map<std::string, std::string> readers_need;  // plug-in: variables
  for (std::size_t v = 0; v < stored_.size(); ++v)
    for (const Filter& filter : stored_[v].filters)
      if (const auto plugin = chunked::plugin_for(filter)) {
        std::string& names = readers_need[*plugin];
        names += (names.empty() ? "" : ", ") + schema_.vars[v].name;
      }
  for (const auto& [plugin, names] : readers_need)
    reasons.push_back("readers need HDF5's plug-in for filter " + plugin + ": " + names);
  for (const std::string& what : left_out_) reasons.push_back("not shown: " + what);
  return reasons;
}

}  // namespace forebay::netcdf4

namespace forebay {

extern const ContainerEntry netcdf4_container{
    {"netcdf4", "a netCDF-4 file, which is an HDF5 file that every netCDF-4 reader reads", 5},
    [](const ContainerSite& site) -> std::unique_ptr<Container> {
      return std::make_unique<netcdf4::Netcdf4Container>(site);
    },
    [](const std::string& path, bool is_directory) {
      return !is_directory && netcdf4::is_hdf5(path);
    }};

}  // namespace forebay
