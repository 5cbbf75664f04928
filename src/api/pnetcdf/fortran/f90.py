"""What the module pnetcdf has of each function and each type: interfaces of F77's functions, and the procedures behind the
generic names of F90, one for each type and rank."""

import constants
import functions

LONG = "integer(EightByteInt)"
# Name of the type in F90's procedures, and its type in the file.
NAMES = {"text": ("text", None), "int1": ("OneByteInt", "nf90_int1"), "int2": ("TwoByteInt", "nf90_int2"),
         "int": ("FourByteInt", "nf90_int"), "real": ("FourByteReal", "nf90_real"),
         "double": ("EightByteReal", "nf90_double"), "int8": ("EightByteInt", "nf90_int64")}
TYPES = [(f77, NAMES[f77][0], NAMES[f77][1], kind if f77 == "text" else f"{kind}({precision})")
         for _, f77, _, kind, precision in functions.TYPES]
RANKS = range(8)

# Functions of F90 that hand their arguments on to F77's.
HANDED_ON = """
abort(ncid) begin_indep_data(ncid) buffer_attach(ncid,bufsize) buffer_detach(ncid) cancel(ncid,num,req,st) close(ncid)
copy_att(ncid_in,varid_in,name,ncid_out,varid_out) create(mpi_comm,path,cmode,mpi_info,ncid) def_dim(ncid,name,len,dimid)
del_att(ncid,varid,name) delete(name,mpi_info) end_indep_data(ncid) fill_var_rec(ncid,varid,recno) flush(ncid)
get_file_info(ncid,mpi_info) inq_attname(ncid,varid,attnum,name) inq_buffer_size(ncid,buf_size)
inq_buffer_usage(ncid,usage) inq_default_format(default_format) inq_dimid(ncid,name,dimid) inq_file_info(ncid,mpi_info)
inq_files_opened(nfiles,ncids) inq_get_size(ncid,get_size) inq_header_extent(ncid,h_extent)
inq_header_size(ncid,h_size) inq_malloc_list() inq_malloc_max_size(size) inq_malloc_size(size) inq_nreqs(ncid,nreqs)
inq_num_fix_vars(ncid,nvars) inq_num_rec_vars(ncid,nvars) inq_path(ncid,pathlen,path) inq_put_size(ncid,put_size)
inq_recsize(ncid,recsize) inq_striping(ncid,striping_size,striping_count) inq_varid(ncid,name,varid)
inq_varoffset(ncid,varid,offset) open(mpi_comm,path,omode,mpi_info,ncid) redef(ncid) rename_att(ncid,varid,curname,newname)
rename_dim(ncid,dimid,name) rename_var(ncid,varid,newname) set_default_format(new_format,old_format)
set_fill(ncid,fillmode,old_mode) sync(ncid) sync_numrecs(ncid) wait(ncid,num,req,st) wait_all(ncid,num,req,st)
"""


def continued(text, indent):
    """A statement in lines that are not too long, broken behind commas."""
    lines, line = [], " " * indent
    for piece in text.split(", "):
        if len(line) + len(piece) > 115:
            lines.append(line + "&")
            line = " " * (indent + 4)
        line += piece + ", "
    return [*lines, line[:-2]]


def declaration(argument):
    """How F77's function declares an argument."""
    kind, name = argument.kind, argument.name
    if kind in ("text", "text_out", "path_out"):
        return f"character(len=*), intent({'in' if kind == 'text' else 'out'}) :: {name}"
    if kind in ("selection", "pieces"):
        return f"{LONG}, intent(in) :: {name}(*)"
    if kind in ("offset", "record", "offset_out"):
        return f"{LONG}, intent({'out' if kind == 'offset_out' else 'in'}) :: {name}"
    if kind == "ints":
        return f"integer, intent({'inout' if name == 'req' else 'out'}) :: {name}(*)"
    if kind in ("dimids", "dimids_out"):
        return f"integer, intent({'in' if kind == 'dimids' else 'out'}) :: {name}(*)"
    return f"integer, intent({'out' if kind.endswith('_out') else 'in'}) :: {name}"


