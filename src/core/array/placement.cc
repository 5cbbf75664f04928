#include "array/placement.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace forebay {

Count record_size(const Schema& schema) {
  const Variable* last = nullptr;
  Count size = 0;
  for (const Variable& var : schema.vars) {
    if (!var.is_record) continue;
    if (!add_fits(size, var.vsize, size))
      throw Error(Errc::evarsize, "variable " + var.name + ": a record exceeds 63 bits");
    last = &var;
  }
  if (last != nullptr && size == last->vsize) return last->inner_elements * size_of(last->type);
  return size;
}

void check_variable_sizes(const Schema& schema) {
  if (schema.version == 5) return;  // Schema::derive has checked that sizes fit in 63 bits
  constexpr Count most = std::numeric_limits<std::int32_t>::max();
  const Count largest = schema.version == 1 ? most - 3 : 2 * most - 2;
  const auto refuse = [&](const Variable& var) {
    throw Error(Errc::evarsize,
                "variable " + var.name + " has " + std::to_string(var.vsize) +
                    " bytes; only the last variable may have more than " + std::to_string(largest),
                "create the file as CDF-5");
  };
  // A large variable is harmless if no other variable's offset follows from its size.
  const Variable* large_fixed = nullptr;
  const Variable* large_record = nullptr;
  bool have_records = false;
  for (const Variable& var : schema.vars) {
    const Variable*& large = var.is_record ? large_record : large_fixed;
    if (large != nullptr) refuse(*large);
    if (var.inner_elements > largest / size_of(var.type)) large = &var;
    have_records = have_records || var.is_record;
  }
  if (large_fixed != nullptr && have_records) refuse(*large_fixed);
}

namespace {

// Returns the end of the fixed or the record variables in a header that was read. None may begin
// before `free`, the end of what `owner` names, or before the end of the one before it.
Offset checked_end(const Schema& schema, bool record, Offset free, std::string owner) {
  for (const Variable& var : schema.vars) {
    if (var.is_record != record) continue;
    if (var.begin < free) {
      throw Error(Errc::enotnc, "header damaged: variable " + var.name + " begins at byte " +
                                    std::to_string(var.begin) + ", before the end of " + owner +
                                    " at byte " + std::to_string(free));
    }
    if (!add_fits(var.begin, var.vsize, free))
      throw Error(Errc::enotnc, "header damaged: variable " + var.name + " ends beyond 63 bits");
    owner = "variable " + var.name;
  }
  return free;
}

const Variable* first_of(const Schema& schema, bool record) {
  for (const Variable& var : schema.vars) {
    if (var.is_record == record) return &var;
  }
  return nullptr;
}

}  // namespace

void adopt_placement(Schema& schema) {
  check_variable_sizes(schema);
  const Variable* fixed = first_of(schema, false);
  const Variable* record = first_of(schema, true);
  Offset end = checked_end(schema, false, schema.header_size, "the header");
  schema.begin_rec = end;
  schema.recsize = 0;
  if (record != nullptr) {
    schema.begin_rec = record->begin;
    end = checked_end(schema, true, end, fixed ? "the fixed variables" : "the header");
    schema.recsize = record_size(schema);
    // No variable's size includes a gap inside a record, so the next record would begin before the
    // end of this one.
    const Count slots = end - schema.begin_rec;
    if (slots != schema.recsize && slots != record->vsize)
      throw Error(Errc::enotnc, "header damaged: there are gaps between the record variables");
    Count all = 0;
    if (!multiply_fits(schema.numrecs, schema.recsize, all) ||
        !add_fits(all, schema.begin_rec, all)) {
      throw Error(Errc::enotnc, "header damaged: " + std::to_string(schema.numrecs) +
                                    " records end beyond 63 bits");
    }
  }
  schema.header_extent = fixed != nullptr ? fixed->begin : schema.begin_rec;
}

Count records_in_file(const Schema& schema, Offset file_size) {
  Offset end = 0;  // of the data of record 0; padding at the end may be missing
  for (const Variable& var : schema.vars) {
    if (var.is_record) end = std::max(end, var.begin + var.inner_elements * size_of(var.type));
  }
  if (schema.recsize == 0 || file_size < end) return 0;
  return (file_size - end) / schema.recsize + 1;
}

}  // namespace forebay
