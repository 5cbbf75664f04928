/* The gradient of a model that runs for more steps than there is room for states: checkpoints in
 * memory and, beyond that, in files, and a schedule that says what to do next
 * (docs/checkpoints.md).
 *
 *   cc checkpoint.c -lforebay -lm -o checkpoint && ./checkpoint run
 *
 * The model: Burgers' equation, periodic. The gradient of sum(u^2) / 2 after all steps with respect
 * to the first state is compared with finite differences.
 */
#include <forebay_checkpoint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { cells = 400, steps = 300 };
static const double courant = 0.1, viscosity = 0.05;

static void check(int code) {
  if (code == 0) return;
  fprintf(stderr, "%s\n", forebay_error_message());
  exit(EXIT_FAILURE);
}

static void step(double* u) {
  double before[cells];
  memcpy(before, u, sizeof before);
  for (int i = 0; i < cells; ++i) {
    const double left = before[(i + cells - 1) % cells], right = before[(i + 1) % cells];
    u[i] = before[i] - 0.5 * courant * before[i] * (right - left) +
           viscosity * (left - 2 * before[i] + right);
  }
}

/* What `adjoint` is before a step that began from u. */
static void reverse_step(const double* u, double* adjoint) {
  double after[cells];
  memcpy(after, adjoint, sizeof after);
  for (int i = 0; i < cells; ++i) {
    const int left = (i + cells - 1) % cells, right = (i + 1) % cells;
    adjoint[i] = after[i] * (1 - 0.5 * courant * (u[right] - u[left]) - 2 * viscosity) +
                 after[left] * (viscosity - 0.5 * courant * u[left]) +
                 after[right] * (viscosity + 0.5 * courant * u[right]);
  }
}

static void first_state(double* u) {
  for (int i = 0; i < cells; ++i) u[i] = 1 + 0.5 * sin(2 * acos(-1.0) * i / cells);
}

/* sum(u^2) / 2 of a run whose first state is off by `much` in one cell. */
static double outcome(int cell, double much) {
  double u[cells], sum = 0;
  first_state(u);
  u[cell] += much;
  for (int i = 0; i < steps; ++i) step(u);
  for (int i = 0; i < cells; ++i) sum += 0.5 * u[i] * u[i];
  return sum;
}

static void gradient(int store, double* u, double* adjoint) {
  int64_t model = 0, left = steps, from, to;
  int action, advanced = 0, kept = 0;
  do {
    check(forebay_schedule_next(store, model, left, &action, &from, &to));
    switch (action) {
      case FOREBAY_ADVANCE:
        for (; model < to; ++model, ++advanced) step(u);
        break;
      case FOREBAY_STORE:
        /* Where it has no room the next answer plans without it. */
        if (forebay_checkpoint_push(store, from) == 0) ++kept;
        break;
      case FOREBAY_RESTORE:
        check(forebay_checkpoint_peek(store, from));
        model = from;
        break;
      case FOREBAY_DROP:
        check(forebay_checkpoint_drop(store, from));
        break;
      case FOREBAY_TURN:
        if (to == steps) {
          memcpy(adjoint, u, cells * sizeof *u);
          step(adjoint);
        }
        reverse_step(u, adjoint);
        left = from;
        model = -1; /* no step that is left begins with it */
        break;
    }
  } while (action != FOREBAY_DONE);
  printf("%d steps reversed, %d run besides, %d states kept\n", steps, advanced, kept);
}

int main(int argc, char** argv) {
  static double u[cells], adjoint[cells];
  const int64_t shape[1] = {cells};
  int store, variable;
  if (argc != 2) return 2;
  /* Room for two states in memory and about eight in files. */
  check(forebay_checkpoint_open(argv[1], "checkpoint_memory=8KiB;checkpoint_dir_bytes=24KiB",
                                &store));
  check(forebay_checkpoint_var(store, "u", "double", 1, shape, "shuffle,zstd:1", u, &variable));
  first_state(u);
  gradient(store, u, adjoint);
  check(forebay_checkpoint_close(store, 0));

  for (int cell = 0; cell < cells; cell += 97) {
    const double much = 1e-5;
    const double wanted = (outcome(cell, much) - outcome(cell, -much)) / (2 * much);
    printf("cell %3d: %.9f, by finite differences %.9f\n", cell, adjoint[cell], wanted);
    if (fabs(adjoint[cell] - wanted) > 1e-6 * fabs(wanted)) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
