// forebay convert: copies a file into another format or layout.
#include <fmt/format.h>

#include <cstdio>

#include "base/text_table.h"
#include "base/words.h"
#include "comm/session.h"
#include "method/method_values.h"
#include "tools/commands.h"
#include "tools/convert/convert_file.h"
#include "tools/json.h"

namespace forebay::tools {
namespace {

struct Options {
  ConvertOptions how;
  std::vector<std::string> method;
  std::string to, format;
  bool json = false, follow = false;
};

// Parses "layout=chunked;codec=shuffle,zstd:3", given several times.
HintMap parse_keys(const std::vector<std::string>& texts) {
  HintMap keys;
  Method trial;
  for (const std::string& text : texts) {
    for (const std::string_view item : items_of(text, ';')) {
      if (item.empty()) continue;
      const auto pair = key_and_value(item);
      if (!pair)
        throw Error(Errc::einval, fmt::format("--method: \"{}\" is no KEY=VALUE", item),
                    "for example --method \"layout=chunked;codec=shuffle,zstd:3\"");
      const std::string key(pair->first), value(pair->second);
      set_method_key(trial, key, value, "--method", "--method");
      keys[key] = value;
    }
  }
  if (keys.contains("codec") && !keys.contains("layout") && keys["codec"] != "none")
    keys["layout"] = "chunked";
  return keys;
}

std::string result_text(const ConvertResult& result, const Options& options) {
  std::string text =
      fmt::format("{}: {} variables, {} of values in {} on disk, {:.2f} s\n",
                  printable(options.how.out), grouped(result.variables),
                  friendly_size(result.bytes), friendly_size(result.out_size), result.seconds);
  if (options.how.verify)
    text += fmt::format("verified: {} variables are equal\n", grouped(result.verified));
  if (!result.left_out.empty())
    text += fmt::format(
        "left out: {}\n",
        printable(joined(result.left_out, ", ", [](const LeftOut& item) { return item.name; }),
                  200));
  if (!result.lossy.empty())
    text += fmt::format("lossy codec{}: {}\n", options.how.verify ? ", not verified" : "",
                        printable(joined(result.lossy, ", "), 200));
  return text;
}

Json result_json(const ConvertResult& result, const Options& options) {
  Json left_out = Json::array();
  for (const LeftOut& item : result.left_out) left_out.push_back(item.name);
  return {{"in", options.how.in},
          {"out", options.how.out},
          {"to", options.how.to},
          {"variables", result.variables},
          {"value_bytes", result.bytes},
          {"in_size", result.in_size},
          {"out_size", result.out_size},
          {"verified", options.how.verify ? Json(result.verified) : Json()},
          {"by_slabs", result.by_slabs},
          {"lossy", result.lossy},
          {"left_out", std::move(left_out)},
          {"seconds", result.seconds}};
}

void prepare(Options& options) {
  options.how.keys = parse_keys(options.method);
  if (options.follow) {
    if (options.how.verify || options.how.skip || options.how.levels || options.how.level != 0 ||
        !options.to.empty() || !options.format.empty() || !options.how.group.empty())
      throw Error(Errc::einval, "--follow goes with --timeout, -m, -f and --json alone",
                  "leave out the rest, or convert the file when it has been written");
    return;
  }
  options.how.round_bytes = 0;
  const bool from_hdf5 = is_hdf5_file(options.how.in);
  if (options.to.empty() && options.format.empty() && options.how.out.ends_with(".bp"))
    options.to = "bp";
  const bool plain = options.to.empty() || options.to == "netcdf";
  const auto container = options.how.keys.find("container");
  if (plain && container != options.how.keys.end() && container->second == "netcdf4")
    options.to = "netcdf4";
  if (options.to.empty() && from_hdf5) options.to = options.format.empty() ? "hdf5" : "netcdf";
  if (!options.to.empty()) {
    options.how.to = options.to;
    options.how.keep_layout = options.to != "netcdf";
    if (options.to == "netcdf" && !options.how.keys.contains("layout"))
      options.how.keys["layout"] = "canonical";
  }
  if (options.how.levels && options.how.to != "zarr")
    throw Error(Errc::einval, "--levels is for zarr", "add --to zarr, or take one level alone");
  if (options.how.levels && options.how.level != 0)
    throw Error(Errc::einval, "--levels writes all levels", "leave out --resolution-level");
  if (!options.format.empty()) {
    options.how.version = options.format.back() - '0';
    if (options.how.to != "netcdf")
      throw Error(Errc::einval, "--format is for netcdf", "leave out --format or --to");
  }
}

// Returns the message of the rank that met the error. Other ranks' errors are marked as such.
std::string failure(const Comm& comm, const Error& error) {
  std::string mine = error.message();
  if (!error.advice().empty()) mine += "\n         " + error.advice();
  std::vector<std::int64_t> sizes;
  const auto bytes = std::as_bytes(std::span(mine.data(), error.is_of_others() ? 0 : mine.size()));
  const std::vector<std::byte> all = comm.all_gather_bytes(bytes, sizes);
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    if (size > 0)
      return {reinterpret_cast<const char*>(all.data()) + at, static_cast<std::size_t>(size)};
    at += static_cast<std::size_t>(size);
  }
  return mine;
}

int run(Options& options) {
  const Session ranks;
  const bool speaks = ranks.world().is_root();
  try {
    prepare(options);
    options.how.quiet = options.json;
    const ConvertResult result =
        options.follow ? follow(ranks.world(), options.how) : convert(ranks.world(), options.how);
    if (speaks)
      for (const std::string& note : result.notes) fmt::print(stderr, "forebay: note: {}\n", note);
    if (speaks && options.json) {
      print_json(result_json(result, options));
    } else if (speaks) {
      fmt::print("{}", result_text(result, options));
    }
    std::fflush(stdout);
    return exit_done;
  } catch (const Error& error) {
    const std::string text = failure(ranks.world(), error);
    if (speaks) fmt::print(stderr, "forebay: {}\n", text);
    return exit_failed;
  }
}

}  // namespace

