/* Bundles: several files that are written together, by the ranks of one communicator divided among
 * them (docs/bundles.md).
 *
 *   forebay_bundle_open(comm, "history", MPI_INFO_NULL, &bundle);
 *   for each file: ncmpi_create(comm, path, ..., &ncid); forebay_bundle_add(bundle, ncid);
 *                  define; ncmpi_enddef(ncid); ncmpi_iput_...(ncid, ...)
 *   forebay_bundle_wait_all(bundle);
 *   forebay_bundle_close(bundle, NULL);     also closes the files
 *
 * Programs that know nothing of this have it by the key `bundle`. From when a file is added its
 * collective writes wait, copied, until the bundle is written: by _flush, _sync, _close, when
 * memory (`bundle_memory`) is full on any rank, or when one of the files has to be read. A new file
 * has a length of 0 until then. ncmpi_close of a member waits as well.
 *
 * Functions return 0, or a negative code that ncmpi_strerror() names; forebay_error_message() has
 * the sentence. An error of one file does not keep the others from being written. All are
 * collective over the bundle's communicator, but for _plan. One thread at a time. */
#ifndef FOREBAY_BUNDLE_H
#define FOREBAY_BUNDLE_H

#include <forebay.h>
#include <mpi.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* `info`: bundle_scheme, bundle_files, bundle_memory, bundle_async, buffer_limit; rank 0's counts.
 * `id` becomes the bundle's number, greater than 0. A name that is open is refused. */
FOREBAY_EXPORT extern int forebay_bundle_open(MPI_Comm comm, const char* name, MPI_Info info,
                                              int* id);

/* A file that is open for writing, by the same ranks in the same order: NC_EINVAL for others, and
 * for one that is a member already. A file whose stage keeps writes elsewhere (burst, async) is
 * closed with the bundle, and else as ever. A wrong `id` on one rank is an error on all; a wrong
 * `ncid`, as in all of PnetCDF, tells of no communicator: that rank has NC_EBADID at once, and the
 * others wait for it. */
FOREBAY_EXPORT extern int forebay_bundle_add(int id, int ncid);

/* Completes all queued requests of all open members, as ncmpi_wait_all does of one. */
FOREBAY_EXPORT extern int forebay_bundle_wait_all(int id);

/* All that waits is in the files; _sync: and on the device. */
FOREBAY_EXPORT extern int forebay_bundle_flush(int id);
FOREBAY_EXPORT extern int forebay_bundle_sync(int id);

/* Writes the bundle and closes all members; their numbers, and the bundle's, are free afterwards.
 * `statuses` may be NULL, or gets the code of each file, in the order in which they were added,
 * whenever they were closed. Returns the first that is not 0. */
FOREBAY_EXPORT extern int forebay_bundle_close(int id, int* statuses);

/* Local. How the bundle was written last, as JSON: which rank had what, what was predicted, and
 * what it took. At most `size` bytes with the end of the text; the bytes that all of it needs are
 * returned, which may be more. Negative: an error. */
FOREBAY_EXPORT extern int64_t forebay_bundle_plan(int id, char* text, int64_t size);

#if defined(__cplusplus)
}
#endif
#endif
