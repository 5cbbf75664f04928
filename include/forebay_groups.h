/* Groups: a program names once what it writes, and one XML file says how it is written (Lofstead et
 * al. 2009, §III). docs/groups.md explains their use; this header says what each function does.
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
 * Functions return 0, a negative code that ncmpi_strerror() names, or a positive errno;
 * forebay_error_message() has the sentence. "Collective": all ranks of the communicator call, in
 * the same order, and an error of one rank is an error on all. "Local": an error is this rank's
 * alone and has written nothing; the others' step completes. One thread may call at a time. */
#ifndef FOREBAY_GROUPS_H
#define FOREBAY_GROUPS_H

#include <forebay.h>
#include <mpi.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Collective. Reads the groups and how they are written: from the file that FOREBAY_CONFIG names,
 * else from `xml`. NULL or "": groups are defined by calls alone. */
FOREBAY_EXPORT extern int forebay_init(const char* xml, MPI_Comm comm);
/* Local. Forgets all definitions. Open files stay open. */
FOREBAY_EXPORT extern int forebay_finalize(void);

/* Local; call with equal arguments on all ranks. These define groups without XML, or in addition to
 * it, in the same words. Lists have commas; NULL or "" is not given. `language` is C or Fortran.
 * `options` of a variable: "joined=0;steps=once". `hints` of a method: "subfiling=node;…", or
 * "method=MPI" with a name of ADIOS 1. They hold for all methods that the XML file has for the
 * group, and yield to what is said there. */
FOREBAY_EXPORT extern int forebay_define_group(const char* group, const char* language);
FOREBAY_EXPORT extern int forebay_define_var(const char* group, const char* name, const char* type,
                                             const char* dimensions, const char* global,
                                             const char* offsets, const char* options);
FOREBAY_EXPORT extern int forebay_define_attribute(const char* group, const char* name,
                                                   const char* value, const char* type);
FOREBAY_EXPORT extern int forebay_define_method(const char* group, const char* hints);

/* Collective, with equal arguments. `mode` "w" makes a new file and replaces an existing one. "a"
 * continues after the last step of a file, or makes a new one. "r" reads; `group` may be NULL then.
 * With several methods in XML there are several files; "r" reads the first one (docs/groups.md).
 * `file` becomes the file's number, greater than 0. */
FOREBAY_EXPORT extern int forebay_open(int* file, const char* group, const char* path,
                                       const char* mode, MPI_Comm comm);

/* Local, and never required. Says how many bytes this rank is going to write in this step. Memory
 * for copies is allocated at once, in one piece; if there is not enough, the error comes before the
 * first write. The rank may write more or fewer bytes. */
FOREBAY_EXPORT extern int forebay_group_size(int file, int64_t bytes);

/* Local. Writes what this rank has of a variable in this step. Scalars that dimensions name must be
 * written before the arrays. The caller may reuse the memory when forebay_write returns. The memory
 * of forebay_write_later is not copied, and must stay unchanged until forebay_end_step; if a group
 * has several methods, also where the call returns an error. Ranks may leave variables out. */
FOREBAY_EXPORT extern int forebay_write(int file, const char* name, const void* data);
FOREBAY_EXPORT extern int forebay_write_later(int file, const char* name, const void* data);
/* Local. Writes one of any number of boxes of an array in this step. Numbers count elements, in the
 * dimension order of the group's language. `shape` and `start` are NULL outside global arrays. */
FOREBAY_EXPORT extern int forebay_write_box(int file, const char* name, const int64_t* shape,
                                            const int64_t* start, const int64_t* count,
                                            const void* data);

/* Collective. When it returns, the step is in the file: whoever opens the file finds it, even if
 * the program is killed later. If it fails, the step is not in the file, earlier ones are
 * unchanged, and the next one begins. */
FOREBAY_EXPORT extern int forebay_end_step(int file);
/* Collective. When it returns, all steps so far are on the device, with all that a reader needs:
 * steps that waited in a queue or in logs (stages async and burst), steps of earlier openings of
 * the file, values, index and the names of files. A power failure afterwards costs none of them,
 * and no log brings them back. */
FOREBAY_EXPORT extern int forebay_sync(int file);
/* Collective. Drops what was written since the last forebay_end_step. The number is free in any
 * case. */
FOREBAY_EXPORT extern int forebay_close(int file);

/* Reading, from files opened with "r": BP4 directories and BP3 files of any writer, and netCDF
 * files. In netCDF files each record is a step, and variables without records are in step 0. The
 * functions are local unless they say otherwise: each rank asks for what it needs. Steps count from
 * 0 and are those that the file had when it was opened, and that forebay_begin_step found. Names
 * may have a leading "/". Dimensions are in C's order, the last one varying fastest, whatever the
 * writer's language. NC_EINVALCOORDS: the step does not have the variable. NC_ENODATA: no rank
 * wrote the elements. (In netCDF files both give fill values and no error.) NC_ENOTSUPPORT: the
 * data needs an operator of ADIOS. */

/* Collective. Goes to the next step of a file, from 0 on, also while another program writes it.
 * `step` becomes its number, for the functions below; those of earlier steps still work. Behind the
 * last step of a BP4 directory it waits for another, at most `timeout` seconds of rank 0 (0: it
 * looks once; below 0: NC_EINVAL). `status` becomes one of:
 *   FOREBAY_STEP_OK         the step is there, whole
 *   FOREBAY_STEP_NOT_READY  there was none in that time, and the writer has not closed the file;
 *                           `step` is unchanged. Call again. A writer that was killed leaves it so.
 *   FOREBAY_STEP_END        there is none, and the writer has closed the file; `step` is unchanged.
 *                           Other files than BP4 directories end behind the steps of their opening,
 *                           and so do files whose writer does not say follow=enable.
 * Either may be NULL. An error (a damaged index, say) is an error on all ranks. */
