"""Every tuned number of a hunt: what it limits, its unit, where its value comes from and what it changes.

"Budget" is the wall-clock time of the hunt; a share is a part of it between 0 and 1. A value that is called a
judgement was set by reasoning and has not been compared with others in a benchmark.
"""

from __future__ import annotations

# --- Search: the first runs of a hunt ----------------------------------------------------------------------------

# Runs in the original order before anything else, the reference run included. A suspect needs three of them before
# anything is concluded about it (`diagnosis`), so that a hunt without `--technique rerun` makes as many too.
FIRST_ORIGINAL_RUNS = 3

# Other orders in the first look at the suite: the reversed order and one order by class. Until they are over,
# expensive follow-up runs wait. Without this first look, one of eight labelled tests of devtracker was missed
# (decision 0024).
FIRST_LOOK_ORDERS = 2

# Other orders before anything else is repeated: those two and one by file, one order of each kind.
FIRST_ORDERS = 3

# What the first round adds, in runs: so many other orders, runs in the original order, and runs of the original
# order under other hash seeds. A few of each, because no prior knowledge predicts which of them will show
# something: without them the hash-seed test of the example suite was missed (decision 0024). The sizes are a
# judgement.
FIRST_ROUND_ORDERS = 4
FIRST_ROUND_ORIGINAL_RUNS = 6
FIRST_ROUND_HASH_SEEDS = 6

# The same with `--isolation spawn`, where every run starts an interpreter: runs of whole orders come in two equal
# rounds. A judgement: five runs of the suite each, as a hunt by default has time for 30.
SPAWN_FIRST_ORIGINAL_RUNS = 2
SPAWN_ROUND_ORDERS = 3
SPAWN_ROUND_ORIGINAL_RUNS = 2

# Runs alone of a test that failed in the user's own pytest runs. A test that fails in half of its runs stays
# unseen in 8 runs one time in 256.
RUNS_OF_EARLIER_FAILURES = 8

# A single run about one test (a follow-up of a suspect, a second execution in one process) that takes longer than
# this share of the budget waits until the first look is over, so that one slow test cannot starve the others. A
# judgement (docs/internals/techniques.md): a hundred such runs would take the whole budget.
MAX_EARLY_RUN_SHARE = 0.01

# With less than this share of the budget left, expensive follow-up runs wait no longer, even if the first look is
# not over. A judgement: half of the time stays for proofs.
MIN_LEFT_SHARE_FOR_WAITING = 0.5

# --- Search: how often each technique runs -----------------------------------------------------------------------

# Runs in the original order of a hunt without `--budget`. A test that fails in 8 % of its runs is seen failing
# with a probability of 96 % (1 - 0.92**40). More runs find rarer failures; `--budget` has no such limit.
MAX_ORIGINAL_RUNS = 40

# Hash seeds other than the session's own. A test that fails for half of all hash seeds stays unseen one time in
# 4096 (0.5**12). Each costs a new interpreter and a whole run, so that there is a limit in every hunt (decision
# 0009).
MAX_HASH_SEEDS = 12

# Further runs alone of each test in a hunt without `--budget`. A test that fails alone in 22 % of its runs is seen
# failing with a probability of 95 % (1 - 0.78**12).
MAX_RERUNS_ALONE = 12

# Plain random orders after the systematic ones in a hunt without `--budget`. 20 are the shuffles of iDFlakies that
# decision 0004 compares with: they exposed 2 of 12 victims in one real suite, hence only after the systematic
# orders.
MAX_PLAIN_SHUFFLES = 20

# Systematic orders between two plain shuffles. A judgement: shuffles show what needs a third test between two
# others, which is rare.
SYSTEMATIC_ORDERS_PER_SHUFFLE = 4

# Largest suite, in tests, in which each test is also put first once. That takes as many runs of the suite as it
# has tests; a judgement of what a hunt can afford.
MAX_TESTS_FOR_EACH_FIRST = 100

# Orders in a row that were all made before, after which there are taken to be no others. A tiny suite has few
# orders: with the 6 of three tests, a missing one is drawn within 200 shuffles all but always (1 - (5/6)**200).
MAX_REPEATED_ORDERS_IN_A_ROW = 200

