// What PnetCDF's interface has in a build on MPI.
#include <forebay.h>

#include "base/last_message.h"

const char* forebay_version(void) { return FOREBAY_VERSION; }

const char* forebay_error_message(void) { return forebay::last_message().c_str(); }
