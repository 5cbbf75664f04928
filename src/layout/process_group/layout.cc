// What hints and configuration know of it.
#include "layout/classic_part.h"
#include "method/method_keys.h"

namespace forebay {
namespace {

constexpr std::string_view versions[] = {"4", "3"};

constexpr KeySpec keys[] = {
    word_key({"bp_version", "4, 3", "4",
              "What groups are written as: 4, a directory whose index grows by each step; 3, one "
              "file with the index of all steps at its end, as ADIOS 1 has it.",
              "engine"},
             nullptr, versions),
    count_key({"open_stagger", "a number, at least 0", "0",
               "Ranks that open the files of a group at a time, when it is opened; 0: each opens "
               "them when it first writes.",
               "engine"},
              nullptr, 0, 1 << 30),
};

}  // namespace

extern const LayoutEntry process_group_layout{{"process-group",
                                               "what each rank writes in a step is appended as one "
                                               "process group, in a BP file, for groups",
                                               40, keys},
                                              {},
                                              "BP",
                                              "see docs/groups.md for programs that write groups"};

}  // namespace forebay
