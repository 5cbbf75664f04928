/* Checkpoints of an adjoint computation: the states of a model are pushed during the forward sweep,
 * and popped or peeked at during the backward sweep. docs/checkpoints.md explains their use; this
 * header says what each function does.
 *
 *   forebay_checkpoint_open("run", "checkpoint_memory=1GiB", &s);
 *   forebay_checkpoint_var(s, "theta", "double", 3, shape, "zfp:accuracy=1e-3", theta, &v);
 *   for (i = 0; i < n; ++i) { forebay_checkpoint_push(s, i); step(); }
 *   while (i-- > 0) { forebay_checkpoint_pop(s, &i); adjoint_step(); }
 *   forebay_checkpoint_close(s, 0);
 *
 * Functions return 0, a negative code of netCDF or PnetCDF, or a positive errno;
 * forebay_error_message() has the sentence. All functions are local unless they say otherwise. One
 * thread may call at a time. */
#ifndef FOREBAY_CHECKPOINT_H
#define FOREBAY_CHECKPOINT_H

#include <forebay.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Opens the checkpoints of this process alone. `name` is the path of their files, to which a number
 * and an ending are added. `hints` is "key=value;key=value" of docs/methods.md, or NULL. XML and
 * FOREBAY_HINTS apply as they do to files, and are weaker than `hints`. Checkpoints that an earlier
 * job left there are found again. NC_EPERM: this program or another one has the files open. If a
 * program ends without closing, all states are in files. If it changes its folder, the files stay
 * where they were. `store` becomes a number greater than 0. */
FOREBAY_EXPORT extern int forebay_checkpoint_open(const char* name, const char* hints, int* store);

/* Defines a variable of the states that are pushed from now on. `type` is "double", "float", "int"
 * and so on, as in CDL or in the XML of groups. `shape` has ndims extents, in C's order. `codec` is
 * "zfp:accuracy=1e-3,zstd" for example; NULL: hints and XML decide. Lossy stages apply to
 * floating-point types only, and small variables are kept as they are. `memory` is where push takes
 * values from and where pop and peek put them; it must stay valid. NULL: values pass through put
 * and get. `var` becomes the variable's number. */
FOREBAY_EXPORT extern int forebay_checkpoint_var(int store, const char* name, const char* type,
                                                 int ndims, const int64_t* shape, const char* codec,
                                                 void* memory, int* var);

/* Limits the error of a floating-point variable to `bound` in states that are pushed from now on.
 * The codec's lossy stage gets that bound; a codec without one gets zfp. 0: exact, without lossy
 * stages. */
FOREBAY_EXPORT extern int forebay_checkpoint_set_bound(int store, int var, double bound);

/* Keeps the values of all variables that have memory; they may change when this returns. An
 * existing state of that step is replaced. Nothing changes if it fails. With checkpoint_memory=0 a
 * push that has returned survives a kill of the process. */
FOREBAY_EXPORT extern int forebay_checkpoint_push(int store, int64_t step);
/* Restores the state of the latest step and drops it. NC_ENODATA: there is none. */
FOREBAY_EXPORT extern int forebay_checkpoint_pop(int store, int64_t* step);
/* Restores a state and keeps it. */
FOREBAY_EXPORT extern int forebay_checkpoint_peek(int store, int64_t step);
FOREBAY_EXPORT extern int forebay_checkpoint_drop(int store, int64_t step);

/* These functions write or read a state in pieces: begin, puts or gets, end. end keeps the state;
 * abandon leaves all as it was. `mode` is FOREBAY_READ or FOREBAY_WRITE; FOREBAY_ADJOINT is added
 * for a state of the adjoint, which pop does not see. Values may change after each put. If end
 * fails, the state is still being written, and end may be called again. Bytes have any length, and
 * their names are apart from the names of variables. */
#define FOREBAY_READ 0
#define FOREBAY_WRITE 1
#define FOREBAY_ADJOINT 2
FOREBAY_EXPORT extern int forebay_checkpoint_begin(int store, int64_t step, int mode);
FOREBAY_EXPORT extern int forebay_checkpoint_put(int store, int var, const void* values);
FOREBAY_EXPORT extern int forebay_checkpoint_get(int store, int var, void* values);
FOREBAY_EXPORT extern int forebay_checkpoint_put_bytes(int store, const char* name,
                                                       const void* bytes, int64_t size);