# Replaces a limit in hunts that go on until their budget is spent; larger than any hunt's number of runs.
UNLIMITED_RUNS = 1_000_000

# --- Search: batches of runs -------------------------------------------------------------------------------------

# Expected seconds of work in one plan of many short runs. Follow-ups of what such a plan shows wait for its end,
# so it is short; each plan costs one exchange with the collected session (about a millisecond), so it is not
# shorter.
MAX_BATCH_S = 1.0

# Runs in one batch, and tests in one group of likely tests. 64 share one process in decision 0024: where a fork
# takes 5 ms and the median test 1 ms, its share of the fork is then below a tenth of the test's own time.
MAX_BATCH_SIZE = 64

# --- Search: PAIRWISE --------------------------------------------------------------------------------------------

# Share of the time left, on all jobs, that the exact form of PAIRWISE may take; else the grouped form is taken if
# that fits, else none (docs/internals/techniques.md). A judgement: the estimate may be wrong by a factor of two.
MAX_PAIRS_SHARE = 0.5

# Possible polluters that run before each victim in the grouped form over the whole suite. More save runs and hide
# more: with groups of 12, 23 of 40 planted pairs with cleaners nearby were found (decision 0012).
POLLUTERS_PER_GROUP = 12

# Chains of cases in one plan, see `search/pairs.py`. Keeps such a plan about as long as a batch: with ten cases of
# some milliseconds each a dozen chains take about a second.
MAX_CHAINS_PER_PLAN = 12

# --- Search: by expected gain (`--policy index`) -----------------------------------------------------------------

# Least share of the time, after the first round, that follows the fixed stages whatever the index says. With a
# quarter, what the stages would find is found at worst four times as late (decision 0024).
MIN_STAGES_SHARE = 0.25

# The first look of the stages is left out where it would take more than this share of the budget on all jobs
# (decision 0024): on a suite with few runs in its budget the index chooses better.
MAX_FIRST_LOOK_SHARE = 0.34

# The first round ends when it has taken this share of the budget (decision 0024).
MAX_FIRST_ROUND_SHARE = 0.4

# A batch takes no test whose index is below this share of the largest index in it (decision 0024: "at least half
# of the largest"). Lower values make fewer, larger batches of less likely tests.
MIN_INDEX_SHARE_IN_BATCH = 0.5

# The number of runs in the history must have grown by this factor before the time of the whole suite is summed up
# again. Only saves work of the planner in suites of many thousand tests; the mean times hardly change in between.
SUITE_TIME_REFRESH_FACTOR = 1.1

# --- Search: when a hunt by expected gain ends early -------------------------------------------------------------

# A hunt ends early only if all of its time left is expected to show fewer flaky tests than this (decision 0024).
MIN_EXPECTED_DETECTIONS = 0.001

# ... and only if each test passed so often that a higher failure rate is ruled out at 95 %: 299 runs (decision
# 0024; flask-ipban's test that fails once in 280 runs was missed before).
MAX_UNSEEN_FAILURE_RATE = 0.01

# How many times during a hunt that is decided, at equal distances. Each time costs a forecast over the whole
# suite; a hunt ends at most a twelfth of its time later than it could.
EARLY_END_CHECKS = 12

# Equal parts of the time that a forecast distributes one after another, each to the kind of run that gains most
# (decision 0024). More parts are more exact and slower.
FORECAST_STEPS = 16

# Tests that a forecast looks at; in a larger suite a random sample of this size stands for all. Keeps a forecast
# below a tenth of a second in a suite of 20,000 tests.
MAX_FORECAST_TESTS = 300

# Shares of the tests, those with the largest index, that a forecast may spend time on besides on all of them. A
# judgement: a good prior has most of the flaky tests among its first twentieth.
FORECAST_BEST_SHARES = (0.25, 0.05)

# What a suite has shown beyond expectation is expected of the rest of it too: (found + c) / (expected + c) times
# the prior. With c = 0.5 one finding in a small suite, where hardly any was expected, counts three times the
# prior, and nothing found counts as nothing known. A judgement.
SUITE_FACTOR_CAUTION = 0.5  # flaky tests

# Largest such factor (docs/research/policies.md). Keeps a suite full of failures from counting every other test
# as flaky.
MAX_SUITE_FACTOR = 20.0
