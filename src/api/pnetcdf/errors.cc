// Exceptions to codes, codes to names and sentences.
#include <forebay.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "api/pnetcdf/interface.h"
#include "base/last_message.h"

namespace forebay::pnetcdf {

namespace {

struct Entry {
  int code;
  const char* name;
  const char* text;
};

constexpr Entry entries[] = {
#include "errors.inc"
};

const Entry* find(int code) {
  const auto it = std::find_if(std::begin(entries), std::end(entries),
                               [code](const Entry& e) { return e.code == code; });
  return it == std::end(entries) ? nullptr : it;
}

/// Text that lives until this thread calls the same function again: C callers get a pointer.
struct Kept {
  std::string text;

  const char* operator()(std::string now) {
    text = std::move(now);
    return text.c_str();
  }
};

}  // namespace

}  // namespace forebay::pnetcdf

using namespace forebay::pnetcdf;

const char* ncmpi_strerror(int err) {
  if (err == NC_NOERR) return "No error";
  if (err > 0) return std::strerror(err);
  if (const Entry* e = find(err)) return e->text;
  thread_local Kept keep;
  const std::string number = std::to_string(err);
  const std::string blanks(number.size() < 5 ? 5 - number.size() : 0, ' ');
  return keep("Unknown Error: Unrecognized error code " + blanks + number + "\n");
}

const char* ncmpi_strerrno(int err) {
  thread_local Kept keep;
  if (err == NC_NOERR) return "NC_NOERR";
  if (err > 0) {
    return keep("System error code " + std::to_string(err) + " (" + std::strerror(err) + ")");
  }
  if (const Entry* e = find(err)) return e->name;
  return keep("Unknown code " + std::to_string(err));
}

const char* ncmpi_inq_libvers(void) {
  return PNETCDF_VERSION " (interface of PnetCDF, by Forebay " FOREBAY_VERSION ")";
}

const char* forebay_version(void) { return FOREBAY_VERSION; }

const char* forebay_error_message(void) { return forebay::last_message().c_str(); }
