// Finds the container of an existing file. The file itself decides, whatever hints say.
#pragma once

#include <string>

#include "container/container.h"

namespace forebay {

/// Local. Returns the first container, in order, that recognises what is at `path`. Returns null if
/// none does, if nothing is there, or if the system refuses access; opening then gives the error.
const ContainerEntry* recognise(const std::string& path);

}  // namespace forebay
