#include "shallow_water.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace forebay::bench {

namespace {

constexpr double dt = 1, dx = 200, a = dt / dx;
constexpr double f = 0.01, viscosity = 0.01, friction = 2e-4, gust = 5e-3;
constexpr double gravity = 5, depth = 500, stiffness = 0.1;
constexpr double least_speed = 1e-6;               // of |U|², which has a slope everywhere
constexpr double lambda = 20, share = lambda / 2;  // of the correction
constexpr double two_pi = 2 * std::numbers::pi;

/// Four values around a face of the other direction.
double average(double one, double two, double three, double four) {
  return 0.25 * (one + two + three + four);
}

double v_at_u(const Field& v, int k, int j, int i) {
  return average(v(k, j, i - 1), v(k, j, i), v(k, j + 1, i - 1), v(k, j + 1, i));
}

double u_at_v(const Field& u, int k, int j, int i) {
  return average(u(k, j - 1, i), u(k, j - 1, i + 1), u(k, j, i), u(k, j, i + 1));
}

double laplacian(const Field& x, int k, int j, int i) {
  return x(k, j, i + 1) + x(k, j, i - 1) + x(k, j + 1, i) + x(k, j - 1, i) - 4 * x(k, j, i);
}

double speed(double u, double v) { return std::sqrt(u * u + v * v + least_speed); }

/// Calls what(k, j, i) for all cells of the tile.
template <typename F>
void each(const Field& x, F&& what) {
  for (int k = 0; k < x.layers; ++k)
    for (int j = 1; j <= x.rows; ++j)
      for (int i = 1; i <= x.columns; ++i) what(k, j, i);
}

double noise(int k, int j, int i) {
  const double x = std::sin(12.9898 * i + 78.233 * j + 37.719 * k) * 43758.5453;
  return x - std::floor(x) - 0.5;
}

}  // namespace

ShallowWater::ShallowWater(MPI_Comm comm, const ModelOptions& options) : options_(options) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(comm, &ranks);
  int dims[2] = {0, 0}, place[2];
  const int periods[2] = {1, 1};
  MPI_Dims_create(ranks, 2, dims);
  if (options.rows % dims[0] != 0 || options.columns % dims[1] != 0 || options.layers < 1 ||
      options.rows / dims[0] < 2 || options.columns / dims[1] < 2)
    throw std::invalid_argument("the ranks do not divide the grid into equal tiles");
  MPI_Cart_create(comm, 2, dims, periods, 0, &comm_);
  MPI_Comm_rank(comm_, &rank);
  MPI_Cart_coords(comm_, rank, 2, place);
  MPI_Cart_shift(comm_, 0, 1, &south_, &north_);
  MPI_Cart_shift(comm_, 1, 1, &west_, &east_);
  rows_ = options.rows / dims[0];
  columns_ = options.columns / dims[1];
  first_row_ = place[0] * rows_;
  first_column_ = place[1] * columns_;
  wet_u_ = wet_v_ = wind_ = Field(1, rows_, columns_);
  const auto on_land = [&](double row, double column) {
    return std::hypot(row / options.rows - 0.3, column / options.columns - 0.4) < 0.08;
  };
  each(wind_, [&](int k, int j, int i) {
    const int row = first_row_ + j - 1, column = first_column_ + i - 1;
    wet_u_(k, j, i) = on_land(row + 0.5, column) ? 0 : 1;
    wet_v_(k, j, i) = on_land(row, column + 0.5) ? 0 : 1;
    wind_(k, j, i) = gust * std::cos(two_pi * (row + 0.5) / options.rows);
  });
}

ShallowWater::~ShallowWater() { MPI_Comm_free(&comm_); }

State ShallowWater::zero() const {
  const Field none(options_.layers, rows_, columns_);
  return {none, none, none};
}

State ShallowWater::first() const {
  State state = zero();
  each(state.h, [&](int k, int j, int i) {
    const double x = two_pi * (first_column_ + i - 0.5) / options_.columns;
    const double y = two_pi * (first_row_ + j - 0.5) / options_.rows;
    const double fading = 1.0 / (k + 1);
    state.h(k, j, i) = depth / options_.layers + 4 * fading * std::sin(x) * std::cos(y) +
                       2 * fading * std::cos(2 * x + y + k) +
                       0.02 * noise(k, first_row_ + j, first_column_ + i);
    state.u(k, j, i) =
        (6 + 3 * std::cos(2 * y) + 2 * std::sin(x + 3 * y)) * fading * wet_u_(0, j, i);
    state.v(k, j, i) = (2 * std::sin(3 * x) + std::cos(2 * x - y)) * fading * wet_v_(0, j, i);
  });
  return state;
}

