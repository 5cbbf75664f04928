"""The PnetCDF C interface as data: error codes, element types, access kinds, and the functions they make.

generate.py turns it into pnetcdf.h, the typed stubs and the texts of the error codes; the symbols
test compares it with what the library exports.
"""

VERSION = "1.12.3"
RELEASE_DATE = "February 21, 2022"

# -- build options of PnetCDF that programs ask for: macro, pnetcdf-config's option, value (0 off, 1 on,
# -1 decided at run time), and whether that is what PnetCDF's default build says -----------------------

FEATURES = [
    ("PNETCDF_ENABLE_FORTRAN", "--has-fortran", 1, True),
    ("PNETCDF_ENABLE_CXX", "--has-c++", 0, False),
    ("PNETCDF_ERANGE_FILL", "--erange-fill", 1, True),
    ("PNETCDF_SUBFILING", "--subfiling", 1, False),
    ("PNETCDF_RELAX_COORD_BOUND", "--relax-coord-bound", 1, True),
    ("PNETCDF_DEBUG_MODE", "--debug", 0, True),
    ("PNETCDF_LARGE_SINGLE_REQ", "--large-single-req", 1, False),
    ("PNETCDF_NULL_BYTE_HEADER_PADDING", "--null-byte-header-padding", 0, True),
    ("PNETCDF_BYTE_SWAP_IN_PLACE", "--in-place-swap", -1, True),
    ("PNETCDF_BURST_BUFFERING", "--burst-buffering", 1, False),
    ("PNETCDF_THREAD_SAFE", "--thread-safe", 0, True),
    ("PNETCDF_DRIVER_NETCDF4", "--netcdf4", 1, False),
    ("PNETCDF_DRIVER_ADIOS", "--adios", 0, True),
]


def feature_word(option, value):
    """What pnetcdf-config answers."""
    words = ("no", "yes") if option.startswith("--has") else ("disabled", "enabled", "auto")
    return words[value]


# -- error codes: name, value, and PnetCDF's text, which programs compare ------------------------------

