// Writes what fuzzing of configurations begins with: fuzz_config_seeds DIRECTORY
#include <string_view>

#include "seeds.h"

namespace {

constexpr std::string_view methods = R"(<?xml version="1.0"?>
<forebay>
  <!-- rules -->
  <file match="*.nc" layout="chunked" codec="shuffle,zstd:3" stage="burst"
        nc_burst_buf_dirname="/fast" buffer_limit="16MiB">
    <variable match="T*" layout="chunked" codec="zfp:accuracy=1e-9"/>
    <variable match="[a-c]?[!x]" codec="none"/>
  </file>
  <file match="out/*" layout="decomposed" subfiling="ranks" subfile_ranks="4"/>
  <checkpoint match="*" checkpoint_memory="1g" checkpoint_fast='/local'/>
  <method group="restart" layout="auto" stage="async" async_memory="8k"/>
</forebay>
)";

constexpr std::string_view groups = R"(<forebay>
  <group name="restart" language="Fortran">
    <var name="nx" type="int64"/> <var name="x0" type="integer"/> <var name="np" type="uint16"/>
    <var name="title" type="string" steps="once"/>
    <global dimensions="4*nx,64" offsets="x0,0">
      <var name="T" type="double" dimensions="nx,64" gwrite="temp"
           characteristics="minmax,mean,histogram:0,1e3,50"/>
      <var name="z" type="double complex" dimensions="(nx + 2) / 2 - -1,64"/>
    </global>
    <var name="ions" type="real" dimensions="np,7" joined="0"/>
    <var name="own" type="unsigned long" dimensions="np" steps="every"/>
    <attribute name="T/units" value="K &amp; &#x41;"/>
    <attribute name="n" type="int32" value="1,-2"/>
  </group>
  <group name="diagnostics" language="C"><var name="e" type="float"/></group>
  <method group="restart" layout="process-group" subfiling="node" stage="async"/>
  <method group="diagnostics" bp_version="3"/>
</forebay>
)";

}  // namespace

int main(int argc, char** argv) {
  Seeds seeds(argc, argv);
  const auto save = [&](const char* name, char kind, std::string_view text) {
    seeds.save(name, {kind}, std::as_bytes(std::span(text)));
  };
  save("methods", 0, methods);
  save("groups", 0, groups);
  save("hints", 1,
       "layout=chunked;codec=bitround:10,shuffle,zstd:3;buffer_limit=16MiB; stage=async");
  save("numbers", 1, "cb_nodes=*:1;subfile_ranks=4;hole_threshold=64k;striping_unit=1048576");
  save("expressions", 2, "4*nx, (x0 + 1) / (np - -2), a.b*-3, 9223372036854775807");
  save("pattern", 3, "out/[!a-c]?*_[12].nc");
  return seeds.status();
}