double ShallowWater::pressure(int k, int l) const {
  return gravity * (1 + stiffness * std::min(k, l));
}

// -- neighbours
// -------------------------------------------------------------------------------------

/// One direction: what lies at the edges goes to the neighbours' rows beside theirs, or, back, what
/// lies in those rows is added to the edges that it came from. Along rows corners go with it.
void ShallowWater::swap_edges(Field& field, bool along_rows, bool back) const {
  const int n = along_rows ? field.rows : field.columns;
  const int width = along_rows ? field.columns + 2 : field.rows + 2;
  const auto at = [&](int k, int line, int place) -> double& {
    return along_rows ? field(k, line, place) : field(k, place, line);
  };
  const int before = along_rows ? south_ : west_, behind = along_rows ? north_ : east_;
  const std::size_t size = static_cast<std::size_t>(field.layers) * static_cast<std::size_t>(width);
  std::vector<double> out(size), in(size);
  const auto swap = [&](int from, int to, int target, int source) {
    std::size_t next = 0;
    for (int k = 0; k < field.layers; ++k)
      for (int place = 0; place < width; ++place) out[next++] = at(k, from, place);
    MPI_Sendrecv(out.data(), static_cast<int>(size), MPI_DOUBLE, target, 0, in.data(),
                 static_cast<int>(size), MPI_DOUBLE, source, 0, comm_, MPI_STATUS_IGNORE);
    next = 0;
    for (int k = 0; k < field.layers; ++k)
      for (int place = 0; place < width; ++place) {
        if (back) at(k, from, place) = 0;
        double& into = at(k, to, place);
        into = back ? into + in[next++] : in[next++];
      }
  };
  if (back) {
    swap(n + 1, 1, behind, before);
    swap(0, n, before, behind);
  } else {
    swap(1, n + 1, before, behind);
    swap(n, 0, behind, before);
  }
}

void ShallowWater::exchange(Field& field) const {
  swap_edges(field, false, false);
  swap_edges(field, true, false);
}

void ShallowWater::exchange_adjoint(Field& field) const {
  swap_edges(field, true, true);
  swap_edges(field, false, true);
}

// -- a step
// -----------------------------------------------------------------------------------------

void ShallowWater::step(State& state) {
  exchange(state.u);
  exchange(state.v);
  exchange(state.h);
  const State before = state;
  const Field &u = before.u, &v = before.v, &h = before.h;
  each(h, [&](int k, int j, int i) {
    const double west = u(k, j, i) * 0.5 * (h(k, j, i - 1) + h(k, j, i));
    const double east = u(k, j, i + 1) * 0.5 * (h(k, j, i) + h(k, j, i + 1));
    const double south = v(k, j, i) * 0.5 * (h(k, j - 1, i) + h(k, j, i));
    const double north = v(k, j + 1, i) * 0.5 * (h(k, j, i) + h(k, j + 1, i));
    state.h(k, j, i) -= a * (east - west + north - south);
  });
  exchange(state.h);
  Field p(options_.layers, rows_, columns_);
  const std::size_t size = p.values.size() / static_cast<std::size_t>(options_.layers);
  for (int k = 0; k < options_.layers; ++k)
    for (int l = 0; l < options_.layers; ++l)
      for (std::size_t n = 0; n < size; ++n)
        p.values[p.at(k, 0, 0) + n] += pressure(k, l) * state.h.values[p.at(l, 0, 0) + n];
  momentum(before, p, state);
  if (options_.implicit) correct(state.u, state.v);
}

void ShallowWater::momentum(const State& before, const Field& p, State& after) const {
  const Field &u = before.u, &v = before.v;
  each(u, [&](int k, int j, int i) {
    const double r = k == options_.layers - 1 ? friction : 0;
    const double uc = u(k, j, i), vb = v_at_u(v, k, j, i);
    after.u(k, j, i) =
        wet_u_(0, j, i) *
        (uc + dt * (f * vb + (k == 0 ? wind_(0, j, i) : 0) - r * speed(uc, vb) * uc) -
         0.5 * a *
             (uc * (u(k, j, i + 1) - u(k, j, i - 1)) + vb * (u(k, j + 1, i) - u(k, j - 1, i))) -
         a * (p(k, j, i) - p(k, j, i - 1)) + viscosity * laplacian(u, k, j, i));
    const double vc = v(k, j, i), ub = u_at_v(u, k, j, i);
    after.v(k, j, i) =
        wet_v_(0, j, i) *
        (vc - dt * (f * ub + r * speed(ub, vc) * vc) -
         0.5 * a *
             (ub * (v(k, j, i + 1) - v(k, j, i - 1)) + vc * (v(k, j + 1, i) - v(k, j - 1, i))) -
         a * (p(k, j, i) - p(k, j - 1, i)) + viscosity * laplacian(v, k, j, i));
  });
}

