crumb_test(test_policy test_policy.c)
crumb_test(test_team test_team.c)