NETCDF_ERRORS = [
    ("NC_EBADID", -33, "NetCDF: Not a valid ID"),
    ("NC_ENFILE", -34, "NetCDF: Too many files open"),
    ("NC_EEXIST", -35, "NetCDF: File exists && NC_NOCLOBBER"),
    ("NC_EINVAL", -36, "NetCDF: Invalid argument"),
    ("NC_EPERM", -37, "NetCDF: Write to read only"),
    ("NC_ENOTINDEFINE", -38, "NetCDF: Operation not allowed in data mode"),
    ("NC_EINDEFINE", -39, "NetCDF: Operation not allowed in define mode"),
    ("NC_EINVALCOORDS", -40, "NetCDF: Index exceeds dimension bound"),
    ("NC_EMAXDIMS", -41, "NetCDF: NC_MAX_DIMS or NC_MAX_VAR_DIMS exceeded"),
    ("NC_ENAMEINUSE", -42, "NetCDF: String match to name in use"),
    ("NC_ENOTATT", -43, "NetCDF: Attribute not found"),
    ("NC_EMAXATTS", -44, "NetCDF: NC_MAX_ATTRS exceeded"),
    ("NC_EBADTYPE", -45, "NetCDF: Not a valid data type or _FillValue type mismatch"),
    ("NC_EBADDIM", -46, "NetCDF: Invalid dimension ID or name"),
    ("NC_EUNLIMPOS", -47, "NetCDF: NC_UNLIMITED in the wrong index"),
    ("NC_EMAXVARS", -48, "NetCDF: NC_MAX_VARS exceeded"),
    ("NC_ENOTVAR", -49, "NetCDF: Variable not found"),
    ("NC_EGLOBAL", -50, "NetCDF: Action prohibited on NC_GLOBAL varid"),
    ("NC_ENOTNC", -51, "NetCDF: Unknown file format (file format violates CDF specification)"),
    ("NC_ESTS", -52, "NetCDF: In Fortran, string too short"),
    ("NC_EMAXNAME", -53, "NetCDF: NC_MAX_NAME exceeded"),
    ("NC_EUNLIMIT", -54, "NetCDF: NC_UNLIMITED size already in use"),
    ("NC_ENORECVARS", -55, "NetCDF: nc_rec op when there are no record vars"),
    ("NC_ECHAR", -56, "NetCDF: Attempt to convert between text & numbers"),
    ("NC_EEDGE", -57, "NetCDF: Start+count exceeds dimension bound"),
    ("NC_ESTRIDE", -58, "NetCDF: Illegal stride"),
    ("NC_EBADNAME", -59, "NetCDF: Name contains illegal characters"),
    ("NC_ERANGE", -60, "NetCDF: Numeric conversion not representable"),
    ("NC_ENOMEM", -61, "NetCDF: Memory allocation (malloc) failure"),
    ("NC_EVARSIZE", -62, "NetCDF: One or more variable sizes violate format constraints"),
    ("NC_EDIMSIZE", -63, "NetCDF: Invalid dimension size"),
    ("NC_ETRUNC", -64, "NetCDF: File likely truncated or possibly corrupted"),
    ("NC_EAXISTYPE", -65, "NetCDF: Illegal axis type"),
    ("NC_EDAP", -66, "NetCDF: DAP failure"),
    ("NC_ECURL", -67, "NetCDF: libcurl failure"),
    ("NC_EIO", -68, "NetCDF: I/O failure"),
    ("NC_ENODATA", -69, "NetCDF: Variable has no data"),
    ("NC_EDAPSVC", -70, "NetCDF: DAP server error"),
    ("NC_EDAS", -71, "NetCDF: Malformed or inaccessible DAP DAS"),
    ("NC_EDDS", -72, "NetCDF: Malformed or inaccessible DAP2 DDS or DAP4 DMR response"),
    ("NC_EDATADDS", -73, "NetCDF: Malformed or inaccessible DAP2 DATADDS or DAP4 DAP response"),
    ("NC_EDAPURL", -74, "NetCDF: Malformed URL"),
    ("NC_EDAPCONSTRAINT", -75, "NetCDF: Malformed or unexpected Constraint"),
    ("NC_ETRANSLATION", -76, "NetCDF: Untranslatable construct"),
    ("NC_EACCESS", -77, "NetCDF: Access failure"),
    ("NC_EAUTH", -78, "NetCDF: Authorization failure"),
    ("NC_ENOTFOUND", -90, "NetCDF: file not found"),
    ("NC_ECANTREMOVE", -91, "NetCDF: cannot delete file"),
    ("NC_EINTERNAL", -92, "NetCDF: internal library error; Please contact Unidata support"),
    ("NC_EPNETCDF", -93, "NetCDF: PnetCDF error"),
    ("NC_EHDFERR", -101, "NetCDF: HDF error"),
    ("NC_ECANTREAD", -102, "NetCDF: Can't read file"),
    ("NC_ECANTWRITE", -103, "NetCDF: Can't write file"),
    ("NC_ECANTCREATE", -104, "NetCDF: Can't create file"),
    ("NC_EFILEMETA", -105, "NetCDF: Can't add HDF5 file metadata"),
    ("NC_EDIMMETA", -106, "NetCDF: Can't define dimensional metadata"),
    ("NC_EATTMETA", -107, "NetCDF: Can't open HDF5 attribute"),
    ("NC_EVARMETA", -108, "NetCDF: Problem with variable metadata."),
    ("NC_ENOCOMPOUND", -109, "NetCDF: Can't create HDF5 compound type"),
    ("NC_EATTEXISTS", -110, "NetCDF: Attempt to create attribute that already exists"),
    ("NC_ENOTNC4", -111, "NetCDF: Attempting netcdf-4 operation on netcdf-3 file"),
    ("NC_ESTRICTNC3", -112, "NetCDF: Attempting netcdf-4 operation on strict nc3 netcdf-4 file"),
    ("NC_ENOTNC3", -113, "NetCDF: Attempting netcdf-3 operation on netcdf-4 file"),
    ("NC_ENOPAR", -114, "NetCDF: Parallel operation on file opened for non-parallel access"),
    ("NC_EPARINIT", -115, "NetCDF: Error initializing for parallel access"),
    ("NC_EBADGRPID", -116, "NetCDF: Bad group ID"),
    ("NC_EBADTYPID", -117, "NetCDF: Bad type ID"),
    ("NC_ETYPDEFINED", -118, "NetCDF: Type has already been defined and may not be edited"),
    ("NC_EBADFIELD", -119, "NetCDF: Bad field ID"),
    ("NC_EBADCLASS", -120, "NetCDF: Bad class"),
    ("NC_EMAPTYPE", -121, "NetCDF: Mapped access for atomic types only"),
    ("NC_ELATEFILL", -122, "NetCDF: Attempt to define fill value when data already exists."),
    ("NC_ELATEDEF", -123, "NetCDF: Attempt to define var properties, like deflate, after enddef."),
    ("NC_EDIMSCALE", -124, "NetCDF: Problem with HDF5 dimscales."),
    ("NC_ENOGRP", -125, "NetCDF: No group found."),
    ("NC_ESTORAGE", -126, "NetCDF: Cannot specify both contiguous and chunking."),
    ("NC_EBADCHUNK", -127, "NetCDF: Bad chunk sizes."),
    ("NC_ENOTBUILT", -128,
     "NetCDF: Attempt to use feature that was not turned on when netCDF was built."),
    ("NC_EDISKLESS", -129, "NetCDF: Error in using diskless access"),
    ("NC_ECANTEXTEND", -130,
     "NetCDF: Attempt to extend dataset during NC_INDEPENDENT I/O operation. Use "
     "nc_var_par_access to set mode NC_COLLECTIVE before extending variable."),
    ("NC_EMPI", -131, "NetCDF: MPI operation failed."),
    ("NC_EFILTER", -132, "NetCDF: Filter error: bad id or parameters or duplicate filter"),
    ("NC_ERCFILE", -133, "NetCDF: RC File Failure."),
    ("NC_ENULLPAD", -134, "NetCDF: File fails strict Null-Byte Header check."),
    ("NC_EINMEMORY", -135, "NetCDF: In-memory File operation failed."),
    ("NC_ENOFILTER", -136, "NetCDF: Filter error: unimplemented filter encountered"),
    ("NC_ENCZARR", -137, "NetCDF: NCZarr error"),
    ("NC_ES3", -138, "NetCDF: AWS S3 error"),
    ("NC_EEMPTY", -139, "NetCDF: Attempt to read empty NCZarr map key"),
    ("NC_EOBJECT", -140, "NetCDF: Some object exists when it should not"),
    ("NC_ENOOBJECT", -141, "NetCDF: Some object not found"),
    ("NC_EPLUGIN", -142, "NetCDF: Unclassified failure in accessing a dynamically loaded plugin"),
]

