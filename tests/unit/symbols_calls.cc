// Calls every data function once and sees that it moves just the elements that its name promises,
// from or to the right memory: a check of the generated stubs. Usage: symbols_calls [path of a
// scratch file]
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr MPI_Offset rows = 4, columns = 6, elements = rows * columns;

struct Arguments {
  int ncid = 0, varid = 0, num = 1, request = NC_REQ_NULL;
  MPI_Offset* start = nullptr;
  MPI_Offset* count = nullptr;
  MPI_Offset* stride = nullptr;
  MPI_Offset* imap = nullptr;
  MPI_Offset** starts = &start;
  MPI_Offset** counts = &count;
  MPI_Offset** strides = &stride;
  MPI_Offset** imaps = &imap;
  int first = 1, n = 1;
  void* buf = nullptr;
  MPI_Offset bufcount = 0;
  MPI_Datatype buftype = MPI_DATATYPE_NULL;
  MPI_Datatype filetype = MPI_DATATYPE_NULL;
};

struct Function {
  std::string name, verb, kind, element;
  bool collective;
  int (*call)(Arguments&);
};

const Function functions[] = {
#include "calls.inc"
};

int failures = 0;

void fail(const std::string& what) {
  if (++failures <= 20) std::fprintf(stderr, "%s\n", what.c_str());
}

void check(int code, const std::string& what) {
  if (code != NC_NOERR) fail(what + ": " + ncmpi_strerror(code));
}

/// An element type: how to lay numbers out as it, which variable has it, and its MPI type.
struct ElementType {
  nc_type external;
  MPI_Datatype mpi;
  std::size_t size;
  void (*store)(void*, int, int);
  int (*load)(const void*, int);
  int varid = -1, mapped = -1;  // the latter defined by a decomposition of columns 1 and 2
};

template <typename T>
ElementType element_type(nc_type external, MPI_Datatype mpi) {
  return {external, mpi, sizeof(T),
          [](void* p, int i, int v) { static_cast<T*>(p)[i] = static_cast<T>(v); },
          [](const void* p, int i) { return static_cast<int>(static_cast<const T*>(p)[i]); }};
}

std::map<std::string, ElementType> make_types() {
  return {{"text", element_type<char>(NC_CHAR, MPI_CHAR)},
          {"schar", element_type<signed char>(NC_BYTE, MPI_SIGNED_CHAR)},
          {"uchar", element_type<unsigned char>(NC_UBYTE, MPI_UNSIGNED_CHAR)},
          {"short", element_type<short>(NC_SHORT, MPI_SHORT)},
          {"ushort", element_type<unsigned short>(NC_USHORT, MPI_UNSIGNED_SHORT)},
          {"int", element_type<int>(NC_INT, MPI_INT)},
          {"uint", element_type<unsigned int>(NC_UINT, MPI_UNSIGNED)},
          {"long", element_type<long>(NC_INT64, MPI_LONG)},
          {"float", element_type<float>(NC_FLOAT, MPI_FLOAT)},
          {"double", element_type<double>(NC_DOUBLE, MPI_DOUBLE)},
          {"longlong", element_type<long long>(NC_INT64, MPI_LONG_LONG_INT)},
          {"ulonglong", element_type<unsigned long long>(NC_UINT64, MPI_UNSIGNED_LONG_LONG)}};
}

/// Where the i-th selected element lies in the variable and in memory.
struct Place {
  int file, memory;
};

/// The one selection of each kind.
struct Case {
  MPI_Offset start[2] = {1, 1}, count[2] = {2, 2}, stride[2] = {1, 3}, imap[2] = {1, 2};
  MPI_Offset start2[2] = {3, 0};
  std::vector<Place> places;
  MPI_Offset* starts[2] = {start, start2};
  MPI_Offset* counts[2] = {count, nullptr};

  explicit Case(const std::string& kind) {
    if (kind == "var") {
      for (int i = 0; i < elements; ++i) places.push_back({i, i});
    } else if (kind == "decom_part") {
      places = {{static_cast<int>(columns) + 2, 0}, {2 * static_cast<int>(columns) + 2, 1}};
    } else if (kind == "var1") {
      places.push_back({static_cast<int>(columns) + 1, 0});
    } else {
      const int step = kind == "vars" || kind == "varm" ? 3 : 1;
      for (int y = 0; y < 2; ++y) {
        for (int x = 0; x < 2; ++x) {
          places.push_back({(1 + y) * static_cast<int>(columns) + 1 + x * step,
                            kind == "varm" ? y + 2 * x : 2 * y + x});
        }
      }
      if (kind == "varn") places.push_back({3 * static_cast<int>(columns), 4});
    }
  }
};

void set_mode(int ncid, bool collective) {
  static bool independent = false;
  if (independent == !collective) return;
  check(collective ? ncmpi_end_indep_data(ncid) : ncmpi_begin_indep_data(ncid), "changing mode");
  independent = !collective;
}

