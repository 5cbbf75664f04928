/* What the little programs of this folder share: each is a function of an MPI program that knows
 * PnetCDF alone, and does with files, processes and signals what programs may do. What comes of
 * each call, and what the files hold afterwards, is written to a log; two libraries are compared by
 * their logs (compare.py).
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

struct program {
  const char* name;
  void (*run)(void);
};
/* Each ends with a name that is null. */
extern const struct program link_programs[], change_programs[], process_programs[], call_programs[];

extern int rank, size;

/* Local; of rank 0's words those of the log. */
void say(const char* format, ...);
/* Collective: by its name, what a call came to on every rank. Returns the worst of it. */
int told(const char* what, int code);
#define TRY(call) told(#call, call)

/* One file as most programs have it: `fixed`, 4 ints a rank, and `record`, 4 doubles a rank in
 * `records` records. */
struct file {
  int id, fixed, record;
};
enum { records = 3 };
int make(struct file* file, const char* path,
         int mode); /* until enddef; returns what that came to */
int begin(struct file* file, const char* path, int mode); /* the first half of it: in define mode */
int define(struct file* file);                            /* the rest */
void put(const struct file* file, int add);               /* all values */
void put_fixed(const struct file* file, int add);
void put_record(const struct file* file, int at, int add);
int reopen(struct file* file, const char* path, int mode); /* returns what open came to */
void get(const struct file* file);      /* says how many values are not put()'s of `add` 0 */
void done(struct file* file);           /* closes it */
void whole(const char* path, int mode); /* make, put, done */

/* Collective; rank 0 looks. What is at a path: its kind, its mode; and all that a file holds. */
void kind(const char* path);
void show(const char* path);
void call_it(const char* path); /* which is "it" in the log from here on; null: none */
/* Collective: rank 0 runs the statement, the others wait. */
#define ALONE(...)               \
  do {                           \
    if (rank == 0) {             \
      __VA_ARGS__;               \
    }                            \
    MPI_Barrier(MPI_COMM_WORLD); \
  } while (0)

/* Local. A call of the system that has to succeed. */
void system_call(const char* what, int code);
#define RUN(call) system_call(#call, call)

/* Local. A file of so many bytes of text. */
void scribble(const char* path, int bytes);
#endif