def buffer_declaration(function, argument):
    how = "in" if function.puts else "out"
    if function.any_buffer:
        compilers = (
            "!DIR$ IGNORE_TKR {}",
            "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {}",
            "!DEC$ ATTRIBUTES NO_ARG_CHECK :: {}",
        )
        return [line.format(argument.name) for line in compilers] + [f"      type(*), dimension(*) :: {argument.name}"]
    element = functions.element_of(function.name)
    kind = element[3] if element[1] == "text" else f"{element[3]}({element[4]})"
    array = "(*)" if element[1] == "text" or "_var1" not in function.name else ""
    return [f"      {kind}, intent({how}) :: {argument.name}{array}"]


def bodies():
    for f in functions.f77_functions():
        yield from continued(f"integer function {f.name}({', '.join(a.name for a in f.arguments)})", 4)
        yield "      import"
        for a in f.arguments:
            yield from buffer_declaration(f, a) if a.kind == "buffer" else [f"      {declaration(a)}"]
        yield "    end function"


# -- procedures -------------------------------------------------------------------------------------------


class Procedure:
    """`arguments` are (declaration without the name, name) pairs."""

    def __init__(self, name, arguments, body, generic=None, local=()):
        self.name, self.arguments, self.body, self.generic, self.local = name, arguments, body, generic, local

    def lines(self):
        yield from continued(f"integer function {self.name}({', '.join(n.split('(')[0] for _, n in self.arguments)})"
                             " result(status)", 2)
        for how, name in self.arguments:
            yield f"    {how} :: {name}"
        for line in self.local:
            yield f"    {line}"
        for line in self.body:
            yield from continued(line, 4)
        yield "  end function"
        yield ""


IN, OUT = "integer, intent(in)", "integer, intent(out)"
FILE_AND_VARIABLE = [(IN, "ncid"), (IN, "varid")]
OPTIONAL = f"{LONG}, intent(in), optional"
SELECTION = [(OPTIONAL, n + "(:)") for n in ("start", "count", "stride", "map")]
FLEXIBLE = [(OPTIONAL, "bufcount"), ("integer, intent(in), optional", "buftype")]
VERBS = [("put", ["", "_all"]), ("get", ["", "_all"]), ("iput", [""]), ("iget", [""]), ("bput", [""])]


def of_rank(rank):
    return "" if rank == 0 else "(" + ",".join(":" * rank) + ")"


def verb_forms():
    for verb, endings in VERBS:
        request = [(OUT, "req")] if len(endings) == 1 else []
        for ending in endings:
            for f77, f90, xtype, kind in TYPES:
                how = f"{kind}, intent({'out' if 'get' in verb else 'in'})"
                yield verb, ending, request, f77, f90, how


def choose(verb, ending, f77, req):
    """The call of F77's function that the optional arguments ask for. Text has no flexible form."""
    arguments = {"varm": "starts, counts, strides, maps", "vars": "starts, counts, strides", "vara": "starts, counts"}
    conditions = ["if (present(map)) then", "else if (present(stride)) then", "else"]

    def calls(typed, values):
        return [line for condition, (kind, selection) in zip(conditions, arguments.items())
                for line in (condition, f"  status = nfmpi_{verb}_{kind}{typed}{ending}(ncid, varid, {selection}, {values}{req})")
                ] + ["end if"]

    typed = calls("_" + f77, "values")
    if f77 == "text":
        return typed
    flexible = calls("", "values, given_or(-1, bufcount), buftype")
    return ["if (present(buftype)) then", *("  " + x for x in flexible), "else", *("  " + x for x in typed), "end if"]