/// Whole contents through the plainest function there is; `type` is not used for text.
void put_all(int ncid, const ElementType& t, const std::vector<int>& values) {
  std::vector<char> memory(elements * t.size);
  for (int i = 0; i < elements; ++i) t.store(memory.data(), i, values[static_cast<std::size_t>(i)]);
  check(ncmpi_put_var_all(ncid, t.varid, memory.data(), elements, t.mpi), "writing all");
}

std::vector<int> get_all(int ncid, const ElementType& t) {
  std::vector<char> memory(elements * t.size);
  std::vector<int> values;
  check(ncmpi_get_var_all(ncid, t.varid, memory.data(), elements, t.mpi), "reading all");
  for (int i = 0; i < elements; ++i) values.push_back(t.load(memory.data(), i));
  return values;
}

void run(int ncid, const Function& f, const std::string& element, const ElementType& t) {
  const bool write = f.verb.find("put") != std::string::npos;
  const bool queued = f.verb[0] == 'i' || f.verb[0] == 'b';
  Case c(f.kind);
  Arguments a;
  a.ncid = ncid;
  a.varid = t.varid;
  a.start = c.start;
  a.count = c.count;
  a.stride = c.stride;
  a.imap = c.imap;
  a.buftype = t.mpi;
  a.bufcount = static_cast<MPI_Offset>(c.places.size());
  if (f.kind == "varn") {
    a.num = 2;
    a.starts = c.starts;
    a.counts = c.counts;
  }
  if (f.kind == "vard") {
    const int sizes[2] = {rows, columns}, counts[2] = {2, 2}, starts[2] = {1, 1};
    MPI_Type_create_subarray(2, sizes, counts, starts, MPI_ORDER_C, t.mpi, &a.filetype);
    MPI_Type_commit(&a.filetype);
  }

  std::vector<int> before, want;
  for (int i = 0; i < elements; ++i) before.push_back(i);
  set_mode(ncid, true);
  put_all(ncid, t, before);

  const std::size_t n = c.places.size();
  std::vector<char> memory(n * t.size);
  for (std::size_t i = 0; i < n; ++i)
    t.store(memory.data(), static_cast<int>(i), write ? 60 + static_cast<int>(i) : 0);
  a.buf = memory.data();

  set_mode(ncid, f.collective || queued);
  check(f.call(a), f.name + " of " + element);
  if (f.verb == "bput") std::memset(memory.data(), 0, memory.size());  // the data has been copied
  if (queued) check(ncmpi_wait_all(ncid, 1, &a.request, nullptr), "waiting for " + f.name);
  set_mode(ncid, true);

  std::vector<int> got;
  if (write) {
    want = before;
    for (const Place& p : c.places) want[static_cast<std::size_t>(p.file)] = 60 + p.memory;
    got = get_all(ncid, t);
  } else {
    want.assign(n, 0);
    for (const Place& p : c.places) want[static_cast<std::size_t>(p.memory)] = p.file;
    for (std::size_t i = 0; i < n; ++i) got.push_back(t.load(memory.data(), static_cast<int>(i)));
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) {
      fail(f.name + " of " + element + ": element " + std::to_string(i) + " is " +
           std::to_string(got[i]) + ", expected " + std::to_string(want[i]));
      break;
    }
  }
  if (a.filetype != MPI_DATATYPE_NULL) MPI_Type_free(&a.filetype);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string path = argc > 1 ? argv[1] : "symbols_calls.nc";
  int ncid = 0, dims[2] = {0, 0};
  check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_64BIT_DATA, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_def_dim(ncid, "y", rows, &dims[0]), "def_dim");
  check(ncmpi_def_dim(ncid, "x", columns, &dims[1]), "def_dim");
  auto types = make_types();
  for (auto& [name, t] : types)
    check(ncmpi_def_var(ncid, name.c_str(), t.external, 2, dims, &t.varid), "def_var");
  MPI_Offset second = 1, third = 2;
  MPI_Offset* starts[] = {&second, &third};
  int map = -1;
  check(ncmpi_def_decom(ncid, 1, &dims[1], 2, starts, nullptr, &map), "def_decom");
  for (auto& [name, t] : types)
    check(
        ncmpi_def_decom_var(ncid, (name + "_mapped").c_str(), t.external, 1, dims, map, &t.mapped),
        "def_decom_var");
  check(ncmpi_enddef(ncid), "enddef");
  check(ncmpi_buffer_attach(ncid, 4096), "buffer_attach");
  int calls = 0;
  for (const Function& f : functions) {
    for (auto& [name, t] : types) {
      if (!f.element.empty() && f.element != name) continue;
      const bool by_map = f.kind.rfind("decom", 0) == 0;
      if (by_map) std::swap(t.varid, t.mapped);
      run(ncid, f, name, t);
      if (by_map) std::swap(t.varid, t.mapped);
      ++calls;
    }
  }
  check(ncmpi_buffer_detach(ncid), "buffer_detach");
  check(ncmpi_close(ncid), "close");
  std::printf("%zu functions, %d calls, %d failures\n", std::size(functions), calls, failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
