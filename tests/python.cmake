# The Python package; each test skips when Python lacks a module that it needs. SPDX-License-Identifier: MIT
if(CRUMB_SANITIZE OR CMAKE_CROSSCOMPILING) # Python cannot load such a library
	return()
endif()
add_library(python_internals MODULE ${PROJECT_SOURCE_DIR}/exchange/policy.c ${PROJECT_SOURCE_DIR}/exchange/message.c
	${PROJECT_SOURCE_DIR}/nets/model.c ${PROJECT_SOURCE_DIR}/nets/net.c python/internals.c)
target_link_libraries(python_internals PRIVATE crumb_shared)
set_target_properties(python_internals PROPERTIES C_VISIBILITY_PRESET default)
# USE_LIBUV: Debian 13's PyTorch is built without it.
list(APPEND script_environment INTERNALS=$<TARGET_FILE:python_internals> CRUMB_LIBRARY=$<TARGET_FILE:crumb_shared>
	PYTHONPATH=${PROJECT_SOURCE_DIR}/python PYTHONDONTWRITEBYTECODE=1 USE_LIBUV=0)
set(python_tests arrays policy library dgc)
if(NOT CMAKE_C_COMPILER_ID MATCHES Clang) # one compiler's library is enough for the tests with PyTorch
	# test_gpu.py is run by hand.
	list(APPEND python_tests kinds hook hook_life hook_state hook_property ddp device fsdp outer)
	if(TARGET crumb-train)
		list(APPEND python_tests step)
		list(APPEND script_environment CRUMB_TRAIN=$<TARGET_FILE:crumb-train>)
	endif()
endif()
foreach(test IN LISTS python_tests)
	script_test(python ${script_python} ${CMAKE_CURRENT_SOURCE_DIR}/python/test_${test}.py)
endforeach()
if("ddp" IN_LIST python_tests)
	set_tests_properties(python_test_hook_life PROPERTIES RUN_SERIAL ON) # a short deadline
	set_property(TEST python_test_ddp python_test_device python_test_hook_property APPEND PROPERTY LABELS long)
endif()
foreach(script examples others)
	script_test(python sh ${CMAKE_CURRENT_SOURCE_DIR}/python/${script}.sh)
endforeach()
if("ddp" IN_LIST python_tests) # suite pip runs these with another PyTorch, too
	set_property(TEST python_test_hook_life python_test_hook_state python_test_hook_property python_test_ddp
		python_test_device python_test_outer python_examples APPEND PROPERTY LABELS torch)
	if(TARGET crumb-train)
		set_property(TEST python_test_step APPEND PROPERTY LABELS torch)
	endif()
endif()
