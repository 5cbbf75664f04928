// A small harness for tests that run on several MPI ranks.
//
// A test case is a function that every rank runs. Checks collect failures instead of stopping, so
// that a rank with a failure keeps taking part in the collective calls of the others. After each
// case the failures of all ranks are brought to rank 0 and printed there once; the program's exit
// code is the same on every rank. A case that makes no progress for `--case-timeout` seconds is
// named and aborted, so that a hang is a failure with a name.
#pragma once

#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace forebay_test {

// What a test case gets: who it is, and where its files go.
class Context {
 public:
  Context(MPI_Comm comm, std::string directory, std::string case_name);

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& directory() const { return directory_; }

  // Path of a scratch file for this case; the same on every rank, distinct between cases, between
  // programs and between rank counts.
  std::string path(std::string_view suffix = "nc") const;

  // Records a failure of this rank.
  void fail(const char* file, int line, const std::string& message);

  const std::vector<std::string>& failures() const { return failures_; }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::string directory_;
  std::string case_name_;
  std::vector<std::string> failures_;
};

using CaseFunction = void (*)(Context&);

struct Case {
  const char* name;
  CaseFunction function;
};

// All cases of the program, in the order of their definition.
std::vector<Case>& cases();

// Brings the messages of all ranks to rank 0, which prints them under `name`. Collective. Returns
// the number of failures of all ranks, the same on every rank.
int report(Context& t, const char* name);

// Names the running program in scratch files and messages, from argv[0].
void set_program_name(const char* path);
const std::string& program_name();

// Ends the program with exit code 124 and a line that names the case unless stop_watch() is called
// within `seconds`.
void start_watch(const char* name, int rank, int seconds);
void stop_watch();

// Where scratch files go unless --dir says otherwise: $FOREBAY_TEST_DIR, or the working directory.
std::string default_directory();

// Registers a case with the program; used by TEST_CASE only.
struct Registration {
  Registration(const char* name, CaseFunction function);
};

// Name of a PnetCDF error code with its number, for messages.
std::string error_name(int code);

// True when the library under test is Forebay, false for a peer. Expectations that only Forebay
// promises (or that a peer is known to break) ask this.
bool is_forebay();

// Printable form of anything that streams; bytes are shown as numbers.
template <typename T>
std::string show(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (sizeof(T) == 1 && std::is_integral_v<T>) {
    out << static_cast<int>(value);
  } else {
    out << value;
  }
  return out.str();
}

// Same bytes everywhere? Collective over the context's communicator.
bool same_on_all_ranks(Context& t, int64_t value);

}  // namespace forebay_test

#define TEST_CASE(name)                                                          \
  static void name(::forebay_test::Context& t);                                  \
  static const ::forebay_test::Registration registration_of_##name{#name, name}; \
  static void name([[maybe_unused]] ::forebay_test::Context& t)

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) t.fail(__FILE__, __LINE__, "false: " #condition); \
  } while (false)

// Expected value first.
#define CHECK_EQ(expected, actual)                                                                \
  do {                                                                                            \
    const auto expected_value = (expected);                                                       \
    const auto actual_value = (actual);                                                           \
    if (!(expected_value == actual_value)) {                                                      \
      t.fail(__FILE__, __LINE__,                                                                  \
             std::string(#actual) + " is " + ::forebay_test::show(actual_value) + ", expected " + \
                 ::forebay_test::show(expected_value));                                           \
    }                                                                                             \
  } while (false)

// The call returns this error code.
#define CHECK_ERR(code, call)                                                              \
  do {                                                                                     \
    const int expected_code = (code);                                                      \
    const int actual_code = (call);                                                        \
    if (expected_code != actual_code) {                                                    \
      t.fail(__FILE__, __LINE__,                                                           \
             std::string(#call) + " returned " + ::forebay_test::error_name(actual_code) + \
                 ", expected " + ::forebay_test::error_name(expected_code));               \
    }                                                                                      \
  } while (false)

#define CHECK_OK(call) CHECK_ERR(NC_NOERR, call)
