# Networks as tables. SPDX-License-Identifier: MIT
crumb_test(test_sizes test_sizes.c)
target_link_libraries(test_sizes PRIVATE crumb_nets)
