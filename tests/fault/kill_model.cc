#include "fault/kill_model.h"

#include <algorithm>
#include <random>

namespace kill_test {

// Fits a double and a classic int; some versions compress to nothing and some hardly at all, so
// that chunks change size and place.
int value_of(int version, int var, MPI_Offset row, MPI_Offset column) {
  static constexpr unsigned bits[] = {20, 0, 6, 12, 1};
  const unsigned mask = (1U << bits[version % 5]) - 1;
  unsigned mixed = static_cast<unsigned>(version) * 2654435761U +
                   static_cast<unsigned>(var) * 40503U + static_cast<unsigned>(row) * 2246822519U +
                   static_cast<unsigned>(column) * 3266489917U;
  mixed ^= mixed >> 15;
  mixed *= 2246822519U;
  mixed ^= mixed >> 13;
  return static_cast<int>((mixed & mask) + static_cast<unsigned>(version));
}

Operation first_operation() {
  Operation op;
  for (int v = 0; v < variables; ++v) {
    const auto& info = infos[static_cast<size_t>(v)];
    op.boxes.push_back({v, 0, info.is_record ? 3 : rows, 0, info.columns});
  }
  return op;
}

State::State() {
  for (const Box& box : first_operation().boxes) put(box);
}

void State::put(const Box& box) {
  const MPI_Offset columns = infos[static_cast<size_t>(box.var)].columns;
  auto& values = values_[static_cast<size_t>(box.var)];
  const auto end = static_cast<size_t>(box.row_end * columns);
  if (values.size() < end) values.resize(end, NC_FILL_INT);
  for (MPI_Offset r = box.row; r < box.row_end; ++r) {
    for (MPI_Offset c = box.column; c < box.column_end; ++c)
      values[static_cast<size_t>(r * columns + c)] = value_of(version_, box.var, r, c);
  }
}

Operation State::next() const {
  std::minstd_rand random(static_cast<unsigned>(version_ + 1) * 7919U);
  random.discard(3);
  const auto below = [&](MPI_Offset n) { return static_cast<MPI_Offset>(random()) % n; };
  // Some of the columns, or all of them.
  const auto part = [&](int var, MPI_Offset row, MPI_Offset row_end) {
    const MPI_Offset columns = infos[static_cast<size_t>(var)].columns;
    const bool all = below(2) == 0;
    const MPI_Offset from = all ? 0 : below(columns - 8);
    return Box{var, row, row_end, from, all ? columns : from + 8 + below(columns - from - 7)};
  };
  const auto some_rows = [&](int var, MPI_Offset count) {
    const MPI_Offset row = below(count);
    return part(var, row, row + 1 + below(count - row));
  };
  const bool may_grow = records_ < most_records;
  Operation op;
  op.sync_after = below(6) == 0;
  switch (below(6)) {
    case 0:
      for (const int v : {0, 1}) op.boxes.push_back({v, 0, rows, 0, infos[size_t(v)].columns});
      break;
    case 1:
      op.boxes = {some_rows(0, rows)};
      break;
    case 2:
      op.boxes = {some_rows(2, records_), some_rows(3, records_), some_rows(1, rows)};
      break;
    case 3:
      if (may_grow) {
        op.boxes = {part(2, records_, records_ + 1), part(3, records_, records_ + 1)};
      } else {
        op.boxes = {some_rows(2, records_)};
      }
      break;
    case 4:
      op.boxes = {some_rows(0, rows), some_rows(1, rows)};
      if (may_grow) op.boxes.push_back(part(3, records_ - 1, records_ + 1));
      break;
    default:
      op.boxes = {may_grow ? part(2, records_, records_ + 1 + below(2)) : some_rows(3, records_)};
      break;
  }
  return op;
}

// A variable that got nothing in a record that another one appended holds fill values there.
void State::advance() {
  const Operation op = next();
  ++version_;
  for (const Box& box : op.boxes) {
    put(box);
    if (infos[static_cast<size_t>(box.var)].is_record) records_ = std::max(records_, box.row_end);
  }
  for (int v = 0; v < variables; ++v) {
    const auto& info = infos[static_cast<size_t>(v)];
    if (!info.is_record) continue;
    values_[static_cast<size_t>(v)].resize(static_cast<size_t>(records_ * info.columns),
                                           NC_FILL_INT);
  }
}

}  // namespace kill_test
