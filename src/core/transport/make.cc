#include "base/error.h"
#include "method/method.h"
#include "transport/transport.h"

namespace forebay {

TransportOptions transport_options(const Method& method) {
  TransportOptions options;
  options.kind = method.transport;
  options.window_size = method.window_size;
  options.striping_unit = method.striping_unit;
  options.buffer_limit = method.buffer_limit;
  options.hole_threshold = method.hole_threshold;
  options.aggregators = method.aggregators;
  options.aggregators_of_node = method.aggregators_of_node;
  options.ranks_per_node = method.ranks_to_share_memory();
  options.method = &method;
  return options;
}

std::unique_ptr<Transport> make_transport(const Comm& comm, std::shared_ptr<ByteFile> file,
                                          const TransportOptions& options, Report& report) {
  const auto* entry = find_part<TransportEntry>(options.kind);
  if (!entry)
    throw Error(Errc::einval, "unknown transport " + options.kind,
                "use one of " + part_names(PartKind::transport, ", "));
  return entry->make(comm, std::move(file), options, report);
}

}  // namespace forebay
