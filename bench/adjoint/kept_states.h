// States of the model in Forebay's checkpoints: its own fields and, as MITgcm has them, many that
// are the same at every step. All of a rank, or cut into tiles of their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/plan/checkpoint_schedule.h"
#include "shallow_water.h"

namespace forebay::bench {

struct KeptOptions {
  std::string name, codec = "none", hints;
  int constants = 27;  ///< fields that do not change
  bool syncs = false;  ///< a sync follows each state, and counts as a part of storing it
  int room = 0;        ///< raw states of a rank that there is room for; 0: as hints say
  int tile_columns = 0, tile_rows = 0;  ///< 0: all of a rank, with its neighbours' values
};

class KeptStates {
 public:
  /// Collective. Exits where Forebay says no.
  KeptStates(const ShallowWater& model, const KeptOptions& options);
  ~KeptStates();  ///< collective; the files go
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;

  /// Whether it was kept: with `room`, collective, it is not where a rank has none for it.
  bool store(std::int64_t step, const State& state);
  void restore(std::int64_t step, State& state);
  void drop(std::int64_t step);
  void expect(const std::vector<std::int64_t>& steps);
  /// Collective. What forebay_schedule_next says.
  AdjointAction next(const AdjointState& at);

  double store_seconds = 0, restore_seconds = 0;  ///< of this rank
  std::int64_t raw_bytes = 0;                     ///< of one state
  std::vector<std::int64_t> bytes;                ///< of each state that was stored, in that order

 private:
  struct Piece {
    int variable = 0, layers = 0, row = 0, column = 0, rows = 0, columns = 0;
  };
  std::vector<double>& piece_of(const Field& field, const Piece& piece);
  void into(Field& field, const Piece& piece, const std::vector<double>& values) const;
  std::vector<Field*> fields(State& state);

  int store_ = 0;
  bool whole_ = true, syncs_ = false, may_be_full_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Field> constants_;
  std::vector<std::vector<Piece>> pieces_;  ///< of each field
  std::vector<double> values_;
};

}  // namespace forebay::bench
