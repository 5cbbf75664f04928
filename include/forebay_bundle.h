/* Bundles: several files are written together, and the ranks of one communicator are divided among
 * them (docs/bundles.md).
 *
 *   forebay_bundle_open(comm, "history", MPI_INFO_NULL, &bundle);
 *   for each file: ncmpi_create(comm, path, ..., &ncid); forebay_bundle_add(bundle, ncid);
 *                  define; ncmpi_enddef(ncid); ncmpi_iput_...(ncid, ...)
 *   forebay_bundle_wait_all(bundle);
 *   forebay_bundle_close(bundle, NULL);     also closes the files
 *
 * The key `bundle` gives the same to programs that do not call these functions. The collective
 * writes of a file that was added are copied and wait until the bundle is written. It is written by
 * _flush, _sync and _close, when memory (`bundle_memory`) is full on any rank, or when one of the
 * files has to be read. Until then a new file has a length of 0. ncmpi_close of a member waits as
 * well.
 *
 * Functions return 0, or a negative code that ncmpi_strerror() names; forebay_error_message() has
 * the sentence. An error of one file does not keep the others from being written. All functions
 * except _plan are collective over the bundle's communicator. One thread may call at a time. */
#ifndef FOREBAY_BUNDLE_H
#define FOREBAY_BUNDLE_H

#include <forebay.h>
#include <mpi.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* `info` may hold bundle_scheme, bundle_files, bundle_memory, bundle_async and buffer_limit; rank
 * 0's values count. `id` becomes the bundle's number, greater than 0. The name of an open bundle is
 * refused. */
FOREBAY_EXPORT extern int forebay_bundle_open(MPI_Comm comm, const char* name, MPI_Info info,
                                              int* id);

/* Adds a file that the same ranks, in the same order, have open for writing. Other files, and files
 * that are members already, give NC_EINVAL. A file whose stage keeps writes elsewhere (burst,
 * async) is only closed with the bundle; its writes work as usual. A wrong `id` on one rank is an
 * error on all ranks. A rank with a wrong `ncid` gets NC_EBADID at once and the others wait for it,
 * as in all of PnetCDF, because a wrong number names no communicator. */
FOREBAY_EXPORT extern int forebay_bundle_add(int id, int ncid);

/* Completes all queued requests of all open members, as ncmpi_wait_all does for one file. */
FOREBAY_EXPORT extern int forebay_bundle_wait_all(int id);

/* _flush writes all that waits to the files. _sync does so, too, and all data is on the device. */
FOREBAY_EXPORT extern int forebay_bundle_flush(int id);
FOREBAY_EXPORT extern int forebay_bundle_sync(int id);

/* Writes the bundle and closes all members. Their numbers and the bundle's are free afterwards.
 * `statuses` may be NULL; otherwise it gets the code of each file, including files closed earlier,
 * in the order in which they were added. Returns the first code that is not 0. */
FOREBAY_EXPORT extern int forebay_bundle_close(int id, int* statuses);

/* Local. Describes as JSON how the bundle was written last: what each rank had, the prediction, and
 * the time taken. Writes at most `size` bytes, including the terminating zero. Returns the bytes
 * that the whole text needs, which may be more than `size`, or a negative error code. */
FOREBAY_EXPORT extern int64_t forebay_bundle_plan(int id, char* text, int64_t size);

#if defined(__cplusplus)
}
#endif
#endif
