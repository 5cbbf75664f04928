// Reads decomposed variables in one process, for tools and Python: values, and facts about maps.
#pragma once

#include <memory>

#include "layout/variable_reader.h"

namespace forebay::decomposed {

/// Reads the state beside the file. The schema becomes the one that users see, with the state's
/// number of records. A fault of the state is kept, and thrown when values are read. Reads of
/// several threads do not overlap in time.
std::unique_ptr<VariableReader> open_maps(const ReaderSite& site);

}  // namespace forebay::decomposed
