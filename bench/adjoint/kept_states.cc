#include "kept_states.h"

#include <mpi.h>
// above what it enables
#include <forebay_checkpoint.h>

#include <cstdio>
#include <cstdlib>

namespace forebay::bench {

namespace {

void check(int code) {
  if (code == 0) return;
  std::fprintf(stderr, "%s\n", forebay_error_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::exit(EXIT_FAILURE);
}

/// As a model has them: fields of packages that are switched off, masks, coordinates.
Field constant_field(const ShallowWater& model, int layers, int number) {
  Field made(layers, model.rows(), model.columns());
  if (number % 4 == 0) return made;
  for (int k = 0; k < layers; ++k)
    for (int j = 0; j <= made.rows + 1; ++j)
      for (int i = 0; i <= made.columns + 1; ++i) {
        double& value = made(k, j, i);
        if (number % 4 == 1) value = model.wet_u()(0, j, i);
        if (number % 4 == 2) value = model.wet_v()(0, j, i);
        if (number % 4 == 3) value = model.first_row() + j - 0.5;
      }
  return made;
}

}  // namespace

KeptStates::KeptStates(const ShallowWater& model, const KeptOptions& options)
    : whole_(options.tile_columns == 0),
      syncs_(options.syncs),
      may_be_full_(options.room > 0),
      comm_(model.comm()) {
  State shape = model.zero();
  for (int n = 0; n < options.constants; ++n)
    constants_.push_back(constant_field(model, shape.h.layers, n));
  const std::vector<Field*> all = fields(shape);
  std::string hints = options.hints;
  if (options.room > 0)
    hints = "checkpoint_memory=0;checkpoint_dir_bytes=" +
            std::to_string(all.size() * shape.h.values.size() * sizeof(double) *
                           static_cast<std::size_t>(options.room));
  check(forebay_checkpoint_open_mpi(model.comm(), options.name.c_str(), hints.c_str(), &store_));
  for (std::size_t f = 0; f < all.size(); ++f) {
    const Field& field = *all[f];
    const int rows = whole_ ? field.rows + 2 : options.tile_rows;
    const int columns = whole_ ? field.columns + 2 : options.tile_columns;
    std::vector<Piece> pieces;
    for (int row = whole_ ? 0 : 1; row + rows <= field.rows + (whole_ ? 2 : 1); row += rows)
      for (int column = whole_ ? 0 : 1; column + columns <= field.columns + (whole_ ? 2 : 1);
           column += columns) {
        Piece piece{0, field.layers, row, column, rows, columns};
        const std::int64_t extents[3] = {field.layers, rows, columns};
        const std::string name =
            "f" + std::to_string(f) + "_" + std::to_string(row) + "_" + std::to_string(column);
        check(forebay_checkpoint_var(store_, name.c_str(), "double", 3, extents,
                                     options.codec.c_str(), nullptr, &piece.variable));
        raw_bytes += static_cast<std::int64_t>(sizeof(double)) * field.layers * rows * columns;
        pieces.push_back(piece);
      }
    pieces_.push_back(std::move(pieces));
  }
}

KeptStates::~KeptStates() { check(forebay_checkpoint_close(store_, 0)); }

std::vector<Field*> KeptStates::fields(State& state) {
  std::vector<Field*> all{&state.u, &state.v, &state.h};
  for (Field& constant : constants_) all.push_back(&constant);
  return all;
}

std::vector<double>& KeptStates::piece_of(const Field& field, const Piece& piece) {
  values_.clear();
  for (int k = 0; k < piece.layers; ++k)
    for (int j = piece.row; j < piece.row + piece.rows; ++j) {
      const auto from =
          field.values.begin() + static_cast<std::ptrdiff_t>(field.at(k, j, piece.column));
      values_.insert(values_.end(), from, from + piece.columns);
    }
  return values_;
}

void KeptStates::into(Field& field, const Piece& piece, const std::vector<double>& values) const {
  auto from = values.begin();
  for (int k = 0; k < piece.layers; ++k)
    for (int j = piece.row; j < piece.row + piece.rows; ++j, from += piece.columns)
      std::copy(from, from + piece.columns, &field(k, j, piece.column));
}

bool KeptStates::store(std::int64_t step, const State& state) {
  if (syncs_) MPI_Barrier(comm_);  // ranks that are late in the model are not late in storing
  const double begin = MPI_Wtime();
  check(forebay_checkpoint_begin(store_, step, FOREBAY_WRITE));
  const std::vector<Field*> all = fields(const_cast<State&>(state));
  for (std::size_t f = 0; f < all.size(); ++f)
    for (const Piece& piece : pieces_[f])
      check(
          forebay_checkpoint_put(store_, piece.variable,
                                 whole_ ? all[f]->values.data() : piece_of(*all[f], piece).data()));
  const int code = forebay_checkpoint_end(store_);
  if (!may_be_full_) check(code);
  if (syncs_) check(forebay_checkpoint_sync(store_));
  store_seconds += MPI_Wtime() - begin;
  if (may_be_full_) {
    const int mine = code == 0 ? 1 : 0;
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm_);
    if (mine == 0) check(forebay_checkpoint_abandon(store_));
    if (mine == 1 && all == 0) drop(step);
    if (all == 0) return false;
  }
  std::int64_t size = 0;
  check(forebay_checkpoint_inq_state(store_, step, 0, nullptr, &size, nullptr));
  bytes.push_back(size);
  return true;
}

void KeptStates::restore(std::int64_t step, State& state) {
  const double begin = MPI_Wtime();
  check(forebay_checkpoint_begin(store_, step, FOREBAY_READ));
  const std::vector<Field*> all = fields(state);
  for (std::size_t f = 0; f < all.size(); ++f)
    for (const Piece& piece : pieces_[f]) {
      if (whole_) {
        check(forebay_checkpoint_get(store_, piece.variable, all[f]->values.data()));
        continue;
      }
      values_.resize(static_cast<std::size_t>(piece.layers) * static_cast<std::size_t>(piece.rows) *
                     static_cast<std::size_t>(piece.columns));
      check(forebay_checkpoint_get(store_, piece.variable, values_.data()));
      into(*all[f], piece, values_);
    }
  check(forebay_checkpoint_end(store_));
  restore_seconds += MPI_Wtime() - begin;
}

void KeptStates::drop(std::int64_t step) { check(forebay_checkpoint_drop(store_, step)); }

AdjointAction KeptStates::next(const AdjointState& at) {
  int kind = 0;
  AdjointAction action;
  check(forebay_schedule_next(store_, at.model, at.adjoint.value_or(-1), &kind, &action.from,
                              &action.to));
  action.kind = static_cast<AdjointAction::Kind>(kind);
  return action;
}

void KeptStates::expect(const std::vector<std::int64_t>& steps) {
  check(forebay_checkpoint_expect(store_, steps.data(), static_cast<std::int64_t>(steps.size())));
}

}  // namespace forebay::bench
