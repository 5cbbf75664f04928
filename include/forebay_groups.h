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
 * behind its last step, or a new file; "r": reading, for which `group` may be NULL. `file` becomes
 * its number, greater than 0. */
FOREBAY_EXPORT extern int forebay_open(int* file, const char* group, const char* path,
                                       const char* mode, MPI_Comm comm);

/* Local, and never needed. So many bytes this rank is going to write in this step: memory for
 * copies is had at once, in one piece, and where there is not so much the error comes before the
 * first write. What is written may be more, or less. */
FOREBAY_EXPORT extern int forebay_group_size(int file, int64_t bytes);

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

/* Reading, from files opened with "r": BP4 directories and BP3 files, whoever wrote them, and
 * netCDF files, in which each record is a step, and what has no records is in step 0. Local, but
 * where it is said: each rank asks for what it needs. Steps count from 0, and are those that the
 * file had when it was opened. A name may be given with "/" before it, or without. Dimensions stand
 * in C's order, the last one varying fastest, also where the writer's language has the other one. A
 * step that does not have the variable is NC_EINVALCOORDS; what no rank wrote, NC_ENODATA (in
 * netCDF files either has fill values, and is no error); what lies behind an operator of ADIOS,
 * NC_ENOTSUPPORT. */

/* Names and types are the library's, and stay until the file is closed; types are those of XML. A
 * value that each rank has of its own (adios2's local value) counts as one dimension, by ranks. Of
 * a file that is being written forebay_inq_var tells what its group declares. */
FOREBAY_EXPORT extern int forebay_inq_steps(int file, int64_t* steps);
FOREBAY_EXPORT extern int forebay_inq_nvars(int file, int* nvars);
FOREBAY_EXPORT extern int forebay_inq_varname(int file, int number, const char** name);
FOREBAY_EXPORT extern int forebay_inq_var(int file, const char* name, const char** type,
                                          int* ndims);
/* 0 where a variable has this type, in the words of XML, and number of dimensions; else NC_EBADTYPE
 * or NC_EBADDIM. For programs that read into memory of their own types. */
FOREBAY_EXPORT extern int forebay_expect(int file, const char* name, const char* type, int ndims);
/* `shape`: ndims extents of the variable in a step, in which the blocks of joined and local arrays
 * follow one another. `bytes`: of all its values; of a string those of its text and a zero. Either
 * may be NULL. */
FOREBAY_EXPORT extern int forebay_inq_shape(int file, const char* name, int64_t step,
                                            int64_t* shape, int64_t* bytes);
/* What ranks wrote one by one: ndims numbers each. `start` is zero in what is no global array; both
 * may be NULL. NetCDF files have one block for each rank of joined and local arrays, and one of all
 * else. */
FOREBAY_EXPORT extern int forebay_inq_blocks(int file, const char* name, int64_t step,
                                             int64_t* nblocks);
FOREBAY_EXPORT extern int forebay_inq_block(int file, const char* name, int64_t step, int64_t block,
                                            int64_t* start, int64_t* count);
/* The least and greatest finite value of a step, by the index alone, as the nearest double. `any`
 * is 1; 0 where there is none; -1 where the index does not tell, as in netCDF files, and those of
 * adios2 without statistics, or with infinities: `least` and `greatest` are left as they are then.
 */
FOREBAY_EXPORT extern int forebay_inq_statistics(int file, const char* name, int64_t step, int* any,
                                                 double* least, double* greatest);

/* How many values of a step are finite, their mean and their standard deviation (that of all of
 * them, not of a sample), by the index alone: of variables with characteristics="mean". `count` is
 * -1 where the index does not tell, as of other variables, of blocks of 2^32 values and more, and
 * in netCDF files; `mean` and `deviation` (either may be NULL) are left as they are then, and where
 * it is 0. The deviation is infinite where the sum of squares is no double, and lost in these sums
 * where it is less than some 1e-7 of the mean. */
FOREBAY_EXPORT extern int forebay_inq_moments(int file, const char* name, int64_t step,
                                              int64_t* count, double* mean, double* deviation);

/* Blocks that have, or may have, elements of which a condition is true, by the index alone: "T >
 * 300", "T >= 1 and T < 5". The first `most` of their steps and numbers go to `steps` and `blocks`
 * (either may be NULL); `found` is how many there are. Only finite values count, and a block whose
 * range the index does not have is among them. Complex numbers and strings: NC_ECHAR; netCDF files:
 * NC_ENOTSUPPORT. */
FOREBAY_EXPORT extern int forebay_find(int file, const char* condition, int64_t most,
                                       int64_t* steps, int64_t* blocks, int64_t* found);

/* The elements of a box, in the variable's type; `start` and `count` NULL: all of them. Of a scalar
 * that several ranks wrote the value of the lowest one. A string: its text and a zero. What `data`
 * holds after an error is undefined; it may be NULL where there are no elements. */
FOREBAY_EXPORT extern int forebay_read(int file, const char* name, int64_t step,
                                       const int64_t* start, const int64_t* count, void* data);
/* The same of many boxes, together: forebay_read_later notes a box (local; all that is wrong with
 * it is told now, and then it is not noted), and forebay_perform_reads carries out what ranks have
 * noted (collective, also for ranks that have noted nothing). What several ranks ask for is read
 * from the data files once, and rows that lie close to each other by one rank for all. Until then
 * `data` is the library's, and is not noted again, nor parts of it: what it would hold then is
 * undefined. An error of one rank in forebay_perform_reads, as a data file that is
 * not there, is an error on all, and what was noted is forgotten in any case; what `data` holds
 * then is undefined, for all boxes. forebay_close forgets what was not carried out. */
FOREBAY_EXPORT extern int forebay_read_later(int file, const char* name, int64_t step,
                                             const int64_t* start, const int64_t* count,
                                             void* data);
FOREBAY_EXPORT extern int forebay_perform_reads(int file);
/* One block as it was written, its first dimension last where the writer's language is Fortran. */
FOREBAY_EXPORT extern int forebay_read_block(int file, const char* name, int64_t step,
                                             int64_t block, void* data);

#if defined(__cplusplus)
}
#endif
#endif
