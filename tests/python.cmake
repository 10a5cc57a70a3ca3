# The Python package, tests/python/test_*.py; each skips when Python lacks what it is about. SPDX-License-Identifier: MIT
if(CRUMB_SANITIZE OR CMAKE_CROSSCOMPILING) # Python cannot load such a library
	return()
endif()
list(APPEND script_environment CRUMB_LIBRARY=$<TARGET_FILE:crumb_shared> PYTHONPATH=${PROJECT_SOURCE_DIR}/python
	PYTHONDONTWRITEBYTECODE=1)
file(GLOB python_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/python/test_*.py)
foreach(script IN LISTS python_tests)
	script_test(python ${script_python} ${script})
endforeach()
script_test(python sh ${CMAKE_CURRENT_SOURCE_DIR}/python/pip.sh)
