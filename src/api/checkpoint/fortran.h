/* What the Fortran module (fortran/forebay_checkpoint.F90) calls beside forebay_checkpoint.h:
 * communicators are Fortran's handles, dimensions stand in Fortran's order, and arrays come with
 * their number of elements. For the module alone. */
#ifndef FOREBAY_API_CHECKPOINT_FORTRAN_H
#define FOREBAY_API_CHECKPOINT_FORTRAN_H

#include <mpi.h>
/* above what it enables */
#include <forebay_checkpoint.h>

#if defined(__cplusplus)
extern "C" {
#endif

FOREBAY_EXPORT extern int forebay_f_checkpoint_open(MPI_Fint comm, const char* name,
                                                    const char* hints, int* store);
/* `codec` empty: as hints and XML say. `contiguous` 0: memory that push could not take. */
FOREBAY_EXPORT extern int forebay_f_checkpoint_var(int store, const char* name, const char* type,
                                                   int ndims, const int64_t* shape,
                                                   const char* codec, int contiguous, void* memory,
                                                   int* var);
/* `elements`: of the array; below 0: not known. NC_EINVAL: the variable has others. */
FOREBAY_EXPORT extern int forebay_f_checkpoint_put(int store, int var, int64_t elements,
                                                   const void* values);
FOREBAY_EXPORT extern int forebay_f_checkpoint_get(int store, int var, int64_t elements,
                                                   void* values);

#if defined(__cplusplus)
}
#endif
#endif
