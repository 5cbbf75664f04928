// The steps of enddef in the file: placement, moving old data, and clearing and filling new places.
#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "comm/agree.h"
#include "container/classic/classic.h"
#include "container/fill_bytes.h"
#include "format/classic_header.h"
#include "layout/codec_choice.h"

namespace forebay {

namespace {

constexpr Count block_size = 8 << 20;

/// Returns the offset one past the last byte of data.
Offset end_of_data(const Schema& schema) {
  Offset end = schema.header_size;
  for (const Variable& var : schema.vars) {
    if (!var.is_record) end = std::max(end, var.begin + var.inner_elements * size_of(var.type));
  }
  if (schema.numrecs == 0 || schema.recsize == 0)
    return end;  // begin_rec is aligned, and may lie beyond the file
  return std::max(end, schema.begin_rec + schema.numrecs * schema.recsize);
}

/// Writes zeros to ranges of a file, up to `end`. The ranges are distributed over the ranks in
/// blocks.
class Zeros {
 public:
  Zeros(const Comm& comm, File& file, Offset end) : comm_(comm), file_(file), end_(end) {}

  void put(Offset from, Offset to) {
    to = std::min(to, end_);
    for (; from < to && !failed_; from += block_size, ++number_) {
      if (number_ % comm_.size() != comm_.rank()) continue;
      const auto bytes = static_cast<std::size_t>(std::min(to - from, block_size));
      failed_ = attempt_to([&] {
        if (zeros_.size() < bytes) zeros_.resize(bytes);
        file_.write_at(from, {zeros_.data(), bytes});
      });
    }
  }
  const std::optional<Error>& failed() const { return failed_; }

