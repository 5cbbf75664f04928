// How arguments of Fortran become those of C: the generated F77 functions are one call each, whose
// arguments are made of these. Fortran passes addresses, counts from 1, has the fastest dimension
// first, and pads text with blanks, whose lengths follow all other arguments.
//
// None of them throws: where memory is short C gets a null pointer, reports it, and takes part in a
// collective call.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <new>

#include "fortran_names.h"

namespace forebay::pnetcdf::fortran {

static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran's integers are those of C");

/// An array that lives for the call; null if there is no memory for it.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t size) noexcept : data_(new (std::nothrow) T[size + 1]()) {}
  operator T*() const noexcept { return data_.get(); }

 private:
  std::unique_ptr<T[]> data_;
};

/// Returns a variable's number of dimensions. Returns 0 if there is no such variable, which the
/// call itself reports.
inline int dimensions_of(const int* ncid, const int* varid) noexcept {
  int dimensions = 0;
  return ncmpi_inq_varndims(*ncid, *varid - 1, &dimensions) == NC_NOERR ? dimensions : 0;
}

/// `groups` arrays of one number for each dimension, one behind the other, in C's order. `base` is
/// what Fortran counts from.
template <typename T>
class Reversed {
 public:
  Reversed(int dimensions, const T* fortran, T base = 0, int groups = 1) noexcept
      : values_(static_cast<std::size_t>(std::max(dimensions, 0)) * std::max(groups, 0)) {
    T* const values = values_;
    for (std::ptrdiff_t group = 0; values && group < groups; ++group) {
      const std::ptrdiff_t at = group * dimensions;
      for (int d = 0; d < dimensions; ++d) values[at + d] = fortran[at + dimensions - 1 - d] - base;
    }
  }
  operator const T*() const noexcept { return values_; }

 protected:
  Scratch<T> values_;
};

/// The starts or counts of `num` pieces.
class Pieces : Reversed<MPI_Offset> {
 public:
  Pieces(int dimensions, int num, const MPI_Offset* fortran, MPI_Offset base = 0) noexcept
      : Reversed(dimensions, fortran, base, num), pieces_(std::max(num, 0)) {
    MPI_Offset** const pieces = pieces_;
    MPI_Offset* const values = values_;
    for (int i = 0; pieces && values && i < num; ++i) {
      pieces[i] = values + static_cast<std::ptrdiff_t>(i) * dimensions;
    }
  }
  operator MPI_Offset* const*() const noexcept {
    return values_ ? static_cast<MPI_Offset**>(pieces_) : nullptr;
  }

 private:
  Scratch<MPI_Offset*> pieces_;
};

/// An ID that C returns. -1, no record dimension, stays so.
class IndexOut {
 public:
  explicit IndexOut(int* fortran) noexcept : fortran_(fortran) {}
  ~IndexOut() {
    if (index_ != untouched) *fortran_ = index_ < 0 ? index_ : index_ + 1;
  }
  IndexOut(const IndexOut&) = delete;
  IndexOut& operator=(const IndexOut&) = delete;
  operator int*() noexcept { return &index_; }

 private:
  static constexpr int untouched = INT_MIN;
  int* fortran_;
  int index_ = untouched;
};

/// A variable's dimension IDs that C returns.
class IndicesOut {
 public:
  IndicesOut(int dimensions, int* fortran) noexcept
      : dimensions_(dimensions), fortran_(fortran), indices_(dimensions) {
    if (indices_) indices_[0] = untouched;
  }
  ~IndicesOut() {
    if (!indices_ || indices_[0] == untouched) return;
    for (int d = 0; d < dimensions_; ++d) fortran_[d] = indices_[dimensions_ - 1 - d] + 1;
  }
  IndicesOut(const IndicesOut&) = delete;
  IndicesOut& operator=(const IndicesOut&) = delete;
  operator int*() const noexcept { return indices_; }

 private:
  static constexpr int untouched = INT_MIN;
  int dimensions_;
  int* fortran_;
  Scratch<int> indices_;
};

/// Text without the blanks at its end.
class TextIn {
 public:
  TextIn(const char* fortran, std::size_t length) noexcept : text_(length) {
    while (length > 0 && fortran[length - 1] == ' ') --length;
    if (text_) std::memcpy(text_, fortran, length);
  }
  operator const char*() const noexcept { return text_; }

 private:
  Scratch<char> text_;
};

/// Copies text into a variable of Fortran: cut off, or padded with blanks.
inline void copy_out(const char* text, char* fortran, std::size_t length) noexcept {
  const std::size_t copied = std::min(std::strlen(text), length);
  std::copy_n(text, copied, fortran);
  std::memset(fortran + copied, ' ', length - copied);
}

/// Text of at most `longest` bytes that C returns.
class TextOut {
 public:
  TextOut(char* fortran, std::size_t length, std::size_t longest = NC_MAX_NAME) noexcept
      : fortran_(fortran), length_(length), text_(longest) {
    if (text_) text_[0] = untouched;
  }
  ~TextOut() {
    if (text_ && text_[0] != untouched) copy_out(text_, fortran_, length_);
  }
  TextOut(const TextOut&) = delete;
  TextOut& operator=(const TextOut&) = delete;
  operator char*() const noexcept { return text_; }

 private:
  static constexpr char untouched = '\x7f';  // in no name
  char* fortran_;
  std::size_t length_;
  Scratch<char> text_;
};

/// Returns the length of an open file's path, 0 if there is none.
inline std::size_t length_of_path(const int* ncid) noexcept {
  int length = 0;
  return ncmpi_inq_path(*ncid, &length, nullptr) == NC_NOERR ? static_cast<std::size_t>(length) : 0;
}

/// A set of hints that C returns.
class InfoOut {
 public:
  explicit InfoOut(MPI_Fint* fortran) noexcept : fortran_(fortran) {}
  ~InfoOut() { *fortran_ = MPI_Info_c2f(info_); }
  InfoOut(const InfoOut&) = delete;
  InfoOut& operator=(const InfoOut&) = delete;
  operator MPI_Info*() noexcept { return &info_; }

 private:
  MPI_Fint* fortran_;
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace forebay::pnetcdf::fortran
