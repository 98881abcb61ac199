"""Every tuned number of hunts in long suites: unit, source and effect, as in `limits.py`.

Their values come from simulated hunts of large suites (tests/hunt/large_suites.py).
"""

from __future__ import annotations

# Seconds that all tests of a suite take from which on suspects share runs instead of repeating long orders each.
LONG_ORDER_S = 10.0
# Seconds that earlier tests take, in such a suite, from which on no suspect searches them alone.
# The search by halves of two joint polluters took 80 runs of 3 s in networkx; walks through these tests take two.
LONG_PREFIX_S = 1.0

# Least and usual number of tests in a group: about the square root of the tests. A search in one group costs about
# as many forks as there are tests in it, a sweep about as many as there are groups.
MIN_GROUP_SIZE = 20

# Runs alone before a suspect takes part in a long search, in runs and in seconds: a test that fails in a quarter
# of its runs fails once with 94 %.
RUNS_ALONE_BEFORE_LONG_SEARCH = 10
MAX_RUNS_ALONE_S = 5.0

# Runs after a group in which the effect was seen, before it is searched in the group.
RUNS_AFTER_GROUP = 2

# Tests that are searched one after another because they have an effect only together.
MAX_JOINT_TESTS = 4

# Stops of a walk through a long order.
MAX_LONG_WALK_STOPS = 100
# Stops of the walks that find one stretch each of the tests that act together, from the last to the first. Copies
# in the later walks run the stretches found so far, a hundredth of the walk's time at first: with twenty stops
# these copies and the walks through the stretches that follow take about equally long.
STOPS_OF_JOINT_SEARCH = (MAX_LONG_WALK_STOPS, 20, 10, 10)

# Runs of groups that are planned before the next result is known, besides one for each job.
MAX_GROUPS_AHEAD = 2

# Tests that failed in all runs and are tried with other hash seeds, and the number of these: each run starts an
# interpreter. If more tests fail, something else is wrong. With four seeds a test that fails for half of them
# passes once with 94 %.
MAX_FAILING_TESTS_TRIED = 5
HASH_SEEDS_OF_FAILING_TESTS = 4

# Suspects that run one after another behind a group, where processes cannot be copied.
MAX_CHAINED_SUSPECTS = 64

# Suspects of one file with one signature that take part in the runs of groups like all others, and the share of
# the suite's time that further ones may add. They often share a polluter, which is tried on them once it is known.
MAX_ALIKE_SUSPECTS = 3
MAX_ALIKE_SHARE = 0.25

# Share of the suite's time that runs of tests add to the runs of groups whose failures are no evidence. In dask 15
# such tests, twelve of them with one cause, doubled the time of all groups.
MAX_DOUBTFUL_SHARE = 0.25

# Long walks that a search for tests that act together takes; it begins only if there is time for them.
LONG_WALKS_PER_SEARCH = 2.0

# Share of the time of the groups that a walk may take to be made instead: a suspect that failed in an order of
# quick tests is searched there, unless it can share the groups with several others.
MAX_WALK_SHARE = 0.25

# Share of the tests from which on an order counts as one of the whole suite.
MIN_WHOLE_ORDER_SHARE = 0.8

# Share of the time left that one run of all tests may take; else only groups run, the likeliest first.
# The second one applies if other runs go on beside it.
MAX_ORDER_SHARE = 0.5
MAX_ORDER_SHARE_BESIDE_OTHERS = 0.65

# Share of the suite's time that its quick tests take together: 70 to 94 % of the tests of networkx, xarray and of
# simulated suites.
QUICK_SHARE = 0.125
# Orders of the quick tests that run before the groups, so that all suspects of them share the runs of groups.
FIRST_QUICK_ORDERS = 2
# Shares of the time of the suite that further orders of its quickest tests take; the index chooses which is
# next. 40 % of the tests of simulated suites take a fortieth of the time, 95 to 97 % half of it.
ORDER_SHARES = (0.025, QUICK_SHARE, 0.5)
# Shares among which joint polluters are searched before the whole order is.
JOINT_SEARCH_SHARES = (QUICK_SHARE, 0.5)

# Share of its own time that the start of a new interpreter may add to a later order of quick tests: it then has a
# hash seed of its own as well.
MAX_START_SHARE_OF_QUICK_ORDER = 0.5

# Hash seeds with which the quick tests run once the groups are done. By published rates hash seeds decide about
# few tests, so that the index would never try one in a short hunt.
FIRST_QUICK_HASH_SEEDS = 1

# Share of the suite's time that second executions of cheap tests may take when each group first runs.
MAX_REPEATED_SHARE = 0.25

# Share of the processor time left that one other order of nearly all tests may take, with each test twice that was
# not repeated when its group ran. By published rates few tests fail when repeated, so that the index alone left a
# half of them unseen in 30 minutes of simulated suites of one to three minutes. In xarray a process for each of
# these tests took 424 s, twice the time of the suite, and the only order with slow tests came after 13 minutes.
MAX_REPEATED_ORDER_SHARE = 0.25
# Number of its hash seed, apart from those of the orders of quick tests.
REPEATED_ORDER_NUMBER = 10_000
