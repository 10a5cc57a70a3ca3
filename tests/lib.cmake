# The library. Tests that look behind the API take src/ as an include directory; the static library has all symbols.
set(library_tests laws harm adding api vectors golden spec frame rng random levels fit sum blocks entropy threshold signs
	topk bins)
if(NOT CRUMB_SANITIZE) # sanitizers use more stack
	list(APPEND library_tests stack)
endif()
foreach(test ${library_tests})
	crumb_test(test_${test} ${CMAKE_CURRENT_SOURCE_DIR}/test_${test}.c ${CMAKE_CURRENT_SOURCE_DIR}/cases.c)
	target_include_directories(test_${test} PRIVATE ${PROJECT_SOURCE_DIR}/src)
	target_compile_definitions(test_${test} PRIVATE GOLDEN_DIR="${CMAKE_CURRENT_SOURCE_DIR}/golden")
endforeach()
target_compile_definitions(test_blocks PRIVATE ${isa_macros})
