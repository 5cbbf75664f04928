// The transport `null` is for process groups that reach no file (storage/file.h, drop_all).
#include "base/error.h"
#include "transport/transport.h"

namespace forebay {

namespace {

// The arguments are those of all transports. NOLINTNEXTLINE(performance-unnecessary-value-param)
std::unique_ptr<Transport> make_null(const Comm&, std::shared_ptr<ByteFile>,
                                     const TransportOptions&, Report&) {
  throw Error(Errc::enotsupport, "transport null is for groups that are written as process groups",
              "choose another transport, or layout=null, which drops what a group writes");
}

}  // namespace

extern const TransportEntry null_transport{
    {"null", "groups: all is done but system calls; no file is made", 50, {}, FrontEnd::groups},
    make_null,
    "process groups"};

}  // namespace forebay
