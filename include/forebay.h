/* Forebay's own C functions, which no other library shares. */
#ifndef FOREBAY_H
#define FOREBAY_H

#include <forebay_codes.h>

/* The version of these headers. Later versions have greater numbers: 1002003 is 1.2.3. */
#define FOREBAY_VERSION_MAJOR 0
#define FOREBAY_VERSION_MINOR 1
#define FOREBAY_VERSION_PATCH 0
#define FOREBAY_VERSION_NUMBER \
  (1000000 * FOREBAY_VERSION_MAJOR + 1000 * FOREBAY_VERSION_MINOR + FOREBAY_VERSION_PATCH)

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__GNUC__)
#define FOREBAY_EXPORT __attribute__((visibility("default")))
#else
#define FOREBAY_EXPORT
#endif

/* The version of the library, such as "0.1.0". The string is static. */
FOREBAY_EXPORT extern const char* forebay_version(void);
/* The same as a number, as FOREBAY_VERSION_NUMBER has it: a program that was built with other
 * headers than the library compares both. */
FOREBAY_EXPORT extern int forebay_version_number(void);

/* Describes the last failure of a function on this thread, with names and numbers; "" if none
 * failed. The text stays valid until the next failure on this thread. */
FOREBAY_EXPORT extern const char* forebay_error_message(void);

#if defined(__cplusplus)
}
#endif
#endif
