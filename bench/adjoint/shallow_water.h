// The model of the study of checkpoints (Hou 2023, ch. 4): layers of shallow water on a C-grid that
// is periodic in both directions, cut into one tile a rank, and its discrete adjoint, by hand.
//
// h is a layer's thickness in a cell, u the velocity through the cell's west face, v through its
// south face. With a = Δt/Δx, one step is
//
//   h' = h - a div(u avg h, v avg h)
//   u' = u + Δt (f avg v + wind - r |U| u) - a (u δx u + avg v δy u) - a δx p + ν ∇²u
//   v' = v - Δt (f avg u + r |U| v)        - a (avg u δx v + v δy v) - a δy p + ν ∇²v
//
// with p_k = Σ_l G_kl h'_l, wind in the first layer and friction in the last one, and no flow
// through the faces of an island. With `implicit` a correction follows, which solves
// (1 - λ∇²) s = Σ_k div u'_k by conjugate gradients: u'_k -= c δx s, v'_k -= c δy s. Its matrix is
// symmetric, so it is its own adjoint.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace forebay::bench {

/// Values of a tile's cells, with one row of neighbours' on each side: [layer][row][column].
struct Field {
  int layers = 0, rows = 0, columns = 0;  ///< without the neighbours'
  std::vector<double> values;

  Field() = default;
  Field(int layers, int rows, int columns)
      : layers(layers),
        rows(rows),
        columns(columns),
        values(static_cast<std::size_t>(layers) * static_cast<std::size_t>(rows + 2) *
               static_cast<std::size_t>(columns + 2)) {}
  std::size_t at(int k, int j, int i) const {
    const auto row = static_cast<std::size_t>(k) * static_cast<std::size_t>(rows + 2) +
                     static_cast<std::size_t>(j);
    return row * static_cast<std::size_t>(columns + 2) + static_cast<std::size_t>(i);
  }
  double& operator()(int k, int j, int i) { return values[at(k, j, i)]; }
  double operator()(int k, int j, int i) const { return values[at(k, j, i)]; }
};

struct State {
  Field u, v, h;
};

struct ModelOptions {
  int columns = 96, rows = 96, layers = 5;  ///< of all tiles
  bool implicit = false;
};

class ShallowWater {
 public:
  /// Throws std::invalid_argument where ranks do not divide the grid into equal tiles.
  ShallowWater(MPI_Comm comm, const ModelOptions& options);
  ~ShallowWater();
  ShallowWater(const ShallowWater&) = delete;
  ShallowWater& operator=(const ShallowWater&) = delete;

  State zero() const;
  State first() const;  ///< eddies, an island's wake, and noise of a few cells

  // Collective:
  void step(State& state);
  /// The adjoint of a step that began from `before`: `adjoint`, of what follows, becomes that of
  /// it.
  void reverse(const State& before, State& adjoint);
  /// Σ (h_0 - its mean)² / 2 over a quarter of the grid.
  double outcome(const State& state) const;
  double dot(const State& a, const State& b) const;

  State slope(const State& state) const;  ///< of outcome()
  int rows() const { return rows_; }      ///< of this tile
  int columns() const { return columns_; }
  int first_row() const { return first_row_; }
  int first_column() const { return first_column_; }
  const Field& wet_u() const { return wet_u_; }  ///< 0 on the island's faces, else 1
  const Field& wet_v() const { return wet_v_; }
  const Field& wind() const { return wind_; }
  MPI_Comm comm() const { return comm_; }

 private:
  void exchange(Field& field) const;          ///< neighbours' values
  void exchange_adjoint(Field& field) const;  ///< what they were used for goes back to their owners
  void swap_edges(Field& field, bool along_rows, bool back) const;
  double pressure(int k, int l) const;
  void momentum(const State& before, const Field& p, State& after) const;
  void reverse_momentum(const State& before, const State& after, Field& p, State& to) const;
  void correct(Field& u, Field& v) const;
  double sum(double mine) const;
  bool is_target(int j, int i) const;

  ModelOptions options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int west_ = 0, east_ = 0, south_ = 0, north_ = 0;
  int rows_ = 0, columns_ = 0, first_row_ = 0, first_column_ = 0;
  Field wet_u_, wet_v_, wind_;
};

}  // namespace forebay::bench
