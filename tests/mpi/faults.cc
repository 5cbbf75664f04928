#include "mpi/faults.h"

#include <climits>
#include <cstring>

namespace forebay_test {

namespace {

const MPI_Info no_info = MPI_INFO_NULL;

struct Function {
  const char *name, *verb, *kind, *element;
  bool collective;
  int (*call)(Arguments&);
};

const Function functions[] = {
#include "calls.inc"
};

const char* too_long() {
  static const std::string name(NC_MAX_NAME + 1, 'q');
  return name.c_str();
}

int create(const std::string& path) {
  int id = -1, var = -1;
  const int y_x[] = {y_dim, x_dim}, time_x[] = {time_dim, x_dim}, value = 7, zeros[12] = {};
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_OFFSET, no_info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "time", NC_UNLIMITED, nullptr));
  EXPECT_OK(ncmpi_def_dim(id, "y", 4, nullptr));
  EXPECT_OK(ncmpi_def_dim(id, "x", 6, nullptr));
  EXPECT_OK(ncmpi_def_var(id, "grid", NC_INT, 2, y_x, &var));
  EXPECT_OK(ncmpi_def_var(id, "series", NC_INT, 2, time_x, &var));
  EXPECT_OK(ncmpi_def_var(id, "text", NC_CHAR, 1, y_x + 1, &var));
  EXPECT_OK(ncmpi_def_var(id, "scalar", NC_INT, 0, nullptr, &var));
  EXPECT_OK(ncmpi_def_var(id, "wide", NC_DOUBLE, 2, y_x, &var));
#ifdef FOREBAY_HAS_DECOMPOSITIONS
  MPI_Offset columns[] = {0, 1, 2};
  MPI_Offset* starts[] = {&columns[0], &columns[1], &columns[2]};
  EXPECT_OK(ncmpi_def_decom(id, 1, y_x + 1, 3, starts, nullptr, nullptr));
  EXPECT_OK(ncmpi_def_decom(id, 1, y_x, 0, nullptr, nullptr, nullptr));
  EXPECT_OK(ncmpi_def_decom_var(id, "mapped", NC_INT, 1, y_x, 0, &var));
#endif
  EXPECT_OK(ncmpi_def_var_fill(id, series, 0, nullptr));
  for (const int owner : {NC_GLOBAL, static_cast<int>(grid)}) {
    EXPECT_OK(ncmpi_put_att_int(id, owner, "a", NC_INT, 1, &value));
    EXPECT_OK(ncmpi_put_att_int(id, owner, "b", NC_INT, 1, &value));
  }
  EXPECT_OK(ncmpi_enddef(id));
  const MPI_Offset start[] = {0, 0}, count[] = {2, 6};
  EXPECT_OK(ncmpi_put_vara_int_all(id, series, start, count, zeros));
  return id;
}

// -- faults that several calls have --------------------------------------------------------------

#define FAULT(slot, what, code, change)                                                \
  {                                                                                    \
    slot, what, code,                                                                  \
        []([[maybe_unused]] const Files& f, [[maybe_unused]] Arguments& a) { change; } \
  }

// Arguments that make a difference where they are not the same on all ranks.
#define DIFFERS(slot, code, change) FAULT(slot, "differs", NC_EMULTIDEFINE_##code, change)

Fault late(Fault fault) {
  fault.late = true;
  return fault;
}

