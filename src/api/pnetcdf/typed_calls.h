// The functions that the generated typed stubs call. A stub names the selection, the memory and the
// function; these functions do all checks and all work.
#pragma once

#include <optional>
#include <type_traits>

#include "api/pnetcdf/interface.h"
#include "array/type.h"

namespace forebay::pnetcdf {

enum Direction { put, get };
enum Coordination { independent, collective };
enum Verb { iput, iget, bput };

enum class Kind { element, whole, block, strided, mapped, pieces, file_type, decomposed };

/// The caller's arguments that select elements of a variable.
struct Selection {
  Kind kind;
  const MPI_Offset* start = nullptr;
  const MPI_Offset* count = nullptr;
  const MPI_Offset* stride = nullptr;
  const MPI_Offset* imap = nullptr;
  int num = 0;
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;
  MPI_Datatype file_type = MPI_DATATYPE_NULL;
  int first = 0;  ///< of `num` pieces of a decomposition map; num -1: all
  /// The level of a variable in patches to which start and count refer. Only level functions set
  /// it.
  std::optional<int> level = std::nullopt;
};

inline Selection var() { return {.kind = Kind::whole}; }
inline Selection var1(const MPI_Offset* start) { return {.kind = Kind::element, .start = start}; }
inline Selection vara(const MPI_Offset* start, const MPI_Offset* count) {
  return {.kind = Kind::block, .start = start, .count = count};
}
inline Selection vars(const MPI_Offset* start, const MPI_Offset* count, const MPI_Offset* stride) {
  return {.kind = Kind::strided, .start = start, .count = count, .stride = stride};
}
inline Selection varm(const MPI_Offset* start, const MPI_Offset* count, const MPI_Offset* stride,
                      const MPI_Offset* imap) {
  return {.kind = Kind::mapped, .start = start, .count = count, .stride = stride, .imap = imap};
}
inline Selection varn(int num, MPI_Offset* const* starts, MPI_Offset* const* counts) {
  return {.kind = Kind::pieces, .num = num, .starts = starts, .counts = counts};
}
inline Selection vard(MPI_Datatype file_type) {
  return {.kind = Kind::file_type, .file_type = file_type};
}

inline Selection decom(const MPI_Offset* start, const MPI_Offset* count) {
  return {.kind = Kind::decomposed, .start = start, .count = count, .num = -1};
}
inline Selection decom_part(const MPI_Offset* start, const MPI_Offset* count, int first, int n) {
  // A negative n is an error; it must not mean all.
  return {.kind = Kind::decomposed,
          .start = start,
          .count = count,
          .num = n < 0 ? -2 : n,
          .first = first};
}

/// The caller's memory. `native` is the element type of a typed function. A flexible function has
/// Type::none there, and `count` instances of an MPI datatype.
struct Buffer {
  void* data = nullptr;
  Type native = Type::none;
  MPI_Offset count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

template <typename T>
requires(!std::is_void_v<T>) Buffer memory(T* buf) {
  using Element = std::remove_const_t<T>;
  return {.data = const_cast<Element*>(buf), .native = type_of<Element>()};
}
inline Buffer memory(const void* buf, MPI_Offset count, MPI_Datatype type) {
  return {.data = const_cast<void*>(buf), .count = count, .type = type};
}

/// Selections of a function for several variables: one list for each member of Selection.
struct Selections {
  Kind kind;
  MPI_Offset* const* starts = nullptr;
  MPI_Offset* const* counts = nullptr;
  MPI_Offset* const* strides = nullptr;
  MPI_Offset* const* imaps = nullptr;
};

inline Selections each_var() { return {.kind = Kind::whole}; }
inline Selections each_var1(MPI_Offset* const* starts) {
  return {.kind = Kind::element, .starts = starts};
}
inline Selections each_vara(MPI_Offset* const* starts, MPI_Offset* const* counts) {
  return {.kind = Kind::block, .starts = starts, .counts = counts};
}
inline Selections each_vars(MPI_Offset* const* starts, MPI_Offset* const* counts,
                            MPI_Offset* const* strides) {
  return {.kind = Kind::strided, .starts = starts, .counts = counts, .strides = strides};
}
inline Selections each_varm(MPI_Offset* const* starts, MPI_Offset* const* counts,
                            MPI_Offset* const* strides, MPI_Offset* const* imaps) {
  return {
      .kind = Kind::mapped, .starts = starts, .counts = counts, .strides = strides, .imaps = imaps};
}

/// The buffers of a function for several variables. Pointers to elements of `native` are read as
/// pointers to void, which have the same representation on every machine with MPI.
struct Buffers {
  void* const* data = nullptr;
  Type native = Type::none;
  const MPI_Offset* counts = nullptr;
  const MPI_Datatype* types = nullptr;
};

template <typename T>
requires(!std::is_void_v<T>) Buffers memories(T* const* bufs) {
  return {.data = reinterpret_cast<void* const*>(bufs), .native = type_of<T>()};
}
inline Buffers memories(void* const* bufs, const MPI_Offset* counts, const MPI_Datatype* types) {
  return {.data = bufs, .counts = counts, .types = types};
}

/// put and get. Collective ones take part in the operation even if the caller has an error, except
/// for a wrong ID or mode, which is wrong on all ranks.
int transfer(Direction, Coordination, int ncid, int varid, const Selection&,
             const Buffer&) noexcept;

/// mput and mget: all in one operation, or nothing if one of them is wrong.
int transfer_each(Direction, Coordination, int ncid, int num, const int* varids, const Selections&,
                  const Buffers&) noexcept;

/// iput, iget and bput. `request` may be null; it gets NC_REQ_NULL on errors and for empty
/// requests.
int post(Verb, int ncid, int varid, const Selection&, const Buffer&, int* request) noexcept;

int put_attribute(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset len, Type native,
                  const void* value) noexcept;
int get_attribute(int ncid, int varid, const char* name, Type native, void* value) noexcept;

template <typename T>
int put_attribute(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset len,
                  const T* value) noexcept {
  return put_attribute(ncid, varid, name, xtype, len, type_of<T>(), value);
}
template <typename T>
int get_attribute(int ncid, int varid, const char* name, T* value) noexcept {
  return get_attribute(ncid, varid, name, type_of<T>(), value);
}

}  // namespace forebay::pnetcdf
