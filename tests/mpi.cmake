# Ranks as processes. SPDX-License-Identifier: MIT
if(CMAKE_CROSSCOMPILING OR CRUMB_SANITIZE) # processes are slow to start then, and the exchange is tested over threads
	return()
endif()
add_executable(mpi_rank mpi_rank.c)
target_link_libraries(mpi_rank PRIVATE crumb_mpi)

set(mpi_environment MPI_RANK=$<TARGET_FILE:mpi_rank> SOURCE=${PROJECT_SOURCE_DIR}
	EXCHANGE_STATIC=$<TARGET_FILE:crumb_exchange> STATIC=$<TARGET_FILE:crumb_static>)
if(TARGET crumb-train)
	list(APPEND mpi_environment CRUMB_TRAIN=$<TARGET_FILE:crumb-train>)
endif()
if(CRUMB_MPI)
	list(APPEND mpi_environment MPIRUN=mpirun)
endif()
foreach(name same train resume chaos mpich)
	add_test(NAME mpi_${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/mpi/${name}.sh)
	set_tests_properties(mpi_${name} PROPERTIES ENVIRONMENT "${mpi_environment}" LABELS mpi SKIP_RETURN_CODE 77)
endforeach()
set_property(TEST mpi_train mpi_resume mpi_chaos APPEND PROPERTY LABELS long)
set_tests_properties(mpi_chaos PROPERTIES RUN_SERIAL ON) # short deadlines
