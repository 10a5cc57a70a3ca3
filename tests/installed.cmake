# What is installed and how it is used, the C example over MPI, the man pages, reports in a browser, bench/simgrid.
# SPDX-License-Identifier: MIT
if(CRUMB_SANITIZE OR CMAKE_CROSSCOMPILING) # such a build is not for installing
	return()
endif()
string(TOLOWER "${CMAKE_BUILD_TYPE}" config)
list(APPEND script_environment CMAKE=${CMAKE_COMMAND} BUILD=${PROJECT_BINARY_DIR} VERSION=${CRUMB_VERSION}
	CONFIG=${config} LIBDIR=${CMAKE_INSTALL_LIBDIR} MPI=${CRUMB_MPI} MAN=${PROJECT_BINARY_DIR}/doc/man)
if(CRUMB_INSTALL)
	script_test(house sh ${CMAKE_CURRENT_SOURCE_DIR}/install/install.sh)
	script_test(house sh ${CMAKE_CURRENT_SOURCE_DIR}/install/c_mpi.sh)
	set_property(TEST house_c_mpi APPEND PROPERTY LABELS long)
endif()
script_test(house sh ${CMAKE_CURRENT_SOURCE_DIR}/install/host.sh)
script_test(house sh ${CMAKE_CURRENT_SOURCE_DIR}/install/man.sh)
script_test(house ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/report_page.py)
script_test(house sh ${CMAKE_CURRENT_SOURCE_DIR}/simgrid.sh)
set_property(TEST house_host house_simgrid APPEND PROPERTY LABELS long)
