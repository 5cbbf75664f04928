// Overwrites a file with chunked variables while one system call fails, and looks at what is left.
//
// Operations go from one known state to the next. After one that failed, a second opening of the
// file must show the state before it or the state after it, whole; the same operation again must
// succeed, since the fault has passed; and all that follows must be right, also after reopening.
// Only a sync that has lost bytes fails again, until the file is opened anew.
//
// With INJECTION_SHOWS=synced in the environment a second opening shows the state of the last sync,
// and so does the file after a sync that has lost bytes, or a close that failed.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "fault/injection.h"

namespace injection {

namespace {

constexpr int keep = 0;
constexpr int change = 1;
constexpr int grow = 2;
const char* const names[] = {"keep", "change", "grow"};

// What the file holds, on every rank: rows of the three variables.
struct State {
  std::array<std::vector<int>, 3> values;
  MPI_Offset records() const { return static_cast<MPI_Offset>(values[grow].size()) / columns; }
};

State prepared() {
  State s;
  for (auto& v : s.values) {
    for (MPI_Offset row = 0; row < size; ++row) {
      for (MPI_Offset c = 0; c < columns; ++c) v.push_back(value_of(row, c));
    }
  }
  return s;
}

// One request of one rank: columns [first, last) of a row get values of a version.
struct Piece {
  int var;
  MPI_Offset row, first, last;
};

// Values of different versions compress differently, so that chunks change their sizes and places.
int versioned(int version, const Piece& piece, MPI_Offset column) {
  std::minstd_rand random(
      static_cast<unsigned>(1 + version * 7919 + piece.row * 104729 + column * 31 + piece.var));
  random();
  const unsigned bits = version % 3 == 0 ? 0 : 2 + static_cast<unsigned>(version) * 11U % 27U;
  return static_cast<int>(random() & ((1U << bits) - 1)) + version;
}

void apply(State& state, const Piece& piece, int version) {
  auto& values = state.values[static_cast<size_t>(piece.var)];
  const auto end = static_cast<size_t>((piece.row + 1) * columns);
  if (values.size() < end) values.resize(end, NC_FILL_INT);
  for (MPI_Offset c = piece.first; c < piece.last; ++c)
    values[static_cast<size_t>(piece.row * columns + c)] = versioned(version, piece, c);
}

// An operation: what each rank writes. One piece goes through a blocking call, more through
// wait_all.
using Pieces = std::function<std::vector<Piece>(int of_rank)>;

bool carry_out(int id, const Pieces& pieces, int version) {
  const std::vector<Piece> mine = pieces(rank);
  std::vector<std::vector<int>> data;
  std::vector<int> requests;
  for (const Piece& p : mine) {
    std::vector<int> values;
    for (MPI_Offset c = p.first; c < p.last; ++c) values.push_back(versioned(version, p, c));
    data.push_back(std::move(values));
    const MPI_Offset start[2] = {p.row, p.first};
    const MPI_Offset count[2] = {1, p.last - p.first};
    if (mine.size() == 1)
      return ok(ncmpi_put_vara_int_all(id, p.var, start, count, data.back().data()), "put_vara");
    requests.push_back(NC_REQ_NULL);
    ncmpi_iput_vara_int(id, p.var, start, count, data.back().data(), &requests.back());
  }
  return ok(ncmpi_wait_all(id, static_cast<int>(requests.size()), requests.data(), nullptr),
            "wait_all");
}

// Where the file differs from a state, in words; empty where it does not. A read may meet the
// injected fault, once.
std::string difference(int id, const State& state, bool with_records = true) {
  MPI_Offset records = 0;
  ok(ncmpi_inq_dimlen(id, 2, &records), "inq_dimlen");
  if (with_records && records != state.records()) {
    return "the file has " + std::to_string(records) + " records, not " +
           std::to_string(state.records());
  }
  for (const int var : {keep, change, grow}) {
    if (var == grow && !with_records) continue;
    const auto& expected = state.values[static_cast<size_t>(var)];
    std::vector<int> got(expected.size(), -1);
    if (!ok(ncmpi_get_var_int_all(id, var, got.data()), "get_var") &&
        !ok(ncmpi_get_var_int_all(id, var, got.data()), "get_var again"))
      return std::string(names[var]) + " cannot be read";
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == expected[i]) continue;
      const auto column = static_cast<MPI_Offset>(i);
      return std::string(names[var]) + "(" + std::to_string(column / columns) + "," +
             std::to_string(column % columns) + ") is " + std::to_string(got[i]) + ", expected " +
             std::to_string(expected[i]);
    }
  }
  return {};
}

