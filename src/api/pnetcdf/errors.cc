// Turns exceptions into codes, and codes into names and sentences.
#include <forebay.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "api/pnetcdf/interface.h"
#include "base/last_message.h"
#include "base/of_this_thread.h"

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

/// Holds text until this thread calls the same function again: C callers get a pointer.
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
  auto& keep = forebay::of_this_thread<Kept, struct UnknownError>();
  const std::string number = std::to_string(err);
  const std::string blanks(number.size() < 5 ? 5 - number.size() : 0, ' ');
  return keep("Unknown Error: Unrecognized error code " + blanks + number + "\n");
}

const char* ncmpi_strerrno(int err) {
  auto& keep = forebay::of_this_thread<Kept, struct NameOfError>();
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

int forebay_version_number(void) { return FOREBAY_VERSION_NUMBER; }

const char* forebay_error_message(void) { return forebay::last_message().c_str(); }
