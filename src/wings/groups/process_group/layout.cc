// Registers the layout and its settings for hints and configuration.
#include "layout/classic_part.h"
#include "method/method_keys.h"

namespace forebay {
namespace {

constexpr std::string_view versions[] = {"4", "3"};
constexpr std::string_view follows[] = {"enable", "disable"};

constexpr KeySpec keys[] = {
    word_key({"bp_version", "4, 3", "4",
              "What groups are written as: 4, a directory whose index grows by each step; 3, one "
              "file with the index of all steps at its end, as ADIOS 1 has it.",
              "engine"},
             nullptr, versions)
        .honoured_by(bp_files),
    count_key({"open_stagger", "a number, at least 0", "0",
               "Ranks that open the files of a group at a time, when it is opened; 0: each opens "
               "them when it first writes.",
               "engine"},
              nullptr, 0, 1 << 30)
        .honoured_by(bp_files),
    plain_key(
        {"base_path", "none, or a directory", "none",
         "Where the files of a group go: the path that the program gives follows this one; of "
         "an absolute path its last name does (ADIOS's base-path).",
         "engine"},
        KeyKind::text, KeyFamily::own)
        .honoured_by(FrontEnd::groups | FrontEnd::group_records),
    word_key({"follow", "enable, disable", "disable",
              "Mark a BP4 file as being written until it is closed, so that others follow it step "
              "by step: forebay_begin_step, forebay convert --follow, Python's forebay.follow, "
              "adios2.",
              "engine"},
             nullptr, follows)
        .honoured_by(bp_files),
};

}  // namespace

extern const LayoutEntry process_group_layout{{"process-group",
                                               "what each rank writes in a step is appended as one "
                                               "process group, in a BP file, for groups",
                                               40, keys, bp_files}};

}  // namespace forebay
