// What hints and configuration know of the layout that lays out nothing.
#include "layout/classic_part.h"

namespace forebay {

extern const LayoutEntry null_layout{{"null",
                                      "what a group writes is dropped: what the program takes "
                                      "without I/O",
                                      50,
                                      {}},
                                     {},
                                     "group",
                                     "see docs/groups.md for programs that write groups"};

}  // namespace forebay
