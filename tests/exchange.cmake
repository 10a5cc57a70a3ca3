crumb_test(test_policy test_policy.c)
crumb_test(test_team test_team.c)
crumb_test(test_exchange test_exchange.c)