PNETCDF_ERRORS = [
    ("NC_ESMALL", -201, "Size of MPI_Offset or MPI_Aint too small for requested format"),
    ("NC_ENOTINDEP", -202, "Operation not allowed in collective data mode"),
    ("NC_EINDEP", -203, "Operation not allowed in independent data mode"),
    ("NC_EFILE", -204, "Unknown error in file operation"),
    ("NC_EREAD", -205, "Unknown error occurs in reading file"),
    ("NC_EWRITE", -206, "Unknown error occurs in writing file"),
    ("NC_EOFILE", -207, "Fail to open/create file"),
    ("NC_EMULTITYPES", -208, "Multiple etypes used in MPI datatype"),
    ("NC_EIOMISMATCH", -209, "Input/Output data amount mismatch"),
    ("NC_ENEGATIVECNT", -210, "Negative count is prohibited"),
    ("NC_EUNSPTETYPE", -211, "Unsupported etype in the MPI datatype describing the I/O buffer"),
    ("NC_EINVAL_REQUEST", -212, "Invalid nonblocking request ID."),
    ("NC_EAINT_TOO_SMALL", -213, "MPI_Aint not large enough to hold requested value."),
    ("NC_ENOTSUPPORT", -214, "Feature is not yet supported."),
    ("NC_ENULLBUF", -215, "Trying to attach a NULL buffer or the buffer size is negative."),
    ("NC_EPREVATTACHBUF", -216, "Previous attached buffer is found."),
    ("NC_ENULLABUF", -217, "No attached buffer is found."),
    ("NC_EPENDINGBPUT", -218, "Cannot detach buffer due to pending bput request is found."),
    ("NC_EINSUFFBUF", -219, "Attached buffer is too small."),
    ("NC_ENOENT", -220, "Specified netCDF file does not exist."),
    ("NC_EINTOVERFLOW", -221, "Integer type casting overflow."),
    ("NC_ENOTENABLED", -222, "Feature is not enabled at configure time."),
    ("NC_EBAD_FILE", -223, "Invalid file name (e.g., path name too long)."),
    ("NC_ENO_SPACE", -224, "Not enough space."),
    ("NC_EQUOTA", -225, "Quota exceeded."),
    ("NC_ENULLSTART", -226, "Argument start is a NULL pointer"),
    ("NC_ENULLCOUNT", -227, "Argument count is a NULL pointer"),
    ("NC_EINVAL_CMODE", -228, "Invalid file create mode"),
    ("NC_ETYPESIZE", -229, "MPI datatype size error (bigger than the variable size)"),
    ("NC_ETYPE_MISMATCH", -230, "etype of the MPI datatype mismatches the variable data type"),
    ("NC_ETYPESIZE_MISMATCH", -231, "MPI filetype size mismatches buftype size * bufcount"),
    ("NC_ESTRICTCDF2", -232, "Attempting CDF-5 operation on strict CDF or CDF-2 file"),
    ("NC_ENOTRECVAR", -233, "Attempting operation only for record variables"),
    ("NC_ENOTFILL", -234, "Attempting to fill a record when its variable fill mode is off"),
    ("NC_EINVAL_OMODE", -235, "Invalid or unsupported file open mode"),
    ("NC_EPENDING", -236, "Pending nonblocking request is found at file close"),
    ("NC_EMAX_REQ", -237, "Size of I/O request exceeds INT_MAX"),
    ("NC_EBADLOG", -238, "Unrecognized burst buffering log file format."),
    ("NC_EFLUSHED", -239, "Nonblocking requests already flushed."),
    ("NC_EADIOS", -240, "unknown ADIOS error."),
    ("NC_EMULTIDEFINE", -250, "File header is inconsistent among processes"),
    ("NC_EMULTIDEFINE_OMODE", -251, "File open mode is inconsistent among processes."),
    ("NC_EMULTIDEFINE_DIM_NUM", -252, "Number of dimensions is inconsistent among processes."),
    ("NC_EMULTIDEFINE_DIM_SIZE", -253, "Dimension size is inconsistent among processes."),
    ("NC_EMULTIDEFINE_DIM_NAME", -254, "Dimension name is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_NUM", -255, "Number of variables is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_NAME", -256, "Variable name is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_NDIMS", -257,
     "Dimensionality of this variable is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_DIMIDS", -258,
     "Dimension IDs used to define this variable are inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_TYPE", -259,
     "Data type of this variable is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_LEN", -260,
     "Number of elements of this variable is inconsistent among processes."),
    ("NC_EMULTIDEFINE_NUMRECS", -261, "Number of records is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_BEGIN", -262,
     "Starting file offset of this variable is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_NUM", -263, "Number of attributes is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_SIZE", -264,
     "Memory space used by attribute (internal use) is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_NAME", -265, "Attribute name is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_TYPE", -266, "Attribute type is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_LEN", -267, "Attribute length is inconsistent among processes."),
    ("NC_EMULTIDEFINE_ATTR_VAL", -268, "Attribute value is inconsistent among processes."),
    ("NC_EMULTIDEFINE_FNC_ARGS", -269,
     "Arguments in collective API are inconsistent among processes."),
    ("NC_EMULTIDEFINE_FILL_MODE", -270, "File fill mode is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_FILL_MODE", -271, "Variable fill mode is inconsistent among processes."),
    ("NC_EMULTIDEFINE_VAR_FILL_VALUE", -272,
     "Variable fill value is inconsistent among processes."),
    ("NC_EMULTIDEFINE_CMODE", -273, "File create mode is inconsistent among processes."),
]

