// The method of checkpoints (docs/checkpoints.md).
#pragma once

#include <string>

#include "method/method.h"

namespace forebay {

/// As choose_method() of the file `name`, with those elements <checkpoint> of the XML that match,
/// each in its place among the others.
Method choose_checkpoint_method(const std::string& name, const MethodSources& sources);

}  // namespace forebay
