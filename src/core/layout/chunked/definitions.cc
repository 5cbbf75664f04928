// The definitions of chunked variables: which variables are chunked, where anchors, root slots and
// the heap of chunks are, and how redefinition preserves them.
#include <algorithm>
#include <cstring>
#include <string>

#include "array/placement.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/random_number.h"
#include "codec/pipeline.h"
#include "comm/agree.h"
#include "format/chunk_schema.h"
#include "format/classic_header.h"
#include "layout/anchors.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/chunked/chunked.h"
#include "layout/chunked/file_chunks.h"
#include "layout/codec_choice.h"
#include "plan/chunk_shape.h"

namespace forebay::chunked {

namespace {

// Chunks always have checksums.
std::string of_chunks(const std::string& codec) { return codec == "checksum" ? "none" : codec; }

/// Extra space for a header to grow, before everything after it must move.
constexpr Count header_room = 4096;
constexpr Count heap_align = chunked::slot_bytes;

/// Returns whether the method asks for chunks for a variable. Small variables that would never be
/// encoded cost more to find than they take. They stay in the classic layout, where every reader
/// finds them, unless a rule names them.
bool wants_chunks(const Method& method, const Variable& var) {
  if (var.ndims() == 0) return false;
  if (!wanted_policy(method, var) && layout_for(method, var) != "chunked") return false;
  const Count few = std::min(Pipeline::least_bytes, method.chunk_bytes);
  return var.is_record || var.inner_bytes() >= few || has_rule(method, var.name, "layout");
}

Offset end_of_fixed(const Schema& schema) {
  Offset end = schema.header_extent;
  for (const Variable& var : schema.vars) {
    const Count bytes = var.chunking ? size_of(var.type) : var.inner_bytes();
    if (var.chunking || !var.is_record) end = std::max(end, var.begin + bytes);
  }
  return end;
}

void copy_places(const Schema& stored, Schema& schema) {
  for (std::size_t i = 0; i < schema.vars.size(); ++i) schema.vars[i].begin = stored.vars[i].begin;
  schema.header_size = stored.header_size;
  schema.header_extent = stored.header_extent;
  schema.begin_rec = stored.begin_rec;
  schema.recsize = record_size(schema);
}

// Chunks are no Variable::layout: these are variables of other layouts.
bool others_have_files(const Schema& schema) {
  return std::any_of(schema.vars.begin(), schema.vars.end(), [](const Variable& v) {
    return v.layout != nullptr && v.layout->data_files != nullptr;
  });
}

std::int64_t chosen_shapes(const Schema& schema) {
  return std::count_if(schema.vars.begin(), schema.vars.end(),
                       [](const Variable& v) { return v.chunking && !v.chunking->shape.empty(); });
}

}  // namespace

// Record variables that are not chunked need a record section, and chunks at the end of the file
// leave no space for it. So they become chunks of whole records (Hou 2023, §5.2.4). If chunks are
// in separate files, they may stay.
void ChunkedLayout::choose(const Schema* old, const KeptElsewhere& elsewhere) {
  const std::size_t first = old ? old->vars.size() : 0;
  if (!begun_ && !apart_ && data_files::asks_for_several(site_.method) &&
      !others_have_files(schema_)) {
    apart_ = std::any_of(
        schema_.vars.begin() + static_cast<std::ptrdiff_t>(first), schema_.vars.end(),
        [&](const Variable& var) { return !elsewhere(var) && wanted_policy(site_.method, var); });
    if (apart_) root_ = root_beside;
  }
  const bool old_records =
      !apart_ && old && !old->any_chunked() &&
      std::any_of(old->vars.begin(), old->vars.end(), [](auto& v) { return v.is_record; });
  // A folder holds data files of one layout only.
  const bool others_files = apart_ && others_have_files(schema_);
  for (std::size_t i = first; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (old_records && var.chunking) {
      throw Error(Errc::einval,
                  "variable " + var.name + " cannot be chunked: " + site_.path +
                      " has record variables in classic layout, which must stay at its end",
                  "chunk variables before the file's first enddef");
    }
    if (var.chunking || old_records || others_files || elsewhere(var) ||
        !wants_chunks(site_.method, var))
      continue;
    var.chunking = Chunking{{}, of_chunks(codec_for(site_.method, schema_, var)), {}};
  }
  for (std::size_t i = first; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (!var.chunking) continue;
    if (const int levels = Pipeline::parts_of(var.chunking->codec) - 1; levels > 0) {
      if (const auto failed = attempt_to([&] { check_levels(var, levels); }))
        throw Error(Errc::einval, "variable " + var.name + ": " + failed->message(),
                    "set a shape of chunks as patches have it, or leave both to layout=patches");
      continue;
    }
    const ChunkPolicy* const policy = wanted_policy(site_.method, var);
    if (policy != nullptr && var.chunking->shape.empty())
      var.chunking = policy->cut(site_.method, var);
  }
  if (!schema_.any_chunked()) return;
  for (std::size_t i = first; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (!apart_ && var.is_record && elsewhere(var))
      throw Error(Errc::einval,
                  "variable " + var.name + " needs records in classic layout, which cannot be in " +
                      "a file with chunked variables",
                  "choose one of the two layouts for all record variables");
    if (!apart_ && var.is_record && !var.chunking) var.chunking = Chunking{};
    if (!var.chunking || !var.chunking->shape.empty()) continue;
    // Otherwise the first flush chooses the shape.
    if (auto choice = small_chunk_shape(var, site_.method.chunk_bytes)) {
      var.chunking->shape = std::move(choice->shape);
      var.chunking->reason = std::move(choice->reason);
    }
  }
}

Schema ChunkedLayout::stored(const Schema& schema) const {
  return to_stored(schema, root_, apart_ ? std::optional(id_) : std::nullopt);
}

Schema ChunkedLayout::take_over(Schema stored) {
  Schema seen = from_stored(stored, root_);
  const auto id = files_of(stored);
  apart_ = id.has_value();
  id_ = id.value_or(0);
  if (!apart_ && seen.any_chunked()) seen.recsize = record_size(seen);
  return seen;
}

Alignment ChunkedLayout::place(Schema stored, const Schema* old, const Alignment& wanted) {
  const Offset header_size = classic::header_size(stored);
  if (!begun_) {
    Alignment alignment = settle(wanted, stored);
    alignment.h_minfree = std::max(alignment.h_minfree, header_room);
    place_variables(stored, old, alignment, header_size);
    copy_places(stored, schema_);
    root_ = round_up(std::max(end_of_fixed(schema_), stored.begin_rec), heap_align);
    alignment.h_minfree = wanted.h_minfree;
    return alignment;
  }
  const Alignment alignment = settle(wanted, stored);
  move_ = place_behind(stored, *old, alignment, header_size, store_.end(), header_room);
  copy_places(stored, schema_);
  root_ = store_.root() + move_;
  return alignment;
}

// All ranks must print the same index, or they would place chunks differently. The index contains
// the reasons for shapes, so these must be equal, too.
std::vector<std::byte> ChunkedLayout::placed() const {
  std::string reasons;
  for (const Variable& var : schema_.vars)
    if (var.chunking) reasons += var.chunking->reason + '\0';
  const auto move = std::as_bytes(std::span(&move_, 1)), text = std::as_bytes(std::span(reasons));
  std::vector<std::byte> placed(move.begin(), move.end());
  placed.insert(placed.end(), text.begin(), text.end());
  return placed;
}

void ChunkedLayout::take_over_placed(std::span<const std::byte> placed) {
  std::memcpy(&move_, placed.data(), sizeof move_);
  const auto text = placed.subspan(sizeof move_);
  const char* at = reinterpret_cast<const char*>(text.data());
  for (Variable& var : schema_.vars) {
    if (!var.chunking) continue;
    var.chunking->reason = at;
    at += var.chunking->reason.size() + 1;
  }
}

void ChunkedLayout::make_files() {
  if (begun_ || !apart_) return;
  by_root(comm_, [&] { id_ = random_number(); });
  comm_.broadcast(&id_, sizeof id_);
  files_ = std::make_unique<FilesBeside>(site_, id_);
  files_->create();
  store_.lie_apart(files_->index_io());
}

void ChunkedLayout::start(const Schema* old, const std::function<void(const Move&)>& relocate) {
  if (!begun_) {
    store_.create(root_);
  } else if (old) {
    if (move_ > 0) {
      const Move move{old->header_extent, old->header_extent + move_,
                      store_.end() - old->header_extent};
      relocate(move);
      store_.moved(move_);
    }
    store_.grow(schema_.vars.size());
    if (!apart_) store_.skip_to(end_of_fixed(schema_));
    store_.touch();
    store_.publish();
    // The last synced state has been moved away from its root.
    if (move_ > 0) {
      agree_on_error(comm_, attempt_to([&] { site_.file.sync(); }));
      synced();
    }
  }
  move_ = 0;
  for (std::size_t i = 0; i < schema_.vars.size(); ++i) {
    if (!schema_.vars[i].chunking) continue;
    ChunkTable& table = store_.table(static_cast<VarId>(i));
    table.shape = schema_.vars[i].chunking->shape;
    table.reason = schema_.vars[i].chunking->reason;
  }
  renew_codings();
  // After this, all ranks have begun, or none.
  by_root(comm_, [&] {
    write_anchors(site_.file, schema_, old ? old->vars.size() : 0,
                  [](const Variable& var) { return var.chunking.has_value(); });
  });
  begun_ = true;
}

// All ranks have synced their data, except in files beside this one.
void ChunkedLayout::synced() {
  if (files_) {
    store_.require_whole();
    if (store_.is_synced()) return;
    agree_on_error(comm_, attempt_to([&] { files_->sync(store_.data_files()); }));
  }
  if (!store_.mark_synced()) return;
  by_root(comm_, [&] { files_ ? files_->sync_index() : site_.file.sync(); });
  store_.forget_older_synced();
}

bool ChunkedLayout::load(Count in_header) {
  const auto state =
      site_.method.chunk_state == ChunkState::synced ? OpenState::synced : OpenState::newest;
  Offset size = 0;
  bool newest = false;
  agree_on_error(comm_, attempt_to([&] {
                   if (apart_) {
                     files_ = std::make_unique<FilesBeside>(site_, id_);
                   } else if (comm_.is_root()) {
                     size = site_.file.size();
                   }
                 }));
  const auto error = attempt_together(comm_, [&] {
    if (files_) {
      size = files_->open_index();
      store_.lie_apart(files_->index_io());
    }
    std::function<Offset()> size_to_read;
    if (!site_.file.writable())
      size_to_read = [this] { return files_ ? files_->index_size() : site_.file.size(); };
    newest = store_.load(root_, size, state, size_to_read);
  });
  // One rank may have met another error while the others found damage; all must act alike.
  const bool damaged =
      error && comm_.all_reduce(error->code() == Errc::enotnc ? 1 : 0, Reduce::min) != 0;
  if (error && (site_.file.writable() || !damaged)) {
    throw error
        ->reworded(
            site_.path + ": " + error->message(),
            error->code() == Errc::enotnc
                ? "open it for reading only to get at its other variables; " + error->advice()
                : error->advice())
        .as_own_matter(false);
  }
  comm_.forget_failed_meeting();
  if (error) store_.give_up(error->message());
  if (!error && site_.file.writable()) {
    if (files_ && !newest) give_up_records(site_, in_header);
    if (files_) files_->open_to_write(store_.data_files());
    if (!newest) naming(site_.path, [&] { store_.overrule(); });
    // The process that set the mark may have been killed before it was on the device. Until it is,
    // older synced states must not be overwritten. Nor must chunks of states that are given up,
    // until the one that overrules them is there.
    if (!newest || store_.is_synced())
      by_root(comm_, [&] { files_ ? files_->sync_index() : site_.file.sync(); });
  }
  shapes_in_header_ = -1;
  renew_codings();
  begun_ = true;
  return newest && !error;
}

// Each rank writes fill values to its share of the record.
void ChunkedLayout::fill_record(VarId id, Count record) {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  const auto n = static_cast<std::size_t>(var.ndims());
  Subarray part{std::vector<Count>(n, 0), var.shape, {}};
  part.start[0] = record;
  part.count[0] = 1;
  // The longest dimension is distributed.
  std::size_t split = 0;
  for (std::size_t d = 1; d < n; ++d) {
    if (split == 0 || var.shape[d] > var.shape[split]) split = d;
  }
  const Count length = split == 0 ? 1 : var.shape[split];
  const Count first = length * comm_.rank() / comm_.size();
  const Count last = length * (comm_.rank() + 1) / comm_.size();
  if (split > 0) {
    part.start[split] = first;
    part.count[split] = last - first;
  } else if (first == last) {
    part.count[0] = 0;
  }
  const Count elements = part.elements();
  std::vector<std::byte> values;
  std::vector<Request> requests;
  const auto mine = attempt_to([&] {
    values.resize(static_cast<std::size_t>(elements) * static_cast<std::size_t>(size_of(var.type)));
    fill_chunk(external_fill(var), values);
    if (elements == 0) return;
    Request& r = requests.emplace_back();
    r.var = id;
    r.write = true;
    r.selection = std::move(part);
    r.last_record = record + 1;
    r.elements = elements;
    r.packed = values.data();
    r.element_size = size_of(var.type);
  });
  agree_on_error(comm_, mine);
  carry_out(requests, true, true);
}

bool ChunkedLayout::header_is_old() const {
  store_.require_whole();
  return shapes_in_header_ != chosen_shapes(schema_);
}

void ChunkedLayout::header_written() { shapes_in_header_ = chosen_shapes(schema_); }

namespace {

void set_shape(const Schema& schema, const Method& method, Variable& var,
               std::span<const Count> shape) {
  std::vector<Count> clipped;
  if (!shape.empty()) {
    check_chunk_shape(var, clipped = clipped_chunk_shape(var, shape));
  }
  if (!var.chunking) var.chunking = Chunking{{}, of_chunks(codec_for(method, schema, var)), {}};
  var.chunking->shape = std::move(clipped);
  var.chunking->reason = var.chunking->shape.empty() ? "" : "set by the program";
}

bool set_codec(const Schema& schema, const Method& method, Variable& var, const std::string& text) {
  std::string codec = of_chunks(codec_by_program(var, text));
  if (!var.chunking) set_shape(schema, method, var, {});
  var.chunking->codec = std::move(codec);
  return true;
}

constexpr Count mib = 1 << 20;
constexpr std::string_view readers[] = {"auto", "owners", "everyone"};
constexpr std::string_view states[] = {"newest", "synced"};

constexpr KeySpec keys[] = {
    size_key({"chunk_bytes", "bytes, 16 to 256MiB", "1MiB",
              "Where no chunk shape is given, chunks of at least so many bytes, and at most four "
              "times that, are chosen from the first flush's pattern; slabs of decomposed "
              "variables that are encoded are cut into parts of such sizes.",
              "engine"},
             &Method::chunk_bytes, 16, 256 * mib)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | FrontEnd::convert_hdf5 |
                     FrontEnd::convert_zarr)
        .with(encoded_layouts),
    size_key({"chunk_cache", "bytes, at least 0", "16MiB",
              "Bytes of decoded chunks, and parts of slabs, that a rank keeps for later reads and "
              "for chunks that are written in part.",
              "engine"},
             &Method::chunk_cache, 0)
        .honoured_by(netcdf_files | FrontEnd::hdf5)
        .with(encoded_layouts),
    count_key({"codec_threads", "a number, at least 0", "0",
               "Threads of a rank that encode and decode chunks, and parts of slabs; 0: the node's "
               "processors, shared by its ranks.",
               "engine"},
              &Method::codec_threads, 0, 256)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | FrontEnd::checkpoints)
        .with(encoded_layouts),
    word_key({"chunk_read", "auto|owners|everyone", "auto",
              "Collective reads of chunks: owners decode each chunk once and share it, or everyone "
              "decodes what it reads; auto: what takes less time.",
              "engine"},
             place_in<&Method::chunk_read>, readers)
        .with(chunk_layouts),
    word_key({"chunk_state", "newest|synced", "newest",
              "Which state of a file with chunked or decomposed variables to open: the newest, or "
              "the last one that a sync completed, for files that a power failure damaged.",
              "engine"},
             place_in<&Method::chunk_state>, states)
        .with("file=opened and {encoded}"),
};

}  // namespace

}  // namespace forebay::chunked

namespace forebay {

extern const LayoutEntry chunked_layout{
    {"chunked", "variables are cut into chunks that a codec makes smaller", 20, chunked::keys,
     netcdf_files | FrontEnd::hdf5 | FrontEnd::convert_hdf5 | FrontEnd::convert_zarr,
     Encoded::chunks, "container=directory"},
    {.make = [](const ClassicSite& site) -> std::unique_ptr<ClassicPart> {
       return std::make_unique<chunked::ChunkedLayout>(site);
     },
     .apart = true,
     .is_in = chunked::has_anchors,
     .owns = chunked::is_reserved_attribute,
     .instead = "chunks are set with ncmpi_var_set_chunk and ncmpi_var_set_filter",
     .is_asked_for = [](const Schema& schema) { return schema.any_chunked(); },
     .has_beside = chunked::has_files_beside,
     .remove_beside = chunked::remove_files_beside,
     .set_shape = chunked::set_shape,
     .set_codec = chunked::set_codec,
     .open_reader = open_chunks}};

}  // namespace forebay