static void add_convert_command(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  Command command(app, "convert", "Copy a file into another format, layout or codec");
  command
      .add_option("IN", options->how.in, "a netCDF file of any format, a BP file, or an HDF5 file")
      .required();
  command.add_option("OUT", options->how.out, "the file (zarr, bp: the directory) to write")
      .required();
  command
      .add_option("-m,--method", options->method,
                  "KEY=VALUE;... of the output, such as \"layout=chunked;codec=shuffle,zstd:3\"")
      .type_name("KEYS")
      .expected(1);
  command
      .add_option("--to", options->to,
                  "netcdf (classic), netcdf4, hdf5 (netCDF-4, or a copy), zarr or bp (BP4)")
      .one_of({"netcdf", "netcdf4", "hdf5", "zarr", "bp"});
  command.add_option("--format", options->format, "cdf1, cdf2 or cdf5; as the input if not given")
      .one_of({"cdf1", "cdf2", "cdf5"});
  command.add_option("--group", options->how.group,
                     "of a netCDF-4 file, this group alone; / is the root without its groups");
  command
      .add_option("--resolution-level", options->how.level,
                  "the file as it is at this level of its variables in patches: each one halves "
                  "dimensions")
      .not_negative();
  command.add_flag("--levels", options->how.levels,
                   "zarr: every level, as a group 0, 1, ..., with OME-NGFF's metadata");
  command.add_flag("--skip", options->how.skip,
                   "leave out what the output has no word for: strings, compound types");
  command.add_flag("--verify", options->how.verify,
                   "read the output again and compare checksums of all values");
  const auto follow =
      command.add_flag("--follow", options->follow,
                       "a BP4 directory that is being written, to netCDF: step by step, until the "
                       "program that writes closes it");
  command
      .add_option("--timeout", options->how.timeout,
                  "seconds to wait for IN, and for each step (60)")
      .not_negative()
      .needs(follow);
  command.add_flag("-f,--force", options->how.force, "replace OUT if it exists");
  command.add_flag("--json", options->json, "print one JSON object, and no progress");
  command.footer(
      "Without --to and --method the output has the format of the input, and chunks where the "
      "input has them (variables of other layouts become plain ones), or is a BP4 directory where "
      "OUT ends in .bp. Names, attributes, fill values, records and the unlimited dimension are "
      "kept; chunk shapes and codecs too, where the output has chunks and --method says nothing "
      "else. A codec implies layout=chunked.\n"
      "At a --resolution-level variables in patches are what that level shows, other variables "
      "every 2^K-th element along the same dimensions; patches become chunks without loss.\n"
      "In a BP4 directory records are steps, and dimensions and attributes are attributes, so that "
      "it converts back as it was; text is arrays of characters.\n"
      "netCDF-4 files are those of container=netcdf4: chunks with filters that HDF5 readers have "
      "(codec, of shuffle, deflate, fletcher32, zstd and those that quantise). --to hdf5 writes "
      "them "
      "too, but copies an input that is HDF5 with everything in it, also what is no netCDF; "
      "--method "
      "may give such a copy other chunks (layout, chunk_bytes) and other filters (codec, of "
      "shuffle "
      "and deflate).\n"
      "No other output has groups, strings or compound types: an input that has any is refused "
      "unless --group or --skip says what to do.\n"
      "The output is written beside OUT, or beside what a link there leads to, brought to the "
      "device, and renamed: OUT is whole or not there. Under mpiexec the ranks share the work; "
      "when HDF5 is copied, that of datasets of at least 64 KiB whose elements are plain bytes.\n"
      "An attribute by a name that HDF5 or netCDF-4 has a use of its own for (CLASS, NAME, "
      "DIMENSION_LIST, ...) is called _nc4_att_CLASS there; from there it comes back as CLASS. In "
      "Zarr one called _ARRAY_DIMENSIONS is _nc4_att__ARRAY_DIMENSIONS.\n"
      "With --follow OUT is a netCDF file as groups write it, and grows: each step that was copied "
      "is in it. Its writer needs follow=enable. Without a step for --timeout seconds, as after a "
      "kill, OUT keeps the steps so far, and the exit code is 1. Only -m, -f and --json go with "
      "it.\n"
      "A file that HDF5 wrote through the Forebay connector in the log layout becomes an ordinary "
      "one.");
  command.callback([options, &status] { status = run(*options); });
}

extern const CommandEntry convert_command{4, add_convert_command};

}  // namespace forebay::tools
