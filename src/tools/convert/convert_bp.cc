// BP4 directories as output of a conversion, on any number of ranks: each record is a step.
#include <algorithm>

#include "base/attempt.h"
#include "comm/agree.h"
#include "files/bp_writer.h"
#include "tools/convert/convert.h"

namespace forebay::tools {
namespace {

Method method_of(const Comm& comm, const ConvertOptions& options) {
  Method method;
  for (const auto& [key, value] : options.keys)
    set_method_key(method, key, value, "--method", "--method");
  method.report = share_method_sources(comm).report;
  return method;
}

class BpOutput final : public Output {
 public:
  BpOutput(const Comm& comm, const Source& source, const std::string& path,
           const ConvertOptions& options)
      : comm_(comm), source_(source), writer_(comm, path, source, method_of(comm, options)) {}

  const Variable& variable(VarId var) const override {
    return source_.schema().vars[static_cast<std::size_t>(var)];
  }
  bool exact(VarId) const override { return true; }
  Count steps() const override {
    const auto& vars = source_.schema().vars;
    const bool any = std::any_of(vars.begin(), vars.end(), [](auto& var) { return var.is_record; });
    return any ? std::max<Count>(source_.schema().numrecs, 1) : 1;
  }

  void write(std::span<Piece> pieces, const std::optional<Error>& failed_before,
             bool last) override {
    auto failed = failed_before;
    for (const Piece& piece : pieces)
      attempt_into(failed, [&] { writer_.add(piece.var, piece.box(), piece.data); });
    if (last)
      agree_on_error(comm_, failed);  // end_step() writes them
    else
      writer_.flush(failed);
  }
  void end_step() override { writer_.end_step(); }
  void close() override { writer_.close(); }

 private:
  Comm comm_;
  const Source& source_;
  BpWriter writer_;
};

}  // namespace

std::unique_ptr<Output> create_bp(const Comm& comm, const Source& source, const std::string& path,
                                  const ConvertOptions& options) {
  return std::make_unique<BpOutput>(comm, source, path, options);
}

}  // namespace forebay::tools
