#include "method/method.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "base/error.h"
#include "method/config.h"
#include "method/glob.h"
#include "method/method_keys.h"
#include "method/method_values.h"
#include "method/part.h"

namespace forebay {
namespace method_test {

using ::testing::Test;

// The error of an action as "code: message (advice)"; "none" without an error.
std::string thrown(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::to_string(to_int(error.code())) + ": " + error.what();
  }
  return "none";
}

Method with_forebay_hints(const std::string& hints) {
  MethodSources sources;
  sources.forebay_hints = hints;
  return choose_method("out.nc", {}, sources);
}

std::string refusal(const std::string& hints) {
  return thrown([&] { with_forebay_hints(hints); });
}

TEST(Sizes, units_of_1024_and_1000_are_read) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("65536"), 65536);
  EXPECT_EQ(parse_size("64k"), 65536);
  EXPECT_EQ(parse_size(" 64 KiB "), 65536);
  EXPECT_EQ(parse_size("4MiB"), 4 << 20);
  EXPECT_EQ(parse_size("4M"), 4 << 20);
  EXPECT_EQ(parse_size("10MB"), 10000000);
  EXPECT_EQ(parse_size("1.5GiB"), 1610612736);
  EXPECT_EQ(parse_size("2TiB"), Count{2} << 40);
  EXPECT_EQ(parse_size("17B"), 17);
}