void expect(int id, const State& state, const std::string& when) {
  const std::string found = difference(id, state);
  if (found.empty()) return;
  std::printf("rank %d: %s: %s\n", rank, when.c_str(), found.c_str());
  wrong = true;
}

int open(const char* path, int mode) {
  int id = -1;
  if (ok(ncmpi_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &id), "open")) return id;
  if (!ok(ncmpi_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &id), "open again")) {
    std::printf("rank %d: the file cannot be opened\n", rank);
    wrong = true;
    return -1;
  }
  return id;
}

// What whoever opens the file now is shown: all of the operation that failed, or nothing of it.
void expect_old_or_new(const char* path, const State& before, const State& after,
                       const std::string& when) {
  const int id = open(path, NC_NOWRITE);
  if (id < 0) return;
  const std::string from_old = difference(id, before);
  const std::string from_new = difference(id, after);
  if (!from_old.empty() && !from_new.empty()) {
    std::printf("rank %d: %s: neither the old state (%s) nor the new one (%s)\n", rank,
                when.c_str(), from_old.c_str(), from_new.c_str());
    wrong = true;
  }
  ok(ncmpi_close(id), "close of the second opening");
}

std::vector<Pieces> operations() {
  const MPI_Offset quarter = columns / 4;
  std::vector<Pieces> all;
  all.push_back([](int r) { return std::vector<Piece>{{change, r, 0, columns}}; });
  all.push_back([=](int r) {
    return std::vector<Piece>{{change, r, quarter, 3 * quarter + 5},
                              {grow, size + r, 0, columns},
                              {grow, (r + 1) % size, 3, columns - 1}};
  });
  all.push_back([](int r) {
    return std::vector<Piece>{{change, r, 0, columns}, {grow, r, 0, columns}};
  });
  all.push_back([](int r) { return std::vector<Piece>{{grow, 2 * size + r, 0, columns}}; });
  all.push_back([=](int r) {
    return std::vector<Piece>{{change, (r + 1) % size, 0, quarter}, {grow, size + r, 0, columns}};
  });
  return all;
}

// Space that a failed operation left in a wrong state shows only once it is taken again: many small
// writes and syncs turn all of it over.
void use_all_space(int id, State& state, int version) {
  for (int i = 0; i < 10; ++i) {
    ++version;
    const MPI_Offset first = i % 4 * columns / 5;
    const Pieces pieces = [&](int r) {
      return std::vector<Piece>{
          {i % 2 == 0 ? change : grow, r, first, std::min(columns, first + columns / (2 + i % 3))}};
    };
    for (int r = 0; r < size; ++r) {
      for (const Piece& p : pieces(r)) apply(state, p, version);
    }
    carry_out(id, pieces, version);
    ok(ncmpi_sync(id), "sync");
  }
  expect(id, state, "after many writes");
}

}  // namespace

void rewrite(const char* path) {
  const bool shows_synced = std::getenv("INJECTION_SHOWS") != nullptr;
  int id = open(path, NC_WRITE);
  if (id < 0) return;
  State state = prepared(), synced = state;
  int version = 0;
  for (const Pieces& pieces : operations()) {
    const std::string when = "operation " + std::to_string(++version);
    State next = state;
    for (int r = 0; r < size; ++r) {
      for (const Piece& p : pieces(r)) apply(next, p, version);
    }
    if (!carry_out(id, pieces, version)) {
      expect_old_or_new(path, shows_synced ? synced : state, shows_synced ? synced : next,
                        when + " failed");
      if (!carry_out(id, pieces, version)) {
        std::printf("rank %d: %s failed again\n", rank, when.c_str());
        wrong = true;
      }
    }
    state = std::move(next);
    expect(id, state, when);
    if (version % 2 != 0) continue;
    if (ok(ncmpi_sync(id), "sync") || ok(ncmpi_sync(id), "sync again")) {
      synced = state;
      continue;
    }
    // Lost bytes are told by each sync until the file is opened anew.
    ok(ncmpi_close(id), "close after a failed sync");
    id = open(path, NC_WRITE);
    if (id < 0) return;
    if (shows_synced && !difference(id, state).empty()) state = synced;
    expect(id, state, "after a failed sync");
    if (!ok(ncmpi_sync(id), "sync of the new opening")) {
      std::printf("rank %d: the file cannot be synced after it was opened anew\n", rank);
      wrong = true;
    }
  }
  if (!seen.empty()) use_all_space(id, state, version);
  const bool closed = ok(ncmpi_close(id), "close");
  id = open(path, NC_NOWRITE);
  if (id < 0) return;
  if (shows_synced && !closed && !difference(id, state).empty()) state = std::move(synced);
  expect(id, state, "after reopening");
  ok(ncmpi_close(id), "close");
}

}  // namespace injection
