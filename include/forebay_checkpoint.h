/* Checkpoints of an adjoint computation: states of a model are pushed on the way forward, and
 * popped, or looked at, on the way back. docs/checkpoints.md tells of it; here is what each
 * function does.
 *
 *   forebay_checkpoint_open("run", "checkpoint_memory=1GiB", &s);
 *   forebay_checkpoint_var(s, "theta", "double", 3, shape, "zfp:accuracy=1e-3", theta, &v);
 *   for (i = 0; i < n; ++i) { forebay_checkpoint_push(s, i); step(); }
 *   while (i-- > 0) { forebay_checkpoint_pop(s, &i); adjoint_step(); }
 *   forebay_checkpoint_close(s, 0);
 *
 * Functions return 0, or a negative code, that of netCDF and PnetCDF, or a positive errno;
 * forebay_error_message() has the sentence. All are local but where it is said. One thread at a
 * time. */
#ifndef FOREBAY_CHECKPOINT_H
#define FOREBAY_CHECKPOINT_H

#include <forebay.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Opens the checkpoints of this process alone. `name`: the path of their files, to which a number
 * and an ending are added. `hints`: "key=value;key=value" of docs/methods.md, or NULL; XML and
 * FOREBAY_HINTS hold as for files, and are weaker. What an earlier job left there is found again.
 * NC_EPERM: the files are open, in this program or another one.
 * `store` becomes a number greater than 0. */
FOREBAY_EXPORT extern int forebay_checkpoint_open(const char* name, const char* hints, int* store);
#if defined(MPI_VERSION) /* <mpi.h> was included before */
/* Collective, with equal arguments: the same of all ranks, each with files of its own. Steps that
 * not all ranks have are dropped. NC_EINVAL: some rank has no files, and others have steps, which
 * stay. */
FOREBAY_EXPORT extern int forebay_checkpoint_open_mpi(MPI_Comm comm, const char* name,
                                                      const char* hints, int* store);
#endif

/* A variable of the states that are pushed from here on. `type`: "double", "float", "int", as in
 * CDL or in XML of groups; `shape`: ndims extents, in C's order. `codec`: "zfp:accuracy=1e-3,zstd"
 * or others; NULL: as hints and XML say. Stages that change values leave alone what is no
 * floating-point type, and small variables are kept as they are. `memory`: where push takes values
 * from, and pop and peek put them, which stays; NULL: they come and go by put and get. `var`: its
 * number. */
FOREBAY_EXPORT extern int forebay_checkpoint_var(int store, const char* name, const char* type,
                                                 int ndims, const int64_t* shape, const char* codec,
                                                 void* memory, int* var);

/* A floating-point variable is off by at most `bound` in states that are pushed from here on: the
 * codec's lossy stage gets that bound, zfp where it has none. 0: exact, without lossy stages. */
FOREBAY_EXPORT extern int forebay_checkpoint_set_bound(int store, int var, double bound);

/* Keeps the values of all variables that have memory, which may change when this returns. A state
 * of that step is replaced. Where it fails nothing is changed. With checkpoint_memory=0 a push
 * that has returned survives a kill of the process. */
FOREBAY_EXPORT extern int forebay_checkpoint_push(int store, int64_t step);
/* The state of the latest step: restored, and dropped. NC_ENODATA: there is none. */
FOREBAY_EXPORT extern int forebay_checkpoint_pop(int store, int64_t* step);
/* Restores a state that stays. */
FOREBAY_EXPORT extern int forebay_checkpoint_peek(int store, int64_t step);
FOREBAY_EXPORT extern int forebay_checkpoint_drop(int store, int64_t step);

/* A state in pieces: begin, puts or gets, end, which keeps it; abandon leaves all as it was.
 * `mode`: FOREBAY_READ or FOREBAY_WRITE, with FOREBAY_ADJOINT added where it is a state of the
 * adjoint, which pop does not see. Values may change after each put. Where end fails the state is
 * still being written: end tries again. Bytes are of any length, and
 * have names among which variables' are not. */
