/* Forebay's HDF5 connector (libforebay_vol), for programs that register it themselves. Programs
 * that set HDF5_VOL_CONNECTOR=forebay do not need this header. */
#ifndef FOREBAY_VOL_H
#define FOREBAY_VOL_H

#include <hdf5.h>

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__GNUC__)
#define FOREBAY_VOL_EXPORT __attribute__((visibility("default")))
#else
#define FOREBAY_VOL_EXPORT
#endif

/* Name and value of the connector. The value lies in the range 256 to 511 that HDF5 leaves for
 * connectors that are not registered with The HDF Group. */
#define H5VL_FOREBAY_NAME "forebay"
#define H5VL_FOREBAY_VALUE ((H5VL_class_value_t)442)
#define H5VL_FOREBAY_VERSION 1

/* The info that H5Pset_vol takes with the connector. HDF5 copies it. */
typedef struct H5VL_forebay_info_t {
  hid_t under_vol_id;   /* the connector below, such as H5VL_NATIVE's */
  void* under_vol_info; /* that connector's own info, or NULL */
  char* hints;          /* "name=value;name=value" for the log layout, or NULL */
} H5VL_forebay_info_t;

/* Registers the connector, or finds it registered. The caller closes the identifier with H5VLclose.
 * Negative on failure. */
FOREBAY_VOL_EXPORT hid_t H5VL_forebay_register(void);

/* Makes files opened with this file access property list go through Forebay. `under_vol_id` and
 * `under_vol_info` say what stands below: 0 and NULL mean the native connector. `hints` may be
 * NULL. Negative on failure. */
FOREBAY_VOL_EXPORT herr_t H5Pset_fapl_forebay(hid_t fapl_id, hid_t under_vol_id,
                                              const void* under_vol_info, const char* hints);

/* What a program says about its buffers (Hou 2023, 6.2.2). The values are properties of the lists,
 * and go along with H5Pcopy. A file that does not go through the connector has no regard for them.
 * All functions are local, and return a negative value on failure, with the reason on HDF5's error
 * stack: for a list of another class, a default list, and a value that cannot be. */

/* Sets how many bytes of data a rank may hold in memory in files that are created or opened with
 * this file access property list: what the hint buffer_limit sets, at least 4096. Equal on all
 * ranks of a file: H5Fcreate and H5Fopen fail on all of them otherwise. A hint buffer_limit,
 * wherever it is given, overrules it. */
FOREBAY_VOL_EXPORT herr_t H5Pset_fapl_forebay_buffer(hid_t fapl_id, hsize_t bytes);

/* Stores what was set in `bytes`; 0 if nothing was. */
FOREBAY_VOL_EXPORT herr_t H5Pget_fapl_forebay_buffer(hid_t fapl_id, hsize_t* bytes);

/* Sets whether H5Dwrite with this transfer property list must copy the data before it returns; it
 * must if nothing is set. If `copy` is false, the program leaves the memory of such a write as it
 * is until the next H5Fflush or collective H5Dread of the file, or the close of its last handle,
 * has returned. The connector may then refer to it instead of copying it. It does so in log files
 * where the values lie in memory as in the file: in one piece, in the dataset's datatype, and
 * without filters. It copies other data. The hint log_copy=disable says the same for all writes to
 * a file. A log_copy=enable of FOREBAY_CONFIG or FOREBAY_HINTS overrules this. Ranks may differ.
 * Memory that changes all the same is found: reads fail by the checksum. */
FOREBAY_VOL_EXPORT herr_t H5Pset_dxpl_forebay_copy(hid_t dxpl_id, hbool_t copy);

/* Stores what was set in `copy`; true if nothing was. */
FOREBAY_VOL_EXPORT herr_t H5Pget_dxpl_forebay_copy(hid_t dxpl_id, hbool_t* copy);

#if defined(__cplusplus)
}
#endif
#endif