const Fault data_mode = FAULT("file", "data mode", NC_ENOTINDEFINE, a.ncid = f.collective);
const Fault define_mode = FAULT("file", "define mode", NC_EINDEFINE, a.ncid = f.defining);
const Fault read_only = FAULT("file", "read only", NC_EPERM, a.ncid = f.reading);
const Fault read_data = FAULT("file", "read only", NC_ENOTINDEFINE, a.ncid = f.reading);
const Fault in_independent = FAULT("file", "independent", NC_EINDEP, a.ncid = f.independent);
const Fault in_collective = FAULT("file", "collective", NC_ENOTINDEP, a.ncid = f.collective);
const Fault global_var = FAULT("varid", "global", NC_EGLOBAL, a.varid = NC_GLOBAL);
const Fault unknown_var = FAULT("varid", "unknown", NC_ENOTVAR, a.varid = 99);
const Fault negative_var = FAULT("varid", "negative", NC_ENOTVAR, a.varid = -5);
const Fault null_name = FAULT("name", "null", NC_EBADNAME, a.name = nullptr);
const Fault empty_name = FAULT("name", "empty", NC_EBADNAME, a.name = "");
const Fault long_name = FAULT("name", "long", NC_EMAXNAME, a.name = too_long());
const Fault bad_name = FAULT("name", "illegal", NC_EBADNAME, a.name = "a/b");
const Fault no_such_name = FAULT("name", "missing", NC_ENOTATT, a.name = "missing");
const Fault null_new = FAULT("newname", "null", NC_EBADNAME, a.newname = nullptr);
const Fault empty_new = FAULT("newname", "empty", NC_EBADNAME, a.newname = "");
const Fault long_new = FAULT("newname", "long", NC_EMAXNAME, a.newname = too_long());
const Fault bad_new = FAULT("newname", "illegal", NC_EBADNAME, a.newname = "a/b");
const Fault bad_type = FAULT("type", "unknown", NC_EBADTYPE, a.type = 99);
const Fault no_type = FAULT("type", "NAT", NC_EBADTYPE, a.type = NC_NAT);
const Fault cdf5_type = FAULT("type", "CDF-5", NC_ESTRICTCDF2, a.type = NC_INT64);
const Fault char_type = FAULT("type", "char", NC_ECHAR, a.type = NC_CHAR);
const Fault unknown_dim = FAULT("dimid", "unknown", NC_EBADDIM, a.dimid = 99);
const Fault negative_dim = FAULT("dimid", "negative", NC_EBADDIM, a.dimid = -1);

using List = std::vector<Fault>;

List operator+(List a, const List& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const List variable = {global_var, unknown_var, negative_var};
const List owner = {unknown_var, negative_var};  // of attributes: NC_GLOBAL is one
const List lookup = {null_name, empty_name, long_name};
const List naming = {null_name, empty_name, long_name, bad_name};
const List renaming = {null_new, empty_new, long_new, bad_new};
const List value = {FAULT("length", "negative", NC_EINVAL, a.length = -1),
                    FAULT("length", "2^31", NC_EINVAL, a.length = 2147483648LL),
                    FAULT("value", "null", NC_EINVAL, a.buf = nullptr)};

// -- data
// ------------------------------------------------------------------------------------------

bool is(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

List state_faults(const Function& f) {
  const bool write = std::strstr(f.verb, "put") != nullptr;
  List list;
  if (write) list.push_back(read_only);
  if (*f.verb == 'i' || *f.verb == 'b') return list;
  list.push_back(define_mode);
  list.push_back(f.collective ? in_independent : in_collective);
  return list;
}

bool by_map(const Function& f) { return std::strncmp(f.kind, "decom", 5) == 0; }

List start_faults(const Function& f) {
  const char* kind = f.kind;
  if (is(kind, "var") || is(kind, "vard")) return {};
  List list;
  if (by_map(f)) {
    list = {FAULT("start", "null", NC_EINVALCOORDS, a.start = nullptr),
            FAULT("start", "negative", NC_EINVALCOORDS, a.start_[0] = -1),
            FAULT("start", "beyond", NC_EINVALCOORDS, a.start_[0] = 5),
            FAULT("count", "null", NC_EEDGE, a.count = nullptr),
            FAULT("count", "negative", NC_ENEGATIVECNT, a.count_[0] = -1),
            FAULT("count", "beyond", NC_EEDGE, a.count_[0] = 5)};
    if (is(kind, "decom_part"))
      list = list + List{FAULT("first", "negative", NC_EINVAL, a.first = -1),
                         FAULT("first", "beyond", NC_EINVAL, a.first = 3),
                         FAULT("n", "negative", NC_EINVAL, a.n = -1),
                         FAULT("n", "beyond", NC_EINVAL, a.n = 4),
                         FAULT("n", "beyond all", NC_EINVAL, a.n = INT_MAX)};
    return list;
  }
  if (is(kind, "varn")) {
    list = {FAULT("starts", "null", NC_ENULLSTART, a.starts = nullptr),
            FAULT("start", "null", NC_ENULLSTART, a.start = nullptr)};
  } else {
    list = {FAULT("start", "null", NC_EINVALCOORDS, a.start = nullptr)};
  }
  list = list + List{FAULT("start", "negative", NC_EINVALCOORDS, a.start_[0] = -1),
                     FAULT("start", "at the end", NC_EINVALCOORDS, a.start_[1] = 6),
                     FAULT("start", "beyond", NC_EINVALCOORDS, a.start_[1] = 7)};
  if (is(kind, "var1")) return list;
  if (!is(kind, "varn")) list.push_back(FAULT("count", "null", NC_EEDGE, a.count = nullptr));
  list = list + List{FAULT("count", "negative", NC_ENEGATIVECNT, a.count_[0] = -1),
                     FAULT("count", "beyond", NC_EEDGE, a.count_[1] = 7)};
  if (is(kind, "vars") || is(kind, "varm"))
    list = list + List{FAULT("stride", "beyond", NC_EEDGE, a.stride_[1] = 5),
                       FAULT("stride", "zero", NC_ESTRIDE, a.stride_[0] = 0),
                       FAULT("stride", "negative", NC_ESTRIDE, a.stride_[0] = -1)};
  return list;
}

}  // namespace

Files open_files() {
  Files files;
  const std::string paths[] = {world.path("defining"), world.path("collective"),
                               world.path("independent"), world.path("reading")};
  files.defining = create(paths[0]);
  files.collective = create(paths[1]);
  files.independent = create(paths[2]);
  EXPECT_OK(ncmpi_close(create(paths[3])));
  EXPECT_OK(ncmpi_redef(files.defining));
  EXPECT_OK(ncmpi_begin_indep_data(files.independent));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, paths[3].c_str(), NC_NOWRITE, no_info, &files.reading));
  EXPECT_OK(ncmpi_buffer_attach(files.collective, 1000));
  return files;
}

