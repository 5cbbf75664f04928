#include "base/last_message.h"

#include "base/error.h"

namespace forebay {
namespace {

std::string& kept() {
  thread_local std::string message;
  return message;
}

}  // namespace

const std::string& last_message() noexcept { return kept(); }

int code_of_current_exception() noexcept {
  const Error error = current_error();
  try {
    kept() = error.what();
  } catch (...) {
    // The code says enough where there is no memory for the message.
  }
  return to_int(error.code());
}

}  // namespace forebay
