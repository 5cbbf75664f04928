// Functions of F77 that return text: a function whose result is character*80 gets the result's
// address and length first. Those with an x are subroutines' form of them, which PnetCDF has, too.
#include "api/pnetcdf/fortran/arguments.h"

#define FORTRAN(lower, upper) FOREBAY_FORTRAN_GLOBAL_(lower, upper)

using forebay::pnetcdf::fortran::copy_out;

namespace {

/// Writes the name of a code as Fortran has it: NF_EBADID for NC_EBADID.
void copy_code_name(int error, char* text, std::size_t length) {
  const char* const name = ncmpi_strerrno(error);
  copy_out(name, text, length);
  if (std::strncmp(name, "NC_", 3) == 0 && length > 1) text[1] = 'F';
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void FORTRAN(nfmpi_strerror, NFMPI_STRERROR)(char* text, std::size_t length, const int* error) {
  copy_out(ncmpi_strerror(*error), text, length);
}

void FORTRAN(nfmpi_strerrno, NFMPI_STRERRNO)(char* text, std::size_t length, const int* error) {
  copy_code_name(*error, text, length);
}

void FORTRAN(nfmpi_inq_libvers, NFMPI_INQ_LIBVERS)(char* text, std::size_t length) {
  copy_out(ncmpi_inq_libvers(), text, length);
}

int FORTRAN(nfmpi_xstrerror, NFMPI_XSTRERROR)(const int* error, char* text, std::size_t length) {
  copy_out(ncmpi_strerror(*error), text, length);
  return NC_NOERR;
}

int FORTRAN(nfmpi_xstrerrno, NFMPI_XSTRERRNO)(const int* error, char* text, std::size_t length) {
  copy_code_name(*error, text, length);
  return NC_NOERR;
}

int FORTRAN(nfmpi_xinq_libvers, NFMPI_XINQ_LIBVERS)(char* text, std::size_t length) {
  copy_out(ncmpi_inq_libvers(), text, length);
  return NC_NOERR;
}

int FORTRAN(nfmpi_issyserr, NFMPI_ISSYSERR)(const int* error) { return *error > 0; }

}  // extern "C"
#pragma GCC visibility pop
