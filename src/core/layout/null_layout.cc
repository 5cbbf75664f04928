// What hints and the configuration need to know of the layout that drops all data.
#include "layout/classic_part.h"

namespace forebay {

extern const LayoutEntry null_layout{{"null",
                                      "what a group writes is dropped: what the program takes "
                                      "without I/O",
                                      50,
                                      {},
                                      FrontEnd::groups}};

}  // namespace forebay
