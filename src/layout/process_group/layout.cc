// What hints and configuration know of it.
#include "layout/classic_part.h"

namespace forebay {

extern const LayoutEntry process_group_layout{{"process-group",
                                               "what each rank writes in a step is appended as one "
                                               "process group, in a BP4 directory, for groups",
                                               40,
                                               {}},
                                              {},
                                              "BP",
                                              "see docs/groups.md for programs that write groups"};

}  // namespace forebay
