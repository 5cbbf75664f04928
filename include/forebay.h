/* Forebay's own C functions, beside the interfaces that it shares with other libraries. */
#ifndef FOREBAY_H
#define FOREBAY_H

#if defined(__cplusplus)
extern "C" {
#endif

#if defined(__GNUC__)
#define FOREBAY_EXPORT __attribute__((visibility("default")))
#else
#define FOREBAY_EXPORT
#endif

/* The version of the library, such as "0.1.0". Static. */
FOREBAY_EXPORT extern const char* forebay_version(void);

/* What went wrong, in words with names and numbers, in the last function that failed on this
 * thread; "" if none did. The text stays until the next failure on this thread. */
FOREBAY_EXPORT extern const char* forebay_error_message(void);

#if defined(__cplusplus)
}
#endif
#endif