/// (1 - λ∇²) s = Σ_k div, by conjugate gradients.
void ShallowWater::correct(Field& u, Field& v) const {
  exchange(u);
  exchange(v);
  Field s(1, rows_, columns_), rest = s, way = s, image = s;
  each(u, [&](int k, int j, int i) {
    rest(0, j, i) += u(k, j, i + 1) - u(k, j, i) + v(k, j + 1, i) - v(k, j, i);
  });
  way = rest;
  const auto inner = [&](const Field& x, const Field& y) {
    double mine = 0;
    each(x, [&](int k, int j, int i) { mine += x(k, j, i) * y(k, j, i); });
    return sum(mine);
  };
  double error = inner(rest, rest);
  const double enough = error * 1e-26;
  for (int round = 0; round < 1000 && error > enough; ++round) {
    exchange(way);
    each(s, [&](int k, int j, int i) {
      image(k, j, i) = way(k, j, i) - lambda * laplacian(way, k, j, i);
    });
    const double length = error / inner(way, image);
    each(s, [&](int k, int j, int i) {
      s(k, j, i) += length * way(k, j, i);
      rest(k, j, i) -= length * image(k, j, i);
    });
    const double now = inner(rest, rest);
    each(s,
         [&](int k, int j, int i) { way(k, j, i) = rest(k, j, i) + now / error * way(k, j, i); });
    error = now;
  }
  exchange(s);
  each(u, [&](int k, int j, int i) {
    u(k, j, i) += share / options_.layers * (s(0, j, i) - s(0, j, i - 1));
    v(k, j, i) += share / options_.layers * (s(0, j, i) - s(0, j - 1, i));
  });
}

// -- its adjoint
// ------------------------------------------------------------------------------------

void ShallowWater::reverse(const State& before_step, State& adjoint) {
  State before = before_step;
  exchange(before.u);
  exchange(before.v);
  exchange(before.h);
  if (options_.implicit) correct(adjoint.u, adjoint.v);
  State to = zero();
  Field p = to.h;
  reverse_momentum(before, adjoint, p, to);
  // From pressure to the thickness after the step, neighbours' among it.
  Field& after = adjoint.h;
  for (int k = 0; k < options_.layers; ++k)
    for (int side = 0; side <= rows_ + 1; ++side) {
      if (side == 0 || side == rows_ + 1)
        std::fill_n(&after(k, side, 0), columns_ + 2, 0.0);
      else
        after(k, side, 0) = after(k, side, columns_ + 1) = 0;
    }
  const std::size_t size = p.values.size() / static_cast<std::size_t>(options_.layers);
  for (int k = 0; k < options_.layers; ++k)
    for (int l = 0; l < options_.layers; ++l)
      for (std::size_t n = 0; n < size; ++n)
        after.values[p.at(l, 0, 0) + n] += pressure(k, l) * p.values[p.at(k, 0, 0) + n];
  exchange_adjoint(after);
  const Field &u = before.u, &v = before.v, &h = before.h;
  each(h, [&](int k, int j, int i) {
    const double changed = a * after(k, j, i);
    to.h(k, j, i) += after(k, j, i);
    const auto face = [&](double velocity, double& slope, double here, double there,
                          double& to_here, double& to_there, double sign) {
      slope += sign * changed * 0.5 * (here + there);
      to_here += sign * changed * 0.5 * velocity;
      to_there += sign * changed * 0.5 * velocity;
    };
    face(u(k, j, i), to.u(k, j, i), h(k, j, i), h(k, j, i - 1), to.h(k, j, i), to.h(k, j, i - 1),
         1);
    face(u(k, j, i + 1), to.u(k, j, i + 1), h(k, j, i), h(k, j, i + 1), to.h(k, j, i),
         to.h(k, j, i + 1), -1);
    face(v(k, j, i), to.v(k, j, i), h(k, j, i), h(k, j - 1, i), to.h(k, j, i), to.h(k, j - 1, i),
         1);
    face(v(k, j + 1, i), to.v(k, j + 1, i), h(k, j, i), h(k, j + 1, i), to.h(k, j, i),
         to.h(k, j + 1, i), -1);
  });
  exchange_adjoint(to.u);
  exchange_adjoint(to.v);
  exchange_adjoint(to.h);
  adjoint = std::move(to);
}

