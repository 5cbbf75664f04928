/* Groups: a program names what it writes once, and one XML file says how it is written (paper:
 * ADIOS, SC'09, III). docs/groups.md tells of it; here is what each function does.
 *
 *   forebay_init("run.xml", comm);
 *   forebay_open(&f, "restart", "restart.bp", "w", comm);
 *   for each step:
 *     forebay_write(f, "nx", &nx);  forebay_write(f, "x0", &x0);
 *     forebay_write(f, "T", temperature);
 *     forebay_end_step(f);
 *   forebay_close(f);
 *   forebay_finalize();
 *
 * Functions return 0, or a negative code that ncmpi_strerror() names, or a positive errno;
 * forebay_error_message() has the sentence. "Collective": all ranks of the communicator call, in
 * the same order, and an error of one is an error on all. "Local": an error is this rank's alone,
 * has written nothing, and the others' step completes. One thread at a time. */
#ifndef FOREBAY_GROUPS_H
#define FOREBAY_GROUPS_H

#include <forebay.h>
#include <mpi.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Collective. Reads what groups there are, and how they are written: from the file that
 * FOREBAY_CONFIG names, else from `xml`; NULL or "": groups are defined by calls alone. */
FOREBAY_EXPORT extern int forebay_init(const char* xml, MPI_Comm comm);
/* Local. Forgets definitions. Files that are open stay so. */
FOREBAY_EXPORT extern int forebay_finalize(void);

/* Local; to be called with equal arguments on all ranks. In place of XML, or beside it, in the same
 * words: lists have commas, and what is not given is NULL or "". `language`: C or Fortran.
 * `options` of a variable: "joined=0;steps=once". `hints` of a method: "subfiling=node;…", which
 * win over all other sources. */
FOREBAY_EXPORT extern int forebay_define_group(const char* group, const char* language);
FOREBAY_EXPORT extern int forebay_define_var(const char* group, const char* name, const char* type,
                                             const char* dimensions, const char* global,
                                             const char* offsets, const char* options);
FOREBAY_EXPORT extern int forebay_define_attribute(const char* group, const char* name,
                                                   const char* value, const char* type);
FOREBAY_EXPORT extern int forebay_define_method(const char* group, const char* hints);

/* Collective, with equal arguments. `mode` "w": a new file in place of one that is there; "a":
 * behind its last step, or a new file. `file` becomes its number, greater than 0. */
FOREBAY_EXPORT extern int forebay_open(int* file, const char* group, const char* path,
                                       const char* mode, MPI_Comm comm);

/* Local. What this rank has of a variable in this step; scalars that dimensions name come before
 * the arrays. The memory is the caller's again when forebay_write returns; what
 * forebay_write_later was given stays as it is until forebay_end_step, and is not copied. Ranks may
 * leave variables out. */
FOREBAY_EXPORT extern int forebay_write(int file, const char* name, const void* data);
FOREBAY_EXPORT extern int forebay_write_later(int file, const char* name, const void* data);
/* Local. One of any number of boxes of an array in this step, in elements, in the order of
 * dimensions that the group's language has. `shape` and `start` are NULL for what is not in a
 * global array. */
FOREBAY_EXPORT extern int forebay_write_box(int file, const char* name, const int64_t* shape,
                                            const int64_t* start, const int64_t* count,
                                            const void* data);

/* Collective. When it returns the step is in the file: whoever opens it finds it, also where the
 * program is killed later. When it fails the step is not, earlier ones are as they were, and the
 * next one begins. */
FOREBAY_EXPORT extern int forebay_end_step(int file);
/* Collective. All steps so far are on the device. */
FOREBAY_EXPORT extern int forebay_sync(int file);
/* Collective. What was written since the last forebay_end_step is dropped. The number is free in
 * any case. */
FOREBAY_EXPORT extern int forebay_close(int file);

#if defined(__cplusplus)
}
#endif
#endif
