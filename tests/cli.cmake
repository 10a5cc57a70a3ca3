# The tool's tests, tests/cli/*.sh and *.py, and the house's own, tests/house/*.sh: what is built, not what it does.
# SPDX-License-Identifier: MIT
add_executable(library_run cli/library_run.c)
target_link_libraries(library_run PRIVATE crumb_static)

# A Python that has NumPy: the one in the path may be another than the package's.
set(script_python python3)
foreach(candidate /usr/bin/python3 python3)
	execute_process(COMMAND ${candidate} -c "import numpy" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
	if(status STREQUAL "0")
		set(script_python ${candidate})
		break()
	endif()
endforeach()

set(script_environment
	CRUMB=$<TARGET_FILE:crumb_cli> LIBRARY_RUN=$<TARGET_FILE:library_run> PYTHON=${script_python}
	SOURCE=${PROJECT_SOURCE_DIR} CC=${CMAKE_C_COMPILER}
	STATIC=$<TARGET_FILE:crumb_static> SHARED=$<TARGET_FILE:crumb_shared>
	EXCHANGE=$<TARGET_FILE:crumb_exchange_shared> EXCHANGE_STATIC=$<TARGET_FILE:crumb_exchange>)
if(CRUMB_MPI)
	list(APPEND script_environment EXCHANGE_MPI=$<TARGET_FILE:crumb_exchange_mpi_shared>
		EXCHANGE_MPI_STATIC=$<TARGET_FILE:crumb_exchange_mpi>)
endif()
if(TARGET crumb-train)
	list(APPEND script_environment CRUMB_TRAIN=$<TARGET_FILE:crumb-train>)
endif()

# script_test(label interpreter script): status 77 is a skip.
function(script_test label interpreter script)
	get_filename_component(name ${script} NAME_WE)
	add_test(NAME ${label}_${name} COMMAND ${interpreter} ${script})
	set_tests_properties(${label}_${name} PROPERTIES ENVIRONMENT "${script_environment}" LABELS ${label}
		SKIP_RETURN_CODE 77)
endfunction()

file(GLOB cli_scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.sh)
list(REMOVE_ITEM cli_scripts ${CMAKE_CURRENT_SOURCE_DIR}/cli/check.sh)
if(CRUMB_SANITIZE) # bench and plan time codecs, which are too slow then; report is mostly Python's, completion bash's
	list(FILTER cli_scripts EXCLUDE REGEX "/(bench|completion|plan|report)\\.sh$")
endif()
foreach(script IN LISTS cli_scripts)
	script_test(cli sh ${script})
endforeach()
script_test(cli ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/cli/roundtrip.py)
script_test(cli ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/cli/compare_rows.py)
script_test(cli ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/cli/npy_headers.py)
script_test(cli python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/terminal.py)
if(CRUMB_SANITIZE) # each starts hundreds of processes, and one with sanitizers starts slowly
	set_property(TEST cli_roundtrip cli_compare_rows cli_terminal APPEND PROPERTY LABELS long)
endif()

if(NOT CRUMB_SANITIZE) # sanitizers add symbols of their own, and the rest does not depend on them
	file(GLOB house_scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/house/*.sh)
	foreach(script IN LISTS house_scripts)
		script_test(house sh ${script})
	endforeach()
	set_property(TEST house_flags house_portable APPEND PROPERTY LABELS long)
	script_test(house ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/house/structure.py)
endif()
