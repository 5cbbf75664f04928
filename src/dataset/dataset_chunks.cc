// Datasets with chunked variables (D5 ch. 5): which variables are chunked, where anchors, root
// slots and the heap of chunks lie, and how redefinition keeps them.
#include <algorithm>
#include <cstring>

#include "array/placement.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "codec/pipeline.h"
#include "dataset/dataset.h"
#include "format/chunk_schema.h"
#include "format/classic.h"
#include "plan/chunk_shape.h"

namespace forebay {

namespace {

/// Room that a header of a file with chunks is given to grow in, before all behind it must move.
constexpr Count header_room = 4096;
constexpr Count heap_align = chunked::slot_stride;

/// A coordinate variable has the name of its only dimension; what depends on it expects it exact.
bool is_coordinate(const Schema& schema, const Variable& var) {
  return var.ndims() == 1 && schema.dims[static_cast<std::size_t>(var.dimids[0])].name == var.name;
}

/// Whether a rule for variables of that name has the key.
bool by_rule(const Method& method, const Variable& var, const char* key) {
  const auto rules = matching_rules(method, var.name);
  return std::any_of(rules.begin(), rules.end(),
                     [&](const VariableRule& r) { return r.keys.contains(key); });
}

/// The codec that the method names for a variable. A lossy one for the whole file leaves out
/// coordinates and whatever is not floating-point; a rule for the variable is taken at its word.
std::string codec_for(const Method& method, const Schema& schema, const Variable& var) {
  const std::string text = variable_method(method, var.name).at("codec");
  const Pipeline pipeline = Pipeline::parse(text);
  if (pipeline.lossy() && !by_rule(method, var, "codec") && is_coordinate(schema, var))
    return pipeline.lossless().for_type(var.type).text();
  return pipeline.for_type(var.type).text();
}

/// Whether the method wants a variable in chunks. What would be stored as it is in any case costs
/// more to find than it takes: it stays where every reader finds it, but for a rule of its own.
bool wants_chunks(const Method& method, const Variable& var) {
  if (var.ndims() == 0 || variable_method(method, var.name).at("layout") != "chunked") return false;
  const Count few = std::min(Pipeline::least_bytes, method.chunk_bytes);
  return var.is_record || var.inner_bytes() >= few || by_rule(method, var, "layout");
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

}  // namespace

// Data that is there was cut and encoded in one way, which nothing may change behind it.
Variable& Dataset::variable_to_chunk(VarId id) {
  require_writable();
  require_define();
  const Variable& var = variable(id);
  if (var.ndims() == 0)
    throw Error(Errc::einval, "variable " + var.name + " is a scalar and cannot be chunked");
  if (before_redef_ && static_cast<std::size_t>(id) < before_redef_->vars.size()) {
    throw Error(Errc::einval, "variable " + var.name + " has its layout already",
                "set chunks and filters before the enddef that follows its definition");
  }
  return schema_.vars[static_cast<std::size_t>(id)];
}

void Dataset::set_chunk(VarId id, std::span<const Count> shape) {
  Variable& v = variable_to_chunk(id);
  std::vector<Count> clipped;
  if (!shape.empty()) {
    check_chunk_shape(v, clipped = clipped_chunk_shape(v, shape));
  }
  if (!v.chunking) v.chunking = Chunking{{}, codec_for(method_, schema_, v), {}};
  v.chunking->shape = std::move(clipped);
  v.chunking->reason = v.chunking->shape.empty() ? "" : "set by the program";
  header_changed();
}

void Dataset::set_filter(VarId id, const std::string& text) {
  Variable& var = variable_to_chunk(id);
  const Pipeline pipeline = Pipeline::parse(text);
  if (pipeline.lossy() && !is_floating(var.type)) {
    throw Error(Errc::einval,
                "variable " + var.name + " of type " + name_of(var.type) +
                    " cannot go through the lossy codec " + pipeline.text(),
                "use a lossless one: deflate, zstd, shuffle, bitshuffle");
  }
  if (!var.chunking) set_chunk(id, {});
  var.chunking->codec = pipeline.for_type(var.type).text();
  header_changed();
}

// Record variables that are not chunked would need a record section, which chunks at the end of the
// file leave no room for; they become chunks of whole records (D5 §5.2.4).
void Dataset::choose_chunking(const Schema* old) {
  const std::size_t first = old ? old->vars.size() : 0;
  const bool old_records =
      old && !old->any_chunked() &&
      std::any_of(old->vars.begin(), old->vars.end(), [](auto& v) { return v.is_record; });
  for (std::size_t i = first; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (old_records && var.chunking) {
      throw Error(Errc::einval,
                  "variable " + var.name + " cannot be chunked: " + path_ +
                      " has record variables in classic layout, which must stay at its end",
                  "chunk variables before the file's first enddef");
    }
    if (var.chunking || old_records || !wants_chunks(method_, var)) continue;
    var.chunking = Chunking{{}, codec_for(method_, schema_, var), {}};
  }
  if (!schema_.any_chunked()) return;
  for (std::size_t i = first; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    if (var.is_record && !var.chunking) var.chunking = Chunking{};
    if (!var.chunking || !var.chunking->shape.empty()) continue;
    // Else the first flush chooses.
    if (auto choice = small_chunk_shape(var, method_.chunk_bytes)) {
      var.chunking->shape = std::move(choice->shape);
      var.chunking->reason = std::move(choice->reason);
    }
  }
}

void Dataset::place_chunked(const Schema* old, const Alignment& wanted) {
  Schema stored = chunked::to_stored(schema_, 0);
  const Offset header_size = classic::header_size(stored);
  if (!chunks_) {
    Alignment alignment = settle(wanted, stored);
    alignment.h_minfree = std::max(alignment.h_minfree, header_room);
    place_variables(stored, old, alignment, header_size);
    copy_places(stored, schema_);
    chunk_root_ = round_up(std::max(end_of_fixed(schema_), stored.begin_rec), heap_align);
    alignment.h_minfree = wanted.h_minfree;
    settle_alignment(alignment);
    return;
  }
  const Alignment alignment = settle(wanted, stored);
  chunk_move_ = place_behind(stored, *old, alignment, header_size, chunks_->end(), header_room);
  copy_places(stored, schema_);
  chunk_root_ = chunks_->root() + chunk_move_;
  settle_alignment(alignment);
}

void Dataset::start_chunks(const Schema* old) {
  if (!chunks_) {
    chunks_ = std::make_unique<chunked::ChunkStore>(schema_, *transport_, comm_);
    chunks_->create(chunk_root_);
  } else if (old) {
    if (chunk_move_ > 0) {
      const Move move{old->header_extent, old->header_extent + chunk_move_,
                      chunks_->end() - old->header_extent};
      relocate([&](const auto& f) { f(move); });
      chunks_->moved(chunk_move_);
    }
    chunks_->grow(schema_.vars.size());
    chunks_->skip_to(end_of_fixed(schema_));
    chunks_->touch();
    chunks_->publish();
    // The last synced state has been moved away from its root.
    if (chunk_move_ > 0) {
      agree(attempt_to([&] { file_->sync(); }));
      mark_synced();
    }
  }
  chunk_move_ = 0;
  for (std::size_t i = 0; i < schema_.vars.size(); ++i) {
    if (!schema_.vars[i].chunking) continue;
    chunked::ChunkTable& table = chunks_->table(static_cast<VarId>(i));
    table.shape = schema_.vars[i].chunking->shape;
    table.reason = schema_.vars[i].chunking->reason;
  }
  write_anchors(old);
  make_layout();
}

// All ranks have synced their data.
void Dataset::mark_synced() {
  if (!chunks_->mark_synced()) return;
  std::optional<Error> mine;
  if (comm_.is_root()) mine = attempt_to([&] { file_->sync(); });
  agree(mine);
  chunks_->forget_older_synced();
}

// An anchor holds the fill value, so that readers that know nothing of chunks show no number.
void Dataset::write_anchors(const Schema* old) {
  std::optional<Error> mine;
  if (comm_.is_root()) {
    mine = attempt_to([&] {
      std::vector<std::byte> bytes;
      Offset begin = 0;
      const auto write = [&] {
        if (!bytes.empty()) file_->write_at(begin, bytes);
        bytes.clear();
      };
      for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
        const Variable& var = schema_.vars[i];
        if (!var.chunking) continue;
        if (bytes.empty() || var.begin < begin ||
            var.begin > begin + static_cast<Offset>(bytes.size()) + 8) {
          write();
          begin = var.begin;
        }
        bytes.resize(static_cast<std::size_t>(var.begin - begin));
        const auto fill = external_fill(var);
        bytes.insert(bytes.end(), fill.begin(), fill.end());
      }
      write();
    });
  }
  agree(mine);
}

void Dataset::load_chunks() {
  chunks_ = std::make_unique<chunked::ChunkStore>(schema_, *transport_, comm_);
  const auto state =
      method_.chunk_state == "synced" ? chunked::OpenState::synced : chunked::OpenState::newest;
  Offset size = 0;
  std::optional<Error> mine;
  if (comm_.is_root()) mine = attempt_to([&] { size = file_->size(); });
  agree(mine);
  const auto error = attempt_together(comm_, [&] { chunks_->load(chunk_root_, size, state); });
  // A rank may have failed otherwise while the others found damage: all do the same.
  const bool damaged =
      error && comm_.all_reduce(error->code() == Errc::enotnc ? 1 : 0, Reduce::min) != 0;
  if (error && (writable_ || !damaged)) {
    throw Error(error->code(), path_ + ": " + error->message(),
                error->code() == Errc::enotnc
                    ? "open it for reading only to get at its other variables; " + error->advice()
                    : error->advice());
  }
  comm_.forget_failed_meeting();
  if (error) chunks_->give_up(error->message());
  if (!error && writable_ && chunks_->is_synced()) {
    // Who set the mark may have been killed before it was on the device; until it is there, older
    // synced states must not be overwritten.
    if (comm_.is_root()) mine = attempt_to([&] { file_->sync(); });
    agree(mine);
  }
  shapes_in_header_ = -1;
  make_layout();
}

// Each rank writes fill values over its share of the record.
void Dataset::fill_chunked_record(VarId id, Count record) {
  const Variable& var = variable(id);
  const auto n = static_cast<std::size_t>(var.ndims());
  Access access;
  access.var = id;
  access.write = true;
  access.last_record = record + 1;
  Subarray part{std::vector<Count>(n, 0), var.shape, {}};
  part.start[0] = record;
  part.count[0] = 1;
  // The longest dimension is dealt out.
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
  access.elements = part.elements();
  const auto fill = external_fill(var);
  std::vector<std::byte> value(fill.size());
  copy_swapped(value.data(), fill.data(), fill.size(), static_cast<int>(fill.size()));
  std::vector<std::byte> values;
  std::optional<Error> mine = attempt_to([&] {
    values.resize(static_cast<std::size_t>(access.elements) * value.size());
    for (std::size_t at = 0; at < values.size(); at += value.size())
      std::memcpy(values.data() + at, value.data(), value.size());
  });
  access.selection = std::move(part);
  access.memory.data = values.data();
  access.memory.type = var.type;
  std::vector<Access> accesses;
  if (!mine && access.elements > 0) accesses.push_back(std::move(access));
  execute(accesses, true, mine);
  if (record + 1 > schema_.numrecs) note_records(record + 1, true);
}

}  // namespace forebay
