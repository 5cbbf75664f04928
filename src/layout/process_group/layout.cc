// What hints and configuration know of it.
#include "layout/classic_part.h"
#include "method/method_keys.h"

namespace forebay {
namespace {

constexpr KeySpec keys[] = {
    count_key({"open_stagger", "a number, at least 0", "0",
               "Ranks that open the files of a group at a time, when it is opened; 0: each opens "
               "them when it first writes.",
               "engine"},
              nullptr, 0, 1 << 30),
};

}  // namespace

extern const LayoutEntry process_group_layout{{"process-group",
                                               "what each rank writes in a step is appended as one "
                                               "process group, in a BP4 directory, for groups",
                                               40, keys},
                                              {},
                                              "BP",
                                              "see docs/groups.md for programs that write groups"};

}  // namespace forebay