#define FOREBAY_READ 0
#define FOREBAY_WRITE 1
#define FOREBAY_ADJOINT 2
FOREBAY_EXPORT extern int forebay_checkpoint_begin(int store, int64_t step, int mode);
FOREBAY_EXPORT extern int forebay_checkpoint_put(int store, int var, const void* values);
FOREBAY_EXPORT extern int forebay_checkpoint_get(int store, int var, void* values);
FOREBAY_EXPORT extern int forebay_checkpoint_put_bytes(int store, const char* name,
                                                       const void* bytes, int64_t size);
/* `bytes` NULL: only `size` is told; else `size` says how large the memory is, and becomes what was
 * put there. NC_EINSUFFBUF: more is needed. */
FOREBAY_EXPORT extern int forebay_checkpoint_get_bytes(int store, const char* name, void* bytes,
                                                       int64_t* size);
FOREBAY_EXPORT extern int forebay_checkpoint_end(int store);
FOREBAY_EXPORT extern int forebay_checkpoint_abandon(int store);
FOREBAY_EXPORT extern int forebay_checkpoint_drop_adjoint(int store, int64_t step);

/* The n steps that will be popped or looked at next, in their order: they are read and decoded
 * ahead, and the last of them go first where room is short. Without it the latest is next. */
FOREBAY_EXPORT extern int forebay_checkpoint_expect(int store, const int64_t* steps, int64_t n);
/* Steps in increasing order: the first `most` of them go to `steps`, which may be NULL; `found` is
 * how many there are. `mode`: 0, or FOREBAY_ADJOINT. */
FOREBAY_EXPORT extern int forebay_checkpoint_list(int store, int mode, int64_t most, int64_t* steps,
                                                  int64_t* found);
/* Where a state is, how many bytes it takes there, and how many its values are; each may be NULL.
 * `mode`: as above. */
#define FOREBAY_IN_MEMORY 0
#define FOREBAY_IN_FAST 1
#define FOREBAY_IN_DIR 2
FOREBAY_EXPORT extern int forebay_checkpoint_inq_state(int store, int64_t step, int mode, int* tier,
                                                       int64_t* bytes, int64_t* raw_bytes);
/* All states are on the device when it returns. */
FOREBAY_EXPORT extern int forebay_checkpoint_sync(int store);
/* Collective over the ranks that opened. `keep` 0: the files go. The number is free in any case. */
FOREBAY_EXPORT extern int forebay_checkpoint_close(int store, int keep);

/* Collective over the ranks that opened. What to do next, so that steps are reversed with the least
 * repetition in the room that there is: checkpoint_memory, checkpoint_fast_bytes and
 * checkpoint_dir_bytes (0: no limit). `model`: the state that the program has, or -1; `adjoint`:
 * steps [0, adjoint) are still to be reversed, or -1 while the model runs and nobody knows its end.
 * All ranks are told the same. Where a push fails on one, this drops that step on the others, as it
 * drops whatever not all have. A push may fail, as nobody knows how large a state is before it is
 * encoded, or as a disk is full: ask again, and what there is without it is planned with
 * (NC_ENO_SPACE: the first state, from which all others are computed, could not be kept). The step
 * that is to be dropped may be any one: a state that turned out large gives way to the next ones.
 * Once there is a state of the adjoint, room is left for two as large as its values: the new one,
 * and the old one. A push that would take it has none.
 *
 *   FOREBAY_ADVANCE  go from state `from` to state `to`   FOREBAY_DROP  drop step `from`
 *   FOREBAY_STORE    push step `from`                     FOREBAY_TURN  reverse step `from`
 *   FOREBAY_RESTORE  peek step `from`                     FOREBAY_DONE  all is reversed
 */
#define FOREBAY_ADVANCE 0
#define FOREBAY_STORE 1
#define FOREBAY_RESTORE 2
#define FOREBAY_DROP 3
#define FOREBAY_TURN 4
#define FOREBAY_DONE 5
FOREBAY_EXPORT extern int forebay_schedule_next(int store, int64_t model, int64_t adjoint,
                                                int* action, int64_t* from, int64_t* to);

#if defined(__cplusplus)
}
#endif
#endif
