// Which container a file that exists is of: it says so by itself, whatever hints say.
#pragma once

#include <string>

#include "container/container.h"

namespace forebay {

/// Local. The first container, in order, that recognises what is at `path`. Null where none does,
/// where there is nothing, and where the system does not let it be looked at: who opens it then is
/// told why.
const ContainerEntry* recognise(const std::string& path);

}  // namespace forebay
