# Networks as tables, and what a step of them costs. SPDX-License-Identifier: MIT
crumb_test(test_sizes test_sizes.c)
target_link_libraries(test_sizes PRIVATE crumb_nets)
crumb_test(test_cost test_cost.c)
target_link_libraries(test_cost PRIVATE crumb_nets)
