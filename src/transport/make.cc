#include "base/error.h"
#include "transport/transport.h"

namespace forebay {

std::unique_ptr<Transport> make_transport(const Comm& comm, std::shared_ptr<File> file,
                                          const TransportOptions& options, Report& report) {
  const auto* entry = find_part<TransportEntry>(options.kind);
  if (!entry)
    throw Error(Errc::einval, "unknown transport " + options.kind,
                "use one of " + part_names(PartKind::transport, ", "));
  return entry->make(comm, std::move(file), options, report);
}

}  // namespace forebay
