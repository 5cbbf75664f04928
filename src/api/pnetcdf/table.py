"""The PnetCDF C interface as data: error codes, element types, access kinds, and the functions they make.

generate.py turns it into pnetcdf.h, the typed stubs and the texts of the error codes; the symbols
test compares it with what the library exports.
"""

VERSION = "1.12.3"
RELEASE_DATE = "February 21, 2022"

# -- error codes: name, value, sentence (shown by ncmpi_strerror and in the header) ------------------

NETCDF_ERRORS = [
    ("NC_EBADID", -33, "Not the ID of an open file"),
    ("NC_ENFILE", -34, "Too many files are open"),
    ("NC_EEXIST", -35, "File exists and NC_NOCLOBBER was given"),
    ("NC_EINVAL", -36, "Invalid argument"),
    ("NC_EPERM", -37, "File was opened for reading only"),
    ("NC_ENOTINDEFINE", -38, "Operation needs define mode"),
    ("NC_EINDEFINE", -39, "Operation is not allowed in define mode"),
    ("NC_EINVALCOORDS", -40, "Start index is outside a dimension"),
    ("NC_EMAXDIMS", -41, "Too many dimensions"),
    ("NC_ENAMEINUSE", -42, "Name is already in use"),
    ("NC_ENOTATT", -43, "Attribute not found"),
    ("NC_EMAXATTS", -44, "Too many attributes"),
    ("NC_EBADTYPE", -45, "Not a data type that fits here"),
    ("NC_EBADDIM", -46, "Dimension not found"),
    ("NC_EUNLIMPOS", -47, "Only the first dimension of a variable may be unlimited"),
    ("NC_EMAXVARS", -48, "Too many variables"),
    ("NC_ENOTVAR", -49, "Variable not found"),
    ("NC_EGLOBAL", -50, "NC_GLOBAL is not allowed as variable here"),
    ("NC_ENOTNC", -51, "Not a netCDF file, or a damaged one"),
    ("NC_ESTS", -52, "Fortran string is too short"),
    ("NC_EMAXNAME", -53, "Name is longer than NC_MAX_NAME"),
    ("NC_EUNLIMIT", -54, "File has an unlimited dimension already"),
    ("NC_ENORECVARS", -55, "File has no record variables"),
    ("NC_ECHAR", -56, "Text does not convert to numbers, nor numbers to text"),
    ("NC_EEDGE", -57, "Start plus count goes beyond a dimension"),
    ("NC_ESTRIDE", -58, "Stride must be positive"),
    ("NC_EBADNAME", -59, "Name is empty or has characters that are not allowed"),
    ("NC_ERANGE", -60, "A value does not fit the type it is converted to"),
    ("NC_ENOMEM", -61, "Out of memory"),
    ("NC_EVARSIZE", -62, "Variable is too large for the file format"),
    ("NC_EDIMSIZE", -63, "Invalid dimension length"),
    ("NC_ETRUNC", -64, "File ends before its contents do"),
    ("NC_EAXISTYPE", -65, "Unknown type of axis"),
    ("NC_EDAP", -66, "DAP failed"),
    ("NC_ECURL", -67, "libcurl failed"),
    ("NC_EIO", -68, "Input or output failed"),
    ("NC_ENODATA", -69, "Variable has no data"),
    ("NC_EDAPSVC", -70, "DAP server failed"),
    ("NC_EDAS", -71, "DAS is malformed or out of reach"),
    ("NC_EDDS", -72, "DDS is malformed or out of reach"),
    ("NC_EDATADDS", -73, "DATADDS is malformed or out of reach"),
    ("NC_EDAPURL", -74, "Malformed DAP URL"),
    ("NC_EDAPCONSTRAINT", -75, "Malformed DAP constraint"),
    ("NC_ETRANSLATION", -76, "Construct cannot be translated"),
    ("NC_EACCESS", -77, "Access was refused"),
    ("NC_EAUTH", -78, "Authorization failed"),
    ("NC_ENOTFOUND", -90, "File not found"),
    ("NC_ECANTREMOVE", -91, "File cannot be removed"),
    ("NC_EINTERNAL", -92, "Internal error of the library"),
    ("NC_EPNETCDF", -93, "PnetCDF failed"),
    ("NC_EHDFERR", -101, "HDF5 failed"),
    ("NC_ECANTREAD", -102, "File cannot be read"),
    ("NC_ECANTWRITE", -103, "File cannot be written"),
    ("NC_ECANTCREATE", -104, "File cannot be created"),
    ("NC_EFILEMETA", -105, "File metadata cannot be handled"),
    ("NC_EDIMMETA", -106, "Dimension metadata cannot be handled"),
    ("NC_EATTMETA", -107, "Attribute metadata cannot be handled"),
    ("NC_EVARMETA", -108, "Variable metadata cannot be handled"),
    ("NC_ENOCOMPOUND", -109, "Not a compound type"),
    ("NC_EATTEXISTS", -110, "Attribute exists already"),
    ("NC_ENOTNC4", -111, "Operation needs a netCDF-4 file"),
    ("NC_ESTRICTNC3", -112, "File follows the classic model, which excludes this operation"),
    ("NC_ENOTNC3", -113, "Operation needs a classic file"),
    ("NC_ENOPAR", -114, "File was not opened for parallel access"),
    ("NC_EPARINIT", -115, "Parallel access cannot be set up"),
    ("NC_EBADGRPID", -116, "Not a group ID"),
    ("NC_EBADTYPID", -117, "Not a type ID"),
    ("NC_ETYPDEFINED", -118, "Type is complete and cannot be edited"),
    ("NC_EBADFIELD", -119, "Not a field ID"),
    ("NC_EBADCLASS", -120, "Not a type class"),
    ("NC_EMAPTYPE", -121, "Mapped access is for atomic types only"),
    ("NC_ELATEFILL", -122, "Fill value must be set before data is written"),
    ("NC_ELATEDEF", -123, "Storage must be chosen before define mode ends"),
    ("NC_EDIMSCALE", -124, "HDF5 dimension scales failed"),
    ("NC_ENOGRP", -125, "Group not found"),
    ("NC_ESTORAGE", -126, "Storage cannot be contiguous and chunked at once"),
    ("NC_EBADCHUNK", -127, "Invalid chunk size"),
    ("NC_ENOTBUILT", -128, "Library was built without this feature"),
    ("NC_EDISKLESS", -129, "Diskless access failed"),
    ("NC_ECANTEXTEND", -130, "Dataset cannot grow in independent mode"),
    ("NC_EMPI", -131, "MPI failed"),
    ("NC_EFILTER", -132, "Filter failed"),
    ("NC_ERCFILE", -133, "Run-time configuration file cannot be used"),
    ("NC_ENULLPAD", -134, "Padding in the file header is not zero"),
    ("NC_EINMEMORY", -135, "In-memory file failed"),
    ("NC_ENOFILTER", -136, "Variable has no such filter"),
    ("NC_ENCZARR", -137, "NCZarr failed"),
    ("NC_ES3", -138, "S3 failed"),
    ("NC_EEMPTY", -139, "NCZarr key is empty"),
    ("NC_EOBJECT", -140, "Object exists that should not"),
    ("NC_ENOOBJECT", -141, "Object not found"),
    ("NC_EPLUGIN", -142, "Plug-in failed"),
]

