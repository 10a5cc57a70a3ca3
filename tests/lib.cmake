# The library's tests. Those of internals include from src/; the static library exports all symbols to them.
test_objects(cases)
foreach(test laws isas harm adding vectors golden spec frame rng random levels fit sum blocks entropy threshold
		sparse_signs topk bins limits self_check)
	crumb_test(test_${test} ${CMAKE_CURRENT_SOURCE_DIR}/test_${test}.c ${SHARED_cases})
	target_include_directories(test_${test} PRIVATE ${PROJECT_SOURCE_DIR}/src)
	target_compile_definitions(test_${test} PRIVATE GOLDEN_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden")
endforeach()
target_compile_definitions(test_blocks PRIVATE ${isa_macros})
if(CMAKE_SYSTEM_NAME STREQUAL Linux) # feenableexcept
	crumb_test(test_traps ${CMAKE_CURRENT_SOURCE_DIR}/test_traps.c ${SHARED_cases})
	target_include_directories(test_traps PRIVATE ${PROJECT_SOURCE_DIR}/src)
endif()
crumb_test(test_api ${CMAKE_CURRENT_SOURCE_DIR}/test_api.c ${SHARED_cases})
if(NOT CRUMB_SANITIZE) # sanitizers use more stack
	crumb_test(test_stack ${CMAKE_CURRENT_SOURCE_DIR}/test_stack.c ${SHARED_cases})
endif()
get_property(library_tests DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
list(REMOVE_ITEM library_tests cases)
add_custom_target(library_tests DEPENDS ${library_tests})
set_tests_properties(${library_tests} PROPERTIES LABELS library)
if(NOT CRUMB_SANITIZE)
	set_property(TEST test_stack APPEND PROPERTY LABELS long)
else() # where these take a minute or two each
	set_property(TEST test_isas test_blocks test_entropy test_limits test_traps APPEND PROPERTY
		LABELS long)
endif()