void close_files(const Files& files) {
  EXPECT_OK(ncmpi_buffer_detach(files.collective));
  for (const int id : {files.defining, files.collective, files.independent, files.reading})
    EXPECT_OK(ncmpi_close(id));
  MPI_Barrier(MPI_COMM_WORLD);
  for (const char* name : {"defining", "collective", "independent", "reading"})
    if (world.rank == 0) ncmpi_delete(world.path(name).c_str(), no_info);
}

#define RUN(function, ...) \
#function, [](Arguments & a) { return function(a.ncid __VA_OPT__(, ) __VA_ARGS__); }

std::vector<Call> definition_calls() {
  const auto fresh_name = [](Arguments& a) { a.name = "fresh"; };
  const List not_defining = {data_mode, read_data};
  const List types = {bad_type, no_type, cdf5_type};
  const List new_in_data_mode = {
      FAULT("file", "data mode", NC_ENOTINDEFINE, a.ncid = f.collective)};
  const List attribute_differs = {
      DIFFERS("name", ATTR_NAME, a.name = "other"), DIFFERS("varid", FNC_ARGS, a.varid = NC_GLOBAL),
      DIFFERS("length", ATTR_LEN, a.length = 2), DIFFERS("value", ATTR_VAL, a.data[0] = 1)};
  const List variable_faults = {FAULT("ndims", "negative", NC_EINVAL, a.ndims = -1),
                                FAULT("name", "used", NC_ENAMEINUSE, a.name = "grid"),
                                FAULT("dimids", "null", NC_EINVAL, a.dimids = nullptr),
                                FAULT("dimids", "unknown", NC_EBADDIM, a.dimids_[1] = 99),
                                FAULT("dimids", "negative", NC_EBADDIM, a.dimids_[0] = -1)};
  const auto unlimited_second =
      late(FAULT("dimids", "unlimited second", NC_EUNLIMPOS, a.dimids_[1] = time_dim));
  const List variable_differs = {
      DIFFERS("name", VAR_NAME, a.name = "other"), DIFFERS("type", VAR_TYPE, a.type = NC_FLOAT),
      DIFFERS("ndims", VAR_NDIMS, a.ndims = 1), DIFFERS("dimids", VAR_DIMIDS, a.dimids_[1] = 1)};
  return {
      {RUN(ncmpi_def_dim, a.name, a.length, nullptr),
       not_defining + naming +
           List{FAULT("length", "negative", NC_EDIMSIZE, a.length = -1),
                FAULT("length", "2^32", NC_EDIMSIZE, a.length = 4294967296LL),
                FAULT("length", "second unlimited", NC_EUNLIMIT, a.length = NC_UNLIMITED),
                FAULT("name", "used", NC_ENAMEINUSE, a.name = "x")},
       {DIFFERS("name", DIM_NAME, a.name = "other"), DIFFERS("length", DIM_SIZE, a.length = 2)},
       fresh_name},
      {RUN(ncmpi_def_var, a.name, a.type, a.ndims, a.dimids, &a.varid),
       not_defining + naming + types + variable_faults + List{unlimited_second}, variable_differs,
       fresh_name},
#ifdef FOREBAY_HAS_DECOMPOSITIONS
      {RUN(ncmpi_def_decom, a.ndims, a.dimids, a.num, a.starts, a.counts, &a.decomid),
       not_defining + List{FAULT("ndims", "zero", NC_EINVAL, a.ndims = 0),
                           FAULT("ndims", "negative", NC_EINVAL, a.ndims = -1),
                           FAULT("dimids", "null", NC_EINVAL, a.dimids = nullptr),
                           FAULT("dimids", "unknown", NC_EBADDIM, a.dimids_[1] = 99),
                           FAULT("dimids", "negative", NC_EBADDIM, a.dimids_[0] = -1),
                           FAULT("dimids", "unlimited", NC_EUNLIMPOS, a.dimids_[0] = time_dim),
                           FAULT("nreqs", "negative", NC_EINVAL, a.num = -1),
                           FAULT("starts", "null", NC_ENULLSTART, a.starts = nullptr),
                           FAULT("start", "null", NC_ENULLSTART, a.start = nullptr),
                           FAULT("start", "negative", NC_EINVALCOORDS, a.start_[0] = -1),
                           FAULT("start", "at the end", NC_EINVALCOORDS, a.start_[1] = 6),
                           FAULT("count", "negative", NC_ENEGATIVECNT, a.count_[0] = -1),
                           FAULT("count", "beyond", NC_EEDGE, a.count_[1] = 7)},
       {DIFFERS("ndims", FNC_ARGS, a.ndims = 1),
        DIFFERS("dimids", FNC_ARGS, a.dimids_[1] = y_dim)}},
      {RUN(ncmpi_def_decom_var, a.name, a.type, a.ndims, a.dimids, a.decomid, &a.varid),
       not_defining + naming + types + variable_faults +
           List{FAULT("decomid", "unknown", NC_EINVAL, a.decomid = 99),
                FAULT("decomid", "negative", NC_EINVAL, a.decomid = -1), unlimited_second},
       variable_differs + List{DIFFERS("decomid", FNC_ARGS, a.decomid = 1)}, fresh_name},
#endif
      {RUN(ncmpi_rename_dim, a.dimid, a.newname),
       List{read_only} + renaming + List{unknown_dim, negative_dim} +
           List{FAULT("newname", "used", NC_ENAMEINUSE, a.newname = "y")} + new_in_data_mode,
       {DIFFERS("newname", DIM_NAME, a.newname = "other"),
        DIFFERS("dimid", FNC_ARGS, a.dimid = y_dim)}},
      {RUN(ncmpi_rename_var, a.varid, a.newname),
       List{read_only} + variable + renaming +
           List{FAULT("newname", "used", NC_ENAMEINUSE, a.newname = "text"),
                FAULT("newname", "its own", NC_ENAMEINUSE, a.newname = "grid")},
       {DIFFERS("newname", VAR_NAME, a.newname = "other"),
        DIFFERS("varid", FNC_ARGS, a.varid = text)}},
      {RUN(ncmpi_set_fill, a.mode, nullptr),
       {read_only, data_mode, late(FAULT("mode", "unknown", NC_EINVAL, a.mode = 5))},
       {DIFFERS("mode", FILL_MODE, a.mode = NC_NOFILL)}},
      {RUN(ncmpi_def_var_fill, a.varid, a.no_fill, a.buf),
       not_defining + variable,
       {DIFFERS("varid", FNC_ARGS, a.varid = series), DIFFERS("no_fill", FNC_ARGS, a.no_fill = 1),
        DIFFERS("buffer", FNC_ARGS, a.buf = nullptr),
        DIFFERS("value", VAR_FILL_VALUE, a.data[0] = 1)}},
      {RUN(ncmpi_fill_var_rec, a.varid, a.length),
       List{read_only, define_mode} + variable +
           List{FAULT("varid", "fixed size", NC_ENOTRECVAR, a.varid = grid), in_independent},
       {DIFFERS("record", FNC_ARGS, a.length = 0)},
       [](Arguments& a) { a.varid = series; },
       &Files::collective},
      {RUN(ncmpi_put_att, a.varid, a.name, a.type, a.length, a.buf),
       List{read_only} + owner + naming + types + value + new_in_data_mode,
       attribute_differs + List{DIFFERS("type", ATTR_TYPE, a.type = NC_FLOAT)}, fresh_name},
      {RUN(ncmpi_put_att_int, a.varid, a.name, a.type, a.length, static_cast<int*>(a.buf)),
       List{read_only} + owner + naming + types + List{char_type} + value + new_in_data_mode,
       attribute_differs + List{DIFFERS("type", ATTR_TYPE, a.type = NC_FLOAT)}, fresh_name},
      {RUN(ncmpi_put_att_text, a.varid, a.name, a.length, static_cast<char*>(a.buf)),
       List{read_only} + owner + naming + value + new_in_data_mode, attribute_differs, fresh_name},
      {RUN(ncmpi_rename_att, a.varid, a.name, a.newname),
       List{read_only} + owner + lookup + renaming +
           List{late(no_such_name), late(FAULT("newname", "used", NC_ENAMEINUSE, a.newname = "b"))},
       {DIFFERS("name", ATTR_NAME, a.name = "b"), DIFFERS("newname", ATTR_NAME, a.newname = "c"),
        DIFFERS("varid", FNC_ARGS, a.varid = NC_GLOBAL)}},
      {RUN(ncmpi_del_att, a.varid, a.name),
       List{read_only, data_mode} + owner + lookup + List{late(no_such_name)},
       {DIFFERS("name", ATTR_NAME, a.name = "b"), DIFFERS("varid", FNC_ARGS, a.varid = NC_GLOBAL)}},
      {RUN(ncmpi_copy_att, a.varid, a.name, a.ncid2, a.varid2),
       List{FAULT("file2", "read only", NC_EPERM, a.ncid2 = f.reading)} + owner +
           List{FAULT("varid2", "unknown", NC_ENOTVAR, a.varid2 = 99)} + lookup +
           List{late(no_such_name),
                FAULT("file2", "data mode", NC_ENOTINDEFINE, a.ncid2 = f.collective)},
       {DIFFERS("name", ATTR_NAME, a.name = "b"), DIFFERS("varid", FNC_ARGS, a.varid = NC_GLOBAL),
        DIFFERS("varid2", FNC_ARGS, a.varid2 = NC_GLOBAL)}},
      {RUN(ncmpi__enddef, a.minfree[0], a.minfree[1], a.minfree[2], a.minfree[3]),
       not_defining + List{FAULT("h_minfree", "negative", NC_EINVAL, a.minfree[0] = -1),
                           FAULT("v_align", "negative", NC_EINVAL, a.minfree[1] = -1),
                           FAULT("v_minfree", "negative", NC_EINVAL, a.minfree[2] = -1),
                           FAULT("r_align", "negative", NC_EINVAL, a.minfree[3] = -1)},
       {DIFFERS("h_minfree", FNC_ARGS, a.minfree[0] = 8),
        DIFFERS("v_align", FNC_ARGS, a.minfree[1] = 8),
        DIFFERS("v_minfree", FNC_ARGS, a.minfree[2] = 8),
        DIFFERS("r_align", FNC_ARGS, a.minfree[3] = 8)}},
      {RUN(ncmpi_enddef), not_defining},
      {RUN(ncmpi_redef), {read_only, define_mode}, {}, nullptr, &Files::collective},
  };
}

