/* The codes that Forebay's own functions return. Their values are those of netCDF and PnetCDF:
 * FOREBAY_EINVAL is NC_EINVAL, so that ncmpi_strerror() names them. A function returns 0 where it
 * succeeded, or a positive errno where the system failed and no code says more. */
#ifndef FOREBAY_CODES_H
#define FOREBAY_CODES_H

#define FOREBAY_NOERR 0
/* clang-format off */
#define FOREBAY_EBADID (-33) /* Not a valid ID */
#define FOREBAY_ENFILE (-34) /* Too many files open */
#define FOREBAY_EEXIST (-35) /* File exists && NC_NOCLOBBER */
#define FOREBAY_EINVAL (-36) /* Invalid argument */
#define FOREBAY_EPERM (-37) /* Write to read only */
#define FOREBAY_ENOTINDEFINE (-38) /* Operation not allowed in data mode */
#define FOREBAY_EINDEFINE (-39) /* Operation not allowed in define mode */
#define FOREBAY_EINVALCOORDS (-40) /* Index exceeds dimension bound */
#define FOREBAY_EMAXDIMS (-41) /* NC_MAX_DIMS or NC_MAX_VAR_DIMS exceeded */
#define FOREBAY_ENAMEINUSE (-42) /* String match to name in use */
#define FOREBAY_ENOTATT (-43) /* Attribute not found */
#define FOREBAY_EMAXATTS (-44) /* NC_MAX_ATTRS exceeded */
#define FOREBAY_EBADTYPE (-45) /* Not a valid data type or _FillValue type mismatch */
#define FOREBAY_EBADDIM (-46) /* Invalid dimension ID or name */
#define FOREBAY_EUNLIMPOS (-47) /* NC_UNLIMITED in the wrong index */
#define FOREBAY_EMAXVARS (-48) /* NC_MAX_VARS exceeded */
#define FOREBAY_ENOTVAR (-49) /* Variable not found */
#define FOREBAY_EGLOBAL (-50) /* Action prohibited on NC_GLOBAL varid */
#define FOREBAY_ENOTNC (-51) /* Unknown file format (file format violates CDF specification) */
#define FOREBAY_EMAXNAME (-53) /* NC_MAX_NAME exceeded */
#define FOREBAY_EUNLIMIT (-54) /* NC_UNLIMITED size already in use */
#define FOREBAY_ECHAR (-56) /* Attempt to convert between text & numbers */
#define FOREBAY_EEDGE (-57) /* Start+count exceeds dimension bound */
#define FOREBAY_ESTRIDE (-58) /* Illegal stride */
#define FOREBAY_EBADNAME (-59) /* Name contains illegal characters */
#define FOREBAY_ERANGE (-60) /* Numeric conversion not representable */
#define FOREBAY_ENOMEM (-61) /* Memory allocation (malloc) failure */
#define FOREBAY_EVARSIZE (-62) /* One or more variable sizes violate format constraints */
#define FOREBAY_EDIMSIZE (-63) /* Invalid dimension size */
#define FOREBAY_ETRUNC (-64) /* File likely truncated or possibly corrupted */
#define FOREBAY_EIO (-68) /* I/O failure */
#define FOREBAY_ENODATA (-69) /* Variable has no data */
#define FOREBAY_EACCESS (-77) /* Access failure */
#define FOREBAY_ENOTFOUND (-90) /* file not found */
#define FOREBAY_ECANTREMOVE (-91) /* cannot delete file */
#define FOREBAY_EINTERNAL (-92) /* internal library error; Please contact Unidata support */
#define FOREBAY_EHDFERR (-101) /* HDF error */
#define FOREBAY_ECANTREAD (-102) /* Can't read file */
#define FOREBAY_ECANTWRITE (-103) /* Can't write file */
#define FOREBAY_ECANTCREATE (-104) /* Can't create file */
#define FOREBAY_ENOTNC3 (-113) /* Attempting netcdf-3 operation on netcdf-4 file */
#define FOREBAY_ELATEFILL (-122) /* Attempt to define fill value when data already exists. */
#define FOREBAY_ENOGRP (-125) /* No group found. */
/* Attempt to use feature that was not turned on when netCDF was built. */
#define FOREBAY_ENOTBUILT (-128)
#define FOREBAY_EMPI (-131) /* MPI operation failed. */
#define FOREBAY_EFILTER (-132) /* Filter error: bad id or parameters or duplicate filter */
#define FOREBAY_ENOTINDEP (-202) /* Operation not allowed in collective data mode */
#define FOREBAY_EINDEP (-203) /* Operation not allowed in independent data mode */
#define FOREBAY_EFILE (-204) /* Unknown error in file operation */
#define FOREBAY_EREAD (-205) /* Unknown error occurs in reading file */
#define FOREBAY_EWRITE (-206) /* Unknown error occurs in writing file */
#define FOREBAY_EOFILE (-207) /* Fail to open/create file */
#define FOREBAY_EMULTITYPES (-208) /* Multiple etypes used in MPI datatype */
#define FOREBAY_EIOMISMATCH (-209) /* Input/Output data amount mismatch */
#define FOREBAY_ENEGATIVECNT (-210) /* Negative count is prohibited */
/* Unsupported etype in the MPI datatype describing the I/O buffer */
#define FOREBAY_EUNSPTETYPE (-211)
#define FOREBAY_EINVAL_REQUEST (-212) /* Invalid nonblocking request ID. */
#define FOREBAY_ENOTSUPPORT (-214) /* Feature is not yet supported. */
#define FOREBAY_ENULLBUF (-215) /* Trying to attach a NULL buffer or the buffer size is negative. */
#define FOREBAY_EPREVATTACHBUF (-216) /* Previous attached buffer is found. */
#define FOREBAY_ENULLABUF (-217) /* No attached buffer is found. */
#define FOREBAY_EPENDINGBPUT (-218) /* Cannot detach buffer due to pending bput request is found. */
#define FOREBAY_EINSUFFBUF (-219) /* Attached buffer is too small. */
#define FOREBAY_ENOENT (-220) /* Specified netCDF file does not exist. */
#define FOREBAY_EINTOVERFLOW (-221) /* Integer type casting overflow. */
#define FOREBAY_EBAD_FILE (-223) /* Invalid file name (e.g., path name too long). */
#define FOREBAY_ENO_SPACE (-224) /* Not enough space. */
#define FOREBAY_EQUOTA (-225) /* Quota exceeded. */
#define FOREBAY_ENULLSTART (-226) /* Argument start is a NULL pointer */
#define FOREBAY_EINVAL_CMODE (-228) /* Invalid file create mode */
#define FOREBAY_ETYPESIZE (-229) /* MPI datatype size error (bigger than the variable size) */
/* etype of the MPI datatype mismatches the variable data type */
#define FOREBAY_ETYPE_MISMATCH (-230)
#define FOREBAY_ESTRICTCDF2 (-232) /* Attempting CDF-5 operation on strict CDF or CDF-2 file */
#define FOREBAY_ENOTRECVAR (-233) /* Attempting operation only for record variables */
#define FOREBAY_ENOTFILL (-234) /* Attempting to fill a record when its variable fill mode is off */
#define FOREBAY_EINVAL_OMODE (-235) /* Invalid or unsupported file open mode */
#define FOREBAY_EPENDING (-236) /* Pending nonblocking request is found at file close */
#define FOREBAY_EBADLOG (-238) /* Unrecognized burst buffering log file format. */
#define FOREBAY_EMULTIDEFINE (-250) /* File header is inconsistent among processes */
#define FOREBAY_EMULTIDEFINE_DIM_SIZE (-253) /* Dimension size is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_DIM_NAME (-254) /* Dimension name is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_VAR_NAME (-256) /* Variable name is inconsistent among processes. */
/* Data type of this variable is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_VAR_NDIMS (-257)
#define FOREBAY_EMULTIDEFINE_VAR_DIMIDS (-258) /*  */
#define FOREBAY_EMULTIDEFINE_VAR_TYPE (-259) /*  */
#define FOREBAY_EMULTIDEFINE_ATTR_NAME (-265) /* Attribute name is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_ATTR_TYPE (-266) /* Attribute type is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_ATTR_LEN (-267) /* Attribute length is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_ATTR_VAL (-268) /* Attribute value is inconsistent among processes. */
/* Arguments in collective API are inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_FNC_ARGS (-269)
#define FOREBAY_EMULTIDEFINE_FILL_MODE (-270) /* File fill mode is inconsistent among processes. */
/* Variable fill value is inconsistent among processes. */
#define FOREBAY_EMULTIDEFINE_VAR_FILL_VALUE (-272)
/* clang-format on */

#endif