TEST(Sizes, nonsense_is_no_size) {
  for (const char* text : {"", "k", "-1", "4x", "4 MiBs", "1.5", "1..5k", "0x40", "four",
                           "9223372036854775808", "9007199254740992G", "1e3"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(Sizes, exact_form_reads_back) {
  for (const Count bytes : {Count{0}, Count{1}, Count{1023}, Count{1024}, Count{1536},
                            Count{4} << 20, Count{3} << 40, Count{5} << 50}) {
    EXPECT_EQ(parse_size(exact_size(bytes)), bytes) << exact_size(bytes);
  }
  EXPECT_EQ(exact_size(4 << 20), "4MiB");
}

TEST(Sizes, friendly_form_has_few_digits) {
  EXPECT_EQ(friendly_size(0), "0 B");
  EXPECT_EQ(friendly_size(1023), "1023 B");
  EXPECT_EQ(friendly_size(1024), "1 KiB");
  EXPECT_EQ(friendly_size(1536), "1.50 KiB");
  EXPECT_EQ(friendly_size(33554432), "32 MiB");
  EXPECT_EQ(friendly_size(1048575), "1.00 MiB");
  EXPECT_EQ(friendly_size(Count{5} << 60), "5120 PiB");
}

TEST(Sizes, leading_number_is_read_as_pnetcdf_reads_it) {
  EXPECT_EQ(leading_number(" +64abc"), 64);
  EXPECT_EQ(leading_number("4k"), 4);
  EXPECT_EQ(leading_number("abc"), 0);
  EXPECT_EQ(leading_number("-3"), -3);
  EXPECT_EQ(leading_number("99999999999999999999"), 0);
}

TEST(Glob, stars_questions_and_sets) {
  EXPECT_TRUE(glob_match("restart*.nc", "restart0001.nc"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(glob_match("T?", "T1"));
  EXPECT_TRUE(glob_match("[A-C]x[!0-9]", "Bxa"));
  EXPECT_TRUE(glob_match("[]a]", "]"));
  EXPECT_TRUE(glob_match("[*]", "*"));
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_FALSE(glob_match("[*]", "x"));
  EXPECT_FALSE(glob_match("restart*.nc", "restart0001.nc4"));
  EXPECT_FALSE(glob_match("T?", "T"));
  EXPECT_FALSE(glob_match("[A-C]x[!0-9]", "Bx7"));
  EXPECT_FALSE(glob_match("", "a"));
}

TEST(Glob, many_stars_do_not_explode) {
  const std::string name(2000, 'a');
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

TEST(Glob, patterns_without_slash_are_for_the_base_name) {
  EXPECT_TRUE(glob_match_path("restart*.nc", "/scratch/run/restart1.nc"));
  EXPECT_TRUE(glob_match_path("restart*.nc", "restart1.nc"));
  EXPECT_FALSE(glob_match_path("run*", "/scratch/run/restart1.nc"));
}

TEST(Glob, patterns_with_slash_are_for_as_many_components) {
  EXPECT_TRUE(glob_match_path("run?/*.nc", "/scratch/run1/a.nc"));
  EXPECT_TRUE(glob_match_path("run?/*.nc", "run1/a.nc"));
  EXPECT_TRUE(glob_match_path("/scratch/*/a.nc", "/scratch/run1/a.nc"));
  EXPECT_FALSE(glob_match_path("run?/*.nc", "a.nc"));
  EXPECT_FALSE(glob_match_path("run?/*.nc", "/scratch/run1/deep/a.nc"));
  EXPECT_FALSE(glob_match_path("/scratch/*.nc", "/scratch/run1/a.nc"));
  EXPECT_FALSE(glob_match_path("/a.nc", "/scratch/a.nc"));
}

TEST(Glob, faults_are_told_in_words) {
  EXPECT_EQ(glob_fault("a*[0-9]"), std::nullopt);
  EXPECT_EQ(glob_fault(""), "the pattern is empty");
  EXPECT_EQ(glob_fault("a[bc"), "'[' is never closed by ']'");
  EXPECT_EQ(glob_fault("a[]"), "'[' is never closed by ']'");
  EXPECT_EQ(glob_fault("[z-a]"), "the range 'z-a' is empty");
  EXPECT_EQ(glob_fault("a[b/c]"), "'/' cannot stand between '[' and ']'");
}

TEST(Method, defaults_are_what_the_table_says) {
  const Method method;
  for (const MethodKey& key : method_keys()) {
    const std::string value = method_value(method, key.name);
    if (const auto bytes = parse_size(key.standard)) {
      EXPECT_EQ(parse_size(value), bytes) << key.name;
    } else {
      EXPECT_EQ(value, key.standard) << key.name;
    }
  }
}

TEST(Method, keys_are_unique_and_documented) {
  std::set<std::string> names;
  for (const MethodKey& key : method_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_GT(std::string(key.help).size(), 10u) << key.name;
  }
}

// The words of such a key stand in one file, and its enumeration in another.
TEST(Method, words_mean_what_their_enumerations_say) {
  const Method method = with_forebay_hints(
      "exchange=shared;chunk_read=everyone;chunk_state=synced;client_caches=coherent;"
      "subfiling=ranks;split=step");
  EXPECT_EQ(method.exchange, Exchange::shared);
  EXPECT_EQ(method.chunk_read, ChunkRead::everyone);
  EXPECT_EQ(method.chunk_state, ChunkState::synced);
  EXPECT_EQ(method.client_caches, CachesGiven::coherent);
  EXPECT_EQ(method.subfiling, Subfiling::ranks);
  EXPECT_EQ(method.split, Split::step);
  const Method other = with_forebay_hints("chunk_read=owners;subfiling=node");
  EXPECT_EQ(other.chunk_read, ChunkRead::owners);
  EXPECT_EQ(other.subfiling, Subfiling::node);
  for (const KeySpec& key : key_specs()) {
    if (!key.place.get) continue;
    EXPECT_EQ(method_value(Method(), key.shown.name), key.shown.standard);
  }
}

TEST(Method, forebay_hints_set_every_kind_of_key) {
  const Method method = with_forebay_hints(
      " transport = aggregated ;aggregators=2;; window_size=8MiB;ranks_per_node=3;"
      "nc_var_align_size=4k;striping_unit=1MiB;exchange=message;romio_cb_write=enable;"
      "cb_nodes=5;client_caches=weak;");
  EXPECT_EQ(method.transport, "aggregated");
  EXPECT_EQ(method.client_caches, CachesGiven::weak);
  EXPECT_EQ(method.aggregators, 2);
  EXPECT_EQ(method.window_size, 8 << 20);
  EXPECT_EQ(method.ranks_per_node, 3);
  EXPECT_EQ(method.var_align, 4096);
  EXPECT_EQ(method.striping_unit, 1 << 20);
  EXPECT_EQ(method.exchange, Exchange::message);
  EXPECT_EQ(method.passed_on.at("romio_cb_write"), "enable");
  EXPECT_EQ(method.passed_on.at("striping_unit"), "1048576");
  EXPECT_EQ(method.origin.at("transport"), "FOREBAY_HINTS");
  EXPECT_FALSE(method.origin.contains("hole_threshold"));
}

TEST(Method, later_aggregators_replace_earlier_ones) {
  const Method method = with_forebay_hints("aggregators=2;aggregators=7");
  EXPECT_EQ(method.aggregators, 7);
  EXPECT_EQ(method_value(method, "aggregators"), "7");
}

TEST(Method, parts_of_the_core_are_listed_in_their_order) {
  const auto has = [](PartKind kind, const std::vector<std::string>& names) {
    std::size_t at = 0;  // parts of wings may stand between them
    for (const Part* part : parts(kind)) at += at < names.size() && part->name == names[at];
    return at == names.size();
  };
  EXPECT_TRUE(has(PartKind::container, {"classic", "directory"}));
  EXPECT_TRUE(has(PartKind::layout, {"canonical", "chunked", "null"}));
  EXPECT_TRUE(has(PartKind::stage, {"auto", "direct", "memory", "async"}));
  EXPECT_TRUE(has(PartKind::transport,
                  {"auto", "posix", "independent", "collective", "aggregated", "null"}));
  EXPECT_FALSE(has(PartKind::container, {"directory", "classic"}));
  EXPECT_TRUE(part_names(PartKind::transport, "|").starts_with("auto|"));
}

TEST(Method, unknown_key_in_forebay_hints_is_refused_with_what_was_meant) {
  const std::string text = refusal("transprot=posix");
  EXPECT_EQ(text.substr(0, text.find("accepted")),
            "-36: FOREBAY_HINTS: there is no key \"transprot\" (did you mean \"transport\"? ");
  EXPECT_NE(text.find("accepted keys: container, transport, layout, stage, codec, "),
            std::string::npos);
}

TEST(Method, bad_values_in_forebay_hints_are_refused_with_what_is_accepted) {
  EXPECT_EQ(refusal("transport=agregated"),
            "-36: FOREBAY_HINTS: \"agregated\" is no value of transport (did you mean "
            "\"aggregated\"? accepted: " +
                part_names(PartKind::transport, "|") + ")");
  EXPECT_EQ(
      refusal("window_size=1k"),
      "-36: FOREBAY_HINTS: \"1k\" is no value of window_size (accepted: bytes, 4KiB to 1GiB)");
  EXPECT_EQ(refusal("buffer_limit=lots"),
            "-36: FOREBAY_HINTS: \"lots\" is no value of buffer_limit (accepted: bytes, at least "
            "4KiB)");
  EXPECT_EQ(refusal("aggregators=1/rack"),
            "-36: FOREBAY_HINTS: \"1/rack\" is no value of aggregators (accepted: a number, at "
            "least 0, or N/node, N at least 1)");
  EXPECT_NE(refusal("aggregators=0/node"), "");
  EXPECT_NE(refusal("aggregators=/node"), "");
  EXPECT_NE(refusal("window_size=8/node"), "");
  EXPECT_EQ(refusal("layout="), "-36: FOREBAY_HINTS: \"\" is no value of layout (accepted: auto|" +
                                    part_names(PartKind::layout, "|") + ")");
  EXPECT_NE(refusal("codec=zstdd:3").find("zstd"), std::string::npos);
  EXPECT_EQ(refusal("codec=zstdd:3").substr(0, 26), "-36: FOREBAY_HINTS: codec:");
  EXPECT_EQ(
      refusal("cb_nodes=many"),
      "-36: FOREBAY_HINTS: \"many\" is no value of cb_nodes (accepted: a number, at least 1)");
  EXPECT_EQ(refusal("posix"),
            "-36: FOREBAY_HINTS: \"posix\" is no key=value pair (accepted: key=value;key=value)");
}

TEST(Method, codecs_are_told_with_every_parameter) {
  EXPECT_EQ(with_forebay_hints("codec=shuffle,zstd").codec, "shuffle,zstd:3");
}

TEST(Method, subfiling_of_pnetcdf_is_the_decomposed_layout_unless_another_is_named) {
  const Method method = with_forebay_hints("pnetcdf_subfiling=enable;nc_num_subfiles=3");
  if (find_part(PartKind::layout, "decomposed")) {
    EXPECT_EQ(method.layout, "decomposed");
    EXPECT_EQ(method.origin.at("layout"), "pnetcdf_subfiling of FOREBAY_HINTS");
  } else {
    EXPECT_EQ(method.layout, "canonical");
  }
  EXPECT_EQ(to_hints(method).at("pnetcdf_subfiling"), "enable");
  EXPECT_EQ(to_hints(method).at("nc_num_subfiles"), "3");
  EXPECT_EQ(with_forebay_hints("pnetcdf_subfiling=enable;layout=canonical").layout, "canonical");
  EXPECT_EQ(with_forebay_hints("layout=chunked;pnetcdf_subfiling=enable").layout, "chunked");
  const Method off = with_forebay_hints("pnetcdf_subfiling=disable;nc_num_subfiles=3");
  EXPECT_EQ(off.layout, "canonical");
  EXPECT_EQ(to_hints(off).at("nc_num_subfiles"), "0");
  EXPECT_EQ(refusal("pnetcdf_subfiling=yes"),
            "-36: FOREBAY_HINTS: \"yes\" is no value of pnetcdf_subfiling (accepted: "
            "enable|disable)");
  EXPECT_EQ(refusal("nc_num_subfiles=-1"),
            "-36: FOREBAY_HINTS: \"-1\" is no value of nc_num_subfiles (accepted: a number, at "
            "least 0)");
}

TEST(Method, stronger_sources_win_and_are_named) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*' transport='posix' nc_var_align_size='32' window_size='1MiB'\n"
      "  hole_threshold='1k'/></forebay>";
  sources.pnetcdf_hints = "nc_var_align_size=64;nc_record_align_size=64;foo=bar";
  sources.forebay_hints = "nc_record_align_size=128;window_size=2MiB";
  const Method method = choose_method("dir/x.nc",
                                      {{"window_size", "4MiB"},
                                       {"transport", "aggregated"},
                                       {"chunk_cache", "1MiB"},
                                       {"romio_no_indep_rw", "true"}},
                                      sources);
  EXPECT_EQ(method.transport, "posix");
  EXPECT_EQ(method.origin.at("transport"), "run.xml:1");
  EXPECT_EQ(method.hole_threshold, 1024);
  EXPECT_EQ(method.origin.at("hole_threshold"), "run.xml:2");
  EXPECT_EQ(method.var_align, 64);
  EXPECT_EQ(method.origin.at("nc_var_align_size"), "PNETCDF_HINTS");
  EXPECT_EQ(method.record_align, 128);
  EXPECT_EQ(method.origin.at("nc_record_align_size"), "FOREBAY_HINTS");
  EXPECT_EQ(method.window_size, 2 << 20);
  EXPECT_EQ(method.origin.at("window_size"), "FOREBAY_HINTS");
  EXPECT_EQ(method.chunk_cache, 1 << 20);
  EXPECT_EQ(method.origin.at("chunk_cache"), "MPI_Info");
  // Overruled settings of the program are reported.
  EXPECT_EQ(method.notes,
            (std::vector<std::string>{
                "transport=aggregated (MPI_Info) is overruled by transport=posix (run.xml:1)",
                "window_size=4194304 (MPI_Info) is overruled by window_size=2097152 "
                "(FOREBAY_HINTS)"}));
  EXPECT_EQ(method.passed_on.at("foo"), "bar");
  EXPECT_EQ(method.passed_on.at("romio_no_indep_rw"), "true");
}

// In the order of method.h: the strongest source of each value applies. Within the program, its
// settings for Forebay take precedence over its MPI_Info.
TEST(Method, every_source_beats_those_before_it) {
  const auto chosen = [](int strongest) {
    MethodSources sources;
    OwnHints own{{}, "the connector's string"};
    if (strongest > 0) own.keys = {{"buffer_limit", "2MiB"}};
    if (strongest > 1) {
      sources.config_name = "run.xml";
      sources.config_text = "<forebay><file match='*' buffer_limit='3MiB'/></forebay>";
    }
    if (strongest > 2) sources.pnetcdf_hints = "buffer_limit=4MiB";
    if (strongest > 3) sources.forebay_hints = "buffer_limit=5MiB";
    return choose_method("x.nc", {{"buffer_limit", "1MiB"}}, sources, {}, own);
  };
  const char* const names[] = {"MPI_Info", "the connector's string", "run.xml:1", "PNETCDF_HINTS",
                               "FOREBAY_HINTS"};
  for (int strongest = 0; strongest < 5; ++strongest) {
    EXPECT_EQ(chosen(strongest).buffer_limit, (strongest + 1) << 20);
    EXPECT_EQ(chosen(strongest).origin.at("buffer_limit"), names[strongest]);
  }
}

TEST(Method, rules_for_variables_beat_those_for_files_within_a_source_only) {
  MethodSources sources;
  sources.config_name = "run.xml";
  sources.config_text =
      "<forebay><file match='*' layout='canonical'><variable match='T' layout='chunked' "
      "codec='zstd:1'/></file></forebay>";
  const HintMap api = {{"codec", "deflate:1"}, {"layout", "chunked"}};
  const Method method = choose_method("x.nc", api, sources);
  EXPECT_EQ(variable_value(method, "T", "layout"), "chunked");
  EXPECT_EQ(variable_value(method, "T", "codec"), "zstd:1");
  EXPECT_EQ(variable_value(method, "U", "codec"), "deflate:1");
  EXPECT_EQ(said_outside(method, "T", "codec"), "codec=zstd:1 (run.xml:1)");
  EXPECT_EQ(said_outside(method, "U", "codec"), std::nullopt);
  EXPECT_EQ(said_outside(method, "U", "layout"), "layout=canonical (run.xml:1)");
  sources.forebay_hints = "codec=none";
  const Method over = choose_method("x.nc", api, sources);
  EXPECT_EQ(variable_value(over, "T", "layout"), "chunked");
  EXPECT_EQ(variable_value(over, "T", "codec"), "none");
  EXPECT_FALSE(has_rule(over, "T", "codec"));
  EXPECT_EQ(said_outside(over, "T", "codec"), "codec=none (FOREBAY_HINTS)");
}

TEST(Method, hints_of_the_api_are_read_as_pnetcdf_reads_them) {
  const Method method = choose_method("x.nc",
                                      {{"nc_header_align_size", "4k"},
                                       {"nc_var_align_size", "-5"},
                                       {"nc_record_align_size", "abc"},
                                       {"nc_in_place_swap", "Enable"},
                                       {"nc_header_read_chunk_size", "-4"},
                                       {"nc_ibuf_size", "-3"},
                                       {"pnetcdf_subfiling", "Enable"},
                                       {"nc_num_subfiles", "2 files"},
                                       {"striping_unit", "abc"},
                                       {"nc_bogus", "1"}},
                                      MethodSources{});
  EXPECT_EQ(method.header_align, 4);
  EXPECT_EQ(method.var_align, 0);
  EXPECT_EQ(method.record_align, 0);
  EXPECT_EQ(method_value(method, "nc_in_place_swap"), "enable");
  EXPECT_EQ(method.header_read_chunk, 0);
  EXPECT_EQ(method.striping_unit, 0);
  const HintMap hints = to_hints(method);
  EXPECT_EQ(hints.at("nc_ibuf_size"), "-3");
  EXPECT_EQ(hints.at("pnetcdf_subfiling"), "enable");
  EXPECT_EQ(hints.at("nc_num_subfiles"), "2");
  EXPECT_EQ(hints.at("striping_unit"), "abc");
  EXPECT_EQ(hints.at("nc_bogus"), "1");
}

TEST(Method, own_keys_must_make_sense_in_the_api_too) {
  const auto refusal_of = [](const HintMap& hints) {
    return thrown([&] { choose_method("x.nc", hints, MethodSources{}); });
  };
  EXPECT_EQ(refusal_of({{"transport", "fast"}}),
            "-36: MPI_Info: \"fast\" is no value of transport (accepted: " +
                part_names(PartKind::transport, "|") + ")");
  EXPECT_EQ(refusal_of({{"nc_in_place_swap", "perhaps"}}), "none");  // ignored, as PnetCDF does
}

TEST(Method, names_of_wings_that_are_left_out_tell_which_wing_to_build) {
  for (const AbsentName& name : absent_names()) {
    const bool is_key = name.value.empty();
    const std::string hint =
        std::string(name.key) + "=" + (is_key ? "enable" : std::string(name.value));
    const std::string what = is_key ? std::string(name.key) : hint;
    EXPECT_EQ(refusal(hint), "-128: FOREBAY_HINTS: this build has no " + what +
                                 " (configure Forebay with " + std::string(name.wing) +
                                 " in -DFOREBAY_WINGS)");
    // Hints of a program, which may be for other libraries, are told of.
    if (!is_key) continue;
    const Method method = choose_method("x.nc", {{std::string(name.key), "enable"}}, {});
    ASSERT_EQ(method.notes.size(), 1u);
    EXPECT_TRUE(method.notes[0].starts_with("MPI_Info: this build has no " + what));
  }
  EXPECT_EQ(absent("layout", "canonical", "here"), std::nullopt);
  // A name with a digit is among them.
  if (!find_part(PartKind::container, "netcdf4"))
    EXPECT_TRUE(refusal("container=netcdf4").starts_with("-128"));
}

TEST(Method, ill_formed_pnetcdf_hints_are_skipped) {
  MethodSources sources;
  sources.pnetcdf_hints = ";;nc_var_align_size;nc_record_align_size=;nc_header_align_size=64;=3;";
  const Method method = choose_method("x.nc", {}, sources);
  EXPECT_EQ(method.var_align, 0);
  EXPECT_EQ(method.record_align, 0);
  EXPECT_EQ(method.header_align, 64);
}

TEST(Method, mpi_io_words_stand_for_ours_unless_ours_are_given) {
  const HintMap api = {{"cb_nodes", "3"}, {"cb_buffer_size", "8388608"}};
  const Method method = choose_method("x.nc", api, MethodSources{});
  EXPECT_EQ(method.aggregators, 3);
  EXPECT_EQ(method.window_size, 8 << 20);
  EXPECT_EQ(method.origin.at("aggregators"), "cb_nodes of MPI_Info");
  EXPECT_EQ(method.passed_on.at("cb_nodes"), "3");
  MethodSources sources;
  sources.forebay_hints = "aggregators=1;window_size=1MiB";
  const Method ours = choose_method("x.nc", api, sources);
  EXPECT_EQ(ours.aggregators, 1);
  EXPECT_EQ(ours.window_size, 1 << 20);
  // Settings from outside apply, in the words of any library.
  sources.forebay_hints = {};
  sources.pnetcdf_hints = "cb_nodes=2";
  EXPECT_EQ(choose_method("x.nc", {{"aggregators", "4"}}, sources).aggregators, 2);
  EXPECT_EQ(choose_method("x.nc", {{"cb_nodes", "4"}, {"aggregators", "4"}}, sources).aggregators,
            2);
  EXPECT_EQ(choose_method("x.nc", {{"cb_buffer_size", "100"}}, MethodSources{}).window_size, 4096);
  EXPECT_EQ(choose_method("x.nc", {{"cb_nodes", "few"}}, MethodSources{}).aggregators, 0);
}

TEST(Method, aggregators_are_counted_over_all_or_of_each_node) {
  Method method = with_forebay_hints("aggregators=7;aggregators=2/node");
  EXPECT_EQ(method.aggregators, 0);
  EXPECT_EQ(method.aggregators_of_node, 2);
  EXPECT_EQ(method_value(method, "aggregators"), "2/node");
  method = with_forebay_hints("aggregators=2/node;aggregators=7");
  EXPECT_EQ(method.aggregators_of_node, 0);
  EXPECT_EQ(method_value(method, "aggregators"), "7");

  const auto with_list = [](const char* list, HintMap api = {}) {
    api["cb_config_list"] = list;
    return choose_method("x.nc", api, MethodSources{});
  };
  method = with_list("*:3", {{"cb_nodes", "5"}});
  EXPECT_EQ(method.aggregators, 5);
  EXPECT_EQ(method.aggregators_of_node, 3);
  EXPECT_EQ(method.passed_on.at("cb_config_list"), "*:3");
  method = with_list("*:1");
  EXPECT_EQ(method.aggregators_of_node, 1);
  EXPECT_EQ(method.origin.at("aggregators"), "cb_config_list of MPI_Info");
  EXPECT_EQ(with_list("*").aggregators_of_node, 1);
  for (const char* const all : {"*:*", "one:2,two:1", "*:-1", "*x", ":2"}) {
    EXPECT_EQ(with_list(all).aggregators_of_node, 0) << all;
    EXPECT_EQ(with_list(all).origin.count("aggregators"), 0U) << all;
  }
}

TEST(Method, report_setting_is_checked) {
  const auto report = [](const std::string& value) {
    MethodSources sources;
    sources.report = value;
    return choose_method("x.nc", {}, sources).report;
  };
  EXPECT_EQ(report(""), "");
  EXPECT_EQ(report("0"), "");
  EXPECT_EQ(report("1"), "1");
  EXPECT_EQ(report("json:r.json"), "json:r.json");
  EXPECT_EQ(thrown([&] { report("json"); }),
            "-36: FOREBAY_REPORT: \"json\" is no kind of report (accepted: 0, 1 or json:PATH)");
}

// The program may change its directory before a file is closed.
TEST(Method, a_report_is_appended_to_where_it_was_asked_for) {
  const auto read = [](const char* value) {
    ::setenv("FOREBAY_REPORT", value, 1);
    const std::string report = read_method_sources().report;
    ::unsetenv("FOREBAY_REPORT");
    return report;
  };
  EXPECT_EQ(read("json:r.json"), "json:" + std::filesystem::current_path().string() + "/r.json");
  EXPECT_EQ(read("json:/tmp/r.json"), "json:/tmp/r.json");
  for (const char* const as_it_is : {"", "0", "1", "json", "json:"})
    EXPECT_EQ(read(as_it_is), as_it_is);
}

TEST(Method, unreadable_configuration_is_refused) {
  MethodSources sources;
  sources.config_name = "none.xml";
  sources.config_error = "No such file or directory";
  EXPECT_EQ(thrown([&] { choose_method("x.nc", {}, sources); }),
            "-36: FOREBAY_CONFIG: cannot read none.xml: No such file or directory (accepted: the "
            "path of a readable XML file, or nothing)");
}

TEST(Method, hints_in_force_speak_the_keys_that_users_set) {
  const HintMap hints = to_hints(with_forebay_hints("transport=posix;cb_nodes=2"));
  EXPECT_EQ(hints.at("transport"), "posix");
  EXPECT_EQ(hints.at("nc_header_read_chunk_size"), "262144");
  EXPECT_EQ(hints.at("cb_nodes"), "2");
  EXPECT_FALSE(hints.contains("striping_unit"));
  for (const auto& [key, value] : hints) EXPECT_FALSE(value.empty()) << key;
}

}  // namespace method_test
}  // namespace forebay
