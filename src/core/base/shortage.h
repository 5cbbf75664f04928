// Tells errors of the process, which lacked memory or descriptors, from those of a file.
#pragma once

#include "base/error.h"

namespace forebay {

/// Returns whether the process lacked memory or descriptors. Such an error says nothing about the
/// file that it names: that file is not damaged.
inline bool is_shortage(const Error& error) noexcept {
  return error.code() == Errc::enomem || error.code() == Errc::enfile;
}

}  // namespace forebay
