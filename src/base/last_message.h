// What went wrong in the last function of a C interface that failed, on this thread.
#pragma once

#include <string>

namespace forebay {

/// The text that forebay_error_message() gives; "" if nothing failed on this thread.
const std::string& last_message() noexcept;

/// In a handler: the code of the exception in flight, whose text is kept.
int code_of_current_exception() noexcept;

}  // namespace forebay
