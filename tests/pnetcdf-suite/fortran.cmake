# PnetCDF's Fortran programs, F77's and F90's, as the C ones (labels pnetcdf, fortran).
if(NOT FOREBAY_HAS_FORTRAN OR NOT CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
  return()
endif()

add_library(pnetcdf_suite_fortran INTERFACE)
target_link_libraries(pnetcdf_suite_fortran INTERFACE forebay_pnetcdf_fortran)
# Programs pass arrays of different types to one function, as F77 allows.
target_compile_options(pnetcdf_suite_fortran INTERFACE
  -w -O0 $<$<COMPILE_LANGUAGE:Fortran>:-cpp$<SEMICOLON>-fallow-argument-mismatch>)
target_compile_definitions(pnetcdf_suite_fortran INTERFACE RELAX_COORD_BOUND ENABLE_NETCDF4 F77_NAME_LOWER_USCORE)

# Where they take their common functions from; without a folder the file is the program's own.
function(pnetcdf_suite_fortran_utils name file)
  add_library(suite_${name} OBJECT ${source}/${file})
  target_link_libraries(suite_${name} PUBLIC pnetcdf_suite_fortran)
endfunction()
pnetcdf_suite_fortran_utils(fortran_tests test/common/testutilsf.F90)
pnetcdf_suite_fortran_utils(fortran_f77 examples/F77/utils.F90)
pnetcdf_suite_fortran_utils(fortran_f90 examples/F90/utils.F90)

# pnetcdf_fortran_program(UTILS FOLDER FILE...): programs of one file each.
function(pnetcdf_fortran_programs utils folder)
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    pnetcdf_program(${folder} ${name} ${source}/${folder}/${file})
    string(REPLACE "/" "_" target suite_${folder}_${name})
    set_property(TARGET ${target} PROPERTY LINK_LIBRARIES ${utils})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE Fortran
      Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}_modules)
    set_property(TEST pnetcdf.${folder}/${name} APPEND PROPERTY LABELS fortran)
  endforeach()
endfunction()

pnetcdf_fortran_programs(suite_fortran_f77 examples/F77
  block_cyclic.f bput_varn_int8.f column_wise.f fill_mode.f flexible_api.f get_info.f hints.f i_varn_real.f
  nonblocking_write.f put_vara.f put_varn_int.f put_varn_real.f time_var.f transpose.f vard_int.f)
pnetcdf_fortran_programs(suite_fortran_tests test/testcases
  attrf.f buftype_freef.f put_parameter.f test_vardf.F varn_intf.f)
pnetcdf_fortran_programs(suite_fortran_tests test/nonblocking mcoll_testf77.f test_bputf77.f)
pnetcdf_fortran_programs(suite_fortran_tests test/fandc pnctestf.f pnf_test.f)
pnetcdf_fortran_programs(suite_fortran_tests test/largefile bigrecords.f)

# nf_test and nf90_test: every function, with every type. What PnetCDF's configure finds out of the compiler.
set(NF_INT1_T integer*1)
set(NF_INT2_T integer*2)
set(NF_INT8_T integer*8)
set(PNF_X_INT8_MIN "(-9223372036854775807_8-1)")
set(PNF_X_INT8_MAX 9223372036854775807_8)
set(PNF_X_UINT_MAX 4294967295_8)
function(pnetcdf_fortran_suite folder name ending)
  set(here ${CMAKE_CURRENT_BINARY_DIR}/${folder}_sources)
  configure_file(${source}/${folder}/tests.inc.in ${here}/tests.inc @ONLY)
  # Its C file includes a list of prototypes, which it does not need.
  file(WRITE ${here}/mpifnetcdf.h "")
  set(files ${source}/${folder}/fortlib.c)
  foreach(file ${name} ${ARGN} test_read test_write util)
    list(APPEND files ${source}/${folder}/${file}.${ending})
  endforeach()
  foreach(file test_get test_iget test_iput test_put)
    add_custom_command(OUTPUT ${here}/${file}.${ending}
      COMMAND ${FOREBAY_M4} -DPNETCDF -I ${source}/m4 ${source}/${folder}/${file}.m4 > ${here}/${file}.${ending}
      DEPENDS ${source}/${folder}/${file}.m4 VERBATIM)
    list(APPEND files ${here}/${file}.${ending})
  endforeach()
  pnetcdf_program(${folder} ${name} ${files})
  string(REPLACE "/" "_" target suite_${folder}_${name})
  set_property(TARGET ${target} PROPERTY LINK_LIBRARIES suite_fortran_tests)
  target_include_directories(${target} PRIVATE ${here} ${source}/${folder} ${source}/src/binding/f77)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE Fortran Fortran_MODULE_DIRECTORY ${here}/modules)
  set_property(TEST pnetcdf.${folder}/${name} APPEND PROPERTY LABELS fortran)
endfunction()
pnetcdf_fortran_suite(test/nf_test nf_test F nf_error)
pnetcdf_fortran_suite(test/nf90_test nf90_test F90 nf90_error)
pnetcdf_fortran_programs(suite_fortran_f90 examples/F90
  block_cyclic.f90 column_wise.f90 fill_mode.f90 flexible_api.f90 get_info.f90 hints.f90 nonblocking_write.f90 put_var.f90
  put_varn_int.f90 put_varn_real.f90 transpose.f90 vard_int.f90)
pnetcdf_fortran_programs(suite_fortran_tests test/F90
  f90tst_parallel.f90 f90tst_parallel2.f90 f90tst_parallel3.f90 f90tst_parallel4.f90 f90tst_vars.f90 f90tst_vars2.f90
  f90tst_vars3.f90 f90tst_vars4.f90 test_attr_int64.f90 test_fill.f90 test_intent.f90 tst_f90.f90 tst_f90_cdf5.f90
  tst_io.f90 tst_types2.f90)
pnetcdf_fortran_programs(suite_fortran_tests test/testcases
  inq_num_varsf.f90 inq_recsizef.f90 test_vardf90.f90 varn_real.f90)
pnetcdf_fortran_programs(suite_fortran_tests test/nonblocking mcoll_testf.f90 test_bputf.f90)
pnetcdf_fortran_programs(suite_fortran_tests test/largefile tst_flarge.f90)