void ShallowWater::reverse_momentum(const State& before, const State& after, Field& p,
                                    State& to) const {
  const Field &u = before.u, &v = before.v;
  const auto spread = [](Field& x, int k, int j, int i, double here, double x_slope,
                         double y_slope) {
    x(k, j, i) += here;
    x(k, j, i + 1) += x_slope;
    x(k, j, i - 1) -= x_slope;
    x(k, j + 1, i) += y_slope;
    x(k, j - 1, i) -= y_slope;
  };
  const auto diffuse = [](Field& x, int k, int j, int i, double much) {
    x(k, j, i) -= 4 * much;
    x(k, j, i + 1) += much;
    x(k, j, i - 1) += much;
    x(k, j + 1, i) += much;
    x(k, j - 1, i) += much;
  };
  each(u, [&](int k, int j, int i) {
    const double r = k == options_.layers - 1 ? friction : 0;
    {
      const double much = wet_u_(0, j, i) * after.u(k, j, i);
      const double uc = u(k, j, i), vb = v_at_u(v, k, j, i), s = speed(uc, vb);
      spread(to.u, k, j, i,
             much * (1 - 0.5 * a * (u(k, j, i + 1) - u(k, j, i - 1)) - dt * r * (s + uc * uc / s)),
             -0.5 * a * uc * much, -0.5 * a * vb * much);
      diffuse(to.u, k, j, i, viscosity * much);
      const double other =
          0.25 * much * (dt * (f - r * uc * vb / s) - 0.5 * a * (u(k, j + 1, i) - u(k, j - 1, i)));
      to.v(k, j, i - 1) += other;
      to.v(k, j, i) += other;
      to.v(k, j + 1, i - 1) += other;
      to.v(k, j + 1, i) += other;
      p(k, j, i) -= a * much;
      p(k, j, i - 1) += a * much;
    }
    {
      const double much = wet_v_(0, j, i) * after.v(k, j, i);
      const double vc = v(k, j, i), ub = u_at_v(u, k, j, i), s = speed(ub, vc);
      spread(to.v, k, j, i,
             much * (1 - 0.5 * a * (v(k, j + 1, i) - v(k, j - 1, i)) - dt * r * (s + vc * vc / s)),
             -0.5 * a * ub * much, -0.5 * a * vc * much);
      diffuse(to.v, k, j, i, viscosity * much);
      const double other =
          0.25 * much * (-dt * (f + r * vc * ub / s) - 0.5 * a * (v(k, j, i + 1) - v(k, j, i - 1)));
      to.u(k, j - 1, i) += other;
      to.u(k, j - 1, i + 1) += other;
      to.u(k, j, i) += other;
      to.u(k, j, i + 1) += other;
      p(k, j, i) -= a * much;
      p(k, j - 1, i) += a * much;
    }
  });
}

// -- what is asked of it
// ----------------------------------------------------------------------------

double ShallowWater::sum(double mine) const {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm_);
  return all;
}

bool ShallowWater::is_target(int j, int i) const {
  return 2 * (first_row_ + j - 1) < options_.rows && 2 * (first_column_ + i - 1) < options_.columns;
}

double ShallowWater::outcome(const State& state) const {
  double mine = 0;
  each(state.h, [&](int k, int j, int i) {
    const double off = state.h(k, j, i) - depth / options_.layers;
    if (k == 0 && is_target(j, i)) mine += 0.5 * off * off;
  });
  return sum(mine);
}

State ShallowWater::slope(const State& state) const {
  State to = zero();
  each(state.h, [&](int k, int j, int i) {
    if (k == 0 && is_target(j, i)) to.h(k, j, i) = state.h(k, j, i) - depth / options_.layers;
  });
  return to;
}

double ShallowWater::dot(const State& one, const State& other) const {
  double mine = 0;
  each(one.h, [&](int k, int j, int i) {
    mine += one.u(k, j, i) * other.u(k, j, i) + one.v(k, j, i) * other.v(k, j, i) +
            one.h(k, j, i) * other.h(k, j, i);
  });
  return sum(mine);
}

}  // namespace forebay::bench