PNETCDF_ERRORS = [
    ("NC_ESMALL", -201, "MPI_Offset is too small for the file format"),
    ("NC_ENOTINDEP", -202, "Operation needs independent data mode"),
    ("NC_EINDEP", -203, "Operation is not allowed in independent data mode"),
    ("NC_EFILE", -204, "File operation failed"),
    ("NC_EREAD", -205, "Reading the file failed"),
    ("NC_EWRITE", -206, "Writing the file failed"),
    ("NC_EOFILE", -207, "File cannot be opened or created"),
    ("NC_EMULTITYPES", -208, "MPI datatype mixes several element types"),
    ("NC_EIOMISMATCH", -209, "Amounts of data in memory and in the request differ"),
    ("NC_ENEGATIVECNT", -210, "Count is negative"),
    ("NC_EUNSPTETYPE", -211, "Element type of the MPI datatype is not supported"),
    ("NC_EINVAL_REQUEST", -212, "Not the ID of a pending request"),
    ("NC_EAINT_TOO_SMALL", -213, "MPI_Aint is too small for a value"),
    ("NC_ENOTSUPPORT", -214, "Feature is not supported"),
    ("NC_ENULLBUF", -215, "Attached buffer must be larger than zero bytes"),
    ("NC_EPREVATTACHBUF", -216, "A buffer is attached already"),
    ("NC_ENULLABUF", -217, "No buffer is attached"),
    ("NC_EPENDINGBPUT", -218, "Buffered writes are pending, so the buffer stays attached"),
    ("NC_EINSUFFBUF", -219, "Attached buffer has too little room"),
    ("NC_ENOENT", -220, "File or folder does not exist"),
    ("NC_EINTOVERFLOW", -221, "Number does not fit its integer type"),
    ("NC_ENOTENABLED", -222, "Feature is not enabled"),
    ("NC_EBAD_FILE", -223, "Invalid file name"),
    ("NC_ENO_SPACE", -224, "No space left on the storage"),
    ("NC_EQUOTA", -225, "Storage quota is used up"),
    ("NC_ENULLSTART", -226, "Start is a null pointer"),
    ("NC_ENULLCOUNT", -227, "Count is a null pointer"),
    ("NC_EINVAL_CMODE", -228, "Invalid combination of creation flags"),
    ("NC_ETYPESIZE", -229, "MPI file type reaches beyond the variable"),
    ("NC_ETYPE_MISMATCH", -230, "Element type of the MPI file type is not the variable's"),
    ("NC_ETYPESIZE_MISMATCH", -231, "MPI file type holds part of an element"),
    ("NC_ESTRICTCDF2", -232, "Type needs the CDF-5 format"),
    ("NC_ENOTRECVAR", -233, "Operation needs a record variable"),
    ("NC_ENOTFILL", -234, "Fill mode of the variable is off"),
    ("NC_EINVAL_OMODE", -235, "Invalid combination of open flags"),
    ("NC_EPENDING", -236, "File was closed with requests pending; they were cancelled"),
    ("NC_EMAX_REQ", -237, "Request is larger than INT_MAX bytes"),
    ("NC_EBADLOG", -238, "Log file has an unknown format"),
    ("NC_EFLUSHED", -239, "Request has reached the file and cannot be cancelled"),
    ("NC_EADIOS", -240, "ADIOS failed"),
    ("NC_EMULTIDEFINE", -250, "Ranks define different things"),
    ("NC_EMULTIDEFINE_OMODE", -251, "Ranks give different open flags"),
    ("NC_EMULTIDEFINE_DIM_NUM", -252, "Ranks define different numbers of dimensions"),
    ("NC_EMULTIDEFINE_DIM_SIZE", -253, "Ranks define different dimension lengths"),
    ("NC_EMULTIDEFINE_DIM_NAME", -254, "Ranks define different dimension names"),
    ("NC_EMULTIDEFINE_VAR_NUM", -255, "Ranks define different numbers of variables"),
    ("NC_EMULTIDEFINE_VAR_NAME", -256, "Ranks define different variable names"),
    ("NC_EMULTIDEFINE_VAR_NDIMS", -257, "Ranks give a variable different numbers of dimensions"),
    ("NC_EMULTIDEFINE_VAR_DIMIDS", -258, "Ranks give a variable different dimensions"),
    ("NC_EMULTIDEFINE_VAR_TYPE", -259, "Ranks give a variable different types"),
    ("NC_EMULTIDEFINE_VAR_LEN", -260, "Ranks give a variable different sizes"),
    ("NC_EMULTIDEFINE_NUMRECS", -261, "Ranks have different numbers of records"),
    ("NC_EMULTIDEFINE_VAR_BEGIN", -262, "Ranks place a variable differently"),
    ("NC_EMULTIDEFINE_ATTR_NUM", -263, "Ranks define different numbers of attributes"),
    ("NC_EMULTIDEFINE_ATTR_SIZE", -264, "Ranks give an attribute different sizes"),
    ("NC_EMULTIDEFINE_ATTR_NAME", -265, "Ranks define different attribute names"),
    ("NC_EMULTIDEFINE_ATTR_TYPE", -266, "Ranks give an attribute different types"),
    ("NC_EMULTIDEFINE_ATTR_LEN", -267, "Ranks give an attribute different lengths"),
    ("NC_EMULTIDEFINE_ATTR_VAL", -268, "Ranks give an attribute different values"),
    ("NC_EMULTIDEFINE_FNC_ARGS", -269, "Ranks give a collective function different arguments"),
    ("NC_EMULTIDEFINE_FILL_MODE", -270, "Ranks set different fill modes"),
    ("NC_EMULTIDEFINE_VAR_FILL_MODE", -271, "Ranks set different fill modes of a variable"),
    ("NC_EMULTIDEFINE_VAR_FILL_VALUE", -272, "Ranks set different fill values of a variable"),
    ("NC_EMULTIDEFINE_CMODE", -273, "Ranks give different creation flags"),
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
