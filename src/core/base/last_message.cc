#include "base/last_message.h"

#include "base/error.h"
#include "base/of_this_thread.h"

namespace forebay {
namespace {

std::string& kept() { return of_this_thread<std::string, struct LastMessage>(); }

}  // namespace

const std::string& last_message() noexcept { return kept(); }

int code_of_current_exception() noexcept {
  const Error error = current_error();
  try {
    kept() = error.what();
  } catch (...) {
    // The code says enough if there is no memory for the message.
  }
  return to_int(error.code());
}

}  // namespace forebay