std::vector<Call> data_calls() {
  std::vector<Call> calls;
  for (const Function& f : functions) {
    const bool flexible = *f.element == '\0';
    if (!flexible && !is(f.element, "int")) continue;
    int Files::*file = &Files::collective;
    if (!f.collective && (is(f.verb, "put") || is(f.verb, "get") || *f.verb == 'm'))
      file = &Files::independent;
    List faults = state_faults(f) + variable;
    if (!flexible) faults.push_back(FAULT("varid", "text", NC_ECHAR, a.varid = text));
    if (is(f.verb, "bput"))
      faults.push_back(FAULT("file", "no buffer", NC_ENULLABUF, a.ncid = f.independent));
    if (by_map(f)) faults.push_back(FAULT("varid", "without map", NC_EINVAL, a.varid = grid));
    faults = faults + start_faults(f);
    if (flexible && !is(f.kind, "vard"))
      faults.push_back(FAULT("bufcount", "other amount", NC_EIOMISMATCH, a.bufcount = 5));
    calls.push_back({f.name, f.call, std::move(faults), {}, nullptr, file, f.collective});
    if (is(f.kind, "var")) calls.back().prepare = [](Arguments& a) { a.bufcount = 24; };
    if (is(f.kind, "var1") || is(f.kind, "vard"))
      calls.back().prepare = [](Arguments& a) { a.bufcount = 1; };
    if (is(f.kind, "decom")) calls.back().prepare = [](Arguments& a) { a.varid = mapped; };
    if (is(f.kind, "decom_part"))
      calls.back().prepare = [](Arguments& a) { a.varid = mapped, a.bufcount = 2; };
  }
  return calls;
}

}  // namespace forebay_test