# -- element types in memory: part of the function's name, C type --------------------------------------

TYPES = [
    ("text", "char"),
    ("schar", "signed char"),
    ("uchar", "unsigned char"),
    ("short", "short"),
    ("ushort", "unsigned short"),
    ("int", "int"),
    ("uint", "unsigned int"),
    ("long", "long"),
    ("float", "float"),
    ("double", "double"),
    ("longlong", "long long"),
    ("ulonglong", "unsigned long long"),
]
ATTRIBUTE_TYPES = TYPES + [("ubyte", "unsigned char")]

# -- access kinds: suffix of the name, selection arguments (type, name) ---------------------------------

ONE = "const MPI_Offset *"
MANY = "MPI_Offset* const *"
KINDS = {
    "var1": ["start"],
    "var": [],
    "vara": ["start", "count"],
    "vars": ["start", "count", "stride"],
    "varm": ["start", "count", "stride", "imap"],
}
VARN = [("int", "num"), (MANY, "starts"), (MANY, "counts")]


class Function:
    """One C function: `parameters` are (type, name) pairs; `call` is the stub's expression or None
    when the function is written by hand."""

    def __init__(self, name, parameters, call=None, result="int", group=""):
        self.name, self.parameters, self.call = name, parameters, call
        self.result, self.group = result, group

    def declaration(self):
        def one(kind, name):
            return kind + name if kind.endswith("*") else kind + " " + name

        arguments = ", ".join(one(*p) for p in self.parameters) or "void"
        return one(self.result, self.name) + "(" + arguments + ")"


