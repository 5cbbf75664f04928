/* Functions that only the Fortran module (fortran/forebay_checkpoint.F90.in) calls, in addition to
 * forebay_checkpoint.h. Communicators are Fortran's handles, dimensions are in Fortran's order, and
 * arrays come with their number of elements. */
#ifndef FOREBAY_API_CHECKPOINT_FORTRAN_H
#define FOREBAY_API_CHECKPOINT_FORTRAN_H

#include <mpi.h>
/* after <mpi.h>, which enables part of it */
#include <forebay_checkpoint.h>

#if defined(__cplusplus)
extern "C" {
#endif

FOREBAY_EXPORT extern int forebay_f_checkpoint_open_mpi(MPI_Fint comm, const char* name,
                                                        const char* hints, int* store);
/* `codec` empty: hints and XML decide. `contiguous` 0: memory with gaps, which push cannot use. */
FOREBAY_EXPORT extern int forebay_f_checkpoint_var(int store, const char* name, const char* type,
                                                   int ndims, const int64_t* shape,
                                                   const char* codec, int contiguous, void* memory,
                                                   int* var);
/* `elements`: number of the array's elements; below 0: not known. NC_EINVAL: the variable has
 * another number. */
FOREBAY_EXPORT extern int forebay_f_checkpoint_put(int store, int var, int64_t elements,
                                                   const void* values);
FOREBAY_EXPORT extern int forebay_f_checkpoint_get(int store, int var, int64_t elements,
                                                   void* values);

#if defined(__cplusplus)
}
#endif
#endif
