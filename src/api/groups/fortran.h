/* What the Fortran module (fortran/forebay.F90) calls beside forebay_groups.h: communicators are
 * Fortran's handles, dimensions stand in Fortran's order, and arrays come with their number of
 * elements, which is compared with what the call needs. For the module alone. */
#ifndef FOREBAY_API_GROUPS_FORTRAN_H
#define FOREBAY_API_GROUPS_FORTRAN_H

#include <forebay_groups.h>

#if defined(__cplusplus)
extern "C" {
#endif

FOREBAY_EXPORT extern int forebay_f_init(const char* xml, MPI_Fint comm);
FOREBAY_EXPORT extern int forebay_f_open(int* file, const char* group, const char* path,
                                         const char* mode, MPI_Fint comm);

/* Not of a string, whose end nobody would find. `lent`: data is not copied; `contiguous`: 0 for
 * what would have to be. */
FOREBAY_EXPORT extern int forebay_f_write(int file, const char* name, int lent, int contiguous,
                                          const void* data);
/* Of a string alone: `text` ends with a zero. */
FOREBAY_EXPORT extern int forebay_f_write_string(int file, const char* name, const char* text);
/* `sizes`: of shape, start and count, which are in the order that the group's language has; NULL
 * lists have 0. */
FOREBAY_EXPORT extern int forebay_f_write_box(int file, const char* name, const int* sizes,
                                              const int64_t* shape, const int64_t* start,
                                              const int64_t* count, const void* data);

FOREBAY_EXPORT extern int forebay_f_inq_shape(int file, const char* name, int64_t step, int size,
                                              int64_t* shape, int64_t* bytes);
/* `sizes`: of start and count. */
FOREBAY_EXPORT extern int forebay_f_inq_block(int file, const char* name, int64_t step,
                                              int64_t block, const int* sizes, int64_t* start,
                                              int64_t* count);
/* `elements`: what there is room for in data; below 0: not known. `sizes`: of start and count;
 * NULL: all of the variable. `later`: when forebay_perform_reads is called; `contiguous`: as with
 * forebay_f_write. */
FOREBAY_EXPORT extern int forebay_f_read(int file, const char* name, int64_t step, const int* sizes,
                                         const int64_t* start, const int64_t* count,
                                         int64_t elements, void* data, int later, int contiguous);
FOREBAY_EXPORT extern int forebay_f_read_block(int file, const char* name, int64_t step,
                                               int64_t block, int64_t elements, void* data);
/* A string, or all characters of a variable of them, with blanks up to `size`. */
FOREBAY_EXPORT extern int forebay_f_read_string(int file, const char* name, int64_t step,
                                                int64_t size, char* text);

#if defined(__cplusplus)
}
#endif
#endif