#define FOREBAY_STEP_OK 0
#define FOREBAY_STEP_NOT_READY 1
#define FOREBAY_STEP_END 2
FOREBAY_EXPORT extern int forebay_begin_step(int file, double timeout, int64_t* step, int* status);

/* Names and types belong to the library and stay valid until the file is closed; types are those of
 * XML. A value that each rank has of its own (adios2's local value) counts as one dimension, over
 * ranks. For a file that is being written, forebay_inq_var returns what its group declares. */
FOREBAY_EXPORT extern int forebay_inq_steps(int file, int64_t* steps);
FOREBAY_EXPORT extern int forebay_inq_nvars(int file, int* nvars);
FOREBAY_EXPORT extern int forebay_inq_varname(int file, int number, const char** name);
FOREBAY_EXPORT extern int forebay_inq_var(int file, const char* name, const char** type,
                                          int* ndims);
/* Returns 0 if a variable has this type, in the words of XML, and this number of dimensions; else
 * NC_EBADTYPE or NC_EBADDIM. It serves programs that read into memory of fixed types. */
FOREBAY_EXPORT extern int forebay_expect(int file, const char* name, const char* type, int ndims);
/* `shape` gets ndims extents of the variable in a step; the blocks of joined and local arrays
 * follow one another in it. `bytes` becomes the size of all values; for a string, of its text and a
 * zero. Either may be NULL. */
FOREBAY_EXPORT extern int forebay_inq_shape(int file, const char* name, int64_t step,
                                            int64_t* shape, int64_t* bytes);
/* These return the blocks that ranks wrote, with ndims numbers each. `start` is zero outside global
 * arrays; `start` and `count` may be NULL. A netCDF file has one block per rank of joined and local
 * arrays, and one block of every other variable. */
FOREBAY_EXPORT extern int forebay_inq_blocks(int file, const char* name, int64_t step,
                                             int64_t* nblocks);
FOREBAY_EXPORT extern int forebay_inq_block(int file, const char* name, int64_t step, int64_t block,
                                            int64_t* start, int64_t* count);
/* Finds the least and greatest finite value of a step from the index alone, as the nearest double.
 * `any` becomes 1; 0: there is none; -1: the index does not tell, as in netCDF files, and in files
 * of adios2 without statistics or with infinities. `least` and `greatest` are set only for 1. */
FOREBAY_EXPORT extern int forebay_inq_statistics(int file, const char* name, int64_t step, int* any,
                                                 double* least, double* greatest);

/* Finds, from the index alone, how many values of a step are finite, their mean, and their standard
 * deviation (of all values, not of a sample). Only variables with characteristics="mean" have them.
 * `count` becomes -1 if the index does not tell, as for other variables, for blocks of 2^32 values
 * or more, and in netCDF files. `mean` and `deviation` (either may be NULL) are unchanged then, and
 * if `count` is 0. The deviation is infinite if the sum of squares is no double, and is lost in
 * rounding if it is less than about 1e-7 of the mean. */
FOREBAY_EXPORT extern int forebay_inq_moments(int file, const char* name, int64_t step,
                                              int64_t* count, double* mean, double* deviation);

/* Finds, from the index alone, blocks that may have elements for which a condition is true: "T >
 * 300", "T >= 1 and T < 5". The first `most` of their steps and numbers go to `steps` and `blocks`
 * (either may be NULL); `found` becomes how many there are. Only finite values count; a block
 * without a range in the index is included. NC_ECHAR: complex numbers and strings. NC_ENOTSUPPORT:
 * netCDF files. */
FOREBAY_EXPORT extern int forebay_find(int file, const char* condition, int64_t most,
                                       int64_t* steps, int64_t* blocks, int64_t* found);

/* Reads the elements of a box in the variable's type; if `start` and `count` are NULL, all
 * elements. A scalar that several ranks wrote has the value of the lowest rank. A string gets its
 * text and a zero. `data` may be NULL if there are no elements. After an error its contents are
 * undefined. */
FOREBAY_EXPORT extern int forebay_read(int file, const char* name, int64_t step,
                                       const int64_t* start, const int64_t* count, void* data);
/* These read many boxes together. forebay_read_later queues a box (local; an error in its arguments
 * is returned now, and then it is not queued). forebay_perform_reads carries out the queued reads
 * of all ranks (collective, also for ranks that have queued nothing). Data that several ranks ask
 * for is read once, and one rank reads rows that lie close together for all. Until then `data`
 * belongs to the library. Neither it nor a part of it may be queued again: the result would be
 * undefined. An error of one rank in forebay_perform_reads, such as a missing data file, is an
 * error on all. The queue is cleared in any case; after an error the contents of all boxes are
 * undefined. forebay_close drops queued reads. */
FOREBAY_EXPORT extern int forebay_read_later(int file, const char* name, int64_t step,
                                             const int64_t* start, const int64_t* count,
                                             void* data);
FOREBAY_EXPORT extern int forebay_perform_reads(int file);
/* Reads one block as it was written. If the writer's language is Fortran, its first dimension is
 * last. */
FOREBAY_EXPORT extern int forebay_read_block(int file, const char* name, int64_t step,
                                             int64_t block, void* data);

#if defined(__cplusplus)
}
#endif
#endif
