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

#if defined(__cplusplus)
}
#endif
#endif