/* If `bytes` is NULL, only `size` is set. Otherwise `size` gives the size of the memory, and
 * becomes the number of bytes put there. NC_EINSUFFBUF: more memory is needed. */
FOREBAY_EXPORT extern int forebay_checkpoint_get_bytes(int store, const char* name, void* bytes,
                                                       int64_t* size);
FOREBAY_EXPORT extern int forebay_checkpoint_end(int store);
FOREBAY_EXPORT extern int forebay_checkpoint_abandon(int store);
FOREBAY_EXPORT extern int forebay_checkpoint_drop_adjoint(int store, int64_t step);

/* Names the n steps that will be popped or peeked at next, in that order. They are read and decoded
 * ahead, and the last of them lose their room first when it is short. Without this call the latest
 * step is expected next. */
FOREBAY_EXPORT extern int forebay_checkpoint_expect(int store, const int64_t* steps, int64_t n);
/* Lists steps in increasing order. The first `most` of them go to `steps`, which may be NULL;
 * `found` becomes their total number. `mode` is 0 or FOREBAY_ADJOINT. */
FOREBAY_EXPORT extern int forebay_checkpoint_list(int store, int mode, int64_t most, int64_t* steps,
                                                  int64_t* found);
/* Says in which tier a state is, how many bytes it takes there, and how many bytes its values have.
 * Each result may be NULL. `mode`: as above. */
#define FOREBAY_IN_MEMORY 0
#define FOREBAY_IN_FAST 1
#define FOREBAY_IN_DIR 2
FOREBAY_EXPORT extern int forebay_checkpoint_inq_state(int store, int64_t step, int mode, int* tier,
                                                       int64_t* bytes, int64_t* raw_bytes);
/* All states are on the device when it returns. From then on a power failure leaves each of them,
 * or what has replaced it in files, until it is dropped; a state that is dropped before the next
 * sync may be there again. To replace such a state in files, push waits for the device. Collective
 * with redundancy=xor:N: then they survive the loss of a node with its disk, too. */
FOREBAY_EXPORT extern int forebay_checkpoint_sync(int store);
/* Collective over the ranks that opened. `keep` 0 deletes the files. The number is free in any
 * case. */
FOREBAY_EXPORT extern int forebay_checkpoint_close(int store, int keep);

/* Collective over the ranks that opened. Says what to do next, so that the steps are reversed with
 * the least recomputation in the room that there is: checkpoint_memory, checkpoint_fast_bytes and
 * checkpoint_dir_bytes (0: no limit). `model` is the state that the program has, or -1. `adjoint`
 * says that steps [0, adjoint) are still to be reversed; -1: the model runs and its end is not
 * known. All ranks get the same answer. If a push fails on one rank, the next call drops that step
 * on the others, as it drops every state that not all ranks have. A push may fail because the
 * encoded size is not known before, or because a disk is full: ask again, and the next plan does
 * without it (NC_ENO_SPACE: the first state, from which all others are computed, could not be
 * kept). Any step may have to be dropped: a state that turned out large gives way to the next ones.
 * Once there is a state of the adjoint, room is reserved for two of the size of its values, the old
 * one and the new one. A push that would need this room fails.
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

/* Functions that take a communicator are declared if <mpi.h> is included. It may come before or
 * after this header; if it comes after, include this header once more. */
#if defined(MPI_VERSION) && !defined(FOREBAY_CHECKPOINT_MPI)
#define FOREBAY_CHECKPOINT_MPI
#if defined(__cplusplus)
extern "C" {
#endif
/* Collective, with equal arguments. As forebay_checkpoint_open on all ranks, each with files of its
 * own. Steps that not all ranks have are dropped. NC_EINVAL: some rank has no files while others
 * have steps; those steps stay. */
FOREBAY_EXPORT extern int forebay_checkpoint_open_mpi(MPI_Comm comm, const char* name,
                                                      const char* hints, int* store);
#if defined(__cplusplus)
}
#endif
#endif
