#include "plan/classic_placement.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "array/placement.h"
#include "base/error.h"

namespace forebay {
namespace {

constexpr Count unit = 4;  // every begin is a multiple of it
constexpr Count default_header_align = 512;
constexpr Count stripes_worth_aligning = 4;
constexpr Offset max_int32 = std::numeric_limits<std::int32_t>::max();
constexpr Count max_count = std::numeric_limits<Count>::max();

[[noreturn]] void too_far(const Variable& var, const char* last_byte, const char* advice) {
  throw Error(Errc::evarsize,
              "variable " + var.name + " lies beyond the last byte that the format can address, " +
                  last_byte,
              advice);
}

// offset + bytes. The error for a sum beyond 63 bits names `var`.
Offset add(Offset offset, Count bytes, const Variable& var) {
  Offset sum = 0;
  if (!add_fits(offset, bytes, sum)) too_far(var, "2^63-1", "");
  return sum;
}

// CDF-1 stores begins in 32 bits, which other readers treat as signed.
void check_begin(const Schema& schema, Offset begin, const Variable& var) {
  if (schema.version == 1 && begin > max_int32)
    too_far(var, "2^31-1", "create the file as CDF-2 or CDF-5");
}

Offset align(Offset offset, Count multiple) {
  Offset sum = 0;
  if (!add_fits(offset, multiple - 1, sum))
    throw Error(Errc::evarsize, "an alignment moves the data beyond 63 bits");
  return sum / multiple * multiple;
}

// Returns the begins of the fixed variables before redef one by one, in definition order: the first
// variables of a redefined schema are the old ones. 0 if there are no more.
class OldBegins {
 public:
  explicit OldBegins(const Schema* old) : old_(old) {}

  Offset next() {
    if (old_ == nullptr) return 0;
    for (; i_ < old_->vars.size(); ++i_) {
      if (!old_->vars[i_].is_record) return old_->vars[i_++].begin;
    }
    return 0;
  }

