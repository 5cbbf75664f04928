// forebay refs: makes references with which zarr and xarray read a file without Forebay.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/text_table.h"
#include "dataset/probe.h"
#include "files/open_source.h"
#include "files/references.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

namespace fs = std::filesystem;
struct RefsOptions {
  std::string path, output, url, inline_limit;
  bool relative = false, skip = false, json = false;
};

// Writes a file that is either complete or not there.
void save(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) throw system_error(errno, Errc::ecantcreate, "create", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  int failure = written ? 0 : errno;
  if (std::fclose(file) != 0 && failure == 0) failure = errno;
  if (failure == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) failure = errno;
  if (failure == 0) return;
  ::unlink(temporary.c_str());
  throw system_error(failure, Errc::ecantwrite, "write", path);
}

std::string url_of(const RefsOptions& options) {
  if (!options.url.empty()) return options.url;
  std::error_code failed;
  const fs::path file = fs::absolute(options.path, failed).lexically_normal();
  if (!options.relative || failed) return file.string();
  const fs::path base = options.output.empty() ? fs::current_path(failed)
                                               : fs::absolute(options.output, failed).parent_path();
  return file.lexically_relative(base.lexically_normal()).string();
}

void run_refs(const RefsOptions& options) {
  ReferenceOptions how;
  how.url = url_of(options);
  how.skip = options.skip;
  if (!options.inline_limit.empty()) how.inline_limit = *parse_size(options.inline_limit);
  if (const FormatEntry* const format = format_of(options.path); format && format->goes_first)
    throw Error(
        Errc::enotsupport,
        options.path + ": references are into the file, and writes of it are staged in logs",
        "bring them in with forebay recover, or choose recover=ignore");
  const ClassicFile file(options.path);
  const References made = make_references(file, how);
  for (const std::string& what : made.left_out)
    fmt::print(stderr, "left out: {}\n", printable(what));
  if (options.output.empty()) {
    fmt::print("{}\n", made.json);
    return;
  }
  save(end_of_links(options.output), made.json);
  if (options.json) {
    const Json told = {{"path", options.path},
                       {"output", options.output},
                       {"url", how.url},
                       {"variables", made.variables},
                       {"references", made.references},
                       {"inlined", made.inlined},
                       {"inlined_bytes", made.inlined_bytes},
                       {"left_out", made.left_out}};
    print_json(told);
    return;
  }
  fmt::print("{}: {} variables, {} references", printable(options.output), grouped(made.variables),
             grouped(made.references));
  if (made.inlined > 0)
    fmt::print(", {} chunks put in ({})", grouped(made.inlined), friendly_size(made.inlined_bytes));
  fmt::print("\n");
}

}  // namespace

static void add_refs_command(CLI::App& app, int& status) {
  auto options = std::make_shared<RefsOptions>();
  Command command(app, "refs", "Write kerchunk references, with which zarr and xarray read a file");
  command.add_option("FILE", options->path, "a CDF-1, CDF-2 or CDF-5 file").required();
  const Option output = command.add_option("-o,--output", options->output,
                                           "the file of references (default: standard output)");
  const Option relative = command.add_flag("--relative", options->relative,
                                           "name FILE as seen from the folder of the references");
  command.add_option("--url", options->url, "name FILE by this URL").excludes(relative);
  command.add_flag("--skip", options->skip,
                   "leave out variables that cannot be referenced, and name them");
  command
      .add_option("--inline-limit", options->inline_limit,
                  "most bytes of chunks put into the references (64MiB)")
      .type_name("SIZE")
      .check([](const std::string& text) {
        return parse_size(text) ? std::string() : "\"" + text + "\" is no size, such as 64MiB";
      });
  command.add_flag("--json", options->json, "print one JSON object about what was written")
      .needs(output);
  command.footer(
      "Zarr decodes shuffle, deflate, zstd and float32; variables with other codecs (zfp, sz3, "
      "bitshuffle) cannot be referenced. Chunks that a dimension cuts off, and chunks that were "
      "stored without encoding, are put into the references in base64, as Zarr wants whole and "
      "equally encoded ones, and so are slabs with checksums that lie in pieces, and what was "
      "never "
      "written of variables without a _FillValue. A decomposed "
      "variable is an array for each of its data files, NAME.0, "
      "NAME.1 and so on, over a dimension whose variable tells where in a record each element "
      "belongs (docs/decomposed.md). The file must not change afterwards. Relative names are "
      "looked up "
      "from the reader's working directory by fsspec.");
  command.callback([options, &status] {
    run_refs(*options);
    status = exit_done;
  });
}

extern const CommandEntry refs_command{9, add_refs_command};

}  // namespace forebay::tools