FLEXIBLE = [("MPI_Offset", "bufcount"), ("MPI_Datatype", "buftype")]
FILE_AND_VARIABLE = [("int", "ncid"), ("int", "varid")]


def _buffers(direction):
    """(name part, parameters, stub expression) of the flexible form and of each typed form."""
    constant = "" if direction == "get" else "const "
    yield "", [(constant + "void *", "buf")] + FLEXIBLE, "memory(buf, bufcount, buftype)"
    for suffix, c_type in TYPES:
        yield "_" + suffix, [(constant + c_type + " *", "buf")], "memory(buf)"


def _selections():
    """(kind, parameters, stub expression) of each access kind but vard."""
    for kind, names in KINDS.items():
        yield kind, [(ONE, n) for n in names], f"{kind}({', '.join(names)})"
    yield "varn", VARN, "varn(num, starts, counts)"
    leading = [(ONE, "start"), (ONE, "count")]
    yield "decom", leading, "decom(start, count)"
    yield "decom_part", leading + [("int", "first"), ("int", "n")], "decom_part(start, count, first, n)"


def blocking_functions():
    for kind, selection, select in _selections():
        for direction in ("put", "get"):
            for suffix, buffer, memory in _buffers(direction):
                for ending, mode in (("", "independent"), ("_all", "collective")):
                    yield Function(
                        f"ncmpi_{direction}_{kind}{suffix}{ending}",
                        FILE_AND_VARIABLE + selection + buffer,
                        f"transfer({direction}, {mode}, ncid, varid, {select}, {memory})",
                        group=f"{direction}_{kind}",
                    )
    for direction in ("put", "get"):
        constant = "" if direction == "get" else "const "
        for ending, mode in (("", "independent"), ("_all", "collective")):
            yield Function(
                f"ncmpi_{direction}_vard{ending}",
                FILE_AND_VARIABLE
                + [("MPI_Datatype", "filetype"), (constant + "void *", "buf")]
                + FLEXIBLE,
                f"transfer({direction}, {mode}, ncid, varid, vard(filetype), "
                "memory(buf, bufcount, buftype))",
                group=f"{direction}_vard",
            )


