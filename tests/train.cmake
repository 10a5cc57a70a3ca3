# The trainer's tests. SPDX-License-Identifier: MIT
if(NOT TARGET crumb_train)
	return()
endif()
foreach(name agree net forward backward loss worker train heirs drawn_digits text idx schedule optimizer augment
	layer_probe)
	crumb_test(test_${name} test_${name}.c)
	target_link_libraries(test_${name} PRIVATE crumb_train)
endforeach()
test_objects(net_cases crumb_train)
foreach(name net forward backward worker)
	target_sources(test_${name} PRIVATE ${SHARED_net_cases})
endforeach()
target_sources(test_forward PRIVATE layers_by_hand.c)
add_test(NAME test_idx_mnist COMMAND test_idx mnist)
set_tests_properties(test_idx_mnist PROPERTIES LABELS data)
# As many threads as oneDNN would take if the trainer let it.
set_tests_properties(test_worker PROPERTIES ENVIRONMENT OMP_NUM_THREADS=4)

if(NOT CRUMB_SANITIZE) # where seconds would become minutes
	add_executable(control_train control.c ${PROJECT_SOURCE_DIR}/train/main.c)
	target_link_libraries(control_train PRIVATE crumb_train crumb_mpi)
	target_link_options(control_train PRIVATE -Wl,--wrap=crumb_unpack_add_all,--wrap=crumb_add_range)
	add_test(NAME experiments COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/experiments.sh)
	set(experiments_environment CRUMB_TRAIN=$<TARGET_FILE:crumb-train> CONTROL=$<TARGET_FILE:control_train>
		SOURCE=${PROJECT_SOURCE_DIR})
	set_tests_properties(experiments PROPERTIES LABELS long COST 100 # the longest is the first to begin
		ENVIRONMENT "${experiments_environment}")
endif()

add_test(NAME train_cli COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/train_cli.sh)
set_tests_properties(train_cli PROPERTIES
	ENVIRONMENT "CRUMB_TRAIN=$<TARGET_FILE:crumb-train>;SOURCE=${PROJECT_SOURCE_DIR}")
if(CRUMB_SANITIZE) # where seconds are minutes
	set_property(TEST train_cli PROPERTY LABELS long)
endif()
add_test(NAME train_resume COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/train_resume.sh)
set_tests_properties(train_resume PROPERTIES LABELS long
	ENVIRONMENT "CRUMB_TRAIN=$<TARGET_FILE:crumb-train>;SOURCE=${PROJECT_SOURCE_DIR}")
