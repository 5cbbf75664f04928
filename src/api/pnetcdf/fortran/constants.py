"""The constants of PnetCDF's Fortran interfaces, from which pnetcdf.inc and the module are made."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import table  # noqa: E402

# Every name is one in F77, nf_NAME, and one in F90, nf90_NAME. Values may use the names of those before them.
NAMES = """
byte 1, int1 byte, char 2, short 3, int2 short, int 4, int4 int, float 5, real float, real4 float, double 6, real8 double
ubyte 7, ushort 8, uint 9, int64 10, uint64 11
nowrite 0, write 1, clobber 0, noclobber 4, lock 1024, share 2048, mpiio 8192, pnetcdf mpiio
32bit 16777216, classic_model 256, cdf2 512, 64bit_offset cdf2, cdf5 32, 64bit_data cdf5, netcdf4 4096, bp 65536
format_classic 1, format_cdf2 2, format_64bit format_cdf2, format_64bit_offset format_cdf2, format_cdf5 5
format_64bit_data format_cdf5, format_netcdf4 3, format_netcdf4_classic 4, format_bp 6, format_unknown -1
fill 0, nofill 256, sizehint_default 0, align_chunk -1, unlimited 0, global 0, fatal 1, verbose 2
max_name 256, max_nfiles 1024, max_dims 2147483647, max_attrs 2147483647, max_vars 2147483647, max_var_dims max_dims
req_null -1, req_all -1, get_req_all -2, put_req_all -3
"""

# Name, types in F77 and in F90, value. The largest unsigned integers have no integer type.
FILL_VALUES = [
    ("byte", "integer", "integer(OneByteInt)", "-127"),
    ("int1", "integer", "integer(OneByteInt)", "-127"),
    ("char", "integer", "integer(OneByteInt)", "0"),
    ("short", "integer", "integer(TwoByteInt)", "-32767"),
    ("int2", "integer", "integer(TwoByteInt)", "-32767"),
    ("int", "integer", "integer(FourByteInt)", "-2147483647"),
    ("float", "real", "real(FourByteReal)", "9.9692099683868690e+36"),
    ("real", "real", "real(FourByteReal)", "9.9692099683868690e+36"),
    ("real4", "real", "real(FourByteReal)", "9.9692099683868690e+36"),
    ("double", "doubleprecision", "real(EightByteReal)", "9.9692099683868690e+36"),
    ("real8", "doubleprecision", "real(EightByteReal)", "9.9692099683868690e+36"),
    ("ubyte", "integer", "integer(TwoByteInt)", "255"),
    ("ushort", "integer", "integer(FourByteInt)", "65535"),
    ("uint", "integer*8", "integer(EightByteInt)", "4294967295_8"),
    ("int64", "integer*8", "integer(EightByteInt)", "-9223372036854775806_8"),
    ("uint64", "doubleprecision", "real(EightByteReal)", "1.8446744073709551614e+19"),
]

# Other names of codes.
ALIASES = {
    "EDMR": "EDDS", "EDATADAP": "EDATADDS", "ECMODE": "EMULTIDEFINE_OMODE",
    "EDIMS_NELEMS_MULTIDEFINE": "EMULTIDEFINE_DIM_NUM", "EDIMS_SIZE_MULTIDEFINE": "EMULTIDEFINE_DIM_SIZE",
    "EDIMS_NAME_MULTIDEFINE": "EMULTIDEFINE_DIM_NAME", "EVARS_NELEMS_MULTIDEFINE": "EMULTIDEFINE_VAR_NUM",
    "EVARS_NAME_MULTIDEFINE": "EMULTIDEFINE_VAR_NAME", "EVARS_NDIMS_MULTIDEFINE": "EMULTIDEFINE_VAR_NDIMS",
    "EVARS_DIMIDS_MULTIDEFINE": "EMULTIDEFINE_VAR_DIMIDS", "EVARS_TYPE_MULTIDEFINE": "EMULTIDEFINE_VAR_TYPE",
    "EVARS_LEN_MULTIDEFINE": "EMULTIDEFINE_VAR_LEN", "ENUMRECS_MULTIDEFINE": "EMULTIDEFINE_NUMRECS",
    "EVARS_BEGIN_MULTIDEFINE": "EMULTIDEFINE_VAR_BEGIN",
}

# Names of netCDF 2, which are in both.
VERSION_2 = """
ncbyte 1, ncchar 2, ncshort 3, nclong 4, ncfloat 5, ncdouble 6
ncrdwr 1, nccreat 2, ncexcl 4, ncindef 8, ncnsync 16, nchsync 32, ncndirty 64, nchdirty 128, ncfill 0, ncnofill 256
nclink 32768, ncnowrit 0, ncwrite 1, ncclob 0, ncnoclob 4, ncunlim 0, ncglobal 0
maxncop 32, maxncdim 100, maxncatt 2000, maxncvar 2000, maxncnam 128, maxvdims 100
ncnoerr 0, ncebadid -33, ncenfile -31, nceexist -35, nceinval -36, nceperm -37, ncenotin -38, nceindef -39, ncecoord -40
ncemaxds -41, ncename -42, ncenoatt -43, ncemaxat -44, ncebadty -45, ncebadd -46, nceunlim -47, ncemaxvs -48
ncenotvr -49, nceglob -50, ncenotnc -51, ncests -52, ncentool -53, ncfoobar 32, ncsyserr -31, ncfatal 1, ncverbos 2
filbyte -127, filchar 0, filshort -32767, fillong -2147483647
"""


def _pairs(text):
    return [entry.split() for line in text.strip().splitlines() for entry in line.split(", ")]


def _codes():
    yield "NOERR", "0"
    yield "2_ERR", "-1"
    for name, value, _ in table.NETCDF_ERRORS + table.PNETCDF_ERRORS:
        yield name.removeprefix("NC_"), str(value)
    values = {name: value for name, value, _ in table.NETCDF_ERRORS + table.PNETCDF_ERRORS}
    for name, other in ALIASES.items():
        yield name, str(values["NC_" + other])


def _build_options():
    for macro, _, value, _ in table.FEATURES:
        if macro not in NOT_IN_FORTRAN:
            yield macro, str(value)
    for part, value in zip(("MAJOR", "MINOR", "SUB"), table.VERSION.split(".")):
        yield f"PNETCDF_VERSION_{part}", value


NOT_IN_FORTRAN = {"PNETCDF_ENABLE_FORTRAN", "PNETCDF_ENABLE_CXX", "PNETCDF_DRIVER_ADIOS"}


def of_f77():
    """(type, name, value) of each constant, names before they are used."""
    for name, value in _build_options():
        yield "integer", name, value
    for name, value in _pairs(NAMES):
        yield "integer", "nf_" + name, value if value.lstrip("-").isdigit() else "nf_" + value
    for name, f77_type, _, value in FILL_VALUES:
        yield f77_type, "nf_fill_" + name, value
    for name, value in _codes():
        yield "integer", "nf2_err" if name == "2_ERR" else "nf_" + name.lower(), value
    for name, value in _pairs(VERSION_2):
        yield "integer", name, value
    yield "real", "filfloat", "9.9692099683868690e+36"
    yield "doubleprecision", "fildoub", "9.9692099683868690e+36"
    yield "integer*8", "nfmpi_unlimited", "0"


def of_f90():
    """The same for the module, which has all names of F77, too."""
    for kind, name, value in of_f77():
        yield kind.replace("*8", "(EightByteInt)"), name, value
        if name.startswith("nf_") and not name.startswith("nf_fill_"):
            yield kind, "nf90_" + name[3:], name
    for name, _, f90_type, value in FILL_VALUES:
        yield f90_type, "nf90_fill_" + name, value
    yield "integer(EightByteInt)", "nf90mpi_unlimited", "0"
