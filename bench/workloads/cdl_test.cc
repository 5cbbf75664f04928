#include "workloads/cdl.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "workloads/f_header.h"

namespace forebay::bench::cdl {
namespace {

constexpr const char* kSmall = R"(netcdf small {
// file format: CDF-5 (big variables)
dimensions:
  time = UNLIMITED ; // (3 currently)
  x = 4, y = 5 ;
variables:
  double t(time) ;
    t:units = "s" ;
  float a(time, y, x), b(x) ;
    a:_FillValue = 1.e+20f ;
    a:range = -1., 2.5 ;
    b:flags = 1b, 2b ;
    b:count = -7 ;
    b:big = 5000000000LL ;
    b:wide = 3LL ;
    b:text = "one\n",
    "two \"quoted\"" ;
  int scalar ;

// global attributes:
    :title = "t" ;
    :version = 2s ;
}
)";

Header parse(const char* text) {
  int started = 0;
  MPI_Initialized(&started);
  if (!started) {
    MPI_Init(nullptr, nullptr);
    std::atexit([] { MPI_Finalize(); });
  }
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("forebay_cdl_" + std::to_string(::getpid()) + ".cdl");
  std::ofstream(path) << text;
  try {
    Header header = parse_file(path);
    std::filesystem::remove(path);
    return header;
  } catch (...) {
    std::filesystem::remove(path);
    throw;
  }
}

const Attribute& att(const std::vector<Attribute>& atts, const std::string& name) {
  for (const Attribute& a : atts) {
    if (a.name == name) return a;
  }
  throw std::runtime_error("no attribute " + name);
}

TEST(Cdl, reads_dimensions_and_variables) {
  const Header h = parse(kSmall);
  ASSERT_EQ(h.dims.size(), 3u);
  EXPECT_TRUE(h.dims[0].unlimited);
  EXPECT_EQ(h.dims[2].length, 5);
  ASSERT_EQ(h.vars.size(), 4u);
  EXPECT_EQ(h.vars[1].dims, (std::vector<int>{0, 2, 1}));
  EXPECT_TRUE(h.is_record(h.vars[1]));
  EXPECT_EQ(h.vars[2].name, "b");
  EXPECT_FALSE(h.is_record(h.vars[2]));
  EXPECT_TRUE(h.vars[3].dims.empty());
}

TEST(Cdl, gives_attribute_values_their_types) {
  const Header h = parse(kSmall);
  const auto& a = h.vars[1].atts;
  const auto& b = h.vars[2].atts;
  EXPECT_EQ(att(a, "_FillValue").type, Type::Float);
  EXPECT_EQ(std::get<std::vector<double>>(att(a, "range").values), (std::vector<double>{-1, 2.5}));
  EXPECT_EQ(att(a, "range").type, Type::Double);
  EXPECT_EQ(att(b, "flags").type, Type::Byte);
  EXPECT_EQ(att(b, "count").type, Type::Int);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(att(b, "count").values).front(), -7);
  EXPECT_EQ(att(b, "big").type, Type::Int64);
  EXPECT_EQ(att(b, "wide").type, Type::Int64);
  EXPECT_EQ(att(h.atts, "version").type, Type::Short);
}

TEST(Cdl, reads_strings_of_several_parts) {
  const Header h = parse(kSmall);
  EXPECT_EQ(std::get<std::string>(att(h.vars[2].atts, "text").values), "one\ntwo \"quoted\"");
}

TEST(Cdl, what_ncgen_does_not_read_is_an_error) {
  EXPECT_THROW(parse("netcdf n {\nvariables:\n\tfloat v(z) ;\n}\n"), std::runtime_error);
  EXPECT_THROW(parse_file("/nonexistent"), std::runtime_error);
}

TEST(FHeader, has_the_shape_of_the_recorded_case) {
  const Header h = make_f_header(866, 72);
  int small = 0, columns = 0, levels = 0;
  for (const Variable& var : h.vars) {
    const bool on_columns = !var.dims.empty() && var.dims.back() == h.find_dim("ncol");
    const bool on_levels = on_columns && var.dims.size() == 3;
    ++(on_levels ? levels : on_columns ? columns : small);
  }
  EXPECT_EQ(small, 27);
  EXPECT_EQ(columns, 324);  // area and 323 others
  EXPECT_EQ(levels, 63);
}

}  // namespace
}  // namespace forebay::bench::cdl
