# What is installed of libcrumb: headers, both libraries, CMake package, pkg-config file. libcrumb_exchange, tools and
# man pages install themselves. SPDX-License-Identifier: MIT
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(FILES include/crumb.h include/crumb_parallel.h TYPE INCLUDE)

# cmake/crumb-config.cmake includes crumb-core.cmake, and the components that are asked for.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/crumb)
install(TARGETS crumb_shared crumb_static EXPORT crumb INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT crumb NAMESPACE crumb:: FILE crumb-core.cmake DESTINATION ${package_folder})
# Before version 1.0, the exchange's header may change with every minor version.
write_basic_package_version_file(crumb-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/crumb-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/crumb-config-version.cmake
	DESTINATION ${package_folder})

# The prefix is found from the file's own place, so that an installed tree may be moved.
# But pkg-config leaves the system's own folders out, and knows them by /usr.
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(pc_prefix "\${pcfiledir}/${to_prefix}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
	set(pc_prefix /usr)
endif()
foreach(folder LIBDIR INCLUDEDIR)
	set(pc_${folder} ${CMAKE_INSTALL_${folder}})
	if(NOT IS_ABSOLUTE "${pc_${folder}}")
		set(pc_${folder} "\${prefix}/${pc_${folder}}")
	endif()
endforeach()
configure_file(cmake/crumb.pc.in crumb.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/crumb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES README.md LICENSE CHANGELOG.md TYPE DOC)
install(DIRECTORY doc TYPE DOC FILES_MATCHING PATTERN "*.md" PATTERN man EXCLUDE)

# Bash loads the completion that is called as the command is; zsh's is both tools'.
function(install_tool target command)
	install(TARGETS ${target})
	install(FILES ${PROJECT_SOURCE_DIR}/cli/completion.bash
		DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${command})
	install(FILES ${PROJECT_SOURCE_DIR}/cli/completion.zsh
		DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _crumb)
endfunction()