 private:
  const Comm& comm_;
  File& file_;
  Offset end_;
  std::vector<std::byte> zeros_;
  Count number_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

void ClassicContainer::check_attribute(const std::string& name) const {
  for (const Part* part : parts(PartKind::layout)) {
    const auto* layout = static_cast<const LayoutEntry*>(part);
    if (!layout->in_classic.make || !layout->in_classic.owns(name)) continue;
    throw Error(Errc::ebadname,
                "attribute " + name + " describes " + layout->name + " variables in files",
                std::string("use another name; ") + layout->in_classic.instead);
  }
}

void ClassicContainer::choose(const Schema* old) {
  printed_.reset();
  placed_.reset();
  // What a failed enddef has left goes.
  std::erase_if(parts_, [](const Kept& kept) { return !kept.in_file; });
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i)
    schema_.vars[i].layout = nullptr;
  std::vector<Kept> fresh;
  for (const LayoutEntry* layout : part_layouts())
    if (!has_part(*layout)) fresh.push_back(make_part(*layout));
  std::vector<ClassicPart*> all;
  for (const auto* some : {&parts_, &fresh})
    for (const Kept& kept : *some) all.push_back(kept.part.get());
  std::stable_partition(all.begin(), all.end(),
                        [](ClassicPart* part) { return !part->chooses_last(); });
  for (ClassicPart* part : all)
    part->choose(old, [&](const Variable& v) {
      return std::any_of(all.begin(), all.end(),
                         [&](ClassicPart* other) { return other != part && other->keeps(v); });
    });
  for (Kept& kept : fresh) {
    const bool needed = std::any_of(schema_.vars.begin(), schema_.vars.end(),
                                    [&](const Variable& v) { return kept.part->keeps(v); });
    if (needed) add_part(std::move(kept));
  }
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i)
    add_quantisation(schema_.vars[i]);
}

void ClassicContainer::place(const Schema* old, const EnddefArguments& arguments) {
  asked_ = arguments;
  Alignment alignment = alignment_for(arguments);
  auto printed = std::exchange(printed_, std::nullopt);
  placed_.reset();
  if (heap())
    return settle_alignment(
        heap()->place(printed ? std::move(*printed) : stored(), old, alignment));
  if (parts_.empty()) {
    alignment = settle(alignment, schema_);
    place_variables(schema_, old, alignment, classic::header_size(schema_));
    return settle_alignment(alignment);
  }
  // A variable that is kept apart has only the space of an anchor.
  Schema now = printed ? std::move(*printed) : stored();
  const std::optional<Schema> before = old ? std::optional(stored(*old)) : std::nullopt;
  alignment = settle(alignment, now);
  place_variables(now, before ? &*before : nullptr, alignment, classic::header_size(now));
  for (std::size_t i = 0; i < schema_.vars.size(); ++i) schema_.vars[i].begin = now.vars[i].begin;
  schema_.header_size = now.header_size;
  schema_.header_extent = now.header_extent;
  schema_.begin_rec = now.begin_rec;
  schema_.recsize = now.recsize;
  settle_alignment(alignment);
  if (comm_.is_root()) placed_ = std::move(now);
}

bool ClassicContainer::is_header_alone(const Schema* old) const {
  return !old && parts_.empty() && !fills_anything();
}

bool ClassicContainer::is_defined_by_root(const Schema* old) const {
  return is_header_alone(old) && (puts_off_ || !being_made_);
}

bool ClassicContainer::redefine(const Schema* old) {
  auto placed = std::exchange(placed_, std::nullopt);
  // Files beside this one would exist without it.
  const bool no_others = parts_.empty() || (parts_.size() == 1 && heap());
  const bool may_wait = puts_off_ && !old && !fills_anything() && no_others;
  if (being_made_ && !(may_wait && parts_.empty())) finish_making();
  each_apart([](ApartPart& part) { part.make_files(); });
  moved_.placed(old ? old->header_size : schema_.header_size);
  if (old && !begun_heap()) move_variables(*old);
  each_apart([&](ApartPart& part) {
    part.start(old, [&](const Move& move) {
      relocate([&](const auto& f) { f(move); });
      moved_.add(*old, schema_, move.bytes, asked_);
    });
  });
  // If nothing else follows here, the reduction at the end of define mode also spreads an error.
  definitions_wait_ = may_wait;
  const bool meets = !may_wait && !parts_.empty();
  if (meets) {
    const auto anchors = [&] { each_apart([&](ApartPart& part) { part.put_anchors(old); }); };
    write_definitions(anchors, placed ? &*placed : nullptr);
  } else if (!may_wait && comm_.is_root()) {
    write_header();
  }
  parts_begin();
  return meets;
}

void ClassicContainer::move_variables(const Schema& old) {
  const Schema before = stored(old), now = stored();
  relocate([&](const auto& move) { for_each_move(before, now, move); });
  if (site_.method.report.empty()) return;
  Count bytes = 0;
  for_each_move(before, now, [&](const Move& move) { bytes += move.bytes; });
  moved_.add(before, now, bytes, asked_);
}

bool ClassicContainer::fills_anything() const {
  return std::any_of(schema_.vars.begin(), schema_.vars.end(),
                     [](const Variable& var) { return !var.no_fill; });
}

Alignment alignment_hints(const Method& method) {
  Alignment alignment;
  alignment.header_align = method.header_align;
  alignment.var_align = method.var_align;
  alignment.record_align = method.record_align;
  alignment.striping_unit = method.striping_unit;
  return alignment;
}

Alignment ClassicContainer::alignment_for(const EnddefArguments& arguments) const {
  Alignment alignment = alignment_hints(site_.method);
  if (alignment_) alignment = *alignment_;
  alignment.h_minfree = arguments.h_minfree;
  alignment.v_align = arguments.v_align;
  alignment.v_minfree = arguments.v_minfree;
  alignment.r_align = arguments.r_align;
  // A hint overrides the argument. The argument counts at the first call, and later if it is
  // larger.
  const auto use = [&](const std::string& name, Count argument, const char* hint, Count hinted,
                       Count& in_force) {
    if (argument <= 0) return;
    if (hinted <= 0) {
      if (argument > in_force) in_force = 0;  // settle() takes it
    } else if (argument != hinted) {
      note_overruled(
          site_.method, name + ("=" + std::to_string(argument)) + " of ncmpi__enddef",
          hint + ("=" + std::to_string(hinted)) + " (" + site_.method.origin_of(hint) + ")");
    }
  };
  alignment.moves_header =
      alignment_ && hints_.header_align <= 0 && arguments.v_align > alignment.header_align;
  use("v_align", arguments.v_align, "nc_header_align_size", hints_.header_align,
      alignment.header_align);
  use("r_align", arguments.r_align, "nc_record_align_size", hints_.record_align,
      alignment.record_align);
  if (begun_heap() && (arguments.h_minfree > 0 || arguments.v_align > 0 ||
                       arguments.v_minfree > 0 || arguments.r_align > 0))
    note_overruled(site_.method, "what ncmpi__enddef asked for of room and alignment",
                   "the chunks, which lie behind the header already");
  return alignment;
}

void ClassicContainer::settle_alignment(const Alignment& alignment) {
  alignment_ = alignment;
  site_.method.header_align = alignment.header_align;  // inquiries return the values in force
  site_.method.var_align = alignment.var_align;
  site_.method.record_align = alignment.record_align;
}

// Moves run from the end of the file to its front. They are cut into blocks, which are distributed
// over the ranks in batches. In each batch all ranks read their blocks, and then all write. So a
// block whose destination overlaps the source of another one is safe. Memory is allocated before
// the first move, because half a move would destroy the data.
void ClassicContainer::relocate(const Moves& moves) {
  struct Share {  // of one rank, in a batch
    Count blocks = 0, bytes = 0;
  };
  const auto for_each_block = [&](auto&& block, auto&& end_batch) {
    Count batch_bytes = 0, batch_blocks = 0;
    moves([&](const Move& move) {
      for (Count left = move.bytes; left > 0;) {
        const Count now = std::min(left, block_size);
        left -= now;
        if (batch_blocks % comm_.size() == comm_.rank())
          block(Move{move.from + left, move.to + left, now});
        ++batch_blocks;
        batch_bytes += now;
        if (batch_bytes < block_size * comm_.size() && batch_blocks < 1024 * comm_.size()) continue;
        end_batch();
        batch_bytes = batch_blocks = 0;
      }
    });
    if (batch_blocks > 0) end_batch();
  };
  Share batch, most;
  bool any = false;
  for_each_block(
      [&](const Move& move) {
        batch = {batch.blocks + 1, batch.bytes + move.bytes};
      },
      [&] {
        any = true;
        most.blocks = std::max(most.blocks, batch.blocks);
        most.bytes = std::max(most.bytes, batch.bytes);
        batch = {};
      });
  if (!any) return;
  struct Block {
    Move move;
    std::span<std::byte> bytes;
  };
  std::vector<Block> mine;  // of the current batch
  std::vector<std::byte> memory;
  agree_on_error(comm_, attempt_to([&] {
                   mine.reserve(static_cast<std::size_t>(most.blocks));
                   memory.resize(static_cast<std::size_t>(most.bytes));
                 }));
  std::optional<Error> failure;
  const auto for_mine = [&](auto&& f) {
    for (Block& block : mine) attempt_into(failure, [&] { f(block); });
  };
  std::size_t used = 0;
  for_each_block(
      [&](const Move& move) {
        const auto bytes = static_cast<std::size_t>(move.bytes);
        mine.push_back({move, std::span(memory).subspan(used, bytes)});
        used += bytes;
      },
      [&] {
        for_mine([&](Block& b) { b.bytes = b.bytes.first(file_.read_at(b.move.from, b.bytes)); });
        // After this barrier every block of the batch is in memory, and its old place may be
        // overwritten.
        comm_.barrier();
        for_mine([&](Block& b) {
          if (!failure) file_.write_at(b.move.to, b.bytes);
        });
        // This barrier keeps batches apart: no rank reads or writes for the next batch before this
        // one is in the file.
        comm_.barrier();
        mine.clear();
        used = 0;
      });
  agree_on_error(comm_, failure);
}

// Gaps between variables, and places of variables that have no data yet, may hold old bytes. They
// become zero, as in a new file.
void ClassicContainer::clear_gaps(const Schema& old, const Schema& now) {
  const Offset old_end = end_of_data(old);
  Zeros zeros(comm_, file_, old_end);
  const bool same_places = now.header_size == old.header_size && now.begin_rec == old.begin_rec &&
                           now.recsize == old.recsize && now.vars.size() == old.vars.size();
  if (same_places) return;
  // The old variables stand in file order. The gaps between them at their new places are cleared.
  auto clear_between = [&](bool records, Offset shift, Offset at, Offset end) {
    for (std::size_t i = 0; i < old.vars.size(); ++i) {
      const Variable& var = now.vars[i];
      if (var.is_record != records) continue;
      zeros.put(at, var.begin + shift);
      at = var.begin + shift + var.inner_elements * size_of(var.type);
    }
    zeros.put(at, end);
  };
  clear_between(false, 0, now.header_size, now.begin_rec);
  const bool same_records = now.begin_rec == old.begin_rec && now.recsize == old.recsize;
  for (Count r = 0; r < old.numrecs && !same_records; ++r) {
    const Offset begin = now.begin_rec + r * now.recsize;
    if (begin >= old_end) break;
    clear_between(true, r * now.recsize, begin, begin + now.recsize);
  }
  agree_on_error(comm_, zeros.failed());
}

// Bytes after the end of a heap may be old bytes that it gave back.
void ClassicContainer::clear_new(const Schema& old) {
  std::vector<const Variable*> places;
  for (std::size_t i = old.vars.size(); i < schema_.vars.size(); ++i) {
    const Variable& var = schema_.vars[i];
    if (var.no_fill && !var.is_record && !keeper_apart(var)) places.push_back(&var);
  }
  if (places.empty()) return;
  Zeros zeros(comm_, file_, told_by_root(comm_, [&] { return file_.size(); }));
  for (const Variable* var : places)
    zeros.put(var->begin, var->begin + var->inner_elements * size_of(var->type));
  agree_on_error(comm_, zeros.failed());
}

bool ClassicContainer::fills_new(const Schema* old) const {
  return old || std::any_of(schema_.vars.begin(), schema_.vars.end(), [&](const Variable& var) {
           return !var.no_fill && !keeper_apart(var);
         });
}

void ClassicContainer::fill_new(const Schema* old) {
  if (old && begun_heap()) clear_new(*old);
  if (old && !begun_heap()) clear_gaps(stored(*old), stored());
  std::optional<Error> mine;
  bool any = false;
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
    const Variable& var = schema_.vars[i];
    // Elements that were never written read as the fill value if the variable is kept apart.
    if (var.no_fill || keeper_apart(var)) continue;
    any = true;
    if (!var.is_record) {
      auto error = attempt_to(
          [&] { fill_bytes(comm_, file_, external_fill(var), var.begin, var.inner_elements); });
      if (error && !mine) mine = error;
      continue;
    }
    for (Count r = 0; r < schema_.numrecs; ++r) {
      auto error = attempt_to([&] {
        fill_bytes(comm_, file_, external_fill(var), var.begin + r * schema_.recsize,
                   var.inner_elements);
      });
      if (error && !mine) mine = error;
    }
  }
  if (any) agree_on_error(comm_, mine);
}

}  // namespace forebay
