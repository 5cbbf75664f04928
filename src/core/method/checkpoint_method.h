// The method of checkpoints (docs/checkpoints.md).
#pragma once

#include <string>

#include "method/method.h"

namespace forebay {

/// Like choose_method() for the file `name`, but also with the matching <checkpoint> elements of
/// the XML, each at its place among the others. `own` is the same.
Method choose_checkpoint_method(const std::string& name, const MethodSources& sources,
                                const OwnHints& own = {});

}  // namespace forebay
