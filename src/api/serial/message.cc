// Functions that PnetCDF's interface defines in a build with MPI.
#include <forebay.h>

#include "base/last_message.h"

const char* forebay_version(void) { return FOREBAY_VERSION; }

int forebay_version_number(void) { return FOREBAY_VERSION_NUMBER; }

const char* forebay_error_message(void) { return forebay::last_message().c_str(); }