def helpers():
    """One for each verb and type, for arrays of any rank: `extents` is the count where none is given."""
    for verb, ending, request, f77, f90, how in verb_forms():
        req = ", req" if request else ""
        local = ["integer :: n", f"{LONG}, allocatable, dimension(:) :: starts, counts, strides, maps"]
        body = ["n = dimensions_of(ncid, varid)", "starts = filled(n, 1, start)",
                "counts = filled(n, rest, count, extents)", "strides = filled(n, 1, stride)", "maps = filled(n, 1, map)",
                *choose(verb, ending, f77, req)]
        flexible = [] if f77 == "text" else FLEXIBLE
        yield Procedure(f"{verb}_{f77}{ending}", [*FILE_AND_VARIABLE, (f"{LONG}, intent(in)", "extents(:)"),
                        (IN, "rest"), (how, "values(*)"), *request, *SELECTION, *flexible], body, local=local)


def var_procedures():
    for verb, ending, request, f77, f90, how in verb_forms():
        req = ", req" if request else ""
        generic = f"nf90mpi_{verb}_var{ending}"
        for rank in RANKS:
            name = f"nf90mpi_{verb}_var_{f'{rank}D_' if rank else ''}{f90}{ending}"
            if f77 != "text" and rank == 0:
                start = "filled(dimensions_of(ncid, varid), 1, start)"
                body = ["if (present(buftype)) then",
                        f"  status = nfmpi_{verb}_var1{ending}(ncid, varid, {start}, buf, given_or(-1, bufcount), buftype{req})",
                        "else", f"  status = nfmpi_{verb}_var1_{f77}{ending}(ncid, varid, {start}, buf{req})", "end if"]
                yield Procedure(
                    name, [*FILE_AND_VARIABLE, (how, "buf"), *request, SELECTION[0], *FLEXIBLE], body, generic
                )
                continue
            # As in PnetCDF, arrays of texts fill their own dimensions, and nothing of any further one.
            extents = "shape(values, EightByteInt)" if rank else ""
            if f77 == "text":
                extents = "[len(values, EightByteInt)" + (f", {extents}]" if rank else "]")
            rest = 0 if f77 == "text" and rank else 1
            flexible = [] if f77 == "text" else FLEXIBLE
            names = ["start", "count", "stride", "map"] + [n for _, n in flexible]
            body = [f"status = {verb}_{f77}{ending}(ncid, varid, {extents}, {rest}, values{req}, {', '.join(names)})"]
            yield Procedure(name, [*FILE_AND_VARIABLE, (how, "values" + of_rank(rank)), *request, *SELECTION, *flexible],
                            body, generic)


def varn_procedures():
    for verb, ending, request, f77, f90, how in verb_forms():
        req = ", req" if request else ""
        generic = f"nf90mpi_{verb}_varn{ending}"
        start, count = (f"{LONG}, intent(in)", "start(:,:)"), (OPTIONAL, "count(:,:)")
        for rank in RANKS:
            name = f"nf90mpi_{verb}_varn_{f'{rank}D_' if rank else ''}{f90}{ending}"
            if rank == 0:
                body = [f"status = nfmpi_{verb}_var1_{f77}{ending}(ncid, varid, start(:,1), value{req})"]
                yield Procedure(name, [*FILE_AND_VARIABLE, (how, "value"), *request, start], body, generic)
                continue
            call = f"status = nfmpi_{verb}_varn_{f77}{ending}(ncid, varid, num, start, "
            body = ["if (present(count)) then", f"  {call}count, values{req})", "else",
                    f"  {call}filled(size(start), 1), values{req})", "end if"]
            yield Procedure(name, [*FILE_AND_VARIABLE, (how, "values" + of_rank(rank)), *request, (IN, "num"), start, count],
                            body, generic)


def vard_procedures():
    for verb, ending, request, f77, f90, how in verb_forms():
        if request:
            continue
        for rank in RANKS:
            name = f"nf90mpi_{verb}_vard_{f'{rank}D_' if rank else ''}{f90}{ending}"
            body = [f"status = nfmpi_{verb}_vard{ending}(ncid, varid, filetype, buf, bufcount, buftype)"]
            yield Procedure(name, [*FILE_AND_VARIABLE, (IN, "filetype"), (how, "buf" + of_rank(rank)),
                            (f"{LONG}, intent(in)", "bufcount"), (IN, "buftype")], body, f"nf90mpi_{verb}_vard{ending}")


