// Which patch goes to which of several files, so that files are about equally large (H §IV-C).
//
// The problem: encoded patches have very different sizes. Files are written at the same time, one
// by each aggregator, and the largest is waited for. Patches that follow each other in Morton order
// (plan/morton.h) are to stay together, since they are read together. So the order is cut into F
// runs, none of which has much more bytes than the mean.
//
// H gathers all sizes on every rank, and closes a file when what it has exceeds the running average
// of what is left. Here a patch goes to the file in whose equal share its middle lies:
//
//     file(p) = ⌊(before(p) + size(p)/2) · F / total⌋,
//
// where before(p) is the sum of the sizes of all patches before p. What holds for every input:
// files are runs of the order, and none has more than the mean + the largest patch, of its first
// and its last patch half at most being too much. Without any bytes all go to the first file.
//
// Patches of several variables at one position of the domain stay together: their sizes are summed,
// and "patch" here means a position.
#pragma once

#include "base/types.h"

namespace forebay {

/// The file of a patch of `bytes` that `before` lie before, of `total` in all. Pure; none is
/// negative, before + bytes <= total, files >= 1.
Count file_of(Count before, Count bytes, Count total, Count files);

}  // namespace forebay
