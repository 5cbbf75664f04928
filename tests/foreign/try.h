/* What programs of these tests do about errors: they say so and count them.
 *
 * ERROR_TEXT(code): the text of an error of the library that the program calls, defined before this
 * is included.
 */
#pragma once

#include <stdio.h>

static int failures;

#define TRY(call)                                            \
  do {                                                       \
    int code_ = (call);                                      \
    if (code_ != 0) {                                        \
      fprintf(stderr, "%s: %s\n", #call, ERROR_TEXT(code_)); \
      ++failures;                                            \
    }                                                        \
  } while (0)