 private:
  const Schema* old_;
  std::size_t i_ = 0;
};

}  // namespace

Alignment settle(Alignment a, const Schema& schema) {
  Count fixed_bytes = 0;
  for (const Variable& var : schema.vars) {
    if (!var.is_record && !add_fits(fixed_bytes, var.vsize, fixed_bytes)) fixed_bytes = max_count;
  }
  if (a.header_align <= 0) {
    if (a.v_align > 0) {
      a.header_align = a.v_align;
    } else if (fixed_bytes > 0 && a.r_align > 0) {
      a.header_align = a.r_align;
    } else if (a.striping_unit > 0 && fixed_bytes / stripes_worth_aligning > a.striping_unit) {
      a.header_align = a.striping_unit;
    } else {
      a.header_align = default_header_align;
    }
  }
  if (a.record_align <= 0) a.record_align = a.r_align;
  for (Count* value : {&a.header_align, &a.var_align, &a.record_align})
    *value = std::max(unit, align(*value, unit));
  return a;
}

void place_variables(Schema& schema, const Schema* old, const Alignment& alignment,
                     Offset header_size) {
  const Alignment a = settle(alignment, schema);
  check_variable_sizes(schema);
  std::vector<Offset> begins(schema.vars.size());

  Offset end = header_size;
  if (!schema.vars.empty())
    end = align(add(end, std::max<Count>(0, a.h_minfree), schema.vars[0]), a.header_align);
  if (old != nullptr) end = std::max(end, old->header_extent);
  if (old != nullptr && a.moves_header) end = align(end, a.header_align);

  bool have_fixed = false;
  Offset first_fixed = 0;
  OldBegins old_fixed(old);
  for (std::size_t i = 0; i < schema.vars.size(); ++i) {
    const Variable& var = schema.vars[i];
    if (var.is_record) continue;
    check_begin(schema, end, var);
    begins[i] = std::max(align(end, a.var_align), old_fixed.next());
    end = add(begins[i], var.vsize, var);
    if (!std::exchange(have_fixed, true)) first_fixed = begins[i];
  }

  Offset begin_rec = old != nullptr ? old->begin_rec : 0;
  if (begin_rec < end || begin_rec % a.var_align != 0) begin_rec = align(end, a.var_align);
  Offset wanted = 0;
  if (!add_fits(end, std::max<Count>(0, a.v_minfree), wanted))
    throw Error(Errc::evarsize, "the free space after the fixed variables leaves 63 bits");
  if (begin_rec < wanted) begin_rec = align(wanted, a.var_align);
  begin_rec = align(begin_rec, a.record_align);
  if (old != nullptr) begin_rec = std::max(begin_rec, old->begin_rec);

  end = begin_rec;
  for (std::size_t i = 0; i < schema.vars.size(); ++i) {
    const Variable& var = schema.vars[i];
    if (!var.is_record) continue;
    check_begin(schema, end, var);
    begins[i] = end;
    end = add(end, var.vsize, var);
  }
  const Count recsize = record_size(schema);
  Count records = 0;
  if (!multiply_fits(schema.numrecs, recsize, records) || !add_fits(records, begin_rec, records)) {
    throw Error(Errc::evarsize, std::to_string(schema.numrecs) + " records of " +
                                    std::to_string(recsize) + " bytes end beyond 63 bits");
  }

  schema.header_size = header_size;
  schema.header_extent = have_fixed ? first_fixed : begin_rec;
  schema.begin_rec = begin_rec;
  schema.recsize = recsize;
  for (std::size_t i = 0; i < begins.size(); ++i) schema.vars[i].begin = begins[i];
}

Count place_behind(Schema& schema, const Schema& old, const Alignment& alignment,
                   Offset header_size, Offset end, Count room) {
  const Alignment a = settle(alignment, schema);
  check_variable_sizes(schema);
  constexpr Count page = 4096;
  const Count missing = header_size - old.header_extent;
  const Count moved = missing > 0 ? round_up(missing + room, page) : 0;
  std::vector<Offset> begins(schema.vars.size());
  Offset at = end + moved;
  for (std::size_t i = 0; i < schema.vars.size(); ++i) {
    const Variable& var = schema.vars[i];
    if (i < old.vars.size()) {
      begins[i] = old.vars[i].begin + moved;
    } else {
      begins[i] = align(at, a.var_align);
      at = add(begins[i], var.vsize, var);
    }
    check_begin(schema, begins[i], var);
  }
  schema.header_size = header_size;
  schema.header_extent = old.header_extent + moved;
  schema.begin_rec = at;
  schema.recsize = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) schema.vars[i].begin = begins[i];
  return moved;
}

namespace {

// The moves within the fixed variables or within record 0, from the end to the front.
std::vector<Move> section_moves(const Schema& old, const Schema& now, bool record) {
  std::vector<Move> moves;
  for (std::size_t i = old.vars.size(); i-- > 0;) {
    const Variable& var = old.vars[i];
    if (var.is_record != record) continue;
    const Move move{var.begin, now.vars[i].begin, var.vsize};
    if (!moves.empty() && move.from + move.bytes == moves.back().from &&
        move.to + move.bytes == moves.back().to) {
      moves.back() = {move.from, move.to, move.bytes + moves.back().bytes};
    } else {
      moves.push_back(move);
    }
  }
  return moves;
}

}  // namespace

void for_each_move(const Schema& old, const Schema& now,
                   const std::function<void(const Move&)>& move) {
  auto records = section_moves(old, now, true);
  // The records of a single record variable have no padding.
  if (records.size() == 1) records[0].bytes = old.recsize;
  if (records.size() == 1 && old.recsize == now.recsize) {
    records[0].bytes *= old.numrecs;
    if (records[0].from != records[0].to && records[0].bytes > 0) move(records[0]);
  } else {
    for (Count r = old.numrecs - 1; r >= 0 && !records.empty(); --r) {
      for (const Move& m : records) {
        const Move shifted{m.from + r * old.recsize, m.to + r * now.recsize, m.bytes};
        if (shifted.from != shifted.to) move(shifted);
      }
    }
  }
  for (const Move& m : section_moves(old, now, false)) {
    if (m.from != m.to) move(m);
  }
}

}  // namespace forebay
