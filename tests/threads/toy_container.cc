// A container in one file, which no other file of the library knows: the classic one under another
// name. With it there are two, and methods have a key that chooses.
#include "container/container.h"

namespace forebay {

extern const ContainerEntry toy_container{
    {"toy", "the classic container under another name", 900},
    [](const ContainerSite& site) { return find_part<ContainerEntry>("classic")->make(site); }};

namespace {
const AddedPart added(toy_container);
}

}  // namespace forebay
