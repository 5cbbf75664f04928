// What enddef does: placement, moving data that was there, clearing and filling what is new, the
// header.
#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "base/byteorder.h"
#include "dataset/dataset.h"
#include "format/classic.h"

namespace forebay {

namespace {

constexpr Count block_size = 8 << 20;

/// One end past the last byte of data.
Offset end_of_data(const Schema& schema) {
  Offset end = schema.header_size;
  for (const Variable& var : schema.vars) {
    if (!var.is_record) end = std::max(end, var.begin + var.inner_elements * size_of(var.type));
  }
  if (schema.numrecs == 0 || schema.recsize == 0)
    return end;  // begin_rec is aligned, and may lie beyond the file
  return std::max(end, schema.begin_rec + schema.numrecs * schema.recsize);
}

}  // namespace

// What ranks defined before they parted is the same. Here they meet again, those too whose partner
// was still in another function.
void Dataset::agree_on_enddef(const EnddefArguments& a) {
  const auto mine = attempt_to([&] {
    require_define();
    if (std::min({a.h_minfree, a.v_align, a.v_minfree, a.r_align}) < 0)
      throw Error(Errc::einval, "an argument of _enddef is negative");
  });
  if (!method_.safe_mode) {
    if (mine) throw *mine;
  } else if (!parted_) {
    constexpr Errc differ = Errc::emultidefine_fnc_args;
    parted_ = !forebay::agree_on_call(
        comm_, "enddef", mine,
        {{differ, a.h_minfree}, {differ, a.v_align}, {differ, a.v_minfree}, {differ, a.r_align}});
  }
}

void Dataset::enddef(const EnddefArguments& arguments) {
  agree_on_enddef(arguments);
  parted_ = false;
  StepTimer timer(report_, Step::define);
  const Schema* old = before_redef_ ? &*before_redef_ : nullptr;
  together(comm_, [&] { place(old, arguments); });
  // From here on the file has the new definitions, whatever happens to what nobody has written.
  const auto before = std::exchange(before_redef_, std::nullopt);
  changed_ = true;
  created_ = false;
  mode_ = Mode::collective;
  together(comm_, [&] {
    if (before && !chunks_) clear_gaps(*before);
    fill_new_variables(before ? &*before : nullptr);
    stage_->use(*layout_);
  });
}

void Dataset::place(const Schema* old, const EnddefArguments& arguments) {
  if (chunks_ && !(old && old->any_chunked())) {  // of an enddef that failed
    auto chunks = std::move(chunks_);
    auto layout = std::move(layout_);
    if (const auto failed = attempt_to([&] { make_layout(); })) {
      chunks_ = std::move(chunks);
      layout_ = std::move(layout);
      stage_->use(*layout_);
      throw *failed;
    }
  }
  choose_chunking(old);
  agree_on_schema([&] {
    if (schema_.any_chunked()) return place_chunked(old, alignment_for(arguments));
    const Alignment alignment = settle(alignment_for(arguments), schema_);
    place_variables(schema_, old, alignment, classic::header_size(schema_));
    settle_alignment(alignment);
  });
  if (old && !chunks_) relocate([&](const auto& move) { for_each_move(*old, schema_, move); });
  if (schema_.any_chunked()) start_chunks(old);
  write_header();
}

Alignment Dataset::alignment_for(const EnddefArguments& arguments) const {
  Alignment alignment;
  alignment.header_align = method_.header_align;
  alignment.var_align = method_.var_align;
  alignment.record_align = method_.record_align;
  alignment.striping_unit = method_.striping_unit;
  if (alignment_) alignment = *alignment_;
  alignment.h_minfree = arguments.h_minfree;
  alignment.v_align = arguments.v_align;
  alignment.v_minfree = arguments.v_minfree;
  alignment.r_align = arguments.r_align;
  return alignment;
}

void Dataset::settle_alignment(const Alignment& alignment) {
  alignment_ = alignment;
  method_.header_align = alignment.header_align;  // what inquiries tell is what is in force
  method_.var_align = alignment.var_align;
  method_.record_align = alignment.record_align;
}

// Moves run from the end of the file to its front. They are cut into blocks and dealt to the ranks
// in batches: all ranks read theirs, then all write, so that a block whose destination overlaps
// another's source is safe. Memory for them is there before the first one: half a move is the end
// of the data.
void Dataset::relocate(const std::function<void(const std::function<void(const Move&)>&)>& moves) {
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
  std::vector<Block> mine;  // of the batch at hand
  std::vector<std::byte> memory;
  agree(attempt_to([&] {
    mine.reserve(static_cast<std::size_t>(most.blocks));
    memory.resize(static_cast<std::size_t>(most.bytes));
  }));
  std::optional<Error> failure;
  const auto for_mine = [&](auto&& f) {
    for (Block& block : mine) {
      const auto error = attempt_to([&] { f(block); });
      if (error && !failure) failure = error;
    }
  };
  std::size_t used = 0;
  for_each_block(
      [&](const Move& move) {
        const auto bytes = static_cast<std::size_t>(move.bytes);
        mine.push_back({move, std::span(memory).subspan(used, bytes)});
        used += bytes;
      },
      [&] {
        for_mine([&](Block& b) { b.bytes = b.bytes.first(file_->read_at(b.move.from, b.bytes)); });
        // Behind it every block of the batch is in memory, and its old place may be written to.
        comm_.barrier();
        for_mine([&](Block& b) {
          if (!failure) file_->write_at(b.move.to, b.bytes);
        });
        // Batches stay apart: nobody reads or writes for the next one before this one is in the
        // file.
        comm_.barrier();
        mine.clear();
        used = 0;
      });
  agree(failure);
}

// What lies between variables, and the places of variables that have no data yet, may hold bytes of
// what stood there before. They become zero, as in a new file.
void Dataset::clear_gaps(const Schema& old) {
  const Offset old_end = end_of_data(old);
  std::vector<std::byte> zeros;
  Count number = 0;
  std::optional<Error> mine;
  auto clear = [&](Offset from, Offset to) {
    to = std::min(to, old_end);
    for (; from < to && !mine; from += block_size, ++number) {
      if (number % comm_.size() != comm_.rank()) continue;
      const auto bytes = static_cast<std::size_t>(std::min(to - from, block_size));
      mine = attempt_to([&] {
        if (zeros.size() < bytes) zeros.resize(bytes);
        file_->write_at(from, {zeros.data(), bytes});
      });
    }
  };
  const bool same_places = schema_.header_size == old.header_size &&
                           schema_.begin_rec == old.begin_rec && schema_.recsize == old.recsize &&
                           schema_.vars.size() == old.vars.size();
  if (same_places) return;
  // The variables of before stand in file order; what lies between them at their new places is
  // cleared.
  auto clear_between = [&](bool records, Offset shift, Offset at, Offset end) {
    for (std::size_t i = 0; i < old.vars.size(); ++i) {
      const Variable& var = schema_.vars[i];
      if (var.is_record != records) continue;
      clear(at, var.begin + shift);
      at = var.begin + shift + var.inner_elements * size_of(var.type);
    }
    clear(at, end);
  };
  clear_between(false, 0, schema_.header_size, schema_.begin_rec);
  const bool same_records = schema_.begin_rec == old.begin_rec && schema_.recsize == old.recsize;
  for (Count r = 0; r < old.numrecs && !same_records; ++r) {
    const Offset begin = schema_.begin_rec + r * schema_.recsize;
    if (begin >= old_end) break;
    clear_between(true, r * schema_.recsize, begin, begin + schema_.recsize);
  }
  agree(mine);
}

void Dataset::fill_new_variables(const Schema* old) {
  std::optional<Error> mine;
  bool any = false;
  for (std::size_t i = old ? old->vars.size() : 0; i < schema_.vars.size(); ++i) {
    const Variable& var = schema_.vars[i];
    // What was never written of a chunked variable is its fill value.
    if (var.no_fill || var.chunking) continue;
    any = true;
    if (!var.is_record) {
      auto error = attempt_to([&] { fill_elements(var, var.begin, var.inner_elements); });
      if (error && !mine) mine = error;
      continue;
    }
    for (Count r = 0; r < schema_.numrecs; ++r) {
      auto error = attempt_to(
          [&] { fill_elements(var, var.begin + r * schema_.recsize, var.inner_elements); });
      if (error && !mine) mine = error;
    }
  }
  if (any) agree(mine);
}

// Each rank writes its share of the elements.
void Dataset::fill_elements(const Variable& var, Offset offset, Count elements) {
  const Count width = size_of(var.type);
  const Count share = elements / comm_.size(), extra = elements % comm_.size();
  const Count first = share * comm_.rank() + std::min<Count>(comm_.rank(), extra);
  const Count mine = share + (comm_.rank() < extra ? 1 : 0);
  const std::vector<std::byte> value = external_fill(var);
  std::vector<std::byte> block(
      static_cast<std::size_t>(std::min(mine, block_size / width) * width));
  for (std::size_t at = 0; at < block.size(); at += value.size()) {
    std::memcpy(block.data() + at, value.data(), value.size());
  }
  Offset at = offset + first * width;
  for (Count left = mine * width; left > 0;) {
    const Count now = std::min<Count>(left, static_cast<Count>(block.size()));
    file_->write_at(at, {block.data(), static_cast<std::size_t>(now)});
    at += now;
    left -= now;
  }
}

void Dataset::fill_record(VarId id, Count record) {
  require_data();
  require_writable();
  const Variable& var = variable(id);
  if (!var.is_record)
    throw Error(Errc::enotrecvar, "variable " + var.name + " has no record dimension");
  // A fill value of its own counts as fill mode, as in PnetCDF.
  if (var.no_fill && !own_fill_value(var, var.type))
    throw Error(Errc::enotfill, "variable " + var.name + " is not in fill mode",
                "call def_var_fill");
  if (record < 0) throw Error(Errc::einvalcoords, "record numbers begin at 0");
  together(comm_, [&] {
    if (stage_->holds_writes()) stage_->flush(true);  // what was staged came before
    if (var.chunking) {
      fill_chunked_record(id, record);
      // Nor does it come behind what another rank writes from here on.
      if (stage_->holds_writes()) stage_->flush(true);
      return;
    }
    agree(attempt_to(
        [&] { fill_elements(var, var.begin + record * schema_.recsize, var.inner_elements); }));
    changed_ = true;
    note_records(record + 1, true);
  });
}

}  // namespace forebay
