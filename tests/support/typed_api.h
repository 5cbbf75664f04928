// PnetCDF's typed functions, reached by C++ type and access kind instead of by name.
//
// The C interface has one function for each memory type, access kind and mode. Tests that walk over
// all of them use Api<T>, so that a choice made at run time selects the function.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <cstddef>

namespace forebay_test {

// Access kinds with one selection.
enum class Kind { var, var1, vara, vars, varm };

// Arguments that select elements; kinds use the leading ones they have.
struct Where {
  const MPI_Offset* start = nullptr;
  const MPI_Offset* count = nullptr;
  const MPI_Offset* stride = nullptr;
  const MPI_Offset* imap = nullptr;
};

// The same for the multi-variable functions: one row for each variable.
struct Wheres {
  MPI_Offset* const* start = nullptr;
  MPI_Offset* const* count = nullptr;
  MPI_Offset* const* stride = nullptr;
  MPI_Offset* const* imap = nullptr;
};

template <typename T>
struct Api;

// Blocking functions of one direction, collective and independent. ARGS_* are spelled out once for
// every kind; TAIL holds what follows the selection.
#define FOREBAY_TEST_BY_KIND(prefix, suffix, nc, id, w, ...)                                 \
  switch (kind) {                                                                            \
    case Kind::var:                                                                          \
      return prefix##_var##suffix(nc, id, __VA_ARGS__);                                      \
    case Kind::var1:                                                                         \
      return prefix##_var1##suffix(nc, id, w.start, __VA_ARGS__);                            \
    case Kind::vara:                                                                         \
      return prefix##_vara##suffix(nc, id, w.start, w.count, __VA_ARGS__);                   \
    case Kind::vars:                                                                         \
      return prefix##_vars##suffix(nc, id, w.start, w.count, w.stride, __VA_ARGS__);         \
    case Kind::varm:                                                                         \
      return prefix##_varm##suffix(nc, id, w.start, w.count, w.stride, w.imap, __VA_ARGS__); \
  }                                                                                          \
  return NC_EINVAL

#define FOREBAY_TEST_BY_KIND_MULTI(prefix, suffix, nc, n, ids, w, ...)                           \
  switch (kind) {                                                                                \
    case Kind::var:                                                                              \
      return prefix##_var##suffix(nc, n, ids, __VA_ARGS__);                                      \
    case Kind::var1:                                                                             \
      return prefix##_var1##suffix(nc, n, ids, w.start, __VA_ARGS__);                            \
    case Kind::vara:                                                                             \
      return prefix##_vara##suffix(nc, n, ids, w.start, w.count, __VA_ARGS__);                   \
    case Kind::vars:                                                                             \
      return prefix##_vars##suffix(nc, n, ids, w.start, w.count, w.stride, __VA_ARGS__);         \
    case Kind::varm:                                                                             \
      return prefix##_varm##suffix(nc, n, ids, w.start, w.count, w.stride, w.imap, __VA_ARGS__); \
  }                                                                                              \
  return NC_EINVAL

#define FOREBAY_TEST_API(T, name, mpi_type)                                                    \
  template <>                                                                                  \
  struct Api<T> {                                                                              \
    static MPI_Datatype datatype() { return mpi_type; }                                        \
    static int put(Kind kind, bool all, int nc, int id, const Where& w, const T* data) {       \
      if (all) {                                                                               \
        FOREBAY_TEST_BY_KIND(ncmpi_put, _##name##_all, nc, id, w, data);                       \
      }                                                                                        \
      FOREBAY_TEST_BY_KIND(ncmpi_put, _##name, nc, id, w, data);                               \
    }                                                                                          \
    static int get(Kind kind, bool all, int nc, int id, const Where& w, T* data) {             \
      if (all) {                                                                               \
        FOREBAY_TEST_BY_KIND(ncmpi_get, _##name##_all, nc, id, w, data);                       \
      }                                                                                        \
      FOREBAY_TEST_BY_KIND(ncmpi_get, _##name, nc, id, w, data);                               \
    }                                                                                          \
    static int iput(Kind kind, int nc, int id, const Where& w, const T* data, int* request) {  \
      FOREBAY_TEST_BY_KIND(ncmpi_iput, _##name, nc, id, w, data, request);                     \
    }                                                                                          \
    static int bput(Kind kind, int nc, int id, const Where& w, const T* data, int* request) {  \
      FOREBAY_TEST_BY_KIND(ncmpi_bput, _##name, nc, id, w, data, request);                     \
    }                                                                                          \
    static int iget(Kind kind, int nc, int id, const Where& w, T* data, int* request) {        \
      FOREBAY_TEST_BY_KIND(ncmpi_iget, _##name, nc, id, w, data, request);                     \
    }                                                                                          \
    static int put_varn(bool all, int nc, int id, int n, MPI_Offset* const* starts,            \
                        MPI_Offset* const* counts, const T* data) {                            \
      return all ? ncmpi_put_varn_##name##_all(nc, id, n, starts, counts, data)                \
                 : ncmpi_put_varn_##name(nc, id, n, starts, counts, data);                     \
    }                                                                                          \
    static int get_varn(bool all, int nc, int id, int n, MPI_Offset* const* starts,            \
                        MPI_Offset* const* counts, T* data) {                                  \
      return all ? ncmpi_get_varn_##name##_all(nc, id, n, starts, counts, data)                \
                 : ncmpi_get_varn_##name(nc, id, n, starts, counts, data);                     \
    }                                                                                          \
    static int iput_varn(int nc, int id, int n, MPI_Offset* const* starts,                     \
                         MPI_Offset* const* counts, const T* data, int* request) {             \
      return ncmpi_iput_varn_##name(nc, id, n, starts, counts, data, request);                 \
    }                                                                                          \
    static int bput_varn(int nc, int id, int n, MPI_Offset* const* starts,                     \
                         MPI_Offset* const* counts, const T* data, int* request) {             \
      return ncmpi_bput_varn_##name(nc, id, n, starts, counts, data, request);                 \
    }                                                                                          \
    static int iget_varn(int nc, int id, int n, MPI_Offset* const* starts,                     \
                         MPI_Offset* const* counts, T* data, int* request) {                   \
      return ncmpi_iget_varn_##name(nc, id, n, starts, counts, data, request);                 \
    }                                                                                          \
    static int mput(Kind kind, bool all, int nc, int n, int* ids, const Wheres& w,             \
                    T* const* data) {                                                          \
      if (all) {                                                                               \
        FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mput, _##name##_all, nc, n, ids, w, data);            \
      }                                                                                        \
      FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mput, _##name, nc, n, ids, w, data);                    \
    }                                                                                          \
    static int mget(Kind kind, bool all, int nc, int n, int* ids, const Wheres& w, T** data) { \
      if (all) {                                                                               \
        FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mget, _##name##_all, nc, n, ids, w, data);            \
      }                                                                                        \
      FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mget, _##name, nc, n, ids, w, data);                    \
    }                                                                                          \
    static int get_att(int nc, int id, const char* att, T* data) {                             \
      return ncmpi_get_att_##name(nc, id, att, data);                                          \
    }                                                                                          \
    static int put_att(int nc, int id, const char* att, [[maybe_unused]] nc_type type,         \
                       MPI_Offset n, const T* data) {                                          \
      return put_att_of_##name(nc, id, att, type, n, data);                                    \
    }                                                                                          \
  };

// Attributes of text carry no external type argument.
inline int put_att_of_text(int nc, int id, const char* att, nc_type, MPI_Offset n,
                           const char* data) {
  return ncmpi_put_att_text(nc, id, att, n, data);
}
#define FOREBAY_TEST_PUT_ATT(T, name)                                                       \
  inline int put_att_of_##name(int nc, int id, const char* att, nc_type type, MPI_Offset n, \
                               const T* data) {                                             \
    return ncmpi_put_att_##name(nc, id, att, type, n, data);                                \
  }

#define FOREBAY_TEST_NUMBER_TYPES(X)            \
  X(signed char, schar, MPI_SIGNED_CHAR)        \
  X(unsigned char, uchar, MPI_UNSIGNED_CHAR)    \
  X(short, short, MPI_SHORT)                    \
  X(unsigned short, ushort, MPI_UNSIGNED_SHORT) \
  X(int, int, MPI_INT)                          \
  X(unsigned int, uint, MPI_UNSIGNED)           \
  X(long, long, MPI_LONG)                       \
  X(float, float, MPI_FLOAT)                    \
  X(double, double, MPI_DOUBLE)                 \
  X(long long, longlong, MPI_LONG_LONG_INT)     \
  X(unsigned long long, ulonglong, MPI_UNSIGNED_LONG_LONG)

#define FOREBAY_TEST_PUT_ATT_ROW(T, name, mpi_type) FOREBAY_TEST_PUT_ATT(T, name)
FOREBAY_TEST_NUMBER_TYPES(FOREBAY_TEST_PUT_ATT_ROW)
FOREBAY_TEST_NUMBER_TYPES(FOREBAY_TEST_API)
FOREBAY_TEST_API(char, text, MPI_CHAR)

// The flexible functions: memory described by an MPI datatype.
struct Flexible {
  static int put(Kind kind, bool all, int nc, int id, const Where& w, const void* data,
                 MPI_Offset n, MPI_Datatype type) {
    if (all) {
      FOREBAY_TEST_BY_KIND(ncmpi_put, _all, nc, id, w, data, n, type);
    }
    FOREBAY_TEST_BY_KIND(ncmpi_put, , nc, id, w, data, n, type);
  }
  static int get(Kind kind, bool all, int nc, int id, const Where& w, void* data, MPI_Offset n,
                 MPI_Datatype type) {
    if (all) {
      FOREBAY_TEST_BY_KIND(ncmpi_get, _all, nc, id, w, data, n, type);
    }
    FOREBAY_TEST_BY_KIND(ncmpi_get, , nc, id, w, data, n, type);
  }
  static int iput(Kind kind, int nc, int id, const Where& w, const void* data, MPI_Offset n,
                  MPI_Datatype type, int* request) {
    FOREBAY_TEST_BY_KIND(ncmpi_iput, , nc, id, w, data, n, type, request);
  }
  static int bput(Kind kind, int nc, int id, const Where& w, const void* data, MPI_Offset n,
                  MPI_Datatype type, int* request) {
    FOREBAY_TEST_BY_KIND(ncmpi_bput, , nc, id, w, data, n, type, request);
  }
  static int iget(Kind kind, int nc, int id, const Where& w, void* data, MPI_Offset n,
                  MPI_Datatype type, int* request) {
    FOREBAY_TEST_BY_KIND(ncmpi_iget, , nc, id, w, data, n, type, request);
  }
  static int mput(Kind kind, bool all, int nc, int n, int* ids, const Wheres& w, void* const* data,
                  const MPI_Offset* counts, const MPI_Datatype* types) {
    if (all) {
      FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mput, _all, nc, n, ids, w, data, counts, types);
    }
    FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mput, , nc, n, ids, w, data, counts, types);
  }
  static int mget(Kind kind, bool all, int nc, int n, int* ids, const Wheres& w, void** data,
                  const MPI_Offset* counts, const MPI_Datatype* types) {
    if (all) {
      FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mget, _all, nc, n, ids, w, data, counts, types);
    }
    FOREBAY_TEST_BY_KIND_MULTI(ncmpi_mget, , nc, n, ids, w, data, counts, types);
  }
};

}  // namespace forebay_test
