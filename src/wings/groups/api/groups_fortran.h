/* Functions that only the Fortran module (fortran/forebay.F90.in) calls, in addition to
 * forebay_groups.h. Communicators are Fortran's handles, dimensions are in Fortran's order, and
 * arrays come with their number of elements, which is compared with what the call needs. */
#ifndef FOREBAY_API_GROUPS_FORTRAN_H
#define FOREBAY_API_GROUPS_FORTRAN_H

#include <forebay_groups.h>

#if defined(__cplusplus)
extern "C" {
#endif

FOREBAY_EXPORT extern int forebay_f_init(const char* xml, MPI_Fint comm);
FOREBAY_EXPORT extern int forebay_f_open(int* file, const char* group, const char* path,
                                         const char* mode, MPI_Fint comm);

/* Does not write strings, whose end is unknown here. `lent`: data is not copied. `contiguous` 0:
 * data would have to be copied. */
FOREBAY_EXPORT extern int forebay_f_write(int file, const char* name, int lent, int contiguous,
                                          const void* data);
/* Writes strings only: `text` ends with a zero. */
FOREBAY_EXPORT extern int forebay_f_write_string(int file, const char* name, const char* text);
/* `sizes` are the lengths of shape, start and count, which are in the order of the group's
 * language; NULL lists have 0. */
FOREBAY_EXPORT extern int forebay_f_write_box(int file, const char* name, const int* sizes,
                                              const int64_t* shape, const int64_t* start,
                                              const int64_t* count, const void* data);

FOREBAY_EXPORT extern int forebay_f_inq_shape(int file, const char* name, int64_t step, int size,
                                              int64_t* shape, int64_t* bytes);
/* `sizes`: lengths of start and count. */
FOREBAY_EXPORT extern int forebay_f_inq_block(int file, const char* name, int64_t step,
                                              int64_t block, const int* sizes, int64_t* start,
                                              int64_t* count);
/* `elements` is the room in data; below 0: not known. `sizes` are the lengths of start and count;
 * NULL reads the whole variable. `later` delays the read until forebay_perform_reads. `contiguous`:
 * see forebay_f_write. */
FOREBAY_EXPORT extern int forebay_f_read(int file, const char* name, int64_t step, const int* sizes,
                                         const int64_t* start, const int64_t* count,
                                         int64_t elements, void* data, int later, int contiguous);
FOREBAY_EXPORT extern int forebay_f_read_block(int file, const char* name, int64_t step,
                                               int64_t block, int64_t elements, void* data);
/* Reads a string, or all characters of a character variable, and pads with blanks up to `size`. */
FOREBAY_EXPORT extern int forebay_f_read_string(int file, const char* name, int64_t step,
                                                int64_t size, char* text);

#if defined(__cplusplus)
}
#endif
#endif