def nonblocking_functions():
    for kind, selection, select in _selections():
        for verb in ("iput", "iget", "bput"):
            for suffix, buffer, memory in _buffers(verb[1:]):
                yield Function(
                    f"ncmpi_{verb}_{kind}{suffix}",
                    FILE_AND_VARIABLE + selection + buffer + [("int *", "request")],
                    f"post({verb}, ncid, varid, {select}, {memory}, request)",
                    group=f"{verb}_{kind}",
                )


def multiple_functions():
    for kind, names in KINDS.items():
        plural = [n + "s" for n in names]
        selection = [(MANY, n) for n in plural]
        select = f"each_{kind}({', '.join(plural)})"
        for direction in ("put", "get"):
            put = direction == "put"
            forms = [
                (
                    "",
                    [
                        ("void* const *" if put else "void **", "bufs"),
                        ("const MPI_Offset *", "bufcounts"),
                        ("const MPI_Datatype *", "buftypes"),
                    ],
                    "memories(bufs, bufcounts, buftypes)",
                )
            ]
            for suffix, c_type in TYPES:
                pointer = f"{c_type}* const *" if put else f"{c_type} **"
                forms.append(("_" + suffix, [(pointer, "bufs")], "memories(bufs)"))
            for suffix, buffer, memory in forms:
                for ending, mode in (("", "independent"), ("_all", "collective")):
                    yield Function(
                        f"ncmpi_m{direction}_{kind}{suffix}{ending}",
                        [("int", "ncid"), ("int", "num"), ("int *", "varids")]
                        + selection
                        + buffer,
                        f"transfer_each({direction}, {mode}, ncid, num, varids, {select}, {memory})",
                        group=f"m{direction}_{kind}",
                    )


def attribute_functions():
    name = [("int", "ncid"), ("int", "varid"), ("const char *", "name")]
    typed = [("nc_type", "xtype"), ("MPI_Offset", "len")]
    for suffix, c_type in ATTRIBUTE_TYPES:
        text = suffix == "text"
        yield Function(
            f"ncmpi_put_att_{suffix}",
            name + (typed[1:] if text else typed) + [(f"const {c_type} *", "value")],
            f"put_attribute(ncid, varid, name, {'NC_CHAR' if text else 'xtype'}, len, value)",
            group="put_att",
        )
        yield Function(
            f"ncmpi_get_att_{suffix}",
            name + [(f"{c_type} *", "value")],
            "get_attribute(ncid, varid, name, value)",
            group="get_att",
        )


# -- functions written by hand ------------------------------------------------------------------------------

