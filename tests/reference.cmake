# An independent decoder and encoder, in Python, against the library. SPDX-License-Identifier: MIT
if(NOT CRUMB_SANITIZE) # Python cannot load a sanitized library
	find_package(Python3 COMPONENTS Interpreter)
endif()
if(NOT CRUMB_SANITIZE AND Python3_FOUND)
	add_test(NAME reference COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/reference/test_reference.py)
	set_tests_properties(reference PROPERTIES
		ENVIRONMENT "SHARED=$<TARGET_FILE:crumb_shared>;GOLDEN=${CMAKE_CURRENT_SOURCE_DIR}/golden")
endif()