def attribute_procedures():
    of_attribute = [*FILE_AND_VARIABLE, ("character(len=*), intent(in)", "name")]
    for f77, f90, xtype, kind in TYPES:
        if f77 == "text":
            continue
        for one, array, values in (("", "(:)", "values"), ("one_", "", "[values]")):
            yield Procedure(f"nf90mpi_put_att_{one}{f90}", [*of_attribute, (f"{kind}, intent(in)", "values" + array)],
                            [f"status = nfmpi_put_att_{f77}(ncid, varid, name, {xtype}, "
                             f"size({values}, kind=EightByteInt), {values})"], "nf90mpi_put_att")
            # An attribute that has more values than there is room for must not be written beyond it.
            local = [f"{LONG} :: length"]
            body = ["status = nfmpi_inq_attlen(ncid, varid, name, length)", "if (status /= nf90_noerr) return"]
            if array:
                body += ["if (length > size(values)) status = nf90_eiomismatch",
                         f"if (status == nf90_noerr) status = nfmpi_get_att_{f77}(ncid, varid, name, values)"]
            else:
                local.append(f"{kind}, allocatable :: found(:)")
                body += ["allocate(found(max(length, 1_EightByteInt)))",
                         f"status = nfmpi_get_att_{f77}(ncid, varid, name, found)",
                         "if ((status == nf90_noerr .or. status == nf90_erange) .and. length > 0) values = found(1)"]
            yield Procedure(f"nf90mpi_get_att_{one}{f90}", [*of_attribute, (f"{kind}, intent(out)", "values" + array)], body,
                            "nf90mpi_get_att", local)


def fill_procedures():
    for _, f90, _, kind in TYPES:
        kind = "character" if f90 == "text" else kind
        for verb, how in (("def", "in"), ("inq", "out")):
            arguments = [
                *FILE_AND_VARIABLE,
                (f"integer, intent({how})", "no_fill"),
                (f"{kind}, intent({how})", "fill_value"),
            ]
            yield Procedure(f"nf90mpi_{verb}_var_fill_{f90}", arguments,
                            [f"status = nfmpi_{verb}_var_fill(ncid, varid, no_fill, fill_value)"],
                            f"nf90mpi_{verb}_var_fill")


def handed_on():
    of_f77 = {f.name: f for f in functions.f77_functions()}
    for entry in HANDED_ON.split():
        short, names = entry.rstrip(")").split("(")
        names = names.split(",") if names else []
        declarations = []
        for argument, name in zip(of_f77["nfmpi_" + short].arguments, names, strict=True):
            how, own = declaration(argument).split(" :: ")
            declarations.append((how, name + ("(:)" if own.endswith("(*)") else "")))
        yield Procedure("nf90mpi_" + short, declarations, [f"status = nfmpi_{short}({', '.join(names)})"])


def parts():
    """(name in the template, lines) of all that the template leaves to this file."""
    generated = [*var_procedures(), *varn_procedures(), *vard_procedures(), *attribute_procedures(), *fill_procedures()]
    generics = {"nf90mpi_def_var": [f"nf90mpi_def_var_{n}" for n in ("Scalar", "oneDim", "ManyDims")],
                "nf90mpi_put_att": ["nf90mpi_put_att_text"], "nf90mpi_get_att": ["nf90mpi_get_att_text"]}
    for procedure in generated:
        generics.setdefault(procedure.generic, []).append(procedure.name)
    passed = list(handed_on())
    yield "CONSTANTS", [f"  {kind}, parameter, public :: {name} = {value}" for kind, name, value in constants.of_f90()]
    yield "BODIES", bodies()
    yield "GENERICS", [line for name, members in generics.items() for line in (
        f"  interface {name}", *continued("module procedure " + ", ".join(members), 4), "  end interface")]
    public = [*generics, *(p.name for p in passed), *(f.name for f in functions.f77_functions())]
    yield "PUBLIC", [f"  public :: {name}" for name in public]
    yield "PROCEDURES", [line for p in [*passed, *helpers(), *generated] for line in p.lines()]