HAND_WRITTEN = """
errors and version
const char *ncmpi_strerror(int err)
const char *ncmpi_strerrno(int err)
const char *ncmpi_inq_libvers(void)

files
int ncmpi_create(MPI_Comm comm, const char *path, int cmode, MPI_Info info, int *ncidp)
int ncmpi_open(MPI_Comm comm, const char *path, int omode, MPI_Info info, int *ncidp)
int ncmpi_close(int ncid)
int ncmpi_abort(int ncid)
int ncmpi_delete(const char *filename, MPI_Info info)
int ncmpi_enddef(int ncid)
int ncmpi__enddef(int ncid, MPI_Offset h_minfree, MPI_Offset v_align, MPI_Offset v_minfree, MPI_Offset r_align)
int ncmpi_redef(int ncid)
int ncmpi_begin_indep_data(int ncid)
int ncmpi_end_indep_data(int ncid)
int ncmpi_sync(int ncid)
int ncmpi_flush(int ncid)
int ncmpi_sync_numrecs(int ncid)
int ncmpi_set_default_format(int format, int *old_formatp)
int ncmpi_inq_default_format(int *formatp)

definitions
int ncmpi_def_dim(int ncid, const char *name, MPI_Offset len, int *idp)
int ncmpi_def_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int *varidp)
int ncmpi_rename_dim(int ncid, int dimid, const char *name)
int ncmpi_rename_var(int ncid, int varid, const char *name)
int ncmpi_set_fill(int ncid, int fillmode, int *old_modep)
int ncmpi_def_var_fill(int ncid, int varid, int no_fill, const void *fill_value)
int ncmpi_fill_var_rec(int ncid, int varid, MPI_Offset recno)

chunked variables (not in PnetCDF)
int ncmpi_var_set_chunk(int ncid, int varid, const MPI_Offset *shape)
int ncmpi_var_get_chunk(int ncid, int varid, MPI_Offset *shape)
int ncmpi_var_set_filter(int ncid, int varid, const char *pipeline)
int ncmpi_var_get_filter(int ncid, int varid, MPI_Offset *lenp, char *pipeline)

levels of variables in patches (not in PnetCDF)
int ncmpi_inq_var_levels(int ncid, int varid, int level, int *nlevelsp, MPI_Offset *shape)
int ncmpi_get_vara_level(int ncid, int varid, int level, const MPI_Offset *start, const MPI_Offset *count, void *buf, MPI_Offset bufcount, MPI_Datatype buftype)
int ncmpi_get_vara_level_all(int ncid, int varid, int level, const MPI_Offset *start, const MPI_Offset *count, void *buf, MPI_Offset bufcount, MPI_Datatype buftype)

variables defined by a decomposition (not in PnetCDF)
int ncmpi_def_decom(int ncid, int ndims, const int *dimids, int nreqs, MPI_Offset* const *starts, MPI_Offset* const *counts, int *decomidp)
int ncmpi_def_decom_var(int ncid, const char *name, nc_type xtype, int ndims, const int *dimidsp, int decomid, int *varidp)
int ncmpi_inq_ndecoms(int ncid, int *ndecomsp)
int ncmpi_inq_decom(int ncid, int decomid, int *ndimsp, int *dimidsp, int *nranksp, int *nreqsp, MPI_Offset *nelemsp)
int ncmpi_inq_var_decom(int ncid, int varid, int *decomidp)

attributes
int ncmpi_put_att(int ncid, int varid, const char *name, nc_type xtype, MPI_Offset nelems, const void *value)
int ncmpi_get_att(int ncid, int varid, const char *name, void *value)
int ncmpi_copy_att(int ncid_in, int varid_in, const char *name, int ncid_out, int varid_out)
int ncmpi_rename_att(int ncid, int varid, const char *name, const char *newname)
int ncmpi_del_att(int ncid, int varid, const char *name)
int ncmpi_inq_att(int ncid, int varid, const char *name, nc_type *xtypep, MPI_Offset *lenp)
int ncmpi_inq_attid(int ncid, int varid, const char *name, int *idp)
int ncmpi_inq_atttype(int ncid, int varid, const char *name, nc_type *xtypep)
int ncmpi_inq_attlen(int ncid, int varid, const char *name, MPI_Offset *lenp)
int ncmpi_inq_attname(int ncid, int varid, int attnum, char *name)

inquiries about files
int ncmpi_inq(int ncid, int *ndimsp, int *nvarsp, int *ngattsp, int *unlimdimidp)
int ncmpi_inq_ndims(int ncid, int *ndimsp)
int ncmpi_inq_nvars(int ncid, int *nvarsp)
int ncmpi_inq_num_rec_vars(int ncid, int *nvarsp)
int ncmpi_inq_num_fix_vars(int ncid, int *nvarsp)
int ncmpi_inq_natts(int ncid, int *ngattsp)
int ncmpi_inq_unlimdim(int ncid, int *unlimdimidp)
int ncmpi_inq_format(int ncid, int *formatp)
int ncmpi_inq_file_format(const char *filename, int *formatp)
int ncmpi_inq_version(int ncid, int *NC_mode)
int ncmpi_inq_path(int ncid, int *pathlen, char *path)
int ncmpi_inq_files_opened(int *num, int *ncids)
int ncmpi_inq_striping(int ncid, int *striping_size, int *striping_count)
int ncmpi_inq_put_size(int ncid, MPI_Offset *size)
int ncmpi_inq_get_size(int ncid, MPI_Offset *size)
int ncmpi_inq_header_size(int ncid, MPI_Offset *size)
int ncmpi_inq_header_extent(int ncid, MPI_Offset *extent)
int ncmpi_inq_recsize(int ncid, MPI_Offset *recsize)
int ncmpi_inq_file_info(int ncid, MPI_Info *info_used)
int ncmpi_get_file_info(int ncid, MPI_Info *info_used)
int ncmpi_inq_malloc_size(MPI_Offset *size)
int ncmpi_inq_malloc_max_size(MPI_Offset *size)
int ncmpi_inq_malloc_list(void)

inquiries about dimensions and variables
int ncmpi_inq_dimid(int ncid, const char *name, int *idp)
int ncmpi_inq_dim(int ncid, int dimid, char *name, MPI_Offset *lenp)
int ncmpi_inq_dimname(int ncid, int dimid, char *name)
int ncmpi_inq_dimlen(int ncid, int dimid, MPI_Offset *lenp)
int ncmpi_inq_varid(int ncid, const char *name, int *varidp)
int ncmpi_inq_var(int ncid, int varid, char *name, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp)
int ncmpi_inq_varname(int ncid, int varid, char *name)
int ncmpi_inq_vartype(int ncid, int varid, nc_type *xtypep)
int ncmpi_inq_varndims(int ncid, int varid, int *ndimsp)
int ncmpi_inq_vardimid(int ncid, int varid, int *dimidsp)
int ncmpi_inq_varnatts(int ncid, int varid, int *nattsp)
int ncmpi_inq_varoffset(int ncid, int varid, MPI_Offset *offset)
int ncmpi_inq_var_fill(int ncid, int varid, int *no_fill, void *fill_value)

requests and buffers
int ncmpi_wait(int ncid, int count, int array_of_requests[], int array_of_statuses[])
int ncmpi_wait_all(int ncid, int count, int array_of_requests[], int array_of_statuses[])
int ncmpi_cancel(int ncid, int num, int *reqs, int *statuses)
int ncmpi_inq_nreqs(int ncid, int *nreqs)
int ncmpi_buffer_attach(int ncid, MPI_Offset bufsize)
int ncmpi_buffer_detach(int ncid)
int ncmpi_inq_buffer_usage(int ncid, MPI_Offset *usage)
int ncmpi_inq_buffer_size(int ncid, MPI_Offset *buf_size)
"""


class Written(Function):
    """A function written by hand, from its line in HAND_WRITTEN."""

    def __init__(self, line, group):
        head, arguments = line.rstrip(")").split("(", 1)
        star = "*" if "*" in head else ""
        result, name = head.replace("*", " ").rsplit(None, 1)
        super().__init__(name, [], result=(result + " " + star).strip(), group=group)
        self.line = line

    def declaration(self):
        return self.line


def hand_written_functions():
    group = ""
    for line in HAND_WRITTEN.splitlines():
        if line.startswith(("int ", "const char ")):
            yield Written(line, group)
        elif line:
            group = line


def stub_functions():
    yield from attribute_functions()
    yield from blocking_functions()
    yield from nonblocking_functions()
    yield from multiple_functions()


def all_functions():
    yield from hand_written_functions()
    yield from stub_functions()
